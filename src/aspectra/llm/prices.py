"""The price file: what a person pays for a model's tokens. It is theirs to write; we ship none."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, of questions and of answers."""

    input: float
    output: float

    def of(self, asked: int, answered: int) -> float:
        """Money for one call.

        >>> Price(input=2.0, output=10.0).of(500_000, 100_000)
        2.0
        """
        return (self.input * asked + self.output * answered) / 1e6


@dataclass(frozen=True)
class Prices:
    """All prices of a file.

    Attributes:
        currency: as people write it, such as ``USD``.
        models: model name, as the endpoint calls it -> its price.
    """

    currency: str = ""
    models: Mapping[str, Price] = field(default_factory=dict)

    def of(self, model: str) -> Price | None:
        """The model's price, or None where nobody stated one."""
        return self.models.get(model)

    @classmethod
    def read(cls, path: Path) -> Prices:
        """Read a price file; one that does not exist holds no prices.

        Raises:
            UsageError: it is not TOML, or holds something else than prices.
        """
        try:
            loaded = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return cls()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the price file {path} cannot be read", why=str(error)) from error
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UsageError(f"the price file {path} is not valid TOML", why=str(error)) from error
        refuse_unknown(loaded, {"currency", "models"}, f"key in {path}")
        currency, models = loaded.get("currency", ""), loaded.get("models", {})
        if not isinstance(currency, str) or not isinstance(models, dict):
            raise UsageError(f"the price file {path} cannot be used", why="it needs [models.NAME] tables")
        return cls(currency, {name: _price(name, entry, path) for name, entry in models.items()})


def _price(name: str, entry: Any, path: Path) -> Price:
    if not isinstance(entry, dict):
        raise UsageError(f"the price of {name!r} in {path} is no table of input and output")
    refuse_unknown(entry, {"input", "output"}, f"key of {name!r} in {path}")
    for side in ("input", "output"):
        value = entry.get(side)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise UsageError(
                f"the {side} price of {name!r} in {path} is no number from 0 up",
                hint=f"write {side} = 0.5 for half a unit of money per million tokens",
            )
    return Price(float(entry["input"]), float(entry["output"]))


def default_prices() -> Path:
    """Where the user's price file is looked for."""
    import platformdirs

    return Path(platformdirs.user_config_dir("aspectra", appauthor=False)) / "prices.toml"
