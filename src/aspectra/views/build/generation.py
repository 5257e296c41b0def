"""The arrays of one generation: ids, columns, lenses, terms, views of titles and abstracts."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.values import now
from aspectra.base.version import __version__
from aspectra.papers.bibliography import FACTS_VERSION
from aspectra.papers.library.derived import Missing, Producer
from aspectra.papers.library.generations.folders import FORMAT
from aspectra.papers.library.rows import paper_columns, paper_from_row
from aspectra.papers.library.store import Store
from aspectra.papers.text.references import strip_citations
from aspectra.views.build.draft import STANDARD, Draft, IndexTask, by_all_cores, write_standard
from aspectra.views.build.records import (
    RecordColumns,
    chosen,
    fill_missing,
    reader_vectors,
    stored_spans,
    write_citations,
)
from aspectra.views.build.values import (
    abstract_batches,
    abstract_vectors,
    chunk_texts,
    chunk_vectors,
    collect_lenses,
    section_chunks,
    sentence_vectors,
)
from aspectra.views.dense.late.view import TokenTaker, TokenType, row_bytes, token_values
from aspectra.views.dense.matching import narrowed, widen
from aspectra.views.encoders.protocol import Encoder, LateEncoder, TokenEncoder
from aspectra.views.index.opened import GRAPH_VIEW
from aspectra.views.lexical.bm25 import Counted, build_lexical
from aspectra.views.lexical.reverse import build_pairs
from aspectra.views.prompted.collecting import collect_prompted
from aspectra.views.protocol import TERMS, TOKENS, ViewFacts, chunk_base
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import new_array, save_array
from aspectra.views.storage.folder import (
    StoredFolder,
    Units,
    open_folder,
    paper_spans,
    stored_ids,
    write_columns,
)
from aspectra.views.terms.view import (
    ASPECTS,
    PaperTerms,
    build_terms,
    encode_with_terms,
    head_of,
    term_values,
)
from aspectra.views.text.tokens import TokenSettings
from aspectra.views.view import Floats

# Terms of aspects and token vectors in a generation: made with the vectors, or by encoding papers again.
#
# New papers get theirs in the pass that makes their vectors. Papers that were encoded before there was a
# head, or with another one, lack terms; making them encodes those papers again, which is done only on
# demand. Token vectors are made where the settings want them, and papers that have vectors already are
# encoded again. Both are kept in ``library.db`` by a hash of the text, so that a changed paper encodes
# itself alone.


def encode_lacking_tokens(task: IndexTask, encoder: Encoder) -> None:
    """Encode papers again that have no token vectors."""
    kind = task.settings.late
    producer = token_values(encoder, kind)
    if producer is None or not kind or not isinstance(encoder, TokenEncoder):
        return
    missing = task.library.derived.missing(producer)
    for keys, texts, _ in abstract_batches(task, missing, f"encoding tokens with {encoder.name}"):
        take = TokenTaker(encoder, texts, kind)
        encoder.encode_tokens(texts, take)
        task.writer.derived.put(producer, zip(keys, take.values, strict=True))


def write_tokens(draft: Draft) -> None:
    """Write a view of tokens for each encoder, where the settings want any."""
    for spec, encoder in draft.encoders:
        producer = token_values(encoder, draft.settings.late)
        if producer is not None and draft.settings.late:
            _write_view(draft, spec, encoder, producer, draft.settings.late)


def _write_view(draft: Draft, spec: str, encoder: Encoder, producer: Producer, kind: TokenType) -> None:
    name = f"{TOKENS}@{encoder.name}"
    folder = draft.folder / name
    folder.mkdir()
    stored = draft.library.derived
    sizes = [len(spans) for _, spans in stored.required(producer)]
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    codes = new_array(folder / "codes.npy", (int(offsets[-1]), row_bytes(encoder.dimensions, kind)), np.uint8)
    places = new_array(folder / "spans.npy", (int(offsets[-1]), 2), np.uint16)
    values = draft.counted(f"collecting tokens of {encoder.name}", stored.required(producer))
    for number, (rows, spans) in values:
        low, high = offsets[number], offsets[number + 1]
        codes[low:high] = rows
        places[low:high] = np.stack([spans & 0xFFFF, spans >> 16], axis=1)
    save_array(folder / "offsets.npy", offsets)
    draft.views[name] = {
        "kind": "late",
        "folder": name,
        "encoder": spec,
        "fingerprint": encoder.fingerprint,
        "dimensions": encoder.dimensions,
        "tokens": kind,
        "trained": isinstance(encoder, LateEncoder),
        "count": int(offsets[-1]),
        "bytes": codes.nbytes + places.nbytes + offsets.nbytes,
    }


# Up to this many papers without terms are encoded again unasked. If there are more, only this many are, to
# estimate the time for all.
FEW = 64
_BLOCK = 4096  # vectors read at a time
_FINE = 1 << 24  # parts of 1 in which components are added
_FEWEST = 10  # papers added to the count of a mean, since the mean of a handful of papers is unreliable


def term_state(encoder: Encoder, *, lacking: bool) -> str:
    """State of the terms that a generation depends on: the head's hash, ``lacking`` if papers lack terms."""
    head = head_of(encoder)
    return "terms: none" if head is None else f"terms: {head.hash}{' lacking' if lacking else ''}"


