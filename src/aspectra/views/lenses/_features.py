"""What a lens reads beside its cues: words that it counts, and the weights of its features."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def load_data(name: str) -> dict[str, Any]:
    """What ``data/NAME.toml`` holds."""
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))


class Features:
    """Words and weights from ``data/NAME_features.toml``.

    Attributes:
        words: name -> words whose share is a feature.
        patterns: name -> what is searched for.
        weights: label -> feature -> its weight, ``bias`` first.
    """

    def __init__(self, name: str) -> None:
        data = load_data(f"{name}_features")
        self.words = {key: frozenset(text.split()) for key, text in data["words"].items()}
        self.patterns = {key: re.compile(pattern) for key, pattern in data["patterns"].items()}
        self.weights: dict[str, dict[str, float]] = data["odds"]

    def odds(self, label: str, features: Mapping[str, float]) -> float:
        """The log-odds of a label: its bias plus the sum of weight times feature."""
        bias, *rest = self.weights[label].items()
        return sum((weight * features[name] for name, weight in rest), bias[1])


def logistic(odds: float) -> float:
    """1 / (1 + exp(-odds)), without overflow."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))
