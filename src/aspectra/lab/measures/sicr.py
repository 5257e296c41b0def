"""SICR: strict instruction compliance rate."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from aspectra.lab.measures._common import REL
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.runs.judged import Judged

Triple = tuple[float, float, float]


def complies(ranks: Triple, scores: Triple, rule: str = "paper") -> bool:
    """Whether a gold document rises with its instruction and falls with the reverse, in rank and score.

    Args:
        ranks: original, instructed, reversed.
        scores: likewise.
        rule: ``paper`` is strict, so that a document already first can never comply; ``fork`` lets it stay.

    >>> complies((3, 1, 7), (0.5, 0.9, 0.1)), complies((1, 1, 7), (0.5, 0.9, 0.1))
    (True, False)
    >>> complies((1, 1, 7), (0.5, 0.9, 0.1), "fork")
    True
    """
    original, instructed, reverse = ranks
    s_original, s_instructed, s_reverse = scores
    if rule == "fork" and original == 1:
        return instructed == 1 and reverse > 1 and s_instructed >= s_original > s_reverse
    return instructed < original < reverse and s_instructed > s_original > s_reverse


@measure(
    "SICR",
    Arity.MODES,
    params=(
        REL,
        Param(
            "rule", "paper", "strict, or a document may stay first, as in the public code", ("paper", "fork")
        ),
        Param("by", "score", "S: the engine's scores, or minus the rank", ("score", "rank")),
        Param("missing", "lowest", "score of an unranked document", ("lowest", "zero")),
    ),
    modes=("original", "instructed", "reversed"),
)
def sicr(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Share of gold documents that rise under the instruction and fall under its reverse, in rank and score.

    Gold documents are those relevant in the instructed mode; equality fails; rankings without scores count as
    scored by minus their ranks. Range [0, 1]; undefined without a gold document. Unit: the instructed query.
    Source: InfoSearch, equations 1 and 2; ``rule=fork`` is its public code (without its slip for several gold
    documents).
    """
    modes = [topic[name] for name in ("original", "instructed", "reversed")]
    gold = np.flatnonzero(modes[1].relevant(measure["rel"])).tolist()
    if not gold:
        return None
    absent = 0.0 if measure["missing"] == "zero" else -math.inf
    passed = 0
    for i in gold:
        ranks = tuple(float(mode.ranks[i]) for mode in modes)
        scores = tuple(
            absent if math.isnan(s := mode.scores[i]) else -rank if measure["by"] == "rank" else float(s)
            for mode, rank in zip(modes, ranks, strict=True)
        )
        passed += complies(ranks, scores, measure["rule"])  # type: ignore[arg-type]
    return passed / len(gold)
