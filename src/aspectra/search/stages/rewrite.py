"""Query rewriting: a model rewords the question once, like texts that would fit (OBLIQ-Bench, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.spelling import spell
from aspectra.llm import loops
from aspectra.search.plan import Step
from aspectra.search.rerank.asker import Asker, ShownTexts, check_tokens, fit_for
from aspectra.search.stages._rewording import (
    ask_wording,
    check_words,
    criterion_of,
    kind_texts,
    prompt,
    reworded,
    step_of,
)
from aspectra.search.stages.protocol import STAGES, Context, Draft


@STAGES.register("rewrite")
@dataclass(frozen=True)
class Rewrite:
    """The question in other words; where no usable wording comes, the question as it was.

    Attributes:
        kind: of search: ``general``, ``stance``, ``failure``, ``technique``, ``authorship`` or
            ``recollection``.
        keep: whether the first wording is searched too.
        prompt_file: another prompt than ours, or "".
        text_tokens, request_tokens: as for :class:`~aspectra.search.stages.rerank.Reranking`.
    """

    name: ClassVar[str] = "rewrite"
    needs_model: ClassVar[bool] = True
    kind: str = "general"
    keep: bool = False
    prompt_file: str = ""
    text_tokens: int = 600
    request_tokens: int = 16_000

    def __post_init__(self) -> None:
        kind_texts(self.kind)
        check_tokens(self.text_tokens, self.request_tokens)

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return 0  # it looks at no paper

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        check_words(draft.search, self.name)
        model = context.require(self.name)
        fit = fit_for(model, self.text_tokens, self.request_tokens)
        shown = ShownTexts(context.question(criterion_of(self.kind)), fit, context.salt)
        asker = Asker(model, shown, concurrency=context.lanes)
        text = loops.run(ask_wording(asker, prompt("rewrite", self.prompt_file), self.kind))
        if not text:
            note = "no new wording came; the question was asked as it was"
            return draft, step_of(spell(self), asker, note, degraded=True)
        search = reworded(draft.search, text, keep=self.keep)
        return draft.anew(search), step_of(spell(self), asker, f"asked as: {text}")
