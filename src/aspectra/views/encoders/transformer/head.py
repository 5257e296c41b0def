"""Token states to the vector of a text: pooling, and the layers that follow it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from aspectra.views.encoders.pooling import mean_of_tokens
from aspectra.views.encoders.protocol import Vectors
from aspectra.views.encoders.query_encoder import content_hash

_ERF = np.vectorize(math.erf, otypes=[np.float32])
_FUNCTIONS: dict[str, Callable[[Vectors], Any]] = {
    "Identity": lambda x: x,
    "Tanh": np.tanh,
    "ReLU": lambda x: np.maximum(x, 0),
    "GELU": lambda x: 0.5 * x * (1 + _ERF(x / math.sqrt(2))),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "SiLU": lambda x: x / (1 + np.exp(-x)),
}


@dataclass(frozen=True)
class Pooling:
    """How token states become one vector.

    Attributes:
        modes: of ``aspectra.views.encoders.pooling.POOLINGS``; the vectors of several are joined.
        include_prompt: whether the tokens of the prompt take part.
    """

    modes: tuple[str, ...] = ("mean",)
    include_prompt: bool = True

    def __call__(self, states: Vectors, prompt: int = 0) -> Vectors:
        """The vector of one text.

        Args:
            states: (tokens, dimensions), special tokens included; at least one token.
            prompt: how many tokens at the beginning are the prompt's.

        Returns:
            (dimensions of all modes,) float32; zeros where only the prompt was read, and it does not count.
        """
        first = 0 if self.include_prompt else prompt
        kept = states[first:]
        if not len(kept):
            return np.zeros(states.shape[1] * len(self.modes), dtype=np.float32)
        vectors = [_pooled(kept, mode, first) for mode in self.modes]
        return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)


def _pooled(states: Vectors, mode: str, first: int) -> Vectors:
    if mode == "mean":
        return mean_of_tokens(states)
    if mode == "mean_sqrt_len_tokens":
        return mean_of_tokens(states) * np.float32(math.sqrt(len(states)))
    if mode == "weightedmean":  # later tokens count more; weights are places in the whole text
        weights = np.arange(first + 1, first + len(states) + 1, dtype=np.float32)
        mean: Vectors = (weights / weights.sum()) @ states
        return mean
    if mode == "max":
        largest: Vectors = states.max(axis=0)
        return largest
    return np.array(states[0 if mode == "cls" else -1])


class Step(Protocol):
    """A layer after the pooling, or after each token's state."""

    def __call__(self, vectors: Vectors) -> Vectors:
        """(..., dimensions) to (..., dimensions of the result)."""
        ...

    def width(self, dimensions: int) -> int:
        """Dimensions of the result."""
        ...

    @property
    def key(self) -> Any:
        """What decides the result; part of the encoder's fingerprint."""
        ...


@dataclass(frozen=True)
class Unit:
    """Length 1; zeros stay zeros."""

    def __call__(self, vectors: Vectors) -> Vectors:
        unit: Vectors = vectors / np.maximum(
            np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-12)
        )
        return unit

    def width(self, dimensions: int) -> int:
        return dimensions

    @property
    def key(self) -> Any:
        return "unit"


@dataclass(frozen=True)
class Norm:
    """Layer norm.

    Attributes:
        file: of its weights.
        weight: (dimensions,) float32.
        bias: likewise.
    """

    file: Path
    weight: Vectors
    bias: Vectors

    def __call__(self, vectors: Vectors) -> Vectors:
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        scaled: Vectors = centred / np.sqrt(variance + np.float32(1e-5))
        return scaled * self.weight + self.bias

    def width(self, dimensions: int) -> int:
        return dimensions

    @property
    def key(self) -> Any:
        return ["norm", content_hash(self.file)]


@dataclass(frozen=True)
class Dense:
    """A linear layer with an activation.

    Attributes:
        file: of its weights.
        weight: (dimensions of the result, dimensions) float32.
        bias: (dimensions of the result,) float32, or None.
        activation: name of a class of torch.
        adds: whether the input is added to the result.
        residual: (dimensions of the result, dimensions): what the input is multiplied by before; or None.
    """

    file: Path
    weight: Vectors
    bias: Vectors | None = None
    activation: str = "Tanh"
    adds: bool = False
    residual: Vectors | None = None

    def __call__(self, vectors: Vectors) -> Vectors:
        product = vectors @ self.weight.T
        out: Vectors = _FUNCTIONS[self.activation](product if self.bias is None else product + self.bias)
        if not self.adds:
            return out
        return out + (vectors if self.residual is None else vectors @ self.residual.T)

    @property
    def known(self) -> bool:
        """Whether the activation is one that is implemented."""
        return self.activation in _FUNCTIONS

    def width(self, dimensions: int) -> int:
        return len(self.weight)

    @property
    def key(self) -> Any:
        return ["dense", content_hash(self.file), self.activation, self.adds]


@dataclass(frozen=True)
class Head:
    """Pooling and what follows it.

    Attributes:
        pooling: of the token states.
        steps: layers, in order.
    """

    pooling: Pooling = Pooling()
    steps: tuple[Step, ...] = ()

    def __call__(self, states: Vectors, prompt: int = 0) -> Vectors:
        """The vector of one text; see :class:`Pooling`.

        Each text is computed alone, so that its vector does not depend on the texts beside it.
        """
        vector = self.pooling(states, prompt)
        for step in self.steps:
            vector = step(vector)
        return vector

    def without_unit(self) -> Head:
        """The same head without the scaling to length 1 at its end."""
        steps = self.steps
        while steps and isinstance(steps[-1], Unit):
            steps = steps[:-1]
        return Head(self.pooling, steps)

    def width(self, dimensions: int) -> int:
        """Dimensions of the vector for states of these dimensions."""
        width = dimensions * len(self.pooling.modes)
        for step in self.steps:
            width = step.width(width)
        return width

    @property
    def late(self) -> bool:
        """Whether the mean of some token states lies in the space of the vectors of texts."""
        return self.pooling.modes == ("mean",) and all(isinstance(step, Unit) for step in self.steps)

    @property
    def key(self) -> Any:
        """What decides the vectors; part of the encoder's fingerprint."""
        steps = [step.key for step in self.steps]
        return [list(self.pooling.modes), self.pooling.include_prompt, steps]
