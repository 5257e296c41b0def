"""Heapsort to a depth: a heap of all papers, from which the best are taken one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, Conflict, JudgedPapers, Sorted


@SORTERS.register("heapsort")
@dataclass(frozen=True)
class Heapsort:
    """The first ``depth`` places by comparisons, the rest in first-stage order.

    Attributes:
        depth: places that are sorted.
        conflict: what an undecided pair does: the one that is ``earlier`` in first-stage order counts as
            greater, or neither does (``not-greater``).
    """

    name: ClassVar[str] = "heapsort"
    asks: ClassVar[tuple[Answers, ...]] = ("pairs", "lists")
    least_width: ClassVar[int] = 2
    depth: int = 10
    conflict: Conflict = "earlier"

    def __post_init__(self) -> None:
        if self.depth < 1 or self.conflict not in ("earlier", "not-greater"):
            raise UsageError(f"cannot sort {self.depth} places with conflict={self.conflict!r}")

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge."""
        heap = list(range(len(papers)))
        greater = partial(papers.greater, conflict=self.conflict)

        async def sift(at: int) -> None:
            while (child := 2 * at + 1) < len(heap):
                if child + 1 < len(heap) and await greater(heap[child + 1], heap[child]):
                    child += 1
                if not await greater(heap[child], heap[at]):
                    return
                heap[at], heap[child] = heap[child], heap[at]
                at = child

        # Nodes of one level have no descendants in common, so they are sifted at the same time.
        level = len(heap).bit_length() - 1
        while level >= 0:
            first = 2**level - 1
            await papers.each(sift, range(first, min(2 * first + 1, len(heap) // 2)))
            level -= 1
        best: list[int] = []
        while heap and len(best) < self.depth:
            best.append(heap[0])
            last = heap.pop()
            if heap and len(best) < self.depth:
                heap[0] = last
                await sift(0)
            elif heap:
                heap[0] = last
        return Sorted([*best, *sorted(heap)])

    def calls(self, count: int, judge: Judge) -> Calls:
        """At least n-1 pairs, for each paper but the best has to lose once; at most build and extraction."""
        if count < 2:
            return Calls(0, 0)
        build = 2 * count - 2 * count.bit_count() - ((count & -count).bit_length() - 1)
        after = range(max(1, count - min(self.depth, count) + 1), count)
        extract = sum(2 * (size.bit_length() - 1) for size in after)
        return Calls(2 * (count - 1), 2 * min(build + extract, count * (count - 1) // 2))

    def certain(self, count: int, judge: Judge) -> int:
        """The first ``depth`` places."""
        return min(self.depth, count)
