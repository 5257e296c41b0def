"""Reverse scoring with vectors: each candidate's units look for their like in the seed paper.

Forward late interaction asks for each unit of the *seed* which unit of a candidate is nearest; reversed, each
unit of a *candidate* looks for the nearest unit of the seed, and a candidate's score is their mean. Where a
paper is one vector both ways are the same cosine, and only the candidate's own mean and deviation (how near
it is to everything) tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from aspectra.views.dense.matching import similarities, widen
from aspectra.views.lexical.reverse import Moments
from aspectra.views.storage.arrays import StoredArray
from aspectra.views.storage.units import Units
from aspectra.views.view import Floats, Positions

_ROWS = 4096  # unit vectors widened at a time: 6 MB at 384 dimensions
_DOCUMENTS = 64  # sample documents looked at together


def _paper_blocks(offsets: NDArray[np.integer]) -> Iterator[tuple[int, int]]:
    """(first, last) papers of blocks of about :data:`_ROWS` units, papers kept whole."""
    papers, low = len(offsets) - 1, 0
    while low < papers:
        high = int(np.searchsorted(offsets, int(offsets[low]) + _ROWS, side="right")) - 1
        high = min(max(high, low + 1), papers)
        yield low, high
        low = high


def _means(best: Floats, real: NDArray[np.bool_], offsets: NDArray[np.integer]) -> Floats:
    """(papers, documents) means of (units, documents) values over papers' real units; NaN without any."""
    out = np.full((len(offsets) - 1, best.shape[1]), np.nan, dtype=np.float32)
    best = np.where(real[:, None], best, np.float32(0.0))
    full = np.flatnonzero(np.diff(offsets))
    if len(full):
        starts = offsets[:-1][full]
        counts = np.add.reduceat(real.astype(np.float32), starts)
        sums = np.add.reduceat(best, starts, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            out[full] = np.where(counts[:, None] > 0, sums / counts[:, None], np.nan)
    return out


def _scores(
    rows: NDArray[np.floating], offsets: NDArray[np.integer], seeds: Floats, cuts: Positions
) -> Floats:
    """(papers, documents) scores; ``cuts`` (documents,) is where each document's rows begin in ``seeds``."""
    parts = []
    for low, high in _paper_blocks(offsets):
        block = widen(rows[offsets[low] : offsets[high]])
        nearest = np.maximum.reduceat(block @ seeds.T, cuts, axis=1) if len(block) else block[:, : len(cuts)]
        real = np.asarray(block.any(axis=1))
        parts.append(_means(nearest, real, offsets[low : high + 1] - offsets[low]))
    return np.concatenate([np.zeros((0, len(cuts)), np.float32), *parts])


def nearest_in_seed(rows: NDArray[np.floating] | StoredArray, units: Units | None, seed: Floats) -> Floats:
    """How near candidates' units are to their nearest in the seed, on average.

    Args:
        rows: (papers or units, dimensions) unit vectors of the candidates; zeros have no vector.
        units: how rows belong to papers; None where each paper is one.
        seed: (m, dimensions) unit vectors of the seed paper.

    Returns:
        (papers,) float32 mean cosine; NaN for a paper without vectors, or for all where the seed has none.
    """
    seed = np.ascontiguousarray(seed[seed.any(axis=1)], dtype=np.float32)
    offsets = np.arange(len(rows) + 1) if units is None else np.asarray(units.offsets)
    if not len(seed):
        return np.full(len(offsets) - 1, np.nan, dtype=np.float32)
    if isinstance(rows, StoredArray):
        cells = rows.over_rows(partial(similarities, seed), axis=1)
    else:
        cells = similarities(seed, rows)
    best = cells.max(axis=0)  # -inf where a row has no vector
    real = np.isfinite(best)
    return _means(best[:, None], real, offsets)[:, 0]


def dense_moments(
    rows: NDArray[np.floating],
    units: Units | None,
    sample: Positions,
    elsewhere: Sequence[NDArray[np.floating]] = (),
) -> Moments:
    """What each candidate scores on average: over a sample of documents and itself (cosine 1).

    Args:
        rows: as in :func:`nearest_in_seed`.
        units: as there.
        sample: positions of the sample's documents; -1 for one that other parts of the collection hold.
        elsewhere: (rows, dimensions) vectors of those, in order.
    """
    others = iter(elsewhere)
    offsets = np.arange(len(rows) + 1) if units is None else np.asarray(units.offsets)
    papers = len(offsets) - 1
    first, second, count = np.ones(papers), np.ones(papers), np.ones(papers)
    for start in range(0, len(sample), _DOCUMENTS):
        chosen, kept, cuts, at = [], [], [], 0
        for paper in sample[start : start + _DOCUMENTS]:
            part = widen(rows[offsets[paper] : offsets[paper + 1]] if paper >= 0 else next(others))
            part = part[part.any(axis=1)]
            if len(part):
                chosen.append(part)
                kept.append(int(paper))
                cuts.append(at)
                at += len(part)
        if not chosen:
            continue
        scores = _scores(rows, offsets, np.concatenate(chosen), np.array(cuts)).astype(np.float64)
        here = np.flatnonzero(np.array(kept) >= 0)
        own = np.array(kept)[here]
        scores[own, here] = 0.0  # each candidate itself is counted once, above
        first += scores.sum(axis=1)
        second += (scores**2).sum(axis=1)
        count += len(kept)
        count[own] -= 1
    mean = first / count
    deviation = np.sqrt(np.maximum(second / count - mean**2, 0.0))
    return Moments(np.nan_to_num(mean).astype(np.float32), np.nan_to_num(deviation).astype(np.float32))