def lacking_terms(library: Store, encoder: Encoder) -> list[Missing]:
    """The papers that have a vector of the encoder and no terms of its head; none without a head."""
    producer = term_values(encoder)
    if producer is None:
        return []
    waiting = {one.key for one in library.derived.missing(abstract_vectors(encoder))}
    return [one for one in library.derived.missing(producer) if one.key not in waiting]


def encode_terms(task: IndexTask, encoder: Encoder, lacking: list[Missing]) -> float:
    """Encode papers again for their terms alone; returns the seconds that it took.

    Their vectors stay as they are.

    Args:
        task: that the papers are of.
        encoder: with a head.
        lacking: the papers.
    """
    producer = term_values(encoder)
    clock = perf_counter()
    if producer is None:
        return 0.0
    label = f"encoding again with {encoder.name}, for terms of aspects"
    for keys, texts, _ in abstract_batches(task, lacking, label):
        task.writer.derived.put(producer, zip(keys, encode_with_terms(encoder, texts)[1], strict=True))
    return perf_counter() - clock


def write_terms(draft: Draft) -> None:
    """Write the views of terms, of the first encoder whose head gave every paper its terms."""
    for spec, encoder in draft.encoders:
        producer = term_values(encoder)
        if producer is not None and not draft.report.lacking_terms.get(encoder.name):
            _write_views(draft, spec, encoder, producer)
            return


def _write_views(draft: Draft, spec: str, encoder: Encoder, producer: Producer) -> None:
    words = ViewFacts.words_of(TERMS).name
    vectors = f"{TERMS}@{encoder.name}"
    matrix = draft.matrix(vectors, len(draft.ids) * len(ASPECTS), encoder.dimensions, np.int8)

    def papers() -> Iterator[PaperTerms]:
        values = zip(draft.library.papers("lead"), draft.library.derived.required(producer), strict=True)
        for number, (paper, value) in draft.counted("collecting terms of aspects", values):
            terms = PaperTerms.of(paper, value)
            rows = slice(number * len(ASPECTS), (number + 1) * len(ASPECTS))
            matrix[rows] = narrowed(terms.vectors)
            yield terms

    facts = build_terms(papers(), draft.settings.lexical, draft.folder / words)
    centres = draft.mean(vectors, "centres")
    made = [
        _centre(matrix[column :: len(ASPECTS)], None if centres is None else centres[column])
        for column in range(len(ASPECTS))
    ]
    save_array(draft.folder / vectors / "centres.npy", np.stack(made))
    draft.views[words] = {**facts, "values": producer.version}
    offsets = np.arange(0, len(matrix) + 1, len(ASPECTS), dtype=np.int64)
    (draft.folder / TERMS).mkdir()
    nowhere = (Units.field_code("abstract"), 0, 0)  # an aspect of a paper is not a span of its text
    Units(offsets, np.full((len(matrix), 3), nowhere, np.int32)).save(draft.folder / TERMS)
    draft.describe(vectors, spec, encoder, 0, units=TERMS)


