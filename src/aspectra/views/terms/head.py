"""The token head: per token the chance that it names a problem, a method or an outcome.

A linear layer on an encoder's own token states, so it costs no forward pass of its own. It fits one encoder
only, named by its fingerprint. How it was trained: ``data/README.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from aspectra.base.hashing import digest
from aspectra.views.encoders.protocol import Encoder, TokenEncoder, Vectors
from aspectra.views.view import Floats

# The aspects that terms have, in the order of all arrays. A word may also belong to none.
ASPECTS = ("background", "method", "result")


@dataclass(frozen=True)
class TokenHead:
    """Weights over token states.

    Attributes:
        weights: (dimensions, classes) float32.
        bias: (classes,) float32.
        labels: name of each class; those of :data:`ASPECTS` are among them, each once or several times: an
            aspect may have one class for each kind of text that the head was trained on.
        encoder: fingerprint of the encoder whose states these are.
    """

    weights: Floats
    bias: Floats
    labels: tuple[str, ...]
    encoder: str

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> TokenHead:
        """From the arrays of its file: ``W``, ``b``, ``labels`` and ``encoder``."""
        return cls(
            np.asarray(arrays["W"], np.float32),
            np.asarray(arrays["b"], np.float32),
            tuple(str(label) for label in arrays["labels"]),
            str(arrays["encoder"]),
        )

    @cached_property
    def hash(self) -> str:
        """Changes with the chances: part of the version of every value that was made with it."""
        return digest([self.weights.tolist(), self.bias.tolist(), list(self.labels)])[:12]

    def chances(self, states: Vectors) -> Floats:
        """(tokens, aspects) chance that a token names each of :data:`ASPECTS`; the rest to 1 is none.

        Args:
            states: (tokens, dimensions) as the encoder gives them.
        """
        return np.asarray(self.shares(states) @ self._classes, dtype=np.float32)

    def shares(self, states: Vectors) -> Floats:
        """(states, classes) chance of each class, in the order of ``labels``."""
        logits = states @ self.weights
        logits += self.bias
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    @cached_property
    def _classes(self) -> Floats:
        """(classes, aspects) 1 where a class is one of an aspect."""
        return np.array([[label == aspect for aspect in ASPECTS] for label in self.labels], np.float32)


@lru_cache(maxsize=1)
def _shipped() -> tuple[TokenHead, ...]:
    """The heads that come with the package."""
    out = []
    for held in (files(__package__) / "data").iterdir():
        if held.name.endswith(".npz"):
            with as_file(held) as path, np.load(path, allow_pickle=False) as arrays:
                out.append(TokenHead.of(arrays))
    return tuple(out)


def head_of(encoder: Encoder) -> TokenHead | None:
    """The head that fits an encoder; None where the encoder gives no token states, or there is none."""
    if not isinstance(encoder, TokenEncoder):
        return None
    return next((head for head in _shipped() if head.encoder == encoder.fingerprint), None)
