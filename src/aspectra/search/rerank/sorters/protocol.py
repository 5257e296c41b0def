"""The protocol of a sorter, and the papers that it sorts.

A sorter decides which questions to ask; it sees papers only as places in the first-stage order, from 0. It
says before it runs how many calls it may need and how much of its order is certain when the judge makes no
mistake. To add one, write a module in ``search/rerank/sorters`` with a frozen dataclass decorated by
``@SORTERS.register(name)``, its fields being its options; third parties use the
entry point group ``aspectra.sorter``.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from aspectra.base.errors import UsageError
from aspectra.base.registry import Registry
from aspectra.search.rerank.asker import Asker, in_parallel
from aspectra.search.rerank.judges.protocol import Answers, Judge, ListJudge, PairJudge, ScoreJudge
from aspectra.search.rerank.question import Candidate
from aspectra.search.rerank.repair import repair

T = TypeVar("T")
S = TypeVar("S")

# What a sorter that needs a winner does where both orders of a pair disagree.
Conflict = Literal["earlier", "not-greater"]


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls that a sort takes when every answer is usable: at least and at most."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Sorted:
    """A sorter's result.

    Attributes:
        order: places in the first-stage order, best first; each once.
        scores: by place (not by rank), None where there was no answer; or None where the sorter gives none.
    """

    order: list[int]
    scores: list[float | None] | None = None


class Sorter(Protocol):
    """Any sorter.

    Attributes:
        name: as in :data:`SORTERS`.
        asks: kinds of answers that it can use.
        least_width: papers that the judge must take in one question.
    """

    @property
    def name(self) -> str: ...

    @property
    def asks(self) -> tuple[Answers, ...]: ...

    @property
    def least_width(self) -> int: ...

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge."""
        ...

    def calls(self, count: int, judge: Judge) -> Calls:
        """Bounds on the calls for so many papers, all answers being usable."""
        ...

    def certain(self, count: int, judge: Judge) -> int:
        """Number of first places that are right, for any first-stage order, if the judge never errs."""
        ...


class JudgedPapers:
    """The papers to be sorted, and what their judge says of them, repaired and counted.

    Args:
        papers: in first-stage order.
        judge: who answers.
        asker: how.
    """

    def __init__(self, papers: Sequence[Candidate], judge: Judge, asker: Asker) -> None:
        self.papers = papers
        self.judge = judge
        self.asker = asker
        # Asked once: what a judge can do is looked up by protocol, which takes microseconds each time.
        self._scoring = judge if isinstance(judge, ScoreJudge) else None
        self._pairing = judge if isinstance(judge, PairJudge) else None
        self._listing = judge if isinstance(judge, ListJudge) else None
        self._places = {paper.id: place for place, paper in enumerate(papers)}
        self._preferred: dict[tuple[int, int], asyncio.Task[float]] = {}

    def __len__(self) -> int:
        return len(self.papers)

    async def each(self, function: Callable[[T], Awaitable[S]], items: Iterable[T]) -> list[S]:
        """Results of ``function`` for the items, as many at a time as calls may be in flight."""
        return await in_parallel(function, items, self.asker.concurrency)

    async def scores(self) -> list[float | None]:
        """A score for each paper, by place; None where no answer could be had."""
        if self._scoring is None:
            raise UsageError(f"judge {self.judge.name!r} gives no scores")
        return await self._scoring.score(self.papers, self.asker)

    async def first_wins(self, first: int, second: int) -> bool | None:
        """True if the paper shown first fits better, asked in this order only; None without an answer."""
        if self._pairing is not None:
            return await self._pairing.first_wins(self.papers[first], self.papers[second], self.asker)
        found = await self._listed([first, second])
        known = [place for name in found or () if (place := self._places.get(name)) in (first, second)]
        return known[0] == first if known else None

    async def prefer(self, one: int, other: int) -> float:
        """Preference for ``one``: 1 yes, 0 no, 0.5 if the two orders disagree or an answer is missing.

        Asked in both orders at once, and only once in a sort.
        """
        low, high = min(one, other), max(one, other)
        if (low, high) not in self._preferred:
            self._preferred[low, high] = asyncio.create_task(self._both(low, high))
        for_low = await self._preferred[low, high]
        return for_low if one == low else 1.0 - for_low

    async def _both(self, low: int, high: int) -> float:
        return self.agreed(*await asyncio.gather(self.first_wins(low, high), self.first_wins(high, low)))

    def agreed(self, shown_first: bool | None, shown_second: bool | None) -> float:
        """Combine two answers about a paper: with it shown first, and with the other shown first."""
        if shown_first is None or shown_second is None:
            return 0.5
        if shown_first == shown_second:  # whoever stands first wins, or loses
            self.asker.defects["conflict"] += 1
            return 0.5
        return float(shown_first)

    async def greater(self, one: int, other: int, conflict: Conflict = "earlier") -> bool:
        """True if ``one`` goes before ``other``; an undecided pair follows ``conflict``."""
        preferred = await self.prefer(one, other)
        if preferred == 0.5:
            return conflict == "earlier" and one < other
        return preferred > 0.5

    async def order(self, shown: Sequence[int], fallback: Sequence[int] | None = None) -> list[int]:
        """The papers at these places in the judge's order: exactly those, whatever it answers.

        Args:
            shown: places in the order in which the judge sees them.
            fallback: the same places in the order to keep where the judge says nothing; that shown if None.
        """
        kept = list(shown if fallback is None else fallback)
        if len(kept) < 2:
            return kept
        if len(kept) == 2 and self._pairing is not None:
            return kept if await self.prefer(*kept) >= 0.5 else kept[::-1]
        found = await self._listed(shown)
        if found is None:
            return kept
        names = [self.papers[place].id for place in shown]
        repaired = repair(found, names, [self.papers[place].id for place in kept])
        wrong = Counter(unknown=repaired.unknown, repeated=repaired.repeated, missing=repaired.missing)
        self.asker.defects += wrong
        self.asker.bad += not repaired.clean
        return [self._places[name] for name in repaired.order]

    async def _listed(self, shown: Sequence[int]) -> list[str] | None:
        if self._listing is None:
            raise UsageError(f"judge {self.judge.name!r} puts no lists in order")
        return await self._listing.order([self.papers[place] for place in shown], self.asker)


SORTERS: Registry[Callable[..., Sorter]] = Registry("sorter", __package__)
