"""Weights in safetensors and ONNX files, mapped into memory without torch, and the shape that they have.

OpenVINO is imported without its tools for converting models, which report each import to a web service. The
package ``openvino`` imports them, which takes a third of its time, and they use the package
``openvino_telemetry`` where that is installed and the user has not declined. The package also works without
them, so they are made to appear absent. ``openvino.convert_model``, the only name that it takes from them, is
imported when it is first used.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import Vectors

_LOCK = threading.RLock()
_REPORTS = "openvino_telemetry"
_TOOLS = "openvino.tools.ovc"
_OF_TOOLS = "convert_model"


@contextmanager
def _absent(name: str) -> Iterator[None]:
    """Make a module appear absent while others are imported."""
    modules: dict[str, Any] = sys.modules  # None in it makes an import fail
    with _LOCK:
        before = modules.get(name)
        modules[name] = None
        try:
            yield
        finally:
            if before is None:
                del modules[name]
            else:
                modules[name] = before


def _of_tools(name: str) -> Any:
    """Attribute of the package ``openvino`` that comes from its tools, imported on first use."""
    if name != _OF_TOOLS:
        raise AttributeError(f"module 'openvino' has no attribute {name!r}")
    with _absent(_REPORTS):
        from openvino.tools.ovc import convert_model
    return convert_model


def import_openvino() -> Any:
    """The package ``openvino``.

    Raises:
        ImportError: it is not installed.
    """
    if "openvino" in sys.modules:
        import openvino

        return openvino
    with _absent(_TOOLS):
        import openvino
    if not hasattr(openvino, "__getattr__") and not hasattr(openvino, _OF_TOOLS):
        openvino.__getattr__ = _of_tools
    return openvino


# What is said where a model's folder cannot be run without torch.


class NeedsTorch(UsageError):
    """A model that is whole, and that this package does not run."""


def needs_torch(folder: Path, why: str) -> NeedsTorch:
    """The error for such a model, with the way that remains."""
    return NeedsTorch(
        f"the model in {folder} cannot be run without torch",
        why=why,
        hint=f'load it as sentence-transformers:{folder} (pip install "aspectra[torch]")',
    )


def read_config(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where the file does not exist.

    Raises:
        UsageError: the file does not hold a JSON object.
        OSError: the file cannot be read.
    """
    return dict(_read(path, dict)) if path.is_file() else {}


def read_list(path: Path) -> list[Any]:
    """The list in a JSON file; otherwise as :func:`read_config`."""
    return list(_read(path, list))


def _read(path: Path, kind: type[dict[str, Any]] | type[list[Any]]) -> Any:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}", why=str(error), hint="download the model again") from error
    if not isinstance(config, kind):
        why = f"it holds no {'object' if kind is dict else 'list'}"
        raise UsageError(f"cannot read {path}", why=why, hint="download the model again")
    return config


