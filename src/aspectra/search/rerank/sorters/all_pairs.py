"""All pairs: every pair is compared in both orders, papers are ranked by win rate."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, JudgedPapers, Sorted


@SORTERS.register("all-pairs")
@dataclass(frozen=True)
class AllPairs:
    """Win rates: 1 for a win in both orders, half a point each where the orders disagree.

    Pairwise ranking prompting as in the CSFCube exploration, section 3. Costs n(n-1) calls.
    """

    name: ClassVar[str] = "all-pairs"
    asks: ClassVar[tuple[Answers, ...]] = ("pairs", "lists")
    least_width: ClassVar[int] = 2

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge; scores are win rates, 0 to 1."""
        count = len(papers)
        points = [0.0] * count

        async def compare(pair: tuple[int, int]) -> None:
            one, other = pair
            won = papers.agreed(await papers.first_wins(one, other), await papers.first_wins(other, one))
            points[one] += won
            points[other] += 1.0 - won

        await papers.each(compare, combinations(range(count), 2))
        rates: list[float | None] = [point / (count - 1) for point in points]
        return Sorted(sorted(range(count), key=lambda place: (-points[place], place)), rates)

    def calls(self, count: int, judge: Judge) -> Calls:
        """n(n-1)/2 pairs in two orders."""
        return Calls(count * (count - 1), count * (count - 1))

    def certain(self, count: int, judge: Judge) -> int:
        """All: with no mistake the paper of rank r wins exactly n-r times."""
        return count
