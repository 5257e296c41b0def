"""Measures of one ranking against judgements: gain, recall, precision, reciprocal rank, area under the curve.

``csfcube_...`` are those of CSFCube's own tool where they differ from the standard ones, and
``litsearch_ndcg`` is that of LitSearch's own code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure, parse
from aspectra.lab.runs.files import Array, Judged

REL = Param("rel", 1.0, "least grade of a relevant document")
UNJUDGED = Param(
    "unjudged", "zero", "unjudged documents count as grade 0, or leave the ranking first", ("zero", "skip")
)
DOCUMENT_MISSING = Param(
    "missing", "rank", "an unranked document ranks below the last one, or is left out", ("rank", "skip")
)
WIDEST = 2**62  # no cut

_LOG2 = np.zeros(0)


def discounts(length: int) -> Array:
    """1 / log2(rank + 1) for ranks 1 to ``length``."""
    global _LOG2  # noqa: PLW0603 - a table that only grows
    if len(_LOG2) < length:
        _LOG2 = 1.0 / np.log2(np.arange(2, max(length, 2048) + 2))
    return _LOG2[:length]


def topic_of(measure: Measure, topic: Judged) -> Judged:
    """The ranking under the measure's ``unjudged`` parameter."""
    return topic.condensed() if measure["unjudged"] == "skip" else topic


def gains(grades: Array, kind: str) -> Array:
    """Gain of positive grades: the grade itself, or 2^grade - 1.

    >>> gains(np.array([1.0, 2.0, 3.0]), "exp").tolist()
    [1.0, 3.0, 7.0]
    """
    return np.exp2(grades) - 1.0 if kind == "exp" else grades


@measure(
    "nDCG",
    cut="optional",
    params=(
        Param("gain", "linear", "the grade, or 2^grade - 1", ("linear", "exp")),
        Param("ties", "order", "equal scores in order, or the mean over their orders", ("order", "average")),
        UNJUDGED,
    ),
)
def ndcg(measure: Measure, topic: Judged) -> float:
    """Normalised discounted cumulative gain: sum of gain / log2(rank + 1), over its greatest possible value.

    The ideal is taken from all judged documents and cut at the same k. Negative grades gain nothing. Range
    [0, 1]; 0 where nothing is relevant. Sources: Järvelin and Kekäläinen 2002; trec_eval ``ndcg_cut``
    (linear); ``ties=average`` is the expectation over all orders of equal scores (McSherry and Najork
    2008).

    Grades 0, 2, 1 by rank: (2/log2(3) + 1/log2(4)) / (2/log2(2) + 1/log2(3)).

    >>> from aspectra.lab import evaluate
    >>> judgements, run = {"q": {"a": 2, "b": 1}}, {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}
    >>> round(evaluate(["nDCG@10"], judgements, run)["nDCG@10"].mean, 4)
    0.6697
    """
    topic = topic_of(measure, topic)
    cut = measure.cut or WIDEST
    kind = measure["gain"]
    best = gains(topic.ideal()[:cut], kind)
    if not len(best):
        return 0.0
    ideal = float((best * discounts(len(best))).sum())
    if measure["ties"] == "average":
        return _expected(topic, cut, kind) / ideal
    ranks, grades = topic.gained()
    if cut < WIDEST:
        kept = int(np.searchsorted(ranks, cut, "right"))
        ranks, grades = ranks[:kept], grades[:kept]
    if not len(ranks):
        return 0.0
    return float((gains(grades, kind) * discounts(int(ranks[-1]))[ranks - 1]).sum()) / ideal


def _expected(topic: Judged, cut: int, kind: str) -> float:
    """Expected discounted gain when equal scores come in any order."""
    positive = (topic.grades > 0) & topic.ranked
    order = np.lexsort((topic.grades[positive], topic.above[positive]))
    above = topic.above[positive][order]
    tied = topic.tied[positive][order]
    total = np.concatenate(([0.0], np.cumsum(discounts(min(cut, topic.length)))))
    last = len(total) - 1
    mean = (total[np.minimum(above + tied, last)] - total[np.minimum(above, last)]) / tied
    return float((gains(topic.grades[positive][order], kind) * mean).sum())


