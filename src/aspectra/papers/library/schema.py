"""The tables of ``library.db`` and the rules of opening it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aspectra.base.errors import AspectraError, LibraryBusy, LibraryCorrupt, LibraryNotFound, UsageError
from aspectra.base.files import disk, make_folder, refuse_journal
from aspectra.base.hashing import digest_texts
from aspectra.papers.library import row_sums
from aspectra.papers.library.folder.lock import WriterLock, hold, noted_error, noting, remembering

# The number of the newest migration, see `migrations`; an older version refuses a newer library.
FORMAT = 5
# Damaged text is no error of SQLite's, but of whoever decodes it: rows, and messages that quote the schema.
FAULTS = (sqlite3.Error, UnicodeError)
_FULL = "free some space, then run the same command again"
_RESTORE = (
    "aspectra doctor --verify names the damage; aspectra restore FILE brings back a backup, or make a new "
    "library with `aspectra init` and add the files again"
)
# What a sound database never answers to the statements of this package.
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_TOOBIG}
_DAMAGED |= {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT}
_OURS = ("library.db", ".library.db.new", "writer.lock")  # what an interrupted `init` leaves
_MOVE = "Aspectra writes no such file: ask where it comes from, or move it away"
_LEAST_SPACE = 1 << 16  # bytes; SQLite's shared memory takes half of it
_NO_ROOM = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}


def translate(error: sqlite3.Error | UnicodeError, path: Path) -> AspectraError:
    """The error a person should see instead of SQLite's.

    Raises:
        BaseException: what was raised inside a function that SQLite called, such as Ctrl-C.
    """
    text = str(error)
    if "user-defined" in text and (raised := noted_error()) is not None:
        raise raised
    if isinstance(error, UnicodeEncodeError):
        shown = error.object[:80].encode("ascii", "backslashreplace").decode()
        return UsageError(f"'{shown}' is not UTF-8", why="a library holds nothing else", hint="type it anew")
    if isinstance(error, sqlite3.ProgrammingError) and "closed database" in text:
        return UsageError(f"the library at {path.parent} is closed", hint="open it again: aspectra.open(...)")
    code = getattr(error, "sqlite_errorcode", None)  # None for what Python itself found
    main = None if code is None else code & 0xFF
    if main == sqlite3.SQLITE_FULL or (main in _NO_ROOM and disk_is_full(path.parent)):
        return AspectraError(
            f"the disk is full while using {path}",
            why="nothing of the interrupted step was kept; everything before it is safe",
            hint=_FULL,
        )
    if main in _DAMAGED or (code is None and "decode" in text):
        return LibraryCorrupt(f"{path} is damaged", why=text, hint=_RESTORE)
    if main in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return AspectraError(
            f"{path} cannot be written", why=text, hint="check who owns it, or copy the library"
        )
    if main == sqlite3.SQLITE_CANTOPEN:
        return AspectraError(f"{path} cannot be opened", why=text, hint="check the folder's permissions")
    if main in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LibraryBusy(
            f"{path} is in use by another program", why=text, hint="wait until it has finished"
        )
    return AspectraError(f"the database {path} failed", why=text, hint="aspectra doctor --verify")


def writable(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse to write where the disk is so full that the database had to be opened as it lies.

    Raises:
        AspectraError: always then.
    """
    if at_rest(connection) and disk_is_full(path.parent):
        raise AspectraError(f"the disk is full, so {path} cannot be written", hint=_FULL)


def disk_is_full(folder: Path) -> bool:
    """Whether so little space is left that SQLite cannot even make its files for reading."""
    try:
        return shutil.disk_usage(folder).free < _LEAST_SPACE
    except OSError:
        return False


