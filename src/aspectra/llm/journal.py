"""The journal around a model: an answer that was paid for once is never paid for again.

A reply is on disk before its caller sees it. Replies that come at about the same time are written together,
so that many calls share one wait for the disk. Only replies that the request's ``accept`` agreed to are given
again; the others are kept for reading, counted, and asked anew.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from msgspec import structs

from aspectra.base.errors import AspectraError
from aspectra.base.files import digest_texts, refuse_journal
from aspectra.base.values import replace
from aspectra.llm.budget import Account, charged, note_recorded
from aspectra.llm.chat import ChatModel, Late, ModelError, Reply, Request, Usage, Wrapper
from aspectra.llm.loops import PerLoop
from aspectra.llm.retry import Lanes

# The database of model calls: what was answered, on disk before anybody uses it.
#
# One row for each reply that came, in the order of coming; nothing is overwritten. Of the rows with one key
# at most one is *accepted*, the first; it alone is ever given again. Questions are not kept, only their
# hashes: a journal holds what models said, not what was asked, unless somebody wants to read both.

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
        row = self._one("SELECT id, reply, checksum FROM calls WHERE key = ? AND accepted = 1", key)
        if row is None:
            return None
        if row[2] == digest_texts([key, row[1]]):
            return _read(row[1])
        self.damaged += 1
        with self._locked(self._writing):
            self._writer.execute("UPDATE calls SET accepted = -1 WHERE id = ?", (row[0],))
        return None

    @contextmanager
    def _locked(self, lock: threading.Lock) -> Iterator[None]:
        """Hold a lock while the database is used; its errors become ours."""
        try:
            with lock:
                yield
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _one(self, sql: str, *values: str) -> Any:
        """The first row of a query, or None."""
        with self._locked(self._reading):
            return self._reader.execute(sql, values).fetchone()

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
            text, name = _write(record.reply), f"{self._run}-{next(self._numbers)}"
            told = [name, record.key, record.model, record.prompt, int(wanted), at, text]
            rows.append([*told, digest_texts([record.key, text])])
        with self._locked(self._writing):
            asked = [[r.key, json.dumps(r.turns)] for r in records if r.turns]
            if asked:  # first, so that no reply is there without its question
                self._writer.execute(_ADD_QUESTIONS, (json.dumps(asked),))
            added = self._writer.execute(_ADD, (json.dumps(rows),)).rowcount
            if added != len(rows):
                self._settle_late(records, rows, out)
        return out

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
        row = self._one("SELECT turns FROM questions WHERE key = ?", key)
        return None if row is None else [(role, text) for role, text in json.loads(row[0])]

    def note(self, name: str) -> Any:
        """A JSON value kept under ``name``, or None."""
        row = self._one("SELECT value FROM notes WHERE name = ?", name)
        return None if row is None else json.loads(row[0])

    def keep_note(self, name: str, value: Any) -> None:
        """Keep a JSON value under ``name``, in place of an earlier one."""
        with self._locked(self._writing):
            self._writer.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, json.dumps(value)))

    def counts(self) -> dict[str, int]:
        """Number of replies: ``accepted``, and ``other`` (rejected, late, damaged)."""
        with self._locked(self._reading):
            found = dict(self._reader.execute("SELECT accepted = 1, count(*) FROM calls GROUP BY 1"))
        return {"accepted": found.get(1, 0), "other": found.get(0, 0)}

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
    own = {"usage": structs.astuple(reply.usage), "facts": dict(reply.facts)}
    value = {**structs.asdict(reply), **own}
    del value["recorded"], value["lost"]  # of the call, not of the answer
    return json.dumps(value, separators=(",", ":"))


def _read(text: str) -> Reply:
    value = json.loads(text)
    # What a newer version adds is passed over.
    held = {name: value[name] for name in Reply.__struct_fields__ if name in value}
    own = {"usage": Usage(*value["usage"]), "logprobs": tuple(map(tuple, value["logprobs"]))}
    return Reply(**{**held, **own, "seconds": 0.0, "recorded": True})


_GATHER = 0.001  # seconds that a write waits for company


def acceptable(request: Request, reply: Reply) -> bool:
    """True if a reply may be returned again: the result of ``request.accept``.

    Without that function a reply must not be blank, and must be JSON if a schema was asked for.
    """
    if request.accept is not None:
        return bool(request.accept(reply))
    if request.schema is not None:
        try:
            json.loads(reply.text)
        except (ValueError, RecursionError):
            return False
    return bool(reply.text.strip() or reply.logprobs)


@dataclass
class _Flight:
    """A call under way and how many wait for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0


_Group = list[tuple[Record, asyncio.Future[Reply | None]]]  # replies, and who waits until each is on disk


@dataclass
class _Here:
    """State of one event loop."""

    lanes: Lanes
    flights: dict[str, _Flight] = field(default_factory=dict)
    pending: _Group = field(default_factory=list)
    busy: bool = False


