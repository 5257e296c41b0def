"""The arrays of one generation that need full texts: whole papers, chunks, readings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.papers.text.citation_marks import strip_citations
from aspectra.views.arrays import load_array
from aspectra.views.build.generation import Builder
from aspectra.views.build.vectors import chunk_kind, chunk_texts
from aspectra.views.chunks import chunk_spans
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.build.readings import fill_missing, reading_kind, stored_spans
from aspectra.views.lexical.reverse import build_moments
from aspectra.views.dense.reverse import dense_moments
from aspectra.views.kinds.protocol import ViewFacts, chunk_base
from aspectra.views.settings import ChunkSize
from aspectra.views.units import Units

__all__ = ["FullTextBuilder"]


class FullTextBuilder(Builder):
    """A generation with whatever its papers' full texts give."""

    def _steps(self) -> Sequence[Callable[[], None]]:
        return *super()._steps(), self._full_texts, self._readings

    def _full_texts(self) -> None:
        if not any(self.columns["full"]):
            return
        sections: dict[int, list[tuple[str, str]]] = {}
        position = {
            pos: i for i, (pos,) in enumerate(self.library.rows("SELECT pos FROM papers ORDER BY pos"))
        }
        statement = "SELECT pos, heading, text FROM sections ORDER BY pos, ordinal"
        for pos, heading, text in self.library.rows(statement):
            sections.setdefault(position[pos], []).append((heading, text))
        self._whole_papers(sections)
        for size in self.settings.chunks:
            spans, offsets, texts = [], [0], []
            for number in range(len(self.ids)):
                held = sections.get(number, []) if self.columns["full"][number] else []
                places = chunk_spans(held, ChunkSize.parse(size))
                spans += places
                pieces = chunk_texts(held, places, self.settings.citations)
                texts += [f"{held[p[0]][0]}\n{piece}" for p, piece in zip(places, pieces, strict=True)]
                offsets.append(len(spans))
            base = chunk_base(size)
            (self.folder / base).mkdir()
            Units(np.array(offsets, np.int64), _spans(spans)).save(self.folder / base)
            name, place = f"{base}@bm25", self.folder / f"{base}@bm25"
            bm25 = self.settings.lexical
            facts = build_lexical(texts, bm25, place, pairs=True, asking=self._abstract_texts())
            build_moments(place, self.reference, np.array(offsets, np.int64))
            self.views[name] = {**facts, "units": base}
            del texts
            if not self.settings.dense_chunks:
                continue
            for spec, encoder in self.encoders:
                name = f"{base}@{encoder.name}"
                matrix = self._matrix(name, len(spans), encoder.dimensions, np.float16)
                truncated = 0
                for number, packed in self._vectors(
                    "full_hash", chunk_kind(size, self.settings.citations), encoder
                ):
                    if packed is not None:
                        matrix[offsets[number] : offsets[number + 1]] = packed.units
                        truncated += packed.truncated
                self.progress(f"asking in reverse with {encoder.name}", 0, 1)
                dense_moments(matrix, Units(np.array(offsets, np.int64), _spans(spans)), self.reference).save(
                    self.folder / name
                )
                self._describe(name, spec, encoder, truncated, units=base, pairs=True)

    def _whole_papers(self, sections: dict[int, list[tuple[str, str]]]) -> None:
        """One document a paper: title, abstract and full text, for asking with whole papers."""
        name = "full@bm25"
        facts = build_lexical(
            self._whole_texts(sections), self.settings.lexical, self.folder / name, pairs=True, damped=True
        )
        build_moments(self.folder / name, self.reference)
        self.views[name] = {**facts, "own_words": True}

    def _abstract_texts(self) -> Iterator[str]:
        for title, abstract in self.library.rows("SELECT title, abstract FROM papers ORDER BY pos"):
            yield f"{title}\n{abstract}"

    def _whole_texts(self, sections: dict[int, list[tuple[str, str]]]) -> Iterator[str]:
        rows = self.library.rows("SELECT title, abstract FROM papers ORDER BY pos")
        for number, (title, abstract) in enumerate(rows):
            if number % 100 == 0:
                self.progress("reading full texts", number, len(self.ids))
            held = sections.get(number, []) if self.columns["full"][number] else []
            parts = [title, abstract]
            for heading, text in held:
                parts += [heading, strip_citations(text).text if self._strip else text]
            yield "\n".join(parts)
        self.progress("reading full texts", len(self.ids), len(self.ids))

    def _readings(self) -> None:
        """One vector a paper for the whole text, and one for each aspect."""
        chunked = next((v for v in map(ViewFacts.of, self.views) if v.chunks and not v.lexical), None)
        if chunked is None or not self.settings.dense_chunks:
            return
        base = chunked.base
        for spec, encoder in self.encoders:
            view = f"full@{encoder.name}"
            matrix = self._matrix(view, len(self.ids), encoder.dimensions, np.float32)
            counts = fill_missing("full", matrix, *self._stand_ins(base, encoder))
            self._describe(view, spec, encoder, 0, reading="full", stood_in=counts)
        for name in self.settings.readers:
            place = self.folder / f"reading-{name}"
            place.mkdir()
            stored_spans(self.library, name).save(place)
            for spec, encoder in self.encoders:
                view = f"{name}@{encoder.name}"
                matrix = self._matrix(view, len(self.ids), encoder.dimensions, np.float32)
                truncated = 0
                kind = reading_kind(name, self.settings.citations)
                for number, packed in self._vectors("content_hash", kind, encoder, sparse=True):
                    if packed is not None and len(packed.whole):
                        matrix[number] = packed.whole
                        truncated += packed.truncated
                counts = fill_missing(name, matrix, *self._stand_ins(base, encoder))
                self._describe(view, spec, encoder, truncated, reading=name, stood_in=counts)

    def _stand_ins(self, base: str, encoder: Encoder) -> tuple[Any, Any, Any, Any]:
        """What :func:`~aspectra.views.build.readings.fill_missing` takes: other vectors of the papers."""

        def vectors(view: str) -> Any:
            return load_array(self.folder / f"{view}@{encoder.name}" / "vectors.npy")

        labels = self.lenses.get("roles", {}).get("labels")
        return (
            vectors("abstract"),
            (Units.load(self.folder / base).offsets, vectors(base)),
            (np.array(self.offsets, np.int64), vectors("sentences")),
            (tuple(labels), load_array(self.folder / "lens-roles.npy")) if labels else None,
        )


def _spans(spans: list[tuple[int, int, int]]) -> NDArray[np.int32]:
    return np.array(spans, np.int32).reshape(-1, 3)
