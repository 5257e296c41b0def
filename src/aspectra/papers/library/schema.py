"""The tables of ``library.db`` and the rules of opening it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from aspectra.base.errors import AspectraError, LibraryCorrupt, LibraryNotFound
from aspectra.base.hashing import digest_texts

__all__ = ["DERIVED_TABLES", "FORMAT", "LINKING_TABLES", "connect", "create", "run_script", "translate"]

# The number of the newest migration, see `migrations`; an older version refuses a newer library.
FORMAT = 3

# By key: a hash of what the value was made from, and where that is not all, ":" and a hash of the rest.
DERIVED_TABLES = """
CREATE TABLE producers (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, reads TEXT NOT NULL,
  UNIQUE (name, version, reads)
);
CREATE TABLE derived (producer INTEGER NOT NULL, key TEXT NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX derived_key ON derived(producer, key);
"""
# What an open citation could be linked by, and the papers whose citations are not linked yet.
LINKING_TABLES = """
CREATE TABLE citation_keys (
  key TEXT NOT NULL,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (key, pos, ordinal)
) WITHOUT ROWID;
CREATE INDEX citation_keys_at ON citation_keys(pos, ordinal);
CREATE TABLE unlinked (pos INTEGER PRIMARY KEY REFERENCES papers(pos) ON DELETE CASCADE);
"""
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE papers (
  pos INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  content_hash TEXT NOT NULL,
  text_hash TEXT NOT NULL,
  full_hash TEXT NOT NULL,
  title TEXT NOT NULL,
  abstract TEXT NOT NULL,
  year INTEGER,
  venue TEXT NOT NULL,
  language TEXT NOT NULL,
  title_key TEXT NOT NULL,
  version_group INTEGER,
  record TEXT NOT NULL
);
CREATE INDEX papers_title ON papers(title_key);
CREATE INDEX papers_text ON papers(text_hash);
CREATE INDEX papers_full ON papers(full_hash) WHERE full_hash != '';
CREATE INDEX papers_group ON papers(version_group) WHERE version_group IS NOT NULL;
CREATE TABLE sections (
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  heading TEXT NOT NULL,
  text TEXT NOT NULL
);
CREATE UNIQUE INDEX sections_at ON sections(pos, ordinal);
CREATE TABLE identifiers (
  scheme TEXT NOT NULL, value TEXT NOT NULL,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  PRIMARY KEY (scheme, value, pos)
) WITHOUT ROWID;
CREATE INDEX identifiers_pos ON identifiers(pos);
CREATE TABLE authors (
  name TEXT NOT NULL, family TEXT NOT NULL,
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  PRIMARY KEY (family, name, pos)
) WITHOUT ROWID;
CREATE INDEX authors_pos ON authors(pos);
CREATE TABLE citations (
  pos INTEGER NOT NULL REFERENCES papers(pos) ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  record TEXT NOT NULL,
  target INTEGER REFERENCES papers(pos) ON DELETE SET NULL
);
CREATE UNIQUE INDEX citations_at ON citations(pos, ordinal);
CREATE INDEX citations_target ON citations(target) WHERE target IS NOT NULL;
CREATE TABLE additions (
  id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL, at TEXT NOT NULL,
  added INTEGER NOT NULL, updated INTEGER NOT NULL, unchanged INTEGER NOT NULL
);
CREATE TABLE remarks (
  addition INTEGER NOT NULL REFERENCES additions(id) ON DELETE CASCADE,
  place TEXT NOT NULL, reason TEXT NOT NULL, skipped INTEGER NOT NULL
);
CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL);
"""


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
    run_script(connection, _TABLES + DERIVED_TABLES + LINKING_TABLES)
    connection.execute("INSERT INTO meta VALUES ('format', ?), ('revision', '0')", (str(FORMAT),))
    connection.execute("COMMIT")
    return connection


def run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run statements within the caller's transaction, which ``executescript`` would end."""
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
            connection.execute("PRAGMA synchronous = NORMAL")
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
