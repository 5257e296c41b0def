"""The searcher: the one door to a library's papers; it plans, runs and explains."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from msgspec import Struct

from aspectra.base.errors import AspectraError, LibraryCorrupt, ViewMismatch
from aspectra.base.values import replace
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.store import Store
from aspectra.search.conditions.attributes.labels.lensed import know_lenses
from aspectra.search.conditions.grading import (
    bound_conditions,
    left_by_filters,
    left_out_warnings,
    none_left_warnings,
    ordering_conditions,
    without_data,
)
from aspectra.search.conditions.lists import UserLists
from aspectra.search.evidence.hits import (
    Explainer,
    WhyNot,
    fit_of,
    quotes_of,
    unfiltered,
    weak_match_warning,
    why_not,
)
from aspectra.search.instructions.understanding import SecondReader
from aspectra.search.plan import Plan, Step
from aspectra.search.planning.aspects import NOT_APPLIED
from aspectra.search.planning.index_views import (
    aspect_vectors,
    in_publication_order,
    index_views,
    permission_warnings,
    term_warnings,
    with_permitted,
    year_warnings,
)
from aspectra.search.planning.planners.plain import lens_warnings
from aspectra.search.planning.planners.protocol import DEFAULT_PLANNER, ViewNames
from aspectra.search.query import Query, Unread
from aspectra.search.ranking import Hit, Ranking
from aspectra.search.recipe import Recipe
from aspectra.search.scoring.engine import Engine
from aspectra.search.scoring.phases import Parted
from aspectra.search.stages.moves import Move, Prefixes, run_steps
from aspectra.search.stages.protocol import Context, SearchState
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats


class Result(Struct, frozen=True):
    """The papers that a plan found, in order, before hits are made of them.

    Attributes:
        ids: best first; one version of each work, unless the plan wants all.
        scores: strictly of the last search; where a stage put papers in an order of its own, minus the rank.
        steps: what each stage did, and what it cost.
        moves: id -> its moves, for papers whose place a stage changed.
        state: what the last step gave.
        engine: the one that ran.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    steps: tuple[Step, ...]
    moves: Mapping[str, tuple[Move, ...]]
    state: SearchState
    engine: Engine


