"""A tiny BERT of :mod:`folder_models` as an ONNX file, written without the package ``onnx``.

An ONNX file is one message of protocol buffers; the few fields needed are written here by their numbers
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aspectra.views.encoders.transformer.weights import read_weights
from folder_models import HEADS, LAYERS, WIDTH

_FLOAT, _INT64, _INT32 = 1, 7, 6
_TYPES = {np.dtype(np.float32): _FLOAT, np.dtype(np.int64): _INT64}


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _number(place: int, value: int) -> bytes:
    return _varint(place << 3) + _varint(value)


def _bytes(place: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(place << 3 | 2) + _varint(len(raw)) + raw


def _attribute(name: str, value: int | float | Sequence[int]) -> bytes:
    if isinstance(value, float):
        body = _varint(2 << 3 | 5) + np.float32(value).tobytes() + _number(20, 1)
    elif isinstance(value, int):
        body = _number(3, value) + _number(20, 2)
    else:
        body = b"".join(_number(8, one) for one in value) + _number(20, 7)
    return _bytes(5, _bytes(1, name) + body)


def _port(name: str, kind: int, sizes: Sequence[str | int]) -> bytes:
    dims = b"".join(_bytes(1, _number(1, s) if isinstance(s, int) else _bytes(2, s)) for s in sizes)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


@dataclass
class _Graph:
    nodes: list[bytes] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=list)

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        array = np.ascontiguousarray(value, dtype=dtype)
        name = f"c{len(self.constants)}"
        dims = b"".join(_number(1, size) for size in np.shape(value))
        body = dims + _number(2, _TYPES[array.dtype]) + _bytes(8, name) + _bytes(9, array.tobytes())
        self.constants.append(_bytes(5, body))
        return name

    def node(self, kind: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        name = to or f"n{len(self.nodes)}"
        body = b"".join(_bytes(1, one) for one in inputs) + _bytes(2, name) + _bytes(4, kind)
        body += b"".join(_attribute(key.rstrip("_"), value) for key, value in attributes.items())
        self.nodes.append(_bytes(1, body))
        return name


def write_onnx(
    folder: Path,
    file: str = "onnx/model.onnx",
    *,
    states: str = "last_hidden_state",
    ids: str = "input_ids",
    sizes: Sequence[str | int] = ("batch", "tokens"),
    kind: int = _INT64,
    only_pooled: bool = False,
) -> Path:
    """Write the network of ``folder/model.safetensors``, a BERT of :mod:`folder_models`, as ONNX.

    Args:
        folder: a model's folder.
        file: in it.
        states: name of the output with the token states; a second output is the first token's.
        ids: name of the input with the token numbers.
        sizes: of the inputs.
        kind: number of the inputs' type; int64 unless it is said.
        only_pooled: leave the token states out.
    """
    tensors = read_weights(folder / "model.safetensors")
    graph = _Graph()
    node, constant = graph.node, graph.constant

    def tensor(name: str) -> str:
        return constant(tensors[name])

    def linear(x: str, name: str) -> str:
        return node("Add", node("MatMul", x, constant(tensors[name + ".weight"].T)), tensor(name + ".bias"))

    def norm(x: str, name: str) -> str:
        weights = tensor(name + ".weight"), tensor(name + ".bias")
        return node("LayerNormalization", x, *weights, axis=-1, epsilon=1e-12)

    def heads(x: str) -> str:
        split = node("Reshape", x, constant([0, 0, HEADS, WIDTH // HEADS], np.int64))
        return node("Transpose", split, perm=(0, 2, 1, 3))

    length = node("Gather", node("Shape", ids), constant(1, np.int64))
    places = node("Range", constant(0, np.int64), length, constant(1, np.int64))
    x = node("Gather", tensor("embeddings.word_embeddings.weight"), ids)
    x = node("Add", x, node("Gather", tensor("embeddings.token_type_embeddings.weight"), "token_type_ids"))
    x = node("Add", x, node("Gather", tensor("embeddings.position_embeddings.weight"), places))
    x = norm(x, "embeddings.LayerNorm")
    mask = node("Unsqueeze", node("Cast", "attention_mask", to_=1), constant([1, 2], np.int64))
    lowered = node("Mul", node("Sub", mask, constant(1.0)), constant(10_000.0))
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        query, key, value = (
            heads(linear(x, f"{prefix}attention.self.{name}")) for name in ("query", "key", "value")
        )
        scores = node("MatMul", query, node("Transpose", key, perm=(0, 1, 3, 2)))
        scores = node("Mul", scores, constant(1 / math.sqrt(WIDTH // HEADS)))
        shares = node("Softmax", node("Add", scores, lowered), axis=-1)
        mixed = node("Transpose", node("MatMul", shares, value), perm=(0, 2, 1, 3))
        mixed = node("Reshape", mixed, constant([0, 0, WIDTH], np.int64))
        x = norm(
            node("Add", x, linear(mixed, prefix + "attention.output.dense")),
            prefix + "attention.output.LayerNorm",
        )
        inner = linear(x, prefix + "intermediate.dense")
        share = node("Add", node("Erf", node("Mul", inner, constant(math.sqrt(0.5)))), constant(1.0))
        inner = node("Mul", node("Mul", inner, share), constant(0.5))
        x = norm(node("Add", x, linear(inner, prefix + "output.dense")), prefix + "output.LayerNorm")
    node("Gather", x, constant(0, np.int64), to="pooled", axis=1)
    outputs = [_port("pooled", _FLOAT, (sizes[0], WIDTH))]
    if not only_pooled:
        node("Identity", x, to=states)
        outputs.append(_port(states, _FLOAT, (*sizes, WIDTH)))
    inputs = [_port(name, kind, sizes) for name in ("token_type_ids", "attention_mask", ids)]
    body = b"".join([*graph.nodes, _bytes(2, "tiny"), *graph.constants])
    body += b"".join(_bytes(11, one) for one in inputs) + b"".join(_bytes(12, one) for one in outputs)
    place = folder / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(_number(1, 8) + _bytes(7, body) + _bytes(8, _bytes(1, "") + _number(2, 17)))
    return place
