"""Hits: papers that were found, with their evidence; and why others were not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.values import replace
from aspectra.papers.paper import Paper, Unit, field_text
from aspectra.papers.text.structure import lead_field
from aspectra.search.conditions.condition import MEETS, Condition
from aspectra.search.conditions.grading import (
    Grader,
    alternatives,
    apply_conditions,
    exempt_from,
    exempting,
    passes,
    without_data,
)
from aspectra.search.evidence.quotes import Quoter, with_matches, with_notes, with_passages
from aspectra.search.plan import Plan, Search
from aspectra.search.planning.aspects import ASPECT_ROLES, aspect_probes
from aspectra.search.ranking import ConditionResult, Evidence, Fit, Hit, ProbeScore, span_text
from aspectra.search.scoring.engine import Engine
from aspectra.search.scoring.phases import Fused, score_exactly
from aspectra.search.stages.protocol import SearchState
from aspectra.views.index.opened import Index
from aspectra.views.protocol import TERMS, UnitView, ViewFacts
from aspectra.views.terms.view import TermView
from aspectra.views.view import Positions, Probe

# Evidence for terms of an aspect: the hit's sentence that names most of them, beside the seed's.

# A sentence with less of the seed's terms, by count and rarity, names too few of them to be the reason.
# Set by looking at hits, not tuned.
_LEAST_SHARE = 0.1
_Sentence = tuple[Unit, frozenset[str]]  # and its words


class TermQuoter:
    """Finds the sentences of hits that name the terms of an aspect.

    Args:
        index: the generation searched.
        probe: on the view of words of terms.
    """

    def __init__(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        if not isinstance(view, TermView):
            raise ValueError(f"{probe.view} compares no words of terms")
        self._index, self._view = index, view
        (asked,) = index.look_up([probe])
        self._aspect = probe.aspect
        self._roles = index.role_weights(probe.roles) if probe.roles and "roles" in index.lens_names else None
        self._worth = view.worth(asked)
        seeds = [seed for seed in map(index.library.get, probe.seeds) if index.unchanged(seed)]
        self._seeds = [(seed, self._sentences(seed)) for seed in seeds]

    @staticmethod
    def fits(probe: Probe) -> bool:
        """True if a probe compares words of terms."""
        return probe.view == ViewFacts.words_of(TERMS).name

    def quote(self, paper: Paper) -> Evidence | None:
        """The aspect's own sentence of an unchanged hit that names most of the terms; None: too few of them.

        The title is not quoted: it is shown above.
        """
        found = _best(self._sentences(paper), self._worth)
        if found is None or found[0] < _LEAST_SHARE:
            return None
        share, unit = found
        words = self._worth.keys() & self._view.words(span_text(paper, unit))
        here = {word: self._worth[word] for word in words}
        said = [(*best, one) for one, own in self._seeds if (best := _best(own, here)) is not None]
        quote = Evidence.of(paper, unit, aspect=self._aspect, score=share)
        if not said:
            return quote
        _, answered, seed = max(said, key=lambda one: one[0])
        return replace(quote, seed=seed.id, seed_quote=span_text(seed, answered))

    def _sentences(self, paper: Paper) -> list[_Sentence]:
        """The sentences of an unchanged paper that are of the aspect; all where no lens tells roles."""
        table = self._index.units("sentences")
        units = [
            table.unit(paper.id, int(number))
            for number in table.sentence_rows(self._index.position(paper.id))
            if self._roles is None or self._roles[number]
        ]
        return [(unit, frozenset(self._view.words(span_text(paper, unit)))) for unit in units]


def _best(sentences: Sequence[_Sentence], worth: Mapping[str, float]) -> tuple[float, Unit] | None:
    """(share, sentence) of the sentence with most of what words are worth, the first of several."""
    total = math.fsum(worth.values())
    shares = [math.fsum(worth[word] for word in held & worth.keys()) for _, held in sentences]
    best = max(range(len(shares)), key=shares.__getitem__, default=-1)
    return (shares[best] / total, sentences[best][0]) if best >= 0 and shares[best] > 0 else None


# Evidence for aspects: the hit's sentence that fits best, beside the seed's sentence that it is like.
#
# Where a hit names enough of the aspect's terms, the sentence that names most of them; else the most
# similar.


def aspect_quotes(
    index: Index,
    search: Search,
    positions: Positions,
    papers: Sequence[Paper],
) -> list[tuple[Evidence, ...]]:
    """Per hit one quote for each aspect that should be alike; () without quotes.

    Args:
        index: the generation searched.
        search: whose probes name aspects.
        positions: of the hits.
        papers: the hits; those whose text changed since they were indexed are not quoted.
    """
    asked: dict[str, Probe] = {}  # one probe for each aspect, whatever its matching
    wanted = aspect_probes(search.probes, 1)
    for probe in wanted:
        if index.facts(probe.view).units == "sentences":
            asked.setdefault(probe.aspect, probe)
    sentences = f"sentences@{index.default_encoder()}"
    for probe in wanted:  # an aspect that is compared by terms alone is quoted by its sentences too
        if probe.aspect in ASPECT_ROLES and sentences in index.manifest["views"]:
            roles = ASPECT_ROLES[probe.aspect]
            asked.setdefault(probe.aspect, replace(probe, view=sentences, roles=roles, matching="single"))
    named = {probe.aspect: TermQuoter(index, probe) for probe in wanted if TermQuoter.fits(probe)}
    out: list[list[Evidence]] = [[] for _ in papers]
    for one in index.look_up(list(asked.values())):
        probe, view = one.probe, index.view(one.probe.view)
        if not isinstance(view, UnitView) or view.units is None or not len(positions):
            continue
        quotes = index.with_quotes(one).quotes
        questions, answers, scores = view.best_pairs(one, positions)
        for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
            paper = papers[number]
            if answer < 0 or not index.unchanged(paper):
                continue
            if probe.aspect in named and (quote := named[probe.aspect].quote(paper)) is not None:
                out[number].append(quote)
                continue
            seed, said = quotes[question] if question >= 0 else ("", "")
            quote = Evidence.of(paper, view.units.unit(paper.id, int(answer)), seed=seed, seed_quote=said)
            out[number].append(replace(quote, aspect=probe.aspect, score=float(scores[number])))
    return [tuple(found) for found in out]


class Explainer:
    """Scores and grades of papers by the last search.

    Papers that a stage brought are scored by its probes now: they have no rank there, and no condition moved
    them.

    Args:
        engine: that searched.
        plan: that was run.
        state: its last step's.
        positions: of the papers, (n,).
    """

    def __init__(self, engine: Engine, plan: Plan, state: SearchState, positions: Positions) -> None:
        self._grader, self._plan = engine.grader, plan
        self._search, rows = state.search, state.rows
        if rows is None:
            raise ValueError("a state that was not searched has nothing to explain")
        self._rows, self._ranked, self._positions = rows, rows.of(positions), positions
        brought = positions[~np.isin(positions, self._ranked.papers)]
        self._brought = score_exactly(engine.index, state.search, self._ranked, brought)
        grades = apply_conditions(engine.grader, plan.conditions, brought, 0.0).grades
        self._counted: dict[int, NDArray[np.int64]] = {}
        zeros = [np.zeros(len(brought))] * len(grades)
        self._brought = replace(self._brought, grades=grades, moves=zeros)

    def _place(self, number: int) -> tuple[Fused, int]:
        """The scores and grades of a paper: in which table, and where."""
        for table in (self._ranked, self._brought):
            if len(at := np.flatnonzero(table.papers == self._positions[number])):
                return table, int(at[0])
        raise IndexError(number)

    def _above(self, number: int) -> NDArray[np.int64]:
        """(ranked papers,) how many a probe scores higher; counted at once, since the parts may be far."""
        if number not in self._counted:
            raw = self._ranked.raw[number]
            self._counted[number] = self._rows.above(number, np.zeros(0, np.float32) if raw is None else raw)
        return self._counted[number]

    def probes(self, number: int, *, ranks: bool) -> tuple[ProbeScore, ...]:
        """Each probe's score of a paper; with ``ranks`` also its place in the probe's own order."""
        source, at = self._place(number)
        out = []
        for n, probe in enumerate(self._search.probes):
            raw, standard = source.raw[n], source.standardised[n]
            score = None if raw is None or np.isnan(raw[at]) else float(raw[at])
            rank = None
            if ranks and source is self._ranked and score is not None:
                rank = 1 + int(self._above(n)[at])
            value = None if standard is None else float(standard[at])
            out.append(ProbeScore(probe.view, probe.weight, score, value, rank, probe.aspect))
        return tuple(out)

    def conditions(self, number: int, paper: Paper) -> tuple[ConditionResult, ...]:
        """Result of each condition for a paper, with a quote if the paper has the value."""
        source, at = self._place(number)
        out = []
        for place, condition in enumerate(self._plan.conditions):
            value, moved = source.grades[place][at], float(source.moves[place][at])
            grade = None if np.isnan(value) else float(value)
            span = None
            if self._plan.evidence and grade is not None and grade >= MEETS:
                span = self._grader.attribute(condition).span(condition.value, paper, self._grader.index)
            quote = "" if span is None else span_text(paper, span)
            why = reason_of(condition, grade, paper, self._grader)
            exempt = exemption_of(condition, paper, self._grader)
            out.append(ConditionResult(condition, grade, moved, quote, why, exempt))
        return tuple(out)


def reason_of(condition: Condition, grade: float | None, paper: Paper, grader: Grader) -> str:
    """The deciding fact in a paper's record; ``year unknown`` if nothing is known; or ""."""
    attribute = grader.attribute(condition)
    if grade is None:
        return f"{attribute.noun or attribute.name} unknown"
    return attribute.reason(condition.value, paper, grader.index)


