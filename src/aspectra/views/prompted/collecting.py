"""From values to views and attributes: what a generation holds of the prompted lenses.

A text lens becomes two views, ``lens-NAME@bm25`` and one for each encoder; a label lens and a number lens
become columns that conditions look at. Papers without a value, and texts that say that there is nothing
to see, are there with nothing in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aspectra.base.display import Progress
from aspectra.base.files import digest, digest_texts
from aspectra.papers.library.derived import TakesValues
from aspectra.papers.library.store import Store
from aspectra.views.encoders.protocol import Encoder, dense_facts
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.prompted.definition import (
    LensAnswer,
    PromptedLens,
    readings,
    state,
    usable,
    vectors_of,
)
from aspectra.views.protocol import ViewFacts, lens_base
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import save_array

NUMBER = "number"  # the column of a number lens
_FORMAT = "1"


def prompted_state(library: Store) -> list[str]:
    """State of the prompted lenses that a generation depends on; [] in a library without any."""
    lenses = usable(library).values()
    return [f"{_FORMAT}/{state(library, lens)}/{digest([lens.text, lens.expected])}" for lens in lenses]


def _vector_key(key: str, text: str) -> str:
    # By the text too: the same paper may come to read otherwise under the same prompt.
    return f"{key}:{digest_texts([text])[:16]}"


def encode_readings(
    library: Store, writer: TakesValues, encoder: Encoder, batch: int, progress: Progress
) -> int:
    """Encode texts of lenses that have no vector yet; returns how many."""
    made = 0
    for lens in usable(library).values():
        if lens.prompt.schema.kind != "text":
            continue
        producer = vectors_of(lens, encoder)
        held = {key for key, _ in library.derived.items(producer)}
        texts = {
            _vector_key(stored.key, reading.value): reading.value
            for stored, reading in readings(library, lens)
            if reading is not None and isinstance(reading.value, str) and reading.value
        }
        waiting = sorted(texts.keys() - held, key=lambda key: (len(texts[key]), key))  # like lengths together
        step = f"encoding texts of the lens {lens.name} with {encoder.name}"
        for start in range(0, len(waiting), batch):
            progress(step, start, len(waiting))
            block = waiting[start : start + batch]
            coded = encoder.encode([texts[key] for key in block])
            cut = [np.array(one, "u4") for one in coded.truncated]
            writer.derived.put(producer, zip(block, zip(coded.vectors, cut, strict=True), strict=True))
        made += len(waiting)
    return made


def collect_prompted(
    library: Store,
    settings: IndexSettings,
    encoders: Sequence[tuple[str, Encoder]],
    count: int,
    folder: Path,
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Write the values of prompted lenses into a generation; returns its manifest's lenses and views.

    A lens without any value is left out, but for one that is expected.

    Args:
        library: whose values are read.
        settings: of the generation.
        encoders: (specification, encoder) of the dense views.
        count: papers.
        folder: of the generation being built.
    """
    lenses: dict[str, dict[str, Any]] = {}
    views: dict[str, dict[str, Any]] = {}
    for name, lens in usable(library).items():
        found = [(stored.key, reading) for stored, reading in readings(library, lens)]
        read = [reading for _, reading in found]
        with_value = [reading for reading in read if reading is not None and reading.value is not None]
        if not with_value and not lens.expected:
            continue
        facts = {
            "lens": name,
            "stamp": lens.prompt.stamp,
            "model": lens.model,
            "values": lens.fingerprint,
            "without": count - len(with_value),
            "missing": read.count(None),
            "simulated": any(reading.simulated for reading in with_value),
        }
        if lens.prompt.schema.kind != "text":
            lenses[name] = {**facts, **_columns(lens, read, folder)}
            continue
        facts |= {"cues": list(lens.prompt.cues), "about": lens.prompt.about}
        texts = ["" if reading is None else str(reading.value or "") for reading in read]
        view = ViewFacts.words_of(lens_base(name)).name
        views[view] = {**facts, **build_lexical(texts, settings.lexical, folder / view)}
        for spec, encoder in encoders:
            view = ViewFacts(lens_base(name), encoder.name).name
            keys = [_vector_key(key, text) for (key, _), text in zip(found, texts, strict=True)]
            views[view] = {**facts, **_vectors(library, lens, keys, spec, encoder, folder / view)}
    return lenses, views


def _columns(lens: PromptedLens, read: Sequence[LensAnswer | None], folder: Path) -> dict[str, Any]:
    schema = lens.prompt.schema
    labels = schema.labels if schema.kind == "label" else (NUMBER,)
    values = np.full((len(read), len(labels)), np.nan, np.float32)
    for row, reading in zip(values, read, strict=True):
        if reading is None or reading.value is None:
            continue
        if schema.kind == "label":
            row[:] = 0.0
            row[labels.index(str(reading.value))] = 1.0
        else:
            row[0] = float(reading.value)
    save_array(folder / f"lens-{lens.name}.npy", values)
    return {"version": lens.prompt.stamp, "kind": "paper", "labels": list(labels), "prompted": schema.kind}


def _vectors(
    library: Store, lens: PromptedLens, keys: Sequence[str], spec: str, encoder: Encoder, path: Path
) -> dict[str, Any]:
    path.mkdir()
    matrix = np.zeros((len(keys), encoder.dimensions), np.float32)
    held = dict(library.derived.items(vectors_of(lens, encoder)))
    truncated = 0
    for number, key in enumerate(keys):
        if key in held:
            matrix[number], cut = held[key]
            truncated += int(cut)
    save_array(path / "vectors.npy", matrix)
    norms = np.linalg.norm(matrix, axis=1)
    even = bool(((np.abs(norms - 1) < 1e-2) | (norms == 0)).all())
    return {**dense_facts(path.name, spec, encoder, truncated), "unit_length": even}
