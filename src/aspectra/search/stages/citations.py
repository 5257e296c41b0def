"""One hop along citations: behind each of the first papers, those that it cites (LitSearch, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.spelling import spell
from aspectra.search.stages.protocol import STAGES, Context, Draft
from aspectra.search.step import Step


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

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        ids, library = draft.ids, context.engine.library
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
        return draft.ordered(order), Step(spell(self), tuple(notes))
