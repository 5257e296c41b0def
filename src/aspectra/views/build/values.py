"""Values that are computed once per paper and stored in ``library.db``: vectors, and what lenses make of it.

What has no vectors yet is encoded; lenses are applied, and their values are collected into a generation.
"""

from __future__ import annotations

import gc
import itertools
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.derived import (
    Missing,
    Overtaken,
    Producer,
    TakesValues,
    pack,
    pack_rows,
    unpack_rows,
)
from aspectra.papers.library.rows import Parts
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.text.references import STRIPPER_VERSION, strip_citations
from aspectra.views.build.draft import Draft, IndexTask, by_all_cores
from aspectra.views.dense.late.view import TokenTaker, token_values
from aspectra.views.dense.reverse import build_lens_vectors
from aspectra.views.encoders.protocol import Encoder, Vectors
from aspectra.views.lenses.protocol import LENSES, found_in_package
from aspectra.views.protocol import ViewFacts
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import save_array
from aspectra.views.storage.folder import paper_spans
from aspectra.views.terms.view import encode_with_terms, term_values
from aspectra.views.text.tokens import ChunkSize, chunk_spans, windows
from aspectra.views.view import Floats

_LOG = logging.getLogger(__name__)
_BATCHES_AHEAD = 8  # batches sorted by length together, so that little is spent on padding
_WINDOW_WORDS = 300  # fits 512 word pieces of ordinary prose
_PAPERS_AHEAD = 1000  # papers read at a time
# Papers whose values of lenses are stored together, and the largest part of all that are missing. Keys lie
# all over the index of values, so that each transaction writes most pages of it again.
_STORED, _STORED_PART = 4000, 1 / 16
_SECONDS = 1.0  # between two stores of vectors, for an encoder that makes several batches in it
_Lacking = dict[int, list[str | None]]
_Work = list[tuple[Paper, dict[str, str]]]  # paper, names of lenses -> key of the value
_Made = dict[str, list[tuple[str, bytes]]]  # name of the lens -> rows to store


def abstract_vectors(encoder: Encoder) -> Producer:
    """Values: (dimensions,) float32 of title and abstract; number of cut texts."""
    return Producer("abstract", encoder.fingerprint)


def sentence_vectors(encoder: Encoder, settings: IndexSettings) -> Producer:
    """Values: (units, dimensions) float16 of an abstract's units, 0 without a vector; number of cut texts.

    Sentences encoded apart have a name of their own where the encoder could also pool them.
    """
    apart = settings.sentences_apart(encoder)
    return Producer("sentences-apart" if apart else "sentences", encoder.fingerprint)


def chunk_vectors(encoder: Encoder, size: str, citations: str) -> Producer:
    """Values: (chunks, dimensions) float16 of a full text; number of cut chunks."""
    version = f"1{citation_version(citations)} {encoder.fingerprint}"
    return Producer(f"chunks-{size}", version, ("sections",))


def citation_version(citations: str) -> str:
    """Part of a version that states how in-text citations were stripped; "" where they are kept."""
    return f"-stripped.{STRIPPER_VERSION}" if citations == "strip" else ""


def section_chunks(paper: Paper, size: str) -> list[tuple[int, int, int]]:
    """(section, start, end) of each chunk of a paper's full text."""
    return chunk_spans([(s.heading, s.text) for s in paper.sections], ChunkSize.parse(size))


def chunk_texts(paper: Paper, spans: Sequence[tuple[int, int, int]], citations: str) -> list[str]:
    """Text of each chunk as views read it; the spans stay those of the stored text.

    Args:
        paper: with its sections.
        spans: (section, start, end) of each chunk.
        citations: ``strip`` or ``keep``, as in :class:`~aspectra.views.settings.IndexSettings`.
    """
    if citations == "keep":
        return [paper.sections[number].text[a:b] for number, a, b in spans]
    stripped = {number: strip_citations(paper.sections[number].text) for number in {n for n, _, _ in spans}}
    return [stripped[number].between(a, b) for number, a, b in spans]


