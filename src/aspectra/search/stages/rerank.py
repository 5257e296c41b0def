"""Reranking: a judge and a sorter put papers in order, as a function and as a stage.

Papers and a method go in; the same papers come out in another order, with all that happened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from aspectra.base.errors import UsageError
from aspectra.base.registry import spell, split_line
from aspectra.base.trust import Permission
from aspectra.llm import loops
from aspectra.llm.chat import ChatModel, ModelError
from aspectra.search.plan import Step, Tally
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.judges.protocol import JUDGES, Judge
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.shown_texts import ShownTexts, TextBudget, check_tokens, fit_for
from aspectra.search.rerank.sorters.protocol import SORTERS, Calls, JudgedPapers, Sorted, Sorter
from aspectra.search.stages.protocol import STAGES, Context, SearchState

# A method of reranking: a judge and a sorter that fit, as a value with one spelling.
#
# ``listwise(width=10)+tournament(batch=10)``: names from the registries, options that differ from their
# defaults in brackets. It prints as it parses.


def fits(judge: Judge, sorter: Sorter) -> bool:
    """True if the sorter can use the judge's answers, and the judge takes as many papers as it shows."""
    return judge.answers in sorter.asks and judge.width >= sorter.least_width


@dataclass(frozen=True)
class Method:
    """A judge and a sorter.

    Raises:
        UsageError: they do not fit; the message lists what does.
    """

    judge: Judge
    sorter: Sorter

    def __post_init__(self) -> None:
        if fits(self.judge, self.sorter):
            return
        judge, sorter = self.judge, self.sorter
        if judge.answers in sorter.asks:
            why = f"{judge.name} takes {judge.width} papers, {sorter.name} shows {sorter.least_width}"
        else:
            asks = " or ".join(sorter.asks)
            why = f"{judge.name} answers with {judge.answers}, {sorter.name} asks for {asks}"
        good = [name for name in SORTERS if (other := _plain(SORTERS.get(name))) and fits(judge, other)]
        judges = [name for name in JUDGES if (other := _plain(JUDGES.get(name))) and fits(other, sorter)]
        hint = f"with {judge.name}: {', '.join(good)}; with {sorter.name}: {', '.join(judges)}"
        raise UsageError(f"{judge.name} does not fit {sorter.name}", why=why, hint=hint)

    def __str__(self) -> str:
        return f"{spell(self.judge)}+{spell(self.sorter)}"

    def calls(self, count: int) -> Calls:
        """Bounds on the calls for so many papers, all answers being usable."""
        return self.sorter.calls(count, self.judge)

    def certain(self, count: int) -> int:
        """Number of first places that are right if the judge never errs."""
        return self.sorter.certain(count, self.judge)

    @classmethod
    def parse(cls, text: str) -> Method:
        """Read a method's spelling; a judge alone gets the sorter that is usual for it.

        Raises:
            UsageError: unknown names or options, or a pair that does not fit.

        >>> str(Method.parse("listwise(width=10, reasons=yes) + window(size=10,step=5)"))
        'listwise(width=10,reasons=yes)+window(size=10,step=5)'
        >>> str(Method.parse("yes-no"))
        'yes-no+single'
        """
        first, *rest = split_line(text, "+")
        second = "+".join(rest) if rest else None
        judge = JUDGES.read(first)
        usual = {"scores": "single", "pairs": "heapsort", "lists": "window"}
        if second is None and judge.answers == "lists" and judge.width != 20:
            second = f"window(size={judge.width},step={max(1, judge.width // 2)})"
        return cls(judge, SORTERS.read(usual[judge.answers] if second is None else second))


def _plain(make: Callable[..., Any]) -> Any:
    """A member with default options; None where it needs some."""
    try:
        return make()
    except (TypeError, UsageError):
        return None


# Share of questions whose answer was repaired or missing, above which a result counts as degraded.
_DEGRADED_ABOVE = 0.2


