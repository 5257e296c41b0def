"""Why papers are not among the hits, and whether the best hits fit the words of a query at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aspectra.base.values import replace
from aspectra.papers.paper import Paper, field_text
from aspectra.papers.text.structure import lead_field
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import MEETS, Condition
from aspectra.search.conditions.grading import alternatives, exempt_from, passes, without_data
from aspectra.search.evidence.hits import exemption_of, reason_of
from aspectra.search.plan import Plan, Search
from aspectra.search.ranking import Fit, Hit
from aspectra.search.scoring.engine import Engine
from aspectra.views.index.opened import Index
from aspectra.views.view import Probe


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


# Weak matches: whether the best hits fit the words of a query at all, by signals calibrated on data.
#
# Two signals, joined by a logistic regression: likeness, the mean cosine of the query's vector with the
# abstracts of the three hits most like it; and words, the weight of the query's words that one hit holds,
# as a share of the query's eight rarest (long queries have many words that no paper repeats). Scores in
# deviations say nothing here: the best paper of a library on another subject stands out as much. Fitted on
# questions that their library answers against the same questions put to libraries of another field, see
# docs/results/weak-match.md.

_BEST = 3  # hits whose likeness is averaged
_RAREST = 8  # words of the query that a hit is measured against

# Of each encoder: weights of likeness and words, constant, and the logit below which a match is weak.
# Libraries without vectors, and encoders that were not calibrated, are judged by words alone.
_CALIBRATED = {"minilm": (19.87, 4.49, -9.67, -0.75)}
_WORDS_ALONE = (0.0, 9.41, -4.74, -2.0)
_ALL = 0.999  # a hit that holds this share of the words is no weak match: one rare word has a low cosine


def fit_of(index: Index, search: Search, hits: Sequence[Hit]) -> Fit | None:
    """How well the best hits fit the words of a query; None where there are no words, hits or abstracts.

    A query with seeds gets None: papers like a paper of the library are always found.

    Args:
        index: the generation searched.
        search: the last one that was run.
        hits: of the ranking.
    """
    asked = [
        (number, probe)
        for number, probe in enumerate(search.probes)
        if probe.text.strip() and probe.weight > 0 and index.facts(probe.view).base == "abstract"
    ]
    if not asked or not hits or search.seeds:
        return None
    words = _words_held(index, asked[0][1].text, hits)
    if words is None:
        return None
    for number, probe in asked:
        scorer = index.facts(probe.view).scorer
        known = [score for hit in hits if (score := hit.probes[number].score) is not None]
        if scorer in _CALIBRATED and known and probe.metric == "cosine" and not probe.instruction:
            likeness = float(np.mean(sorted(known)[-_BEST:]))
            return _judged(likeness, words, *_CALIBRATED[scorer])
    return _judged(None, words, *_WORDS_ALONE)


def weak_match_warning(fit: Fit | None) -> list[str]:
    """The sentence for a ranking whose hits hardly fit; [] for others."""
    if fit is None or not fit.weak:
        return []
    like = "" if fit.likeness is None else f" and are hardly like it (cosine {fit.likeness:.2f})"
    return [
        f"weak match: the best papers hold {100 * fit.words:.0f} % of the query's rarest words{like}; "
        "the library may hold nothing on it"
    ]


def _judged(
    likeness: float | None, words: float, of_likeness: float, of_words: float, constant: float, least: float
) -> Fit:
    logit = of_likeness * (likeness or 0.0) + of_words * words + constant
    return Fit(likeness, words, 1.0 / (1.0 + math.exp(-logit)), weak=logit < least and words < _ALL)


def _words_held(index: Index, text: str, hits: Sequence[Hit]) -> float | None:
    """The rarity of the query's words in the hit that holds most of it, over that of the eight rarest.

    None where the query has no words.
    """
    view = index.word_view()
    asked = set(view.look_up(Probe(view.name, text=text)).words)
    known = view.rarity(set(view.terms(text)))
    # A word of no paper is as rare as one of a single paper.
    absent = [math.log1p(len(index))] * (len(asked) - len(known))
    rarest = sorted([*known.values(), *absent], reverse=True)[:_RAREST]
    if not rarest:
        return None
    held = (known.keys() & set(view.terms(f"{hit.paper.title}\n{lead_field(hit.paper)[1]}")) for hit in hits)
    return min(1.0, max(sum(known[term] for term in terms) for terms in held) / sum(rarest))
