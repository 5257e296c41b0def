"""WISE: how far the ranks of gold documents follow an instruction and its reverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from aspectra.lab.measures._common import REL
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.runs.judged import Judged

_PARAMS = (
    REL,
    Param("rule", "paper", "1 is earned up to rank N, or below N (public code)", ("paper", "fork")),
    Param("shape", "sqrt", "reward falls with the root of the climb, or with the climb", ("sqrt", "linear")),
    Param("beyond", 0.01, "reward of a document that was below rank k", low=0.0, high=1.0),
    Param("penalty", "first", "where two penalties apply: the first, or the least", ("first", "min")),
)
_MODES = ("original", "instructed", "reversed")


def wise_score(
    original: int,
    instructed: int,
    reverse: int,
    positives: int,
    k: int = 20,
    *,
    rule: str = "paper",
    shape: str = "sqrt",
    beyond: float = 0.01,
    penalty: str = "first",
) -> float:
    """WISE of one gold document from its three ranks; every triple has exactly one value.

    A reward needs instructed <= original < reverse: 1 when it comes to rank 1 from within the first
    ``positives`` ranks; (1 - sqrt(original - instructed) / k) / sqrt(instructed) from within rank k; else
    ``beyond``. Otherwise a penalty, first match: -1 for reverse < original < instructed; (original -
    instructed) / instructed when it did not rise; (reverse - original) / original when the reverse did not
    push it down. For one instructed rank the reward falls as the original rank grows. Range [-1, 1].
    Source: InfoSearch, equations 3 to 6, its figure 5 deciding how far the root reaches.

    >>> wise_score(2, 1, 5, 1), wise_score(1, 1, 2, 1), wise_score(25, 2, 40, 1)
    (0.95, 1.0, 0.01)
    >>> wise_score(2, 4, 1, 1), wise_score(2, 4, 9, 1), wise_score(4, 2, 1, 1)
    (-1.0, -0.5, -0.75)
    """
    if instructed <= original < reverse:
        if instructed == 1 and (original < positives if rule == "fork" else original <= positives):
            return 1.0
        if original > k:
            return beyond
        climb = original - instructed
        return (1.0 - (climb if shape == "linear" else math.sqrt(climb)) / k) / math.sqrt(instructed)
    if reverse < original < instructed:
        return -1.0
    fitting = []
    if original <= instructed:
        fitting.append((original - instructed) / instructed)
    if reverse <= original:
        fitting.append((reverse - original) / original)
    return min(fitting) if penalty == "min" else fitting[0]


def _mean(
    measure: Measure,
    topic: Mapping[str, Judged],
    ranks: Callable[[tuple[int, int, int]], tuple[int, int, int]],
) -> float | None:
    modes = [topic[name] for name in _MODES]
    positives = modes[0].count(measure["rel"])
    options = {name: measure[name] for name in ("rule", "shape", "beyond", "penalty")}
    values = []
    for i in np.flatnonzero(modes[1].relevant(measure["rel"])).tolist():
        triple = ranks((int(modes[0].ranks[i]), int(modes[1].ranks[i]), int(modes[2].ranks[i])))
        values.append(wise_score(*triple, positives, measure.cut or 20, **options))
    return math.fsum(values) / len(values) if values else None


@measure("WISE", Arity.MODES, cut="required", params=_PARAMS, bounds=(-1.0, 1.0), modes=_MODES)
def wise(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean over gold documents of WISE, the reward or penalty for their ranks in three modes.

    Gold documents are relevant in the instructed mode; N counts those relevant in the original mode.
    Undefined without a gold document. Unit: the instructed query. See :func:`wise_score`.
    """
    return _mean(measure, topic, lambda triple: triple)


@measure("WISE-ideal", Arity.MODES, cut="required", params=_PARAMS, modes=_MODES)
def wise_ideal(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """WISE if every gold document came first with the instruction and fell with its reverse.

    The system's own original ranks stay, so this is an upper bound given its original ranking and differs
    between systems (with ``shape=linear`` it is none: from rank 17, reaching 10 is worth 0.206 and reaching 1
    only 0.2). The paper leaves it undefined; this is its public code. Range (0, 1].
    """
    return _mean(measure, topic, lambda triple: (triple[0], 1, triple[0] + 1))


def _parts(measure: Measure) -> tuple[Measure, ...]:
    return wise_ideal(measure.cut, **measure.params), wise(measure.cut, **measure.params)


def _loss(measure: Measure, values: tuple[float, ...]) -> float | None:
    """100 (ideal - actual) / ideal."""
    ideal, actual = values
    return 100.0 * (ideal - actual) / ideal if ideal else None


@measure(
    "Per",
    Arity.MODES,
    cut="required",
    params=_PARAMS,
    bounds=(0.0, math.inf),
    scale=1.0,
    better="lower",
    modes=_MODES,
    of=_parts,
    combine=_loss,
)
def per(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """How far WISE stays below its ideal, in percent: 100 (ideal - actual) / ideal.

    The mean is taken of the means, not of the topics' percentages. Above 100 where WISE is negative. Source:
    InfoSearch, tables 17 to 22.
    """
    ideal, actual = (part.score(topic) for part in _parts(measure))
    return None if ideal is None or actual is None else _loss(measure, (ideal, actual))
