"""A BERT encoder as an OpenVINO graph, assembled from the safetensors file: no torch, no ONNX.

Architecture: Devlin et al. 2019, "BERT" (post-layer-norm transformer); MiniLM: Wang et al. 2020,
arXiv:2002.10957. The three embedding tables stay outside the graph, mapped from disk: a text touches a
few hundred of the 30,522 rows, so neither start-up nor memory pays for the rest.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.openvino_import import import_openvino
from aspectra.views.encoders.protocol import Vectors

__all__ = ["BertShape", "Weights", "bert_graph", "read_weights"]

_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "I64": np.dtype("<i8")}
# What a masked token's attention score is lowered by: exp underflows to 0, and bf16 and f16 can hold it.
_MASKED = 10_000.0


def read_weights(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file, mapped into memory (nothing is read until it is used).

    Args:
        path: a ``.safetensors`` file: 8 bytes of header length (little endian), JSON header, raw data.

    Returns:
        Name -> read-only array of the stored type.

    Raises:
        UsageError: the file is cut or is not a safetensors file, or holds a type that is not known.
        OSError: the file cannot be read.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        size = int.from_bytes(data[:8].tobytes(), "little")
        header = json.loads(data[8 : 8 + size].tobytes())
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            raw = data[8 + size + begin : 8 + size + end]
            tensors[name] = raw.view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"cannot read the weights in {path}",
            why=f"not a whole safetensors file of a known type ({error})",
            hint="install or download the model again",
        ) from error
    return tensors


@dataclass(frozen=True)
class BertShape:
    """What of ``config.json`` the graph depends on."""

    layers: int
    heads: int
    dimensions: int
    positions: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> BertShape:
        """Read and check a ``config.json``.

        Raises:
            UsageError: it is not a BERT encoder of the kind that the graph implements.
            OSError: the file cannot be read.
        """
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
            kind = (config["model_type"], config["hidden_act"], config.get("position_embedding_type"))
            shape = cls(
                layers=int(config["num_hidden_layers"]),
                heads=int(config["num_attention_heads"]),
                dimensions=int(config["hidden_size"]),
                positions=int(config["max_position_embeddings"]),
                epsilon=float(config["layer_norm_eps"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"cannot read {path}", why=f"not a model configuration ({error})") from error
        if kind[:2] != ("bert", "gelu") or kind[2] not in {None, "absolute"}:
            raise UsageError(
                f"{path} does not describe a BERT encoder with GELU and absolute positions",
                why=f"found {kind}",
                hint="load it as sentence-transformers:DIRECTORY (extra 'torch')",
            )
        return shape


@dataclass(frozen=True)
class Weights:
    """A model's tensors and shape.

    Attributes:
        tensors: name -> array, names as in the file without a leading ``bert.``.
        shape: layers, heads and sizes.
    """

    tensors: dict[str, NDArray[Any]]
    shape: BertShape

    @classmethod
    def read(cls, folder: Path) -> Weights:
        """Map the model in ``folder`` (``model.safetensors`` and ``config.json``)."""
        tensors = read_weights(folder / "model.safetensors")
        return cls(
            {name.removeprefix("bert."): tensor for name, tensor in tensors.items()},
            BertShape.read(folder / "config.json"),
        )

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return self.tensors[name]
        except KeyError:
            raise UsageError(f"the model's weights hold no tensor {name!r}") from None

    def embed(self, ids: NDArray[np.int64]) -> Vectors:
        """Sum of word, position and segment embeddings.

        Args:
            ids: (texts, tokens).

        Returns:
            (texts, tokens, dimensions) float32, before the layer norm (which is in the graph).
        """
        rows: Vectors = np.take(self["embeddings.word_embeddings.weight"], ids, axis=0).astype(
            np.float32, copy=False
        )
        rows += self.places[: ids.shape[1]]
        return rows

    @cached_property
    def places(self) -> Vectors:
        """(positions, dimensions): position embeddings plus the embedding of segment 0."""
        places: Vectors = self["embeddings.position_embeddings.weight"].astype(np.float32)
        places += self["embeddings.token_type_embeddings.weight"][0]
        return places


def bert_graph(weights: Weights) -> Any:
    """The encoder without its embedding tables.

    Inputs: ``embeddings`` (texts, tokens, dimensions) and ``mask`` (texts, tokens; 1 for a token, 0 for
    padding), both float32. Output: ``states`` (texts, tokens, dimensions), the last layer's states.

    Scores, softmax and products are separate operators: OpenVINO's fused scaled_dot_product_attention
    was within the noise of it, as was one joint projection to query, key and value.
    """
    ov = import_openvino()
    op = ov.opset13

    shape = weights.shape
    width = shape.dimensions // shape.heads

    def constant(value: Any) -> Any:
        return op.constant(np.ascontiguousarray(value, dtype=np.float32))

    def integers(*values: int) -> Any:
        return op.constant(np.array(values, dtype=np.int64))

    def norm(x: Any, name: str) -> Any:
        centred = op.mvn(x, integers(-1), True, shape.epsilon, "inside_sqrt")
        return op.add(
            op.multiply(centred, constant(weights[name + ".weight"])), constant(weights[name + ".bias"])
        )

    def linear(x: Any, name: str, scale: float = 1.0) -> Any:
        product = op.matmul(x, constant(weights[name + ".weight"] * np.float32(scale)), False, True)
        return op.add(product, constant(weights[name + ".bias"] * np.float32(scale)))

    def split_heads(x: Any) -> Any:
        split = op.reshape(x, integers(0, 0, shape.heads, width), True)
        return op.transpose(split, integers(0, 2, 1, 3))

    embeddings = op.parameter([-1, -1, shape.dimensions], np.float32, name="embeddings")
    mask = op.parameter([-1, -1], np.float32, name="mask")
    lowered = op.multiply(op.subtract(mask, constant(1.0)), constant(_MASKED))
    lowered = op.unsqueeze(lowered, integers(1, 2))
    x = norm(embeddings, "embeddings.LayerNorm")
    for layer in range(shape.layers):
        prefix = f"encoder.layer.{layer}."
        attention = prefix + "attention."
        # Scaling the query's projection by 1 / sqrt(width) saves scaling every score.
        query = split_heads(linear(x, attention + "self.query", 1 / math.sqrt(width)))
        key = split_heads(linear(x, attention + "self.key"))
        value = split_heads(linear(x, attention + "self.value"))
        scores = op.softmax(op.add(op.matmul(query, key, False, True), lowered), -1)
        mixed = op.transpose(op.matmul(scores, value, False, False), integers(0, 2, 1, 3))
        mixed = op.reshape(mixed, integers(0, 0, shape.dimensions), True)
        x = norm(op.add(x, linear(mixed, attention + "output.dense")), attention + "output.LayerNorm")
        inner = op.gelu(linear(x, prefix + "intermediate.dense"), "erf")
        x = norm(op.add(x, linear(inner, prefix + "output.dense")), prefix + "output.LayerNorm")
    return ov.Model([op.result(x, name="states")], [embeddings, mask], "bert")