def exemption_of(condition: Condition, paper: Paper, grader: Grader) -> str:
    """The exemption that a paper meets: ``venue=SemEval``, ``venue=bioRxiv; year=>=2023``; or ""."""
    if not condition.unless:
        return ""
    here = np.array([grader.index.position(paper.id)])

    def has(one: Condition) -> bool:
        return bool(grader.grades(one, here)[0] >= MEETS)

    for demands in exempting(condition.unless):
        met = [next(filter(has, demand), None) for demand in demands]
        if None not in met:
            return "; ".join(f"{one.attribute}={one.value}" for one in met if one)
    return ""


def _beside(
    quotes: tuple[Evidence, ...] | None, of_aspects: tuple[Evidence, ...]
) -> tuple[Evidence, ...] | None:
    """Quotes for a question before those of its aspects, each sentence once."""
    if quotes is None or not of_aspects:
        return quotes
    held = {(quote.field, quote.start) for quote in of_aspects}
    return (*(quote for quote in quotes if (quote.field, quote.start) not in held), *of_aspects)


def quotes_of(
    engine: Engine,
    plan: Plan,
    positions: Positions,
    papers: Sequence[Paper],
) -> list[tuple[Evidence, ...] | None]:
    """Per paper the sentences that match best; None where its text changed since it was indexed.

    They answer the question as it was planned, whatever a stage made of its words.

    Args:
        engine: that searched.
        plan: whose last search says what is quoted.
        positions: of the papers, (n,).
        papers: without sections.
    """
    if not plan.evidence or not papers:
        return [()] * len(papers)
    index, search = engine.index, plan.search
    whole = any(index.facts(p.view).chunks for p in search.probes)
    # Sections are needed where chunks are quoted, or the lead of the text replaces the abstract.
    bodies = engine.papers(p.id for p in papers if whole or not p.abstract.strip())
    read = [bodies.get(p.id, p) for p in papers]
    found: list[tuple[Evidence, ...] | None] = list(aspect_quotes(index, search, positions, read))
    # The words of a question are answered beside its aspects; a seed is answered by those alone.
    asked = any(p.text.strip() and p.weight > 0 for p in search.probes)
    rest = [number for number, quotes in enumerate(found) if asked or not quotes]
    if rest:
        plain = Quoter(index, search, plan.evidence).quotes(
            positions[rest], [read[number] for number in rest]
        )
        for number, quotes in zip(rest, plain, strict=True):
            found[number] = _beside(quotes, found[number] or ())
    found = with_matches(index, search, positions, papers, found)
    return with_notes(index, search, papers, with_passages(index, search, papers, found))


