"""Merge-interleave: short runs are put in order, then merged by asking about the heads of two runs at a time.

OBLIQ-Bench names a ranking of this kind (appendix D) and does not define it; this definition is ours.

1. n papers are dealt to ceil(n/w) runs in turn, so that every run holds early and late papers of the first
   stage. Each run is put in order by one question (w = papers in a question).
2. Two runs are merged by showing their heads together, h = w // 2 of each (more where the other has fewer
   left), interleaved. From the judge's order papers are taken until the head of one run is used up: whatever
   stands before is better than all that is still hidden in that run, and than what is hidden in the other.
   The rest of what was shown goes back, in the judge's order. This is repeated until one run is empty.
3. Runs are merged two and two, round by round, until one is left.

With w = 2 it is the ordinary merge sort of comparisons, each in both orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, JudgedPapers, Sorted


@SORTERS.register("merge")
@dataclass(frozen=True)
class Merge:
    """The whole order, by lists or by pairs.

    Attributes:
        size: papers in one question, at most; pairs have two.
    """

    name: ClassVar[str] = "merge"
    asks: ClassVar[tuple[Answers, ...]] = ("pairs", "lists")
    least_width: ClassVar[int] = 2
    size: int = 20

    def __post_init__(self) -> None:
        if self.size < 2:
            raise UsageError(f"cannot merge with {self.size} papers in a question")

    def _width(self, judge: Judge) -> int:
        return 2 if judge.answers == "pairs" else min(self.size, judge.width)

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge."""
        width = self._width(papers.judge)
        count = -(-len(papers) // width)
        dealt = [list(range(first, len(papers), count)) for first in range(count)]
        runs = await papers.each(papers.order, dealt)

        async def merge(pair: list[list[int]]) -> list[int]:
            return await _merge(papers, pair[0], pair[1], width) if len(pair) == 2 else pair[0]

        while len(runs) > 1:
            runs = await papers.each(merge, [runs[at : at + 2] for at in range(0, len(runs), 2)])
        return Sorted(runs[0])

    def calls(self, count: int, judge: Judge) -> Calls:
        """The runs, then ceil(min(A, B) / (w - h)) to floor((A + B - 2) / h) + 1 to merge A and B papers."""
        width = self._width(judge)
        half = width // 2
        runs = -(-count // width)
        sizes = [len(range(first, count, runs)) for first in range(runs)]
        low = high = sum(size > 1 for size in sizes)
        while len(sizes) > 1:
            pairs = [sizes[at : at + 2] for at in range(0, len(sizes), 2)]
            for pair in pairs:
                if len(pair) == 2:
                    low += 1 if min(pair) < half else -(-min(pair) // (width - half))
                    high += (sum(pair) - 2) // half + 1
            sizes = [sum(pair) for pair in pairs]
        each = 2 if judge.answers == "pairs" else 1
        return Calls(each * low, each * high)

    def certain(self, count: int, judge: Judge) -> int:
        """All of them."""
        return count


async def _merge(papers: JudgedPapers, left: list[int], right: list[int], width: int) -> list[int]:
    """Two runs in order as one."""
    half = width // 2
    out: list[int] = []
    while left and right:
        # Together never more than the width: where one run has fewer than half, the other fills up.
        heads = left[: max(half, width - len(right))], right[: max(half, width - len(left))]
        shown = [place for place in chain(*zip_longest(*heads)) if place is not None]
        # Where the judge says nothing, each run keeps its order and the first stage decides between heads.
        ordered = await papers.order(shown, _by_first_stage(*heads))
        owner = {place: side for side, head in enumerate(heads) for place in head}
        waiting = [len(head) for head in heads]
        taken = 0
        while all(waiting):
            waiting[owner[ordered[taken]]] -= 1
            taken += 1
        out += ordered[:taken]
        back = ordered[taken:]
        left = [p for p in back if owner[p] == 0] + left[len(heads[0]) :]
        right = [p for p in back if owner[p] == 1] + right[len(heads[1]) :]
    return out + left + right


def _by_first_stage(left: list[int], right: list[int]) -> list[int]:
    """Two runs merged by place, each keeping its own order."""
    out: list[int] = []
    a, b = 0, 0
    while a < len(left) and b < len(right):
        if left[a] < right[b]:
            out.append(left[a])
            a += 1
        else:
            out.append(right[b])
            b += 1
    return out + left[a:] + right[b:]
