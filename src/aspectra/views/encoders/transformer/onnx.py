"""A network in an ONNX file, as sentence-transformers and optimum export it, read by OpenVINO."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.views.encoders.openvino_import import import_openvino
from aspectra.views.encoders.protocol import Vectors
from aspectra.views.encoders.transformer.weights import needs_torch

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
    """

    def __init__(self, folder: Path, path: Path, *, words: int, positions: int) -> None:
        self._folder = folder
        self._path = path
        self.words = words
        self.positions = positions
        self._lock = threading.Lock()
        self._read: tuple[Any, list[tuple[str, np.dtype[Any]]]] | None = None

    @property
    def dimensions(self) -> int:
        """Length of a token's state.

        Raises:
            UsageError: the file cannot be run, or does not say it.
        """
        last = self.graph().outputs[0].get_partial_shape()[2]
        if not last.is_static:
            raise needs_torch(self._folder, f"{self._path.name} does not say how long its states are")
        return int(last.get_length())

    def graph(self) -> Any:
        """See :class:`aspectra.views.encoders.transformer.network.Network`.

        Raises:
            UsageError: the file cannot be read, or has other inputs or outputs than such a network.
        """
        return self._opened()[0]

    def inputs(self, ids: NDArray[np.int64], mask: Vectors) -> list[NDArray[Any]]:
        """See :class:`aspectra.views.encoders.transformer.network.Network`."""
        values = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros(ids.shape, dtype=np.int64),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        return [np.ascontiguousarray(values[name], dtype=kind) for name, kind in self._opened()[1]]

    def _opened(self) -> tuple[Any, list[tuple[str, np.dtype[Any]]]]:
        with self._lock:
            if self._read is None:
                self._read = self._open()
            return self._read

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
