"""Measures of rankings under instructions.

p-MRR: how far documents fall when an instruction makes them irrelevant. SICR: strict instruction compliance
rate. WISE: how far the ranks of gold documents follow an instruction and its reverse. Mean ranks of gold
documents and of instruction negatives. Robustness: the worst of a query's instruction variants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.measures.rankings import DOCUMENT_MISSING, REL, UNJUDGED, ndcg
from aspectra.lab.runs.files import Array, Judged


def rank_change(original: Array, new: Array) -> Array:
    """Scores of documents that should fall from their places in ``original`` to those in ``new``.

    Range (-1, 1): 1 - original/new when it falls, new/original - 1 when it rises, 0 when it stays. Swapping
    the places changes the sign only. Source: FollowIR (Weller et al. 2024), equation 1; InfoSearch,
    equation 9.

    >>> rank_change(np.array([5, 10, 3]), np.array([10, 5, 3])).tolist()
    [0.5, -0.5, 0.0]
    """
    return np.where(original > new, new / original - 1.0, 1.0 - original / new)


@measure(
    "p-MRR",
    Arity.MODES,
    aliases=("pMRR",),
    params=(
        REL,
        Param(
            "documents", "changed", "those that cease to be relevant, or the gold ones", ("changed", "gold")
        ),
        DOCUMENT_MISSING,
    ),
    bounds=(-1.0, 1.0),
    modes=("original", "instructed"),
)
def p_mrr(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean over changed documents of the relative change of rank that an instruction brings; 0 for no change.

    Documents: relevant in the original mode and not in the instructed one; they should fall. With
    ``documents=gold``: relevant in the instructed mode; they should rise. Open range (-1, 1), positive where
    the instruction is followed; undefined for a topic without such a document. A document that is not ranked
    has the rank length + 1. Sources: FollowIR (Weller et al. 2024), equation 1; InfoSearch, equation 9 (here
    on its instruction negatives); the exploration study's equation 1 prints the second branch upside down.
    """
    original, instructed = topic["original"], topic["instructed"]
    rel = measure["rel"]
    gold = measure["documents"] == "gold"
    if gold:
        chosen, first, second = instructed.relevant(rel), instructed, original
    else:
        chosen, first, second = original.relevant(rel) & ~instructed.relevant(rel), original, instructed
    if measure["missing"] == "skip":
        chosen = chosen & original.ranked & instructed.ranked
    changes = rank_change(first.ranks[chosen], second.ranks[chosen])
    return math.fsum(changes.tolist()) / len(changes) if len(changes) else None


class Pairs(NamedTuple):
    """Arguments of ``evaluate`` that score one run with p-MRR over pairs of aspects.

    Attributes:
        qrels, runs: mode -> unit -> documents; a unit is ``topic>other``.
        labels: unit -> ``pair`` (the topic) and ``aspect`` (its aspect): the steps of averaging.
    """

    qrels: dict[str, dict[str, Mapping[str, float]]]
    runs: dict[str, dict[str, Mapping[str, float]]]
    labels: dict[str, dict[str, str]]


def pair_up(
    run: Mapping[str, Mapping[str, float]],
    qrels: Mapping[str, Mapping[str, float]],
    groups: Mapping[str, str],
    aspects: Mapping[str, str],
) -> Pairs:
    """All ordered pairs of topics of one group, as original and instructed mode.

    For CSFCube: topics are query-aspect pairs, groups are query papers. The mean over a topic's pairs comes
    first, then the mean of an aspect's topics, then the plain mean of aspects: average over
    ``("pair", "aspect")``.

    Args:
        run: topic -> document -> score.
        qrels: topic -> document -> grade.
        groups: topic -> group; topics that are alone in theirs give no pair.
        aspects: topic -> aspect.
    """
    members: dict[str, list[str]] = {}
    for topic in sorted(qrels):
        if topic in groups:
            members.setdefault(groups[topic], []).append(topic)
    out = Pairs({"original": {}, "instructed": {}}, {"original": {}, "instructed": {}}, {})
    for topics in members.values():
        for one, other in permutations(topics, 2):
            unit = f"{one}>{other}"
            for mode, topic in (("original", one), ("instructed", other)):
                out.qrels[mode][unit] = qrels[topic]
                if topic in run:
                    out.runs[mode][unit] = run[topic]
            out.labels[unit] = {"pair": one, "aspect": aspects.get(one, "")}
    return out


Triple = tuple[float, float, float]
Ranks = tuple[int, int, int]


def complies(ranks: Triple, scores: Triple, rule: str = "paper") -> bool:
    """True if a gold document rises with its instruction and falls with the reverse, in rank and score.

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


def _mean(measure: Measure, topic: Mapping[str, Judged], ranks: Callable[[Ranks], Ranks]) -> float | None:
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


def _mean_rank(measure: Measure, topic: Mapping[str, Judged], chosen: Array) -> float | None:
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
    return _mean_rank(measure, topic, topic["instructed"].relevant(measure["rel"]))


@measure("NegativeRank", Arity.MODES, bounds=(1.0, math.inf), better="", **_SHARED)
def negative_rank(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean rank, in one mode, of the documents relevant in the original mode and not in the instructed one.

    At least 1; undefined without such a document. Source: InfoSearch's public code.
    """
    chosen = topic["original"].relevant(measure["rel"]) & ~topic["instructed"].relevant(measure["rel"])
    return _mean_rank(measure, topic, chosen)


@measure("RankGap", Arity.MODES, bounds=(-math.inf, math.inf), better="lower", **_SHARED)
def rank_gap(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean gold rank minus mean rank of the instruction negatives; negative where gold ranks higher.

    Source: InfoSearch's public code.
    """
    gold, negative = gold_rank.score(measure, topic), negative_rank.score(measure, topic)
    return None if gold is None or negative is None else gold - negative


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
