"""Fusing the answers of several probes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aspectra.views.view import Floats

# A rare word matches nothing in the sample, whose deviation would then be 0: scores are never stretched
# beyond this many deviations for the best paper.
_MOST_DEVIATIONS = 20.0


class Scale(NamedTuple):
    """What a probe's scores are compared with, for one query.

    Attributes:
        mean: score of the sample.
        deviation: of the sample; 0 where every score is the same.
    """

    mean: float
    deviation: float

    def apply(self, scores: Floats) -> NDArray[np.float64]:
        """(n,) scores in deviations from the mean; 0, the middle, for a NaN, of which nothing is known."""
        if self.deviation <= 1e-12:
            return np.zeros(len(scores))
        values = (scores.astype(np.float64) - self.mean) / self.deviation
        return np.where(np.isnan(scores), 0.0, values)


def highest(scores: Floats, allowed: NDArray[np.bool_] | None = None) -> float | None:
    """The highest known score of the papers that may be ranked: a seed's likeness to itself does not count.

    Args:
        scores: (n,) of the papers in question.
        allowed: (n,) True for those that may be ranked.
    """
    known = ~np.isnan(scores) if allowed is None else allowed & ~np.isnan(scores)
    return float(scores[known].max()) if known.any() else None


def scale(sample: Floats, best: float | None) -> Scale:
    """The scale of a probe's scores.

    The sample is the same whether all papers are scored or only candidates, so the result means the same.

    Args:
        sample: (s,) scores of a fixed random sample of papers under the probe.
        best: the highest score that may be ranked; None where there is none.

    >>> scale(np.array([0, 2], "f4"), 3.0).apply(np.array([3, 1], "f4")).tolist()
    [2.0, 0.0]
    """
    sample = sample[~np.isnan(sample)]
    mean = float(sample.mean()) if len(sample) else 0.0
    deviation = float(sample.std()) if len(sample) else 0.0
    return Scale(mean, max(deviation, ((mean if best is None else best) - mean) / _MOST_DEVIATIONS))


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
