"""The protocol of a stage: what may happen between a search and the ranking.

A stage gets a state (a search, and its papers once it was run) and returns another one. It may change the
search (another wording), the papers (those that they cite) or their order (a judge), and it may search again.
To add one, write a module in ``search/stages`` with a frozen dataclass decorated by
``@STAGES.register(name)``; its fields are its options. A third party names the module in an entry point of
the group ``aspectra.stage``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

from msgspec import Struct

from aspectra.base.errors import UsageError
from aspectra.base.registry import Registry, spell, split_line
from aspectra.base.trust import Permission
from aspectra.base.values import replace
from aspectra.llm.chat import ChatModel
from aspectra.papers.paper import Paper
from aspectra.search.plan import Plan, Search, Step
from aspectra.search.planning.aspects import aspects_asked
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.scoring.chain import Chain
from aspectra.search.scoring.engine import Engine, Found
from aspectra.search.scoring.phases import Rows


class SearchState(Struct, frozen=True):
    """The state of a search between two steps.

    Attributes:
        search: in its newest wording.
        within: ids that it may rank, of the step before it; None for all papers.
        ids: papers, best first; () where ``search`` was not run yet.
        scores: theirs; () once a stage has put them in an order of its own.
        rows: all that the last search scored; None where ``search`` was not run yet.
        graded: whether conditions move papers in it: they do in a plan's last search.
    """

    search: Search
    within: tuple[str, ...] | None = None
    ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    rows: Rows | None = None
    graded: bool = True

    def found(self, found: Found) -> SearchState:
        """The state with the result of a search."""
        return replace(self, ids=found.ids, scores=found.scores, rows=found.rows)

    def anew(self, search: Search) -> SearchState:
        """A state with another search, to be run on the same papers."""
        return SearchState(search, self.within, graded=self.graded)

    def ordered(self, ids: Iterable[str]) -> SearchState:
        """The state with papers in a stage's own order, each once, without scores."""
        return replace(self, ids=tuple(dict.fromkeys(ids)), scores=())

    def top(self, count: int) -> SearchState:
        """With the first papers only."""
        return replace(self, ids=self.ids[:count], scores=self.scores[:count])


class Stage(Protocol):
    """Any stage.

    Attributes:
        name: as in :data:`STAGES`.
        needs_model: whether it needs a language model.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_model(self) -> bool: ...

    def papers_read(self, wanted: int) -> int:
        """Number of papers that it reads to return ``wanted``; 0 if it runs before the search."""
        ...

    def run(self, state: SearchState, wanted: int, context: Context) -> tuple[SearchState, Step]:
        """Run the stage; return the new state and a record. Errors of a model are counted, never raised.

        It runs in the caller's thread and waits for the replies of a model with
        :func:`aspectra.llm.loops.run`, so that no search holds up the calls of others.
        """
        ...


STAGES: Registry[Callable[..., Stage]] = Registry("stage", __package__)


@dataclass(eq=False)
class Context:
    """The means of stages: the library to search again, the question, the model.

    Args:
        engine: to search again.
        plan: whose stages are run.
        model: for stages that need one, or None.
        lanes: calls under way at once.
        salt: another one makes all requests new to a journal: the number of a repeat, say.
    """

    engine: Engine
    plan: Plan
    model: ChatModel | None = None
    _: KW_ONLY
    lanes: int = 16
    salt: str = ""
    _papers: dict[str, Paper] = field(default_factory=dict, init=False)

    def require(self, stage: str) -> ChatModel:
        """The model.

        Raises:
            UsageError: none was named.
        """
        if self.model is None:
            raise UsageError(
                f"the stage {stage} asks a language model, and none was named",
                hint="aspectra config set llm.model NAME, then llm.base_url URL (docs/models.md)",
            )
        return self.model

    def search(self, state: SearchState, count: int, chain: Chain | None = None) -> Found:
        """The best papers of a state's search.

        Args:
            state: its search is run on the papers that it may rank.
            count: papers wanted.
            chain: further rounds.
        """
        graded = self.plan.conditions if state.graded else ()
        return self.engine.find(
            self.plan, state.search, count, within=state.within, conditions=graded, chain=chain
        )

    def papers(self, ids: Sequence[str], *, full: bool = False) -> list[Paper]:
        """The papers; those removed in between are left out."""
        if missing := [i for i in ids if i not in self._papers or full]:
            self._papers.update(self.engine.papers(missing, full=full))
        return [self._papers[i] for i in ids if i in self._papers]

    def candidates(
        self, ids: Sequence[str], *, full: bool = False, solutions: bool = False
    ) -> list[Candidate]:
        """The papers as judges see them: title and abstract; also the sections, and the record's solution."""
        out = []
        for paper in self.papers(ids, full=full):
            body = "\n\n".join(f"{s.heading}\n{s.text}".strip() for s in paper.sections) if full else ""
            if solutions:
                body = f"{body}\n\n{paper.metadata.get('solution') or ''}".strip()
            out.append(
                Candidate(paper.id, f"{paper.title}\n\n{paper.abstract}".strip(), body, paper.title.strip())
            )
        return out

    def question(self, criterion: str = "", *, solutions: bool = False) -> Question:
        """The question that models get: that of the query, whatever the searches of the plan compare.

        Args:
            criterion: see :class:`Question`; "" for the one aspect that papers should share, else relevance.
            solutions: whether the solution of the query is told.
        """
        plan = self.plan
        probes, seeds = plan.search.probes, plan.search.seeds
        parts = [plan.text.strip() or next((p.text for p in probes if p.text.strip()), "")]
        parts += [f"{paper.title}\n{paper.abstract}".strip() for paper in self.papers(seeds)]
        instructions = [plan.instruction.strip()]
        alike = aspects_asked(probes, 1) if plan.same is None else plan.same
        unlike = aspects_asked(probes, -1) if plan.different is None else plan.different
        for word, names in (("alike in", alike), ("different in", unlike)):
            instructions += [f"{word}: {', '.join(names)}"] if names else []
        only = alike[0].partition(":")[0] if len(alike) == 1 else ""
        usual = only if only in ("background", "method", "result") else "relevance"
        return Question(
            "\n\n".join(part for part in parts if part),
            "; ".join(part for part in instructions if part),
            tuple(condition.label for condition in plan.conditions),
            criterion or usual,
            plan.solution if solutions else "",
            aspects=(*alike, *unlike),
        )


def read_stages(given: Sequence[str]) -> tuple[str, ...]:
    """Spellings of stages as they print.

    Raises:
        UsageError: one is unknown, or has an option that it does not take.
    """
    parts = [part for text in given for part in split_line(text, "|")]
    return tuple(spell(STAGES.read(part)) for part in parts)


def load_stages(stages: Sequence[str]) -> None:
    """Load the local models of stages now, and not at the first ranking.

    Raises:
        AspectraError: one is not installed, not permitted or cannot be loaded.
    """
    for text in stages:
        load = getattr(STAGES.read(text), "load", None)
        if load is not None:
            load()


def permissions_of(stages: Sequence[str]) -> list[Permission]:
    """Permissions that must be given before stages are run: they may name models and hosts."""
    made = [STAGES.read(text) for text in stages]
    return [needed for stage in made for needed in getattr(stage, "needs", ())]


def needs_model(stages: Sequence[str]) -> bool:
    """True if any of the stages needs a language model."""
    return any(STAGES.read(text).needs_model for text in stages)
