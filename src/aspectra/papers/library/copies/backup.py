"""A library as one file, and back; and a damaged one made again.

A backup is a copy of ``library.db`` that SQLite makes from one snapshot while others read and write. It holds
everything but the index, which is built from it again without encoding anything. That of a collection is a
tar file with the copies of all its databases.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from aspectra.base.errors import AspectraError, BadInput, LibraryCorrupt, UsageError
from aspectra.base.files import disk
from aspectra.papers.library import schema
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.papers.library.shards import MANIFEST, SPAN, Collection
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

_MARK = 0x41535042  # SQLite's application id of a backup
_OLD = "library.db.replaced-{}"


def back_up(library: Store, target: Path) -> Path:
    """Copy a library to one file, while it may be in use; returns the file.

    The copy is checked before it takes the place of an earlier backup, which is kept until then.

    Args:
        library: the library.
        target: the file; only an earlier backup is replaced.

    Raises:
        UsageError: there is something else at ``target``.
        LibraryCorrupt: the library is damaged; no backup is written then.
        AspectraError: the file cannot be written.
    """
    target = target.expanduser()
    if target.is_dir() or (target.exists() and _mark_of(target) != _MARK and not _is_archive(target)):
        raise UsageError(
            f"{target} is there and is no backup of a library",
            why="only an earlier backup is replaced",
            hint="choose another file",
        )
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if library.collection is None:
            with contextlib.closing(schema.connect(library.database, write=False)) as held:
                _copy_checked(held, "main", library.database, part)
        else:
            _write_archive(library, library.collection, part)
        disk().sync(part)
        disk().replace(part, target)
        disk().sync_folder(target.absolute().parent)
    except sqlite3.Error as error:
        raise schema.translate(error, target) from error
    except OSError as error:
        raise AspectraError(f"{target} cannot be written", why=error.strerror or str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
    return target


def _copy_checked(held: sqlite3.Connection, name: str, source: Path, part: Path) -> None:
    """Copy a database of a connection, and check the copy.

    Args:
        held: reads it.
        name: ``main``, or that under which it is attached.
        source: its file, for the message.
        part: the copy.

    Raises:
        LibraryCorrupt: it is damaged.
    """
    with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copied:
        held.backup(copied, name=name)
        copied.execute("PRAGMA journal_mode = DELETE")
        copied.execute(f"PRAGMA application_id = {_MARK}")
    found = schema.problems(part)
    if found:
        raise LibraryCorrupt(
            f"{source} is damaged, so no backup was made of it",
            why="; ".join(found[:3]),
            hint="aspectra restore FILE brings back an earlier backup",
        )


def _write_archive(library: Store, collection: Collection, part: Path) -> None:
    """Copy the databases of a collection into a tar file, as they are at one time."""
    shards = collection.databases(library.folder)
    names = {"main": library.database, **{f"shard{number}": path for number, path in shards.items()}}
    copy = part.with_name(f"{part.name}.db")
    try:
        with (
            contextlib.closing(schema.connect(library.database, write=False, shards=shards)) as held,
            tarfile.open(part, "w") as archive,
        ):
            held.execute("BEGIN")
            for name in names:  # the first statement that reads a database takes the snapshot of it
                held.execute(f"SELECT value FROM {name}.meta LIMIT 1").fetchall()
            archive.add(library.folder / MANIFEST, MANIFEST)
            for name, path in names.items():
                _copy_checked(held, name, path, copy)
                archive.add(copy, path.relative_to(library.folder).as_posix())
                copy.unlink()
    finally:
        copy.unlink(missing_ok=True)


def _is_archive(file: Path) -> bool:
    """True for the backup of a collection."""
    try:
        with tarfile.open(file, "r:") as archive:
            first = archive.next()
            return first is not None and first.name == MANIFEST
    except (tarfile.TarError, OSError):
        return False


def _restore_archive(file: Path, folder: Path, *, replace: bool) -> Path | None:
    """Restore a collection, database by database; see :func:`restore`.

    Killed in between, some of them are those of before: restoring it again completes it.
    """
    beside = next(one for one in folder.absolute().parents if one.is_dir())
    with (
        tempfile.TemporaryDirectory(dir=beside, prefix=".restoring") as unpacked,
        tarfile.open(file, "r:") as archive,
    ):
        parts = Path(unpacked)
        _unpack(archive, MANIFEST, parts / MANIFEST)
        collection = Collection.of(parts)
        assert collection is not None  # it was written above, or an error
        copies = {"": parts / "library.db"}
        copies |= {name: parts / f"{number}.db" for number, name in enumerate(collection.shards)}
        for name, copy in copies.items():
            _unpack(archive, f"{name}/library.db".lstrip("/"), copy)
            _check(copy)
        _refuse_papers(folder, replace=replace)
        for name in copies if Collection.of(folder) == collection else ():
            if not (folder / name / "library.db").exists():  # of a shard that was lost
                schema.create(folder / name)
        Store.create(folder, shards=len(collection.shards)).close()
        with contextlib.ExitStack() as locks:
            for name in copies:
                locks.enter_context(WriterLock(folder / name, "restore"))
            kept = [exchange(copy, folder / name) for name, copy in copies.items()]
    return kept[0]


def _unpack(archive: tarfile.TarFile, name: str, target: Path) -> None:
    """Write one file of an archive.

    Raises:
        BadInput: the archive lacks it, or is cut.
    """
    try:
        stream = archive.extractfile(name)
        if stream is None:
            raise KeyError(name)
        with stream, target.open("wb") as made:
            shutil.copyfileobj(stream, made)
    except (KeyError, tarfile.TarError) as error:
        raise BadInput(
            f"{archive.name!s} is damaged", why=f"it lacks {name}", hint="use another backup"
        ) from error


def _refuse_papers(folder: Path, *, replace: bool) -> None:
    if (folder / "library.db").exists() and not replace and _has_papers(folder):
        raise UsageError(
            f"there is a library with papers at {folder}",
            why="restoring would replace it",
            hint="add --replace, which keeps its database aside, or give another folder with --library",
        )


def restore(file: Path, folder: Path, *, replace: bool = False) -> Path | None:
    """Restore a library from a backup, without its index, which must be built again.

    Args:
        file: the backup, or another copy of a ``library.db``; it is checked first, and not changed.
        folder: of the library; made where it does not exist.
        replace: also where there is a library with papers, whose database is kept in the folder.

    Returns:
        Where the replaced database is kept; None where none was replaced.

    Raises:
        BadInput: ``file`` is not a backup, or is damaged; nothing is changed then.
        UsageError: the folder has a library with papers and ``replace`` is False; or it holds other things.
        LibraryBusy: another process is writing to the library.
    """
    file = file.expanduser()
    if not file.is_file():
        raise BadInput(f"there is no file {file}", hint="check the path")
    database = folder / "library.db"
    if _is_archive(file):
        try:
            return _restore_archive(file, folder, replace=replace)
        except OSError as error:
            raise AspectraError(f"{folder} cannot be written", why=error.strerror or str(error)) from error
    _check(file)
    _refuse_papers(folder, replace=replace)
    if Collection.of(folder) is not None:
        raise UsageError(
            f"{folder} is a collection, and {file} is a backup of one library",
            hint="restore it into a shard, or into another folder with --library",
        )
    if not database.exists():
        schema.create(folder)
    try:
        with WriterLock(folder, "restore"):
            return exchange(file, folder)
    except sqlite3.Error as error:
        raise schema.translate(error, database) from error
    except OSError as error:
        raise AspectraError(f"{folder} cannot be written", why=error.strerror or str(error)) from error


def exchange(file: Path, folder: Path) -> Path | None:
    """Put a copy of ``file`` in the place of a library's database, under the writer's lock.

    Killed at any point, the old database or the new one is in its place, whole.

    Returns:
        Where the old database is kept; None where it held no papers.
    """
    database, part = folder / "library.db", folder / ".library.db.new"
    for left in folder.glob(f"{part.name}*"):
        left.unlink()
    _copy(file, part)
    journal = folder / "library.db-journal"
    if journal.exists():  # a stranger's, see refuse_journal; it must not meet the new database
        journal.replace(folder / f"{_OLD.format(1)}.journal")
    with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as copied:
        copied.execute("PRAGMA application_id = 0")
        copied.execute("PRAGMA journal_mode = WAL")
    disk().sync(part)
    kept = None
    if _has_papers(folder):
        kept = next(name for n in count(1) if not (name := folder / _OLD.format(n)).exists())
    moved = _log_moved(database)
    for ending in ("-wal", "-shm"):
        log = database.with_name(database.name + ending)
        if moved:
            log.unlink(missing_ok=True)
        elif log.exists():  # the database cannot be opened: its log is kept with it
            log.rename(folder / f"{(kept or folder / _OLD.format(1)).name}{ending}")
    # The index belongs to the old papers: a search between here and the next `index` says so.
    (folder / "generations" / "CURRENT").unlink(missing_ok=True)
    if kept is not None:
        _keep(database, kept)
    disk().replace(part, database)
    disk().sync_folder(folder)
    return kept


def _keep(database: Path, kept: Path) -> None:
    """Give the old database a second name, or copy it where the system has no such names."""
    try:
        os.link(database, kept)
    except OSError:
        shutil.copy2(database, kept)
        disk().sync(kept)


def _log_moved(database: Path) -> bool:
    """Checkpoint the write-ahead log of the old database; False if the database cannot be opened.

    Raises:
        AspectraError: the log is in use.
    """
    try:
        with contextlib.closing(schema.connect(database, write=True)) as connection:
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except (AspectraError, sqlite3.Error):
        return False
    if busy:
        raise AspectraError(
            f"{database} is being read", why="its write-ahead log is in use", hint="try again when it is not"
        )
    return True


def _has_papers(folder: Path) -> bool:
    """Check for a library with papers; True also if it cannot be opened and may have some."""
    try:
        with Store(folder) as library:
            return len(library) > 0
    except AspectraError:
        return True


def _copy(source: Path, target: Path) -> None:
    """Copy a database from one snapshot."""
    with (
        contextlib.closing(schema.connect(source, write=False)) as held,
        contextlib.closing(sqlite3.connect(target)) as made,
    ):
        held.backup(made)


def _mark_of(file: Path) -> int:
    """The application id of a database; 0 for any other file."""
    with file.open("rb") as stream:
        head = stream.read(72)
    return int.from_bytes(head[68:72], "big") if head.startswith(b"SQLite format 3\0") else 0


def _check(file: Path) -> None:
    """Check that a file is a sound library.

    Raises:
        BadInput: it is not one, or it is damaged.
    """
    try:
        found = schema.problems(file)
    except LibraryCorrupt as error:
        why = f"{error.what}: {error.why}"
        raise BadInput(f"{file} is not used as a backup", why=why, hint=error.hint) from error
    if found:
        raise BadInput(f"{file} is damaged", why="; ".join(found[:3]), hint="use another backup")


# Making a damaged ``library.db`` again from the papers in it.
#
# Everything in the database follows from the papers, but the values derived from them and a few settings.
# So a database with a damaged table or index is made again from its papers, where each of them is sound.

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
            left_out, marks = _copy_rows(library, folder)
            return exchange(folder / "library.db", library.folder), left_out, marks
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _copy_rows(library: Store, folder: Path) -> tuple[int, list[str]]:
    lost: list[str] = []
    with Store.create(folder) as new, new.writing("repair") as writer:
        writer.copy(_papers(library, lost))
        writer.connection.execute("DELETE FROM sqlite_sequence WHERE name = 'papers'")
        writer.connection.execute("INSERT INTO sqlite_sequence VALUES ('papers', ?)", (_last(library),))
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


def _last(library: Store) -> int:
    """The last position that a paper had."""
    statement = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'papers'"
    return int(library.fetch(statement)[0][0])


def _papers(library: Store, lost: list[str]) -> Iterator[tuple[int, Paper]]:
    """Every sound paper with its position, in the library's order; the others are named in ``lost``."""
    last, counted = _last(library), 0
    for start in range(last // SPAN * SPAN + 1, last + 1, _BLOCK):  # those of a shard begin in its range
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
        yield from found.items()
    if not lost and counted != (known := len(library)):  # counted in another index than they are read by
        lost.append(f"{known - counted} that are found no longer")
