"""A model's folder as a network: arrays of token numbers in, a graph that turns them into token states."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.openvino_import import import_openvino
from aspectra.views.encoders.protocol import Vectors
from aspectra.views.encoders.transformer.weights import (
    ACTIVATIONS,
    Shape,
    Tensors,
    as_float32,
    needs_torch,
    weight_files,
)

# Encoders as OpenVINO graphs, assembled from their tensors: no torch, no ONNX.
#
# Architectures: Devlin et al. 2019, "BERT" (layer norm after each part; MiniLM, RoBERTa, XLM-R, CamemBERT
# and ELECTRA are built alike); Sanh et al. 2019, "DistilBERT"; Song et al. 2020, "MPNet" (relative
# positions beside the absolute ones). The embedding tables stay outside the graphs, mapped from disk: a
# text touches a few hundred of their rows, so neither start-up nor memory pays for the rest.

# What a masked token's attention score is lowered by: exp underflows to 0, and bf16 and f16 can hold it.
_MASKED = 10_000.0


class Builder:
    """The parts that encoders are made of.

    Args:
        tensors: of the model.
        shape: of the model.
    """

    def __init__(self, tensors: Tensors, shape: Shape) -> None:
        self.openvino = import_openvino()
        self.op = self.openvino.opset13
        self.tensors = tensors
        self.shape = shape
        self.width = shape.dimensions // shape.heads
        self.embeddings = self.op.parameter([-1, -1, shape.dimensions], np.float32, name="embeddings")
        self.mask = self.op.parameter([-1, -1], np.float32, name="mask")
        lowered = self.op.multiply(self.op.subtract(self.mask, self.constant(1.0)), self.constant(_MASKED))
        self.lowered = self.op.unsqueeze(lowered, self.integers(1, 2))

    def constant(self, value: Any) -> Any:
        return self.op.constant(np.ascontiguousarray(value, dtype=np.float32))

    def integers(self, *values: int) -> Any:
        return self.op.constant(np.array(values, dtype=np.int64))

    def tokens(self) -> Any:
        """The number of tokens of the batch, padding included."""
        return self.op.gather(self.op.shape_of(self.mask), self.integers(1), self.integers(0))

    def distances(self) -> Any:
        """(tokens, tokens) int64: how far each token (column) lies behind each other (row)."""
        op = self.op
        zero, one = op.constant(np.int64(0)), op.constant(np.int64(1))
        places = op.range(zero, op.squeeze(self.tokens(), self.integers(0)), one, "i64")
        return op.subtract(op.unsqueeze(places, self.integers(0)), op.unsqueeze(places, self.integers(1)))

    def norm(self, x: Any, name: str) -> Any:
        """Layer norm; without a bias where the model has none."""
        centred = self.op.mvn(x, self.integers(-1), True, self.shape.epsilon, "inside_sqrt")
        scaled = self.op.multiply(centred, self.constant(self.tensors.float32(name + ".weight")))
        return self._biased(scaled, name, 1.0)

    def linear(self, x: Any, name: str, scale: Any = 1.0) -> Any:
        """A linear layer; without a bias where the model has none.

        Args:
            x: (texts, tokens, features).
            name: of the layer.
            scale: what the result is multiplied by: one number, or one for each output.
        """
        factor = np.asarray(scale, dtype=np.float32)
        weight = self.tensors.float32(name + ".weight") * (factor[:, None] if factor.ndim else factor)
        return self._biased(self.op.matmul(x, self.constant(weight), False, True), name, factor)

    def _biased(self, x: Any, name: str, factor: Any) -> Any:
        if name + ".bias" not in self.tensors and self.shape.family == "modernbert":
            return x
        return self.op.add(x, self.constant(self.tensors.float32(name + ".bias") * np.float32(factor)))

    def activation(self, x: Any) -> Any:
        operator, approximation = ACTIVATIONS[self.shape.activation]
        if operator == "gelu":
            return self.op.gelu(x, approximation)
        return self.op.relu(x) if operator == "relu" else self.op.swish(x)

    def split_heads(self, x: Any) -> Any:
        """(texts, tokens, dimensions) to (texts, heads, tokens, width)."""
        split = self.op.reshape(x, self.integers(0, 0, self.shape.heads, self.width), True)
        return self.op.transpose(split, self.integers(0, 2, 1, 3))

    def attend(self, query: Any, key: Any, value: Any, *added: Any) -> Any:
        """Attention over all heads, with what is added to the scores: (texts, tokens, dimensions).

        Scores, softmax and products are separate operators: OpenVINO's fused scaled_dot_product_attention
        was within the noise of it, as was one joint projection to query, key and value.
        """
        op = self.op
        scores = op.matmul(query, key, False, True)
        for one in added:
            scores = op.add(scores, one)
        mixed = op.matmul(op.softmax(scores, -1), value, False, False)
        mixed = op.transpose(mixed, self.integers(0, 2, 1, 3))
        return op.reshape(mixed, self.integers(0, 0, self.shape.dimensions), True)

    def model(self, states: Any) -> Any:
        """The graph that ends in these states.

        Inputs: ``embeddings`` (texts, tokens, dimensions) and ``mask`` (texts, tokens; 1 for a token, 0 for
        padding), both float32. Output: ``states`` (texts, tokens, dimensions).
        """
        return self.openvino.Model(
            [self.op.result(states, name="states")], [self.embeddings, self.mask], self.shape.family
        )


class _Names(Struct, frozen=True):
    """What the parts of a layer are called."""

    layer: str = "encoder.layer.{}."
    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    output: str = "attention.output.dense"
    first_norm: str = "attention.output.LayerNorm"
    inner: str = "intermediate.dense"
    outer: str = "output.dense"
    second_norm: str = "output.LayerNorm"


_BERT = _Names()
_NAMES = {
    "mpnet": _Names(
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        output="attention.attn.o",
        first_norm="attention.LayerNorm",
    ),
    "distilbert": _Names(
        layer="transformer.layer.{}.",
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        output="attention.out_lin",
        first_norm="sa_layer_norm",
        inner="ffn.lin1",
        outer="ffn.lin2",
        second_norm="output_layer_norm",
    ),
}


def classic_graph(tensors: Tensors, shape: Shape) -> Any:
    """BERT or a relative, without its embedding tables; see :meth:`Builder.model`."""
    build = Builder(tensors, shape)
    op, names = build.op, _NAMES.get(shape.family, _BERT)
    added = [build.lowered]
    if shape.family == "mpnet":
        added.insert(0, _relative_bias(build))
    x = build.norm(build.embeddings, "embeddings.LayerNorm")
    for layer in range(shape.layers):
        prefix = names.layer.format(layer)
        # Scaling the query's projection by 1 / sqrt(width) saves scaling every score.
        query = build.split_heads(build.linear(x, prefix + names.query, 1 / math.sqrt(build.width)))
        key = build.split_heads(build.linear(x, prefix + names.key))
        value = build.split_heads(build.linear(x, prefix + names.value))
        mixed = build.attend(query, key, value, *added)
        x = build.norm(op.add(x, build.linear(mixed, prefix + names.output)), prefix + names.first_norm)
        inner = build.activation(build.linear(x, prefix + names.inner))
        x = build.norm(op.add(x, build.linear(inner, prefix + names.outer)), prefix + names.second_norm)
    return build.model(x)


def relative_buckets(distances: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bucket of each relative position in MPNet, 32 in all (those of T5, both directions).

    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1: half of the buckets for each direction, half of
    those for one distance each, the rest for distances up to 128 on a logarithmic scale.

    Args:
        distances: how far the token attended to lies behind the one that attends; negative: before it.

    >>> relative_buckets(np.array([-200, -9, -1, 0, 1, 20])).tolist()
    [15, 8, 1, 0, 17, 26]
    """
    half, exact, farthest = 16, 8, 128
    away = np.abs(distances)
    # In float32 as in the reference: at a bucket's edge the rounding decides.
    ratio = np.log(np.maximum(away, 1).astype(np.float32) / np.float32(exact))
    scaled = ratio / np.float32(math.log(farthest / exact)) * np.float32(half - exact)
    large = np.minimum(exact + scaled.astype(np.int64), half - 1)
    found: NDArray[np.int64] = np.where(distances > 0, half, 0) + np.where(away < exact, away, large)
    return found


def _relative_bias(build: Builder) -> Any:
    """(1, heads, tokens, tokens): what MPNet adds to each score by the distance of the two tokens."""
    farthest = build.shape.positions - 1
    buckets = relative_buckets(np.arange(-farthest, farthest + 1))
    table = build.tensors.float32("encoder.relative_attention_bias.weight")[buckets].T
    op = build.op
    rows = op.add(build.distances(), op.constant(np.int64(farthest)))
    return op.unsqueeze(op.gather(build.constant(table), rows, build.integers(1)), build.integers(0))


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
