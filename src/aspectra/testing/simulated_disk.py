"""A disk, and a database, that fail or stop the program at the n-th operation; one seed decides the rest."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn, get_args

from aspectra.base.files import Disk, using

Kind = Literal["kill", "torn", "power", "full", "error"]
FAULTS: tuple[Kind, ...] = get_args(Kind)
_CRASHED, _REFUSED, _RAISED = 79, 78, 77
_WRITING = ("INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "BEGIN", "COMMIT", "VACUUM")
_AUDITED = ("os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.truncate")


@dataclass(frozen=True)
class Fault:
    """Fault at one operation.

    Attributes:
        at: number of the operation, from 0; one that is never reached changes nothing.
        kind: ``kill``: the process ends there, and what it wrote stays. ``torn``: so, and the file written
            last keeps only a part. ``power``: so, and files and names that were not flushed may be cut, empty
            or gone. ``full``: the disk is full from there on. ``error``: that operation fails once.
        seed: decides what is cut, and where.
    """

    at: int
    kind: Kind = "kill"
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """Result of a step.

    Attributes:
        crashed: whether the process was stopped by the fault.
        error: "" if none; the message that a person sees, if it is one; else the traceback.
        expected: whether the error is one that a person can act on (an ``AspectraError``).
        operations: how many operations that change the disk or the database there were.
    """

    crashed: bool = False
    error: str = ""
    expected: bool = True
    operations: int = 0


class SimulatedDisk(Disk):
    """A disk on which one operation fails; for a process of its own, see :func:`run_with_fault`.

    Args:
        folder: what lies in it is counted; everything else is left alone.
        fault: what happens.
    """

    def __init__(self, folder: Path, fault: Fault) -> None:
        self.folder = folder.resolve()
        self.fault = fault
        self.operations = 0
        self._draw = random.Random(f"{fault.seed}/{fault.at}/{fault.kind}")  # noqa: S311 - a simulation
        self._unflushed: dict[Path, int] = {}  # file -> bytes of it that are safe
        self._unnamed: list[
            tuple[Path, Path | None, bytes | None]
        ] = []  # made or renamed: (new, old, replaced)
        self._databases = {path: _fingerprint(path) for path in self.folder.rglob("*.db")}

    def operation(self, path: Path | None = None) -> None:
        """Count one operation; does not return, or raises, where it is the one that fails.

        Raises:
            OSError: the disk is full or broken.
        """
        if path is not None and not path.absolute().is_relative_to(self.folder):
            return
        number, kind = self.operations, self.fault.kind
        self.operations += 1
        if kind == "full" and number >= self.fault.at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path or ""))
        if number != self.fault.at:
            return
        if kind == "error":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path or ""))
        self._stop()

    def _stop(self) -> NoReturn:
        if self.fault.kind == "torn":
            self._cut(list(self._unflushed.items())[-1:])
        elif self.fault.kind == "power":
            self._undo_names()
            self._cut(self._unflushed.items())
            self._cut_logs()
        os._exit(_CRASHED)

    def _cut(self, files: Iterable[tuple[Path, int]]) -> None:
        """Keep what was flushed of each file, and of the rest all, some or nothing."""
        for path, safe in files:
            if path.is_file() and (size := path.stat().st_size) > safe:
                os.truncate(path, self._draw.choice((size, safe, self._draw.randint(safe, size))))

    def _undo_names(self) -> None:
        """Forget the last names that were given in folders that were not flushed since."""
        kept = self._draw.randint(0, len(self._unnamed))
        for new, old, replaced in reversed(self._unnamed[kept:]):
            if old is None:
                if new.is_dir():
                    super().remove(new)
                else:
                    new.unlink(missing_ok=True)
                continue
            if new.exists():
                new.replace(old)
            if replaced is not None:
                new.write_bytes(replaced)

    def _cut_logs(self) -> None:
        """Cut write-ahead logs anywhere. A log that was copied into its database meanwhile was flushed."""
        for path, before in self._databases.items():
            log = path.with_name(path.name + "-wal")
            if log.is_file() and _fingerprint(path) == before:
                os.truncate(log, self._draw.randint(0, log.stat().st_size))

    # What the program does.

    def create(self, path: Path, mode: str = "wb") -> BinaryIO:
        """See `Disk.create`."""
        self.operation(path)
        there = path.exists()
        stream = super().create(path, mode)
        if not there:
            self._unnamed.append((path, None, None))
        self._unflushed[path] = path.stat().st_size if there and mode == "ab" else 0
        return stream

    def reserve(self, path: Path, size: int) -> None:
        """See `Disk.reserve`."""
        self.operation(path)
        super().reserve(path, size)
        self._unnamed.append((path, None, None))
        self._unflushed[path] = 0

    def sync(self, path: Path) -> None:
        """See `Disk.sync`."""
        self.operation(path)
        super().sync(path)
        self._unflushed.pop(path, None)

    def sync_stream(self, stream: BinaryIO) -> None:
        """See `Disk.sync_stream`."""
        path = Path(stream.name)
        stream.flush()
        self.operation(path)
        super().sync_stream(stream)
        if path in self._unflushed:
            self._unflushed[path] = path.stat().st_size

    def sync_folder(self, path: Path) -> None:
        """See `Disk.sync_folder`."""
        self.operation(path)
        super().sync_folder(path)
        self._unnamed = [one for one in self._unnamed if one[0].parent != path]

    def make_folder(self, path: Path) -> None:
        """See `Disk.make_folder`."""
        self.operation(path)
        super().make_folder(path)
        self._unnamed.append((path, None, None))

    def link(self, source: Path, target: Path) -> bool:
        """See `Disk.link`."""
        self.operation(target)
        linked = super().link(source, target)
        if linked:
            self._unnamed.append((target, None, None))
        return linked

    def replace(self, source: Path, target: Path) -> None:
        """See `Disk.replace`."""
        self.operation(target)
        replaced = target.read_bytes() if target.is_file() else None
        super().replace(source, target)
        moved = {target / p.relative_to(source) if p != source else target: p for p in self._unflushed
                 if p == source or source in p.parents}  # fmt: skip
        for new, old in moved.items():
            self._unflushed[new] = self._unflushed.pop(old)
        self._unnamed.append((target, source, replaced))

    def remove(self, path: Path) -> None:
        """See `Disk.remove`."""
        self.operation(path)
        super().remove(path)
        self._unnamed = [one for one in self._unnamed if one[0] != path and path not in one[0].parents]
        self._unflushed = {
            p: safe for p, safe in self._unflushed.items() if p != path and path not in p.parents
        }

    # What is watched beside: the database, and whatever does not go through the disk in use.

    def connection(self, base: type[sqlite3.Connection]) -> type[sqlite3.Connection]:
        """A kind of connection that counts the statements that write."""
        simulated = self

        class Counting(base):  # type: ignore[misc, valid-type]
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                simulated.statement(sql)
                made: sqlite3.Cursor = super().execute(sql, *values)
                return made

            def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
                simulated.statement(sql)
                made: sqlite3.Cursor = super().executemany(sql, *values)
                return made

        return Counting

    def statement(self, sql: str) -> None:
        """Count one statement, if it writes.

        Raises:
            sqlite3.OperationalError: as SQLite does where the disk is full or broken.
        """
        if not sql.lstrip().upper().startswith(_WRITING) and "wal_checkpoint" not in sql:
            return
        try:
            self.operation()
        except OSError as error:
            full = error.errno == errno.ENOSPC
            raised = sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")
            raised.sqlite_errorcode = sqlite3.SQLITE_FULL if full else sqlite3.SQLITE_IOERR
            raise raised from error

    def watch(self, event: str, values: tuple[Any, ...]) -> None:
        """Stop the program at operations that did not go through the disk in use, too; an audit hook."""
        writes = event == "open" and isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR)
        if (writes or event in _AUDITED) and isinstance(values[0], str | os.PathLike):
            self.operation(Path(values[0]))


def _fingerprint(path: Path) -> tuple[int, int]:
    told = path.stat()
    return told.st_size, told.st_mtime_ns


def run_with_fault(step: Callable[[], object], folder: Path, fault: Fault) -> Outcome:
    """Run a step in a process of its own in which one operation fails; POSIX only.

    Args:
        step: changes a library; nothing but what it leaves on the disk is seen afterwards.
        folder: the library's.
        fault: what happens, and at which operation.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        simulated = SimulatedDisk(folder, fault)
        report = ""
        try:
            _install(simulated)
            with using(simulated):
                step()
        except BaseException as error:
            code, report = _told(error)
        finally:
            os.write(writing, f"{simulated.operations}\n{report}"[:60_000].encode("utf-8", "replace"))
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        operations, _, report = pipe.read().decode("utf-8").partition("\n")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    count = int(operations) if operations.isdigit() else fault.at
    if code == _CRASHED:
        return Outcome(crashed=True, operations=count)
    if code not in (0, _REFUSED):
        return Outcome(error=report or f"the process ended with {code}", expected=False, operations=count)
    return Outcome(error=report, operations=count)


def _install(simulated: SimulatedDisk) -> None:
    plain = sqlite3.connect

    def connect(*values: Any, **named: Any) -> sqlite3.Connection:
        base = named.get("factory", sqlite3.Connection)
        made: sqlite3.Connection = plain(*values, **{**named, "factory": simulated.connection(base)})
        return made

    sqlite3.connect = connect  # type: ignore[assignment]
    if simulated.fault.kind == "kill":
        sys.addaudithook(simulated.watch)


def _told(error: BaseException) -> tuple[int, str]:
    import traceback

    from aspectra.base.errors import AspectraError

    if isinstance(error, AspectraError):
        return _REFUSED, str(error)
    return _RAISED, "".join(traceback.format_exception(error))
