"""Sorters: in which order a judge is asked, and what ranking comes of its answers.

``merge``. OBLIQ-Bench names a ranking of this kind (appendix D) and does not define it; this definition is
ours.

1. n papers are dealt to ceil(n/w) runs in turn, so that every run holds early and late papers of the first
   stage. Each run is put in order by one question (w = papers in a question).
2. Two runs are merged by showing their heads together, h = w // 2 of each (more where the other has fewer
   left), interleaved. From the judge's order papers are taken until the head of one run is used up: the
   papers taken are better than all that are still hidden in that run or the other.
   The rest of what was shown goes back, in the judge's order. This is repeated until one run is empty.
3. Runs are merged two and two, round by round, until one is left.

With w = 2 it is the ordinary merge sort of comparisons, each in both orders.

``tournament`` (OBLIQ-Bench, appendix C). Two things it leaves open are decided here: batches are as equal as
they can be (a last batch of one paper would let it pass unopposed), and those eliminated in one round are
ordered by their place in their batch, then by the first stage.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations, pairwise, zip_longest
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, Conflict, JudgedPapers, Sorted


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
    """Places by score, highest first; ties keep their order, and a paper without a score its place.

    >>> by_score([0.1, None, 0.9, 0.1])
    [2, 1, 0, 3]
    """
    known = [(score, place) for place, score in enumerate(scores) if score is not None]
    ordered = iter(sorted(known, key=lambda pair: (-pair[0], pair[1])))
    return [place if score is None else next(ordered)[1] for place, score in enumerate(scores)]


class _Comparing:
    """Common part of sorters that compare two papers, or short lists."""

    asks: ClassVar[tuple[Answers, ...]] = ("pairs", "lists")
    least_width: ClassVar[int] = 2


@SORTERS.register("all-pairs")
@dataclass(frozen=True)
class AllPairs(_Comparing):
    """Win rates: 1 for a win in both orders, half a point each where the orders disagree.

    Pairwise ranking prompting as in the CSFCube exploration, section 3. Costs n(n-1) calls.
    """

    name: ClassVar[str] = "all-pairs"

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


@SORTERS.register("bubble")
@dataclass(frozen=True)
class Bubble(_Comparing):
    """``depth`` passes of comparing neighbours from the bottom up; it ends early when nothing moves.

    Neighbours that are undecided stay as they are.

    Attributes:
        depth: passes, and places that are sorted.
    """

    name: ClassVar[str] = "bubble"
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


@SORTERS.register("heapsort")
@dataclass(frozen=True)
class Heapsort(_Comparing):
    """The first ``depth`` places by comparisons, the rest in first-stage order.

    Attributes:
        depth: places that are sorted.
        conflict: what an undecided pair does: the one that is ``earlier`` in first-stage order counts as
            greater, or neither does (``not-greater``).
    """

    name: ClassVar[str] = "heapsort"
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


@SORTERS.register("merge")
@dataclass(frozen=True)
class Merge(_Comparing):
    """The whole order, by lists or by pairs.

    Attributes:
        size: papers in one question, at most; pairs have two.
    """

    name: ClassVar[str] = "merge"
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
        ordered = await papers.order(shown, [*heapq.merge(*heads)])
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


@SORTERS.register("tournament")
@dataclass(frozen=True)
class Tournament:
    """Survivors first, then those eliminated, last round first.

    Attributes:
        batch: papers in one question.
        top: how many of each batch go on; at most half a batch, so that every round makes the pool smaller.
        seed: of the shuffles.
    """

    name: ClassVar[str] = "tournament"
    asks: ClassVar[tuple[Answers, ...]] = ("lists",)
    batch: int = 20
    top: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.top <= self.batch // 2:
            raise UsageError(
                f"the best {self.top} of batches of {self.batch} cannot go on",
                why="at least one and at most half of a batch goes on",
            )

    @property
    def least_width(self) -> int:
        """The judge must take a whole batch."""
        return self.batch

    async def sort(self, papers: JudgedPapers) -> Sorted:
        """Order the papers by asking the judge."""
        draw = random.Random(self.seed)  # noqa: S311 (no secret)
        pool = list(range(len(papers)))
        tails: list[list[int]] = []

        async def play(batch: list[int]) -> list[int]:
            # A batch is shuffled; where the judge says nothing the first stage decides, not chance.
            return await papers.order(batch, sorted(batch))

        while len(pool) > self.batch:
            draw.shuffle(pool)
            played = await papers.each(play, _split(pool, self.batch))
            pool = [place for batch in played for place in batch[: self.top]]
            beaten = sorted((rank, p) for batch in played for rank, p in enumerate(batch) if rank >= self.top)
            tails.append([place for _, place in beaten])
        draw.shuffle(pool)
        last = await play(pool)
        return Sorted([*last, *(place for tail in reversed(tails) for place in tail)])

    def calls(self, count: int, judge: Judge) -> Calls:
        """ceil(N/b) in each round, after which N is k times that, and one for the last batch."""
        calls = 0
        while count > self.batch:
            batches = -(-count // self.batch)
            calls += batches
            count = batches * self.top
        calls += count > 1
        return Calls(calls, calls)

    def certain(self, count: int, judge: Judge) -> int:
        """The first ``top`` places: none of these can meet ``top`` better papers. A single batch: all."""
        return count if count <= self.batch else self.top


def _split(pool: list[int], most: int) -> list[list[int]]:
    """As few batches of at most ``most`` as possible, sizes differing by at most one."""
    batches = -(-len(pool) // most)
    ends = [len(pool) * number // batches for number in range(batches + 1)]
    return [pool[start:end] for start, end in pairwise(ends)]


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
