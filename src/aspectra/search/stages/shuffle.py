"""Shuffling: a judge gets its papers in an order that says nothing of them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.spelling import spell
from aspectra.search.stages.protocol import STAGES, Context, Draft
from aspectra.search.step import Step


@STAGES.register("shuffle")
@dataclass(frozen=True)
class Shuffle:
    """All papers of a pool, those too that the search did not rank, in an order drawn from the seed.

    Where there is no pool: the papers that the search found. OBLIQ-Bench, section 3, puts documents before
    its verifier like this, so that neither the search nor their source helps it.

    Attributes:
        seed: of the order; every repeat of an experiment and every pool has another one.
    """

    name: ClassVar[str] = "shuffle"
    needs_model: ClassVar[bool] = False
    seed: int = 0

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return wanted

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        pool = context.plan.within
        papers = sorted(draft.ids if pool is None else context.engine.passing(context.plan, pool))
        random.Random("\n".join([str(self.seed), context.salt, *papers])).shuffle(papers)  # noqa: S311
        return draft.ordered(papers), Step(spell(self))
