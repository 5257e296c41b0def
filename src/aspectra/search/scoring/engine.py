"""The engine: one generation of a library, searched; below stages and evidence, which get it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.library.links.versions import leading
from aspectra.papers.library.rows import text_hash
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import (
    Grader,
    alternatives,
    apply_conditions,
    conditions_mask,
    unknown_papers,
)
from aspectra.search.plan import Plan, Search
from aspectra.search.scoring.chain import Chain
from aspectra.search.scoring.phases import (
    Held,
    Mask,
    Part,
    Parted,
    Rows,
    Scoring,
    each,
    score_papers,
)
from aspectra.views.index.opened import Index
from aspectra.views.view import Positions

# Papers in the order of their years: within the bound, outside it, unknown.


def in_year_order(years: NDArray[Any], wanted: str, allowed: Mask) -> list[Mask]:
    """Masks of the papers that may be ranked, each to be ranked after those before it.

    Args:
        years: (papers,) 0 where unknown.
        wanted: ``<=2021`` or ``>=2021``; "" and ``any`` make one mask of all.
        allowed: (papers,) True where a paper may be ranked; None where every paper may.

    >>> masks = in_year_order(np.array([0, 2022, 2021]), "<=2021", None)
    >>> [mask.tolist() for mask in masks]
    [[False, False, True], [False, True, False], [True, False, False]]
    """
    if wanted in ("", "any"):
        return [allowed]
    bound = int(wanted[2:])
    inside = years <= bound if wanted.startswith("<=") else years >= bound
    known = years != 0
    masks = [known & inside, known & ~inside, ~known]
    if allowed is not None:
        masks = [mask & allowed for mask in masks]
    return [masks[0], *(mask for mask in masks[1:] if mask.any())]


@dataclass(frozen=True)
class Found:
    """Result of a search.

    Attributes:
        ids: the best papers, best first.
        scores: their scores.
        rows: all papers that were candidates.
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]
    rows: Rows


