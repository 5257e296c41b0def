"""Reciprocal rank."""

from __future__ import annotations

from aspectra.lab.measures._common import REL, UNJUDGED, WIDEST, topic_of
from aspectra.lab.measures.protocol import Measure, measure
from aspectra.lab.runs.judged import Judged


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
