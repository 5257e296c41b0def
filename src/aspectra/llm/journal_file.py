"""The database of model calls: what was answered, on disk before anybody uses it.

One row for each reply that came, in the order of coming; nothing is overwritten. Of the rows with one key at
most one is *accepted*, the first; it alone is ever given again. Questions are not kept, only their hashes: a
journal holds what models said, not what was asked, unless somebody wants to read both.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from aspectra.base.errors import AspectraError
from aspectra.base.files import refuse_journal
from aspectra.base.hashing import digest_texts
from aspectra.llm.chat import Reply, Usage

_FORMAT = "1"
_BUSY = 60.0  # seconds that a write waits for another process's
_TABLES = """
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
  id INTEGER PRIMARY KEY,
  call TEXT NOT NULL,
  key TEXT NOT NULL,
  model TEXT NOT NULL,
  prompt TEXT NOT NULL,
  accepted INTEGER NOT NULL,
  at TEXT NOT NULL,
  reply TEXT NOT NULL,
  checksum TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS questions (key TEXT PRIMARY KEY, turns TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS calls_accepted ON calls(key) WHERE accepted = 1;
"""
# A whole group in one statement: one transaction, one wait for the disk, and few moments at which the writing
# thread has to win the interpreter back from a busy event loop.
_ADD = """
INSERT INTO calls (call, key, model, prompt, accepted, at, reply, checksum)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'),
       json_extract(value, '$[6]'), json_extract(value, '$[7]')
FROM json_each(?)
WHERE NOT (json_extract(value, '$[4]') = 1
           AND EXISTS (SELECT 1 FROM calls c WHERE c.key = json_extract(value, '$[1]') AND c.accepted = 1))
"""

_ADD_QUESTIONS = """
INSERT OR IGNORE INTO questions
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)
"""


class JournalFailed(AspectraError):
    """The journal cannot be written or read; no answer is used that is not on disk."""

    code = "journal"


class JournalBroken(AspectraError):
    """The journal's file is damaged, is no journal, or was written by a newer version."""

    code = "journal-broken"
    exit_code: ClassVar[int] = 6


@dataclass(frozen=True, slots=True)
class Record:
    """One reply to be kept.

    Attributes:
        key: hash of the model's name and the request.
        model: the model's name, for reading.
        prompt: the request's prompt, for reading.
        accepted: whether it may be given again.
        reply: what came.
        turns: (role, text) of each turn of the question, where it is to be kept; () keeps its hash alone.
    """

    key: str
    model: str
    prompt: str
    accepted: bool
    reply: Reply
    turns: tuple[tuple[str, str], ...] = ()


