"""An index generation with its views, opened for search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import ViewMismatch
from aspectra.base.values import replace as changed
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, field_text
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds import VIEW_KINDS
from aspectra.views.protocol import NOTES, Asked, VectorView, View, ViewFacts, WordView
from aspectra.views.view import Matching, Positions, Probe, Scored


class Index(Generation):
    """One immutable generation and its views; see :class:`~aspectra.views.index.generation.Generation`."""

    def __init__(self, library: Store, folder: Path, load: Callable[[str], Encoder] = load_encoder) -> None:
        super().__init__(library, folder, load)
        self._views: dict[str, View] = {}
        if library.marks.notes_revision:  # no file is behind the view of notes: they change without an index
            views = {**self.manifest["views"], ViewFacts.words_of(NOTES).name: {"kind": NOTES}}
            self.manifest = {**self.manifest, "views": views}

    def _free(self) -> None:
        self._views.clear()
        super()._free()

    def view(self, name: str) -> View:
        """A view by name, opened at the first use.

        Raises:
            ViewMismatch: the generation has no such view.
        """
        with self._lock:
            if name not in self._views:
                facts = self.facts(name)
                if not facts.kind:
                    raise ViewMismatch(
                        f"the index has no view {name!r}",
                        why="it has " + ", ".join(self.view_names),
                        hint=facts.remedy,
                    )
                self._views[name] = VIEW_KINDS.get(facts.kind)(self, facts, self.vector_view)
            return self._views[name]

    def word_view(self) -> WordView:
        """The view of words of abstracts.

        Raises:
            ViewMismatch: there is none.
        """
        return cast("WordView", self.view(ViewFacts.words_of("abstract").name))

    def vector_view(self, name: str) -> VectorView:
        """A view by name, one of vectors.

        Raises:
            ViewMismatch: there is none, or it is one of words.
        """
        found = self.view(name)
        if not hasattr(found, "vectors"):  # checking the whole protocol costs as much as a small search
            raise ViewMismatch(f"{name} has no vectors", why="it is lexical")
        return cast("VectorView", found)

    def look_up(self, probes: Sequence[Probe]) -> list[Asked]:
        """Probes with what their texts and seeds bring, in order; equal questions are looked up once."""
        known: dict[Probe, Asked] = {}
        out = []
        for probe in probes:
            matching: Matching = "single" if probe.matching else ""
            question = changed(
                probe, weight=1.0, aspect="", pooling="max", metric="cosine", matching=matching
            )
            if question not in known:
                known[question] = self.view(probe.view).look_up(question)
            out.append(replace(known[question], probe=probe))
        return out

    def with_quotes(self, asked: Asked) -> Asked:
        """The same with the seed's sentence of each vector; "" where the seed changed since indexing."""
        units = self.view(asked.probe.view).units
        quotes, papers = [], dict[str, Paper]()
        for owner, unit in zip(asked.owners, asked.units, strict=True):
            if unit < 0 or units is None:
                quotes.append(("", ""))
                continue
            seed = asked.probe.seeds[owner]
            if seed not in papers:
                papers[seed] = self.library.get(seed)
            held = units.unit(seed, int(unit))
            text = field_text(papers[seed], held.field) if self.unchanged(papers[seed]) else ""
            quotes.append((seed, text[held.start : held.end]))
        return replace(asked, quotes=tuple(quotes))

    def score(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """Scores for each of several probes; those on one view are scored together where it can.

        Args:
            asked: probes, looked up.
            papers: positions; None for all papers, in order of position.
        """
        numbers: dict[str, list[int]] = {}
        for number, one in enumerate(asked):
            numbers.setdefault(one.probe.view, []).append(number)
        out: dict[int, Scored] = {}
        for name, chosen in numbers.items():
            found = self.view(name).score_many([asked[n] for n in chosen], papers)
            out |= zip(chosen, found, strict=True)
        return [out[n] for n in range(len(asked))]

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """The k best of all papers that a probe scored, see :meth:`View.best`."""
        return self.view(asked.probe.view).best(asked, scored, k, allowed)
