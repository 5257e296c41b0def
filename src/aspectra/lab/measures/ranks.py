"""Mean ranks of gold documents and of instruction negatives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aspectra.lab.measures._common import DOCUMENT_MISSING, REL
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.runs.judged import Array, Judged

_SHARED: Mapping[str, Any] = {
    "params": (
        REL,
        Param("mode", "instructed", "whose ranking is scored", ("original", "instructed", "reversed")),
        DOCUMENT_MISSING,
    ),
    "missing": None,
    "modes": ("original", "instructed"),
    "scale": 1.0,
}


def _mean(measure: Measure, topic: Mapping[str, Judged], chosen: Array) -> float | None:
    ranking = topic[measure["mode"]]
    if measure["missing"] == "skip":
        chosen = chosen & ranking.ranked
    ranks = ranking.ranks[chosen].tolist()
    return math.fsum(ranks) / len(ranks) if ranks else None


@measure("GoldRank", Arity.MODES, bounds=(1.0, math.inf), better="lower", **_SHARED)
def gold_rank(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean rank, in one mode, of the documents relevant in the instructed mode; lower is better there.

    At least 1; undefined without such a document. Source: InfoSearch, tables 17 to 22.
    """
    return _mean(measure, topic, topic["instructed"].relevant(measure["rel"]))


@measure("NegativeRank", Arity.MODES, bounds=(1.0, math.inf), better="", **_SHARED)
def negative_rank(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean rank, in one mode, of the documents relevant in the original mode and not in the instructed one.

    At least 1; undefined without such a document. Source: InfoSearch's public code.
    """
    chosen = topic["original"].relevant(measure["rel"]) & ~topic["instructed"].relevant(measure["rel"])
    return _mean(measure, topic, chosen)


@measure("RankGap", Arity.MODES, bounds=(-math.inf, math.inf), better="lower", **_SHARED)
def rank_gap(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean gold rank minus mean rank of the instruction negatives; negative where gold ranks higher.

    Source: InfoSearch's public code.
    """
    gold, negative = gold_rank.score(measure, topic), negative_rank.score(measure, topic)
    return None if gold is None or negative is None else gold - negative