class _Gathered:
    """Stores values of many batches in one transaction, a second apart; those that are left on leaving.

    Args:
        writer: of the library.
    """

    def __init__(self, writer: TakesValues) -> None:
        self._writer = writer
        self._waiting: dict[Producer, list[Any]] = {}
        self._at = perf_counter()

    def put_all(self, batch: Iterable[tuple[Producer, Any]]) -> None:
        """Take rows of several producers, made of the same papers."""
        for producer, rows in batch:
            self._waiting.setdefault(producer, []).extend(rows)
        if perf_counter() - self._at >= _SECONDS:
            self._store()

    def _store(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if waiting:
            self._writer.derived.put_all(waiting.items())
        self._at = perf_counter()

    def __enter__(self) -> _Gathered:
        return self

    def __exit__(self, *_: object) -> None:
        self._store()


def _batches(
    task: IndexTask, missing: list[Missing], size: int, ahead: int, label: str
) -> Iterator[list[Missing]]:
    """Batches, with progress; neighbours in length go together within a look-ahead of ``ahead`` batches."""
    done = 0
    for start in range(0, len(missing), size * ahead):
        block = sorted(missing[start : start + size * ahead], key=lambda item: item.size if ahead > 1 else 0)
        for low in range(0, len(block), size):
            task.progress(label, done, len(missing))
            yield block[low : low + size]
            done += len(block[low : low + size])
    task.progress(label, done, len(missing))


def abstract_batches(
    task: IndexTask, missing: list[Missing], label: str
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], tuple[list[tuple[int, int]], ...]]]:
    """(keys, texts, spans of their units) of papers to encode, batch by batch, with progress."""
    for batch in _batches(task, missing, task.settings.batch, _BATCHES_AHEAD, label):
        keys, texts, spans = zip(*_texts(task.library, batch), strict=True)
        yield keys, texts, spans


def _texts(library: Store, batch: Sequence[Missing]) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
    """(key, text, span of each unit) of the papers of a batch that are still there."""
    keys = {one.pos: one.key for one in batch}
    for pos, paper in library.papers_at(list(keys)).items():
        text, inside, _ = paper_spans(paper)
        yield keys[pos], text, inside


def encode_abstracts(task: IndexTask, encoder: Encoder) -> int:
    """Encode titles and abstracts that have no vector; returns how many papers.

    Where sentences are not to be encoded apart, one forward pass gives the abstract's vector and, by late
    pooling, those of its sentences. An encoder without token states encodes the sentences by themselves. The
    same pass gives the terms of aspects, where a token head fits the encoder, and token vectors, where the
    settings want them.
    """
    library, settings = task.library, task.settings
    whole, units = abstract_vectors(encoder), sentence_vectors(encoder, settings)
    terms, tokens = term_values(encoder), token_values(encoder, settings.late)
    together = not settings.sentences_apart(encoder)
    missing = library.derived.missing(whole, units) if together else library.derived.missing(whole)
    label = f"encoding abstracts with {encoder.name}"
    with _Gathered(task.writer) as gathered:
        for keys, texts, spans in abstract_batches(task, missing, label):
            late = together and encoder.late_pooling
            take = TokenTaker(encoder, texts, settings.late) if settings.late else None
            coded, found = encode_with_terms(encoder, texts, spans if late else None, take)
            for place in np.flatnonzero(~coded.vectors.any(axis=1)):
                if texts[place].strip():
                    pos = next(one.pos for one in missing if one.key == keys[place])
                    paper = library.papers_at([pos])[pos].id
                    _LOG.warning(
                        "%s gave no vector for the paper %s; vectors will not find it.", encoder.name, paper
                    )
            cut = [np.array(count, "u4") for count in coded.truncated]
            values: list[tuple[Producer, Any]] = [
                (whole, zip(keys, zip(coded.vectors, cut, strict=True), strict=True))
            ]
            if terms is not None:
                values.append((terms, zip(keys, found, strict=True)))
            if tokens is not None and take is not None:
                values.append((tokens, zip(keys, take.values, strict=True)))
            if together:
                pooled = coded.spans if late else _apart(encoder, texts, spans)[0]
                halves = [unit.astype(np.float16) for unit in pooled]
                values.append((units, zip(keys, zip(halves, cut, strict=True), strict=True)))
            gathered.put_all(values)
    return len(missing)


def _apart(
    encoder: Encoder, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
) -> tuple[list[Vectors], list[int]]:
    """Vectors of each text's spans, each span encoded by itself; and how many of them were cut."""
    coded = encoder.encode([text[a:b] for text, inside in zip(texts, spans, strict=True) for a, b in inside])
    cuts = np.cumsum([len(inside) for inside in spans])[:-1]
    return (
        np.split(coded.vectors, cuts),
        [int(part.sum()) for part in np.split(coded.truncated, cuts)],
    )


