"""Single pass: every paper is scored once (pointwise)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, JudgedPapers, Sorted


@SORTERS.register("single")
@dataclass(frozen=True)
class Single:
    """Sort by score; equal scores keep the first-stage order, and a paper without a score keeps its place."""

    name: ClassVar[str] = "single"
    asks: ClassVar[tuple[Answers, ...]] = ("scores",)
    least_width: ClassVar[int] = 1

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge."""
        scores = await papers.scores()
        return Sorted(by_score(scores), scores)

    def calls(self, count: int, judge: Judge) -> Calls:
        """One for each paper; none where the judge needs no model."""
        calls = count if judge.needs_model and count > 1 else 0
        return Calls(calls, calls)

    def certain(self, count: int, judge: Judge) -> int:
        """All, as far as the judge's scores tell papers apart."""
        return count


def by_score(scores: Sequence[float | None]) -> list[int]:
    """Places by score, highest first; ties keep their order, and where there is no score the place is kept.

    >>> by_score([0.1, None, 0.9, 0.1])
    [2, 1, 0, 3]
    """
    known = [(score, place) for place, score in enumerate(scores) if score is not None]
    ordered = iter(sorted(known, key=lambda pair: (-pair[0], pair[1])))
    return [place if score is None else next(ordered)[1] for place, score in enumerate(scores)]
