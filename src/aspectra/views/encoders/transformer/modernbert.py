"""ModernBERT as an OpenVINO graph.

Warner et al. 2024, "Smarter, Better, Faster, Longer", arXiv:2412.13663: layer norm before each part, rotary
positions (Su et al. 2021, arXiv:2104.09864), every third layer attends to the whole text, the others to the
neighbours of a token; gated feed-forward layers (GeGLU), no biases.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aspectra.views.encoders.protocol import Vectors
from aspectra.views.encoders.transformer.graph import Builder
from aspectra.views.encoders.transformer.shape import Shape
from aspectra.views.encoders.transformer.weights import Tensors

_FAR = -10_000.0  # added to the score of a token outside the window, as for a masked one


def rotations(positions: int, width: int, theta: float) -> tuple[Vectors, Vectors]:
    """Cosines and sines of the rotary positions.

    Args:
        positions: of a text, at most.
        width: of an attention head; even.
        theta: base of the wave lengths.

    Returns:
        Two arrays (positions, width) float32; both halves of a row are alike.
    """
    # In float32 as the model was trained; the products are small enough for it.
    exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
    frequencies = np.float32(1.0) / np.power(np.float32(theta), exponents)
    angles = np.arange(positions, dtype=np.float32)[:, None] * frequencies
    both = np.concatenate([angles, angles], axis=1)
    return np.cos(both), np.sin(both)


class _Rotary:
    """Turns queries and keys by their positions; the tables are cut to the batch's length.

    The tables are constants: angles of thousands of positions computed in bf16 would be wrong.
    """

    def __init__(self, build: Builder, theta: float) -> None:
        self._build = build
        op = build.op
        begin, step, axis = build.integers(0), build.integers(1), build.integers(0)
        self._tables = [
            op.slice(build.constant(table), begin, build.tokens(), step, axis)
            for table in rotations(build.shape.positions, build.width, theta)
        ]

    def __call__(self, x: Any) -> Any:
        op = self._build.op
        first, second = op.split(x, op.constant(np.int64(-1)), 2).outputs()
        turned = op.concat([op.negative(second), first], -1)
        cosines, sines = self._tables
        return op.add(op.multiply(x, cosines), op.multiply(turned, sines))


def modern_graph(tensors: Tensors, shape: Shape) -> Any:
    """ModernBERT without its embedding table; see :meth:`Builder.model`."""
    build = Builder(tensors, shape)
    op = build.op
    axis = op.constant(np.int64(-1))
    rotary = {local: _Rotary(build, shape.thetas[local]) for local in set(shape.local)}
    scores = {False: build.lowered}
    if any(shape.local):
        window = op.constant(np.int64(shape.window))
        far = op.convert(op.greater(op.abs(build.distances()), window), "f32")
        scores[True] = op.add(build.lowered, op.multiply(far, build.constant(_FAR)))
    # Scaling the query's rows by 1 / sqrt(width) saves scaling every score; rotating keeps lengths.
    scale = np.ones(3 * shape.dimensions, dtype=np.float32)
    scale[: shape.dimensions] = 1 / math.sqrt(build.width)
    x = build.norm(build.embeddings, "embeddings.norm")
    for layer, local in enumerate(shape.local):
        prefix = f"layers.{layer}."
        normed = build.norm(x, prefix + "attn_norm") if layer else x
        joint = build.linear(normed, prefix + "attn.Wqkv", scale)
        query, key, value = (build.split_heads(part) for part in op.split(joint, axis, 3).outputs())
        turn = rotary[local]
        mixed = build.attend(turn(query), turn(key), value, scores[local])
        x = op.add(x, build.linear(mixed, prefix + "attn.Wo"))
        wide = build.linear(build.norm(x, prefix + "mlp_norm"), prefix + "mlp.Wi")
        inner, gate = op.split(wide, axis, 2).outputs()
        x = op.add(x, build.linear(op.multiply(build.activation(inner), gate), prefix + "mlp.Wo"))
    return build.model(build.norm(x, "final_norm"))