def encode_sentences(task: IndexTask, encoder: Encoder) -> None:
    """Encode titles and sentences each by itself, where they have no vectors.

    A late-pooled sentence vector knows its neighbours, so sentences of one paper are much alike whatever they
    say; vectors of sentences apart tell methods from results better.
    """
    units = sentence_vectors(encoder, task.settings)
    label = f"encoding sentences with {encoder.name}"
    missing = task.library.derived.missing(units)
    with _Gathered(task.writer) as gathered:
        for keys, texts, spans in abstract_batches(task, missing, label):
            vectors, cut = _apart(encoder, texts, spans)
            values = [(v.astype(np.float16), np.array(n, "u4")) for v, n in zip(vectors, cut, strict=True)]
            gathered.put_all([(units, zip(keys, values, strict=True))])


def encode_chunks(task: IndexTask, encoder: Encoder, size: str) -> int:
    """Encode full-text chunks that have no vectors; returns how many papers.

    A chunk longer than the encoder reads is encoded in windows whose vectors are averaged, so that nothing
    is cut off.
    """
    library, citations = task.library, task.settings.citations
    producer = chunk_vectors(encoder, size, citations)
    missing = library.derived.missing(producer)
    step = max(1, task.settings.batch // 16)  # a full text holds some 16 abstracts and more
    for batch in _batches(task, missing, step, 1, f"encoding full texts with {encoder.name}"):
        keys = {one.pos: one.key for one in batch}
        texts: list[str] = []
        owners: list[tuple[str, int]] = []
        for pos, paper in library.papers_at(list(keys), "sections").items():
            pieces = chunk_texts(paper, section_chunks(paper, size), citations)
            owners.append((keys[pos], len(pieces)))
            texts.extend(pieces)
        vectors, cut = _encode_long(encoder, texts)
        rows = []
        at = 0
        for key, count in owners:
            units, some = vectors[at : at + count].astype(np.float16), cut[at : at + count].sum()
            rows.append((key, (units, np.array(some, "u4"))))
            at += count
        task.writer.derived.put(producer, rows)
    return len(missing)


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


# Values of lenses.


def lens_state(names: Sequence[str]) -> str:
    """Names and versions: what stored values and generations depend on."""
    return " ".join(f"{name}/{LENSES.get(name).version}" for name in names)


def lens_values(name: str) -> Producer:
    """Values: (rows, labels) float32 of a lens, one row or one for each unit."""
    lens = LENSES.get(name)
    return Producer(f"lens:{name}", str(lens.version), lens.reads)


def apply_lenses(task: IndexTask) -> int:
    """Apply the lenses to the papers that they have no values of; returns how many values were made.

    Raises:
        Overtaken: by the writer, and only once what other processes were given is done.
    """
    library, names, progress = task.library, task.settings.applied_lenses, task.progress
    missing = dict(library.derived.lacking([lens_values(name) for name in names])) if names else {}
    done = made = 0
    progress("applying lenses", 0, len(missing))
    overtaken: list[Overtaken] = []
    work = itertools.takewhile(lambda _: not overtaken, _work(library, names, missing))
    waiting: _Made = {}
    together = max(_STORED, int(_STORED_PART * len(missing)))

    def store() -> None:
        try:
            task.writer.derived.put_all((lens_values(name), rows) for name, rows in waiting.items())
        except Overtaken as error:
            overtaken.append(error)
        waiting.clear()

    for papers, values in _applied(work, len(missing)):
        if overtaken:
            continue
        for name, some in values.items():
            waiting.setdefault(name, []).extend(some)
        if max(map(len, waiting.values()), default=0) >= together:
            store()
        done += papers
        made += sum(map(len, values.values()))
        progress("applying lenses", done, len(missing))
    if waiting and not overtaken:
        store()
    if overtaken:
        raise overtaken[0]
    return made


def _work(library: Store, names: Sequence[str], missing: _Lacking) -> Iterator[_Work]:
    """Papers read in batches, each with the lenses that have no value of it."""
    waiting = [*missing]
    for start in range(0, len(waiting), _PAPERS_AHEAD):
        keys = {
            pos: {name: key for name, key in zip(names, missing[pos], strict=True) if key is not None}
            for pos in waiting[start : start + _PAPERS_AHEAD]
        }
        parts = {part for some in keys.values() for name in some for part in LENSES.get(name).reads}
        read: Parts = "all" if "record" in parts else "sections" if "sections" in parts else "lead"
        yield [(paper, keys[pos]) for pos, paper in library.papers_at([*keys], read).items()]


def _applied(work: Iterator[_Work], count: int) -> Iterator[tuple[int, _Made]]:
    """Batches in order: (papers, values made); many papers by all cores."""
    # Other processes know the lenses that come with the package, not those registered by a caller's module.
    theirs = {name for name in LENSES.names() if found_in_package(name)}
    sizes: deque[int] = deque()
    own: deque[_Made] = deque()

    def parts() -> Iterator[_Work]:
        for batch in work:
            sizes.append(len(batch))
            own.append(_apply([(p, {n: k for n, k in keys.items() if n not in theirs}) for p, keys in batch]))
            yield [(p, {n: k for n, k in keys.items() if n in theirs}) for p, keys in batch]

    for values in by_all_cores(_apply_apart, parts(), count):
        yield sizes.popleft(), values | own.popleft()


def _apply_apart(batch: _Work) -> _Made:
    """The same without collections of garbage, which would find none: what lenses make has no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _apply(batch)
    finally:
        if enabled:
            gc.enable()


def _apply(batch: _Work) -> _Made:
    out: _Made = {}
    for name in dict.fromkeys(name for _, keys in batch for name in keys):
        wanted = [(keys[name], paper) for paper, keys in batch if name in keys]
        lens = LENSES.get(name)
        found = lens.apply([paper for _, paper in wanted])
        packed = (
            pack_rows(found)
            if lens.kind == "paper"
            else [pack(one.astype(np.float32, copy=False)) for one in found]
        )
        out[name] = [*zip((key for key, _ in wanted), packed, strict=True)]
    return out


def _stored(library: Store, name: str) -> Iterator[Floats]:
    for (values,) in library.derived.required(lens_values(name)):
        yield values


def _collect_lens(library: Store, name: str, offsets: Sequence[int], folder: Path) -> dict[str, Any]:
    """Write a lens's values of all papers into a generation; returns its part of the manifest.

    Args:
        library: whose values are read.
        name: of the lens.
        offsets: (papers + 1,) where each paper's units begin.
        folder: of the generation being built.

    Raises:
        LibraryCorrupt: values are missing or do not fit the paper's units.
    """
    lens = LENSES.get(name)
    by_unit = lens.kind == "sentence"
    count = offsets[-1] if by_unit else len(offsets) - 1
    values: NDArray[np.floating] | None
    if by_unit:
        # Counts of words need all of float32; probabilities of sentences do not.
        values = np.zeros((count, len(lens.labels)), dtype=np.float16)
        for number, rows in enumerate(_stored(library, name)):
            low, high = offsets[number], offsets[number + 1]
            if rows.shape != (high - low, len(lens.labels)):
                values = None
                break
            values[low:high] = rows
    else:
        values = unpack_rows(library.derived.packed(lens_values(name)), len(lens.labels))
    if values is None or len(values) != count:
        raise LibraryCorrupt(
            f"the values of the lens {name} do not fit their paper", hint="aspectra index --rebuild"
        )
    save_array(folder / f"lens-{name}.npy", values)
    return {"version": lens.version, "kind": lens.kind, "labels": list(lens.labels)}


def _collect_apart(library: Path, offsets: Sequence[int], folder: Path, name: str) -> dict[str, Any]:
    with Store(library) as opened:
        return _collect_lens(opened, name, offsets, folder)


def collect_lenses(
    draft: Draft, names: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Write the values of lenses into a generation; returns the manifest's parts of lenses and of views.

    Args:
        draft: the generation, whose papers and units are known.
        names: of the lenses.

    Raises:
        LibraryCorrupt: values are missing or do not fit the paper's units.
    """
    columns = [name for name in names if LENSES.get(name).kind != "vector"]
    # Other processes read the whole library, and know the lenses of the package alone.
    apart = [n for n in columns if found_in_package(n)] if type(draft.library) is Store else []
    collect = partial(_collect_apart, draft.library.folder, draft.offsets, draft.folder)
    facts = dict(zip(apart, by_all_cores(collect, apart, len(draft.ids)), strict=True))
    for name in columns:
        if name not in facts:
            facts[name] = _collect_lens(draft.library, name, draft.offsets, draft.folder)
    views: dict[str, dict[str, Any]] = {}
    for name in names:
        if name not in facts:
            view = ViewFacts.lens_vectors_of(name).name
            standard = draft.mean(view, "standard")
            stored = partial(_stored, draft.library, name)
            views[view] = build_lens_vectors(name, stored, len(draft.ids), draft.folder, standard)
    return {name: facts[name] for name in columns}, views
