"""Changes of the tables of ``library.db`` since the first format, each run once by the first writer.

A library records the migrations that it went through. Each runs under the writer's lock in a transaction of
its own: a run that is killed leaves the library at the format before.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from aspectra.papers.library.row_sums import SUMMED, write_all
from aspectra.papers.library.rows import BLANK
from aspectra.papers.library.schema import create_tables

_ROWS = 20_000  # rows moved at a time: the room of moved rows is used again


def upgrade(db: sqlite3.Connection) -> None:
    """Run the migrations that the library has not gone through."""
    (found,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    for number, name, migrate in MIGRATIONS:
        if number <= int(found):
            continue
        db.execute("BEGIN IMMEDIATE")
        try:
            migrate(db)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            db.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, name, now))
            db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(number),))
            if number >= SUMMED:
                write_all(db, ["meta"])
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")


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


def _checksums(db: sqlite3.Connection) -> None:
    """The table of checksums, with those of everything that is there."""
    create_tables(db, "sums")
    write_all(db, number=SUMMED)


def _marks(db: sqlite3.Connection) -> None:
    """Tables for what a searcher says about papers; where records came from is not known of older files."""
    create_tables(db, "marks")
    write_all(db, ["schema"])


MIGRATIONS: Sequence[tuple[int, str, Callable[[sqlite3.Connection], None]]] = (
    (2, "derived values", _derived),
    (3, "incremental linking", _linking),
    (4, "checksums", _checksums),
    (5, "marks", _marks),
)