@measure(
    "R",
    cut="optional",
    aliases=("recall",),
    params=(REL, Param("cap", False, "divide by min(k, relevant); undefined where nothing is"), UNJUDGED),
)
def recall(measure: Measure, topic: Judged) -> float | None:
    """Recall: relevant documents in the top k, over all relevant documents.

    Range [0, 1]. 0 where nothing is relevant; with ``cap`` (mteb's ``R_cap``) undefined there. Sources:
    trec_eval ``recall``; LitSearch section 4; PRISM section 4.

    >>> from aspectra.lab import evaluate
    >>> judgements, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> evaluation = evaluate(["R@2", "R(cap=true)@2"], judgements, run)
    >>> round(evaluation["R@2"].mean, 4), evaluation["R(cap=true)@2"].mean
    (0.3333, 0.5)
    """
    topic = topic_of(measure, topic)
    cut = measure.cut or WIDEST
    relevant = topic.count(measure["rel"])
    if not relevant:
        return None if measure["cap"] else 0.0
    found = int(np.searchsorted(topic.hits(measure["rel"]), cut, "right"))
    return found / (min(cut, relevant) if measure["cap"] else relevant)


_OVER = Param("over", "cut", "over k, or over the documents ranked where these are fewer", ("cut", "ranked"))


@measure("P", cut="required", params=(REL, UNJUDGED, _OVER), aliases=("precision",))
def precision(measure: Measure, topic: Judged) -> float:
    """Precision: relevant documents in the top k, over k (also where fewer are ranked).

    With ``over=ranked`` over what is ranked, at most k: of the documents shown, the share that is relevant; 0
    where none is. Range [0, 1]. Source: trec_eval ``P``.

    >>> from aspectra.lab import evaluate
    >>> evaluate(["P@5"], {"q": {"a": 1}}, {"q": {"a": 1.0}})["P@5"].mean
    0.2
    """
    cut = measure.cut or 1
    topic = topic_of(measure, topic)
    over = min(cut, max(1, topic.length)) if measure["over"] == "ranked" else cut
    return int(np.searchsorted(topic.hits(measure["rel"]), cut, "right")) / over


@measure("R-precision", params=(REL, UNJUDGED), aliases=("Rprec", "Rprecision"))
def r_precision(measure: Measure, topic: Judged) -> float:
    """R-precision: precision at the number of relevant documents.

    Range [0, 1]; 0 where nothing is relevant. Source: trec_eval ``Rprec``. CSFCube's tool means something
    else by the name: ``csfcube_r_precision``.

    >>> from aspectra.lab import evaluate
    >>> judgements, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    >>> evaluate([r_precision], judgements, run)["R-precision"].mean
    0.5
    """
    topic = topic_of(measure, topic)
    relevant = topic.count(measure["rel"])
    if not relevant:
        return 0.0
    return int(np.searchsorted(topic.hits(measure["rel"]), relevant, "right")) / relevant


@measure("Success", cut="required", params=(REL, UNJUDGED), aliases=("hit",))
def success(measure: Measure, topic: Judged) -> float:
    """Success: 1 when a relevant document is in the top k, else 0. Source: trec_eval ``success``.

    >>> from aspectra.lab import evaluate
    >>> evaluate([success@1, success@2], {"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}).means
    {'Success@1': 0.0, 'Success@2': 1.0}
    """
    hits = topic_of(measure, topic).hits(measure["rel"])
    return float(len(hits) > 0 and hits[0] <= (measure.cut or 1))


@measure(
    "AP",
    aliases=("MAP",),
    params=(
        REL,
        Param("cut", 0, "sum down to this rank only, still over all relevant (0: no cut)", low=0),
        Param(
            "base", "relevant", "divide by all relevant, or by those in the ranking", ("relevant", "found")
        ),
        UNJUDGED,
    ),
)
def average_precision(measure: Measure, topic: Judged) -> float:
    """Average precision: the sum of the precisions at relevant ranks, over the number of relevant documents.

    Range [0, 1]; 0 where nothing is relevant. Sources: trec_eval ``map`` and ``map_cut``; PRISM's MAP@30 is
    ``AP(cut=30)``; CSFCube's tool divides by the relevant documents found (``base=found``).

    Relevant at ranks 1 and 3 of three relevant: (1 + 2/3) / 3.

    >>> from aspectra.lab import evaluate
    >>> judgements = {"q": {"a": 1, "b": 1, "c": 1}}
    >>> round(evaluate(["AP"], judgements, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}})["AP"].mean, 4)
    0.5556
    """
    topic = topic_of(measure, topic)
    hits = topic.hits(measure["rel"])
    relevant = len(hits) if measure["base"] == "found" else topic.count(measure["rel"])
    if not relevant:
        return 0.0
    kept = hits[: int(np.searchsorted(hits, measure["cut"] or WIDEST, "right"))]
    return float((np.arange(1, len(kept) + 1) / kept).sum()) / relevant


