"""From values to views and attributes: what a generation holds of the prompted lenses.

A text lens becomes two views, ``lens-NAME@bm25`` and one for each encoder; a label lens and a number lens
become columns that conditions look at. Papers without a value, and texts that say that there is nothing to
see, are there with nothing in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aspectra.base.hashing import digest, digest_texts
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.views.build.vectors import Packed
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.prompted.definition import PromptedLens, usable
from aspectra.views.prompted.store import Reading, readings, state, value_kind
from aspectra.views.settings import IndexSettings

__all__ = ["NUMBER", "collect_prompted", "encode_readings", "lens_view", "prompted_state", "reading_text"]

NUMBER = "number"  # the column of a number lens
Progress = Callable[[str, int, int], None]
_FORMAT = "1"


def lens_view(name: str, scorer: str) -> str:
    """Name of a lens's view.

    >>> lens_view("stance", "bm25")
    'lens-stance@bm25'
    """
    return f"lens-{name}@{scorer}"


def prompted_state(library: Store) -> list[str]:
    """What a generation depends on beside papers and settings; [] in a library without prompted lenses."""
    lenses = usable(library).values()
    return [f"{_FORMAT}/{state(library, lens)}/{digest([lens.text])}" for lens in lenses]


def _text_lenses(library: Store) -> list[PromptedLens]:
    return [lens for lens in usable(library).values() if lens.prompt.schema.kind == "text"]


def _vector_kind(lens: PromptedLens, text: str) -> str:
    # By the text too: the same paper may come to read otherwise under the same prompt.
    return f"{value_kind(lens.name)}:{digest_texts([text])[:16]}"


def _texts(library: Store, lens: PromptedLens) -> Iterator[tuple[str, str]]:
    """(content hash, text) of the papers that have one."""
    statement = (
        "SELECT p.content_hash, v.data FROM papers p JOIN vectors v ON v.text_hash = p.content_hash "
        "AND v.kind = ? AND v.fingerprint = ? GROUP BY p.content_hash ORDER BY min(p.pos)"
    )
    for key, data in library.rows(statement, (value_kind(lens.name), lens.fingerprint)):
        value = Reading.loads(data).value
        if isinstance(value, str) and value:
            yield key, value


def encode_readings(library: Store, writer: Writer, encoder: Encoder, batch: int, progress: Progress) -> int:
    """Encode texts of lenses that have no vector yet; returns how many."""
    made = 0
    for lens in _text_lenses(library):
        held = set(
            library.rows(
                "SELECT text_hash, kind FROM vectors WHERE fingerprint = ? AND substr(kind, 1, ?) = ?",
                (encoder.fingerprint, len(value_kind(lens.name)) + 1, f"{value_kind(lens.name)}:"),
            )
        )
        waiting = [
            (key, text) for key, text in _texts(library, lens) if (key, _vector_kind(lens, text)) not in held
        ]
        waiting.sort(key=lambda item: len(item[1]))  # neighbours in length share a batch
        step = f"encoding what the lens {lens.name} saw with {encoder.name}"
        for start in range(0, len(waiting), batch):
            progress(step, start, len(waiting))
            block = waiting[start : start + batch]
            coded = encoder.encode([text for _, text in block])
            nothing = np.zeros((0, 0), np.float16)
            writer.put_vectors(
                [
                    (
                        key,
                        _vector_kind(lens, text),
                        encoder.fingerprint,
                        Packed(vector, nothing, int(cut)).dumps(),
                    )
                    for (key, text), vector, cut in zip(block, coded.vectors, coded.truncated, strict=True)
                ]
            )
        made += len(waiting)
    return made


def collect_prompted(
    library: Store,
    settings: IndexSettings,
    encoders: Sequence[tuple[str, Encoder]],
    count: int,
    folder: Path,
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Write what prompted lenses saw into a generation; returns the manifest's parts of lenses and of views.

    A lens without any value is left out.

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
        read = [reading for _, reading in readings(library, lens)]
        with_value = [reading for reading in read if reading is not None and reading.value is not None]
        if not with_value:
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
        view = lens_view(name, "bm25")
        views[view] = {**facts, **build_lexical(texts, settings.lexical, folder / view)}
        for spec, encoder in encoders:
            view = lens_view(name, encoder.name)
            views[view] = {**facts, **_vectors(library, lens, texts, spec, encoder, folder / view)}
    return lenses, views


def _columns(lens: PromptedLens, read: Sequence[Reading | None], folder: Path) -> dict[str, Any]:
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
    np.save(folder / f"lens-{lens.name}.npy", values, allow_pickle=False)
    return {"version": lens.prompt.stamp, "kind": "paper", "labels": list(labels), "prompted": schema.kind}


def _vectors(
    library: Store, lens: PromptedLens, texts: Sequence[str], spec: str, encoder: Encoder, path: Path
) -> dict[str, Any]:
    path.mkdir()
    matrix = np.zeros((len(texts), encoder.dimensions), np.float32)
    statement = (
        "SELECT p.content_hash, v.kind, v.data FROM papers p JOIN vectors v ON v.text_hash = p.content_hash "
        "AND v.fingerprint = ? AND substr(v.kind, 1, ?) = ?"
    )
    start = f"{value_kind(lens.name)}:"
    held = {
        (key, kind): data
        for key, kind, data in library.rows(statement, (encoder.fingerprint, len(start), start))
        if data is not None
    }
    truncated = 0
    keys = [key for (key,) in library.rows("SELECT content_hash FROM papers ORDER BY pos")]
    for number, (key, text) in enumerate(zip(keys, texts, strict=True)):
        data = held.get((key, _vector_kind(lens, text))) if text else None
        if data is not None:
            packed = Packed.loads(data)
            matrix[number] = packed.whole
            truncated += packed.truncated
    np.save(path / "vectors.npy", matrix, allow_pickle=False)
    norms = np.linalg.norm(matrix, axis=1)
    return {
        "kind": "dense",
        "folder": path.name,
        "encoder": spec,
        "fingerprint": encoder.fingerprint,
        "dimensions": encoder.dimensions,
        "truncated": truncated,
        "unit_length": bool(((np.abs(norms - 1) < 1e-2) | (norms == 0)).all()),
    }


def reading_text(library: Store, name: str, values: str, paper_id: str) -> str:
    """What a text lens saw of a paper, or "".

    Args:
        library: that holds it.
        name: of the lens.
        values: fingerprint of the values that the generation was built from.
        paper_id: of the paper.
    """
    statement = (
        "SELECT v.data FROM papers p JOIN vectors v ON v.text_hash = p.content_hash "
        "AND v.kind = ? AND v.fingerprint = ? WHERE p.id = ?"
    )
    for (data,) in library.rows(statement, (value_kind(name), values, paper_id)):
        return str(Reading.loads(data).value or "")
    return ""
