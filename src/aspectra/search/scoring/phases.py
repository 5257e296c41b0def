"""A search in phases, each over every part of a collection: what papers are measured by, then their scores.

A part *surveys* its own papers: how the probes score its share of the fixed sample, and how high. What the
parts tell is *merged*: all of them score by it. Then each part gives *rows*: the scores of its papers on the
scale of the whole, then what conditions add to these on the scale of the best of all parts. Where few papers
are to be scored exactly, or graded from their texts, they are asked for by name. A phase follows from its
arguments alone, so that it may be repeated, and the answer is the same in bits whatever the parts, and
whether they lie in this process or elsewhere (:mod:`aspectra.cluster`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, reduce
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from aspectra.base.values import replace
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import Condition
from aspectra.search.conditions.grading import Grader, apply_conditions, best_scores, field_mean, lead
from aspectra.search.plan import Search
from aspectra.search.planning.aspects import REST
from aspectra.search.scoring.chain import Chain, Lists, Scale, highest, reciprocal_ranks, run_chain, scale
from aspectra.views.index.opened import Index
from aspectra.views.protocol import Asked
from aspectra.views.view import Floats, Positions, Probe, Scored, top_positions

Mask = NDArray[np.bool_] | None
_AT_ONCE = 64  # calls to parts that lie elsewhere


class Elsewhere(Protocol):
    """An object that may stand for another one in another process."""

    @property
    def elsewhere(self) -> bool:
        """True if each call is sent to another process."""
        ...


T = TypeVar("T")
E = TypeVar("E", bound=Elsewhere)


def each(parts: Sequence[E], call: Callable[[E], T]) -> list[T]:
    """Results of a call on each of several parts, in order; parts elsewhere are called at the same time."""
    if len(parts) > 1 and any(part.elsewhere for part in parts):
        return [*_callers().map(call, parts)]
    return [*map(call, parts)]


@cache
def _callers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, "parts")


class Held(Elsewhere, Protocol):
    """Scored papers that one part of a collection holds."""

    def __len__(self) -> int: ...

    def fused(self) -> Fused:
        """All of them."""
        ...

    def best(self, k: int, id_order: NDArray[np.int32]) -> Fused:
        """The k best, best first; ``id_order`` as in :func:`fuse`."""
        ...

    def of(self, papers: Positions) -> Fused:
        """Those among the given papers, in any order."""
        ...

    def top(self, among: int) -> NDArray[np.floating]:
        """See :func:`best_scores`."""
        ...

    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest score; (inf, -inf) without papers."""
        ...

    def above(self, number: int, scores: Floats) -> NDArray[np.int64]:
        """(n,) how many of them a probe scores higher than each of these scores."""
        ...

    def before(self, score: float, rank: int, id_order: NDArray[np.int32]) -> int:
        """Number of papers that are ranked before one with this score and this rank of its id."""
        ...

    def moved(self, by: float) -> Held:
        """The same with a number added to each score."""
        ...

    def contrasted(self, weights: Mapping[int, float], slope: float) -> Held:
        """The same where the weighed sum of some probes counts ``slope`` times.

        Args:
            weights: number of a probe -> its weight, with which its scores are in the sum already.
            slope: see :func:`fuse`.
        """
        ...


