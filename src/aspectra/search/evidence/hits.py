"""Hits: papers that were found, with their probe scores, conditions and quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aspectra.base.values import replace
from aspectra.papers.paper import Paper, Unit, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import MEETS, Condition
from aspectra.search.conditions.grading import apply_conditions, exempting
from aspectra.search.evidence.quotes import Quoter, with_matches, with_notes, with_passages
from aspectra.search.plan import Plan, Search
from aspectra.search.planning.aspects import ASPECT_ROLES, aspect_probes
from aspectra.search.ranking import ConditionResult, Evidence, ProbeScore
from aspectra.search.scoring.engine import Engine
from aspectra.search.scoring.scores import score_exactly
from aspectra.search.stages.protocol import Draft
from aspectra.views.index.opened import Index
from aspectra.views.protocol import TERMS, UnitView, ViewFacts
from aspectra.views.terms.view import TermView
from aspectra.views.view import Positions, Probe

# Evidence for terms of an aspect: the hit's sentence that names most of them, beside the seed's.

# A sentence with less of the seed's terms, by count and rarity, names too few of them to be the reason.
# Set by looking at hits, not tuned.
_LEAST_SHARE = 0.1
_Sentence = tuple[Unit, frozenset[int]]  # and the numbers of its words


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
        """Whether a probe compares words of terms."""
        return probe.view == ViewFacts.words_of(TERMS).name

    def quote(self, paper: Paper) -> Evidence | None:
        """The aspect's own sentence of an unchanged hit that names most of the terms; None: too few of them.

        The title is not quoted: it is shown above.
        """
        found = _best(self._sentences(paper), self._worth)
        if found is None or found[0] < _LEAST_SHARE:
            return None
        share, unit = found
        text = field_text(paper, unit.field)[unit.start : unit.end]
        here = {number: self._worth[number] for number in self._view.numbers(text) & self._worth.keys()}
        said = [(*best, one) for one, own in self._seeds if (best := _best(own, here)) is not None]
        _, answered, seed = max(said, key=lambda one: one[0], default=(0.0, None, None))
        quoted = ""
        if seed is not None and answered is not None:
            quoted = field_text(seed, answered.field)[answered.start : answered.end]
        return Evidence(
            text,
            unit.field,
            unit.start,
            unit.end,
            aspect=self._aspect,
            score=share,
            seed=seed.id if seed is not None else "",
            seed_quote=quoted,
        )

    def _sentences(self, paper: Paper) -> list[_Sentence]:
        """The sentences of an unchanged paper that are of the aspect; all where no lens tells roles."""
        table = self._index.units("sentences")
        units = [
            table.unit(paper.id, int(number))
            for number in table.sentence_rows(self._index.position(paper.id))
            if self._roles is None or self._roles[number]
        ]
        texts = (field_text(paper, unit.field)[unit.start : unit.end] for unit in units)
        return [(unit, self._view.numbers(text)) for unit, text in zip(units, texts, strict=True)]


def _best(sentences: Sequence[_Sentence], worth: Mapping[int, float]) -> tuple[float, Unit] | None:
    """(share, sentence) of the sentence with most of what words are worth, the first of several."""
    total = sum(worth.values())
    shares = [sum(worth[number] for number in held & worth.keys()) for _, held in sentences]
    best = max(range(len(shares)), key=shares.__getitem__, default=-1)
    return (shares[best] / total, sentences[best][0]) if best >= 0 and shares[best] > 0 else None


# Evidence for aspects: the hit's sentence that fits best, beside the seed's sentence that it is like.
#
# Where a hit names enough of the aspect's terms, the sentence that names most of them; else the most
# similar.


def aspect_quotes(
    index: Index, search: Search, positions: Positions, papers: Sequence[Paper]
) -> list[tuple[Evidence, ...]]:
    """Per hit one quote for each aspect that should be alike, () where there is none.

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
            unit = view.units.unit(paper.id, int(answer))
            seed, said = quotes[question] if question >= 0 else ("", "")
            out[number].append(
                Evidence(
                    field_text(paper, unit.field)[unit.start : unit.end],
                    unit.field,
                    unit.start,
                    unit.end,
                    aspect=probe.aspect,
                    score=float(scores[number]),
                    seed=seed,
                    seed_quote=said,
                )
            )
    return [tuple(found) for found in out]


