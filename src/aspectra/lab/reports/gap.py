"""The gap between retrieval and verification, and how oblique a benchmark is, as tables.

A gap is the mean of the best verifier minus that of the best retriever, in one measure and under one set of
judgements. Of a verifier there are two bounds: it ranked the pool as it was found (lower), or with the
missing relevant documents put in (upper). Source: OBLIQ-Bench, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from aspectra.lab.measures.protocol import parse
from aspectra.lab.reports.scores import interval_of, number_of
from aspectra.lab.reports.tables import SMALL_NOTE, Cell, Number, Table
from aspectra.lab.statistics.significance import SMALL, Interval, Values, compare

Bound = Literal["lower", "upper"]
_INTERVALS = (
    "in brackets: 95 % t-intervals over queries, bootstrap intervals where those would leave the scale"
)
# System -> measure -> unit -> value.
Systems = Mapping[str, Mapping[str, Values]]


@dataclass(frozen=True)
class PoolScore:
    """Scores of a system on the pools of one size.

    Attributes:
        name: of the system.
        size: documents of a pool before any were put in.
        bound: ``lower``: ranked as found; ``upper``: with the missing relevant documents put in.
        values: measure -> unit -> value.
        verifier: False for a retriever that ranks a pool which others made.
        calls, tokens: of a language model, for one query.
    """

    name: str
    size: int
    bound: Bound
    values: Mapping[str, Values]
    verifier: bool = True
    calls: float = 0.0
    tokens: float = 0.0


@dataclass(frozen=True)
class GapTask:
    """The systems of both sides on one task, under one set of judgements.

    Attributes:
        name: of the benchmark.
        judged: the judgement set.
        retrievers, agents: system -> measure -> unit -> value; agents search in several steps.
        pools: every system on every pool.
        recall: size -> unit -> share of the relevant documents that the pool held as it was found.
        simulated: systems with a simulated model in them.
        notes: what the numbers were measured on, sentences.
        in_pools: whether retrievers ranked pools of the benchmark, and did not search its collection.
    """

    name: str
    judged: str
    retrievers: Systems
    agents: Systems
    pools: tuple[PoolScore, ...]
    recall: Mapping[int, Values]
    simulated: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    in_pools: bool = False

    @property
    def verifiers(self) -> list[str]:
        """Names of verifiers, in order."""
        return list(dict.fromkeys(pool.name for pool in self.pools if pool.verifier))

    def at(self, name: str, bound: Bound, size: int = 0) -> PoolScore | None:
        """Scores of a system on pools of a size, or on the largest ones; None without any."""
        own = [p for p in self.pools if p.name == name and p.bound == bound and size in (0, p.size)]
        return max(own, key=lambda pool: pool.size, default=None)

    def shown(self, name: str) -> str:
        """The name with ``[simulated]`` where that is due."""
        return f"{name} [simulated]" if name in self.simulated else name


def gap_of(task: GapTask, pool: PoolScore, measure: str, *, agents: bool) -> tuple[float, Interval | None]:
    """The gap to one verifier, and its paired interval."""
    own, (_, found) = pool.values[measure], best_of(task, measure, agents=agents)
    return fmean(own.values()) - fmean(found.values()), compare(found, {"": own})[""].interval


def best_of(task: GapTask, measure: str, *, agents: bool) -> tuple[str, Values]:
    """The best retriever, or system that searches at all, and its values."""
    systems = {**task.retrievers, **(task.agents if agents else {})}
    name = max(systems, key=lambda name: fmean(systems[name][measure].values()))
    return name, systems[name][measure]


def gap_table(tasks: Sequence[GapTask], measure: str) -> Table:
    """One row per verifier, on its largest pools.

    Of several verifiers the best one gives the task's gap, and is bold; of simulated ones none is, as their
    rates are assumptions.
    """
    agents = any(task.agents for task in tasks)
    header = ["task", "judgements", "best retriever", measure]
    header += ["best with agents", f"its {measure}"] if agents else []
    header += ["verifier", "K", "lower", "upper", "gap, lower", "gap, upper"]
    header += ["gap with agents, upper"] if agents else []
    rows: list[tuple[Cell, ...]] = []
    best: set[tuple[int, int]] = set()
    for task in tasks:
        first: list[Cell] = [task.name, task.judged]
        for with_agents in (False, True)[: 1 + agents]:
            name, values = best_of(task, measure, agents=with_agents)
            first += [task.shown(name), _number(values, measure)]
        tops = []
        for verifier in task.verifiers:
            upper = task.at(verifier, "upper")
            lower = task.at(verifier, "lower", upper.size if upper else 0)
            size = next(pool.size for pool in (upper, lower) if pool)
            cells: list[Cell] = [*first, task.shown(verifier), size]
            cells += [_number(pool.values[measure], measure) if pool else None for pool in (lower, upper)]
            cells += [_gap(task, pool, measure) for pool in (lower, upper)]
            cells += [_gap(task, upper, measure, agents=True)] if agents else []
            tops.append((fmean(upper.values[measure].values()) if upper else -1.0, len(rows)))
            rows.append(tuple(cells))
        if len(tops) > 1 and not task.simulated.issuperset(task.verifiers):
            best.add((max(tops)[1], header.index("gap, upper")))
    title, notes = "The gap between retrieval and verification", _gap_notes(tasks, best=bool(best))
    return Table(title, tuple(header), tuple(rows), notes, best=frozenset(best))


def _gap(task: GapTask, pool: PoolScore | None, measure: str, *, agents: bool = False) -> Number | None:
    if pool is None:
        return None
    value, interval = gap_of(task, pool, measure, agents=agents)
    return Number.of(value, parse(measure).family.scale, interval)


def _number(values: Values, measure: str) -> Number | None:
    return number_of(values, measure, fmean(values.values()))


def _gap_notes(tasks: Sequence[GapTask], *, best: bool) -> tuple[str, ...]:
    units = {len(values) for task in tasks for held in task.retrievers.values() for values in held.values()}
    notes = [
        "gap: the verifier minus the best retriever, in one measure and under the same judgements",
        "lower: the verifier ranked the pool of the first K documents as it was found; upper: with the "
        "missing relevant documents put in",
        f"{_INTERVALS}; of gaps by pairs. The best retriever was chosen by the same queries",
    ]
    if best:
        notes.append("bold: the gap of the task, to its best verifier")
    if any(task.agents for task in tasks):
        notes.append("with agents: systems that search in several steps count as retrievers")
    if any(task.simulated & {*task.verifiers, *task.agents} for task in tasks):
        notes.append(
            "*simulated*: an oracle that knows the judgements answers, and no language model; how well "
            "relevance can be told is then assumed, not measured"
        )
    notes += [SMALL_NOTE] if min(units, default=0) < SMALL else []
    return (*notes, *dict.fromkeys(note for task in tasks for note in task.notes))


def growth_table(task: GapTask, measure: str) -> Table:
    """One row a size of the pool: its recall, and every system's values under both bounds."""
    named = list(dict.fromkeys((pool.name, pool.bound) for pool in task.pools))
    rows: list[tuple[Cell, ...]] = []
    for size in sorted({pool.size for pool in task.pools}):
        recall = task.recall.get(size)
        cells: list[Cell] = [size, _number(recall, "R@1") if recall else None]
        for name, bound in named:
            pool = task.at(name, bound, size)
            cells.append(_number(pool.values[measure], measure) if pool else None)
        here = [pool for pool in task.pools if pool.size == size]
        cells += [max(round(pool.calls, 1) for pool in here), round(max(pool.tokens for pool in here))]
        rows.append(tuple(cells))
    header = ["K", "recall of the pool", *(f"{task.shown(name)}, {bound}" for name, bound in named)]
    title = f"{task.name} ({task.judged}): {measure} as the pool grows"
    notes = [_INTERVALS, "calls and tokens: of the verifier and bound that took the most"]
    if any(not pool.verifier for pool in task.pools):
        notes.append("own left out: a retriever ranks as many documents, none of which it gave to the pool")
    return Table(title, (*header, "calls/query", "tokens/query"), tuple(rows), tuple(notes))