def create(folder: Path) -> None:
    """Make an empty library; one that is there is left as it is, one that was never finished is finished.

    Raises:
        UsageError: the folder holds other things.
    """
    database = folder / "library.db"
    if database.exists() and not half_made(database):
        return
    if folder.is_file():
        raise UsageError(f"{folder} is a file", why="a library is a folder")
    if folder.is_dir() and any(not p.name.startswith(_OURS) for p in folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty and holds no library",
            why="a library needs a folder of its own",
            hint=f"aspectra init --library {folder / 'library'}",
        )
    try:
        make_folder(folder)
        with WriterLock(folder, "init"):
            if half_made(database):
                for ending in ("", "-wal", "-shm", "-journal"):
                    folder.joinpath(f"library.db{ending}").unlink(missing_ok=True)
            if not database.exists():  # another `init` may have been quicker
                _create(database)
        disk().sync_folder(folder.parent)
    except OSError as error:
        raise AspectraError(f"cannot make a library at {folder}", why=error.strerror or str(error)) from error
    except sqlite3.Error as error:
        raise translate(error, database) from error


def _create(path: Path) -> None:
    """Make a new database at ``path``, which must not exist.

    It is written under another name and renamed when it is whole and on disk: a process that is killed before
    leaves a file beside ``path`` that the next one removes.
    """
    part = path.with_name(f".{path.name}.new")
    for left in path.parent.glob(f"{part.name}*"):
        left.unlink()
    connection = sqlite3.connect(part, isolation_level=None)
    try:
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        row_sums.install(connection)
        connection.execute("BEGIN IMMEDIATE")
        create_tables(connection, "tables", "derived", "linking", "sums", "marks")
        connection.execute("INSERT INTO meta VALUES ('format', ?), ('revision', '0')", (str(FORMAT),))
        row_sums.write_all(connection)
        connection.execute("COMMIT")
    finally:
        connection.close()
    disk().sync(part)
    disk().replace(part, path)
    disk().sync_folder(path.parent)


def half_made(path: Path) -> bool:
    """Whether the database was never finished: an empty file, or one without any table."""
    try:
        if path.stat().st_size == 0:
            return True
        refuse_journal(path, LibraryCorrupt, _MOVE)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("SELECT count(*) = 0 FROM sqlite_schema").fetchone()[0])
    except (OSError, *FAULTS):
        return False


def create_tables(connection: sqlite3.Connection, *names: str) -> None:
    """Run ``sql/NAME.sql`` within the caller's transaction, which ``executescript`` would end."""
    for name in names:
        script = Path(__file__).with_name("sql").joinpath(f"{name}.sql").read_text("utf-8")
        for statement in script.split(";\n"):
            if statement.strip():
                connection.execute(statement)


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """A connection to an existing database.

    Raises:
        LibraryNotFound: there is none.
        LibraryCorrupt: it is damaged, or its format is newer than this version of Aspectra.
    """
    if not path.is_file():
        raise LibraryNotFound(
            f"there is no library at {path.parent}",
            hint=f"aspectra init --library {path.parent}",
        )
    refuse_journal(path, LibraryCorrupt, _MOVE)
    try:
        try:
            connection, row = _open(path, write=write)
        except sqlite3.OperationalError as error:
            if write or not _resting(path, error):
                raise
            connection, row = _open(path, write=False, at_rest=True)
    except FAULTS as error:
        if "no such table" in str(error) or half_made(path):
            raise LibraryCorrupt(
                f"{path} is not an Aspectra library",
                why=str(error),
                hint=f"aspectra init --library {path.parent} finishes one that was interrupted; "
                "else choose another folder, or move this file away",
            ) from error
        raise translate(error, path) from error
    found = int(row[0]) if row and str(row[0]).isdigit() else -1
    if found > FORMAT:
        raise LibraryCorrupt(
            f"the library at {path.parent} was written by a newer Aspectra",
            why=f"its format is {found}, this version reads up to {FORMAT}",
            hint="pip install --upgrade aspectra",
        )
    if found < 1:
        raise LibraryCorrupt(f"{path} states no format", hint="restore the library from a copy")
    return connection


