"""Tournament: shuffled batches are put in order, the best of each go on, until one batch is left.

OBLIQ-Bench, appendix C. Two things it leaves open are decided here: batches are as equal as they can be (a
last batch of one paper would let it pass unopposed), and those eliminated in one round are ordered by their
place in their batch, then by the first stage.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.search.rerank.judges.protocol import Answers, Judge
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, JudgedPapers, Sorted


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
