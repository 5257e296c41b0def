"""Readings of full texts, made once per paper: spans and vectors cached in ``library.db``, then views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.rows import PAPER_COLUMNS, paper_from_row
from aspectra.papers.library.store import Store
from aspectra.papers.text.citation_marks import STRIPPER_VERSION
from aspectra.views.build.vectors import Packed, Progress, read_sections
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.lenses.protocol import TextSpan
from aspectra.views.readers.protocol import READERS, Reading, reading_text
from aspectra.views.units import Units
from aspectra.views.view import Floats

__all__ = [
    "fill_missing",
    "make_readings",
    "read_spans",
    "reader_state",
    "reading_kind",
    "stored_spans",
]

# Roles of an abstract's sentences that stand for an aspect where there is no full text to read.
_ROLES = {"question": ("background", "objective"), "method": ("method",), "experiment": ("result",)}
_SPANS = "spans"  # in place of an encoder's fingerprint


def reader_state(names: Sequence[str]) -> str:
    """Names and versions: what cached readings and generations depend on."""
    return " ".join(f"{name}/{READERS.get(name).version}" for name in names)


def reading_kind(name: str, citations: str = "keep") -> str:
    """Cache kind of a reader's spans (with the default) or of the vectors of what they say."""
    stripped = f"-stripped.{STRIPPER_VERSION}" if citations == "strip" else ""
    return f"reading:{name}/{READERS.get(name).version}{stripped}"


def make_readings(
    library: Store,
    writer: Writer,
    names: Sequence[str],
    encoders: Sequence[Encoder],
    citations: str,
    batch: int,
    progress: Progress,
) -> int:
    """Read and encode the full texts that the cache lacks; returns how many papers.

    Kept by the hash of the whole paper. A paper about which a reader finds nothing has a vector of length 0.
    """
    statement = (
        "SELECT min(pos) FROM papers p WHERE full_hash != '' AND NOT EXISTS (SELECT 1 FROM vectors v WHERE "
        "v.text_hash = p.content_hash AND v.kind = ? AND v.fingerprint = ?) GROUP BY content_hash"
    )
    lacking: dict[int, list[str]] = {}
    for name in names:
        wanted = [(reading_kind(name), _SPANS)]
        wanted += [(reading_kind(name, citations), encoder.fingerprint) for encoder in encoders]
        for pos in {int(row[0]) for kind, mark in wanted for row in library.rows(statement, (kind, mark))}:
            lacking.setdefault(pos, []).append(name)
    missing = sorted(lacking)
    label = "reading full texts"
    for start in range(0, len(missing), batch):
        progress(label, start, len(missing))
        positions = missing[start : start + batch]
        marks = ",".join("?" * len(positions))
        sections = read_sections(library, positions)
        rows: list[tuple[str, str, str, bytes]] = []
        texts: list[str] = []
        owners: list[tuple[str, str]] = []
        for key, *columns in library.rows(
            f"SELECT content_hash, {PAPER_COLUMNS} FROM papers WHERE pos IN ({marks})", positions
        ):
            paper = paper_from_row(columns, sections[columns[0]])
            for name in lacking[columns[0]]:
                reading = READERS.get(name).read(paper)
                rows.append((key, reading_kind(name), _SPANS, _dumps(reading)))
                texts.append(reading_text(paper, reading, citations))
                owners.append((key, reading_kind(name, citations)))
        for encoder in encoders:
            full = [i for i, text in enumerate(texts) if text.strip()]
            vectors = encoder.encode([texts[i] for i in full])
            packed = [Packed(np.zeros(0, np.float32), np.zeros((0, 0), np.float16), 0)] * len(texts)
            for at, i in enumerate(full):
                cut = int(vectors.truncated[at])
                packed[i] = Packed(vectors.vectors[at], np.zeros((0, 0), np.float16), cut)
            rows += [
                (key, kind, encoder.fingerprint, one.dumps())
                for (key, kind), one in zip(owners, packed, strict=True)
            ]
        writer.put_vectors(rows)
    progress(label, len(missing), len(missing))
    return len(missing)