class Fused(Struct, frozen=True):
    """Fused scores of papers before they are cut.

    Attributes:
        papers: (n,) positions.
        scores: (n,) fused scores, with what the conditions add.
        raw: per probe (n,) scores as the view gave them, NaN where it did not rank a paper; None if unknown.
        standardised: per probe (n,) scores in deviations, or None where ranks were fused.
        scales: per probe what turned the one into the other, or None.
        grades: per condition (n,) how far each paper has its value.
        moves: per condition (n,) what it added to the score.
    """

    papers: Positions
    scores: NDArray[Any]
    raw: list[Floats | None]
    standardised: list[NDArray[np.float64] | None]
    scales: list[Scale | None]
    grades: list[Floats] = field(default_factory=list)
    moves: list[NDArray[np.float64]] = field(default_factory=list)

    elsewhere: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.papers)

    def fused(self) -> Fused:
        """See :class:`Held`, as are the others."""
        return self

    def best(self, k: int, id_order: NDArray[np.int32]) -> Fused:
        return self.take(top_positions(self.scores, k, id_order[self.papers]))

    def of(self, papers: Positions) -> Fused:
        return self.take(np.flatnonzero(np.isin(self.papers, papers)))

    def top(self, among: int) -> NDArray[np.floating]:
        return best_scores(self.scores, among)

    def bounds(self) -> tuple[float, float]:
        return float(self.scores.min(initial=np.inf)), float(self.scores.max(initial=-np.inf))

    def above(self, number: int, scores: Floats) -> NDArray[np.int64]:
        raw = self.raw[number]
        counts = [0 if raw is None else int(np.count_nonzero(raw > score)) for score in scores]
        return np.array(counts, np.int64)

    def before(self, score: float, rank: int, id_order: NDArray[np.int32]) -> int:
        alike = id_order[self.papers[self.scores == score]]
        return int(np.count_nonzero(self.scores > score)) + int(np.count_nonzero(alike > rank))

    def moved(self, by: float) -> Fused:
        return replace(self, scores=self.scores + by)

    def contrasted(self, weights: Mapping[int, float], slope: float) -> Fused:
        # The weighed sum is in the scores already: what stays of it is slope times that.
        columns = ((weight, self.standardised[n]) for n, weight in weights.items())
        held = reduce(np.add, (weight * column for weight, column in columns if column is not None))
        return replace(self, scores=self.scores + (slope - 1.0) * held)

    def take(self, at: Positions) -> Fused:
        """Only the papers at these places."""
        return replace(
            self,
            papers=self.papers[at],
            scores=self.scores[at],
            raw=_take(self.raw, at),
            standardised=_take(self.standardised, at),
            grades=_take(self.grades, at),
            moves=_take(self.moves, at),
        )


class Scoring(Struct, frozen=True):
    """Parameters for scoring the papers of one search.

    Attributes:
        search: probes and fusion.
        conditions: that grade them: they drop papers and move them.
        compliance: what meeting one is worth.
        sample: (s,) positions of the papers that scores are standardised against.
        asked: the probes with what their seeds bring; () before they are looked up.
        chain: further rounds, or None.
    """

    search: Search
    conditions: Sequence[Condition]
    compliance: float
    sample: Positions
    asked: Sequence[Asked] = ()
    chain: Chain | None = None


def join(held: Sequence[Held]) -> Fused:
    """Parts of one candidate list as one; at least one of them."""
    parts = each(held, lambda one: one.fused())
    if len(parts) == 1:
        return parts[0]

    def columns(name: str) -> list[Any]:
        per_part = [getattr(part, name) for part in parts]
        return [None if c[0] is None else np.concatenate(c) for c in zip(*per_part, strict=True)]

    return Fused(
        np.concatenate([part.papers for part in parts]),
        np.concatenate([part.scores for part in parts]),
        columns("raw"),
        columns("standardised"),
        parts[0].scales,
        columns("grades"),
        columns("moves"),
    )


class Rows(Struct, frozen=True):
    """All papers that a search scored, as the parts of the collection hold them.

    Attributes:
        parts: of each part its papers, in one piece or several; at least one.
    """

    parts: tuple[Held, ...]

    def __len__(self) -> int:
        return sum(each(self.parts, len))

    def best(self, k: int, id_order: NDArray[np.int32]) -> Fused:
        """The k best papers, best first; ``id_order`` as in :func:`fuse`."""
        tops = each(self.parts, lambda part: part.best(k, id_order))
        return tops[0] if len(tops) == 1 else join(tops).best(k, id_order)

    def above(self, number: int, scores: Floats) -> NDArray[np.int64]:
        """(n,) how many papers a probe scores higher than each of these scores."""
        return np.asarray(np.sum(each(self.parts, lambda part: part.above(number, scores)), axis=0))

    def place(self, paper: int, id_order: NDArray[np.int32]) -> int:
        """The place of a paper in their order, from 1; 0 where it is not among them."""
        found = self.of(np.array([paper]))
        if not len(found):
            return 0
        score, rank = float(found.scores[0]), int(id_order[paper])
        return 1 + sum(each(self.parts, lambda part: part.before(score, rank, id_order)))

    def of(self, papers: Positions) -> Fused:
        """The rows of the given papers, in any order; papers without a row are left out."""
        return join(each(self.parts, lambda part: part.of(papers)))


class Survey(Struct, frozen=True):
    """Scores of some papers under one probe, for computing its scale.

    Attributes:
        sample: (s,) scores of the sample's papers; NaN for those that are elsewhere, or unknown.
        highest: best score of the papers that may be ranked; None if no score is known.
    """

    sample: Floats
    highest: float | None

    @classmethod
    def merged(cls, parts: Sequence[Survey]) -> Survey:
        """Of all parts together; every paper is in one of them."""
        known = [part.highest for part in parts if part.highest is not None]
        return cls(np.fmax.reduce([part.sample for part in parts]), max(known, default=None))


