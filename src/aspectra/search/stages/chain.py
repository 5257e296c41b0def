"""A chain of searches from papers that were found, see :mod:`aspectra.search.scoring.chain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.spelling import spell
from aspectra.search.scoring.chain import Chain
from aspectra.search.stages.protocol import STAGES, Context, Draft
from aspectra.search.step import Step


@STAGES.register("chain")
@dataclass(frozen=True)
class ChainStage(Chain):
    """The search before it goes on for further rounds, as in ``prism | chain(depth=3)``."""

    name: ClassVar[str] = "chain"
    needs_model: ClassVar[bool] = False

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`.

        Raises:
            UsageError: it does not follow a search, or one that cannot be continued.
        """
        if draft.fused is not None:
            raise UsageError(
                "a chain follows a search", why="papers were found and changed before", hint="prism | chain"
            )
        return draft.found(context.search(draft, wanted, self)), Step(spell(self))