# Whether a task is oblique: its relevant documents are easy to recognise and hard to find.
#
# Source: OBLIQ-Bench, section 3. The paper calls a task oblique if the gap between retrieval and
# verification is large, and names no limit; those here enclose its own tasks.

RANKING, RECALL = "nDCG@10", "R@100"
_UPPER = "verification, nDCG@10, upper bound"

# The five tasks of OBLIQ-Bench, tables 2 to 4, under both sets of judgements: the best system that searches
# has nDCG@10 of 0.070 to 0.215 and R@100 up to 0.452, the verifier with the relevant documents put in 0.279
# and more, the gap between them is 0.118 and more. The limits are these, rounded outwards.
_FINDING = (("retrieval, nDCG@10", RANKING, 0.25), ("first stage, R@100", RECALL, 0.50))
_RECOGNISED, _LARGE_GAP = 0.25, 0.10


@dataclass(frozen=True)
class ObliquenessCondition:
    """A condition of obliqueness, and whether it holds.

    Attributes:
        what: is compared, in words.
        system: whose value it is.
        value: a fraction, as the limit.
        interval: of the value, 95 %; None if unknown.
        limit: that the value must reach (``least``) or must not pass.
        least: whether it is a lower limit.
        assumed: whether the value rests on a simulated verifier.
    """

    what: str
    system: str
    value: float
    interval: Interval | None
    limit: float
    least: bool
    assumed: bool = False

    @property
    def holds(self) -> bool | None:
        """True if the whole interval is within the limit; None if it contains the limit or is unknown."""
        if self.interval is None:
            return None
        low, high, _ = self.interval
        if self.least:
            return True if low >= self.limit else False if high < self.limit else None
        return True if high <= self.limit else False if low > self.limit else None


