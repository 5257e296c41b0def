"""The tables of ``library.db``, the rules of opening it, and how older formats become this one."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import struct
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from aspectra.base.errors import AspectraError, LibraryBusy, LibraryCorrupt, LibraryNotFound, UsageError
from aspectra.base.files import digest_texts, disk, disk_is_full, make_folder, refuse_journal
from aspectra.base.values import now
from aspectra.papers.library import row_sums
from aspectra.papers.library.folder.lock import WriterLock, hold, noted_error, noting, remembering
from aspectra.papers.library.row_sums import ROWS, SUMMED, changed_rows, row_hash, schema_sum
from aspectra.papers.library.rows import BLANK, paper_problems, put_setting, transaction
from aspectra.papers.library.shards import NO_SHARDS, TABLES, Collection, attach, first_place

# The number of the newest migration, see `migrations`; an older version refuses a newer library.
FORMAT = 6
# Damaged text fails not in SQLite but when it is decoded: in rows, and in messages that quote the schema.
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
_NO_ROOM = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_UNWRITTEN = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_SHMSIZE}


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
    if code in _UNWRITTEN:
        return AspectraError(
            f"{path} could not be written to its end",
            why=f"{text}, as a quota or a limit for the size of files gives it",
            hint=f"raise it, or {_FULL}",
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


def create_shards(folder: Path, collection: Collection) -> None:
    """Make the shards of a new library that holds no papers, and then the file that names them.

    Raises:
        UsageError: it holds papers.
    """
    with WriterLock(folder, "init"), contextlib.closing(connect(folder / "library.db", write=True)) as db:
        if db.execute("SELECT 1 FROM papers LIMIT 1").fetchone():
            raise UsageError(
                f"{folder} is a library with papers",
                why="papers of a collection lie in its shards",
                hint="choose another folder for the collection, and add the same files",
            )
        for statement in TABLES.split(";\n"):
            db.execute(statement)
        _put_format(db, FORMAT)
        for number, path in collection.databases(folder).items():
            create(path.parent)
            with contextlib.closing(connect(path, write=True)) as shard:
                shard.execute("INSERT INTO sqlite_sequence VALUES ('papers', ?)", (first_place(number),))
        collection.save(folder)


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
        with transaction(connection):
            create_tables(connection, "tables", "derived", "linking", "marks", "checksums")
            put_setting(connection, "revision", "0")
            _put_format(connection, FORMAT)
    finally:
        connection.close()
    disk().sync(part)
    disk().replace(part, path)
    disk().sync_folder(path.parent)


def _put_format(db: sqlite3.Connection, number: int) -> None:
    """Write the library's format, and the checksum of the tables that it has."""
    put_setting(db, "format", str(number))
    put_setting(db, "schema", schema_sum(db.execute(_DEFINITIONS)))


_DEFINITIONS = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"


def half_made(path: Path) -> bool:
    """True if the database was never finished: an empty file, or one without tables."""
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