class Part:
    """The papers of an index, all of a collection or one part of it, under one search.

    Args:
        index: that holds them.
        asked: the probes with what their texts and seeds bring.
        allowed: (papers of the index,) True where a paper may be ranked; None where every paper may.
    """

    elsewhere: bool = False

    def __init__(self, index: Index, asked: Sequence[Asked], allowed: Mask) -> None:
        self._index, self._asked, self._allowed = index, asked, allowed
        self._columns: dict[int, Floats] = {}

    @property
    def papers(self) -> int:
        """Number of papers in the part."""
        return len(self._index)

    @property
    def ranked(self) -> int:
        """Number of papers in the part that may be ranked."""
        return len(self._index) if self._allowed is None else int(np.count_nonzero(self._allowed))

    def own(self, rows: Fused) -> Fused:
        """The rows whose papers belong to this part."""
        return rows

    @cached_property
    def kept(self) -> Positions:
        """Positions of those that may be ranked, ascending."""
        return np.arange(len(self._index)) if self._allowed is None else np.flatnonzero(self._allowed)

    def cheap(self, number: int) -> bool:
        """True if a probe scores all papers in milliseconds."""
        return self._index.view(self._asked[number].probe.view).cheap

    def _scores(self, numbers: Sequence[int]) -> list[Floats]:
        """(papers of the index,) scores by probes, each computed once."""
        missing = [number for number in numbers if number not in self._columns]
        for number, scored in zip(missing, self._index.score([self._asked[n] for n in missing]), strict=True):
            self._columns[number] = scored.scores
        return [self._columns[number] for number in numbers]

    def survey(self, numbers: Sequence[int], sample: Positions) -> list[Survey]:
        """Survey of the papers under each of some probes.

        Args:
            numbers: of the probes, those that score all papers.
            sample: (s,) positions of the papers that scores are standardised against.
        """
        return [
            # A seed's likeness to itself does not count: seeds may not be ranked.
            Survey(scores[sample], highest(self._able(scores)))
            for scores in self._scores(numbers)
        ]

    def lowest(self, numbers: Sequence[int]) -> list[float | None]:
        """Per probe the lowest score of all papers; None where none is known."""
        found = [highest(-scores) for scores in self._scores(numbers)]
        return [None if one is None else -one for one in found]

    def _able(self, scores: Floats) -> Floats:
        """The scores of the papers that may be ranked."""
        return scores if self._allowed is None else scores[self.kept]

    def rows(self, weights: Mapping[int, float], scales: Mapping[int, Scale]) -> Held:
        """The papers that may be ranked, with their weighed sum of standardised scores.

        Args:
            weights: number of a probe that scores all papers -> its weight.
            scales: number of a probe -> its scale in the whole collection.
        """
        out = blank(self.kept, len(self._asked))
        for number, scores in zip(weights, self._scores([*weights]), strict=True):
            out.raw[number] = raw = self._able(scores)
            out.scales[number] = scales[number]
            out.standardised[number] = values = scales[number].apply(raw)
            np.add(out.scores, weights[number] * values, out=out.scores)
        return out

    def sums(self, weights: Sequence[float], lowest: Sequence[float]) -> Held:
        """The papers that may be ranked, with the weighed sum of their scores as they are.

        Args:
            weights: of the probes.
            lowest: per probe the score in the whole collection that a paper of unknown score counts with.
        """
        out = blank(self.kept, len(self._asked))
        for number, scores in enumerate(self._scores(range(len(self._asked)))):
            out.raw[number] = raw = scores[self.kept]
            filled = np.where(np.isnan(raw), np.float32(lowest[number]), raw)
            np.add(out.scores, weights[number] * filled.astype(np.float64), out=out.scores)
        return out

    def graded(
        self,
        grader: Grader,
        conditions: Sequence[Condition],
        numbers: Sequence[int],
        rows: Held,
        worth: float,
        field: float,
    ) -> Held:
        """Papers of this part with what some conditions add to their scores, without those that these drop.

        Args:
            grader: of its index.
            conditions: all that grade papers.
            numbers: of those that grade them now.
            rows: the papers.
            worth: the most that one preference adds or takes.
            field: mean of the best papers of the whole collection, below which no exclusion lowers any.
        """
        before = rows.fused()
        above = np.maximum(before.scores - field, 0.0)
        found = apply_conditions(grader, [conditions[n] for n in numbers], before.papers, worth, above)
        zeros = np.zeros(len(before))
        grades = list(before.grades) or [zeros.astype(np.float32)] * len(conditions)
        moves = list(before.moves) or [zeros] * len(conditions)
        for number, grade, move in zip(numbers, found.grades, found.moves, strict=True):
            grades[number], moves[number] = grade, move
        out = replace(before, scores=before.scores + sum(found.moves), grades=grades, moves=moves)
        return out if found.passed.all() else out.take(np.flatnonzero(found.passed))

    def best(self, numbers: Sequence[int], k: int, few: bool = False) -> list[Scored]:
        """Per probe its k best papers; with ``few`` a costly one scores only those that may be ranked.

        Others get NaN then. A view of units scores all: a paper without units gets the lowest score of those.
        """
        index, every = self._index, np.arange(len(self._index))
        if few and self._allowed is not None:
            for number in numbers:
                if not self.cheap(number) and index.view(self._asked[number].probe.view).units is None:
                    self._columns[number] = scores = np.full(len(index), np.nan, np.float32)
                    scores[self.kept] = exactly(index, [self._asked[number]], self.kept)[0]
        columns = zip(numbers, self._scores(numbers), strict=True)
        return [index.best(self._asked[n], Scored(every, one), k, self._allowed) for n, one in columns]

    def listed(self, k: int, id_order: NDArray[np.int32]) -> list[Scored]:
        """Per probe its k best papers, without those that it knows nothing of; see :func:`lists`."""
        every, columns = np.arange(len(self._index)), self._scores(range(len(self._asked)))
        return [Scored(every, one).best(k, id_order, self._allowed, drop_unknown=True) for one in columns]