class Reason(Struct, frozen=True):
    """One reason against a paper, or for it.

    Attributes:
        what: in words.
        drops: whether it alone keeps the paper out.
        quote: the sentence or span of its text that decided, or "".
    """

    what: str
    drops: bool
    quote: str = ""


class WhyNot(Struct, frozen=True):
    """The result for one paper under a plan, with reasons.

    Attributes:
        paper: the paper.
        rank: its place if nothing dropped it and the list went on, counted from 1; 0 where it is not ranked.
        limit: papers that the plan shows.
        reasons: those that drop it first.
    """

    paper: Paper
    rank: int
    limit: int
    reasons: tuple[Reason, ...]

    @property
    def place(self) -> str:
        """Its place in words, to follow "it": ``is kept out``, ``is number 31, and 10 are shown``."""
        if any(r.drops for r in self.reasons):
            return f"is kept out; it would be number {self.rank:,} otherwise" if self.rank else "is kept out"
        if not self.rank:
            return "is not ranked: nothing in it answers"
        if self.rank <= self.limit:
            return f"is among the hits, at number {self.rank:,}"
        return f"is number {self.rank:,}, and {self.limit:,} are shown"

    def describe(self) -> str:
        """Text for people, one line per reason."""
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


def why_not(engine: Engine, plan: Plan, paper_id: str, rank: int) -> WhyNot:
    """Why a paper is not among a plan's hits.

    Args:
        engine: over the library.
        plan: as it would be run.
        paper_id: an id of the library.
        rank: its place in what the :func:`unfiltered` plan finds, from 1; 0 where it is not there.

    Raises:
        NoSuchPaper: it is not in the index.
    """
    index, grader = engine.index, engine.grader
    here = np.array([index.position(paper_id)])
    paper = engine.library.get(paper_id)
    reasons: list[Reason] = []
    if paper_id in plan.exclude:
        reasons.append(Reason("it is a seed of the search, or was hidden by hand", drops=True))
    if plan.within is not None and paper_id not in plan.within:
        reasons.append(Reason("it is not in the pool that is ranked", drops=True))
    unapplied = dict(without_data(grader, plan.conditions))
    reasons += [Reason(f"[{c.spelling}] is not applied: {why}", drops=False) for c, why in unapplied.items()]
    for group in alternatives([c for c in plan.conditions if c not in unapplied]):
        grades = [grader.grades(c, here) for c in group]
        drops = group[0].filters and not passes(group, grades)[0]
        drops = drops and not exempt_from(grader, group, here, np.ones(1, np.bool_))[0]
        for condition, grade in zip(group, grades, strict=True):
            span = grader.attribute(condition).span(condition.value, paper, index)
            quote = "" if span is None else _sentence(field_text(paper, span.field), span.start, span.end)
            exempt = exemption_of(condition, paper, grader)
            known = None if np.isnan(grade[0]) else float(grade[0])
            told = reason_of(condition, known, paper, grader)
            reasons.append(_judge(condition, known, quote, told, exempt, drops=drops))
    reasons.sort(key=lambda r: not r.drops)
    return WhyNot(paper, rank, plan.limit, tuple(reasons))


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
_ALL = 0.999  # a hit that holds this share of the words is not a weak match: one rare word has a low cosine


def fit_of(index: Index, search: Search, hits: Sequence[Hit]) -> Fit | None:
    """Fit of the best hits to the words of a query; None without words, hits or abstracts.

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
    (asked,) = index.look_up([Probe(view.name, text=text)])
    words = set(asked.words)
    statistics = index.statistics(words)
    known = statistics.rarity(words)
    # A word of no paper is as rare as one of a single paper.
    absent = [math.log1p(statistics.documents)] * (len(words) - len(known))
    rarest = sorted([*known.values(), *absent], reverse=True)[:_RAREST]
    if not rarest:
        return None
    held = (known.keys() & view.words(f"{hit.paper.title}\n{lead_field(hit.paper)[1]}") for hit in hits)
    return min(1.0, max(math.fsum(known[word] for word in some) for some in held) / math.fsum(rarest))
