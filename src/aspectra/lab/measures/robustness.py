"""Robustness: the worst of a query's instruction variants."""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.lab.measures._common import UNJUDGED
from aspectra.lab.measures.ndcg import ndcg
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.runs.judged import Judged


@measure(
    "Robustness",
    Arity.GROUP,
    cut="required",
    params=(Param("gain", "linear", "the grade, or 2^grade - 1", ("linear", "exp")), UNJUDGED),
)
def robustness(measure: Measure, topics: Sequence[Judged]) -> float | None:
    """The least nDCG@k over the instruction variants of one core query.

    The unit is the core query; the query without instruction is not a member; one member gives its own value,
    and a member without a ranking counts as 0. Range [0, 1]. Source: InfoSearch, equations 7 and 8.
    """
    inner = ndcg(measure.cut, gain=measure["gain"], unjudged=measure["unjudged"])
    values = [inner.score(topic) for topic in topics]
    return min((value for value in values if value is not None), default=None)