@dataclass(frozen=True)
class RerankResult:
    """An order of exactly the papers that were given.

    Attributes:
        order: ids, best first; each candidate once.
        scores: by rank, higher is better, None inside for a paper without an answer or below ``depth``; None
            where the method gives no scores.
        method: its spelling.
        tally: what was asked and what that cost; its defects are ``unknown``, ``repeated`` and ``missing``
            labels; replies ``unreadable``, ``refused``, ``failed``, ``cut-off``, without log-probabilities
            (``no-logprobs``); questions ``asked-anew``, with less text because of the ``context``, or
            ``not-asked`` after the asking was stopped; pairs in ``conflict``. It is degraded where more than
            the stated share of questions needed repair, or the asking was stopped.
        cut: papers shown only in part at least once.
        query_cut: whether the query was shown only in part.
        hidden: id -> hidden characters taken out of a paper before it was shown.
        stopped: the error that ended the asking, or None. The order is then that of the first stage: half a
            sort is none, and what was answered is in the journal for the next run.
        error: the last error of a call, or None.
    """

    order: tuple[str, ...]
    scores: tuple[float | None, ...] | None = None
    method: str = ""
    tally: Tally = Tally()
    cut: tuple[str, ...] = ()
    query_cut: bool = False
    hidden: Mapping[str, int] = field(default_factory=dict)
    stopped: ModelError | None = None
    error: ModelError | None = None


async def rerank(
    question: Question,
    candidates: Sequence[Candidate],
    method: Method,
    model: ChatModel | None = None,
    *,
    depth: int | None = None,
    concurrency: int = 16,
    fit: TextBudget | None = None,
    salt: str = "",
    again: int = 1,
) -> RerankResult:
    """The candidates in the method's order.

    Nothing that a model does or says raises an error, loses a paper or adds one. Where single answers fail,
    what they were about keeps its order, and that is counted; where none is had, or an error ends the asking
    (budget, key), the first-stage order stands.

    Args:
        question: what is looked for.
        candidates: in first-stage order.
        method: judge and sorter.
        model: may be None where the judge needs no model.
        depth: how many of the first candidates are reranked; the others stay behind them. None for all.
        concurrency: calls in flight at most.
        fit: how much text a request may hold.
        salt: of the fences, see :class:`ShownTexts`; another salt makes all requests new to a journal.
        again: how often a question is asked anew when nothing can be read from its answer.

    Raises:
        UsageError: an id twice, no model where one is needed, or an impossible number.
    """
    if len({candidate.id for candidate in candidates}) < len(candidates):
        raise UsageError("candidates to be reranked need ids of their own", why="an id stands there twice")
    if method.judge.needs_model and model is None:
        raise UsageError(f"the judge {method.judge.name!r} asks a model, and none was named")
    if depth is not None and depth < 0:
        raise UsageError(f"cannot rerank the first {depth} papers")
    shown = ShownTexts(question, fit, salt)
    asker = Asker(model, shown, concurrency=concurrency, again=again)
    head = candidates[: len(candidates) if depth is None else depth]
    if len(head) < 2:
        return RerankResult(tuple(c.id for c in candidates), method=str(method))
    result = await method.sorter.sort(JudgedPapers(head, method.judge, asker))
    if sorted(result.order) != list(range(len(head))):
        # A sorter of a third party; ours cannot come here, their tests see to that.
        raise UsageError(f"the sorter {method.sorter.name!r} did not give an order of what it got")
    tail = [candidate.id for candidate in candidates[len(head) :]]
    by_rank = None
    if asker.stopped is not None or (asker.questions and asker.unanswered == asker.questions):
        result = Sorted(list(range(len(head))))
    if result.scores is not None:
        by_rank = (*(result.scores[place] for place in result.order), *(None for _ in tail))
    share = asker.bad / asker.questions if asker.questions else 0.0
    return RerankResult(
        order=(*(head[place].id for place in result.order), *tail),
        scores=by_rank,
        method=str(method),
        tally=asker.tally(degraded=share > _DEGRADED_ABOVE),
        cut=tuple(sorted(shown.cut)),
        query_cut=shown.query_cut,
        hidden=dict(sorted(shown.hidden.items())),
        stopped=asker.stopped,
        error=asker.last_error,
    )


@STAGES.register("rerank")
@dataclass(frozen=True)
class Reranking:
    """The stage that puts the first papers in order, see :func:`rerank`.

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

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """See :class:`~aspectra.search.stages.protocol.Stage`."""
        head = context.candidates(state.ids[: self.depth], full=self.full, solutions=self.solutions)
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
        return state.ordered((*result.order, *state.ids)), step