def problems(path: Path, *, quick: bool = False) -> list[str]:
    """What is wrong with a database; empty when all is well.

    Args:
        path: of the database.
        quick: leave out what takes longest: derived values, which are checked whenever they are read, and
            comparing SQLite's indexes with their tables.
    """
    try:
        with noting(), contextlib.closing(connect(path, write=False)) as db:
            found = [row[0] for row in db.execute(f"PRAGMA {'quick' if quick else 'integrity'}_check(20)")]
            orphans = db.execute("SELECT * FROM pragma_foreign_key_check LIMIT 20")
            found += [f"row {row} of {table} has no {parent}" for table, row, parent, _ in orphans]
            (number,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
            if int(number) >= row_sums.SUMMED:
                found += row_sums.problems(db, int(number), ("derived",) if quick else ())
    except FAULTS as error:
        translate(error, path)
        found = [str(error)]
    return [one for one in found if one != "ok"]


class Reader:
    """A connection that one thread uses at a time.

    SQLite calls our checksums while it holds the connection, and they wait for the interpreter; another
    thread that held the interpreter and waited for the connection would stop both for ever.
    """

    def __init__(self, database: Path) -> None:
        self.connection = connect(database, write=False)
        self._one = threading.Lock()

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a reading statement."""
        with self._one, noting():
            return self.connection.execute(statement, values).fetchall()


class _AtRest(sqlite3.Connection):
    """A connection that reads the file as it lies, and keeps writers away meanwhile."""

    lock: int | None = None

    def close(self) -> None:
        super().close()
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


def _open(path: Path, *, write: bool, at_rest: bool = False) -> tuple[sqlite3.Connection, Any]:
    """A connection, and the row that states the format."""
    name, factory = str(path), sqlite3.Connection
    if at_rest:
        name, factory = f"{path.absolute().as_uri()}?mode=ro&immutable=1", _AtRest
    connection = sqlite3.connect(
        name, isolation_level=None, check_same_thread=False, timeout=30.0, uri=at_rest, factory=factory
    )
    try:
        if isinstance(connection, _AtRest) and os.access(path.parent, os.W_OK):
            connection.lock = hold(path.parent)
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE type IN ('view', 'trigger')").fetchone():
            raise LibraryCorrupt(
                f"{path} is not a library of Aspectra",
                why="it holds a view or a trigger: statements of somebody else's, which may never end",
                hint=_MOVE,
            )
        connection.create_function("digest", -1, remembering(_digest), deterministic=True)
        row_sums.install(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA mmap_size = 268435456")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        if write:
            connection.execute("PRAGMA synchronous = FULL")  # also while readers keep the log
        return connection, connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except BaseException:
        connection.close()
        raise


def _digest(*parts: object) -> str:
    """Hash of several parts of a paper, for SQL."""
    return digest_texts("" if part is None else str(part) for part in parts)


def _resting(path: Path, error: sqlite3.OperationalError) -> bool:
    """Whether a database that could not be opened can be read as it lies.

    SQLite makes files beside a database with a write-ahead log, also for reading. It cannot on a medium that
    is only read, nor on a full disk. Without such a log, and as long as nobody writes, the file is enough.
    """
    main = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if main not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR):
        return False
    if os.access(path.parent, os.W_OK):
        if not disk_is_full(path.parent):
            return False
        if not _without_log(path):
            _move_log(path)
    return _without_log(path) and os.access(path, os.R_OK)


def _without_log(path: Path) -> bool:
    try:
        return path.with_name(f"{path.name}-wal").stat().st_size == 0
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _move_log(path: Path) -> None:
    """Move what a killed writer left in the write-ahead log into the database, without any other file."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def at_rest(connection: sqlite3.Connection) -> bool:
    """Whether the connection reads the file as it lies, so that nobody can write."""
    return isinstance(connection, _AtRest)
