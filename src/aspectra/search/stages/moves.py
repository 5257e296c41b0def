"""Stages without a language model: they cut, shuffle, or continue from the papers found.

``citations`` is LitSearch's one hop (section 3.2), ``chain`` a chain of searches from papers that were found
(:mod:`aspectra.search.scoring.chain`). ``feedback`` is below.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.registry import spell
from aspectra.base.values import replace
from aspectra.search.plan import Search, Step
from aspectra.search.scoring.chain import Chain
from aspectra.search.stages.protocol import STAGES, Context, SearchState


@STAGES.register("top")
@dataclass(frozen=True)
class Top:
    """The first papers, as in ``bm25 | top(200) | hybrid``.

    Attributes:
        count: how many.
    """

    name: ClassVar[str] = "top"
    needs_model: ClassVar[bool] = False
    count: int = field(default=100, metadata={"bare": True})

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"top({self.count}) leaves no paper", why="the number must be 1 or more")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return min(wanted, self.count)

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return state.top(self.count), Step(spell(self))


@STAGES.register("shuffle")
@dataclass(frozen=True)
class Shuffle:
    """All papers of a pool, those too that the search did not rank, in an order drawn from the seed.

    Without a pool: the papers that the search found. OBLIQ-Bench, section 3, puts documents before
    its verifier like this, so that neither the search nor their source helps it.

    Attributes:
        seed: of the order; every repeat of an experiment and every pool has another one.
    """

    name: ClassVar[str] = "shuffle"
    needs_model: ClassVar[bool] = False
    seed: int = 0

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return wanted

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        pool = context.plan.within
        papers = sorted(state.ids if pool is None else context.engine.passing(context.plan, pool))
        random.Random("\n".join([str(self.seed), context.salt, *papers])).shuffle(papers)  # noqa: S311
        return state.ordered(papers), Step(spell(self))


@STAGES.register("chain")
@dataclass(frozen=True)
class ChainStage(Chain):
    """The search before it goes on for further rounds, as in ``prism | chain(depth=3)``."""

    name: ClassVar[str] = "chain"
    needs_model: ClassVar[bool] = False

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`.

        Raises:
            UsageError: it does not follow a search, or one that cannot be continued.
        """
        if state.rows is not None:
            raise UsageError(
                "a chain follows a search", why="papers were found and changed before", hint="prism | chain"
            )
        return state.found(context.search(state, wanted, self)), Step(spell(self))


@STAGES.register("citations")
@dataclass(frozen=True)
class Citations:
    """First paper, what it cites, second paper, what it cites ...; each paper once, at its first place.

    Attributes:
        seeds: of how many of the first papers the citations are followed (m, published with 50).
        most: how long the list may get (n, published with 200).
    """

    name: ClassVar[str] = "citations"
    needs_model: ClassVar[bool] = False
    seeds: int = 50
    most: int = 200

    def __post_init__(self) -> None:
        if self.seeds < 1 or self.most < 1:
            raise UsageError("citations needs at least 1 paper to start from and 1 to end with")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return max(wanted, self.seeds)

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        ids, library = state.ids, context.engine.library
        order: list[str] = []
        cited = 0
        for paper in ids[: self.seeds]:
            # Limits and conditions hold for what is cited as for what was found.
            behind = context.engine.passing(context.plan, library.cites(paper))
            cited += len(behind)
            order += [paper, *behind]
        order = list(dict.fromkeys(order))[: self.most]
        before, known = set(ids), set(order)
        joined = sum(paper not in before for paper in order)
        order += [paper for paper in ids if paper not in known]
        notes = [f"{min(len(ids), self.seeds)} papers cite {cited} of the library; {joined} joined the list"]
        if not cited:
            notes = ["no citations are known of these papers, so none joined: add references, or full texts"]
        return state.ordered(order), Step(spell(self), tuple(notes))


@STAGES.register("feedback")
@dataclass(frozen=True)
class Feedback:
    """Each probe is repeated with papers as its seeds, at a lower weight.

    Rocchio adds vectors; here scores in deviations are added, which works for words and vectors alike and can
    be read in the plan.

    Attributes:
        papers: how many of the first papers are taken to be right; with ``decided``, how many of those that
            were included last, and of those that were excluded last.
        weight: of their probes, as a share of the probe's own.
        decided: take the papers that the searcher included; what was excluded pushes away.
        against: weight of the excluded papers' probes, as a share of the probe's own; 0: they do not count.
    """

    name: ClassVar[str] = "feedback"
    needs_model: ClassVar[bool] = False
    papers: int = 3
    weight: float = 0.5
    decided: bool = False
    against: float = 0.0

    def __post_init__(self) -> None:
        if self.papers < 1 or not 0 < self.weight < 10 or not 0 <= self.against < 10:
            raise UsageError("feedback needs at least 1 paper, a weight above 0, and 0 or more against")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0 if self.decided else self.papers

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        if not self.decided:
            first = state.ids[: self.papers]
            if not first:
                return state, Step(spell(self), ("nothing was found, so nothing joined the question",))
            return state.anew(self._joined(state.search, first, self.weight)), self._said(first, ())
        liked, disliked = self._decided(context)
        if not liked and not disliked:
            return state, Step(spell(self), ("no paper was decided on, so nothing joined the question",))
        search = self._joined(state.search, liked, self.weight)
        if self.against and disliked:
            pushed = self._joined(state.search, disliked, -self.against)
            search = replace(search, probes=(*search.probes, *pushed.probes[len(state.search.probes) :]))
        return state.anew(search), self._said(liked, disliked if self.against else ())

    def _decided(self, context: Context) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Ids that were included, and excluded, last; the newest first, and one of each work."""
        index = context.engine.index
        known = index.library.marks.decisions().items()
        made = sorted(((d.at, i, d.decision) for i, d in known if i in index.positions), reverse=True)
        versions = index.library.versions(i for _, i, _ in made)
        done = set[str]()
        chosen: dict[str, list[str]] = {"include": [], "exclude": []}
        for _, paper, decision in made:
            if paper not in done and decision in chosen:
                chosen[decision].append(paper)
                done |= {paper, *versions.get(paper, ())}
        liked, disliked = (tuple(chosen[name][: self.papers]) for name in ("include", "exclude"))
        return liked, disliked

    @staticmethod
    def _joined(search: Search, papers: tuple[str, ...], weight: float) -> Search:
        """The search with echoes of its probes that have the papers as seeds."""
        if not papers:
            return search
        echoes = [
            replace(
                probe, text="", seeds=papers, seeds_as="", weight=probe.weight * weight, aspect="feedback"
            )
            for probe in search.probes
            if probe.weight > 0 and not probe.matching
        ]
        return replace(search, probes=(*search.probes, *echoes))

    def _said(self, liked: tuple[str, ...], disliked: tuple[str, ...]) -> Step:
        said = [f"{', '.join(liked)} joined the question"] if liked else []
        said += [f"{', '.join(disliked)} pushed away"] if disliked else []
        return Step(spell(self), tuple(said))
