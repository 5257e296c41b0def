"""Token states to vectors: mean pooling of whole texts and of spans (late pooling)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aspectra.views.encoders.protocol import Span, Vectors

# Names of sentence-transformers, in the order in which it joins the vectors of several.
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def unit_rows(vectors: Vectors) -> Vectors:
    """Rows scaled to length 1, in place; rows of zeros stay zeros.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors


def mean_of_tokens(states: Vectors) -> Vectors:
    """Mean over all tokens, [CLS] and [SEP] included, as sentence-transformers pools (not normalised).

    Args:
        states: (tokens, dimensions) without padding; at least one token.

    Returns:
        (dimensions,) float32.
    """
    total: Vectors = np.add.reduce(states, axis=0)
    total /= np.float32(len(states))
    return total


def pool_spans(states: Vectors, offsets: NDArray[np.int64], spans: Sequence[Span]) -> Vectors:
    """Late pooling: mean of the contextual states of the tokens that overlap each span.

    The text is encoded once; a sentence's vector is the mean of its tokens' states, which have seen the
    whole text (Günther et al. 2024, "Late Chunking", arXiv:2409.04701).

    Args:
        states: (tokens, dimensions) float32.
        offsets: (tokens, 2): each token's (start, end) in characters, both non-decreasing along the text.
            Special tokens have an empty range and never count.
        spans: (start, end) in characters, end excluded; in any order, overlapping or not.

    Returns:
        (spans, dimensions) float32, unit length; zeros where no token overlaps the span.
    """
    return unit_rows(mean_of_spans(states, offsets, np.asarray(spans, dtype=np.int64).reshape(-1, 2)))


def mean_of_spans(states: Vectors, offsets: NDArray[np.int64], asked: NDArray[np.int64]) -> Vectors:
    """Mean of the values of the tokens that overlap each span.

    Args:
        states: (tokens, columns) float32: states, or any other values of tokens.
        offsets: as in :func:`pool_spans`.
        asked: (spans, 2) start and end in characters, likewise.

    Returns:
        (spans, columns) float32; zeros where no token overlaps the span.
    """
    out = np.zeros((len(asked), states.shape[1]), dtype=np.float32)
    keep = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    if not len(asked) or not len(keep):
        return out
    starts, ends = offsets[keep].T
    # Tokens come in text order, so the tokens of a span are one run [first, last).
    first = np.searchsorted(ends, asked[:, 0], side="right")
    last = np.searchsorted(starts, asked[:, 1], side="left")
    some = np.flatnonzero((last > first) & (asked[:, 1] > asked[:, 0]))
    if not len(some):
        return out
    first, last = first[some], last[some]
    if keep[-1] - keep[0] + 1 == len(keep):  # special tokens stand only at the ends: no copy needed
        first, last = first + keep[0], last + keep[0]
    else:
        states = states[keep]
    # reduceat sums [index i, index i + 1): interleaving the bounds gives the runs at even places. The
    # odd places sum what lies between two runs and are thrown away; that costs one more pass at most.
    # A bound may not reach past the end, so a run that ends there is summed by leaving its end out.
    bounds = np.stack([first, last], axis=1).ravel()
    if bounds.max() >= len(states):
        states = np.concatenate([states, np.zeros((1, states.shape[1]), dtype=states.dtype)])
    sums = np.add.reduceat(states, bounds, axis=0)[::2]
    out[some] = np.divide(sums, (last - first)[:, None], dtype=np.float32)
    return out
