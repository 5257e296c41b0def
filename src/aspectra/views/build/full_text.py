"""The arrays of one generation that need full texts: whole papers, chunks, readings."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from aspectra.papers.text.citation_marks import strip_citations
from aspectra.views.build.draft import Draft
from aspectra.views.build.records import fill_missing, reader_vectors, stored_spans
from aspectra.views.build.vectors import chunk_texts, chunk_vectors, section_chunks
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.protocol import ViewFacts, chunk_base
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.storage.units import Units

# A chunk has the words of its heading, as far as this many characters: a longer one, which is no heading,
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
        for number, paper in enumerate(draft.library.papers("sections")):
            if number % 100 == 0:
                draft.progress("reading full texts", number, len(draft.ids))
            parts = [paper.title, paper.abstract]
            for section in paper.sections if draft.full[number] else ():
                text = section.text
                stripped = draft.settings.citations == "strip"
                parts += [section.heading, strip_citations(text).text if stripped else text]
            yield "\n".join(parts)
        draft.progress("reading full texts", len(draft.ids), len(draft.ids))

    name = "full@bm25"
    settings, standard = draft.settings.lexical, draft.standard(name)
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
    settings, standard = draft.settings.lexical, draft.standard(name)
    facts = build_lexical(
        texts(), settings, draft.folder / name, pairs=True, asking=asking, standard=standard
    )
    units = Units(np.array(offsets, np.int64), np.frombuffer(spans, np.intc).astype(np.int32).reshape(-1, 3))
    (draft.folder / base).mkdir()
    units.save(draft.folder / base)
    draft.word_moments(name, units, base)
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
    draft.vector_moments(name, matrix, units, base)
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
    """What :func:`~aspectra.views.build.records.fill_missing` takes: other vectors of the papers."""
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
