"""Bubble sort to a depth: in each pass the best paper rises from the bottom to its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, JudgedPapers, Sorted


@SORTERS.register("bubble")
@dataclass(frozen=True)
class Bubble:
    """``depth`` passes of comparing neighbours from the bottom up; it ends early when nothing moves.

    Neighbours that are undecided stay as they are.

    Attributes:
        depth: passes, and places that are sorted.
    """

    name: ClassVar[str] = "bubble"
    asks: ClassVar[tuple[Answers, ...]] = ("pairs", "lists")
    least_width: ClassVar[int] = 2
    depth: int = 10

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise UsageError(f"cannot sort {self.depth} places")

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge."""
        order = list(range(len(papers)))
        for done in range(min(self.depth, len(order) - 1)):
            moved = False
            for at in range(len(order) - 1, done, -1):
                if await papers.greater(order[at], order[at - 1], "not-greater"):
                    order[at - 1], order[at] = order[at], order[at - 1]
                    moved = True
            if not moved:
                break
        return Sorted(order)

    def calls(self, count: int, judge: Judge) -> Calls:
        """At least the n-1 pairs of one pass; at most k passes of n-1, n-2, ... pairs."""
        passes = min(self.depth, max(0, count - 1))
        pairs = passes * (2 * count - passes - 1) // 2
        return Calls(2 * max(0, count - 1), 2 * pairs)

    def certain(self, count: int, judge: Judge) -> int:
        """The first ``depth`` places; all of them after n-1 passes."""
        return count if self.depth >= count - 1 else self.depth
