"""Why a paper is not among the hits: dropped by what, or outranked by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspectra.base.values import replace
from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import MEETS, Condition
from aspectra.search.conditions.grading import alternatives, exempt_from, passes, without_data
from aspectra.search.evidence.hits import exemption_of, reason_of
from aspectra.search.plan import Plan
from aspectra.search.scoring.engine import Engine


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason against a paper, or for it.

    Attributes:
        what: in words.
        drops: whether it alone keeps the paper out.
        quote: the sentence or span of its text that decided, or "".
    """

    what: str
    drops: bool
    quote: str = ""


@dataclass(frozen=True)
class WhyNot:
    """What became of one paper under a plan.

    Attributes:
        paper: the paper.
        rank: its place if nothing dropped it and the list went on, counted from 1; 0 where it is not ranked.
        limit: papers that the plan shows.
        reasons: what drops it first.
    """

    paper: Paper
    rank: int
    limit: int
    reasons: tuple[Reason, ...]

    @property
    def place(self) -> str:
        """Where it is, after "it": ``is kept out``, ``is number 31, and 10 are shown``."""
        if any(r.drops for r in self.reasons):
            return f"is kept out; it would be number {self.rank:,} otherwise" if self.rank else "is kept out"
        if not self.rank:
            return "is not ranked: nothing in it answers"
        if self.rank <= self.limit:
            return f"is among the hits, at number {self.rank:,}"
        return f"is number {self.rank:,}, and {self.limit:,} are shown"

    def describe(self) -> str:
        """For people, one line a reason."""
        lines = [f"{self.paper.title or self.paper.id} [{self.paper.id}] {self.place}."]
        for reason in self.reasons:
            lines.append(f"  {'✗' if reason.drops else '·'} {reason.what}")
            if reason.quote:
                lines.append(f"    “{reason.quote}”")
        return "\n".join(lines)


def unfiltered(plan: Plan, paper_id: str, limit: int) -> Plan:
    """The plan with everything off that could keep a paper out, for ``limit`` papers."""
    return replace(
        plan,
        conditions=tuple(c for c in plan.conditions if not c.filters),
        exclude=tuple(e for e in plan.exclude if e != paper_id),
        versions="all",
        limit=limit,
    )


def why_not(engine: Engine, plan: Plan, paper_id: str, ids: Sequence[str]) -> WhyNot:
    """Why a paper is not among a plan's hits.

    Args:
        engine: over the library.
        plan: as it would be run.
        paper_id: an id of the library.
        ids: what the :func:`unfiltered` plan finds, best first.

    Raises:
        NoSuchPaper: it is not in the index.
    """
    index = engine.index
    here = np.array([index.position(paper_id)])
    paper = engine.library.get(paper_id)
    reasons: list[Reason] = []
    if paper_id in plan.exclude:
        reasons.append(Reason("it is a seed of the search, or was hidden by hand", drops=True))
    if plan.within is not None and paper_id not in plan.within:
        reasons.append(Reason("it is not in the pool that is ranked", drops=True))
    unapplied = dict(without_data(index, plan.conditions))
    for condition, why in unapplied.items():
        reasons.append(Reason(f"[{condition.spelling}] is not applied: {why}", drops=False))
    for group in alternatives([c for c in plan.conditions if c not in unapplied]):
        grades = [ATTRIBUTES.get(c.attribute).grades(c.value, index, here) for c in group]
        drops = group[0].filters and not passes(group, grades)[0]
        drops = drops and not exempt_from(index, group, here, np.ones(1, np.bool_))[0]
        for condition, grade in zip(group, grades, strict=True):
            span = ATTRIBUTES.get(condition.attribute).span(condition.value, paper, index)
            quote = "" if span is None else _sentence(field_text(paper, span.field), span.start, span.end)
            exempt = exemption_of(condition, paper, index)
            known = None if np.isnan(grade[0]) else float(grade[0])
            told = reason_of(condition, known, paper, index)
            reasons.append(_judge(condition, known, quote, told, exempt, drops=drops))
    reasons.sort(key=lambda r: not r.drops)
    return WhyNot(paper, ids.index(paper_id) + 1 if paper_id in ids else 0, plan.limit, tuple(reasons))


def _judge(
    condition: Condition, grade: float | None, quote: str, told: str, exempt: str, *, drops: bool
) -> Reason:
    met = grade is not None and grade >= MEETS  # nothing known is not met
    known = "nothing is known of it" if grade is None else f"grade {grade:.2f}"
    known += f" ({told})" if told else ""
    if condition.sign > 0 and not met:
        quote = ""  # a span with the value explains nothing here
    if exempt:
        return Reason(f"it is exempt from [{condition.spelling}]: {exempt}", drops, quote)
    verb = "breaks" if met != (condition.sign > 0) else "meets"
    return Reason(f"it {verb} [{condition.spelling}]: {known}", drops, quote)


def _sentence(text: str, start: int, end: int) -> str:
    """The span with some of its surroundings, on one line."""
    low, high = max(0, start - 60), min(len(text), end + 60)
    while low > 0 and not text[low - 1].isspace():
        low -= 1
    while high < len(text) and not text[high].isspace():
        high += 1
    held = " ".join(text[low:high].split())
    return ("…" if low else "") + held[:400] + ("…" if high < len(text) else "")
