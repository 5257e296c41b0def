"""Fusing the answers of several probes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aspectra.views.view import Floats

__all__ = ["reciprocal_ranks", "standardise"]

# A rare word matches nothing in the sample, whose deviation would then be 0: scores are never stretched
# beyond this many deviations for the best paper.
_MOST_DEVIATIONS = 20.0


def standardise(
    scores: Floats, sample: Floats, allowed: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Scores in deviations from the mean of a fixed random sample of papers.

    The sample is the same whether all papers are scored or only candidates, so the result means the same.

    Args:
        scores: (n,) scores of the papers in question.
        sample: (s,) scores of the sample under the same probe.
        allowed: (n,) True for the papers that may be ranked; a seed's likeness to itself tells nothing.

    Returns:
        (n,) standardised scores; zeros when every score is the same, and 0, the middle, for a NaN: a paper of
        which nothing is known neither rises nor falls.

    >>> standardise(np.array([3, 1], "f4"), np.array([0, 2], "f4")).tolist()
    [2.0, 0.0]
    """
    if len(scores) == 0:
        return np.zeros(0)
    unknown = np.isnan(scores)
    sample = sample[~np.isnan(sample)]
    mean = float(sample.mean()) if len(sample) else 0.0
    deviation = float(sample.std()) if len(sample) else 0.0
    able = scores[~unknown] if allowed is None else scores[allowed & ~unknown]
    highest = float(able.max()) if len(able) else mean
    deviation = max(deviation, (highest - mean) / _MOST_DEVIATIONS)
    if deviation <= 1e-12:
        return np.zeros(len(scores))
    return np.where(unknown, 0.0, (scores.astype(np.float64) - mean) / deviation)


def reciprocal_ranks(
    lists: Sequence[tuple[NDArray[np.int64], float]], papers: int, k: int
) -> NDArray[np.float64]:
    """Reciprocal rank fusion: sum over lists of weight / (k + rank), ranks from 1.

    Args:
        lists: (positions best first, weight) of each list.
        papers: number of papers in all.
        k: the constant.

    Returns:
        (papers,) fused scores, 0 for a paper on no list.
    """
    out = np.zeros(papers)
    for positions, weight in lists:
        out[positions] += weight / (k + 1.0 + np.arange(len(positions)))
    return out