def limits(task: GapTask) -> list[ObliquenessCondition]:
    """The four conditions of obliqueness, of which the first two are about retrieval alone."""
    out = []
    for what, measure, limit in _FINDING:
        finder, own = best_of(task, measure, agents=True)
        value, span, told = fmean(own.values()), interval_of(own, measure), finder in task.simulated
        out.append(ObliquenessCondition(what, finder, value, span, limit, least=False, assumed=told))
    tops = [pool for verifier in task.verifiers if (pool := task.at(verifier, "upper"))]
    if tops:
        top = max(tops, key=lambda pool: fmean(pool.values[RANKING].values()))
        own, told = top.values[RANKING], top.name in task.simulated
        found, both = (fmean(own.values()), interval_of(own, RANKING)), f"{top.name} - {out[0].system}"
        between = gap_of(task, top, RANKING, agents=True)
        out += [
            ObliquenessCondition(_UPPER, top.name, *found, _RECOGNISED, least=True, assumed=told),
            ObliquenessCondition("gap, upper bound", both, *between, _LARGE_GAP, least=True, assumed=told),
        ]
    return out


def verdict(task: GapTask) -> str:
    """Verdict on the task for these systems, oblique or not, with the reason: a sentence or two."""
    found = limits(task)
    retrieval, recall, *rest = found
    reached = f"{retrieval.system} reaches nDCG@10 {100 * retrieval.value:.1f}"
    if task.in_pools:
        return (
            f"Undecided: the retrievers ranked pools that come with {task.name}, so that what they fail to "
            "find in a collection was not measured."
        )
    if retrieval.holds is False:
        return f"Not oblique: {reached}, so that what is relevant is found."
    if recall.holds is False:
        return (
            f"Not oblique: {recall.system} has {100 * recall.value:.1f} % of what is relevant among its "
            "first 100: it is found, and only its order is poor, which reranking can improve."
        )
    if not rest or rest[0].assumed:
        low = retrieval.holds and recall.holds
        why = "the verifier was simulated" if rest else "no pool with missing relevant documents was ranked"
        needed = 100 * max(_RECOGNISED, retrieval.value + _LARGE_GAP)
        return (
            f"{'Retrieval is as poor as in oblique tasks' if low else 'Undecided'} ({reached}); verification "
            f"was not measured: {why}. The task would be oblique if a verifier, given what is relevant, "
            f"reaches nDCG@10 {needed:.0f} or more."
        )
    verification, between = rest
    told = f"{verification.system}, given what is relevant, reaches {100 * verification.value:.1f}"
    if verification.holds is False or between.holds is False:
        return (
            f"Not oblique with this verifier: {told} where {reached}. Either the queries are ill-posed or "
            "the verifier is too weak; these numbers do not say which."
        )
    if all(limit.holds for limit in found):
        return f"Oblique for these systems: {reached}, while {told}: easy to recognise and hard to find."
    near = ", ".join(limit.what for limit in found if limit.holds is None)
    return f"Undecided: the interval spans the limit of: {near}."


def obliqueness_table(tasks: Sequence[GapTask]) -> Table:
    """The conditions of every task, and its verdict as a note."""
    words = {True: "yes", False: "no", None: "undecided"}
    rows: list[tuple[Cell, ...]] = []
    for task in tasks:
        for limit in limits(task):
            shown = Number.of(limit.value, 100.0, limit.interval)
            bound = f"{'>=' if limit.least else '<='} {100 * limit.limit:g}"
            held = words[limit.holds] + (", assumed" if limit.assumed else "")
            rows.append((task.name, task.judged, limit.what, limit.system, shown, bound, held))
    notes = [f"{task.name} ({task.judged}): {verdict(task)}" for task in tasks]
    notes += [
        "the limits enclose the five tasks of OBLIQ-Bench (tables 2 to 4), rounded outwards; yes and no: the "
        "whole 95 % interval lies on that side; a task is oblique if all four hold",
        "oblique for these retrievers and this verifier: a better retriever can close the gap",
    ]
    if any(limit.assumed for task in tasks for limit in limits(task)):
        notes.append(
            "assumed: it rests on a simulated model (*simulated*), so that the value is no measurement"
        )
    header = ("task", "judgements", "condition", "system", "value", "limit", "holds")
    return Table("Is the task oblique?", header, tuple(rows), tuple(notes), 1)
