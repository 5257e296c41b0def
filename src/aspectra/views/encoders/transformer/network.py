"""A model's folder as a network: arrays of token numbers in, a graph that turns them into token states."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import Vectors
from aspectra.views.encoders.transformer.graph import classic_graph
from aspectra.views.encoders.transformer.modernbert import modern_graph
from aspectra.views.encoders.transformer.refusal import needs_torch
from aspectra.views.encoders.transformer.shape import Shape
from aspectra.views.encoders.transformer.weights import Tensors, as_float32, weight_files


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
