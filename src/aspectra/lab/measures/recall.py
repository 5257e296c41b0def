"""Recall."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures._common import REL, UNJUDGED, WIDEST, topic_of
from aspectra.lab.measures.protocol import Measure, Param, measure
from aspectra.lab.runs.judged import Judged


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
