"""Precision, R-precision and success."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures._common import REL, UNJUDGED, topic_of
from aspectra.lab.measures.protocol import Measure, Param, measure
from aspectra.lab.runs.judged import Judged

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
