"""The protocol of a stage: what may happen between the first search and the ranking.

A stage gets a draft (a plan, and its papers once somebody has searched) and gives another one. It may change
the plan (another wording), the papers (those that they cite) or their order (a judge), and it may search
again. To add one, write a module in ``search/stages`` with a frozen dataclass decorated by
``@STAGES.register(name)``, its fields being its options, and name it in :data:`STAGES`; third parties use
the entry point group ``aspectra.stage``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from aspectra.base.errors import UsageError
from aspectra.base.registry import Registry
from aspectra.llm.budget import Cost
from aspectra.llm.chat import ChatModel, Usage
from aspectra.llm.failures import ModelError
from aspectra.llm.prices import Price
from aspectra.search.plan import Plan
from aspectra.search.planning.aspects import aspects_asked
from aspectra.search.query import Query
from aspectra.search.rerank.asking import Asker
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.spelling import read_member, spell

if TYPE_CHECKING:
    from aspectra.papers.paper import Paper
    from aspectra.search.searcher import Searcher

__all__ = [
    "STAGES",
    "Context",
    "Draft",
    "Stage",
    "Step",
    "asked_with",
    "needs_model",
    "read_stages",
]


@dataclass(frozen=True)
class Draft:
    """What is known between two stages.

    Attributes:
        plan: what to search, without stages.
        ids: papers, best first, or None where this plan was not searched yet.
    """

    plan: Plan
    ids: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Step:
    """What one stage did, and what that cost.

    Attributes:
        stage: its spelling.
        notes: what people should know of it: the new wording, how many papers joined.
        questions: that were put to a model, answered or not.
        calls: requests that went to it, those asked anew included.
        recorded: of these, answered from a journal.
        usage: tokens of all calls.
        repairs: questions whose answer had to be repaired, or that got none.
        defects: kind -> count, see ``docs/reranking.md``.
        degraded: whether the result is worth less than the stage promises.
        simulated: whether any answer came from no language model.
        stopped: the error that ended the asking, or None.
        error: the last error of a call, or None.
        cost: in calls, tokens and money; answers from a journal cost nothing now.
        seconds: that it took.
    """

    stage: str
    notes: tuple[str, ...] = ()
    questions: int = 0
    calls: int = 0
    recorded: int = 0
    usage: Usage = Usage()
    repairs: int = 0
    defects: Mapping[str, int] = field(default_factory=dict)
    degraded: bool = False
    simulated: bool = False
    stopped: ModelError | None = None
    error: ModelError | None = None
    cost: Cost = Cost()
    seconds: float = 0.0

    @classmethod
    def of(cls, stage: str, asker: Asker, *, notes: Sequence[str] = (), degraded: bool = False) -> Step:
        """From what an asker counted."""
        return cls(
            stage,
            tuple(notes),
            asker.questions,
            asker.calls,
            asker.recorded,
            asker.usage,
            asker.bad,
            {kind: count for kind, count in sorted(asker.defects.items()) if count},
            degraded or asker.stopped is not None,
            asker.simulated,
            asker.stopped,
            asker.last_error,
        )

    def priced(self, price: Price | None) -> Cost:
        """What it cost at a price for a million tokens, or at an unknown one."""
        asked, answered = self.usage.prompt_tokens, self.usage.completion_tokens
        paid = self.calls - self.recorded
        if not paid:
            return Cost(recorded=self.recorded, recorded_tokens=asked + answered)
        # A reranking counts tokens of all calls together: what was recorded has its share of them.
        share = paid / self.calls
        asked, answered = round(asked * share), round(answered * share)
        money = 0.0 if price is None else price.of(asked, answered)
        kept = self.usage.prompt_tokens + self.usage.completion_tokens - asked - answered
        unpriced = paid if price is None else 0
        return Cost(paid, asked, answered, money, unpriced, self.recorded, kept)

    def to_dict(self) -> dict[str, Any]:
        """JSON form; what is 0 or empty is left out."""
        out: dict[str, Any] = {"stage": self.stage, "seconds": round(self.seconds, 4)}
        counts = {"questions": self.questions, "calls": self.calls, "recorded": self.recorded}
        counts |= {"prompt_tokens": self.usage.prompt_tokens, "repairs": self.repairs}
        counts |= {"completion_tokens": self.usage.completion_tokens}
        out |= {name: value for name, value in counts.items() if value}
        if self.cost.calls:
            out["money"] = None if self.cost.unpriced else round(self.cost.money, 6)
        if self.notes:
            out["notes"] = list(self.notes)
        if self.defects:
            out["defects"] = dict(self.defects)
        out |= {name: True for name in ("degraded", "simulated") if getattr(self, name)}
        if self.stopped or self.error:
            out["error"] = str(self.stopped or self.error)
        return out

    def warnings(self) -> list[str]:
        """What the reader should know, each one sentence."""
        name = self.stage.partition("(")[0]
        out = []
        if self.simulated:
            out.append(f"{name}: simulated, no language model was asked")
        if self.stopped is not None:
            reason = self.stopped.what + (f" ({self.stopped.why})" if self.stopped.why else "")
            out.append(f"{name} stopped: {reason}; the order before it stands")
        elif self.degraded:
            share = f"{self.repairs} of {self.questions} answers were missing or had to be repaired"
            out.append(f"{name} is degraded: {share}" + (f"; last: {self.error.what}" if self.error else ""))
        return out


class Stage(Protocol):
    """Any stage.

    Attributes:
        name: as in :data:`STAGES`.
        needs_model: whether it asks a language model.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_model(self) -> bool: ...

    def reach(self, wanted: int) -> int:
        """How many papers it looks at to hand on ``wanted``."""
        ...

    async def run(self, draft: Draft, wanted: int, context: Context) -> tuple[Draft, Step]:
        """The draft after it, and what it did. What a model does wrong is counted, never raised."""
        ...