def blank(papers: Positions, probes: int) -> Fused:
    """Papers without any score yet; their fused score is 0."""
    return Fused(papers, np.zeros(len(papers)), [None] * probes, [None] * probes, [None] * probes)


def lists(parts: Sequence[Part], k: int, id_order: NDArray[np.int32]) -> list[Positions]:
    """Per probe its k best papers of all parts, best first, see :meth:`Part.listed`."""
    tops = zip(*each(parts, lambda part: part.listed(k, id_order)), strict=True)
    return [_ranked(of_probe, k, id_order).papers for of_probe in tops]


def split(parts: Sequence[Part], rows: Fused) -> tuple[Held, ...]:
    """Papers as the parts hold them."""
    return tuple(part.own(rows) for part in parts)


def exactly(index: Index, asked: Sequence[Asked], papers: Positions) -> list[Floats]:
    """Per probe (n,) scores of a few papers, of whatever parts."""
    return [answer.scores for answer in index.score(asked, papers)]


def fuse(parts: Sequence[Part], how: Scoring, index: Index, depth: int) -> tuple[Held, ...]:
    """Fused scores of the papers of each part, before conditions.

    Args:
        parts: of the collection.
        how: what they are scored by, with the probes looked up.
        index: of the collection; the rank of each paper's id decides ties.
        depth: papers wanted.
    """
    probes, fusion, id_order = how.search.probes, how.search.fusion, index.id_order
    kept_all = any(c.relation == "require" and ATTRIBUTES.get(c.attribute).finds for c in how.conditions)
    if len(probes) == 1 and probes[0].weight > 0 and not kept_all:
        few = sum(part.ranked for part in parts) <= fusion.candidates
        top = _ranked(each(parts, lambda part: part.best([0], depth, few)[0]), depth, id_order)
        return split(parts, Fused(top.papers, _finite(top.scores), [top.scores], [None], [None]))
    if fusion.kind == "rrf":
        return split(parts, _fuse_ranks(parts, how.search, id_order, depth))
    if fusion.kind == "sum":
        every = range(len(probes))
        lows = zip(*each(parts, lambda part: part.lowest(every)), strict=True)
        lowest = [min((one for one in of if one is not None), default=0.0) for of in lows]
        return tuple(part.sums([probe.weight for probe in probes], lowest) for part in parts)
    everything = sum(part.papers for part in parts) <= fusion.scan_limit
    quick = [n for n in range(len(probes)) if everything or parts[0].cheap(n)]
    costly = [n for n in range(len(probes)) if n not in quick]
    surveys = zip(*each(parts, lambda part: part.survey(quick, how.sample)), strict=True)
    told = dict(zip(quick, map(Survey.merged, surveys), strict=True))
    scales = {n: scale(one.sample, one.highest) for n, one in told.items()}
    drawn = {n: scales[n].apply(told[n].sample) for n in quick}
    rows: tuple[Held, ...] = tuple(part.rows({n: probes[n].weight for n in quick}, scales) for part in parts)
    if costly:
        wide = max(fusion.candidates, depth)
        found = Rows(rows).best(wide, id_order) if quick else join(rows)
        total, raw, standard, scaled = found.scores, [*found.raw], [*found.standardised], [*found.scales]
        named = [how.asked[n] for n in costly]
        answers, references = (exactly(index, named, papers) for papers in (found.papers, how.sample))
        for n, scores, reference in zip(costly, answers, references, strict=True):
            raw[n] = scores
            scaled[n] = one = scale(reference, highest(scores))
            standard[n] = values = one.apply(scores)
            drawn[n] = one.apply(reference)
            total = total + probes[n].weight * values
        rows = split(parts, Fused(found.papers, total, raw, standard, scaled))
    contrast = _contrast(how.search, drawn)
    return rows if contrast is None else tuple(one.contrasted(*contrast) for one in rows)


