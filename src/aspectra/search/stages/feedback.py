"""Relevance feedback: papers join the question, after Rocchio (1971); no model.

The first papers found are taken to be right (pseudo-relevance), or those that the searcher decided on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.spelling import spell
from aspectra.base.values import replace
from aspectra.search.plan import Search
from aspectra.search.stages.protocol import STAGES, Context, Draft
from aspectra.search.step import Step


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

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        if not self.decided:
            first = draft.ids[: self.papers]
            if not first:
                return draft, Step(spell(self), ("nothing was found, so nothing joined the question",))
            return draft.anew(self._joined(draft.search, first, self.weight)), self._said(first, ())
        liked, disliked = self._decided(context)
        if not liked and not disliked:
            return draft, Step(spell(self), ("no paper was decided on, so nothing joined the question",))
        search = self._joined(draft.search, liked, self.weight)
        if self.against and disliked:
            pushed = self._joined(draft.search, disliked, -self.against)
            search = replace(search, probes=(*search.probes, *pushed.probes[len(draft.search.probes) :]))
        return draft.anew(search), self._said(liked, disliked if self.against else ())

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
