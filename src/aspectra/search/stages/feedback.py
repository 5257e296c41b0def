"""Pseudo-relevance feedback: the first papers found join the question (after Rocchio 1971); no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.spelling import spell
from aspectra.base.values import replace
from aspectra.search.stages.protocol import STAGES, Context, Draft
from aspectra.search.step import Step

__all__ = ["Feedback"]


@STAGES.register("feedback")
@dataclass(frozen=True)
class Feedback:
    """Each probe is repeated with the first papers as its seeds, at a lower weight.

    Rocchio adds vectors; here scores in deviations are added, which works for words and vectors alike and can
    be read in the plan.

    Attributes:
        papers: how many of the first papers are taken to be right.
        weight: of their probes, as a share of the probe's own.
    """

    name: ClassVar[str] = "feedback"
    needs_model: ClassVar[bool] = False
    papers: int = 3
    weight: float = 0.5

    def __post_init__(self) -> None:
        if self.papers < 1 or not 0 < self.weight < 10:
            raise UsageError("feedback needs at least 1 paper and a weight above 0")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return self.papers

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        first = draft.ids[: self.papers]
        if not first:
            return draft, Step(spell(self), ("nothing was found, so nothing joined the question",))
        echoes = [
            replace(probe, text="", seeds=first, weight=probe.weight * self.weight, aspect="feedback")
            for probe in draft.search.probes
            if probe.weight > 0 and not probe.matching
        ]
        search = replace(draft.search, probes=(*draft.search.probes, *echoes))
        return draft.anew(search), Step(spell(self), (f"{', '.join(first)} joined the question",))