@measure("MRR", cut="optional", params=(REL, UNJUDGED), aliases=("RR", "recip_rank"))
def reciprocal_rank(measure: Measure, topic: Judged) -> float:
    """Reciprocal rank: 1 over the rank of the first relevant document; 0 when it is below the cut.

    Range [0, 1]. Sources: trec_eval ``recip_rank``; PRISM section 4 (MRR@50); InfoSearch table 1 (MRR@1).

    >>> from aspectra.lab import evaluate
    >>> evaluate(["MRR", "MRR@1"], {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}).means
    {'MRR': 0.5, 'MRR@1': 0.0}
    """
    hits = topic_of(measure, topic).hits(measure["rel"])
    if not len(hits) or hits[0] > (measure.cut or WIDEST):
        return 0.0
    return 1.0 / int(hits[0])


@measure("AUC", params=(REL,), missing=0.5)
def auc(measure: Measure, topic: Judged) -> float | None:
    """Share of the pairs of a relevant and a judged irrelevant document in which the relevant one is higher.

    Range [0, 1], 0.5 for chance; undefined without a document of either kind. Unjudged documents take no
    part. Documents that are not ranked are equal, below all others, and a pair of equals counts half; a
    ranking of few documents therefore says little. Source: Mann and Whitney 1947, U / (m n).

    Above: a and b over x, of the four pairs with x and y.

    >>> from aspectra.lab import evaluate
    >>> judgements = {"q": {"a": 2, "b": 1, "x": 0, "y": 0}}
    >>> run = {"q": {"y": 4.0, "a": 3.0, "b": 2.0, "x": 1.0}}
    >>> evaluate(["AUC"], judgements, run)["AUC"].mean
    0.5
    """
    relevant = topic.relevant(measure["rel"])
    other = ~relevant & ~np.isnan(topic.grades)
    if not relevant.any() or not other.any():
        return None
    below = np.sort(topic.ranks[other])
    ours = topic.ranks[relevant]
    lower = len(below) - np.searchsorted(below, ours, "right")
    equal = np.searchsorted(below, ours, "right") - np.searchsorted(below, ours, "left")
    return float((lower + 0.5 * equal).mean()) / len(below)


def dcg(ranks: Array, grades: Array) -> float:
    """Discounted gain of CSFCube's tool: positions 1 and 2 undiscounted, then 1 / log2(position).

    >>> dcg(np.array([1, 2, 4]), np.array([3.0, 2.0, 2.0]))
    6.0
    """
    return float((grades / np.log2(np.maximum(ranks, 2))).sum())


def _ndcg(topic: Judged, cut: int) -> float:
    ranks, grades = topic.gained()
    kept = int(np.searchsorted(ranks, cut, "right"))
    best = topic.ideal(ranked_only=True)[:cut]
    ideal = dcg(np.arange(1, len(best) + 1), best)
    return dcg(ranks[:kept], grades[:kept]) / ideal if ideal else 0.0


@measure("csfcube_ndcg", cut="optional")
def csfcube_ndcg(measure: Measure, topic: Judged) -> float:
    """The nDCG of CSFCube's tool: no discount at ranks 1 and 2, ideal from the ranked documents only.

    The whole pool must be ranked for it to mean anything. Range [0, 1]; 0 where nothing ranked has a positive
    grade. Source: CSFCube (Mysore et al. 2021), evaluation scripts.
    """
    return _ndcg(topic, measure.cut or WIDEST)


@measure("NDCG%", cut="required", percent=True, needs_pool=True)
def ndcg_percent(measure: Measure, topic: Judged) -> float:
    """The nDCG of CSFCube's tool, cut at a percentage of the ranked pool: int(k / 100 * pool size).

    Range [0, 1]. Source: CSFCube (Mysore et al. 2021), section 4 and evaluation scripts; not the same
    number as ``csfcube_ndcg@20``.
    """
    return _ndcg(topic, int((measure.cut or 0) / 100 * topic.length))