def _centre(vectors: NDArray[np.int8], given: Floats | None = None) -> Floats:
    """Take the mean of vectors at length 1 away from each, in place; returns it. Rows of zeros stay.

    What all methods (or problems, or outcomes) have in common tells no two apart.

    Args:
        vectors: (papers, dimensions).
        given: (dimensions,) what is taken away instead of their own mean.
    """
    centre = _mean(vectors) if given is None else given
    for start in range(0, len(vectors), _BLOCK):
        block = widen(vectors[start : start + _BLOCK])
        known = block.any(axis=1)
        vectors[start : start + _BLOCK][known] = narrowed(block[known] - centre)
    return centre


def _mean(vectors: NDArray[np.int8]) -> Floats:
    # Whole numbers add up to the same in any order.
    total, count = np.zeros(vectors.shape[1], np.int64), _FEWEST
    for start in range(0, len(vectors), _BLOCK):
        block = widen(vectors[start : start + _BLOCK])
        total += np.rint(block * _FINE).astype(np.int64).sum(axis=0)
        count += int(block.any(axis=1).sum())
    return np.asarray(total / (_FINE * count), np.float32)


# A chunk has the words of its heading, as far as this many characters: a longer one, which is not a heading,
# would be repeated with each of them.
_LONGEST_HEADING = 500


def write_full_texts(draft: Draft) -> None:
    """Views of whole papers and of chunks, where any paper has full text."""
    if not any(draft.full) and not draft.expects("full@bm25"):
        return
    _write_whole_papers(draft)
    for size in draft.settings.chunks:
        units = _write_chunk_words(draft, size)
        if draft.settings.dense_chunks:
            for spec, encoder in draft.encoders:
                _write_chunk_vectors(draft, size, units, spec, encoder)


def _write_whole_papers(draft: Draft) -> None:
    """One document a paper: title, abstract and full text, for asking with whole papers."""

    def texts() -> Iterator[str]:
        for number, paper in draft.counted("reading full texts", draft.library.papers("sections"), 100):
            parts = [paper.title, paper.abstract]
            for section in paper.sections if draft.full[number] else ():
                text = section.text
                stripped = draft.settings.citations == "strip"
                parts += [section.heading, strip_citations(text).text if stripped else text]
            yield "\n".join(parts)

    name = "full@bm25"
    settings, standard = draft.settings.lexical, draft.statistics(name)
    facts = build_lexical(texts(), settings, draft.folder / name, pairs=True, damped=True, standard=standard)
    draft.word_moments(name)
    draft.views[name] = {**facts, "own_words": True}


