"""What the score of a hit is made of, and what parts it from the hit above."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.search.plan import Fusion
    from aspectra.search.ranking import Hit

_REST = "other parts"
_LEAST = 5e-4  # a smaller rest is rounding


def score_shares(hit: Hit, fusion: Fusion, *, whole: bool = True) -> dict[str, float]:
    """Part -> its share of a score: a view, an aspect (all of its views) or a condition that moves papers.

    Args:
        hit: of a ranking.
        fusion: of the search that gave its score.
        whole: the shares add up to the score; what no part explains is one of them.

    Raises:
        UsageError: the search was fused by rank, and was run without ``explain=True``.
    """
    parts: dict[str, float] = {}
    ranked = [probe for probe in hit.probes if probe.score is not None]
    if fusion.kind == "rrf" and ranked and all(probe.rank is None for probe in ranked):
        raise UsageError(
            "the parts of scores that are fused by rank are not known",
            why="the search was run without the ranks of its probes",
            hint="library.run(plan, explain=True)",
        )
    for probe in hit.probes:
        if fusion.kind == "rrf":
            share = 0.0 if probe.rank is None or probe.rank > fusion.depth else 1 / (fusion.k + probe.rank)
        else:
            share = (probe.standardised if probe.standardised is not None else probe.score) or 0.0
        name = probe.aspect or probe.view
        parts[name] = parts.get(name, 0.0) + probe.weight * share
    for found in hit.conditions:
        if found.moved:
            name = found.condition.label
            parts[name] = parts.get(name, 0.0) + found.moved
    rest = hit.score - sum(parts.values())
    if whole and abs(rest) >= _LEAST:
        parts[_REST] = rest
    return parts


def why_not_higher(hit: Hit, above: Hit, fusion: Fusion) -> list[tuple[str, float]]:
    """What parts a hit from the one above it: (part of the score, difference), the largest loss first.

    Args:
        hit: the lower one.
        above: of the same ranking, which was run with ``explain=True``.
        fusion: of its search.
    """
    staged = bool(hit.moves or above.moves)
    own, others = (score_shares(one, fusion, whole=not staged) for one in (hit, above))
    names = dict.fromkeys((*own, *others))
    rows = [(name, own.get(name, 0.0) - others.get(name, 0.0)) for name in names]
    return sorted((row for row in rows if abs(row[1]) >= _LEAST), key=lambda row: row[1])
