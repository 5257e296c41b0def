"""Hits: papers that were found, with their probe scores, conditions and quotes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import MEETS, Condition
from aspectra.search.conditions.grading import apply_conditions, exempting
from aspectra.search.evidence.aspect_quotes import aspect_quotes
from aspectra.search.evidence.late_quotes import with_matches
from aspectra.search.evidence.note_quotes import with_notes
from aspectra.search.evidence.passages import with_passages
from aspectra.search.evidence.quotes import Quoter
from aspectra.search.plan import Plan
from aspectra.search.ranking import ConditionResult, Evidence, ProbeScore
from aspectra.search.scoring.engine import Engine
from aspectra.search.scoring.scores import score_exactly
from aspectra.search.stages.protocol import Draft
from aspectra.views.index.opened import Index
from aspectra.views.view import Positions


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