class JournalFile:
    """An open journal. Any number of threads and processes may use one file.

    Args:
        path: of the database; it and its folder are made where there are none, readable by its owner only.

    Raises:
        JournalBroken: there is a file, and it is not a journal that this version can read.
        JournalFailed: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        self._run = secrets.token_hex(6)
        self._numbers = count()
        self._writing, self._reading = threading.Lock(), threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            refuse_journal(path, JournalBroken, "move that file away, or name another journal")
            self._writer = self._connect()
            self._prepare()
            self._reader = self._connect()
            self._reader.execute("PRAGMA query_only = ON")
        except OSError as error:
            raise JournalFailed(
                f"the journal {path} cannot be opened",
                why=error.strerror or str(error),
                hint="check who owns the folder, or name another journal",
            ) from error
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_BUSY, isolation_level=None, check_same_thread=False, cached_statements=32
        )
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _prepare(self) -> None:
        deadline = time.monotonic() + _BUSY
        while True:
            try:  # SQLite does not wait here when another process is just doing the same
                self._writer.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
        self._writer.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";\n"):
            if statement.strip():
                self._writer.execute(statement)
        self._writer.execute("INSERT OR IGNORE INTO notes VALUES ('format', ?)", (_FORMAT,))
        self._writer.execute("COMMIT")
        found = self._writer.execute("SELECT value FROM notes WHERE name = 'format'").fetchone()[0]
        if found != _FORMAT:
            raise JournalBroken(
                f"the journal {self.path} was written by a newer Aspectra",
                why=f"its format is {found}, this version reads {_FORMAT}",
                hint="pip install --upgrade aspectra, or name another journal",
            )

    def find(self, key: str) -> Reply | None:
        """The accepted reply with this key, or None.

        A row that does not match its checksum is counted in ``damaged``, set aside and never given.
        """
        try:
            with self._reading:
                row = self._reader.execute(
                    "SELECT id, reply, checksum FROM calls WHERE key = ? AND accepted = 1", (key,)
                ).fetchone()
            if row is None:
                return None
            if row[2] == digest_texts([key, row[1]]):
                return _read(row[1])
            self.damaged += 1
            with self._writing:
                self._writer.execute("UPDATE calls SET accepted = -1 WHERE id = ?", (row[0],))
        except sqlite3.Error as error:
            raise self._failure(error) from error
        return None

    def add(self, records: Sequence[Record]) -> list[Reply | None]:
        """Keep replies; they are on disk when this returns.

        Returns:
            For each record None, or the reply that was accepted before it under the same key (by another
            process, mostly) and counts in its place.
        """
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        first: dict[str, Reply] = {}
        out: list[Reply | None] = []
        rows: list[list[Any]] = []
        for record in records:
            out.append(first.get(record.key) if record.accepted else None)
            wanted = record.accepted and record.key not in first
            if wanted:
                first[record.key] = record.reply
            rows.append(self._row(record, wanted, at))
        try:
            with self._writing:
                asked = [[r.key, json.dumps(r.turns)] for r in records if r.turns]
                if asked:  # first, so that no reply is there without its question
                    self._writer.execute(_ADD_QUESTIONS, (json.dumps(asked),))
                added = self._writer.execute(_ADD, (json.dumps(rows),)).rowcount
                if added != len(rows):
                    self._settle_late(records, rows, out)
        except sqlite3.Error as error:
            raise self._failure(error) from error
        return out

    def _row(self, record: Record, accepted: bool, at: str) -> list[Any]:
        text = _write(record.reply)
        name = f"{self._run}-{next(self._numbers)}"
        checksum = digest_texts([record.key, text])
        return [name, record.key, record.model, record.prompt, int(accepted), at, text, checksum]

    def _settle_late(self, records: Sequence[Record], rows: list[list[Any]], out: list[Reply | None]) -> None:
        """Keep, as not accepted, the replies that came after another process's; fill in whose count."""
        late = []
        for number, (record, row) in enumerate(zip(records, rows, strict=True)):
            if not row[4]:
                continue
            found = self._writer.execute(
                "SELECT call, reply FROM calls WHERE key = ? AND accepted = 1", (record.key,)
            ).fetchone()
            if found and found[0] != row[0]:
                out[number] = _read(found[1])
                late.append([*row[:4], 0, *row[5:]])
        self._writer.execute(_ADD, (json.dumps(late),))

    def question(self, key: str) -> list[tuple[str, str]] | None:
        """(role, text) of each turn of the question with this key, or None where it was not kept."""
        try:
            with self._reading:
                row = self._reader.execute("SELECT turns FROM questions WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._failure(error) from error
        return None if row is None else [(role, text) for role, text in json.loads(row[0])]

    def note(self, name: str) -> Any:
        """A JSON value kept under ``name``, or None."""
        try:
            with self._reading:
                row = self._reader.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        except sqlite3.Error as error:
            raise self._failure(error) from error
        return None if row is None else json.loads(row[0])

    def keep_note(self, name: str, value: Any) -> None:
        """Keep a JSON value under ``name``, in place of an earlier one."""
        try:
            with self._writing:
                self._writer.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, json.dumps(value)))
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def counts(self) -> dict[str, int]:
        """How many replies there are: ``accepted``, and ``other`` (rejected, late, damaged)."""
        try:
            with self._reading:
                rows = self._reader.execute("SELECT accepted = 1, count(*) FROM calls GROUP BY 1").fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from error
        found = {bool(kind): number for kind, number in rows}
        return {"accepted": found.get(True, 0), "other": found.get(False, 0)}

    def close(self) -> None:
        """Close the file; it can be called twice."""
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()

    def _failure(self, error: sqlite3.Error) -> AspectraError:
        text = str(error)
        if "malformed" in text or "not a database" in text or "no such column" in text:
            return JournalBroken(
                f"the journal {self.path} is damaged or is no journal",
                why=text,
                hint="move it away; a new one is made, and what it held is asked again",
            )
        if "disk is full" in text:
            return JournalFailed(
                f"the disk is full while writing {self.path}",
                why="the answer that just came could not be kept; everything before it is safe",
                hint="free some space, then run the same command again",
            )
        if "readonly" in text or "read-only" in text or "unable to open" in text:
            return JournalFailed(
                f"the journal {self.path} cannot be written",
                why=text,
                hint="check who owns it and its folder",
            )
        return JournalFailed(f"the journal {self.path} failed", why=text)


def _write(reply: Reply) -> str:
    """JSON of what a reply says; ASCII, so that lone surrogates and NULs pass through the database."""
    usage = [reply.usage.prompt_tokens, reply.usage.completion_tokens]
    value = {
        "text": reply.text,
        "model": reply.model,
        "usage": usage,
        "finish": reply.finish,
        "logprobs": [list(pair) for pair in reply.logprobs],
        "seconds": reply.seconds,
        "simulated": reply.simulated,
        "facts": dict(reply.facts),
    }
    return json.dumps(value, separators=(",", ":"))


def _read(text: str) -> Reply:
    value = json.loads(text)
    return Reply(
        text=value["text"],
        model=value["model"],
        usage=Usage(*value["usage"]),
        finish=value["finish"],
        logprobs=tuple((token, number) for token, number in value["logprobs"]),
        recorded=True,
        simulated=value["simulated"],
        facts=value["facts"],
    )
