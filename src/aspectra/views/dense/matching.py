"""Scorers between the units of a seed and the units of papers: best match and MaxSim.

All take query rows and rows of papers, and give one score per paper, higher is better, with the pair of
rows that adds most to it. :mod:`aspectra.views.dense.transport` is another scorer with the same arguments.

- Query: (m, dimensions) unit vectors, and optionally (m,) weights from 0 to 1.
- Rows: (n, dimensions) unit vectors, float32 or float16 (memory-mapped ones are read block by block),
  grouped by paper: the rows of paper i are ``offsets[i]`` to ``offsets[i + 1]``; and optionally (n,)
  weights from 0 to 1, such as the probability that a sentence has the role asked for.
- A row of zeros has no vector, and a row with weight 0 is not asked for: neither takes part. A paper
  without any row that takes part scores -inf.

A weight between 0 and 1 fades a pair towards the lowest similarity two unit vectors can have (cosine -1,
negated distance -2): ``faded = weight * (similarity - lowest) + lowest``. So weight 1 changes nothing, the
scale stays that of the similarity, and a sentence that probably has another role needs to be closer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import unit_rows
from aspectra.views.view import Floats, Metric, Positions

_LOWEST: dict[Metric, float] = {"cosine": -1.0, "dot": -1.0, "l2": -2.0}
_BLOCK = 256  # rows widened at a time: 384 kB at 384 dimensions, which stays in the core's own cache
# Multiplications of one product. OpenBLAS wakes its other threads for more than about 2**18 to 2**19, and for
# products this small their meeting costs more than the work: several times as much on a busy machine.
_PRODUCT = _BLOCK * 384 * 4
_QUERIES = 8  # query rows of one product, above which OpenBLAS changes kernels within a block
_CELLS = 1 << 18  # similarities held at a time: 1 MB
_HALF_BIAS = np.float32(2.0**112)  # between the exponents of float16 and float32


class Matches(NamedTuple):
    """Papers against one query.

    Attributes:
        scores: (papers,) float32, higher is better; -inf where no row of the paper takes part.
        query_rows: (papers,) int64, the query's row in the pair that adds most to the score, or -1.
        rows: (papers,) int64, the paper's row in that pair, as an index into all rows, or -1.
    """

    scores: Floats
    query_rows: Positions
    rows: Positions

    @classmethod
    def none(cls, papers: int) -> Matches:
        """No match of any paper, to be filled in."""
        nobody = np.full(papers, -1, dtype=np.int64)
        return cls(np.full(papers, -np.inf, dtype=np.float32), nobody, nobody.copy())


def check_groups(
    query: NDArray[np.floating],
    rows: NDArray[np.floating],
    offsets: NDArray[np.integer],
    query_weights: Floats | None,
    row_weights: Floats | None,
) -> None:
    """Refuse arrays that do not fit together.

    Raises:
        UsageError: shapes differ, offsets descend or reach past the rows, or a weight is not in [0, 1].
    """
    if query.ndim != 2 or rows.ndim != 2 or query.shape[1] != rows.shape[1]:
        raise UsageError(f"query rows {query.shape} and rows {rows.shape} cannot be compared")
    if len(offsets) < 1 or offsets[0] < 0 or offsets[-1] > len(rows) or (np.diff(offsets) < 0).any():
        raise UsageError(f"the offsets do not group {len(rows)} rows")
    for weights, count in ((query_weights, len(query)), (row_weights, len(rows))):
        if weights is not None and weights.shape != (count,):
            raise UsageError(f"{count} rows were given with weights of shape {weights.shape}")
        # Written so that NaN is refused too.
        if weights is not None and count and not (weights.min() >= 0 and weights.max() <= 1):
            raise UsageError("weights of rows must be between 0 and 1")


def _widen(half: NDArray[np.float16], into: NDArray[np.int32]) -> Floats:
    """Finite float16 as float32, in ``into``'s memory.

    numpy converts halves one by one; moving their bits to float32's places and mending the exponent by a
    product gives the same numbers, subnormal ones included, at several times the speed.
    """
    bits = into[: len(half)]
    np.copyto(bits, half.view(np.int16))
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, np.int32(-0x7000_2000), out=bits)  # drops copies of the sign above the exponent
    values: Floats = bits.view(np.float32)
    np.multiply(values, _HALF_BIAS, out=values)
    return values


def narrowed(rows: Floats) -> NDArray[np.int8]:
    """Rows as int8, their largest component as 127: their directions, which :func:`widen` gives back."""
    most = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    return np.rint(rows * (127 / np.where(most > 0, most, 1.0))).astype(np.int8)


def widen(rows: NDArray[Any]) -> Floats:
    """Rows as float32, whatever they are stored as; directions in int8 at length 1.

    Much quicker than numpy for finite float16.
    """
    if rows.dtype == np.int8:
        return unit_rows(rows.astype(np.float32))
    if rows.dtype != np.float16:
        return rows.astype(np.float32, copy=False)
    return _widen(rows, np.empty(rows.shape, dtype=np.int32))


def products(query: Floats, rows: NDArray[Any], squares: Floats | None = None) -> Floats:
    """Inner products of query rows and rows, each the same in bits wherever its row stands, and beside which.

    OpenBLAS takes other kernels for the last rows of a matrix, and for many query rows: so rows go in blocks
    of one size, the last one filled up with zeros, and few query rows at a time.

    Args:
        query: (m, dimensions) float32.
        rows: (n, dimensions) as :func:`widen` takes them.
        squares: (n,) is filled with the squared length of each row.

    Returns:
        (m, n) float32.
    """
    query = np.ascontiguousarray(query, dtype=np.float32)
    out: Floats = np.empty((len(query), len(rows)), dtype=np.float32)
    step = min(_QUERIES, max(1, _PRODUCT // (_BLOCK * max(rows.shape[1], 1))))
    buffer = np.empty((_BLOCK, rows.shape[1]), dtype=np.int32)
    whole = 0
    if len(query) == 1 and rows.dtype == np.float32 and squares is None:
        whole = len(rows) // _BLOCK * _BLOCK  # one product of all blocks, at the speed of memory
        np.matmul(rows[:whole], query[0], out=out[0, :whole])
    for start in range(whole, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        block = _widen(part, buffer) if part.dtype == np.float16 else widen(part)
        if squares is not None:
            np.einsum("ij,ij->i", block, block, out=squares[start : start + len(part)])
        if len(part) < _BLOCK:
            block = np.concatenate([block, np.zeros((_BLOCK - len(part), block.shape[1]), np.float32)])
        for first in range(0, len(query), step):  # the block stays in cache
            cells = out[first : first + step, start : start + _BLOCK]
            if len(part) == _BLOCK:
                np.matmul(query[first : first + step], block.T, out=cells)
            else:
                cells[:] = (query[first : first + step] @ block.T)[:, : len(part)]
    return out


def similarities(query: Floats, rows: NDArray[np.floating], metric: Metric = "cosine") -> Floats:
    """Similarity of every query row with every row.

    Args:
        query: (m, dimensions) float32, unit length.
        rows: (n, dimensions) float32 or float16, unit length; a row of zeros has no vector.
        metric: ``cosine`` and ``dot`` are the same here; ``l2`` is the negated Euclidean distance.

    Returns:
        (m, n) float32; -inf for rows of zeros.
    """
    squares = np.empty(len(rows), dtype=np.float32) if metric == "l2" else None
    out = products(query, rows, squares)
    if squares is not None:
        absent = squares == 0.0
        np.multiply(out, -2.0, out=out)
        out += squares
        out += np.einsum("ij,ij->i", query, query)[:, None]
        np.sqrt(np.maximum(out, 0.0, out=out), out=out)
        np.negative(out, out=out)
        out[:, absent] = -np.inf
        return out
    # A row of zeros has product 0 with everything; few others do, so only those are looked at.
    suspects = np.flatnonzero(~out.any(axis=0))
    out[:, suspects[~rows[suspects].any(axis=1)]] = -np.inf
    return out


def _best(
    query: Floats,
    rows: NDArray[np.floating],
    offsets: NDArray[np.integer],
    query_weights: Floats | None,
    row_weights: Floats | None,
    metric: Metric,
    pairs: bool = True,
) -> tuple[Floats, Floats, Matches]:
    """What :func:`single_match` and :func:`max_sim` share; without ``pairs`` those are not looked for.

    Returns:
        (asked, papers) best faded similarity of each query row that takes part; (asked,) their weights;
        and the single best pairs.
    """
    check_groups(query, rows, offsets, query_weights, row_weights)
    lowest = np.float32(_LOWEST[metric])
    weights = np.ones(len(query), np.float32) if query_weights is None else query_weights.astype(np.float32)
    asked = np.flatnonzero((weights > 0) & query.any(axis=1))
    weights, query = weights[asked], query[asked]
    papers = len(offsets) - 1
    best = np.full((len(asked), papers), -np.inf, dtype=np.float32)
    found = Matches.none(papers)
    step = max(_BLOCK, _CELLS // max(len(asked), 1))
    for first in range(int(offsets[0]), int(offsets[-1]) if len(asked) else 0, step):
        last = min(first + step, int(offsets[-1]))
        cells = similarities(query, rows[first:last], metric)
        if row_weights is not None:
            _fade(cells, row_weights[first:last], lowest)
        # Papers that have rows in this block; one at its border goes on in the next.
        low = int(np.searchsorted(offsets, first, side="right")) - 1
        high = int(np.searchsorted(offsets, last, side="left"))
        cuts = np.clip(offsets[low : high + 1], first, last) - first
        counts = np.diff(cuts)
        some = np.flatnonzero(counts)
        here = low + some
        local = np.maximum.reduceat(cells, cuts[:-1][some], axis=1)
        best[:, here] = np.maximum(best[:, here], local)
        if not pairs:
            continue
        faded = weights[:, None] * (local - lowest) + lowest
        leader = faded.argmax(axis=0)
        place = np.arange(len(some))
        value = faded[leader, place]
        owner = np.repeat(place, counts[some])
        hits = np.flatnonzero(cells[leader[owner], np.arange(len(owner))] == local[leader, place][owner])
        row = np.full(len(some), -1, dtype=np.int64)
        row[owner[hits][::-1]] = first + hits[::-1]  # written backwards: the first of equals stays
        better = value > found.scores[here]
        found.scores[here[better]] = value[better]
        found.query_rows[here[better]] = asked[leader[better]]
        found.rows[here[better]] = row[better]
    return best, weights, found


def _fade(cells: Floats, weights: Floats, lowest: np.float32) -> None:
    """Fade columns by their weights, in place; weight 0 gives -inf."""
    cells -= lowest
    with np.errstate(invalid="ignore"):  # weight 0 of a row of zeros; overwritten below
        cells *= weights.astype(np.float32, copy=False)
    cells += lowest
    cells[:, weights == 0] = -np.inf


def single_match(
    query: Floats,
    rows: NDArray[np.floating],
    offsets: NDArray[np.integer],
    query_weights: Floats | None = None,
    row_weights: Floats | None = None,
    *,
    metric: Metric = "cosine",
) -> Matches:
    """The best pair of a query row and a row of the paper (tsAspire, Mysore et al. 2022).

    The score is ``w_query * w_row * (similarity - lowest) + lowest`` of the best pair; see the module's text
    for shapes, weights and papers without rows.

    Raises:
        UsageError: the arrays do not fit together.
    """
    return _best(query, rows, offsets, query_weights, row_weights, metric)[2]


def max_sim(
    query: Floats,
    rows: NDArray[np.floating],
    offsets: NDArray[np.integer],
    query_weights: Floats | None = None,
    row_weights: Floats | None = None,
    *,
    metric: Metric = "cosine",
    pairs: bool = True,
) -> Matches:
    """Weighted mean over query rows of each one's best row of the paper.

    This is MaxSim (Khattab and Zaharia 2020, equation 3) on the scale of one similarity; they take the sum.

    Args:
        query: (m, dimensions); see the module's text for this and the next.
        rows: (n, dimensions).
        offsets: (papers + 1,).
        query_weights: (m,) what each query row counts in the mean.
        row_weights: (n,) fade similarities before the best is taken.
        metric: see :func:`similarities`.
        pairs: whether the pairs are wanted too; they cost as much as the scores.

    Returns:
        Scores, and the pair that :func:`single_match` would name, or -1 where pairs are not wanted.

    Raises:
        UsageError: the arrays do not fit together.
    """
    best, weights, found = _best(query, rows, offsets, query_weights, row_weights, metric, pairs)
    if not len(best):
        return found
    scores = np.zeros(best.shape[1], np.float32)
    for weight, row in zip(weights, best, strict=True):  # in one order, however many papers there are
        scores += weight * row
    scores /= weights.sum()
    return Matches(scores, found.query_rows, found.rows)
