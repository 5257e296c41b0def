"""Computing what lenses have not seen yet: values cached in ``library.db`` by content and version."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.rows import PAPER_COLUMNS, paper_from_row
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.arrays import load_array
from aspectra.views.build.vectors import Progress, read_sections
from aspectra.views.dense.lens_vectors import build_lens_vectors
from aspectra.views.kinds.protocol import ViewFacts
from aspectra.views.lenses.protocol import LENSES, LOCAL_LENSES, Lens, LensValues
from aspectra.views.view import Floats

__all__ = ["apply_lenses", "collect_lens", "collect_lenses", "lens_state", "load_lens"]

_AHEAD = 1000  # papers read at a time
_MANY = 5000  # papers from which on starting processes is worth its second
_Work = list[tuple[str, Paper, list[str]]]  # content hash, paper, names of lenses
_Row = tuple[str, str, str, bytes]  # of the table of vectors


def lens_state(names: Sequence[str]) -> str:
    """Names and versions: what cached values and generations depend on."""
    return " ".join(f"{name}/{LENSES.get(name).version}" for name in names)


def _kind(lens: Lens) -> str:
    return f"lens:{lens.name}"


def apply_lenses(library: Store, writer: Writer, names: Sequence[str], progress: Progress) -> int:
    """Apply the lenses to the papers they have not seen in this version; returns how many values were made.

    Values are kept by the hash of the paper's whole content, since a lens may read any field of it.
    """
    missing: dict[int, list[str]] = {}
    for name in names:
        lens = LENSES.get(name)
        statement = (
            "SELECT min(pos) FROM papers p WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE "
            "v.text_hash = p.content_hash AND v.kind = ? AND v.fingerprint = ?) GROUP BY content_hash"
        )
        for (pos,) in library.rows(statement, (_kind(lens), str(lens.version))):
            missing.setdefault(int(pos), []).append(name)
    done = made = 0
    progress("looking through lenses", 0, len(missing))
    for papers, rows in _looked(_work(library, missing), len(missing)):
        writer.put_vectors(rows)
        done += papers
        made += len(rows)
        progress("looking through lenses", done, len(missing))
    return made


def _work(library: Store, missing: dict[int, list[str]]) -> Iterator[_Work]:
    """Papers read in batches, each with its content hash and the lenses that have not seen it."""
    full = {name for names in missing.values() for name in names if LENSES.get(name).full_text}
    waiting = sorted(missing)
    for start in range(0, len(waiting), _AHEAD):
        positions = waiting[start : start + _AHEAD]
        held = _papers(library, positions, {p for p in positions if full & set(missing[p])})
        yield [(key, paper, missing[pos]) for pos, key, paper in held]


def _looked(work: Iterator[_Work], count: int) -> Iterator[tuple[int, list[_Row]]]:
    """Batches looked at, in order: (papers, rows to keep); many papers by all cores."""
    cores = joblib.cpu_count()
    if cores < 2 or count < _MANY:
        for batch in work:
            yield len(batch), _look(batch)
        return
    # Other processes know the lenses that come with the package, not those registered by a caller's module.
    split = joblib.Parallel(n_jobs=cores, return_as="generator", pre_dispatch=2 * cores)
    theirs = set(LOCAL_LENSES)
    sizes: deque[int] = deque()
    own: deque[list[_Row]] = deque()

    def parts() -> Iterator[Any]:
        for batch in work:
            sizes.append(len(batch))
            own.append(_look([(k, p, [n for n in names if n not in theirs]) for k, p, names in batch]))
            yield joblib.delayed(_look)([(k, p, [n for n in names if n in theirs]) for k, p, names in batch])

    for rows in split(parts()):
        yield sizes.popleft(), rows + own.popleft()


def _look(batch: _Work) -> list[_Row]:
    rows: list[_Row] = []
    for name in dict.fromkeys(name for _, _, names in batch for name in names):
        lens = LENSES.get(name)
        wanted = [(key, paper) for key, paper, names in batch if name in names]
        found = lens.apply([paper for _, paper in wanted])
        rows += [
            (key, _kind(lens), str(lens.version), _dumps(values))
            for (key, _), values in zip(wanted, found, strict=True)
        ]
    return rows


def _papers(library: Store, positions: Sequence[int], whole: set[int]) -> list[tuple[int, str, Paper]]:
    """(pos, content hash, paper); sections where they are asked for or stand for the abstract."""
    marks = ",".join("?" * len(positions))
    statement = f"SELECT content_hash, {PAPER_COLUMNS} FROM papers WHERE pos IN ({marks}) ORDER BY pos"
    rows = list(library.rows(statement, positions))
    deep = [row[1] for row in rows if row[1] in whole or not row[4].strip()]
    sections = read_sections(library, deep) if deep else {}
    return [(row[1], row[0], paper_from_row(row[1:], sections.get(row[1], ()))) for row in rows]


def _dumps(values: Floats) -> bytes:
    return struct.pack("<II", *values.shape) + values.astype("<f4").tobytes()


def _loads(data: bytes) -> Floats:
    rows, columns = struct.unpack_from("<II", data)
    return np.frombuffer(data, "<f4", rows * columns, 8).reshape(rows, columns)


def _stored(library: Store, lens: Lens) -> Iterator[Floats]:
    statement = (
        "SELECT p.id, v.data FROM papers p LEFT JOIN vectors v ON v.text_hash = p.content_hash "
        "AND v.kind = ? AND v.fingerprint = ? ORDER BY p.pos"
    )
    for paper_id, data in library.rows(statement, (_kind(lens), str(lens.version))):
        if data is None:
            raise LibraryCorrupt(
                f"what the lens {lens.name} saw of {paper_id!r} is missing", hint="run `aspectra index` again"
            )
        yield _loads(data)


def collect_lens(library: Store, name: str, offsets: Sequence[int], folder: Path) -> dict[str, Any]:
    """Write a lens's values of all papers into a generation; returns its part of the manifest.

    Args:
        library: whose values are read.
        name: of the lens.
        offsets: (papers + 1,) where each paper's units begin.
        folder: of the generation being built.

    Raises:
        LibraryCorrupt: values are missing or do not fit the paper's units.
    """
    lens = LENSES.get(name)
    by_unit = lens.kind == "sentence"
    count = offsets[-1] if by_unit else len(offsets) - 1
    # Counts of words need all of float32; probabilities of sentences do not.
    values = np.zeros((count, len(lens.labels)), dtype=np.float16 if by_unit else np.float32)
    for number, rows in enumerate(_stored(library, lens)):
        low, high = (offsets[number], offsets[number + 1]) if by_unit else (number, number + 1)
        if rows.shape != (high - low, len(lens.labels)):
            raise LibraryCorrupt(
                f"what the lens {name} saw does not fit its paper", hint="aspectra index --rebuild"
            )
        values[low:high] = rows
    np.save(folder / f"lens-{name}.npy", values, allow_pickle=False)
    return {"version": lens.version, "kind": lens.kind, "labels": list(lens.labels)}


def collect_lenses(
    library: Store, names: Sequence[str], offsets: Sequence[int], folder: Path
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Write what lenses saw into a generation; returns the manifest's parts of lenses and of views.

    Args:
        library: whose values are read.
        names: of the lenses.
        offsets: (papers + 1,) where each paper's units begin.
        folder: of the generation being built.

    Raises:
        LibraryCorrupt: values are missing or do not fit the paper's units.
    """
    lenses: dict[str, dict[str, Any]] = {}
    views: dict[str, dict[str, Any]] = {}
    for name in names:
        lens = LENSES.get(name)
        if lens.kind == "vector":
            views[ViewFacts.lens_vectors_of(name).name] = build_lens_vectors(
                name, partial(_stored, library, lens), len(offsets) - 1, folder
            )
        else:
            lenses[name] = collect_lens(library, name, offsets, folder)
    return lenses, views


def load_lens(folder: Path, name: str, facts: dict[str, Any]) -> LensValues:
    """A lens's values from a generation, memory-mapped."""
    return LensValues(tuple(facts["labels"]), load_array(folder / f"lens-{name}.npy"))