def _fuse_ranks(parts: Sequence[Part], search: Search, id_order: NDArray[np.int32], depth: int) -> Fused:
    depth, papers = max(search.fusion.depth, depth), len(id_order)
    lists: list[tuple[Positions, float]] = []
    raw: list[Floats | None] = []
    listed = np.zeros(papers, dtype=np.bool_)
    every = range(len(search.probes))
    found = zip(*each(parts, lambda part: part.best(every, depth)), strict=True)
    for probe, tops in zip(search.probes, found, strict=True):
        top = _ranked(tops, depth, id_order)
        lists.append((top.papers, probe.weight))
        scores = np.full(papers, np.nan, dtype=np.float32)
        scores[top.papers] = top.scores
        raw.append(scores)
        listed[top.papers] = True
    total = reciprocal_ranks(lists, papers, search.fusion.k)
    kept = np.flatnonzero(listed)  # with a negative weight a paper on a list may sum to 0
    out = blank(kept, len(raw))
    return replace(out, scores=total[kept], raw=_take(raw, kept))


def _ranked(parts: Sequence[Scored], k: int, id_order: NDArray[np.int32]) -> Scored:
    """The k best of the best papers of all parts."""
    if len(parts) == 1:
        return parts[0]
    papers = np.concatenate([part.papers for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    return Scored(papers, scores).best(k, id_order[papers])


def _contrast(
    search: Search, drawn: Mapping[int, NDArray[np.float64]]
) -> tuple[dict[int, float], float] | None:
    """Weights of the probes on the rest of a paper, and how often what they sum up to is to count.

    Args:
        search: whose probes on the rest of a paper have the aspect :data:`REST`.
        drawn: per probe the standardised scores of the sample.

    Returns:
        None where nothing changes.
    """
    weights = {n: probe.weight for n, probe in enumerate(search.probes) if probe.aspect and n in drawn}
    rest = [n for n in weights if search.probes[n].aspect == REST]
    alike = [n for n in weights if n not in rest and weights[n] > 0]
    if search.fusion.contrast == "subtract" or not rest or not alike:
        return None
    wanted = np.sum([weights[n] * drawn[n] for n in alike], axis=0)
    other = np.sum([weights[n] * drawn[n] for n in rest], axis=0)
    whole = sum(weights[n] for n in rest)
    spread = float(np.var(other))
    slope = whole * float(np.cov(wanted, other, bias=True)[0, 1]) / spread if spread > 1e-12 else 0.0
    return {n: weights[n] for n in rest}, slope


def _finite(scores: Floats) -> Floats:
    """The scores; in place of a NaN, one just below the lowest."""
    unknown = np.isnan(scores)
    lowest = scores[~unknown].min() if not unknown.all() else np.float32(0)
    return np.where(unknown, np.nextafter(lowest, np.float32(-np.inf)), scores)


def _take(arrays: Sequence[Any], at: Positions) -> list[Any]:
    return [None if a is None else a[at] for a in arrays]


# The parts of a collection under one search: probes that were looked up, and which papers may be ranked.
Parted = Callable[[Sequence[Asked], Mask], Sequence[Part]]

_BATCH = 40  # candidates graded at a time by conditions that read texts


def _lists(grader: Grader, parted: Parted, search: Search, allowed: Mask) -> Lists:
    """The lists of a chain: of the papers that may be ranked, without the seeds."""
    index = grader.index
    able = np.ones(len(index), np.bool_) if allowed is None else allowed.copy()
    able[[index.position(seed) for seed in search.seeds]] = False

    def listed(probes: Sequence[Probe], k: int) -> list[Positions]:
        # A paper without a text in the view that a probe searches with, as of a lens, finds nothing.
        out = [np.zeros(0, np.int64)] * len(probes)
        asked = {n: one for n, one in enumerate(index.look_up(probes)) if one.words or one.vectors.any()}
        parts = parted([*asked.values()], able)
        for number, papers in zip(asked, lists(parts, k, index.id_order), strict=True):
            out[number] = papers
        return out

    return listed


def score_papers(grader: Grader, parted: Parted, how: Scoring, allowed: Mask, depth: int) -> Rows:
    """Fused scores with what the conditions add, without the papers they drop.

    Where a condition reads texts, only papers that may be among the ``depth`` best are graded and returned.

    Args:
        grader: of the papers.
        parted: makes the parts that score their own papers.
        how: what they are scored by.
        allowed: (papers,) True where a paper may be ranked; None where every paper may.
        depth: papers wanted.
    """
    conditions, index = how.conditions, grader.index
    if not how.chain:
        how = replace(how, asked=index.look_up(how.search.probes))
    held = parted(() if how.chain else how.asked, allowed)
    count = max(how.search.fusion.candidates, depth) if conditions else depth
    if how.chain is None:
        rows = fuse(held, how, index, count)
    else:
        total = run_chain(index, how.search, how.chain, _lists(grader, parted, how.search, allowed))
        kept = np.flatnonzero(total)
        rows = split(held, replace(blank(kept, len(how.search.probes)), scores=total[kept]))
    if not conditions:
        return Rows(rows)
    slow = [n for n, c in enumerate(conditions) if not c.cheap]
    if slow and len(Rows(rows)) > count:
        rows = split(held, Rows(rows).best(count, index.id_order))
    among = sum(part.ranked for part in held)
    best = np.concatenate(each(rows, lambda one: one.top(among)))
    worth, field = how.compliance * lead(best, among), field_mean(best)

    def graded(numbers: Sequence[int], rows: Sequence[Held]) -> tuple[Held, ...]:
        pairs = zip(held, rows, strict=True)
        return tuple(part.graded(grader, conditions, numbers, one, worth, field) for part, one in pairs)

    rows = graded([n for n in range(len(conditions)) if n not in slow], rows)
    if not slow:
        return Rows(rows)
    # Best first, until no paper left can pass the last of the best any more.
    fused = Rows(rows).best(count, index.id_order)
    most = worth * sum(not conditions[n].filters for n in slow)
    depth = max(depth, 1)
    done: list[Fused] = []
    settled = np.zeros(0)
    first, size = 0, max(_BATCH, 2 * depth)
    while first < len(fused):
        if len(settled) >= depth:
            last = np.partition(settled, len(settled) - depth)[len(settled) - depth]
            if fused.scores[first] + most < last:
                break
        batch = split(held, fused.take(np.arange(len(fused))[first : first + size]))
        done += [one.fused() for one in graded(slow, batch)]
        settled = np.concatenate([one.scores for one in done])
        first += size
    return Rows(tuple(done) or (fused,))


def score_exactly(index: Index, search: Search, ranked: Fused, papers: Positions) -> Fused:
    """Scores that a search would have given to papers that it did not rank; they get no place in its order.

    Args:
        index: that holds the papers.
        search: that was run.
        ranked: papers that it ranked, of which the scales are taken; maybe none.
        papers: (n,) positions.

    Returns:
        Scores of each probe; the fused score is NaN, and grades and moves are empty.
    """
    out = replace(
        blank(papers, len(search.probes)), scores=np.full(len(papers), np.nan), scales=ranked.scales
    )
    known = [n for n, scores in enumerate(ranked.raw) if scores is not None and len(papers)]
    asked = index.look_up([search.probes[number] for number in known])
    for number, scores in zip(known, exactly(index, asked, papers), strict=True):
        out.raw[number], scale = scores, ranked.scales[number]
        out.standardised[number] = None if scale is None else scale.apply(scores)
    return out