def _dumps(reading: Reading) -> bytes:
    spans = [(Units.field_code(field), start, end) for field, start, end in reading.spans]
    return np.array(spans, "<i4").reshape(-1, 3).tobytes()


def _loads(data: bytes | None) -> NDArray[np.int32]:
    return np.frombuffer(data or b"", "<i4").reshape(-1, 3).astype(np.int32)


def stored_spans(library: Store, name: str) -> Units:
    """The spans of a reader, of every paper in order of position; none where nothing was found."""
    statement = (
        "SELECT v.data FROM papers p LEFT JOIN vectors v ON v.text_hash = p.content_hash "
        "AND v.kind = ? AND v.fingerprint = ? ORDER BY p.pos"
    )
    parts = [_loads(data) for (data,) in library.rows(statement, (reading_kind(name), _SPANS))]
    offsets = np.concatenate(([0], np.cumsum([len(p) for p in parts]))).astype(np.int64)
    return Units(offsets, np.concatenate([np.zeros((0, 3), np.int32), *parts]))


def read_spans(folder: Path, name: str, paper: int) -> list[TextSpan]:
    """What a reader found in a paper of a generation."""
    units = Units.load(folder / f"reading-{name}")
    low, high = int(units.offsets[paper]), int(units.offsets[paper + 1])
    return [TextSpan(Units.field_name(int(f)), int(a), int(b)) for f, a, b in units.spans[low:high]]


def fill_missing(
    name: str,
    vectors: Floats,
    whole: NDArray[np.floating],
    chunks: tuple[NDArray[np.int64], NDArray[np.floating]] | None,
    sentences: tuple[NDArray[np.int64], NDArray[np.floating]],
    roles: tuple[tuple[str, ...], NDArray[np.floating]] | None,
) -> dict[str, Any]:
    """Give every paper without a reading the vector of what stands for it, in place; returns the counts.

    With full text, the whole paper stands for a missing aspect: the mean of its chunks. Without, the
    abstract's sentences that have the aspect's role, by the lens ``roles``; else the whole abstract. Never a
    zero vector, which would be as near to everything as to nothing.

    Args:
        name: of the reader.
        vectors: (papers, dimensions) zeros where a reader found nothing.
        whole: (papers, dimensions) vectors of abstracts.
        chunks: offsets by paper and vectors of chunks, or None where none are encoded.
        sentences: the same of the abstracts' sentences.
        roles: labels and (sentences, labels) probabilities, or None.
    """
    counts = {"whole_paper": 0, "abstract_sentences": 0, "abstract": 0}
    columns: list[int] = []
    if roles is not None:
        columns = [roles[0].index(role) for role in _ROLES.get(name, ())]
    for paper in np.flatnonzero(~vectors.any(axis=1)):
        total = None
        if chunks is not None:
            total = _mean(chunks[1][chunks[0][paper] : chunks[0][paper + 1]])
            kind = "whole_paper"
        if total is None and columns and roles is not None:
            low, high = sentences[0][paper], sentences[0][paper + 1]
            table = np.nan_to_num(np.asarray(roles[1][low:high], dtype=np.float32))
            told = np.isin(table.argmax(axis=1), columns) & (table.max(axis=1) > 0)
            total = _mean(sentences[1][low:high][told])
            kind = "abstract_sentences"
        if total is None:
            total, kind = np.asarray(whole[paper], dtype=np.float32), "abstract"
        vectors[paper] = total
        counts[kind] += 1
    return counts


def _mean(rows: NDArray[np.floating]) -> Floats | None:
    """The mean at length 1, or None where there is nothing to average."""
    total = rows.astype(np.float32).sum(axis=0) if len(rows) else np.zeros(1, np.float32)
    norm = float(np.linalg.norm(total))
    return total / np.float32(norm) if norm > 1e-6 else None
