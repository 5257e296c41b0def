"""The protocol of a lens: something computed once per paper, kept in ``library.db``, read by every search.

To add a lens, write one module in ``views/lenses`` with an object registered by ``LENSES.register(name)``; a
third party names the module in an entry point of the group ``aspectra.lens``. What depends on the whole
corpus is stored raw and normalised by the code that reads it from a generation.
``tests/unit/views/test_lens_conformance.py`` tests every member.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper
from aspectra.views.view import Floats

LensKind = Literal["sentence", "paper", "vector"]


class TextSpan(NamedTuple):
    """A span of a paper's stored text: ``field_text(paper, field)[start:end]``."""

    field: str
    start: int
    end: int


class Lens(Protocol):
    """Values of every paper. A lens that is derived from this class declares only what is otherwise.

    Attributes:
        name: of the lens, as in ``language``.
        description: one line for ``aspectra lens list``, in lower case and without a stop.
        default: whether a new library applies it; others wait for ``aspectra lens add NAME``.
        version: another number means that cached values are computed anew.
        kind: ``paper``: one row of values per paper; ``sentence``: one row per unit of
            :func:`~aspectra.views.storage.folder.paper_spans` (the title, then each sentence); ``vector``:
            one row per paper that becomes a view of its own, see :mod:`aspectra.views.dense.reverse`.
        labels: names of the columns. A lens documents their scale; grades go from 0 to 1, and NaN says that
            nothing is known.
        reads: the parts of a paper that values depend on, as in
            :class:`~aspectra.papers.library.derived.Producer`: ``text`` (title, abstract or lead),
            ``sections``, a field such as ``language``, or ``record`` for everything. A change of anything
            else recomputes nothing.
    """

    name: str
    description: str
    labels: tuple[str, ...]
    default: bool = True
    version: int = 1
    kind: LensKind = "paper"
    reads: tuple[str, ...] = ("text",)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(rows, labels) float32 for each paper: one row, or one per unit."""
        ...

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The span that counts most for the label, or None where no single one does."""
        return None


class LensValues(Struct, frozen=True):
    """A lens's values in one generation.

    Attributes:
        labels: names of the columns.
        values: (papers or units, labels) float32.
    """

    labels: tuple[str, ...]
    values: Floats

    def column(self, label: str) -> Floats:
        """(rows,) values of one label.

        Raises:
            UsageError: the lens has no such label.
        """
        if label not in self.labels:
            raise UsageError(f"the lens has no label {label!r}", why="it has " + ", ".join(self.labels))
        return np.asarray(self.values[:, self.labels.index(label)])


LENSES: Registry[Lens] = Registry("lens", __package__)


def default_lenses() -> tuple[str, ...]:
    """Names of the lenses that a new library applies; none needs a language model."""
    return tuple(name for name in LENSES.names() if LENSES.get(name).default)


def optional_lenses() -> tuple[str, ...]:
    """Names of the other lenses, applied only where somebody adds them: ``aspectra lens add style``."""
    return tuple(name for name in LENSES.names() if not LENSES.get(name).default)


def found_in_package(name: str) -> bool:
    """True if the lens is defined in a module of the family's package, where other processes find it too."""
    return type(LENSES.get(name)).__module__.startswith(f"{LENSES.package}.")


# What a lens reads beside its cues: words that it counts, and the weights of its features.


def load_data(name: str) -> dict[str, Any]:
    """Contents of ``data/NAME.toml``."""
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

    def odds(self, label: str, features: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """(papers,) log-odds of a label: its bias plus the sum of weight times feature."""
        bias, *rest = self.weights[label].items()
        return sum((weight * features[name] for name, weight in rest), np.array(bias[1]))


def logistic(odds: float) -> float:
    """1 / (1 + exp(-odds)), without overflow."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))


def logistics(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """:func:`logistic` of each element; ``np.exp`` has other last digits on other processors."""
    values, places = np.unique(odds, return_inverse=True)
    return np.array([*map(logistic, values.tolist())], np.float64)[places].reshape(odds.shape)