class Searcher:
    """Searches one library; safe to use from several threads.

    The generation that was current when the searcher was opened stays in use until :meth:`refresh`. Texts,
    versions and removals are those of the library at one moment: what is written while a search runs is seen
    by the next one, in whole.

    Args:
        library: an opened library.
        load: makes an encoder from its specification.
        model: the language model of stages; None where none of them needs one.
        lanes: calls to it under way at once.

    Its attribute ``lists`` holds the user's lists of venues and papers, for conditions that name them;
    ``second`` reads texts beside the rules, see :mod:`aspectra.search.planning.model_reader`;
    ``elsewhere`` gives the parts of a generation whose papers other processes score, see
    :mod:`aspectra.cluster`.

    >>> with Searcher(library.store) as searcher:
    ...     searcher.search("owls at night", limit=1).ids
    ['owl']
    """

    def __init__(
        self,
        library: Store,
        load: Callable[[str], Encoder] = load_encoder,
        *,
        model: ChatModel | None = None,
        lanes: int = 16,
    ) -> None:
        self.library = library
        self.model = model
        self.lanes = lanes
        self.lists = UserLists()
        self.second: SecondReader | None = None
        self.elsewhere: Callable[[Index], Parted] | None = None
        know_lenses(library)
        self._load = load
        self._engine: Engine | None = None
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the library, and the generation once searches under way have ended."""
        self._closed = True
        self.refresh()
        self.library.close()

    def refresh(self) -> None:
        """Use the newest generation from now on; the one in use is closed when its searches have ended."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.index.close()

    @property
    def engine(self) -> Engine:
        """The engine over the generation in use, open until :meth:`refresh` or :meth:`close`.

        Raises:
            ViewMismatch: the library was never indexed.
        """
        with self._lock:
            if self._engine is None:
                index = self._open()
                self._engine = Engine(index, parted=self.elsewhere and self.elsewhere(index))
            return self._engine

    def _open(self) -> Index:
        """The newest generation, opened."""
        while True:
            if self._closed:
                raise AspectraError("the searcher was closed")
            folder = self.library.generations.current()
            if folder is None:
                raise ViewMismatch(
                    f"the library at {self.library.folder} has no index yet",
                    why=f"it holds {len(self.library):,} papers"
                    if len(self.library)
                    else "it holds no papers",
                    hint="aspectra index" if len(self.library) else "aspectra add FILE, then aspectra index",
                )
            try:
                return Index(self.library, folder, self._load)
            except LibraryCorrupt:  # unless a writer replaced and removed it just now
                if self.library.generations.current() == folder:
                    raise

    @contextlib.contextmanager
    def _using(self) -> Iterator[Engine]:
        """The engine; its generation stays open meanwhile, whatever other threads do."""
        while not (engine := self.engine).index.enter():
            if engine is self._engine:  # by who got it from this searcher, not by refresh
                raise AspectraError("the index was closed", hint="open another searcher")
        try:
            yield engine
        finally:
            engine.index.leave()

    @property
    def index(self) -> Index:
        """The generation in use."""
        return self.engine.index

    @property
    def view_names(self) -> ViewNames:
        """The views that planners may search."""
        with self._using() as engine:
            return index_views(engine.index)

    def search(
        self,
        query: Query | str,
        recipe: Recipe | str = DEFAULT_PLANNER,
        *,
        explain: bool = False,
        **fields: Any,
    ) -> Ranking:
        """Papers for a question.

        Args:
            query: the question, or its words.
            recipe: how to search, or its spelling: ``bm25 | rerank``.
            explain: also find each hit's rank in every probe's own order.
            fields: of the :class:`~aspectra.search.query.Query`, where words are given: ``limit``,
                ``conditions`` ...
        """
        asked = Query(query, **fields) if isinstance(query, str) else query
        return self.run(self.plan(asked, recipe), explain=explain)

    def similar(
        self, *seeds: str, recipe: Recipe | str = DEFAULT_PLANNER, explain: bool = False, **fields: Any
    ) -> Ranking:
        """Papers like the seeds; the seeds and their other versions are not shown.

        Args:
            seeds: ids, DOIs, arXiv ids or exact titles.
            recipe: as in :meth:`search`.
            explain: as there.
            fields: as there; ``text`` for further words.
        """
        resolved = tuple(dict.fromkeys(self.library.resolve(seed) for seed in seeds))
        return self.search(Query(seeds=resolved, **fields), recipe, explain=explain)

    def plan(self, query: Query, recipe: Recipe | str = DEFAULT_PLANNER) -> Plan:
        """The plan that would be run for a query.

        Args:
            query: what to search for.
            recipe: how to search. A spelling reads the query's instruction into conditions and aspects,
                whichever planner it names.
        """
        with self._using() as engine:
            for seed in query.seeds:
                if seed not in engine.index.positions:
                    self.library.get(seed)  # raises if the paper does not exist at all
                engine.check_seed(seed)
            made = Recipe.parse(recipe, "read") if isinstance(recipe, str) else recipe
            views = replace(index_views(engine.index), second=self.second)
            plan = with_permitted(lambda views: made.plan(query, views), views, engine.index)
            bound = bound_conditions(plan.conditions, query.seeds, engine.index, self.lists)
            conditions, moved = ordering_conditions(bound, engine.grader)
            unread = (*plan.unread, *(Unread(c.words or c.label, why) for c, why in moved))
            return in_publication_order(replace(plan, conditions=conditions, unread=unread), engine.index)

    def result(self, plan: Plan, *, salt: str = "", prefixes: Prefixes | None = None) -> Result:
        """Run a plan without making hits: experiments record the result, :meth:`run` makes hits of it.

        Args:
            plan: what to run.
            salt: another one makes all requests new to a journal: the number of a repeat, say.
            prefixes: shared by plans of one question that may begin alike, see
                :func:`~aspectra.search.stages.moves.run_steps`.

        Raises:
            UsageError: a stage needs a model, and none is set.
        """
        with self._using() as engine:
            return self._result(engine, plan, salt, prefixes)

    def _result(self, engine: Engine, plan: Plan, salt: str = "", prefixes: Prefixes | None = None) -> Result:
        context = Context(engine, plan, self.model, lanes=self.lanes, salt=salt)
        depth = plan.limit if plan.versions == "all" else plan.limit + max(10, plan.limit // 2)
        while True:
            done = run_steps(context, depth, prefixes)
            ids = done.state.ids[:depth]
            shown = list(ids) if plan.versions == "all" else engine.one_version_each(ids)
            if len(shown) >= plan.limit or len(ids) < depth or done.steps:
                break
            depth *= 4  # works with very many versions took the places
        shown = shown[: plan.limit]
        removed = engine.changes()[0]
        if removed:  # since the search began
            shown = [paper_id for paper_id in shown if paper_id not in removed]
        scores = dict(zip(ids, done.state.scores, strict=False))
        return Result(
            tuple(shown),
            tuple(scores[i] if scores else -float(rank) for rank, i in enumerate(shown, 1)),
            done.steps,
            {i: done.moves[i] for i in shown if i in done.moves},
            done.state,
            engine,
        )

    def run(self, plan: Plan, *, explain: bool = False) -> Ranking:
        """The ranking of a plan.

        Args:
            plan: what to run.
            explain: also find each hit's rank in every probe's own order.
        """
        clock = perf_counter()
        with self._using() as engine:
            # A model may take minutes, too long to keep a snapshot.
            result = self._result(engine, plan) if plan.stages else None
            with self.library.snapshot():
                return self._ranking(plan, result or self._result(engine, plan), clock, explain=explain)

    def _ranking(self, plan: Plan, result: Result, clock: float, *, explain: bool) -> Ranking:
        """Hits of a result, with the papers as the library has them now."""
        engine = result.engine
        known = engine.papers(result.ids, full=False)
        ids = [i for i in result.ids if i in known]
        papers = [known[i] for i in ids]
        positions = engine.positions(ids)
        explainer = Explainer(engine, plan, result.state, positions)
        quotes = quotes_of(engine, plan, positions, papers)
        versions, scores = engine.versions(ids), dict(zip(result.ids, result.scores, strict=True))
        hits = tuple(
            Hit(
                paper.id,
                number + 1,
                scores[paper.id],
                paper,
                quotes[number] or (),
                explainer.probes(number, ranks=explain),
                tuple(versions.get(paper.id, ())),
                explainer.conditions(number, paper),
                result.moves.get(paper.id, ()),
            )
            for number, paper in enumerate(papers)
        )
        fit = fit_of(engine.index, result.state.search, hits)
        warnings = (
            weak_match_warning(fit)
            + [warning for step in result.steps for warning in step.warnings()]
            + self._warnings(engine, plan, ids)
        )
        if stale := quotes.count(None):
            noun = "paper" if stale == 1 else "papers"
            warnings.append(f"{stale} {noun} changed since the last index, not quoted: aspectra index")
        unapplied = tuple(without_data(engine.grader, plan.conditions))
        warnings += [f"{NOT_APPLIED} [{condition.label}]: {why}" for condition, why in unapplied]
        warnings += [
            f"nothing is exempt by {exempt.spelling} from [{condition.label}]: {why}"
            for condition in plan.conditions
            for exempt, why in without_data(engine.grader, condition.unless)
        ]
        warnings += left_out_warnings(engine.left_out(plan))
        warnings += none_left_warnings(engine.grader, plan.conditions)
        seconds = perf_counter() - clock
        name = engine.index.folder.name
        left = left_by_filters(engine.grader, plan.conditions)
        return Ranking(plan, hits, tuple(warnings), seconds, name, result.steps, unapplied, fit, left)

    def why_not(self, plan: Plan, paper_id: str) -> WhyNot:
        """Why a paper is not among a plan's hits.

        Raises:
            NoSuchPaper: it is not in the index.
        """
        with self._using() as engine:
            every = unfiltered(plan, paper_id, len(engine))
            if len(plan.steps) == 1:
                rank = engine.place(every, paper_id)
            else:  # a stage may put papers in an order of its own
                ids = self._result(engine, every).ids
                rank = ids.index(paper_id) + 1 if paper_id in ids else 0
            return why_not(engine, plan, paper_id, rank)

    def aspect_vectors(self, ids: Sequence[str], aspect: str = "") -> Floats:
        """(papers, dimensions) what papers say of an aspect, at unit length; zeros where one says nothing.

        The mean of the sentences as a search weighs them that compares centroids; without an aspect the
        vectors of whole abstracts.

        Raises:
            NoSuchPaper: one is not in the index.
            ViewMismatch: the index has no such vectors.
            UsageError: the aspect cannot be read.
        """
        with self._using() as engine:
            return aspect_vectors(engine.index, ids, aspect)

    def _warnings(self, engine: Engine, plan: Plan, ids: Sequence[str]) -> list[str]:
        """Warnings for the reader of a plan's ranking, each one sentence."""
        removed, added = engine.changes()
        out = [
            f"{NOT_APPLIED} “{unread.words}”{f' ({unread.why})' if unread.why else ''}"
            for unread in plan.unread
        ]
        if added > 0:
            papers = "paper was" if added == 1 else "papers were"
            out.append(f"{added:,} {papers} added since the last index, not searched yet: aspectra index")
        shards = engine.index.manifest.get("shards", {})
        lacking = {name: shards.get(name, 0) for name in self.library.missing}
        out += [
            f"{name} is missing: {papers:,} of {len(engine):,} papers were not searched"
            for name, papers in lacking.items()
        ]
        if (gone := len(removed) - sum(lacking.values())) > 0:
            papers = "removed paper is" if gone == 1 else "removed papers are"
            out.append(f"{gone:,} {papers} still in the index, never shown: aspectra index")
        if waiting := engine.index.waiting:
            out.append(f"searched without {waiting} so far: aspectra index makes them")
        out += lens_warnings(engine.index, plan)
        out += permission_warnings(engine.index, plan)
        out += year_warnings(plan, engine.index, ids)
        out += term_warnings(engine.index, plan)
        probes = [probe for search in plan.searches for probe in search.probes]
        for asked in engine.index.look_up([p for p in probes if not engine.index.facts(p.view).lexical]):
            probe = asked.probe
            if asked.borrowed:
                out.append(f"{', '.join(asked.borrowed)} has no full text: its abstract is used instead")
            if asked.empty and probe.weight > 0:
                out.append(f"no sentence of {', '.join(probe.seeds)} is about {probe.aspect or 'that'}")
            if asked.truncated:
                out.append(f"the query is longer than {asked.truncated} reads; its end was cut")
        worded = [p for p in probes if p.text and not p.seeds and engine.index.facts(p.view).lexical]
        if not ids and worded and not any(asked.words for asked in engine.index.look_up(worded)):
            out.append(f"“{worded[0].text}” is not searched: stop words and single letters are no words")
        return list(dict.fromkeys(out))


def open_library(path: Path | str, load: Callable[[str], Encoder] = load_encoder) -> Searcher:
    """A searcher over the library at ``path``.

    Raises:
        LibraryNotFound: the path does not hold a library.
    """
    return Searcher(Store(path), load)
