"""Views made from vector lenses: raw values standardised over the library, compared by cosine.

Each column has its mean over the library taken away and is divided by its deviation there, so that a habit
counts as much as it is unusual (Burrows's Delta, 2002; its cosine form: Smith and Aldridge 2011). Values more
than three deviations away count as three: one odd word does not make a style. Columns of a group share its
weight, so that a longer group does not count more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.views.encoders.protocol import Encoding, Kind
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.protocol import ViewFacts
from aspectra.views.storage.arrays import new_array, save_array, save_json
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.view import Floats

_CLIP = 3.0


class VectorLens(Protocol):
    """A lens of the kind ``vector``; ``groups`` and ``of_text`` are its additions to a lens.

    Attributes:
        groups: sizes of the groups that its columns fall into, in order; they add up to its labels.
    """

    name: str
    version: int
    labels: tuple[str, ...]
    groups: tuple[int, ...]

    def of_text(self, text: str) -> Floats:
        """(labels,) values of one text, or NaN where nothing is known."""
        ...


def vector_lens(name: str) -> VectorLens:
    """A lens of the kind ``vector``.

    Raises:
        UsageError: the lens is unknown or of another kind.
    """
    lens = LENSES.get(name)
    if lens.kind != "vector":
        raise UsageError(f"the lens {name} has no vectors", why=f"its kind is {lens.kind}")
    return cast("VectorLens", lens)


class _Standard:
    """Mean and deviation of every column, and what becomes of a row."""

    def __init__(self, mean: Floats, deviation: Floats, groups: Sequence[int]) -> None:
        self.mean = mean
        self.deviation = deviation
        # A column that never varies says nothing, whatever a query has there.
        share = np.concatenate([np.full(size, 1 / np.sqrt(size)) for size in groups])
        self._scale = np.where(deviation > 0, share, 0.0)
        self._divide = np.where(deviation > 0, deviation, 1.0)

    def rows(self, raw: Floats) -> Floats:
        """(n, labels) raw values as vectors of length 1; of 0 where nothing is known."""
        values = np.clip((raw - self.mean) / self._divide, -_CLIP, _CLIP) * self._scale
        values = np.nan_to_num(values, nan=0.0)
        norms = np.linalg.norm(values, axis=1, keepdims=True)
        out: Floats = (values / np.where(norms > 0, norms, 1.0)).astype(np.float32)
        return out


def build_lens_vectors(
    name: str,
    stored: Callable[[], Iterable[Floats]],
    count: int,
    folder: Path,
    given: Floats | None = None,
) -> dict[str, Any]:
    """Write a vector lens's view into a generation; returns its part of the manifest.

    The values are read twice, so that memory does not grow with the library.

    Args:
        name: of the lens.
        stored: gives the (1, labels) values of each paper, in order; called twice.
        count: papers.
        folder: of the generation being built.
        given: (2, labels) mean and deviation that the values are standardised by; default: their own.
    """
    lens = vector_lens(name)
    width = len(lens.labels)
    total, square, known = np.zeros(width), np.zeros(width), 0
    for row in stored():
        if not np.isnan(row).any():
            value = row[0].astype(np.float64)
            total += value
            square += value * value
            known += 1
    mean = total / max(known, 1)
    deviation = np.sqrt(np.maximum(square / max(known, 1) - mean * mean, 0.0))
    deviation[deviation < 1e-7] = 0.0
    own = np.stack([mean, deviation]).astype(np.float32)
    mean, deviation = own if given is None else given
    standard = _Standard(mean, deviation, lens.groups)
    view = ViewFacts.lens_vectors_of(name).name
    path = folder / view
    path.mkdir()
    save_array(path / "standard.npy", np.stack([standard.mean, standard.deviation]))
    save_json(path / "lens.json", {"name": name, "version": lens.version})
    vectors = new_array(path / "vectors.npy", (count, width), np.float16)
    for number, row in enumerate(stored()):
        vectors[number] = standard.rows(row)[0]
    return {
        "kind": "vector",
        "folder": view,
        "lens": name,
        "version": lens.version,
        "dimensions": width,
        "without": count - known,
    }


class LensEncoder:
    """Encodes query texts as vectors of the lens's view: the lens's values, standardised by the library.

    Args:
        name: of the lens.
        folder: of the view.

    Raises:
        ViewMismatch: the view was built with another version of the lens.
    """

    max_tokens = 1 << 30
    late_pooling = False
    remote = ""

    def __init__(self, name: str, folder: StoredFolder) -> None:
        self._lens = vector_lens(name)
        self.name = f"the lens {name}"
        self.fingerprint = f"{name}/{self._lens.version}"
        self.dimensions = len(self._lens.labels)
        made = folder.json("lens.json")
        if made["version"] != self._lens.version:
            raise ViewMismatch(
                f"the view {folder.path.name} was built with version {made['version']} of the lens {name}",
                why=f"the installed lens is version {self._lens.version}; their values cannot be compared",
                hint="aspectra index",
            )
        mean, deviation = folder.segments[0].whole("standard")
        self._standard = _Standard(mean, deviation, self._lens.groups)

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> Encoding:
        """Vectors of texts, in order; kind and instruction change nothing.

        Raises:
            UsageError: spans are asked for: a style is of the whole.
        """
        if spans is not None:
            raise UsageError(f"{self.name} has no vectors of spans")
        raw = [self._lens.of_text(text) for text in texts]
        rows = self._standard.rows(np.array(raw, np.float32).reshape(len(texts), self.dimensions))
        return Encoding(rows, truncated=np.zeros(len(texts), dtype=np.bool_))
