"""Evidence for aspects: the hit's sentence that fits best, beside the seed's sentence that it is like.

Where a hit names enough of the aspect's terms, the sentence that names most of them; else the most similar.
"""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.base.values import replace
from aspectra.papers.paper import Paper, field_text
from aspectra.search.evidence.term_quotes import TermQuoter
from aspectra.search.plan import Search
from aspectra.search.planning.aspects import ASPECT_ROLES, aspect_probes
from aspectra.search.ranking import Evidence
from aspectra.views.index.opened import Index
from aspectra.views.protocol import UnitView
from aspectra.views.view import Positions, Probe


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
