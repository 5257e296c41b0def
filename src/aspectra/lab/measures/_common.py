"""What several families share: their parameters, and the discount tables."""

from __future__ import annotations

import numpy as np

from aspectra.lab.measures.protocol import Measure, Param
from aspectra.lab.runs.judged import Array, Judged

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
