"""The words and patterns of lenses, kept as data files beside them."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def load_data(name: str) -> dict[str, Any]:
    """What ``data/NAME.toml`` holds."""
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))