def _write_chunk_words(draft: Draft, size: str) -> Units:
    """The chunks of one size as units, and their words; returns the units."""
    spans = array("i")  # three numbers a chunk, which takes a tenth of what tuples do
    offsets = [0]

    def texts() -> Iterator[str]:
        for paper in draft.library.papers("sections"):
            places = section_chunks(paper, size) if draft.full[len(offsets) - 1] else []
            spans.extend(chain.from_iterable(places))
            offsets.append(len(spans) // 3)
            pieces = chunk_texts(paper, places, draft.settings.citations)
            for (section, _, _), piece in zip(places, pieces, strict=True):
                yield f"{paper.sections[section].heading[:_LONGEST_HEADING]}\n{piece}"

    base = chunk_base(size)
    name = ViewFacts.words_of(base).name
    asking = (f"{paper.title}\n{paper.abstract}" for paper in draft.library.papers("none"))
    settings, standard = draft.settings.lexical, draft.statistics(name)
    facts = build_lexical(
        texts(), settings, draft.folder / name, pairs=True, asking=asking, standard=standard
    )
    units = Units(np.array(offsets, np.int64), np.frombuffer(spans, np.intc).astype(np.int32).reshape(-1, 3))
    (draft.folder / base).mkdir()
    units.save(draft.folder / base)
    draft.word_moments(name, units)
    draft.views[name] = {**facts, "units": base}
    return units


def _write_chunk_vectors(draft: Draft, size: str, units: Units, spec: str, encoder: Encoder) -> None:
    base = chunk_base(size)
    name = f"{base}@{encoder.name}"
    matrix = draft.matrix(name, len(units.spans), encoder.dimensions, np.float16)
    values = draft.library.derived.required(chunk_vectors(encoder, size, draft.settings.citations))
    papers = np.flatnonzero(draft.full).tolist()
    truncated = draft.fill_units(matrix, units.offsets.tolist(), papers, values, encoder)
    draft.progress(f"asking in reverse with {encoder.name}", 0, 1)
    draft.vector_moments(name, matrix, units)
    draft.describe(name, spec, encoder, truncated, units=base, pairs=True)


def write_readings(draft: Draft) -> None:
    """One vector a paper for the whole text, and one for each aspect."""
    settings = draft.settings
    if not settings.chunks or not settings.dense_chunks or not draft.encoders:
        return
    if not any(draft.full) and not draft.expects("full@bm25"):
        return
    base = chunk_base(settings.chunks[0])
    for spec, encoder in draft.encoders:
        view = f"full@{encoder.name}"
        matrix = draft.matrix(view, len(draft.ids), encoder.dimensions, np.float32)
        counts = fill_missing("full", matrix, *_stand_ins(draft, base, encoder))
        draft.describe(view, spec, encoder, 0, reading="full", stood_in=counts)
    for name in settings.readers:
        place = draft.folder / f"reading-{name}"
        place.mkdir()
        stored_spans(draft.library, name).save(place)
        for spec, encoder in draft.encoders:
            view = f"{name}@{encoder.name}"
            matrix = draft.matrix(view, len(draft.ids), encoder.dimensions, np.float32)
            truncated = 0
            values = draft.library.derived.stream(reader_vectors(name, encoder, settings.citations))
            for number, (*_, found) in enumerate(values):
                if found is not None and len(found[0]):
                    matrix[number] = found[0]
                    truncated += int(found[1])
            counts = fill_missing(name, matrix, *_stand_ins(draft, base, encoder))
            draft.describe(view, spec, encoder, truncated, reading=name, stood_in=counts)


def _stand_ins(draft: Draft, base: str, encoder: Encoder) -> tuple[Any, Any, Any, Any]:
    """Other vectors of the papers, as :func:`~aspectra.views.build.records.fill_missing` takes them."""
    held = StoredFolder(draft.folder)

    def vectors(view: str) -> Any:
        return held.folder(f"{view}@{encoder.name}").whole("vectors")

    labels = draft.lenses.get("roles", {}).get("labels")
    return (
        vectors("abstract"),
        (Units.load(held.folder(base)).offsets, vectors(base)),
        (np.array(draft.offsets, np.int64), vectors("sentences")),
        (tuple(labels), held.whole("lens-roles")) if labels else None,
    )


def _keep_standard(draft: Draft) -> None:
    """The standard that later papers are measured by: that of these papers, or what they are measured by."""
    generations = draft.library.generations
    if draft.kept is not None:
        files = draft.kept[1]["files"]
        names = frozenset(name for name in files if name.startswith(f"{STANDARD}/"))
        draft.linked |= generations.share(*draft.kept, draft.folder, only=names)
    elif not draft.beside and len(draft.ids) >= draft.least > 0:
        write_standard(draft.folder, draft.ids, draft.reference, draft.views)


def write_generation(draft: Draft) -> dict[str, Any]:
    """Write everything; returns the manifest."""
    steps = {
        "abstracts": _abstracts,
        "lenses": _write_lenses,
        "dense": _write_dense,
        "full_texts": write_full_texts,
        "readings": write_readings,
        "terms": write_terms,
        "tokens": write_tokens,
    }
    for name, step in steps.items():
        clock = perf_counter()
        step(draft)
        # Lenses were timed before, while they were applied.
        draft.report.seconds[name] = draft.report.seconds.get(name, 0.0) + perf_counter() - clock
    draft.report.papers = len(draft.ids)
    _keep_standard(draft)
    return {
        "format": FORMAT,
        **stamp(draft.library, len(draft.ids)),
        "settings": draft.settings.to_dict(),
        "views": draft.views,
        "lenses": draft.lenses,
        "records": FACTS_VERSION,
        "lacking_terms": draft.report.lacking_terms,
    }


def stamp(library: Store, papers: int) -> dict[str, Any]:
    """Part of a manifest that says of which papers a generation is, and when it was made by what."""
    return {
        "aspectra": __version__,
        "created": now(),
        "revision": library.revision,
        "papers": papers,
    }


def words_of(
    library: Store, folder: Path | None, manifest: dict[str, Any], settings: IndexSettings
) -> tuple[Path, dict[str, Any]] | None:
    """A generation that is not the whole yet and has the words of the same papers, for :class:`Draft`."""
    same = (
        manifest.get("waiting")
        and manifest.get("abstracts")
        and manifest["aspectra"] == __version__
        and manifest["revision"] == library.revision
        and manifest["settings"]["lexical"] == settings.to_dict()["lexical"]
    )
    return (folder, manifest) if folder is not None and same else None


def _abstracts(draft: Draft) -> None:
    if draft.words is None:
        _write_abstracts(draft)
    else:
        _take_abstracts(draft, *draft.words)
    files = (path for path in draft.folder.rglob("*") if path.is_file())
    draft.abstracts = sorted(path.relative_to(draft.folder).as_posix() for path in files)


def _take_abstracts(draft: Draft, path: Path, manifest: dict[str, Any]) -> None:
    """Take the files that :func:`_write_abstracts` writes from a generation that has them."""
    generations, names = draft.library.generations, frozenset(manifest["abstracts"])
    draft.linked = generations.share(path, manifest, draft.folder, only=names)
    files = open_folder(generations, path, manifest)
    try:
        draft.ids = list(stored_ids(files))
        draft.full = files.whole("full_text").tolist()
        draft.offsets = Units.load(files.folder("sentences")).offsets.tolist()
        draft.reference = np.array(files.whole("sample"))
    finally:
        files.close()
    taken = {
        name: manifest["views"][name] for name in ("abstract@bm25", GRAPH_VIEW) if name in manifest["views"]
    }
    draft.views |= taken


_AHEAD = 1000  # papers read at a time
_COLUMNS = ("id", "full", "year", "venue", "language", "text_hash")
# Columns, records, the end of each paper's rows among the units, these, and words of some papers.
_Abstracts = tuple[dict[str, list[Any]], RecordColumns, list[int], NDArray[np.int32], Counted]


def _read_abstracts(rows: Sequence[tuple[Any, ...]], settings: TokenSettings) -> _Abstracts:
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    records, ends, texts = RecordColumns(), list[int](), list[str]()
    spans: list[tuple[int, int, int]] = []
    for *row, text_hash, full in rows:
        paper = paper_from_row(row)
        text, _, units = paper_spans(paper)
        texts.append(text)
        records.add(paper)
        spans.extend((Units.field_code(f), start, end) for f, start, end in units)
        ends.append(len(spans))
        values = (paper.id, bool(full), paper.year, paper.venue, paper.language, text_hash)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    table = np.array(spans, np.int32).reshape(-1, 3)
    return columns, records, ends, table, Counted.of(texts, settings)


def _write_abstracts(draft: Draft) -> None:
    """Words of titles and abstracts, the columns of papers, the units of ``sentences``, and citations."""
    name = "abstract@bm25"
    _write_read(draft, name)
    # Pairs take two gigabytes of a million papers; the gigabyte that was read of these is free again.
    build_pairs(None, draft.settings.lexical, draft.folder / name, False, draft.statistics(name))
    draft.views[name]["pairs"] = True
    draft.word_moments(name)
    if not draft.beside and write_citations(draft.folder, draft.library, len(draft.ids)):
        draft.views[GRAPH_VIEW] = {"kind": "graph"}


def _write_read(draft: Draft, name: str) -> None:
    """Write words, columns and units from one reading of the papers; ``name`` is of the view of words."""
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    draft.ids, draft.full = columns["id"], columns["full"]
    spans: list[NDArray[np.int32]] = [np.zeros((0, 3), np.int32)]
    records = RecordColumns()
    among = chosen(draft.library)
    places = [row[0] for row in draft.library.rows(f"SELECT pos FROM papers WHERE {among} ORDER BY pos")]

    def rows() -> Iterator[list[tuple[Any, ...]]]:
        statement = f"SELECT {paper_columns('lead')}, text_hash, full_hash != '' FROM papers "
        for start in range(0, len(places), _AHEAD):
            some = places[start : start + _AHEAD]
            where = f"WHERE pos BETWEEN {some[0]} AND {some[-1]} AND {among} ORDER BY pos"
            yield [*draft.library.rows(statement + where)]

    def counted() -> Iterator[Counted]:
        read = partial(_read_abstracts, settings=draft.settings.lexical.tokens)
        for some, facts, ends, table, words in by_all_cores(read, rows(), len(places)):
            draft.progress("reading abstracts", len(draft.ids), len(places))
            for column, values in some.items():
                columns[column] += values
            draft.offsets += [draft.offsets[-1] + end for end in ends]
            spans.append(table)
            records.extend(facts)
            yield words
        draft.progress("reading abstracts", len(places), len(places))

    draft.views[name] = build_lexical(counted(), draft.settings.lexical, draft.folder / name)
    # The documents of reverse scores are the sample, too.
    draft.reference = write_columns(draft.folder, draft.ids, columns)
    records.write(draft.folder, draft.full)
    sentences = draft.folder / "sentences"
    sentences.mkdir()
    Units(np.array(draft.offsets, np.int64), np.concatenate(spans)).save(sentences)


def _write_lenses(draft: Draft) -> None:
    settings = draft.settings
    draft.lenses, views = collect_lenses(draft, settings.applied_lenses)
    lenses, more = collect_prompted(draft.library, settings, draft.encoders, len(draft.ids), draft.folder)
    draft.lenses |= lenses
    draft.views |= views | more


def _write_dense(draft: Draft) -> None:
    for spec, encoder in draft.encoders:
        _write_vectors(draft, spec, encoder)


def _write_vectors(draft: Draft, spec: str, encoder: Encoder) -> None:
    """One encoder's vectors of abstracts and of sentences."""
    settings, stored = draft.settings, draft.library.derived
    name = f"abstract@{encoder.name}"
    whole = draft.matrix(name, len(draft.ids), encoder.dimensions, np.float32)
    truncated, even = 0, True
    for number, (vector, cut) in enumerate(stored.required(abstract_vectors(encoder))):
        if number % 1000 == 0:
            draft.progress(f"collecting vectors of {encoder.name}", number, len(draft.ids))
        whole[number] = vector
        even = even and _is_unit(vector)
        truncated += int(cut)
    draft.progress(f"asking in reverse with {encoder.name}", 0, 1)
    draft.vector_moments(name, whole)
    draft.describe(name, spec, encoder, truncated, unit_length=even, pairs=True)
    name = f"sentences@{encoder.name}"
    units = draft.matrix(name, draft.offsets[-1], encoder.dimensions, np.float16)
    values = stored.required(sentence_vectors(encoder, settings))
    draft.fill_units(units, draft.offsets, range(len(draft.ids)), values, encoder)
    late = encoder.late_pooling and not settings.sentences_apart(encoder)
    how = "late pooling" if late else "encoded apart"
    draft.describe(name, spec, encoder, truncated, units="sentences", sentences=how, unit_length=even)


def _is_unit(vector: NDArray[np.float32]) -> bool:
    """Length 1, or 0 for a text without tokens."""
    square = float(vector @ vector)
    return abs(square - 1.0) < 1e-2 or square == 0.0
