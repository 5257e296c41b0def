"""A model's folder as a network: arrays of token numbers in, a graph that turns them into token states."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import Vectors
from aspectra.views.encoders.transformer.graph import Builder, classic_graph
from aspectra.views.encoders.transformer.shape import Shape
from aspectra.views.encoders.transformer.weights import Tensors, as_float32, needs_torch, weight_files

# ModernBERT as an OpenVINO graph.
#
# Warner et al. 2024, "Smarter, Better, Faster, Longer", arXiv:2412.13663: layer norm before each part,
# rotary positions (Su et al. 2021, arXiv:2104.09864), every third layer attends to the whole text, the
# others to the neighbours of a token; gated feed-forward layers (GeGLU), no biases.

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


class Network(Protocol):
    """What the runtime needs of a model.

    Attributes:
        words: how many token numbers there are.
        positions: tokens that a text can have.
    """

    @property
    def words(self) -> int: ...

    @property
    def positions(self) -> int: ...

    def graph(self) -> Any:
        """The OpenVINO model; its first output is (texts, tokens, dimensions), the last layer's states."""
        ...

    def inputs(self, ids: NDArray[np.int64], mask: Vectors) -> list[NDArray[Any]]:
        """The graph's inputs in its order, for (texts, tokens) numbers and 1 where there is a token."""
        ...


class SafetensorsNetwork:
    """A model in ``model.safetensors`` and ``config.json``, its embedding tables mapped from disk.

    Args:
        folder: of the model.

    Raises:
        UsageError: the files are damaged, or describe no encoder that can be run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shape = Shape.read(folder)
        self.tensors = Tensors(folder, weight_files(folder))
        modern = self.shape.family == "modernbert"
        self._words = self.tensors[
            "embeddings.tok_embeddings.weight" if modern else "embeddings.word_embeddings.weight"
        ]

    @property
    def words(self) -> int:
        return len(self._words)

    @property
    def positions(self) -> int:
        return self.shape.positions

    def graph(self) -> Any:
        """See :class:`Network`.

        Raises:
            UsageError: a tensor is missing, or its size is another than the configuration says.
        """
        build = modern_graph if self.shape.family == "modernbert" else classic_graph
        try:
            return build(self.tensors, self.shape)
        except (RuntimeError, ValueError) as error:
            why = f"its weights do not fit its config.json ({str(error).strip().splitlines()[-1]})"
            raise needs_torch(self.folder, why) from error

    def inputs(self, ids: NDArray[np.int64], mask: Vectors) -> list[NDArray[Any]]:
        """See :class:`Network`."""
        return [self.embed(ids), mask]

    def embed(self, ids: NDArray[np.int64]) -> Vectors:
        """Sum of word, position and segment embeddings.

        Args:
            ids: (texts, tokens).

        Returns:
            (texts, tokens, dimensions) float32, before the layer norm (which is in the graph).
        """
        try:
            rows = as_float32(np.take(self._words, ids, axis=0))
        except IndexError as error:
            raise UsageError(
                f"the tokenizer of {self.folder} does not fit its weights",
                why=f"it has the token number {ids.max()}, and there are {len(self._words)} words",
            ) from error
        if self._places is None:
            return rows
        if self.shape.padding is None:
            rows += self._places[: ids.shape[1]]
        else:  # a padding token inside a text has a position of its own and does not count
            counted = ids != self.shape.padding
            rows += self._places[np.cumsum(counted, axis=1) * counted + self.shape.padding]
        return rows

    @cached_property
    def _places(self) -> Vectors | None:
        """(positions, dimensions): position embeddings plus the embedding of segment 0."""
        if self.shape.family == "modernbert":
            return None
        places = np.array(self.tensors.float32("embeddings.position_embeddings.weight"))
        if self.shape.family not in {"distilbert", "mpnet"}:
            places += self.tensors.float32("embeddings.token_type_embeddings.weight")[0]
        return places
