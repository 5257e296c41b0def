"""The area under the ROC curve: relevant documents above those judged not relevant."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures._common import REL
from aspectra.lab.measures.protocol import Measure, measure
from aspectra.lab.runs.judged import Judged


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
