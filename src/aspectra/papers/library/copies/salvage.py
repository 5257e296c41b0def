"""Making a damaged ``library.db`` again from the papers in it.

Everything in the database follows from the papers, but the values derived from them and a few settings. So a
database with a damaged table or index is made again from its papers, where each of them is sound.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.copies.backup import exchange
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

REPAIRING = ".repairing"  # the folder of the new database, left by a repair that was killed
_BLOCK = 500  # papers read at once; one by one where a block is damaged
_SETTINGS = "SELECT key FROM meta WHERE key NOT IN ('format', 'revision')"


def salvage(library: Store) -> tuple[Path | None, int, list[str]]:
    """Make the database again from its papers; the old one is kept in the folder.

    Derived values that are damaged are left out, and the next ``index`` makes them again. So is what is known
    of the files that were added: they are read again when they are added again. Marks that are damaged (tags,
    notes, decisions) are left out too, as nothing tells what they were.

    Returns:
        Where the old database is kept, how many derived values were left out, and which marks were, in words.

    Raises:
        LibraryCorrupt: papers are damaged; then nothing is changed.
        LibraryBusy: another process is writing.
    """
    with WriterLock(library.folder, "repair"):
        folder = library.folder / REPAIRING
        shutil.rmtree(folder, ignore_errors=True)
        try:
            left_out, marks = _copy(library, folder)
            return exchange(folder / "library.db", library.folder), left_out, marks
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _copy(library: Store, folder: Path) -> tuple[int, list[str]]:
    lost: list[str] = []
    with Store.create(folder) as new, new.writing("repair") as writer:
        writer.copy(_papers(library, lost))
        if lost:
            named = ", ".join(lost[:5]) + (" and others" if len(lost) > 5 else "")
            raise LibraryCorrupt(
                f"{len(lost)} papers in {library.database} are damaged",
                why=f"they cannot be made again from anything else: {named}",
                hint="aspectra restore FILE brings back a backup; without one, make a new library with "
                "`aspectra init` and add the files again",
            )
        for (key,) in library.fetch(_SETTINGS):
            with contextlib.suppress(LibraryCorrupt):
                writer.set_meta(key, library.meta(key))
        marks = writer.marks.copy_sound(library.fetch, library.format)
        left_out = writer.derived.copy_sound(library.derived)
        writer.link()
        writer.checkpoint()
    return left_out, marks


def _papers(library: Store, lost: list[str]) -> Iterator[Paper]:
    """Every sound paper, in the library's order; the others are named in ``lost``."""
    (last,) = library.fetch("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'papers'")[0]
    counted = 0
    for start in range(1, last + 1, _BLOCK):
        block = range(start, min(start + _BLOCK, last + 1))
        try:
            found = library.papers_at(block, "all")
        except LibraryCorrupt:
            found = {}
            for pos in block:
                try:
                    found |= library.papers_at([pos], "all")
                except LibraryCorrupt:
                    lost.append(f"the one at position {pos}")
        counted += len(found)
        yield from found.values()
    (known,) = library.fetch("SELECT count(*) FROM sums WHERE relation = 'paper'")[0]
    if not lost and counted != known:
        lost.append(f"{known - counted} that are found no longer")
