"""A generation that shares all files of the one in use, and adds a segment with the papers that changed.

Nothing that was written is changed. The new generation's folder has hard links to the files of the one
before; the papers that are new or were edited, written as a generation of their own; and the few files that
are of all papers together (``whole/``): their order, which leaves out what was removed or replaced, the order
of ids, the sample, citations, and how many documents hold each word.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError, LibraryBusy
from aspectra.papers.library.generations.folders import Generations
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.row_sums import row_hash
from aspectra.papers.library.rows import part_sql
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import Draft
from aspectra.views.build.generation import stamp, write_generation
from aspectra.views.build.records import update_citations
from aspectra.views.index.opened import GRAPH_VIEW
from aspectra.views.lexical.collection import Segment, WordIndex, number_words
from aspectra.views.protocol import ViewFacts
from aspectra.views.storage.arrays import save_array
from aspectra.views.storage.folder import (
    WHOLE,
    StoredFolder,
    Units,
    id_order,
    places_of,
    sample_ids,
    stored_ids,
)
from aspectra.views.text.tokens import LexicalSettings
from aspectra.views.view import Positions

_ROWS = "papers"  # name of the array that tells a generation's papers


@dataclass(frozen=True)
class Segments:
    """Limits up to which changes are written as a segment; beyond them everything is written anew.

    Attributes:
        least: papers in the base; fewer are written anew as quickly.
        share: of the base's papers, that all segments beside it hold at most.
        most: papers that one segment holds at most.
        number: of segments beside the base, at most.
    """

    least: int = 2000
    share: float = 0.1
    most: int = 10_000
    number: int = 8


def paper_rows(
    library: Store, reads: Sequence[str] = (), among: Positions | None = None
) -> NDArray[np.int64]:
    """(papers, 3): place in the library, hash of id and content, and hash of what a generation reads of it.

    Args:
        library: whose papers they are, by place.
        reads: parts of papers, as in :class:`~aspectra.papers.library.derived.Producer`; without any, the
            last hashes are 0, which takes less time.
        among: places of the papers that are read; default: all.
    """
    columns = "".join(f", {part_sql(part)}" for part in reads)
    where = "1" if among is None else f"p.pos IN ({','.join(map(str, among.tolist()))})"
    statement = f"SELECT p.pos, p.content_hash, p.id{columns} FROM papers p WHERE {where} ORDER BY p.pos"
    found = [
        (pos, row_hash(content, rest[0]), row_hash(*rest) if reads else 0)
        for pos, content, *rest in library.rows(statement)
    ]
    return np.array(found, np.int64).reshape(-1, 3)


def save_rows(folder: Path, rows: NDArray[np.int64]) -> None:
    """Write the rows of :func:`paper_rows` into a generation being built."""
    save_array(folder / f"{_ROWS}.npy", rows)


@dataclass(frozen=True)
class IndexChanges:
    """Differences between a generation and the library.

    Attributes:
        before: :func:`paper_rows` of the generation.
        now: places of the library's papers, ascending.
        kept: (now,) the position in the generation of each paper that is as it was; -1 for the others.
    """

    before: NDArray[np.int64]
    now: Positions
    kept: Positions

    @classmethod
    def since(cls, files: StoredFolder, library: Store) -> IndexChanges:
        """Changes since a generation was built."""
        before, rows = files.whole(_ROWS, None), paper_rows(library)
        at = np.searchsorted(before[:, 0], rows[:, 0])
        same = at < len(before)
        same[same] = (before[at[same], :2] == rows[same, :2]).all(axis=1)
        return cls(before, rows[:, 0].copy(), np.where(same, at, -1))

    @cached_property
    def written(self) -> Positions:
        """Places of the papers that are new or were edited."""
        return self.now[self.kept < 0]

    @cached_property
    def gone(self) -> Positions:
        """Positions in the generation of papers that were edited or removed."""
        left = np.ones(len(self.before), np.bool_)
        left[self.kept[self.kept >= 0]] = False
        return np.flatnonzero(left)

    @cached_property
    def changed(self) -> Positions:
        """Places of the papers that are new, were edited or were removed."""
        return np.union1d(self.written, self.before[self.gone, 0])

    def fit(self, manifest: dict[str, Any], limits: Segments) -> bool:
        """True if the changes are few enough to be written as one more segment."""
        base = int(manifest["segments"][0]["papers"])
        few = limits.least <= base and len(self.now) > 0 and len(self.changed) <= limits.most
        return few and self._load(manifest, limits) <= 1

    def many(self, manifest: dict[str, Any], limits: Segments) -> bool:
        """True if the segments, with these changes added, come near their limits."""
        return self._load(manifest, limits) >= 0.5

    def _load(self, manifest: dict[str, Any], limits: Segments) -> float:
        """Share of the limits of :class:`Segments` that is used; above 1 they are exceeded."""
        base, *others = [int(one["papers"]) for one in manifest["segments"]]
        beside = sum(others) + len(self.written)
        dead = base + beside - len(self.now)
        number = len(others) + bool(len(self.written))
        return max(max(beside, dead) / max(limits.share * base, 1e-9), number / max(limits.number, 1e-9))


def is_one(manifest: dict[str, Any]) -> bool:
    """True if a generation is a single segment from which no paper was removed."""
    segments = manifest.get("segments", ())
    return len(segments) <= 1 and all(one["papers"] == manifest["papers"] for one in segments)


def add_segment(
    draft: Draft, files: StoredFolder, manifest: dict[str, Any], changes: IndexChanges, reads: Sequence[str]
) -> dict[str, Any]:
    """Write what changed beside the files of the generation in use; returns the manifest, {} if they differ.

    Args:
        draft: of the papers that are new or were edited; its folder holds the links to the other files.
        files: of the generation in use.
        manifest: of it.
        changes: since then.
        reads: parts of papers that a generation reads.
    """
    folder, library = draft.folder, draft.library
    segments = [*manifest["segments"]]
    views, lenses = manifest["views"], manifest["lenses"]
    added = ""
    if len(changes.written):
        added = f"segment-{len(segments)}/"
        draft.folder = folder / added
        draft.folder.mkdir()
        write_generation(draft)
        if {*draft.views} != {*views} - {GRAPH_VIEW} or {*draft.lenses} != {*lenses}:
            return {}  # the first paper with a full text, say
        segments.append({"folder": added, "papers": len(draft.ids)})
        views = {name: added_up(facts, draft.views.get(name, {})) for name, facts in views.items()}
    whole = folder / WHOLE
    whole.mkdir()
    _write_papers(draft, whole, files, changes, reads)
    words = {name: _write_frequency(whole, files, folder / added, name, facts, changes)
             for name, facts in views.items() if facts["kind"] in ("lexical", "terms")}  # fmt: skip
    views = {
        name: {**facts, "words": words[name]} if name in words else facts for name, facts in views.items()
    }
    places = changes.before[:, 0]
    views.pop(GRAPH_VIEW, None)
    if update_citations(whole, library, files, places, changes.now, changes.changed):
        views[GRAPH_VIEW] = {"kind": "graph"}
    kept = {name: value for name, value in manifest.items() if name != "files"}
    return {
        **kept,
        **stamp(library, len(changes.now)),
        "views": views,
        "segments": segments,
    }


def added_up(facts: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A view's part of the manifest, of all segments."""
    out = dict(facts)
    for name, value in more.items():
        before = facts.get(name)
        if isinstance(value, bool):
            out[name] = bool(before) and value if name == "unit_length" else bool(before) or value
        elif name in ("truncated", "count", "bytes", "without", "missing"):
            out[name] = int(before or 0) + value
        elif name == "stood_in" and isinstance(before, dict):
            out[name] = {kind: before.get(kind, 0) + number for kind, number in value.items()}
    return out


