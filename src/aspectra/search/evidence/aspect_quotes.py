"""Evidence for aspects: the hit's sentence that answers best, beside the seed's sentence that it answers."""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.papers.library.rows import text_hash
from aspectra.papers.paper import Paper, field_text
from aspectra.search.plan import Search
from aspectra.search.ranking import Evidence
from aspectra.views.dense.view import DenseView
from aspectra.views.index import Index
from aspectra.views.view import Positions, Probe

__all__ = ["aspect_quotes"]


def aspect_quotes(
    index: Index, search: Search, positions: Positions, papers: Sequence[Paper]
) -> list[tuple[Evidence, ...]]:
    """Per hit one quote for each aspect that the search wants alike, () where it wants none.

    Args:
        index: the generation searched.
        search: whose probes name aspects.
        positions: of the hits.
        papers: the hits; those whose text changed since they were indexed are not quoted.
    """
    asked: dict[str, Probe] = {}  # one probe speaks for an aspect, however many ways of matching it has
    for probe in search.probes:
        if probe.matching and probe.weight > 0 and probe.view.startswith("sentences@"):
            asked.setdefault(probe.aspect, probe)
    out: list[list[Evidence]] = [[] for _ in papers]
    seeds: dict[str, Paper] = {}
    for probe in asked.values():
        view = index.view(probe.view)
        if not isinstance(view, DenseView) or view.units is None or not len(positions):
            continue
        questions, answers, scores = view.best_pairs(probe, positions)
        for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
            paper = papers[number]
            if answer < 0 or _changed(index, int(positions[number]), paper):
                continue
            unit = view.units.unit(paper.id, int(answer))
            seed, echo = _echo(index, view, probe, int(question), seeds)
            out[number].append(
                Evidence(
                    field_text(paper, unit.field)[unit.start : unit.end],
                    unit.field,
                    unit.start,
                    unit.end,
                    aspect=probe.aspect,
                    score=float(scores[number]),
                    seed=seed,
                    seed_quote=echo,
                )
            )
    return [tuple(found) for found in out]


def _changed(index: Index, position: int, paper: Paper) -> bool:
    return bytes.fromhex(text_hash(paper)) != bytes(index.text_hashes[position].tobytes())


def _echo(index: Index, view: DenseView, probe: Probe, unit: int, seeds: dict[str, Paper]) -> tuple[str, str]:
    """(seed id, its sentence) of a unit that asked; ("", "") where the probe's text did."""
    if unit < 0 or view.units is None:
        return "", ""
    for seed in probe.seeds:
        at = index.positions[seed]
        if view.units.offsets[at] <= unit < view.units.offsets[at + 1]:
            if seed not in seeds:
                seeds[seed] = index.library.get(seed)
            if _changed(index, at, seeds[seed]):
                return seed, ""
            held = view.units.unit(seed, unit)
            return seed, field_text(seeds[seed], held.field)[held.start : held.end]
    return "", ""
