"""Whether a task is oblique: its relevant documents are easy to recognise and hard to find.

Source: OBLIQ-Bench, section 3. The paper calls a task oblique if the gap between retrieval and verification
is large, and names no limit; those here enclose its own tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aspectra.lab.reports.gap import GapTask, best_of, gap_of, interval_of, mean_of
from aspectra.lab.reports.tables import Cell, Number, Table
from aspectra.lab.statistics.significance import Interval

RANKING, RECALL = "nDCG@10", "R@100"
_UPPER = "verification, nDCG@10, upper bound"

# The five tasks of OBLIQ-Bench, tables 2 to 4, under both sets of judgements: the best system that searches
# has nDCG@10 of 0.070 to 0.215 and R@100 up to 0.452, the verifier with the relevant documents put in 0.279
# and more, the gap between them is 0.118 and more. The limits are these, rounded outwards.
_LOW_RETRIEVAL, _LOW_RECALL, _RECOGNISED, _LARGE_GAP = 0.25, 0.50, 0.25, 0.10


@dataclass(frozen=True)
class Limit:
    """A condition of obliqueness, and whether it holds.

    Attributes:
        what: is compared, in words.
        system: whose value it is.
        value: a fraction, as the limit.
        interval: of the value, 95 %; None where there is none.
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
        """Whether all of the interval is within the limit; None where the limit lies inside of it."""
        if self.interval is None:
            return None
        low, high, _ = self.interval
        if self.least:
            return True if low >= self.limit else False if high < self.limit else None
        return True if high <= self.limit else False if low > self.limit else None


def limits(task: GapTask) -> list[Limit]:
    """The four conditions of obliqueness, of which the first two are about retrieval alone."""
    name, ranking = best_of(task, RANKING, agents=True)
    finder, recall = best_of(task, RECALL, agents=True)
    means = (mean_of(ranking), mean_of(recall))
    spans = (interval_of(ranking, RANKING), interval_of(recall, RECALL))
    told = (name in task.simulated, finder in task.simulated)
    out = [
        Limit("retrieval, nDCG@10", name, means[0], spans[0], _LOW_RETRIEVAL, least=False, assumed=told[0]),
        Limit("first stage, R@100", finder, means[1], spans[1], _LOW_RECALL, least=False, assumed=told[1]),
    ]
    tops = [pool for verifier in task.verifiers if (pool := task.at(verifier, "upper"))]
    if tops:
        top = max(tops, key=lambda pool: mean_of(pool.values[RANKING]))
        own, told_too = top.values[RANKING], top.name in task.simulated
        both = f"{top.name} - {name}"
        span = interval_of(own, RANKING)
        value, between = gap_of(task, top, RANKING, agents=True)
        out += [
            Limit(_UPPER, top.name, mean_of(own), span, _RECOGNISED, least=True, assumed=told_too),
            Limit("gap, upper bound", both, value, between, _LARGE_GAP, least=True, assumed=told_too),
        ]
    return out


def verdict(task: GapTask) -> str:
    """Whether the task is oblique for these systems, and why: a sentence or two."""
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
