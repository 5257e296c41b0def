"""Applying lenses: values are stored by what the lens reads, and collected into a generation."""

from __future__ import annotations

import gc
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.display import Progress
from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.derived import Overtaken, Producer, TakesValues, pack, pack_rows, unpack_rows
from aspectra.papers.library.rows import Parts
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.build.draft import Draft, by_all_cores
from aspectra.views.dense.lens_vectors import build_lens_vectors
from aspectra.views.lenses.protocol import LENSES, found_in_package
from aspectra.views.protocol import ViewFacts
from aspectra.views.storage.arrays import save_array
from aspectra.views.view import Floats

_AHEAD = 1000  # papers read at a time
# Papers whose values are stored together. Keys lie all over the index of values, so that each transaction
# writes most pages of it again.
_STORED = 4000
_Work = list[tuple[Paper, dict[str, str]]]  # paper, names of lenses -> key of the value
_Made = dict[str, list[tuple[str, bytes]]]  # name of the lens -> rows to store


def lens_state(names: Sequence[str]) -> str:
    """Names and versions: what stored values and generations depend on."""
    return " ".join(f"{name}/{LENSES.get(name).version}" for name in names)


def lens_values(name: str) -> Producer:
    """Values: (rows, labels) float32 of a lens, one row or one for each unit."""
    lens = LENSES.get(name)
    return Producer(f"lens:{name}", str(lens.version), lens.reads)


def apply_lenses(library: Store, writer: TakesValues, names: Sequence[str], progress: Progress) -> int:
    """Apply the lenses to the papers that they have no values of; returns how many values were made.

    Raises:
        Overtaken: by the writer, and only once what other processes were given is done.
    """
    missing: dict[int, dict[str, str]] = {}
    for name in names:
        for pos, key, _ in library.derived.missing(lens_values(name)):
            missing.setdefault(pos, {})[name] = key
    done = made = 0
    progress("applying lenses", 0, len(missing))
    overtaken: list[Overtaken] = []
    work = itertools.takewhile(lambda _: not overtaken, _work(library, missing))
    waiting: _Made = {}

    def store() -> None:
        try:
            writer.derived.put_all((lens_values(name), rows) for name, rows in waiting.items())
        except Overtaken as error:
            overtaken.append(error)
        waiting.clear()

    for papers, values in _applied(work, len(missing)):
        if overtaken:
            continue
        for name, some in values.items():
            waiting.setdefault(name, []).extend(some)
        if max(map(len, waiting.values()), default=0) >= _STORED:
            store()
        done += papers
        made += sum(map(len, values.values()))
        progress("applying lenses", done, len(missing))
    if waiting and not overtaken:
        store()
    if overtaken:
        raise overtaken[0]
    return made


def _work(library: Store, missing: dict[int, dict[str, str]]) -> Iterator[_Work]:
    """Papers read in batches, each with the lenses that have no value of it."""
    waiting = sorted(missing)
    for start in range(0, len(waiting), _AHEAD):
        positions = waiting[start : start + _AHEAD]
        names = {name for pos in positions for name in missing[pos]}
        parts = {part for name in names for part in LENSES.get(name).reads}
        read: Parts = "all" if "record" in parts else "sections" if "sections" in parts else "lead"
        yield [(paper, missing[pos]) for pos, paper in library.papers_at(positions, read).items()]


def _applied(work: Iterator[_Work], count: int) -> Iterator[tuple[int, _Made]]:
    """Batches in order: (papers, values made); many papers by all cores."""
    # Other processes know the lenses that come with the package, not those registered by a caller's module.
    theirs = {name for name in LENSES.names() if found_in_package(name)}
    sizes: deque[int] = deque()
    own: deque[_Made] = deque()

    def parts() -> Iterator[_Work]:
        for batch in work:
            sizes.append(len(batch))
            own.append(_apply([(p, {n: k for n, k in keys.items() if n not in theirs}) for p, keys in batch]))
            yield [(p, {n: k for n, k in keys.items() if n in theirs}) for p, keys in batch]

    for values in by_all_cores(_apply_apart, parts(), count):
        yield sizes.popleft(), values | own.popleft()


def _apply_apart(batch: _Work) -> _Made:
    """The same without collections of garbage, which would find none: what lenses make has no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        return _apply(batch)
    finally:
        if enabled:
            gc.enable()


def _apply(batch: _Work) -> _Made:
    out: _Made = {}
    for name in dict.fromkeys(name for _, keys in batch for name in keys):
        wanted = [(keys[name], paper) for paper, keys in batch if name in keys]
        lens = LENSES.get(name)
        found = lens.apply([paper for _, paper in wanted])
        packed = (
            pack_rows(found)
            if lens.kind == "paper"
            else [pack(one.astype(np.float32, copy=False)) for one in found]
        )
        out[name] = [*zip((key for key, _ in wanted), packed, strict=True)]
    return out


def _stored(library: Store, name: str) -> Iterator[Floats]:
    for (values,) in library.derived.required(lens_values(name)):
        yield values


def _collect_lens(library: Store, name: str, offsets: Sequence[int], folder: Path) -> dict[str, Any]:
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
    values: NDArray[np.floating] | None
    if by_unit:
        # Counts of words need all of float32; probabilities of sentences do not.
        values = np.zeros((count, len(lens.labels)), dtype=np.float16)
        for number, rows in enumerate(_stored(library, name)):
            low, high = offsets[number], offsets[number + 1]
            if rows.shape != (high - low, len(lens.labels)):
                values = None
                break
            values[low:high] = rows
    else:
        values = unpack_rows(library.derived.packed(lens_values(name)), len(lens.labels))
    if values is None or len(values) != count:
        raise LibraryCorrupt(
            f"the values of the lens {name} do not fit their paper", hint="aspectra index --rebuild"
        )
    save_array(folder / f"lens-{name}.npy", values)
    return {"version": lens.version, "kind": lens.kind, "labels": list(lens.labels)}


def collect_lenses(
    draft: Draft, names: Sequence[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Write the values of lenses into a generation; returns the manifest's parts of lenses and of views.

    Args:
        draft: the generation, whose papers and units are known.
        names: of the lenses.

    Raises:
        LibraryCorrupt: values are missing or do not fit the paper's units.
    """
    lenses: dict[str, dict[str, Any]] = {}
    views: dict[str, dict[str, Any]] = {}
    for name in names:
        lens = LENSES.get(name)
        if lens.kind == "vector":
            view = ViewFacts.lens_vectors_of(name).name
            standard = draft.mean(view, "standard")
            stored = partial(_stored, draft.library, name)
            views[view] = build_lens_vectors(name, stored, len(draft.ids), draft.folder, standard)
        else:
            lenses[name] = _collect_lens(draft.library, name, draft.offsets, draft.folder)
    return lenses, views