class Explainer:
    """Scores and grades of papers by the last search.

    Papers that a stage brought are scored by its probes now: they have no rank there, and no condition moved
    them.

    Args:
        engine: that searched.
        plan: that was run.
        draft: its last step's.
        positions: of the papers, (n,).
    """

    def __init__(self, engine: Engine, plan: Plan, draft: Draft, positions: Positions) -> None:
        self._index, self._plan, self._draft = engine.index, plan, draft
        fused = draft.fused
        if fused is None:
            raise ValueError("a draft that was not searched has nothing to explain")
        self._fused = fused
        where = np.full(len(engine), -1, dtype=np.int64)
        where[fused.papers] = np.arange(len(fused.papers))
        self._places = where[positions]
        brought = positions[self._places < 0]
        self._brought = score_exactly(engine.index, draft.search, fused, brought)
        self._brought_places = np.cumsum(self._places < 0) - 1
        self._grades = apply_conditions(engine.index, plan.conditions, brought, 0.0).grades

    def probes(self, number: int, *, ranks: bool) -> tuple[ProbeScore, ...]:
        """Each probe's score of a paper; with ``ranks`` also its place in the probe's own order."""
        at, source = int(self._places[number]), self._fused
        if brought := at < 0:
            at, source = int(self._brought_places[number]), self._brought
        out = []
        for probe, raw, standard in zip(
            self._draft.search.probes, source.raw, source.standardised, strict=True
        ):
            score = None if raw is None or np.isnan(raw[at]) else float(raw[at])
            rank = None
            if ranks and not brought and raw is not None and score is not None:
                rank = 1 + int(np.count_nonzero(raw > raw[at]))
            value = None if standard is None else float(standard[at])
            out.append(ProbeScore(probe.view, probe.weight, score, value, rank, probe.aspect))
        return tuple(out)

    def conditions(self, number: int, paper: Paper) -> tuple[ConditionResult, ...]:
        """What each condition found in a paper, quoted from the part of it that was read."""
        at = int(self._places[number])
        out = []
        for place, condition in enumerate(self._plan.conditions):
            if at >= 0:
                value, moved = self._fused.grades[place][at], float(self._fused.moves[place][at])
            else:
                value, moved = self._grades[place][self._brought_places[number]], 0.0
            grade = None if np.isnan(value) else float(value)
            span = None
            if self._plan.evidence and grade is not None and grade >= MEETS:
                span = ATTRIBUTES.get(condition.attribute).span(condition.value, paper, self._index)
            quote = "" if span is None else field_text(paper, span.field)[span.start : span.end]
            why = reason_of(condition, grade, paper, self._index)
            exempt = exemption_of(condition, paper, self._index)
            out.append(ConditionResult(condition, grade, moved, quote, why, exempt))
        return tuple(out)


def reason_of(condition: Condition, grade: float | None, paper: Paper, index: Index) -> str:
    """What in a paper's record decided on a condition, or that nothing is known: ``year unknown``; or ""."""
    attribute = ATTRIBUTES.get(condition.attribute)
    if grade is None:
        return f"{attribute.noun or attribute.name} unknown"
    return attribute.reason(condition.value, paper, index)


def exemption_of(condition: Condition, paper: Paper, index: Index) -> str:
    """What exempts a paper from a condition: ``venue=SemEval``, ``venue=bioRxiv; year=>=2023``; or ""."""
    if not condition.unless:
        return ""
    here = np.array([index.position(paper.id)])

    def has(one: Condition) -> bool:
        return bool(ATTRIBUTES.get(one.attribute).grades(one.value, index, here)[0] >= MEETS)

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
    engine: Engine, plan: Plan, positions: Positions, papers: Sequence[Paper]
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