def _write_papers(
    draft: Draft, whole: Path, files: StoredFolder, changes: IndexChanges, reads: Sequence[str]
) -> None:
    """Write the order of the papers, the order of their ids, the sample and the rows of the library."""
    before = len(changes.before)
    source = changes.kept.copy()  # of each paper: its position before, or after those its place among the new
    source[source < 0] = before + np.arange(len(changes.written))
    stored = sum(len(part.array("years")) for part in files.segments)
    old = np.arange(before) if files.order is None else files.order
    order = np.concatenate([old, stored + np.arange(len(changes.written))])[source]
    if len(order) != stored + len(changes.written) or (np.diff(order) != 1).any():
        save_array(whole / "order.npy", order)
    held = [*stored_ids(files), *draft.ids]
    ids = [held[at] for at in source.tolist()]
    save_array(whole / "id_order.npy", id_order(ids))
    sample = [held[at] for at in files.whole("sample", None).tolist()]
    gone = {held[at] for at in changes.gone.tolist()} - set(draft.ids)
    # The smallest hashes of all are among those of each part, as long as the first part lost none of them.
    chosen = sample_ids(ids if gone.intersection(sample) else {*sample, *draft.ids})
    save_array(whole / "sample.npy", places_of(chosen, ids))
    rows = paper_rows(draft.library, reads, changes.written)
    save_rows(whole, np.concatenate([changes.before, rows])[source])


def _write_frequency(
    whole: Path, files: StoredFolder, added: Path, view: str, facts: dict[str, Any], changes: IndexChanges
) -> int:
    """Write the document frequency of each word of a view; returns the number of words."""
    index = WordIndex(files.folder(view), LexicalSettings())
    vocabulary, frequency = index.vocabulary, index.frequency.astype(np.int32)
    if len(changes.written):
        segment = Segment(StoredFolder(added / view))
        number_words(segment.vocabulary, vocabulary)  # the index is not read any more
        numbers = np.array([vocabulary[word] for word in segment.vocabulary], np.int64)
        frequency = np.concatenate([frequency, np.zeros(len(vocabulary) - len(frequency), np.int32)])
        frequency[numbers] += segment.held.astype(np.int32)
    for words in _words_gone(files, view, facts, changes):
        frequency -= np.bincount(
            np.array([vocabulary[word] for word in words if word in vocabulary], np.int64),
            minlength=len(frequency),
        ).astype(np.int32)
    (whole / view).mkdir()
    save_array(whole / view / "frequency.npy", frequency)
    return len(vocabulary)


