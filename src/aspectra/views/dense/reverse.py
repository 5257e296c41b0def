"""Reverse scoring with vectors, and views made from vector lenses.

Reversed, each candidate's units look for their like in the seed paper. Forward late interaction asks for each
unit of the *seed* which unit of a candidate is nearest; reversed, each unit of a *candidate* looks for the
nearest unit of the seed, and a candidate's score is their mean. Where a paper is one vector both ways are the
same cosine, and only the candidate's own mean and deviation (how near it is to everything) tell them apart.

Values of a vector lens are standardised over the library and compared by cosine. Each column has its mean
over the library taken away and is divided by its deviation there, so that a habit counts as much as it is
unusual (Burrows's Delta, 2002; its cosine form: Smith and Aldridge 2011). Values more than three deviations
away count as three: one odd word does not make a style. Columns of a group share its weight, so that a longer
group does not count more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.views.dense.matching import products, similarities, widen
from aspectra.views.encoders.protocol import Encoding, Kind, unit_rows
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.lexical.reverse import Moments
from aspectra.views.protocol import ViewFacts
from aspectra.views.storage.arrays import StoredArray, new_array, save_array, save_json
from aspectra.views.storage.folder import StoredFolder, Units
from aspectra.views.view import Floats, Metric, Positions

_CLIP = 3.0


class VectorLens(Protocol):
    """A lens of the kind ``vector``; ``groups`` and ``of_text`` are its additions to a lens.

    Attributes:
        groups: sizes of the groups that its columns fall into, in order; they add up to its labels.
    """

    name: str
    version: int
    labels: tuple[str, ...]
    groups: tuple[int, ...]

    def of_text(self, text: str) -> Floats:
        """(labels,) values of one text, or NaN where nothing is known."""
        ...


def vector_lens(name: str) -> VectorLens:
    """A lens of the kind ``vector``.

    Raises:
        UsageError: the lens is unknown or of another kind.
    """
    lens = LENSES.get(name)
    if lens.kind != "vector":
        raise UsageError(f"the lens {name} has no vectors", why=f"its kind is {lens.kind}")
    return cast("VectorLens", lens)


class _Standard:
    """Mean and deviation of every column, and what becomes of a row."""

    def __init__(self, mean: Floats, deviation: Floats, groups: Sequence[int]) -> None:
        self.mean = mean
        self.deviation = deviation
        # A column that never varies says nothing, whatever a query has there.
        share = np.concatenate([np.full(size, 1 / np.sqrt(size)) for size in groups])
        self._scale = np.where(deviation > 0, share, 0.0)
        self._divide = np.where(deviation > 0, deviation, 1.0)

    def rows(self, raw: Floats) -> Floats:
        """(n, labels) raw values as vectors of length 1; of 0 where nothing is known."""
        values = np.clip((raw - self.mean) / self._divide, -_CLIP, _CLIP) * self._scale
        values = np.nan_to_num(values, nan=0.0)
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        out: Floats = (values / np.where(norms > 0, norms, 1.0)).astype(np.float32)
        return out


def build_lens_vectors(
    name: str,
    stored: Callable[[], Iterable[Floats]],
    count: int,
    folder: Path,
    given: Floats | None = None,
) -> dict[str, Any]:
    """Write a vector lens's view into a generation; returns its part of the manifest.

    The values are read twice, so that memory does not grow with the library.

    Args:
        name: of the lens.
        stored: gives the (1, labels) values of each paper, in order; called twice.
        count: papers.
        folder: of the generation being built.
        given: (2, labels) mean and deviation that the values are standardised by; default: their own.
    """
    lens = vector_lens(name)
    width = len(lens.labels)
    total, square, known = np.zeros(width), np.zeros(width), 0
    for row in stored():
        if not np.isnan(row).any():
            value = row[0].astype(np.float64)
            total += value
            square += value * value
            known += 1
    mean = total / max(known, 1)
    deviation = np.sqrt(np.maximum(square / max(known, 1) - mean * mean, 0.0))
    deviation[deviation < 1e-7] = 0.0
    own = np.stack([mean, deviation]).astype(np.float32)
    mean, deviation = own if given is None else given
    standard = _Standard(mean, deviation, lens.groups)
    view = ViewFacts.lens_vectors_of(name).name
    path = folder / view
    path.mkdir()
    save_array(path / "standard.npy", np.stack([standard.mean, standard.deviation]))
    save_json(path / "lens.json", {"name": name, "version": lens.version})
    vectors = new_array(path / "vectors.npy", (count, width), np.float16)
    for number, row in enumerate(stored()):
        vectors[number] = standard.rows(row)[0]
    return {
        "kind": "vector",
        "folder": view,
        "lens": name,
        "version": lens.version,
        "dimensions": width,
        "without": count - known,
    }


class LensEncoder:
    """Encodes query texts as vectors of the lens's view: the lens's values, standardised by the library.

    Args:
        name: of the lens.
        folder: of the view.

    Raises:
        ViewMismatch: the view was built with another version of the lens.
    """

    max_tokens = 1 << 30
    late_pooling = False
    remote = ""

    def __init__(self, name: str, folder: StoredFolder) -> None:
        self._lens = vector_lens(name)
        self.name = f"the lens {name}"
        self.fingerprint = f"{name}/{self._lens.version}"
        self.dimensions = len(self._lens.labels)
        made = folder.json("lens.json")
        if made["version"] != self._lens.version:
            raise ViewMismatch(
                f"the view {folder.path.name} was built with version {made['version']} of the lens {name}",
                why=f"the installed lens is version {self._lens.version}; their values cannot be compared",
                hint="aspectra index",
            )
        mean, deviation = folder.segments[0].whole("standard")
        self._standard = _Standard(mean, deviation, self._lens.groups)

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> Encoding:
        """Vectors of texts, in order; kind and instruction change nothing.

        Raises:
            UsageError: spans are asked for: a style is of the whole.
        """
        if spans is not None:
            raise UsageError(f"{self.name} has no vectors of spans")
        raw = [self._lens.of_text(text) for text in texts]
        rows = self._standard.rows(np.array(raw, np.float32).reshape(len(texts), self.dimensions))
        return Encoding(rows, truncated=np.zeros(len(texts), dtype=np.bool_))


# Means of the units that take part, compared: one vector for each side.
#
# Rows, offsets and weights as in :mod:`aspectra.views.dense.matching`. No pair of units decides.

_BLOCK = 512  # rows at a time: 768 kB at 384 dimensions


def mean_query(query: Floats, weights: Floats | None = None) -> Floats:
    """(dimensions,) weighted mean of query rows at unit length; zeros where none takes part."""
    weighted = query if weights is None else query * weights[:, None]
    mean: Floats = unit_rows(weighted.sum(axis=0, keepdims=True))[0]
    return mean


def score_means(
    query: Floats, means: Floats, metric: Metric = "cosine", present: NDArray[np.bool_] | None = None
) -> Floats:
    """(papers,) cosine or negated distance of one unit vector and centroids; -inf where a side is zeros.

    Args:
        query: (dimensions,).
        means: (papers, dimensions).
        metric: see :func:`~aspectra.views.dense.matching.similarities`.
        present: (papers,) False where a centroid is zeros, where it is known already.
    """
    if not query.any():
        return np.full(len(means), -np.inf, dtype=np.float32)
    values = products(query[None], means)[0]
    if metric == "l2":
        values = -np.sqrt(np.maximum(2.0 - 2.0 * values, 0.0))
    there = means.any(axis=1) if present is None else present
    return np.where(there, values, np.float32(-np.inf))


def centroids(
    rows: NDArray[np.floating], offsets: NDArray[np.integer], row_weights: Floats | None = None
) -> Floats:
    """(papers, dimensions) weighted mean of each paper's rows at unit length; zeros where none takes part."""
    out = np.zeros((len(offsets) - 1, rows.shape[1]), dtype=np.float32)
    ends = np.asarray(offsets)
    faded = row_weights is not None and bool((row_weights[ends[0] : ends[-1]] != 1.0).any())
    # Some papers at a time, so that their widened rows stay in the core's own cache.
    for first, last in _paper_blocks(ends, _BLOCK):
        low, high = int(ends[first]), int(ends[last])
        block = widen(rows[low:high])
        if faded and row_weights is not None:
            block = block * row_weights[low:high, None]
        some, sums = _sums(block, ends[first : last + 1] - low)
        out[first + some] = unit_rows(sums)
    return out


