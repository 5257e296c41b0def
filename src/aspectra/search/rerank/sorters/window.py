"""Sliding window: lists of neighbours are put in order from the bottom to the top, so that the best rise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, JudgedPapers, Sorted


@SORTERS.register("window")
@dataclass(frozen=True)
class Window:
    """Windows of ``size`` papers, each ``step`` places above the last; several passes settle more places.

    Attributes:
        size: papers in one question.
        step: places between one window and the next; less than ``size``, or nothing would rise.
        passes: from the bottom to the top.
    """

    name: ClassVar[str] = "window"
    asks: ClassVar[tuple[Answers, ...]] = ("lists",)
    size: int = 20
    step: int = 10
    passes: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.step < self.size or self.passes < 1:
            raise UsageError(
                f"a window of {self.size} cannot slide by {self.step} in {self.passes} passes",
                why="the step is at least 1 and less than the window, and there is at least one pass",
            )

    @property
    def least_width(self) -> int:
        """The judge must take a whole window."""
        return self.size

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge."""
        order = list(range(len(papers)))
        for _ in range(self.passes):
            for start, end in self._windows(len(order)):
                order[start:end] = await papers.order(order[start:end])
        return Sorted(order)

    def _windows(self, count: int) -> Iterator[tuple[int, int]]:
        end = count
        while True:
            start = max(0, end - self.size)
            yield start, end
            if start == 0:
                return
            end -= self.step

    def calls(self, count: int, judge: Judge) -> Calls:
        """1 + ceil((n - size) / step) for each pass."""
        windows = 1 + max(0, -(-(count - self.size) // self.step)) if count > 1 else 0
        return Calls(self.passes * windows, self.passes * windows)

    def certain(self, count: int, judge: Judge) -> int:
        """(size - step) places for each pass; all of them where one window holds everything."""
        return count if count <= self.size else min(count, self.passes * (self.size - self.step))
