"""Reranking as a stage: a judge and a sorter put the first papers in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.registry import spell
from aspectra.base.trust import Permission
from aspectra.llm import loops
from aspectra.search.plan import Step
from aspectra.search.rerank.rerank import Method, rerank
from aspectra.search.rerank.shown_texts import check_tokens, fit_for
from aspectra.search.stages.protocol import STAGES, Context, Draft


@STAGES.register("rerank")
@dataclass(frozen=True)
class Reranking:
    """See :mod:`aspectra.search.rerank.rerank`.

    Attributes:
        method: judge and sorter, as in ``listwise+tournament``.
        depth: how many of the first papers are put in order.
        criterion: what makes a paper fit, see
            :class:`~aspectra.search.rerank.question.Question`; "" for the aspect that is asked for, else
            relevance.
        full: whether judges see full texts too, fitted to the budget.
        solutions: whether judges see solutions, of the query and of the papers (``solution`` in a record).
        text_tokens, request_tokens: of one text, and of all texts in one question, at most, see
            :func:`~aspectra.search.rerank.shown_texts.fit_for`; 0 for whole texts, and for what the model
            reads.
    """

    name: ClassVar[str] = "rerank"
    method: str = "listwise+window"
    depth: int = 100
    criterion: str = ""
    full: bool = False
    solutions: bool = False
    text_tokens: int = 600
    request_tokens: int = 16_000

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise UsageError(f"cannot rerank the first {self.depth} papers")
        check_tokens(self.text_tokens, self.request_tokens)
        Method.parse(self.method)

    @property
    def needs_model(self) -> bool:
        """True if its judge needs a language model."""
        return Method.parse(self.method).judge.needs_model

    @property
    def needs(self) -> list[Permission]:
        """Permissions that must be given before its judge is used."""
        return list(getattr(Method.parse(self.method).judge, "needs", ()))

    def load(self) -> None:
        """Load its judge, where that is a local model; errors as the judge's."""
        load = getattr(Method.parse(self.method).judge, "load", None)
        if load is not None:
            load()

    def papers_read(self, wanted: int) -> int:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        return max(wanted, self.depth)

    def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        head = context.candidates(draft.ids[: self.depth], full=self.full, solutions=self.solutions)
        result = loops.run(
            rerank(
                context.question(self.criterion, solutions=self.solutions),
                head,
                Method.parse(self.method),
                context.model,
                concurrency=context.lanes,
                fit=fit_for(context.model, self.text_tokens, self.request_tokens),
                salt=context.salt,
            )
        )
        notes = [f"the first {len(head)} papers, by {result.method}"]
        if result.cut:
            notes.append(f"{len(result.cut)} of them were shown only in part")
        if result.query_cut:
            notes.append("the query was shown only in part")
        if result.hidden:
            notes.append(f"hidden characters were taken out of {len(result.hidden)}")
        step = Step(spell(self), tuple(notes), result.tally, result.stopped, result.error)
        return draft.ordered((*result.order, *draft.ids)), step
