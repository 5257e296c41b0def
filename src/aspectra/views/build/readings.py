"""Readings of full texts, made once per text: spans and vectors stored in ``library.db``, then views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.progress import Progress
from aspectra.papers.library.derived import Producer, TakesValues
from aspectra.papers.library.store import Store
from aspectra.views.build.vectors import citation_version
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.readers.protocol import READERS, reading_text
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.units import Units
from aspectra.views.view import Floats

# Roles of an abstract's sentences that stand for an aspect where there is no full text to read.
_ROLES = {"question": ("background", "objective"), "method": ("method",), "experiment": ("result",)}


def reader_state(names: Sequence[str]) -> str:
    """Names and versions: what stored readings and generations depend on."""
    return " ".join(f"{name}/{READERS.get(name).version}" for name in names)


def reader_spans(name: str) -> Producer:
    """Values: (spans, 3) int32 of what a reader found: field code, start, end."""
    return Producer(f"reading-spans:{name}", str(READERS.get(name).version), ("sections",))


def reader_vectors(name: str, encoder: Encoder, citations: str) -> Producer:
    """Values: (dimensions,) float32 of what a reader found, (0,) for nothing; number of cut texts."""
    version = f"{READERS.get(name).version}{citation_version(citations)} {encoder.fingerprint}"
    return Producer(f"reading:{name}", version, ("sections",))


def make_readings(
    library: Store,
    writer: TakesValues,
    encoders: Sequence[Encoder],
    settings: IndexSettings,
    progress: Progress,
) -> int:
    """Read and encode the full texts that have no readings; returns how many papers."""
    missing: dict[int, tuple[str, list[str]]] = {}
    for name in settings.readers:
        made = [reader_spans(name), *(reader_vectors(name, e, settings.citations) for e in encoders)]
        for pos, key, _ in library.derived.missing(*made):
            missing.setdefault(pos, (key, []))[1].append(name)
    waiting = sorted(missing)
    label = "reading full texts"
    batch = max(1, settings.batch // 16)  # a full text holds some 16 abstracts and more
    for start in range(0, len(waiting), batch):
        progress(label, start, len(waiting))
        read: list[tuple[str, str, NDArray[np.int32], str]] = []  # name, key, spans, text
        for pos, paper in library.papers_at(waiting[start : start + batch], "sections").items():
            key, names = missing[pos]
            for name in names:
                reading = READERS.get(name).read(paper)
                spans = [(Units.field_code(field), a, b) for field, a, b in reading.spans]
                table = np.array(spans, np.int32).reshape(-1, 3)
                read.append((name, key, table, reading_text(paper, reading, settings.citations)))
        values = [(reader_spans(name), [(key, [spans])]) for name, key, spans, _ in read]
        for encoder in encoders:
            full = [row for row in read if row[3].strip()]
            coded = encoder.encode([text for *_, text in full])
            vectors = dict(
                zip([row[:2] for row in full], zip(coded.vectors, coded.truncated, strict=True), strict=True)
            )
            for name, key, _, _ in read:
                vector, cut = vectors.get((name, key), (np.zeros(0, np.float32), 0))
                producer = reader_vectors(name, encoder, settings.citations)
                values.append((producer, [(key, [vector, np.array(cut, "u4")])]))
        writer.derived.put_all(values)
    progress(label, len(waiting), len(waiting))
    return len(waiting)


def stored_spans(library: Store, name: str) -> Units:
    """The spans of a reader, of every paper in order of position; none where nothing was found."""
    nothing = np.zeros((0, 3), np.int32)
    parts = [
        nothing if found is None else found[0] for *_, found in library.derived.stream(reader_spans(name))
    ]
    offsets = np.concatenate(([0], np.cumsum([len(p) for p in parts]))).astype(np.int64)
    return Units(offsets, np.concatenate([nothing, *parts]))


def fill_missing(
    name: str,
    vectors: Floats,
    whole: NDArray[np.floating],
    chunks: tuple[NDArray[np.int64], NDArray[np.floating]] | None,
    sentences: tuple[NDArray[np.int64], NDArray[np.floating]],
    roles: tuple[tuple[str, ...], NDArray[np.floating]] | None,
) -> dict[str, Any]:
    """Give every paper without a reading another vector in its place; returns the counts.

    With full text, the whole paper replaces a missing aspect: the mean of its chunks. Without, the
    abstract's sentences that have the aspect's role, by the lens ``roles``; else the whole abstract. Never a
    zero vector, which would be as near to everything as to nothing.

    Args:
        name: of the reader.
        vectors: (papers, dimensions) zeros where a reader found nothing.
        whole: (papers, dimensions) vectors of abstracts.
        chunks: offsets by paper and vectors of chunks, or None where none are encoded.
        sentences: the same of the abstracts' sentences.
        roles: labels and (sentences, labels) probabilities, or None.
    """
    counts = {"whole_paper": 0, "abstract_sentences": 0, "abstract": 0}
    columns: list[int] = []
    if roles is not None:
        columns = [roles[0].index(role) for role in _ROLES.get(name, ())]
    for paper in np.flatnonzero(~vectors.any(axis=1)):
        total = None
        if chunks is not None:
            total = _mean(chunks[1][chunks[0][paper] : chunks[0][paper + 1]])
            kind = "whole_paper"
        if total is None and columns and roles is not None:
            low, high = sentences[0][paper], sentences[0][paper + 1]
            table = np.nan_to_num(np.asarray(roles[1][low:high], dtype=np.float32))
            told = np.isin(table.argmax(axis=1), columns) & (table.max(axis=1) > 0)
            total = _mean(sentences[1][low:high][told])
            kind = "abstract_sentences"
        if total is None:
            total, kind = np.asarray(whole[paper], dtype=np.float32), "abstract"
        vectors[paper] = total
        counts[kind] += 1
    return counts


def _mean(rows: NDArray[np.floating]) -> Floats | None:
    """The mean at length 1, or None where there is nothing to average."""
    total = rows.astype(np.float32).sum(axis=0) if len(rows) else np.zeros(1, np.float32)
    norm = float(np.linalg.norm(total))
    return total / np.float32(norm) if norm > 1e-6 else None
