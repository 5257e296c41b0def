"""Cutting: only the first papers go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.spelling import spell
from aspectra.search.stages.protocol import STAGES, Context, Draft
from aspectra.search.step import Step


@STAGES.register("top")
@dataclass(frozen=True)
class Top:
    """The first papers, as in ``bm25 | top(200) | hybrid``.

    Attributes:
        count: how many.
    """

    name: ClassVar[str] = "top"
    needs_model: ClassVar[bool] = False
    count: int = field(default=100, metadata={"bare": True})

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"top({self.count}) leaves no paper", why="the number must be 1 or more")

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return min(wanted, self.count)

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return draft.top(self.count), Step(spell(self))
