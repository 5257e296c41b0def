"""The tables of ``library.db`` and the rules of opening it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from aspectra.base.errors import AspectraError, LibraryCorrupt, LibraryNotFound
from aspectra.base.hashing import digest_texts

__all__ = ["FORMAT", "connect", "create", "create_tables", "translate"]

# The number of the newest migration, see `migrations`; an older version refuses a newer library.
FORMAT = 3


def translate(error: sqlite3.Error, path: Path) -> AspectraError:
    """The error a person should see instead of SQLite's."""
    text = str(error)
    if "disk is full" in text:
        return AspectraError(
            f"the disk is full while writing {path}",
            why="nothing of the interrupted step was kept; everything before it is safe",
            hint="free some space, then run the same command again",
        )
    if "malformed" in text or "not a database" in text:
        return LibraryCorrupt(
            f"{path} is damaged",
            why=text,
            hint="restore it from a copy, or make a new library with `aspectra init` and add the files again",
        )
    if "readonly" in text or "read-only" in text:
        return AspectraError(
            f"{path} cannot be written", why=text, hint="check who owns it, or copy the library"
        )
    if "unable to open" in text:
        return AspectraError(f"{path} cannot be opened", why=text, hint="check the folder's permissions")
    return AspectraError(f"the database {path} failed", why=text)


def create(path: Path) -> sqlite3.Connection:
    """A new database at ``path``, which must not exist."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA page_size = 8192")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("BEGIN IMMEDIATE")
    create_tables(connection, "tables", "derived", "linking")
    connection.execute("INSERT INTO meta VALUES ('format', ?), ('revision', '0')", (str(FORMAT),))
    connection.execute("COMMIT")
    return connection


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
    try:
        try:
            connection, row = _open(path, write=write)
        except sqlite3.OperationalError as error:
            if write or "unable to open" not in str(error) or not _at_rest(path):
                raise
            connection, row = _open(path, write=False, at_rest=True)
    except sqlite3.Error as error:
        if "no such table" in str(error):
            raise LibraryCorrupt(
                f"{path} is not an Aspectra library",
                why=str(error),
                hint="choose another folder, or move this file away and run `aspectra init`",
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


def _open(path: Path, *, write: bool, at_rest: bool = False) -> tuple[sqlite3.Connection, Any]:
    """A connection, and the row that states the format."""
    name = f"{path.absolute().as_uri()}?mode=ro&immutable=1" if at_rest else str(path)
    connection = sqlite3.connect(
        name, isolation_level=None, check_same_thread=False, timeout=30.0, uri=at_rest
    )
    try:
        connection.create_function("digest", -1, _digest, deterministic=True)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA mmap_size = 268435456")
        connection.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        if write:
            connection.execute("PRAGMA synchronous = FULL")  # also while readers keep the log
        return connection, connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except sqlite3.Error:
        connection.close()
        raise


def _digest(*parts: object) -> str:
    """Hash of several parts of a paper, for SQL."""
    return digest_texts("" if part is None else str(part) for part in parts)


def _at_rest(path: Path) -> bool:
    """Whether the database can be read as it lies: no write-ahead log, on a medium that is only read.

    SQLite cannot open a database with a write-ahead log where it may not make the log's files.
    """
    log = path.with_name(path.name + "-wal")
    try:
        empty = not log.exists() or log.stat().st_size == 0
    except OSError:
        return False
    return empty and os.access(path, os.R_OK) and not os.access(path.parent, os.W_OK)