def _paper_blocks(offsets: NDArray[np.integer], rows: int) -> Iterator[tuple[int, int]]:
    """(first, last) papers of blocks of about so many rows, papers kept whole."""
    low = 0
    while low < len(offsets) - 1:
        high = max(low + 1, int(np.searchsorted(offsets, int(offsets[low]) + rows, side="right")) - 1)
        yield low, high
        low = high


def _sums(rows: Floats, offsets: NDArray[np.integer]) -> tuple[Positions, Floats]:
    """Groups that have rows, and the sum of each.

    All first rows at once, then all second ones ...: numpy's ``reduceat`` is ten times slower along axis 0.
    """
    counts = np.diff(offsets)
    order = np.argsort(-counts, kind="stable")
    order = order[: np.count_nonzero(counts)]  # the longest group first
    starts, counts = offsets[:-1][order], counts[order]
    sums = rows[starts]
    for place in range(1, int(counts[0]) if len(counts) else 0):
        longer = int(np.searchsorted(-counts, -place, side="left"))
        sums[:longer] += rows[starts[:longer] + place]
    return order, sums


_ROWS = 4096  # unit vectors widened at a time: 6 MB at 384 dimensions
_DOCUMENTS = 64  # sample documents looked at together


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
    for low, high in _paper_blocks(offsets, _ROWS):
        block = widen(rows[offsets[low] : offsets[high]])
        # Sums over documents are the same in bits only where each paper's values lie side by side.
        nearest = np.ascontiguousarray(np.maximum.reduceat(products(seeds, block), cuts, axis=0).T)
        real = np.asarray(block.any(axis=1))
        parts.append(_means(nearest, real, offsets[low : high + 1] - offsets[low]))
    return np.concatenate([np.zeros((0, len(cuts)), np.float32), *parts])


def nearest_in_seed(rows: NDArray[np.floating] | StoredArray, units: Units | None, seed: Floats) -> Floats:
    """Mean similarity of each candidate's units to their nearest units in the seed.

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
    given: Sequence[NDArray[np.floating]] | None = None,
) -> Moments:
    """Mean and deviation of each candidate's scores over a sample of documents and itself (cosine 1).

    Args:
        rows: as in :func:`nearest_in_seed`.
        units: as there.
        sample: positions of the sample's papers; -1 for one that is not among these.
        given: (rows, dimensions) vectors of each of them; default: those in ``rows``.
    """
    offsets = np.arange(len(rows) + 1) if units is None else np.asarray(units.offsets)
    papers = len(offsets) - 1
    first, second, count = np.ones(papers), np.ones(papers), np.ones(papers)
    for start in range(0, len(sample), _DOCUMENTS):
        chosen, kept, cuts, at = [], [], [], 0
        for number, paper in enumerate(sample[start : start + _DOCUMENTS], start):
            held = rows[offsets[paper] : offsets[paper + 1]] if given is None else given[number]
            part = widen(held)
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
