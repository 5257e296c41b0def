"""Scorers between the units of a seed and of papers: best match, MaxSim and optimal transport.

All take query rows and rows of papers, and give one score per paper, higher is better, with the pair of
rows that adds most to it. :mod:`aspectra.views.dense.matching` is another scorer with the same arguments.

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

import math
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
    """Shared part of :func:`single_match` and :func:`max_sim`; without ``pairs`` it does not find the pairs.

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


# Optimal transport between the units of a seed and the units of papers.
#
# The method is that of otAspire (Mysore, Cohan and Hope, NAACL 2022): each side's sentences carry mass, more
# where they have a close partner, and the score is the cost of moving one side's mass onto the other's under
# an entropic plan. See :mod:`aspectra.views.dense.matching` for what rows, offsets and weights are.

_CELLS_AT_ONCE = 1 << 15  # of a bucket: 128 kB an array, so that the few of one round stay in cache
_PLAIN_ROUNDS = 20  # enough for nearly all papers; the others go on by Newton's method
_LONGEST_STEP = 2.0  # far from the plan Newton's steps are too long
_WASTE = 1.25  # a bucket's longest paper against its shortest


class Sinkhorn(NamedTuple):
    """Parameters for computing an entropic plan of optimal transport.

    Attributes:
        blur: the final epsilon; a length on the scale of distances (with p = 1, epsilon = blur).
        scaling: each epsilon is this times the last, down from ``diameter``.
        diameter: the first epsilon; unit vectors are at most 2 apart.
        tolerance: at the final epsilon rounds go on until a plan's masses differ from the asked ones by
            this much in sum.
        rounds: at most so many of them.
    """

    blur: float = 0.05
    scaling: float = 0.9
    diameter: float = 2.0
    tolerance: float = 1e-5
    rounds: int = 200

    def epsilons(self) -> list[float]:
        """Descending, the last is ``blur``.

        >>> [round(e, 2) for e in Sinkhorn(blur=0.4, scaling=0.5).epsilons()]
        [2.0, 1.0, 0.5, 0.4]
        """
        steps = max(0, math.ceil(math.log(self.diameter / self.blur) / -math.log(self.scaling) - 1e-9))
        return [self.diameter * self.scaling**k for k in range(steps)] + [self.blur]


def transport_plans(costs: Floats, left: Floats, right: Floats, how: Sinkhorn = Sinkhorn()) -> Floats:
    """Entropic optimal transport plans of many small problems at once.

    Minimises ``sum(plan * costs) + epsilon * KL(plan | left x right)``. The potentials f, g are kept in the
    log domain, ``plan = left * right * exp((f + g - costs) / epsilon)``, epsilon is annealed, and within one
    epsilon the scalings are absorbed into them (Schmitzer 2019, "Stabilized sparse scaling algorithms for
    entropy regularized transport problems", sections 3.1 and 3.2), which costs one exponential a round.

    Args:
        costs: (m, n, problems) float32, from 0 to ``how.diameter`` or not much more. Problems come last, so
            that every sum runs over whole rows of them.
        left: (m, problems) masses that sum to 1.
        right: (n, problems) masses that sum to 1; 0 for padding. Likewise ``left``.
        how: epsilon and when to stop. Every problem stops by itself: its plan does not depend on the others.

    Returns:
        (m, n, problems) float32. Columns have the asked masses exactly, rows up to the tolerance.

    Raises:
        UsageError: blur is not in (0, diameter], or scaling not in [0.5, 1).
    """
    if not (0 < how.blur <= how.diameter and 0.5 <= how.scaling < 1):
        raise UsageError("transport needs 0 < blur <= diameter and 0.5 <= scaling < 1", why=f"given: {how}")
    f = np.zeros_like(left)
    g = np.zeros_like(right)
    kernel = np.empty_like(costs)
    spare = np.empty_like(costs)
    for epsilon in how.epsilons():
        inverse = np.float32(1.0 / epsilon)
        np.subtract(g, costs, out=kernel)
        kernel += f[:, None]
        kernel *= inverse
        np.exp(kernel, out=kernel)
        row = np.multiply(kernel, right, out=spare).sum(axis=1)
        f -= np.float32(epsilon) * np.log(row)
        scaled = left / row
        column = np.multiply(kernel, scaled[:, None], out=spare).sum(axis=0)
        g -= np.float32(epsilon) * np.log(column)
    mass_out = left / row
    mass_in = right / column
    _settle(kernel, left, right, mass_out, mass_in, how)
    kernel *= mass_out[:, None]
    kernel *= mass_in
    return kernel


def _settle(
    kernel: Floats, left: Floats, right: Floats, mass_out: Floats, mass_in: Floats, how: Sinkhorn
) -> None:
    """Scale the last kernel until its rows have their masses too; ``mass_out`` and ``mass_in`` in place."""
    at = np.arange(kernel.shape[2])
    u, v = mass_out, mass_in
    for turn in range(how.rounds):
        row = (kernel * v).sum(axis=1)
        # Columns are exact here; what rows lack is what this round would change.
        off = np.abs(u * row - left).sum(axis=0)
        going = off > how.tolerance
        kept = int(going.sum())
        if kept < len(at):
            done = ~going
            mass_out[:, at[done]], mass_in[:, at[done]] = u[:, done], v[:, done]
            if not kept:
                return
            kernel, left, right = kernel[:, :, going], left[:, going], right[:, going]
            u, v, row, at = u[:, going], v[:, going], row[:, going], at[going]
        u = left / row if turn < _PLAIN_ROUNDS else u * np.exp(_newton(kernel, u, v, left))
        v = right / (kernel * u[:, None]).sum(axis=0)
    mass_out[:, at], mass_in[:, at] = u, v