def _words_gone(
    files: StoredFolder, view: str, facts: dict[str, Any], changes: IndexChanges
) -> list[list[str]]:
    """Words of the removed documents, by segment; a word is repeated for each document that held it."""
    gone = changes.gone
    if not len(gone):
        return []
    rows = gone if files.order is None else files.order[gone]
    # The terms of a paper are words of its title and abstract, of which rarity is that in the abstracts.
    words = ViewFacts.words_of("abstract").name if facts["kind"] == "terms" else view
    out, start = [], 0
    for part in files.segments:
        segment = Segment(part.folder(words))
        papers = len(part.array("years"))
        here = rows[(start <= rows) & (rows < start + papers)] - start
        start += papers
        if facts.get("units"):
            here = Units.load(part.folder(facts["units"])).rows(here)[0]
        out.append([segment.vocabulary[word] for word in segment.postings.words_in(here).tolist()])
    return out


T = TypeVar("T")
Alone = Callable[[], AbstractContextManager[bool]]
_PATIENCE, _PAUSE = 60.0, 0.05  # seconds of waiting for another writer, and between two tries
_FEW_VALUES = 500  # that are removed while others wait


@contextlib.contextmanager
def as_soon_as_free(
    library: Store, purpose: str, pointless: Callable[[], bool], patience: float = _PATIENCE
) -> Iterator[Writer | None]:
    """The single writer, once no other writes; None where it is pointless by then.

    Raises:
        LibraryBusy: another process wrote for ``patience`` seconds.
    """
    with contextlib.ExitStack() as stack:
        writer, until = None, perf_counter() + patience
        while writer is None and not pointless():
            try:
                writer = stack.enter_context(library.writing(purpose, brief=True))
            except LibraryBusy:
                if perf_counter() > until:
                    raise
                sleep(_PAUSE)
        yield None if pointless() else writer  # it may be so only since the lock could be had


def alone_with(
    library: Store, purpose: str, pointless: Callable[[], bool], patience: float = _PATIENCE
) -> Alone:
    """Lock for :func:`publish` that holds the library as :func:`as_soon_as_free` does."""

    @contextlib.contextmanager
    def alone() -> Iterator[bool]:
        with as_soon_as_free(library, purpose, pointless, patience) as writer:
            yield writer is not None

    return alone


def collect_orphans(library: Store) -> None:
    """Remove values that belong to no paper any more; others may write in between."""
    revision = library.revision
    orphans = library.derived.orphans()
    while orphans:
        with as_soon_as_free(library, "index", lambda: library.revision != revision) as writer:
            if writer is None:
                return  # a paper that came meanwhile may need them
            writer.derived.remove(orphans[-_FEW_VALUES:])
            del orphans[-_FEW_VALUES:]


def publish(
    draft: Draft,
    rows: NDArray[np.int64],
    identity: dict[str, str],
    alone: Alone | None = None,
) -> str:
    """Write a generation of one segment and switch to it; returns its name, "" where it is not wanted.

    Args:
        draft: of the generation.
        rows: see :func:`paper_rows`.
        identity: what tells it from others; ``waiting`` is what it lacks, if anything.
        alone: holds what is needed for the switch; whether the generation is still wanted.
    """
    generations = draft.library.generations

    def write(folder: Path) -> str:
        draft.folder = folder
        manifest = write_generation(draft)
        save_rows(folder, rows)
        segments = [{"folder": "", "papers": len(draft.ids)}]
        sums = generations.flush(folder, draft.linked)
        with alone() if alone else contextlib.nullcontext(True) as wanted:
            if not wanted:
                return ""
            more = {"abstracts": draft.abstracts} if "waiting" in identity else {}
            whole = {**manifest, **identity, **more, "segments": segments}
            made, retired = generations.switch(folder, whole, sums)
        generations.remove(retired)
        return made.name

    return written(generations, write, alone) or ""


def written(generations: Generations, write: Callable[[Path], T], alone: Alone | None = None) -> T | None:
    """Result of a function that writes into the folder of a new generation; None if that is not wanted.

    Args:
        generations: of the library.
        write: the function.
        alone: holds what is needed to make the folder; whether the generation is wanted.

    Raises:
        AspectraError: the disk is full, or refuses.
    """
    try:
        with contextlib.ExitStack() as stack:
            # What killed processes left is removed first, which is for the writer to do.
            with alone() if alone else contextlib.nullcontext(True) as wanted:
                folder = stack.enter_context(generations.build()) if wanted else None
            return None if folder is None else write(folder)
    except OSError as error:
        # numpy's error for a file that it could write in part has no number.
        full = error.errno in (None, errno.ENOSPC, errno.EDQUOT)
        raise AspectraError(
            "the disk is full while writing the index" if full else "the index cannot be written",
            why=f"{error.strerror or error}; the index in use is unchanged",
            hint="free some space, then run: aspectra index" if full else "aspectra index",
        ) from error
