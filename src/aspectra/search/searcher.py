"""The searcher: runs plans over an index generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import ViewMismatch
from aspectra.papers.library import Library
from aspectra.papers.paper import Paper
from aspectra.search.compliance import conditions_mask, obey
from aspectra.search.condition import ATTRIBUTES
from aspectra.search.evidence import Quoter
from aspectra.search.fusion import reciprocal_ranks, standardise
from aspectra.search.limits import allowed_mask
from aspectra.search.plan import Plan
from aspectra.search.planner import DEFAULT_PLANNER, PLANNERS, ViewNames
from aspectra.search.query import Filters, Query
from aspectra.search.ranking import Evidence, Hit, ProbeScore, Ranking
from aspectra.views.encoder import Encoder, load_encoder
from aspectra.views.index import Index
from aspectra.views.view import Floats, Positions, top_positions

__all__ = ["Searcher", "open_library"]


@dataclass(frozen=True)
class _Fused:
    """Fused scores of papers before they are cut: positions, scores, and per probe what it said."""

    papers: Positions
    scores: NDArray[Any]
    raw: list[Floats | None]
    standardised: list[NDArray[np.float64] | None]
    grades: list[Floats] = field(default_factory=list)
    worth: float = 0.0

    def take(self, at: Positions) -> _Fused:
        """Only the papers at these places."""
        return replace(
            self,
            papers=self.papers[at],
            scores=self.scores[at],
            raw=_take(self.raw, at),
            standardised=_take(self.standardised, at),
            grades=_take(self.grades, at),
        )


class Searcher:
    """Searches one library; safe to use from several threads.

    The generation that was current when the searcher was opened stays in use until :meth:`refresh`.

    Args:
        library: an opened library.
        load: makes an encoder from its specification.
    """

    def __init__(self, library: Library, load: Callable[[str], Encoder] = load_encoder) -> None:
        self.library = library
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
        return ViewNames(
            tuple(self.index.view_names), self.index.default_encoder(), tuple(self.index.lens_names)
        )

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        planner: str = DEFAULT_PLANNER,
        evidence: int = 1,
        filters: Filters = Filters(),
        versions: str = "best",
    ) -> Ranking:
        """Papers for a question in words.

        Args:
            text: the question.
            limit: papers wanted.
            planner: name of a planner.
            evidence: sentences quoted per paper.
            filters: hard limits.
            versions: ``best`` or ``all``.
        """
        query = Query(text, (), filters, limit, evidence, versions)
        return self.run(self.plan(query, planner))

    def similar(
        self,
        *seeds: str,
        text: str = "",
        limit: int = 10,
        planner: str = DEFAULT_PLANNER,
        evidence: int = 1,
        filters: Filters = Filters(),
        versions: str = "best",
    ) -> Ranking:
        """Papers like the seeds; the seeds and their other versions are not shown.

        Args:
            seeds: ids, DOIs, arXiv ids or exact titles.
            text: further words, asked together with the seeds.
            limit: as in :meth:`search`.
            planner: as there.
            evidence: as there.
            filters: as there.
            versions: as there.
        """
        resolved = tuple(dict.fromkeys(self.library.resolve(seed) for seed in seeds))
        query = Query(text, resolved, filters, limit, evidence, versions)
        return self.run(self.plan(query, planner))

    def plan(self, query: Query, planner: str = DEFAULT_PLANNER) -> Plan:
        """The plan that would be run for a query."""
        for seed in query.seeds:
            self.index.position(seed)
        return PLANNERS.get(planner)(query, self.view_names)

    def order(self, plan: Plan) -> tuple[Positions, NDArray[Any]]:
        """Positions and scores of the plan's papers, best first: the ranking without its clothes."""
        index = self.index
        fused = self._score(plan, self._allowed(plan), self._depth(plan))
        at = top_positions(fused.scores, plan.limit, index.id_order[fused.papers])
        return fused.papers[at], fused.scores[at]

    def _allowed(self, plan: Plan) -> NDArray[np.bool_] | None:
        gone, _ = self._changed()
        exclude = plan.exclude
        if exclude and plan.versions == "best":
            twins = self.library.versions(exclude)
            exclude = (*exclude, *(v for versions in twins.values() for v in versions))
        mask = allowed_mask(self.index, plan.filters, exclude, gone, plan.within)
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

    def _score(self, plan: Plan, allowed: NDArray[np.bool_] | None, depth: int) -> _Fused:
        """Fused scores with what the conditions add, without the papers they drop."""
        if not plan.conditions:
            return self._fuse(plan, allowed, depth)
        count = max(plan.fusion.candidates, depth)
        fused = self._fuse(plan, allowed, count)
        if len(fused.papers) > count and not all(ATTRIBUTES.get(c.attribute).cheap for c in plan.conditions):
            fused = fused.take(top_positions(fused.scores, count, self.index.id_order[fused.papers]))
        obeyed = obey(self.index, plan.conditions, fused.papers, fused.scores, plan.compliance)
        fused = replace(fused, scores=fused.scores + obeyed.moves, grades=obeyed.grades, worth=obeyed.worth)
        return fused if obeyed.kept.all() else fused.take(np.flatnonzero(obeyed.kept))

    def _fuse(self, plan: Plan, allowed: NDArray[np.bool_] | None, depth: int) -> _Fused:
        index = self.index
        views = [index.view(probe.view) for probe in plan.probes]
        if len(views) == 1 and plan.probes[0].weight > 0:
            top = views[0].top(plan.probes[0], depth, allowed)
            return _Fused(top.papers, top.scores, [top.scores], [None])
        if plan.fusion.kind == "rrf":
            return self._fuse_ranks(plan, views, allowed, depth)
        sample = index.sample
        raw: list[Floats | None] = [None] * len(views)
        standard: list[NDArray[np.float64] | None] = [None] * len(views)
        total = np.zeros(len(index))
        everything = len(index) <= plan.fusion.scan_limit
        costly = []
        for number, (view, probe) in enumerate(zip(views, plan.probes, strict=True)):
            if view.cheap or everything:
                scores = view.score(probe).scores
                raw[number] = scores
                values = standardise(scores, scores[sample], allowed)
                standard[number] = values
                total += probe.weight * values
            else:
                costly.append(number)
        if not costly:
            if allowed is None:
                return _Fused(np.arange(len(index)), total, raw, standard)
            kept = np.flatnonzero(allowed)
            return _Fused(kept, total[kept], _take(raw, kept), _take(standard, kept))
        if len(costly) == len(views):
            pool = np.arange(len(index)) if allowed is None else np.flatnonzero(allowed)
        else:
            count = max(plan.fusion.candidates, depth)
            pool = top_positions(total, count, index.id_order, allowed)
        raw, standard, total = _take(raw, pool), _take(standard, pool), total[pool]
        for number in costly:
            scores = views[number].score(plan.probes[number], pool).scores
            reference = views[number].score(plan.probes[number], sample).scores
            values = standardise(scores, reference)
            raw[number], standard[number] = scores, values
            total = total + plan.probes[number].weight * values
        return _Fused(pool, total, raw, standard)

    def _fuse_ranks(
        self, plan: Plan, views: Sequence[Any], allowed: NDArray[np.bool_] | None, depth: int
    ) -> _Fused:
        index = self.index
        lists, raw = [], []
        depth = max(plan.fusion.depth, depth)
        for view, probe in zip(views, plan.probes, strict=True):
            top = view.top(probe, depth, allowed)
            lists.append((top.papers, probe.weight))
            scores = np.full(len(index), np.nan, dtype=np.float32)
            scores[top.papers] = top.scores
            raw.append(scores)
        total = reciprocal_ranks(lists, len(index), plan.fusion.k)
        kept = np.flatnonzero(total)
        return _Fused(kept, total[kept], _take(raw, kept), [None] * len(views))

    @staticmethod
    def _depth(plan: Plan) -> int:
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
        allowed, depth = self._allowed(plan), self._depth(plan)
        while True:
            fused = self._score(plan, allowed, depth)
            order = top_positions(fused.scores, depth, index.id_order[fused.papers])
            chosen, versions = self._one_version_each(plan, fused.papers[order])
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
        warnings = self._warnings(plan)
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
                    _probe_scores(plan, fused, int(at), explain),
                    tuple(versions.get(paper_id, ())),
                )
            )
        if stale := found.count(None):
            warnings.append(
                f"{stale} hit(s) changed since they were indexed and are not quoted: aspectra index"
            )
        return Ranking(plan, tuple(hits), tuple(warnings), perf_counter() - clock, index.folder.name)

    def _one_version_each(
        self, plan: Plan, positions: Positions
    ) -> tuple[NDArray[np.int64], dict[str, list[str]]]:
        """Which of the ranked papers are shown, and the other versions of each."""
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
        whole = any(p.view.startswith("chunks-") for p in plan.probes)
        # Sections are needed where chunks are quoted, or the lead of the text stands for the abstract.
        bodies = self.library.get_many(p.id for p in papers if whole or not p.abstract.strip())
        return Quoter(self.index, plan).quotes(positions, [bodies.get(p.id, p) for p in papers])

    def _warnings(self, plan: Plan) -> list[str]:
        gone, new = self._changed()
        out = []
        if new > 0:
            out.append(
                f"{new:,} paper(s) were added since the last index and are not searched: aspectra index"
            )
        if gone:
            out.append(f"{len(gone):,} removed paper(s) are still in the index, never shown: aspectra index")
        for probe in plan.probes:
            encoder = getattr(self.index.view(probe.view), "query", None)
            if encoder is not None and encoder.truncated and probe.text:
                out.append(f"the query is longer than {encoder.encoder.name} reads; its end was cut")
                encoder.truncated = 0
        return out


def _take(arrays: Sequence[Any], at: Positions) -> list[Any]:
    return [None if a is None else a[at] for a in arrays]


def _probe_scores(plan: Plan, fused: _Fused, at: int, explain: bool) -> tuple[ProbeScore, ...]:
    out = []
    for probe, raw, standard in zip(plan.probes, fused.raw, fused.standardised, strict=True):
        score = None if raw is None or np.isnan(raw[at]) else float(raw[at])
        rank = None
        if explain and raw is not None and score is not None:
            rank = 1 + int(np.count_nonzero(raw > raw[at]))
        value = None if standard is None else float(standard[at])
        out.append(ProbeScore(probe.view, probe.weight, score, value, rank))
    return tuple(out)


def open_library(path: Path | str, load: Callable[[str], Encoder] = load_encoder) -> Searcher:
    """A searcher over the library at ``path``.

    Raises:
        LibraryNotFound: there is none.
    """
    return Searcher(Library(path), load)
