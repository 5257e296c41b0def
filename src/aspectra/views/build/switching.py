"""Switching to a new generation, alone or while others write."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from time import perf_counter, sleep
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError, LibraryBusy
from aspectra.papers.library.generations.folders import Generations
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import Draft
from aspectra.views.build.generation import write_generation
from aspectra.views.build.segments import save_rows

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
    """For :func:`publish`: the library is held as by :func:`as_soon_as_free`."""

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
    """What a function gives that writes into the folder of a new generation; None where it is not wanted.

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