def connect(path: Path, *, write: bool, shards: Mapping[int, Path] = NO_SHARDS) -> sqlite3.Connection:
    """A connection to an existing database.

    Args:
        path: of the database.
        write: open it for writing.
        shards: number -> database that its papers are read from, see :mod:`~aspectra.papers.library.shards`.

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
    if shards:
        try:
            attach(connection, shards)
            for number, shard in shards.items():
                _refuse_statements(connection, shard, f"shard{number}.")
        except BaseException as error:
            connection.close()
            if isinstance(error, FAULTS):
                raise translate(error, path) from error
            raise
    return connection


def problems(path: Path, *, quick: bool = False) -> list[str]:
    """Check a database; returns the problems found, empty if it is sound.

    Args:
        path: of the database.
        quick: leave out what takes longest: the checksums of derived values, texts and references, which
            are also checked when they are read, and whether papers are found by what their records say.
    """
    try:
        with noting(), contextlib.closing(connect(path, write=False)) as db:
            found = [row[0] for row in db.execute("PRAGMA integrity_check(20)")]
            orphans = db.execute("SELECT * FROM pragma_foreign_key_check LIMIT 20")
            found += [f"row {row} of {table} has no {parent}" for table, row, parent, _ in orphans]
            (number,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
            if int(number) >= SUMMED:
                found += _changed(db, quick=quick)
    except FAULTS as error:
        translate(error, path)
        found = [str(error)]
    return [one for one in found if one != "ok"]


def _changed(db: sqlite3.Connection, *, quick: bool) -> Iterator[str]:
    """What is not as it was written, by table."""
    db.execute("BEGIN")
    try:
        (stored,) = db.execute("SELECT max(value) FROM meta WHERE key = 'schema'").fetchone()
        if stored != schema_sum(db.execute(_DEFINITIONS)):
            yield "the definitions of tables have changed"
        for table in ROWS:
            if quick and table == "derived":
                continue
            whole = table == "papers" and not quick
            wrong = [*(paper_problems(db) if whole else changed_rows(db, table))]
            if wrong:
                where = ", ".join(wrong[:3]) + (" and others" if len(wrong) > 3 else "")
                yield f"{table}: {len(wrong)} are not as they were written ({where})"
    finally:
        db.execute("ROLLBACK")


class ReadConnection:
    """A reading connection that one thread uses at a time.

    SQLite calls our checksums while it holds the connection, and they wait for the interpreter; another
    thread that held the interpreter and waited for the connection would stop both for ever.
    """

    def __init__(self, database: Path, shards: Mapping[int, Path] = NO_SHARDS) -> None:
        self.connection = connect(database, write=False, shards=shards)
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
        _refuse_statements(connection, path)
        connection.create_function("digest", -1, remembering(_digest), deterministic=True)
        row_sums.install(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA mmap_size = 268435456")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        if write:
            # On the disk at once, also while readers keep the log. Keys are hashes: in a large library a
            # transaction changes pages all over its indexes. With 128 MB for them, and a log as long, a page
            # is written once for many changes.
            for setting in ("synchronous = FULL", "cache_size = -131072", "wal_autocheckpoint = 16000"):
                connection.execute(f"PRAGMA {setting}")
        return connection, connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except BaseException:
        connection.close()
        raise


def _refuse_statements(connection: sqlite3.Connection, path: Path, schema: str = "") -> None:
    """Refuse a database with statements of somebody else's.

    Args:
        connection: to it.
        path: of it.
        schema: its name in the connection, with a dot; "" for the connection's own.
    """
    kinds = "('view', 'trigger')"
    if connection.execute(f"SELECT 1 FROM {schema}sqlite_schema WHERE type IN {kinds}").fetchone():
        raise LibraryCorrupt(
            f"{path} is not a library of Aspectra",
            why="it holds a view or a trigger: statements of somebody else's, which may never end",
            hint=_MOVE,
        )


def _digest(*parts: object) -> str:
    """Hash of several parts of a paper, for SQL."""
    return digest_texts("" if part is None else str(part) for part in parts)


def _resting(path: Path, error: sqlite3.OperationalError) -> bool:
    """True if a database that could not be opened can be read from its file alone.

    SQLite creates files beside a database with a write-ahead log, even to read it. It cannot do so on a
    read-only medium or a full disk. With an empty log, and while nobody writes, the file alone is enough.
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
    """Checkpoint the log that a killed writer left, without creating files."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def at_rest(connection: sqlite3.Connection) -> bool:
    """True if the connection reads the database file directly, which excludes writers."""
    return isinstance(connection, _AtRest)


# Changes of the tables of ``library.db`` since the first format, each run once by the first writer.
#
# A library records the migrations that it went through. Each runs under the writer's lock in a transaction
# of its own: a run that is killed leaves the library at the format before.

_ROWS = 20_000  # rows moved at a time: the room of moved rows is used again


def upgrade(db: sqlite3.Connection) -> None:
    """Run the migrations that the library has not gone through."""
    (found,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    for number, name, migrate in MIGRATIONS:
        if number <= int(found):
            continue
        with transaction(db):
            migrate(db)
            db.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, name, now()))
            if number < SUMMED:
                db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(number),))
            else:
                _put_format(db, number)


def _derived(db: sqlite3.Connection) -> None:
    """Move the table ``vectors`` to ``derived``: one format of blobs, keyed by what was read, each once."""
    db.execute("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL)")
    create_tables(db, "derived")
    kept_apart = "SELECT DISTINCT fingerprint FROM vectors WHERE kind LIKE 'sentences-apart/%'"
    apart = {row[0] for row in db.execute(kept_apart)}
    of_full_texts = _prompts_of_full_texts(db)
    producers: dict[tuple[str, str, str], int] = {}
    keys: dict[str, dict[str, str]] = {}  # of each kind of reading: hash of the whole paper -> key

    def moved(rows: Iterable[tuple[str, str, str, bytes]]) -> Iterator[tuple[int, str, bytes]]:
        for old, kind, mark, data in rows:
            for (name, version, reads, tail), blob in _values(kind, mark, data, apart, of_full_texts):
                if (name, version, reads) not in producers:
                    insert = "INSERT INTO producers (name, version, reads) VALUES (?, ?, ?)"
                    cursor = db.execute(insert, (name, version, reads))
                    producers[name, version, reads] = int(cursor.lastrowid or 0)
                key: str | None = old
                if ":" in name:  # these were stored by the hash of the whole paper
                    if reads not in keys:
                        statement = f"SELECT p.content_hash, {_KEYS[reads]} FROM papers p"
                        keys[reads] = dict(db.execute(statement).fetchall())
                    key = keys[reads].get(old)
                if key is not None:  # else no paper has that content any more
                    yield producers[name, version, reads], key + tail, blob

    db.execute("DROP INDEX vectors_key")
    (last,) = db.execute("SELECT coalesce(max(rowid), 0) FROM vectors").fetchone()
    for start in range(0, last + 1, _ROWS):
        span = (start, start + _ROWS - 1)
        statement = "SELECT text_hash, kind, fingerprint, data FROM vectors WHERE rowid BETWEEN ? AND ?"
        rows = db.execute(statement, span).fetchall()
        db.execute("DELETE FROM vectors WHERE rowid BETWEEN ? AND ?", span)
        db.executemany("INSERT OR IGNORE INTO derived VALUES (?, ?, ?)", moved(rows))
    db.execute("DROP TABLE vectors")


def _values(
    kind: str, mark: str, data: bytes, apart: set[str], of_full_texts: set[str]
) -> Iterator[tuple[tuple[str, str, str, str], bytes]]:
    """((name, version, what is read, end of the key), blob) of what one row of ``vectors`` becomes."""
    import numpy as np

    from aspectra.papers.library.derived import pack

    family, colon, rest = kind.partition(":")
    base, _, version = rest.partition("/") if colon else kind.partition("/")
    if family == "lens":
        values = np.frombuffer(data, "<f4", offset=8).reshape(struct.unpack_from("<II", data))
        yield (kind, mark, _LENSES.get(rest, "record"), ""), pack(values)
    elif family == "reading" and mark == "spans":
        yield (
            (f"reading-spans:{base}", version, "sections", ""),
            pack(np.frombuffer(data, "<i4").reshape(-1, 3)),
        )
    elif family == "prompted" and ":" not in rest:
        reads = "text sections" if rest in of_full_texts else "text fallback"
        yield (kind, mark, reads, ""), pack(np.frombuffer(data, "u1"))
    else:
        width, rows, columns, cut = struct.unpack_from("<IIII", data)
        whole, count = np.frombuffer(data, "<f4", width, 16), np.array(cut, "u4")
        units = np.frombuffer(data, "<f2", rows * columns, 16 + 4 * width).reshape(rows, columns)
        if family == "reading":
            yield (kind.replace(f"/{version}", ""), f"{version} {mark}", "sections", ""), pack(whole, count)
        elif family == "prompted":
            name, _, text = rest.partition(":")
            reads = "text sections" if name in of_full_texts else "text fallback"
            yield (f"prompted-vectors:{name}", mark, reads, f":{text}"), pack(whole, count)
        elif base == "abstract+sentences":
            yield ("abstract", mark, "text", ""), pack(whole, count)
            if mark not in apart:  # where sentences are encoded apart, nothing read the pooled ones
                yield ("sentences", mark, "text", ""), pack(units, count)
        elif base == "sentences-apart":
            yield (base, mark, "text", ""), pack(units, count)
        elif base.startswith("chunks-"):
            yield (base, f"{version} {mark}", "sections", ""), pack(units, count)


# What the lenses of that format read, and SQL of the keys.
_LENSES = {
    **dict.fromkeys(("audience", "format", "kind"), "text"),
    "language": "text language",
    "length": "text sections",
    "roles": "text sentences",
    "source": "text url identifiers",
    "style": "text sections",
}
_KEYS = {
    "text": "p.text_hash",
    "sections": "p.full_hash",
    "record": "p.content_hash",
    "text language": "digest(p.text_hash, p.language)",
    "text fallback": f"digest(p.text_hash, CASE WHEN {BLANK} THEN p.full_hash END)",
    "text sections": "digest(p.text_hash, p.full_hash)",
    "text sentences": "digest(p.text_hash, json_extract(p.record, '$.sentences'))",
    "text url identifiers": (
        "digest(p.text_hash, json_extract(p.record, '$.url'), json_extract(p.record, '$.identifiers'))"
    ),
}


def _prompts_of_full_texts(db: sqlite3.Connection) -> set[str]:
    """Names of the prompted lenses that read full texts."""
    row = db.execute("SELECT value FROM meta WHERE key = 'prompted_lenses'").fetchone()
    out = set()
    for lens in json.loads(row[0]) if row else ():
        try:
            text = lens["text"]
            if tomllib.loads(text).get("reads") == "full":
                out.add(lens["name"])
        except (tomllib.TOMLDecodeError, KeyError, TypeError):
            continue
    return out


def _linking(db: sqlite3.Connection) -> None:
    """Tables for linking citations step by step; the next writer fills them."""
    create_tables(db, "linking")
    db.execute("INSERT INTO unlinked SELECT DISTINCT pos FROM citations WHERE target IS NULL")
    db.execute("DELETE FROM meta WHERE key = 'unlinked'")


def _marks(db: sqlite3.Connection) -> None:
    """Tables for what a searcher says about papers; where records came from is not known of older files."""
    create_tables(db, "marks")


_MARKS = [*ROWS][[*ROWS].index("tags") :]


def _checksums(db: sqlite3.Connection) -> None:
    """A checksum with each row, in place of the table ``sums``, whose checksums of rows are kept."""
    create_tables(db, "checksums")
    had = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sums'").fetchone()
    for table, relation, bucket in (("papers", "paper", "pos"), ("derived", "derived", "rowid")):
        old = f"(SELECT total FROM sums WHERE relation = '{relation}' AND bucket = +{table}.{bucket})"
        db.execute(f"UPDATE {table} SET checksum = {old if had else _row_hash(table)}")
    for table in ("citations", "meta", "producers"):
        db.execute(f"UPDATE {table} SET checksum = {_row_hash(table)}")
    db.execute("UPDATE papers SET reference_checksum = row_hash()")
    cited = db.execute("SELECT pos, record FROM citations ORDER BY pos, ordinal")
    hashes = ((row_hash(*(row[1] for row in rows)), pos) for pos, rows in groupby(cited, itemgetter(0)))
    db.executemany("UPDATE papers SET reference_checksum = ? WHERE pos = ?", hashes)
    for table in _MARKS:
        db.execute(f"CREATE TEMP TABLE old_{table} AS SELECT {', '.join(ROWS[table])} FROM {table}")
    for table in reversed(_MARKS):
        db.execute(f"DROP TABLE {table}")
    create_tables(db, "marks")
    for table in _MARKS:
        columns = ", ".join(ROWS[table])
        db.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM old_{table}")
        db.execute(f"DROP TABLE old_{table}")
    db.execute("DROP TABLE IF EXISTS sums")


def _row_hash(table: str) -> str:
    return f"row_hash({', '.join(ROWS[table])})"


MIGRATIONS: Sequence[tuple[int, str, Callable[[sqlite3.Connection], None]]] = (
    (2, "derived values", _derived),
    (3, "incremental linking", _linking),
    (5, "marks", _marks),
    (6, "checksums", _checksums),
)
