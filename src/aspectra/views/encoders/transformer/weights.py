"""Weights in safetensors files, mapped into memory: no torch, and nothing is read until it is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import Vectors

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
    """The object in a JSON file; empty where there is no such file.

    Raises:
        UsageError: the file is no JSON object.
        OSError: the file cannot be read.
    """
    config = _read(path, dict) if path.is_file() else {}
    return dict(config)


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
    """The safetensors files of a model, one or several shards; empty where there are none.

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
        self._tensors: dict[str, NDArray[Any]] = {}
        for path in files:
            for name, tensor in read_weights(path).items():
                self._tensors[_plain(name)] = tensor

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The tensor as it is stored.

        Raises:
            UsageError: there is none of this name.
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
