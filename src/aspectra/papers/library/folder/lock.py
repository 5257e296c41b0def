"""One writer at a time: a lock file that names its holder."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from weakref import WeakValueDictionary

from aspectra.base.errors import AspectraError, LibraryBusy

_PATIENCE, _PAUSE = 10.0, 0.01  # seconds
_TURNS: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
_FINDING = threading.Lock()


def _take(descriptor: int) -> bool:
    """Try to lock the open file; the system frees the lock when the process ends, however it ends."""
    if sys.platform == "win32":
        import msvcrt

        try:
            # The lock lies beyond the text, so that others can still read who holds it.
            os.lseek(descriptor, 4096, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    return try_lock(descriptor, shared=False)


def _release(descriptor: int) -> None:
    """Free the lock at once: a process that another thread is just starting has the open file too."""
    if sys.platform != "win32":
        import fcntl

        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def try_lock(descriptor: int, *, shared: bool) -> bool:
    """Whether the file could be locked; True also where the system has no such locks."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether nobody else holds a file or a folder; it is locked meanwhile. True where it is missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        yield True
        return
    try:
        yield try_lock(descriptor, shared=False)
    finally:
        os.close(descriptor)


def hold(folder: Path) -> int | None:
    """Keep writers away while a database is read as it lies; returns a descriptor, to be closed at the end.

    Returns None where the lock cannot be had in this way: there is no lock file, or the system has only
    exclusive locks.

    Raises:
        LibraryBusy: somebody is writing.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(folder / "writer.lock", os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise LibraryBusy(
            f"the library at {folder} is being written, and the disk is full",
            why="without space it can be read only while nobody writes",
            hint="free some space, then run the same command again",
        ) from error
    except OSError:  # a file system without locks
        return descriptor
    return descriptor


def turn_of(folder: Path) -> threading.RLock:
    """The lock of this process's threads that write a library, however often each of them opened it."""
    with _FINDING:
        return _TURNS.setdefault(os.path.realpath(folder), threading.RLock())


@contextlib.contextmanager
def taking_turns(turn: threading.RLock) -> Iterator[None]:
    """One thread at a time; one that has waited for long goes on, and :class:`WriterLock` refuses it."""
    taken = turn.acquire(timeout=_PATIENCE)
    try:
        yield
    finally:
        if taken:
            turn.release()


class WriterLock:
    """The lock of the one writer of a library; a second writer fails at once with the name of the first.

    Args:
        folder: the library's directory.
        purpose: what the holder does, for the message: ``add``, ``index``.
        brief: it is held for less than a second: others wait for it.
        name: of the lock's file.

    Raises:
        LibraryBusy: on entering, when another process or thread holds it.
    """

    def __init__(self, folder: Path, purpose: str, *, brief: bool = False, name: str = "writer.lock") -> None:
        self._brief = brief
        self._path = folder / name
        self._purpose = purpose
        self._descriptor: int | None = None
        self._holder = 0

    def __enter__(self) -> WriterLock:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise AspectraError(
                f"cannot write to the library at {self._path.parent}",
                why=error.strerror or str(error),
                hint="check who owns the folder",
            ) from error
        try:
            until = time.monotonic() + _PATIENCE
            while not _take(descriptor):
                os.lseek(descriptor, 0, os.SEEK_SET)
                held = os.read(descriptor, 4096)
                # The note is empty before it is written and after it is removed.
                if (held and b'"brief": true' not in held) or time.monotonic() > until:
                    raise self._busy(held)
                time.sleep(_PAUSE)
            note = {
                "pid": os.getpid(),
                "host": socket.gethostname(),
                "purpose": self._purpose,
                "brief": self._brief,
                "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
            }
            with contextlib.suppress(OSError):  # a full disk: it is only for the message of others
                os.ftruncate(descriptor, 0)
                os.lseek(descriptor, 0, os.SEEK_SET)
                os.write(descriptor, json.dumps(note).encode())
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor, self._holder = descriptor, os.getpid()
        return self

    def _busy(self, note: bytes) -> LibraryBusy:
        try:
            holder = json.loads(note)
            why = (
                f"process {holder['pid']} on {holder['host']} has been running "
                f"`{holder['purpose']}` since {holder['since']}"
            )
        except (ValueError, KeyError, TypeError):
            why = "another process holds its lock"
        return LibraryBusy(
            f"the library at {self._path.parent} is being written by another writer",
            why=why,
            hint="wait until it has finished; searching works meanwhile",
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            try:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, 0)
                if os.getpid() == self._holder:  # not in a process that was forked meanwhile
                    _release(descriptor)
            finally:
                os.close(descriptor)
