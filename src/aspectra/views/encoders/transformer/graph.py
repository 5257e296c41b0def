"""Encoders as OpenVINO graphs, assembled from their tensors: no torch, no ONNX.

Architectures: Devlin et al. 2019, "BERT" (layer norm after each part; MiniLM, RoBERTa, XLM-R, CamemBERT and
ELECTRA are built alike); Sanh et al. 2019, "DistilBERT"; Song et al. 2020, "MPNet" (relative positions beside
the absolute ones). The embedding tables stay outside the graphs, mapped from disk: a text touches a few
hundred of their rows, so neither start-up nor memory pays for the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.views.encoders.openvino_import import import_openvino
from aspectra.views.encoders.transformer.shape import ACTIVATIONS, Shape
from aspectra.views.encoders.transformer.weights import Tensors

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


@dataclass(frozen=True)
class _Names:
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