class Journal(Wrapper):
    """A model whose accepted answers are kept.

    Identical requests that are under way together are asked once. When two processes ask the same, the answer
    that reached the disk first counts for both.

    Args:
        inner: called if no accepted answer is recorded.
        file: where answers are kept. Several journals may share one.
        account: where recorded answers are counted, beside the accounts open around the call.
        lanes: calls under way at once, 1 or more, in the order in which they came. A call is under way until
            its reply is on disk, so a program that dies loses no more replies than this. Waits between
            attempts count too, so all callers send less to an endpoint that asks for patience. Or a function
            that makes the lanes of an event loop; then a call with a late answer waits for a lane again.
        keep_text: keep the words of questions too, so that an answer can be read beside what was asked.

    Attributes:
        hits: answers given from the file, or shared with a call under way.
        rejected: replies that ``accept`` refused.
    """

    def __init__(
        self,
        inner: ChatModel,
        file: JournalFile,
        account: Account | None = None,
        lanes: int | Callable[[], Lanes] = 8,
        *,
        keep_text: bool = False,
    ) -> None:
        if not callable(lanes):
            Lanes(lanes)  # raises for an invalid number
        super().__init__(inner)
        self.file = file
        self.hits = 0
        self.rejected = 0
        self._account = account
        self._keep_text = keep_text
        self._simulated = False
        self._loops = PerLoop(lambda: _Here(lanes() if callable(lanes) else Lanes(lanes)))
        self._executor = ThreadPoolExecutor(1, "aspectra-journal")

    @property
    def simulated(self) -> bool:
        """True if any answer so far came from something other than a language model."""
        return self._simulated or self.inner.simulated

    def key(self, request: Request) -> str:
        """The request's key in the file: a hash over the model's name and all that an answer depends on."""
        return digest_texts([self.name, request.key])

    def holds(self, request: Request) -> bool:
        """True if an accepted answer is recorded, so that the request costs nothing."""
        return self.file.find(self.key(request)) is not None

    def missing(self, requests: Iterable[Request]) -> list[Request]:
        """Those of the requests that would be asked; of equal ones the first."""
        first: dict[str, Request] = {}
        for request in requests:
            first.setdefault(self.key(request), request)
        return [request for key, request in first.items() if self.file.find(key) is None]

    async def complete(self, request: Request) -> Reply:
        """The recorded answer, or a new one, which is recorded first.

        Raises:
            ModelError: no answer is recorded, and the model gave none.
            JournalFailed, JournalBroken: the file cannot be used.
        """
        key = self.key(request)
        here = self._loops.get()
        flight = here.flights.get(key)
        if flight is None:
            reply = self.file.find(key)
            if reply is not None:
                return self._recorded(reply)
            flight = _Flight(asyncio.get_running_loop().create_task(self._ask(key, request, here)))
            here.flights[key] = flight
            flight.task.add_done_callback(lambda task: _landed(here, key, task))
        joined = flight.waiting > 0
        flight.waiting += 1
        try:
            reply = await asyncio.shield(flight.task)
        except ModelError as error:
            if joined:  # what the call cost is counted where it was made
                raise error.again() from None
            raise
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                flight.task.cancel()  # has no effect unless all callers left before the end
                if here.flights.get(key) is flight:  # whoever asks next asks anew
                    del here.flights[key]
        return self._recorded(replace(reply, recorded=True, seconds=0.0, lost=())) if joined else reply

    def _recorded(self, reply: Reply) -> Reply:
        self.hits += 1
        self._simulated = self._simulated or reply.simulated
        note_recorded(reply.usage, self._account)
        return reply

    async def _ask(self, key: str, request: Request, here: _Here) -> Reply:
        queued = here.lanes.full
        while True:
            async with here.lanes as allowed:
                # Meanwhile another process may have asked.
                if queued and (reply := self.file.find(key)) is not None:
                    return self._recorded(reply)
                try:
                    return await self._ask_and_keep(key, request, here)
                except Late:
                    if not here.lanes.late(allowed):
                        raise

    async def _ask_and_keep(self, key: str, request: Request, here: _Here) -> Reply:
        reply = await self.inner.complete(request)
        here.lanes.answered(reply.seconds)
        self._simulated = self._simulated or reply.simulated
        accepted = False
        try:
            accepted = acceptable(request, reply)
        finally:  # what was paid for is kept, even where the check itself fails
            self.rejected += not accepted
            turns = tuple((m.role, m.content) for m in request.messages) if self._keep_text else ()
            record = Record(key, self.name, request.prompt, accepted, reply, turns)
            future: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
            here.pending.append((record, future))
            self._start(here)
            earlier = await future
        if earlier is None:
            return reply
        return replace(earlier, recorded=True, seconds=0.0, lost=charged(request, reply))

    def _start(self, here: _Here) -> None:
        if here.pending and not here.busy:
            here.busy = True
            asyncio.get_running_loop().call_later(_GATHER, self._write, here)

    def _write(self, here: _Here) -> None:
        group, here.pending = here.pending, []
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._executor, self.file.add, [record for record, _ in group])
        writing.add_done_callback(lambda done: self._written(here, group, done))

    def _written(self, here: _Here, group: _Group, done: asyncio.Future[list[Reply | None]]) -> None:
        here.busy = False
        error = done.exception()
        for number, (_, future) in enumerate(group):
            if future.done():  # its caller was cancelled; the reply is on disk all the same
                continue
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result()[number])
        self._start(here)

    def close(self) -> None:
        """Write what an ended event loop left behind, then close the file; it can be called twice."""
        self._executor.shutdown()
        for here in self._loops.values():
            group, here.pending = here.pending, []
            if group:
                self.file.add([record for record, _ in group])
        self.file.close()


def _landed(here: _Here, key: str, task: asyncio.Task[Reply]) -> None:
    flight = here.flights.get(key)
    if flight is not None and flight.task is task:
        del here.flights[key]
    if not task.cancelled():
        task.exception()  # looked at, so that one whose callers have all left is not reported as lost
