"""Optimal transport between the units of a seed and the units of papers.

The method is that of otAspire (Mysore, Cohan and Hope, NAACL 2022): each side's sentences carry mass, more
where they have a close partner, and the score is the cost of moving one side's mass onto the other's under
an entropic plan. See :mod:`aspectra.views.dense.matching` for what rows, offsets and weights are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.dense.matching import Matches, check_groups, similarities
from aspectra.views.view import Floats

_CELLS = 1 << 15  # of a bucket: 128 kB an array, so that the few of one round stay in cache
_PLAIN_ROUNDS = 20  # enough for nearly all papers; the others go on by Newton's method
_LONGEST_STEP = 2.0  # far from the plan Newton's steps are too long
_WASTE = 1.25  # a bucket's longest paper against its shortest


class Sinkhorn(NamedTuple):
    """How a plan is found.

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
        end = min(end, start + max(1, _CELLS // (query_rows * longest)))
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
