"""Encoding what has not been encoded: vectors cached in ``library.db`` by content and fingerprint."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.text.citation_marks import STRIPPER_VERSION, strip_citations
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.library.rows import PAPER_COLUMNS, paper_from_row
from aspectra.papers.text.sentences import SPLITTER_VERSION, abstract_sentences, lead_field
from aspectra.papers.library.mutations import Writer
from aspectra.views.chunks import chunk_spans, windows
from aspectra.views.encoders.protocol import Encoder, Vectors
from aspectra.views.settings import ChunkSize
from aspectra.views.view import Floats

__all__ = [
    "ABSTRACT_KIND",
    "SENTENCE_KIND",
    "Packed",
    "Progress",
    "chunk_kind",
    "chunk_texts",
    "chunks_missing",
    "encode_abstracts",
    "encode_chunks",
    "encode_sentences",
    "paper_spans",
    "read_sections",
]

Progress = Callable[[str, int, int], None]

# What the blob holds and how it was made; another number means another cache entry.
ABSTRACT_KIND = f"abstract+sentences/1.{SPLITTER_VERSION}"
SENTENCE_KIND = f"sentences-apart/1.{SPLITTER_VERSION}"
_AHEAD = 8  # batches sorted by length together, so that little is spent on padding
_WINDOW_WORDS = 300  # fits 512 word pieces of ordinary prose


def chunk_kind(size: str, citations: str = "keep") -> str:
    """Cache kind of chunk vectors of one size, with citations or stripped of them."""
    return f"chunks-{size}/1" + (f"-stripped.{STRIPPER_VERSION}" if citations == "strip" else "")


def chunk_texts(
    sections: Sequence[tuple[str, str]], spans: Sequence[tuple[int, int, int]], citations: str
) -> list[str]:
    """What views read of each chunk; the spans stay those of the stored text.

    Args:
        sections: (heading, text) pairs.
        spans: (section, start, end) of each chunk.
        citations: ``strip`` or ``keep``, as in :class:`~aspectra.views.settings.IndexSettings`.
    """
    if citations == "keep":
        return [sections[number][1][a:b] for number, a, b in spans]
    stripped = {number: strip_citations(sections[number][1]) for number in {n for n, _, _ in spans}}
    return [stripped[number].between(a, b) for number, a, b in spans]


@dataclass(frozen=True)
class Packed:
    """Vectors of one paper as cached.

    Attributes:
        whole: (dimensions,) float32, or (0,) where only units are kept.
        units: (units, dimensions) float16; a row of zeros has no vector.
        truncated: number of texts that were cut.
    """

    whole: Floats
    units: np.ndarray[tuple[int, ...], np.dtype[np.float16]]
    truncated: int

    def dumps(self) -> bytes:
        """As bytes: counts, then the arrays, little-endian."""
        head = struct.pack("<IIII", len(self.whole), *self.units.shape, self.truncated)
        return head + self.whole.astype("<f4").tobytes() + self.units.astype("<f2").tobytes()

    @classmethod
    def loads(cls, data: bytes) -> Packed:
        """Inverse of :meth:`dumps`."""
        width, rows, columns, truncated = struct.unpack_from("<IIII", data)
        whole = np.frombuffer(data, "<f4", width, 16)
        units = np.frombuffer(data, "<f2", rows * columns, 16 + 4 * width)
        return cls(whole, units.reshape(rows, columns), truncated)


def paper_spans(paper: Paper) -> tuple[str, list[tuple[int, int]], list[tuple[str, int, int]]]:
    """What the abstract views encode of a paper.

    Returns:
        The text (title, then the lead text); the character span in it of each unit; and each unit as
        (field, start, end) in the stored text: the title first, then each sentence.
    """
    field, lead = lead_field(paper)
    title = paper.title.strip()
    joint = "" if not title or not lead else " " if title[-1] in ".?!。！？" else ". "
    at = paper.title.find(title)
    shift = len(title) + len(joint)
    spans, units = [], []
    if title:
        spans.append((0, len(title)))
        units.append(("title", at, at + len(title)))
    for sentence in abstract_sentences(paper):
        spans.append((sentence.start + shift, sentence.end + shift))
        units.append((field, sentence.start, sentence.end))
    return title + joint + lead, spans, units


def _missing(library: Store, column: str, kind: str, fingerprint: str) -> list[tuple[int, int]]:
    """(pos, length of text) of one paper for each text that has no cached vectors."""
    measure = "length(abstract) + length(title)"
    statement = (
        f"SELECT min(pos), {measure} FROM papers p WHERE {column} != '' AND NOT EXISTS "
        f"(SELECT 1 FROM vectors v WHERE v.text_hash = p.{column} AND v.kind = ? AND v.fingerprint = ?) "
        f"GROUP BY {column} ORDER BY min(pos)"
    )
    return [(int(pos), int(size)) for pos, size in library.rows(statement, (kind, fingerprint))]


def _batches(missing: list[tuple[int, int]], size: int) -> Iterator[list[int]]:
    """Positions in batches; neighbours in length go together, within a moderate look-ahead."""
    ahead = size * _AHEAD
    for start in range(0, len(missing), ahead):
        block = sorted(missing[start : start + ahead], key=lambda item: item[1])
        for low in range(0, len(block), size):
            yield [pos for pos, _ in block[low : low + size]]


def read_sections(library: Store, positions: Sequence[int]) -> dict[int, list[tuple[str, str]]]:
    """Pos -> [(heading, text)]."""
    marks = ",".join("?" * len(positions))
    out: dict[int, list[tuple[str, str]]] = {pos: [] for pos in positions}
    statement = f"SELECT pos, heading, text FROM sections WHERE pos IN ({marks}) ORDER BY pos, ordinal"
    for pos, heading, text in library.rows(statement, positions):
        out[pos].append((heading, text))
    return out


def _papers_at(library: Store, positions: Sequence[int]) -> list[tuple[str, Paper]]:
    """(text_hash, paper) at these positions; sections are read only where the abstract is empty."""
    marks = ",".join("?" * len(positions))
    statement = f"SELECT text_hash, {PAPER_COLUMNS} FROM papers WHERE pos IN ({marks}) ORDER BY pos"
    rows = list(library.rows(statement, positions))
    bare = [row[1] for row in rows if not row[4].strip()]
    sections = read_sections(library, bare) if bare else {}
    return [(row[0], paper_from_row(row[1:], sections.get(row[1], ()))) for row in rows]


def encode_abstracts(
    library: Store, writer: Writer, encoder: Encoder, batch: int, progress: Progress
) -> int:
    """Encode titles, abstracts and their sentences that the cache lacks; returns how many papers.

    One forward pass gives the abstract's vector and, by late pooling, those of its sentences. An encoder
    without token states encodes the sentences apart.
    """
    missing = _missing(library, "text_hash", ABSTRACT_KIND, encoder.fingerprint)
    label, done = f"encoding abstracts with {encoder.name}", 0
    for positions in _batches(missing, batch):
        progress(label, done, len(missing))
        keys, texts, spans = [], [], []
        for key, paper in _papers_at(library, positions):
            text, inside, _ = paper_spans(paper)
            keys.append(key)
            texts.append(text)
            spans.append(inside)
        if encoder.late_pooling:
            coded = encoder.encode(texts, spans=spans)
            units = coded.spans
        else:
            coded = encoder.encode(texts)
            flat = [text[a:b] for text, inside in zip(texts, spans, strict=True) for a, b in inside]
            apart = encoder.encode(flat).vectors
            cuts = np.cumsum([len(inside) for inside in spans])[:-1]
            units = np.split(apart, cuts)
        writer.put_vectors(
            [
                (
                    key,
                    ABSTRACT_KIND,
                    encoder.fingerprint,
                    Packed(vector, unit.astype(np.float16), int(cut)).dumps(),
                )
                for key, vector, unit, cut in zip(keys, coded.vectors, units, coded.truncated, strict=True)
            ]
        )
        done += len(keys)
    progress(label, done, len(missing))
    return done


def encode_sentences(
    library: Store, writer: Writer, encoder: Encoder, batch: int, progress: Progress
) -> int:
    """Encode titles and sentences each by itself, where the cache lacks them; returns how many papers.

    A late-pooled sentence vector knows its neighbours, so sentences of one paper are much alike whatever they
    say; vectors of sentences apart tell methods from results better.
    """
    missing = _missing(library, "text_hash", SENTENCE_KIND, encoder.fingerprint)
    label, done = f"encoding sentences with {encoder.name}", 0
    for positions in _batches(missing, batch):
        progress(label, done, len(missing))
        keys, counts, texts = [], [], []
        for key, paper in _papers_at(library, positions):
            text, inside, _ = paper_spans(paper)
            keys.append(key)
            counts.append(len(inside))
            texts += [text[a:b] for a, b in inside]
        coded = encoder.encode(texts)
        ends = np.cumsum(counts)
        rows = []
        for key, low, high in zip(keys, ends - counts, ends, strict=True):
            cut = int(coded.truncated[low:high].sum())
            packed = Packed(np.zeros(0, np.float32), coded.vectors[low:high].astype(np.float16), cut)
            rows.append((key, SENTENCE_KIND, encoder.fingerprint, packed.dumps()))
        writer.put_vectors(rows)
        done += len(keys)
    progress(label, done, len(missing))
    return done


def chunks_missing(library: Store, encoder: Encoder, size: str, citations: str) -> int:
    """How many full texts have no cached chunk vectors yet."""
    return len(_missing(library, "full_hash", chunk_kind(size, citations), encoder.fingerprint))


def encode_chunks(
    library: Store,
    writer: Writer,
    encoder: Encoder,
    size: str,
    batch: int,
    progress: Progress,
    citations: str,
) -> int:
    """Encode full-text chunks that the cache lacks; returns how many papers.

    A chunk longer than the encoder reads is encoded in windows whose vectors are averaged, so that nothing
    is cut off.
    """
    kind = chunk_kind(size, citations)
    missing = _missing(library, "full_hash", kind, encoder.fingerprint)
    label, done = f"encoding full texts with {encoder.name}", 0
    step = max(1, batch // 16)  # a full text holds some 16 abstracts and more
    for start in range(0, len(missing), step):
        progress(label, done, len(missing))
        positions = [pos for pos, _ in missing[start : start + step]]
        marks = ",".join("?" * len(positions))
        statement = f"SELECT pos, full_hash FROM papers WHERE pos IN ({marks})"
        keys = dict(library.rows(statement, positions))
        texts: list[str] = []
        owners: list[tuple[str, int]] = []
        for pos, sections in read_sections(library, positions).items():
            spans = chunk_spans(sections, ChunkSize.parse(size))
            pieces = chunk_texts(sections, spans, citations)
            owners.append((keys[pos], len(pieces)))
            texts.extend(pieces)
        vectors, cut = _encode_long(encoder, texts)
        at = 0
        rows = []
        for key, count in owners:
            units = vectors[at : at + count].astype(np.float16)
            packed = Packed(np.zeros(0, np.float32), units, int(cut[at : at + count].sum()))
            rows.append((key, kind, encoder.fingerprint, packed.dumps()))
            at += count
        writer.put_vectors(rows)
        done += len(owners)
    progress(label, done, len(missing))
    return done


def _encode_long(encoder: Encoder, texts: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
    """(texts, dimensions) unit vectors, and per text whether any window was still too long.

    Windows are sized for ordinary prose; where one turns out too long (formulas have many word pieces to a
    word) it is halved and encoded again.
    """
    words = max(8, _WINDOW_WORDS * encoder.max_tokens // 512)
    waiting = [(number, part) for number, text in enumerate(texts) for part in windows(text, words)]
    out = np.zeros((len(texts), encoder.dimensions), dtype=np.float32)
    truncated = np.zeros(len(texts), dtype=np.bool_)
    while waiting:
        coded = encoder.encode([part for _, part in waiting])
        halves: list[tuple[int, str]] = []
        for (number, part), vector, cut in zip(waiting, coded.vectors, coded.truncated, strict=True):
            count = len(part.split())
            if cut and count > 1:
                halves.extend((number, half) for half in windows(part, -(-count // 2)))
            else:
                out[number] += vector * len(part)
                truncated[number] |= cut
        waiting = halves
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    out /= np.where(norms > 0, norms, 1.0)
    return out, truncated