class Engine:
    """Masks, scores and the one order of the papers of a generation; safe to use from several threads.

    Args:
        index: the generation.
        parted: makes the parts of a search, where these lie elsewhere; None where they do not.
    """

    def __init__(self, index: Index, *, parted: Parted | None = None) -> None:
        self.index = index
        self.library = index.library
        self.sample = index.sample
        self.grader = Grader(index)
        self._parted = parted or (lambda asked, allowed: [Part(index, asked, allowed)])
        self._changes: tuple[int, frozenset[str], int] = (-1, frozenset(), 0)

    def __len__(self) -> int:
        return len(self.index)

    def changes(self) -> tuple[frozenset[str], int]:
        """(ids removed since the generation was built, number of papers added since)."""
        revision = self.library.revision
        if revision == self.index.manifest["revision"]:
            return frozenset(), 0
        known = self._changes  # another thread may put its own there
        if known[0] != revision:
            held = set(self.library.ids())
            removed = frozenset(self.index.positions.keys() - held)
            known = self._changes = (revision, removed, len(held) - (len(self.index) - len(removed)))
        return known[1], known[2]

    @cached_property
    def without_text(self) -> Positions:
        """Positions of papers that are known by their identifiers only: there is nothing to search in."""
        nothing = np.frombuffer(bytes.fromhex(text_hash(Paper("x"))), np.uint64)
        held = np.ascontiguousarray(self.index.text_hashes[:]).view(np.uint64)
        found: Positions = np.flatnonzero((held == nothing).all(axis=1))
        return found

    def check_seed(self, seed: str) -> None:
        """Check that a paper can be a seed.

        Raises:
            NoSuchPaper: it is not in the generation.
            UsageError: it has no text.
        """
        if self.index.position(seed) in self.without_text:
            raise UsageError(
                f"{seed} has no title and no text yet",
                why="only its identifier is known, so nothing can be like it",
                hint="add a file that has its record, such as an export as RIS or BibTeX",
            )

    def allowed(self, plan: Plan, within: Iterable[str] | None = None) -> NDArray[np.bool_] | None:
        """(papers,) True where a paper may be ranked; None when every paper may.

        Args:
            plan: exclusions, the pool and the conditions that filter.
            within: only these ids, beside the plan's own pool; None for all.
        """
        exclude = plan.exclude
        if exclude and plan.versions == "best":
            exclude = (*exclude, *(v for twins in self.versions(exclude).values() for v in twins))
        mask = conditions_mask(self.grader, plan.conditions)
        for only in (plan.within, within):
            if only is not None:
                inside = np.zeros(len(self), dtype=np.bool_)
                inside[self.positions(only)] = True
                mask = inside if mask is None else mask & inside
        hidden = np.concatenate([self.positions((*exclude, *self.changes()[0])), self.without_text])
        if len(hidden):
            mask = np.ones(len(self), dtype=np.bool_) if mask is None else mask.copy()
            mask[hidden] = False
        return mask

    def left_out(self, plan: Plan) -> list[tuple[list[Condition], int]]:
        """Required conditions of a plan, with the number of papers they drop only because nothing is known.

        Papers that something else keeps out of the ranking do not count. Conditions that are slow to grade
        are not included.
        """
        out = []
        for group in alternatives(plan.conditions):
            unknown = unknown_papers(self.grader, group)
            if unknown is None or not unknown.any():
                continue
            others = tuple(c for c in plan.conditions if c not in group)
            allowed = self.allowed(replace(plan, conditions=others))
            count = int(np.count_nonzero(unknown if allowed is None else unknown & allowed))
            out += [(group, count)] if count else []
        return out

    def passing(self, plan: Plan, ids: Iterable[str]) -> list[str]:
        """The given papers that a plan may show: indexed, not excluded, and passed by its filters."""
        mask, known = self.allowed(plan), self.index.positions
        inside = [i for i in dict.fromkeys(ids) if i in known and (mask is None or mask[known[i]])]
        filters = [c for c in plan.conditions if c.filters and not c.cheap]
        if not filters:
            return inside
        kept = apply_conditions(self.grader, filters, self.positions(inside), 0.0).passed
        return [paper_id for paper_id, stays in zip(inside, kept, strict=True) if stays]

    def positions(self, ids: Iterable[str]) -> Positions:
        """Positions of those ids that are in the generation."""
        known = self.index.positions
        return np.array([known[i] for i in ids if i in known], dtype=np.int64)

    def find(
        self,
        plan: Plan,
        search: Search,
        count: int,
        *,
        within: Iterable[str] | None = None,
        conditions: Sequence[Condition] | None = None,
        chain: Chain | None = None,
        depth: int = 0,
    ) -> Found:
        """The best papers of one search.

        Args:
            plan: what holds for all its searches: exclusions, conditions.
            search: one of them, or another wording of it.
            count: papers wanted.
            within: only these ids are ranked; None for all.
            conditions: those that grade papers; None for all of the plan.
            chain: further rounds.
            depth: papers whose places are wanted, where these are more.
        """
        depth = max(depth, count)
        graded = plan.conditions if conditions is None else conditions
        how = Scoring(search, graded, plan.compliance, self.sample, chain=chain)
        ids: list[str] = []
        scores: list[float] = []
        done: list[Held] = []
        for mask in in_year_order(self.index.years, search.years, self.allowed(plan, within)):
            left = depth - sum(map(len, done))
            if done and left <= 0:
                break
            rows = score_papers(self.grader, self._parted, how, mask, left)
            if done and len(rows):  # all of them below the papers before
                above = min(lowest for lowest, _ in each(done, lambda one: one.bounds()))
                highest = max(best for _, best in each(rows.parts, lambda one: one.bounds()))
                lower = max(highest - above + 1.0, 0.0)
                rows = Rows(tuple(one.moved(-lower) for one in rows.parts))
            best = rows.best(count - len(ids), self.index.id_order)
            ids += [self.index.ids[position] for position in best.papers]
            scores += best.scores.tolist()
            done += rows.parts
        return Found(tuple(ids), tuple(scores), Rows(tuple(done)))

    def place(self, plan: Plan, paper_id: str) -> int:
        """The place of a paper in the order of a plan's last search, from 1; 0 where it is not ranked."""
        rows = self.find(plan, plan.search, 0, depth=len(self)).rows
        return rows.place(self.index.position(paper_id), self.index.id_order)

    def versions(self, ids: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """Id -> ids of other versions of the same work, for those that have any."""
        return self.library.versions(ids)

    def one_version_each(self, ids: Sequence[str]) -> list[str]:
        """Ranked papers with one version of each work: the first, or the first with an abstract.

        Where the user chose one to lead, it is that one, at its own rank.
        """
        twins = self.versions(ids)
        if not twins:
            return list(ids)
        known = self.papers((i for i in ids if i in twins), full=False)
        quotable = {i for i, paper in known.items() if paper.abstract.strip()}
        ranked, seen, leads = set(ids), set[str](), leading(self.library)
        chosen = []
        for paper_id in ids:
            others = twins.get(paper_id, ())
            if paper_id in seen:
                continue
            if paper_id not in quotable and any(o in quotable and o in ranked for o in others):
                continue  # a version with an abstract follows, which can be quoted
            leader = {o for o in others if o in leads and o in ranked} if paper_id not in leads else set()
            if leader & quotable or (leader and paper_id not in quotable):
                continue  # the version that leads follows
            chosen.append(paper_id)
            seen.update(others)
        return chosen

    def papers(self, ids: Iterable[str], *, full: bool = True) -> dict[str, Paper]:
        """Id -> paper, of those in the library; without sections and references where not ``full``."""
        return self.library.get_many(ids, full=full)