@measure("csfcube_r_precision", params=(REL,))
def csfcube_r_precision(measure: Measure, topic: Judged) -> float:
    """What CSFCube's tool calls R-precision: precision down to the last relevant document.

    Range [0, 1]. Source: CSFCube's evaluation scripts. The standard measure is ``R-precision``.
    """
    hits = topic.hits(measure["rel"])
    return len(hits) / int(hits[-1]) if len(hits) else 0.0


@measure("F1", cut="required", params=(REL,))
def f1(measure: Measure, topic: Judged) -> float:
    """The harmonic mean of precision and recall in the top k.

    Range [0, 1]; 0 where both are. Source: CSFCube's evaluation scripts (at 20).
    """
    cut = measure.cut or 1
    found = int(np.searchsorted(topic.hits(measure["rel"]), cut, "right"))
    relevant = topic.count(measure["rel"])
    if not found or not relevant:
        return 0.0
    precision, recall = found / cut, found / relevant
    return 2 * precision * recall / (precision + recall)


@measure("litsearch_ndcg", cut="optional", params=(REL,))
def litsearch_ndcg(measure: Measure, topic: Judged) -> float:
    """Binary nDCG of LitSearch's code: discount 1/rank, and an ideal that is not cut.

    Range [0, 1], and 1 cannot be reached with more than k relevant documents: not comparable with nDCG@k.
    Source: LitSearch (Ajith et al. 2024), repository utilities.

    >>> from aspectra.lab import evaluate
    >>> judgements, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 2.0, "a": 1.0}}
    >>> round(evaluate(["litsearch_ndcg@10"], judgements, run)["litsearch_ndcg@10"].mean, 4)
    0.3333
    """
    relevant = topic.count(measure["rel"])
    if not relevant:
        return 0.0
    hits = topic.hits(measure["rel"])
    kept = hits[: int(np.searchsorted(hits, measure.cut or WIDEST, "right"))]
    return float((1.0 / kept).sum()) / float((1.0 / np.arange(1, relevant + 1)).sum())


# The retrieval-verification gap: how much better documents are judged than found.

Runs = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class Pools:
    """Runs of the two sides, each by the name of its system; after scoring, their means.

    Attributes:
        retrievers: single-stage retrievers.
        verifiers: rankings of the pool with missing gold documents put in (the upper bound).
        lower: rankings of the pool as it was found (the lower bound).
        agents: systems that search in several steps.
    """

    retrievers: Runs
    verifiers: Runs = field(default_factory=dict)
    lower: Runs = field(default_factory=dict)
    agents: Runs = field(default_factory=dict)


def _of(measure: Measure) -> tuple[Measure, ...]:
    return (parse(measure["of"]),)


def _inner(text: str) -> str:
    inner = parse(text)
    if inner.arity is not Arity.RANKING:
        raise UsageError(f"Gap cannot be taken of {inner}", why=f"it needs {inner.arity.value}")
    return str(inner)


@measure(
    "Gap",
    Arity.POOLS,
    params=(
        Param(
            "of", "nDCG@10", "the measure that both sides are scored with", check=_inner, example="R(rel=2)@5"
        ),
        Param("bound", "upper", "missing gold put into the pool, or the pool as found", ("upper", "lower")),
        Param("agents", False, "let systems that search in several steps count as retrievers"),
    ),
    missing=None,
    bounds=(-1.0, 1.0),
    of=_of,
)
def gap(measure: Measure, means: Mapping[str, Mapping[str, float]]) -> float | None:
    """Best verifier minus best retriever, in one measure and under one set of judgements.

    Given: role (as in :class:`Pools`) -> system -> mean. Range [-1, 1]; undefined where a side is empty.
    Source: OBLIQ-Bench, section 3.

    >>> round(gap().score({"retrievers": {"a": 0.068}, "verifiers": {"v": 0.331}}), 3)
    0.263
    """
    verifiers = means.get("verifiers" if measure["bound"] == "upper" else "lower", {})
    retrievers = {**means.get("retrievers", {}), **(means.get("agents", {}) if measure["agents"] else {})}
    if not verifiers or not retrievers:
        return None
    return max(verifiers.values()) - max(retrievers.values())
