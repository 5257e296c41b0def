"""Making again what can be: ``doctor --repair``, a library out of a backup, indexing beside other work."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from aspectra.app.library import Library, open_library
from aspectra.app.upkeep.checkup import Check
from aspectra.base.display import Progress, quiet
from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.base.files import disk
from aspectra.base.version import OURSELVES
from aspectra.papers.library.copies.backup import restore
from aspectra.papers.library.copies.salvage import REPAIRING, salvage
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.papers.library.generations.folders import Generations
from aspectra.papers.library.store import Store


def restore_library(
    file: Path | str, folder: Path | str, *, replace: bool = False, progress: Progress = quiet
) -> Library:
    """Make a library of a backup, and its index; nothing is encoded again.

    Args:
        file: what :meth:`Library.backup` wrote, or a copy of a ``library.db``.
        folder: of the library; made where it does not exist.
        replace: also where there is a library with papers. Its database is kept in the folder, as
            ``library.db.replaced-1``.
        progress: called with (step, done, total).

    Returns:
        The library, opened.

    Raises:
        BadInput: ``file`` is no backup, or is damaged.
        UsageError: there is a library with papers, and no ``replace``.
        LibraryBusy: another process is writing to the library.
        AspectraError: the index could not be built, as an encoder is not installed; the papers are there.
    """
    from aspectra.views.build.work import SETTINGS_KEY

    path = Path(folder).expanduser()
    restore(Path(file), path, replace=replace)
    library = open_library(path)
    if library.store.meta(SETTINGS_KEY):  # else it was never indexed
        try:
            library.index(rebuild=True, progress=progress)
        except BaseException:
            library.close()
            raise
    return library


_NICE = 10


def index_later(library: Path, *words: str) -> subprocess.Popen[bytes] | None:
    """Start ``aspectra index`` on a library and go on; returns the process, None where none can be started.

    It takes the processor when nobody else does, ends by itself, and writes nothing to the terminal.

    Args:
        library: its folder.
        words: options of the command, as ``--merge``.
    """
    command = [sys.executable, *OURSELVES, "--library", os.path.abspath(library), "index", *words]
    flags = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    try:
        return subprocess.Popen(  # noqa: S603 - this program itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=flags,
        )
    except OSError:
        return None


def yield_to_others() -> None:
    """Lower this process's priority, where the system has such a call."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)


_LEFT = (".library.db.new*", REPAIRING)  # beside unfinished generations


def repair(path: Path, *, progress: Progress = quiet) -> list[Check]:
    """Repair a library; returns what was done, and what could not be.

    Removed: what killed commands left, and derived values of papers that are gone. Made again: a damaged
    database whose papers are sound, from them; an index that is missing or damaged. Papers are never dropped.

    Args:
        path: of the library.
        progress: called with (step, done, total).

    Raises:
        LibraryNotFound: there is none.
        LibraryBusy: another process is writing.
    """
    done = _remove_leftovers(path)
    try:
        with Store(path) as library:
            problems = library.check()
            if problems:
                kept, left_out, marks = salvage(library)
                text = f"made again from its papers ({problems[0]}); the damaged one is {kept}"
                if left_out:
                    text += f"; {left_out} derived values were left out, the next index makes them again"
                done.append(Check("repair", "ok", text))
                if marks:
                    named = ", ".join(marks[:5]) + (" and others" if len(marks) > 5 else "")
                    hint = "aspectra restore FILE brings back a backup; else add them again"
                    done.append(Check("repair", "bad", f"damaged and left out: {named}", hint))
        with Store(path) as library:
            with library.writing("repair") as writer:
                if gone := writer.derived.collect():
                    done.append(Check("repair", "ok", f"removed {gone} derived values of no paper"))
                writer.checkpoint()
            done += _index(library, progress, changed=bool(problems))
    except LibraryCorrupt as error:
        done.append(
            Check("repair", "bad", f"{error.what}{': ' + error.why if error.why else ''}", error.hint)
        )
    return done or [Check("repair", "ok", "nothing to repair")]


def _remove_leftovers(path: Path) -> list[Check]:
    done = []
    with WriterLock(path, "repair"):
        for left in (*Generations(path).leftovers(), *(p for one in _LEFT for p in path.glob(one))):
            disk().remove(left)
            done.append(Check("repair", "ok", f"removed {left.relative_to(path)}, left by a killed command"))
        pointer = path / "generations" / "CURRENT"
        if pointer.is_dir() and not pointer.is_symlink():  # nothing of ours makes one
            pointer.rename(pointer.with_name("CURRENT.not-a-file"))
            done.append(
                Check("repair", "ok", "moved the folder generations/CURRENT away: a file belongs there")
            )
    return done


def _index(library: Store, progress: Progress, *, changed: bool) -> list[Check]:
    """Build the index again where it is damaged, or where it is missing although there was one."""
    from aspectra.views.build.run import build_index
    from aspectra.views.build.work import SETTINGS_KEY

    try:
        folder = library.generations.current()
        faults = [] if folder is None else library.generations.verify(folder)
    except (LibraryCorrupt, OSError, ValueError) as error:
        folder, faults = None, [str(error).splitlines()[0]]
    if folder is not None and not faults and not changed:
        return []
    if not library.meta(SETTINGS_KEY) or not len(library):
        return []  # it was never indexed
    try:
        report = build_index(library, progress=progress, rebuild=True)
    except LibraryCorrupt:
        raise
    except AspectraError as error:
        return [Check("repair", "bad", f"the index was not built: {error.what}", error.hint)]
    reason = f" ({faults[0]})" if faults else ""
    return [Check("repair", "ok", f"built the index again{reason}: generation {report.generation}")]