STAGES: Registry[Callable[..., Stage]] = Registry("stage", __package__)


class Context:
    """What stages work with: the library to search again, the question, the model.

    Args:
        searcher: over the library.
        plan: whose stages are run; it says what was asked.
        model: who is asked; None where nobody is.
        lanes: calls under way at once.
        salt: another one makes all requests new to a journal: the number of a repeat, say.
    """

    def __init__(
        self,
        searcher: Searcher,
        plan: Plan,
        model: ChatModel | None = None,
        *,
        lanes: int = 16,
        salt: str = "",
    ) -> None:
        self.searcher = searcher
        self.model = model
        self.lanes = lanes
        self.salt = salt
        self.plan = plan
        self._papers: dict[str, Paper] = {}

    def require(self, stage: str) -> ChatModel:
        """The model.

        Raises:
            UsageError: none was named.
        """
        if self.model is None:
            raise UsageError(
                f"the stage {stage} asks a language model, and none was named",
                hint="--model NAME --base-url URL; see docs/models.md",
            )
        return self.model

    def search(self, plan: Plan, count: int) -> tuple[str, ...]:
        """Ids of a plan's papers, best first, without its stages."""
        order, _ = self.searcher.order(replace(plan, stages=(), limit=count))
        ids = self.searcher.index.ids
        return tuple(ids[position] for position in order)

    def found(self, draft: Draft, count: int) -> tuple[str, ...]:
        """The draft's papers, searched for if nobody has yet."""
        return self.search(draft.plan, count) if draft.ids is None else draft.ids

    def shown(self, plan: Plan, ids: Sequence[str]) -> list[str]:
        """Those that the plan's limits, conditions and exclusions let through, and that are indexed."""
        mask = self.searcher.allowed(plan)
        places = self.searcher.index.positions
        return [i for i in ids if i in places and (mask is None or mask[places[i]])]

    def papers(self, ids: Sequence[str], *, full: bool = False) -> list[Paper]:
        """The papers; those removed in between are left out."""
        missing = [i for i in ids if i not in self._papers or full]
        if missing:
            self._papers.update(self.searcher.library.get_many(missing, full=full))
        return [self._papers[i] for i in ids if i in self._papers]

    def candidates(self, ids: Sequence[str], *, full: bool = False) -> list[Candidate]:
        """The papers as judges see them: title and abstract; with ``full`` also the sections."""
        out = []
        for paper in self.papers(ids, full=full):
            body = "\n\n".join(f"{s.heading}\n{s.text}".strip() for s in paper.sections) if full else ""
            out.append(Candidate(paper.id, f"{paper.title}\n\n{paper.abstract}".strip(), body))
        return out

    def question(self, criterion: str = "") -> Question:
        """What was asked, as judges are told it.

        Args:
            criterion: see :class:`Question`; "" for the one aspect that papers should share, else relevance.
        """
        plan = self.plan
        probes = plan.probes
        seeds = tuple(dict.fromkeys(seed for probe in probes for seed in probe.seeds))
        parts = [plan.text.strip() or next((p.text for p in probes if p.text.strip()), "")]
        parts += [f"{paper.title}\n{paper.abstract}".strip() for paper in self.papers(seeds)]
        wishes = [plan.instruction.strip()]
        alike = aspects_asked(plan.probes, 1)
        for word, names in (("alike in", alike), ("different in", aspects_asked(plan.probes, -1))):
            wishes += [f"{word}: {', '.join(names)}"] if names else []
        usual = (
            alike[0] if len(alike) == 1 and alike[0] in ("background", "method", "result") else "relevance"
        )
        return Question(
            "\n\n".join(part for part in parts if part),
            "; ".join(wish for wish in wishes if wish),
            tuple(condition.spelling for condition in plan.conditions),
            criterion or usual,
        )


def read_stages(given: Sequence[str]) -> tuple[str, ...]:
    """Spellings of stages as they print.

    Raises:
        UsageError: one is unknown, or has an option that it does not take.
    """
    return tuple(spell(read_member(STAGES.get, text, "stage")) for text in given)


def needs_model(stages: Sequence[str]) -> bool:
    """Whether any of the stages asks a language model."""
    return any(read_member(STAGES.get, text, "stage").needs_model for text in stages)


def asked_with(plan: Plan, query: Query, stages: Sequence[str]) -> Plan:
    """The plan with stages, which are told the question as it was asked; as it is where there are none."""
    if not stages:
        return plan
    return replace(plan, stages=read_stages(stages), text=query.text, instruction=query.instruction)
