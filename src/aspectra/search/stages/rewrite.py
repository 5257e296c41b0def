"""Query rewriting: a model words the question once as texts that fit would speak (OBLIQ-Bench, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.search.rerank.asking import Asker
from aspectra.search.rerank.showing import Shelf
from aspectra.search.spelling import spell
from aspectra.search.stages._rewording import ask_wording, criterion_of, prompt, reworded, way
from aspectra.search.stages.protocol import STAGES, Context, Draft, Step

__all__ = ["Rewrite"]


@STAGES.register("rewrite")
@dataclass(frozen=True)
class Rewrite:
    """The question in other words; where no usable wording comes, the question as it was.

    Attributes:
        kind: of search: ``general``, ``stance``, ``failure``, ``technique``, ``authorship`` or
            ``recollection``.
        keep: whether the first wording is asked too.
        prompt_file: another prompt than ours, or "".
    """

    name: ClassVar[str] = "rewrite"
    needs_model: ClassVar[bool] = True
    kind: str = "general"
    keep: bool = False
    prompt_file: str = ""

    def __post_init__(self) -> None:
        way(self.kind)

    def reach(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0  # it looks at no paper

    async def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        shelf = Shelf(context.question(criterion_of(self.kind)), salt=context.salt)
        asker = Asker(context.require(self.name), shelf, concurrency=context.lanes)
        text = await ask_wording(asker, prompt("rewrite", self.prompt_file), self.kind)
        if not text:
            note = "no new wording came; the question was asked as it was"
            return draft, Step.of(spell(self), asker, notes=(note,), degraded=True)
        step = Step.of(spell(self), asker, notes=(f"asked as: {text}",))
        return Draft(reworded(draft.plan, text, keep=self.keep)), step