# numpy has no bfloat16: it is kept as a record of its 16 bits, which nothing takes for a number by accident.
_BF16: np.dtype[Any] = np.dtype([("bf16", "<u2")])
_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": _BF16,
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
}
_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
# What a model with a head puts before the names of its encoder's tensors.
_PREFIXES = ("bert.", "roberta.", "mpnet.", "distilbert.", "electra.", "model.")
_OLD_ENDINGS = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def read_weights(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file, mapped into memory (nothing is read until it is used).

    Args:
        path: a ``.safetensors`` file: 8 bytes of header length (little endian), JSON header, raw data.

    Returns:
        Name -> read-only array of the stored type; :func:`as_float32` makes numbers of bfloat16.

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
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise UsageError(
            f"cannot read the weights in {path}",
            why=f"not a whole safetensors file of a known type ({error})",
            hint="install or download the model again",
        ) from error
    return tensors


def as_float32(stored: NDArray[Any]) -> Vectors:
    """Stored numbers as float32.

    >>> as_float32(np.array([(0x3FC0,)], dtype=[("bf16", "<u2")])).tolist()
    [1.5]
    """
    if stored.dtype == _BF16:
        bits = np.ascontiguousarray(stored).view("<u2").astype(np.uint32)
        wide: Vectors = (bits << np.uint32(16)).view(np.float32)
        return wide
    return stored.astype(np.float32, copy=False)


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a model, one or several shards; empty if it has none.

    Raises:
        UsageError: the index of the shards cannot be read, or a shard is missing.
    """
    if (folder / _SINGLE).is_file():
        return [folder / _SINGLE]
    index = folder / _INDEX
    if not index.is_file():
        return []
    places = read_config(index).get("weight_map")
    names = sorted({str(name) for name in places.values()}) if isinstance(places, dict) else []
    if not names or any(Path(name).name != name for name in names):
        raise UsageError(f"cannot read {index}", why="it does not name files beside it")
    if lacking := [name for name in names if not (folder / name).is_file()]:
        raise UsageError(
            f"{folder} lacks a part of the model", why=lacking[0], hint="download the model again"
        )
    return [folder / name for name in names]


class Tensors:
    """A model's tensors by the names that its encoder has in the ``transformers`` library.

    Args:
        folder: of the model, for messages.
        files: safetensors files.
    """

    def __init__(self, folder: Path, files: list[Path]) -> None:
        self._folder = folder
        self._tensors = {
            _plain(name): tensor for path in files for name, tensor in read_weights(path).items()
        }

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The tensor as it is stored.

        Raises:
            UsageError: no tensor has this name.
        """
        try:
            return self._tensors[name]
        except KeyError:
            raise needs_torch(self._folder, f"its weights hold no tensor {name!r}") from None

    def float32(self, name: str) -> Vectors:
        """The tensor as float32."""
        return as_float32(self[name])


def _plain(name: str) -> str:
    """The name without a head's prefix, in today's spelling."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    for old, new in _OLD_ENDINGS.items():
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return name


FAMILIES = ("bert", "camembert", "distilbert", "electra", "modernbert", "mpnet", "roberta", "xlm-roberta")
# Names of ``transformers`` -> (operator, its approximation).
ACTIVATIONS = {
    "gelu": ("gelu", "erf"),
    "gelu_new": ("gelu", "tanh"),
    "gelu_pytorch_tanh": ("gelu", "tanh"),
    "relu": ("relu", ""),
    "silu": ("swish", ""),
}
# Positions are counted from behind the padding token's number, as fairseq does.
_AFTER_PADDING = {"camembert", "mpnet", "roberta", "xlm-roberta"}
_DISTIL = {
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "hidden_size": "dim",
    "hidden_act": "activation",
}
_WRONG = {
    "is_decoder": "it is a decoder",
    "add_cross_attention": "it has cross-attention",
    "quantization_config": "its weights are quantised",
}


class Shape(Struct, frozen=True):
    """Sizes and variants of an encoder.

    Attributes:
        family: ``model_type`` of its configuration, one of :data:`FAMILIES`.
        layers: number of layers.
        heads: attention heads of a layer.
        dimensions: length of a token's state.
        positions: tokens that a text can have.
        epsilon: of the layer norms.
        activation: of the feed-forward layers, one of :data:`ACTIVATIONS`.
        padding: number of the padding token, where positions are counted from behind it; else None.
        local: ModernBERT: per layer, whether attention is limited to the neighbours.
        window: ModernBERT: how many tokens away a neighbour may be.
        thetas: ModernBERT: base of the rotary positions of global and of local layers.
    """

    family: str
    layers: int
    heads: int
    dimensions: int
    positions: int
    epsilon: float
    activation: str = "gelu"
    padding: int | None = None
    local: tuple[bool, ...] = ()
    window: int = 0
    thetas: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def read(cls, folder: Path) -> Shape:
        """Read and check the ``config.json`` of a folder.

        Raises:
            UsageError: it is damaged, or no encoder that the graphs implement.
            OSError: the file cannot be read.
        """
        path = folder / "config.json"
        config = read_config(path)
        if not config:
            raise UsageError(f"{folder} holds no model", why="there is no config.json")
        family = config.get("model_type")
        if "auto_map" in config:
            raise needs_torch(folder, "its config.json names code of its own (auto_map)")
        if family not in FAMILIES:
            raise needs_torch(
                folder, f"its architecture is {family!r}; known without torch: {', '.join(FAMILIES)}"
            )
        for key, why in _WRONG.items():
            if config.get(key):
                raise needs_torch(folder, f"{why} ({key} in config.json)")
        try:
            return _modern(folder, config) if family == "modernbert" else _classic(folder, family, config)
        except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise UsageError(
                f"cannot read {path}",
                why=f"not a model configuration ({type(error).__name__}: {error})",
                hint="download the model again",
            ) from error


def positions_of(config: Mapping[str, Any]) -> tuple[int, int | None]:
    """Tokens that a text can have, and the padding token's number where positions are counted from behind it.

    Raises:
        KeyError: the configuration does not say it.
    """
    positions, family = int(config["max_position_embeddings"]), config.get("model_type")
    if family not in _AFTER_PADDING:
        return positions, None
    # The padding token of MPNet is fixed in its code; the others read it from the configuration.
    padding = 1 if family == "mpnet" else int(config.get("pad_token_id", 1))
    return positions - padding - 1, padding


def _classic(folder: Path, family: str, config: Mapping[str, Any]) -> Shape:
    """BERT and its relatives: absolute positions, layer norm after each part."""
    names = _DISTIL if family == "distilbert" else {}
    size = {key: config[names.get(key, key)] for key in ("num_hidden_layers", "num_attention_heads")}
    dimensions = int(config[names.get("hidden_size", "hidden_size")])
    if config.get("position_embedding_type") not in {None, "absolute"}:
        raise needs_torch(folder, f"its positions are {config['position_embedding_type']!r}, not absolute")
    if config.get("embedding_size", dimensions) != dimensions:
        raise needs_torch(folder, "its embeddings are of another size than its states")
    positions, padding = positions_of(config)
    return Shape(
        family=family,
        layers=int(size["num_hidden_layers"]),
        heads=_heads(int(size["num_attention_heads"]), dimensions),
        dimensions=dimensions,
        positions=positions,
        epsilon=1e-12 if family == "distilbert" else float(config.get("layer_norm_eps", 1e-12)),
        activation=_activation(folder, config.get(names.get("hidden_act", "hidden_act"), "gelu")),
        padding=padding,
    )


def _modern(folder: Path, config: Mapping[str, Any]) -> Shape:
    """ModernBERT, in the spelling of today's configurations and of those before."""
    layers = int(config["num_hidden_layers"])
    every = int(config.get("global_attn_every_n_layers", 3))
    kinds = config.get("layer_types") or [
        "sliding_attention" if layer % every else "full_attention" for layer in range(layers)
    ]
    if len(kinds) != layers or set(kinds) - {"sliding_attention", "full_attention"}:
        raise needs_torch(folder, f"its layers are of the kinds {sorted(set(map(str, kinds)))}")
    rotary = config.get("rope_parameters") or {}
    scaled = config.get("rope_scaling") or any(
        (rotary.get(kind) or {}).get("rope_type", "default") != "default" for kind in set(kinds)
    )
    if scaled:
        raise needs_torch(folder, "its rotary positions are scaled")
    full = config.get("global_rope_theta") or 160_000.0
    local = config.get("local_rope_theta") or 10_000.0
    dimensions = int(config["hidden_size"])
    return Shape(
        family="modernbert",
        layers=layers,
        heads=_heads(int(config["num_attention_heads"]), dimensions),
        dimensions=dimensions,
        positions=int(config["max_position_embeddings"]),
        epsilon=float(config.get("norm_eps", 1e-5)),
        activation=_activation(folder, config.get("hidden_activation", "gelu")),
        local=tuple(kind == "sliding_attention" for kind in kinds),
        window=int(config.get("local_attention", 128)) // 2,
        thetas=(
            float((rotary.get("full_attention") or {}).get("rope_theta", full)),
            float((rotary.get("sliding_attention") or {}).get("rope_theta", local)),
        ),
    )


def _heads(heads: int, dimensions: int) -> int:
    if dimensions % heads:
        raise ValueError(f"{dimensions} dimensions cannot be split among {heads} heads")
    return heads


def _activation(folder: Path, name: object) -> str:
    if name not in ACTIVATIONS:
        raise needs_torch(folder, f"its activation is {name!r}; known: {', '.join(ACTIVATIONS)}")
    return str(name)


_STATES = ("last_hidden_state", "token_embeddings", "hidden_states", "states")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


def onnx_files(path: Path) -> list[Path]:
    """The file of a network and those beside it that hold its larger tensors (``model.onnx_data``)."""
    return [path, *sorted(found for found in path.parent.glob(path.name + "?*") if found.is_file())]


class OnnxNetwork:
    """A network whose inputs and output are found by their names.

    Args:
        folder: of the model, for messages.
        path: of the ``.onnx`` file.
        words: how many token numbers there are.
        positions: tokens that a text can have.

    Raises:
        UsageError: the file cannot be read, or has other inputs or outputs than such a network.
    """

    def __init__(self, folder: Path, path: Path, *, words: int, positions: int) -> None:
        self._folder = folder
        self._path = path
        self.words = words
        self.positions = positions
        self._graph, self._kinds = self._open()

    @property
    def dimensions(self) -> int:
        """Length of a token's state.

        Raises:
            UsageError: the file cannot be run, or does not say it.
        """
        last = self._graph.outputs[0].get_partial_shape()[2]
        if not last.is_static:
            raise needs_torch(self._folder, f"{self._path.name} does not say how long its states are")
        return int(last.get_length())

    def graph(self) -> Any:
        """See :class:`aspectra.views.encoders.transformer.network.Network`."""
        return self._graph

    def inputs(self, ids: NDArray[np.int64], mask: Vectors) -> list[NDArray[Any]]:
        """See :class:`aspectra.views.encoders.transformer.network.Network`."""
        values = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros(ids.shape, dtype=np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        return [np.ascontiguousarray(values[name], dtype=kind) for name, kind in self._kinds]

    def _open(self) -> tuple[Any, list[tuple[str, np.dtype[Any]]]]:
        openvino = import_openvino()
        try:
            model = openvino.Core().read_model(self._path)
        except RuntimeError as error:
            why = f"OpenVINO cannot read {self._path.name} ({str(error).strip().splitlines()[-1]})"
            raise needs_torch(self._folder, why) from error
        kinds = []
        for port in model.inputs:
            known = [name for name in _INPUTS if name in port.names]
            if not known:
                raise needs_torch(
                    self._folder, f"{self._path.name} has an input {sorted(port.names)}, not a text encoder's"
                )
            kinds.append((known[0], np.dtype(port.get_element_type().to_dtype())))
        if not {"input_ids", "attention_mask"} <= {name for name, _ in kinds}:
            raise needs_torch(self._folder, f"{self._path.name} lacks input_ids or attention_mask")
        if any(not size.is_dynamic for port in model.inputs for size in port.get_partial_shape()):
            raise needs_torch(self._folder, f"{self._path.name} takes texts of one length only")
        outputs = [port for port in model.outputs if len(port.get_partial_shape()) == 3]
        outputs.sort(key=lambda port: not set(_STATES) & set(port.names))
        if not outputs:
            raise needs_torch(self._folder, f"{self._path.name} gives no states of tokens")
        result = outputs[0].get_node()
        return openvino.Model([result], model.get_parameters(), "onnx"), kinds
