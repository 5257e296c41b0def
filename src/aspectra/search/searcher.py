"""The searcher: runs plans over an index generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import ViewMismatch
from aspectra.llm import loops
from aspectra.llm.chat import ChatModel
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.prompted import know_lenses
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.filters import allowed_mask
from aspectra.search.conditions.grading import conditions_mask
from aspectra.search.evidence.aspect_quotes import aspect_quotes
from aspectra.search.evidence.explaining import kept_conditions, probe_scores
from aspectra.search.evidence.passages import with_passages
from aspectra.search.evidence.quotes import Quoter
from aspectra.search.plan import Plan
from aspectra.search.planning.lens_views import lens_warnings, looks_through
from aspectra.search.planning.planners.protocol import DEFAULT_PLANNER, ViewNames, plan_with
from aspectra.search.query import Query, Versions
from aspectra.search.ranking import Evidence, Hit, Ranking
from aspectra.search.scoring.scores import score_papers
from aspectra.search.stages.protocol import Context, asked_with
from aspectra.search.stages.running import Staged, run_stages, staged_ranking
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.index import Index
from aspectra.views.view import Positions, top_positions

__all__ = ["Searcher", "open_library"]


class Searcher:
    """Searches one library; safe to use from several threads.

    The generation that was current when the searcher was opened stays in use until :meth:`refresh`.

    Args:
        library: an opened library.
        load: makes an encoder from its specification.
        model: the language model that stages ask; None for those that need none.
        lanes: calls to it under way at once.
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
        know_lenses(library)
        self._load = load
        self._index: Index | None = None
        self._changes: tuple[int, set[str], int] = (-1, set(), 0)

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the library."""
        self._index = None
        self.library.close()

    def refresh(self) -> None:
        """Use the newest generation from now on."""
        self._index = None

    @property
    def index(self) -> Index:
        """The generation in use.

        Raises:
            ViewMismatch: the library was never indexed.
        """
        if self._index is None:
            folder = self.library.generations.current()
            if folder is None:
                raise ViewMismatch(
                    f"the library at {self.library.folder} has no index yet",
                    why=f"it holds {len(self.library):,} papers"
                    if len(self.library)
                    else "it holds no papers",
                    hint="aspectra index" if len(self.library) else "aspectra add FILE, then aspectra index",
                )
            self._index = Index(self.library, folder, self._load)
        return self._index

    @property
    def view_names(self) -> ViewNames:
        """The views that planners may ask."""
        index = self.index
        readings = {
            facts["lens"]: tuple(facts["cues"])
            for facts in index.manifest["views"].values()
            if "cues" in facts
        }
        return ViewNames(tuple(index.view_names), index.default_encoder(), tuple(index.lens_names), readings)

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        planner: str = DEFAULT_PLANNER,
        evidence: int = 1,
        versions: Versions = "best",
        instruction: str = "",
        same: Sequence[str] = (),
        different: Sequence[str] = (),
        conditions: Sequence[Condition] = (),
        lenses: Sequence[str] = (),
        literal: bool = False,
    ) -> Ranking:
        """Papers for a question in words.

        Args:
            text: the question.
            limit: papers wanted.
            planner: name of a planner.
            evidence: sentences quoted per paper.
            versions: ``best`` or ``all``.
            instruction: what the papers should be like, in words; it is read into conditions and aspects.
            same: aspects in which papers should be like the text.
            different: aspects in which they should be unlike it.
            conditions: what the papers should be like.
            lenses: lenses to search through, for planners that use them.
            literal: search the text as it is; otherwise constraints in it are read and applied.
        """
        query = Query(
            text,
            same=tuple(same),
            different=tuple(different),
            conditions=tuple(conditions),
            instruction=instruction,
            lenses=tuple(lenses),
            limit=limit,
            evidence=evidence,
            versions=versions,
            literal=literal,
        )
        return self.run(self.plan(query, planner))

    def similar(
        self,
        *seeds: str,
        text: str = "",
        limit: int = 10,
        planner: str = DEFAULT_PLANNER,
        evidence: int = 1,
        versions: Versions = "best",
        instruction: str = "",
        same: Sequence[str] = (),
        different: Sequence[str] = (),
        conditions: Sequence[Condition] = (),
        direction: str = "",
        lenses: Sequence[str] = (),
        literal: bool = False,
    ) -> Ranking:
        """Papers like the seeds; the seeds and their other versions are not shown.

        Args:
            seeds: ids, DOIs, arXiv ids or exact titles.
            text: further words, asked together with the seeds.
            limit: as in :meth:`search`.
            planner: as there.
            evidence: as there.
            versions: as there.
            instruction: as there.
            same: aspects in which papers should be like the seeds.
            different: aspects in which they should be unlike them.
            conditions: as there.
            direction: ``builds-on``, ``built-on-by``, ``both``, or "" for likeness without one.
            lenses: as there.
            literal: as there.
        """
        resolved = tuple(dict.fromkeys(self.library.resolve(seed) for seed in seeds))
        query = Query(
            text,
            resolved,
            tuple(same),
            tuple(different),
            tuple(conditions),
            instruction,
            direction,
            tuple(lenses),
            limit,
            evidence,
            versions,
            literal,
        )
        return self.run(self.plan(query, planner))

    def plan(
        self,
        query: Query,
        planner: str = DEFAULT_PLANNER,
        *,
        stages: Sequence[str] = (),
    ) -> Plan:
        """The plan that would be run for a query.

        Args:
            query: its instruction, and its text unless it is literal, are read into conditions and aspects.
            planner: name of a planner.
            stages: what happens after the search, see :mod:`aspectra.search.stages.protocol`.
        """
        for seed in query.seeds:
            self.index.position(seed)
        plan = plan_with(looks_through(query.lenses, planner), query, self.view_names)
        return asked_with(plan, query, stages)

    def order(self, plan: Plan) -> tuple[Positions, NDArray[Any]]:
        """Positions and scores of the plan's papers, best first: the ranking without its clothes.

        Where the plan has stages, the scores only say the order: how many papers stand behind, plus 1.
        """
        index = self.index
        if plan.stages:
            ids = self.staged(plan).ids
            return np.array([index.position(i) for i in ids], dtype=np.int64), np.arange(len(ids), 0.0, -1.0)
        fused = score_papers(self.index, plan, self.allowed(plan), self.depth(plan))
        at = top_positions(fused.scores, plan.limit, index.id_order[fused.papers])
        return fused.papers[at], fused.scores[at]

    def staged(self, plan: Plan, *, salt: str = "") -> Staged:
        """What comes of the plan's stages: papers, best first, and what each stage did.

        Args:
            plan: with stages.
            salt: see :class:`~aspectra.search.stages.protocol.Context`.

        Raises:
            UsageError: a stage needs a model, and there is none.
        """
        context = Context(self, plan, self.model, lanes=self.lanes, salt=salt)
        return loops.run(run_stages(context, plan.limit))

    def allowed(self, plan: Plan) -> NDArray[np.bool_] | None:
        """(papers,) False where limits, exclusions or conditions surely drop a paper; None if none can."""
        gone, _ = self._changed()
        exclude = plan.exclude
        if exclude and plan.versions == "best":
            twins = self.library.versions(exclude)
            exclude = (*exclude, *(v for versions in twins.values() for v in versions))
        mask = allowed_mask(self.index, exclude, gone, plan.within)
        obedient = conditions_mask(self.index, plan.conditions)
        if mask is None or obedient is None:
            return obedient if mask is None else mask
        return mask & obedient

    def _changed(self) -> tuple[set[str], int]:
        """(ids removed since the generation was built, number of papers added since)."""
        revision = self.library.revision
        if revision == self.index.manifest["revision"]:
            return set(), 0
        if self._changes[0] != revision:
            held = set(self.library.ids())
            gone = self.index.positions.keys() - held
            new = len(held) - (len(self.index) - len(gone))
            self._changes = (revision, gone, new)
        return self._changes[1], self._changes[2]

    @staticmethod
    def depth(plan: Plan) -> int:
        """Papers to rank so that, versions folded, the limit can be filled."""
        return plan.limit if plan.versions == "all" else plan.limit + max(10, plan.limit // 2)

    def run(self, plan: Plan, *, explain: bool = False) -> Ranking:
        """The ranking of a plan.

        Args:
            plan: what to run.
            explain: also find each hit's rank in every probe's own order.
        """
        clock = perf_counter()
        index = self.index
        if plan.stages:
            return staged_ranking(self, plan, explain=explain)
        allowed, depth = self.allowed(plan), self.depth(plan)
        while True:
            fused = score_papers(self.index, plan, allowed, depth)
            order = top_positions(fused.scores, depth, index.id_order[fused.papers])
            chosen, versions = self.one_version_each(plan, fused.papers[order])
            if len(chosen) >= plan.limit or len(order) < depth:
                break
            depth *= 4  # works with very many versions took the places
        order = order[chosen]
        positions = fused.papers[order]
        ids = [index.ids[p] for p in positions]
        papers = self.library.get_many(ids, full=False)
        if len(papers) < len(ids):  # removed between the two reads
            kept = [n for n, paper_id in enumerate(ids) if paper_id in papers]
            order, positions, ids = order[kept], positions[kept], [ids[n] for n in kept]
        warnings = self.warnings(plan)
        found = self._quotes(plan, positions, [papers[i] for i in ids])
        hits = []
        for place, (at, paper_id, quotes) in enumerate(zip(order, ids, found, strict=True), start=1):
            hits.append(
                Hit(
                    paper_id,
                    place,
                    float(fused.scores[at]),
                    papers[paper_id],
                    quotes or (),
                    probe_scores(plan, fused, int(at), explain),
                    tuple(versions.get(paper_id, ())),
                    kept_conditions(index, plan, fused, int(at), papers[paper_id]),
                )
            )
        if stale := found.count(None):
            warnings.append(
                f"{stale} hit(s) changed since they were indexed and are not quoted: aspectra index"
            )
        return Ranking(plan, tuple(hits), tuple(warnings), perf_counter() - clock, index.folder.name)

    def one_version_each(
        self, plan: Plan, positions: Positions
    ) -> tuple[NDArray[np.int64], dict[str, list[str]]]:
        """Which of the ranked papers are shown, (n,) places in ``positions``, and other versions by id."""
        ids = [self.index.ids[p] for p in positions]
        twins = self.library.versions(ids)
        if plan.versions == "all" or not twins:
            return np.arange(min(plan.limit, len(ids))), twins
        known = self.library.get_many({i for i in ids if i in twins}, full=False)
        quotable = {i for i, paper in known.items() if paper.abstract.strip()}
        ranked = set(ids)
        seen: set[str] = set()
        chosen = []
        for number, paper_id in enumerate(ids):
            others = twins.get(paper_id, ())
            if paper_id in seen:
                continue
            if paper_id not in quotable and any(o in quotable and o in ranked for o in others):
                continue  # a version with an abstract follows: it says more, and can be quoted
            chosen.append(number)
            seen.update(others)
        return np.array(chosen[: plan.limit], dtype=np.int64), twins

    def _quotes(
        self, plan: Plan, positions: Positions, papers: list[Paper]
    ) -> list[tuple[Evidence, ...] | None]:
        if not plan.evidence or not papers:
            return [()] * len(papers)
        whole = any(self.index.facts(p.view).chunks for p in plan.probes)
        # Sections are needed where chunks are quoted, or the lead of the text stands for the abstract.
        bodies = self.library.get_many(p.id for p in papers if whole or not p.abstract.strip())
        read = [bodies.get(p.id, p) for p in papers]
        found: list[tuple[Evidence, ...] | None] = list(aspect_quotes(self.index, plan, positions, read))
        rest = [number for number, quotes in enumerate(found) if not quotes]
        if rest:
            plain = Quoter(self.index, plan).quotes(positions[rest], [read[number] for number in rest])
            for number, quotes in zip(rest, plain, strict=True):
                found[number] = quotes
        return with_passages(self.index, plan, papers, found)

    def warnings(self, plan: Plan) -> list[str]:
        """What the reader of a plan's ranking should know, each one sentence."""
        gone, new = self._changed()
        out = [f"not understood, so not applied: “{words}”" for words in plan.unread]
        if new > 0:
            out.append(
                f"{new:,} paper(s) were added since the last index and are not searched: aspectra index"
            )
        if gone:
            out.append(f"{len(gone):,} removed paper(s) are still in the index, never shown: aspectra index")
        out += lens_warnings(self.index, plan)
        of_vectors = [p for p in plan.probes if not self.index.facts(p.view).lexical]
        for asked in self.index.look_up(of_vectors):
            probe = asked.probe
            if asked.borrowed:
                out.append(f"{', '.join(asked.borrowed)} has no full text: its abstract asks instead")
            if asked.empty and probe.weight > 0:
                out.append(f"no sentence of {', '.join(probe.seeds)} is about {probe.aspect or 'that'}")
            if asked.truncated:
                out.append(f"the query is longer than {asked.truncated} reads; its end was cut")
        return list(dict.fromkeys(out))


def open_library(path: Path | str, load: Callable[[str], Encoder] = load_encoder) -> Searcher:
    """A searcher over the library at ``path``.

    Raises:
        LibraryNotFound: there is none.
    """
    return Searcher(Store(path), load)