def _newton(kernel: Floats, u: Floats, v: Floats, left: Floats) -> Floats:
    """(m, problems) the step of the logarithm of ``u`` by Newton's method on the dual.

    With the columns' potentials eliminated the Hessian is ``diag(rows) - plan diag(1 / columns) plan^T``, a
    graph Laplacian: where parts of a problem hardly touch, plain rounds creep and this does not.
    """
    plan = (kernel * u[:, None] * v).transpose(2, 0, 1).astype(np.float64)
    rows, columns = plan.sum(axis=2), plan.sum(axis=1)
    share = plan / np.where(columns > 0, columns, 1.0)[:, None]
    hessian = -share @ plan.transpose(0, 2, 1)
    own = np.arange(len(u))
    hessian[:, own, own] += rows + 1e-12  # a row without mass must not make it singular
    hessian += rows.mean(axis=1)[:, None, None]  # a constant step changes nothing: that direction is closed
    step = np.linalg.solve(hessian, (left.T - rows)[:, :, None])[:, :, 0]
    result: Floats = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP).T.astype(np.float32)
    return result


def _buckets(counts: NDArray[np.int64], query_rows: int) -> list[NDArray[np.int64]]:
    """Papers (that have rows) of similar size together, so that little is spent on padding."""
    order = np.argsort(counts, kind="stable")
    order = order[int(np.searchsorted(counts[order], 1)) :]
    out = []
    start = 0
    while start < len(order):
        shortest = int(counts[order[start]])
        end = int(np.searchsorted(counts[order], shortest * _WASTE, side="right"))
        longest = int(counts[order[end - 1]])
        end = min(end, start + max(1, _CELLS_AT_ONCE // (query_rows * longest)))
        out.append(order[start:end])
        start = end
    return out


def _masses(nearest: Floats, weights: Floats, temperature: float) -> Floats:
    """Softmax along axis 0 of negated distances, times weights; each column sums to 1."""
    shifted = (nearest.min(axis=0) - nearest) / np.float32(temperature)
    masses: Floats = np.exp(shifted) * weights
    masses /= masses.sum(axis=0)
    return masses


def transport(
    query: Floats,
    rows: NDArray[np.floating],
    offsets: NDArray[np.integer],
    query_weights: Floats | None = None,
    row_weights: Floats | None = None,
    *,
    temperature: float = 1.0,
    how: Sinkhorn = Sinkhorn(),
) -> Matches:
    """Negated cost of carrying the query's mass to each paper: ``-sum(plan * distances)``, from -2 to 0.

    A row's mass is the softmax, over the rows of its side, of the negated distance to the nearest row of
    the other side, times its weight, made to sum to 1. (So a weight is what a row counts, not a fading.)

    Args:
        query: (m, dimensions); see :mod:`aspectra.views.dense.matching` for this and the next.
        rows: (n, dimensions).
        offsets: (papers + 1,).
        query_weights: (m,).
        row_weights: (n,).
        temperature: of the softmax; the higher, the more even the masses.
        how: the final epsilon and when to stop.

    Returns:
        Scores, and the pair that the plan moves most mass between.

    Raises:
        UsageError: the arrays do not fit together, or a parameter is out of range.
    """
    check_groups(query, rows, offsets, query_weights, row_weights)
    if not temperature > 0:
        raise UsageError(f"the temperature must be above 0, not {temperature}")
    found = Matches.none(len(offsets) - 1)
    out_weights = np.ones(len(query), np.float32) if query_weights is None else query_weights
    asked = np.flatnonzero((out_weights > 0) & query.any(axis=1))
    if not len(asked):
        return found
    first = int(offsets[0])
    distances = -similarities(query[asked], rows[first : int(offsets[-1])], "l2")
    takes_part = np.isfinite(distances[0])
    if row_weights is not None:
        takes_part &= row_weights[first : int(offsets[-1])] > 0
    kept = np.flatnonzero(takes_part)
    if not len(kept):
        return found
    # Vectors that are not of unit length may be further apart.
    how = how._replace(diameter=max(how.diameter, float(distances[:, kept].max())))
    cuts = np.searchsorted(kept, np.asarray(offsets) - first)
    counts = np.diff(cuts)
    weigh_out = out_weights[asked].astype(np.float32)[:, None]
    for bucket in _buckets(counts, len(asked)):
        size = counts[bucket]
        ordinal = np.arange(int(size.max()))[:, None]
        real = ordinal < size
        # Padding repeats a paper's last row, and gets no mass.
        at = kept[cuts[bucket] + np.minimum(ordinal, size - 1)]
        costs = distances[:, at]
        weigh_in = real.astype(np.float32)
        if row_weights is not None:
            weigh_in *= row_weights[first + at]
        left = _masses(costs.min(axis=1), weigh_out, temperature)
        right = _masses(costs.min(axis=0), weigh_in, temperature)
        plan = transport_plans(costs, left, right, how)
        found.scores[bucket] = -np.einsum("ijp,ijp->p", plan, costs)
        pair = plan.reshape(-1, len(bucket)).argmax(axis=0)
        found.query_rows[bucket] = asked[pair // len(at)]
        found.rows[bucket] = first + at[pair % len(at), np.arange(len(bucket))]
    return found
