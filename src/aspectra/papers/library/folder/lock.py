"""One writer at a time, inside the own folder, and what is raised inside SQLite."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from aspectra.base.errors import AspectraError, LibraryBusy, LibraryCorrupt

# A library is read and written inside its own folder: links that lead out of it are refused.
#
# A library may be somebody else's. A symbolic link in it could have any file read as an index, a pipe would
# be waited for without end, and a link in the place of ``writer.lock`` or ``generations`` would have files
# written elsewhere. The folder itself may be reached through a link: its user chose that.

_FILES = (
    "COLLECTION.json",
    "shards",
    "library.db",
    "library.db-wal",
    "library.db-shm",
    "library.db-journal",
    "writer.lock",
    "index.lock",
)


def refuse_links(folder: Path, shards: Iterable[Path] = ()) -> None:
    """Refuse a library in which one of our files is a link, a pipe or a device.

    Args:
        folder: of the library; other things in it are not looked at.
        shards: folders of its shards, which lie below it.

    Raises:
        LibraryCorrupt: there is one.
    """
    own = [folder / name for name in _FILES]
    for shard in shards:
        own += [shard, *(shard / name for name in _FILES)]
    for path in (*own, *_below(folder / "generations")):
        try:
            mode = path.lstat().st_mode
        except OSError:  # it is not there, or a writer has just removed it
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "no plain file"
            raise LibraryCorrupt(
                f"{path} is {kind}",
                why="a library is read and written inside its own folder only",
                hint="put the file itself there; the folder of a library may be a link as a whole",
            )


def _below(folder: Path) -> Iterator[Path]:
    """A folder and all in it; links are not followed."""
    yield folder
    if not folder.is_symlink():
        for place, folders, files in os.walk(folder):
            yield from (Path(place, name) for name in (*folders, *files))


T = TypeVar("T")
_NOTED = threading.local()
_CALLED: set[CodeType] = set()  # what SQLite calls
_OF_CONTENT = (LibraryCorrupt, TypeError, ValueError, ArithmeticError)  # the values are not what was written


def noted_error() -> BaseException | None:
    """The error that was noted on this thread since it last entered :func:`noting`, once."""
    error: BaseException | None = getattr(_NOTED, "error", None)
    _NOTED.error = None
    return error


def remembering(function: Callable[..., T]) -> Callable[..., T]:
    """A function for SQLite that notes an error that is not one of the values it is given."""

    @wraps(function)
    def called(*values: Any) -> T:
        try:
            return function(*values)
        except _OF_CONTENT:
            raise
        except BaseException as error:
            _NOTED.error = error
            raise

    _CALLED.add(called.__code__)  # type: ignore[attr-defined]
    return called


@contextlib.contextmanager
def noting() -> Iterator[None]:
    """Note what the handler of Ctrl-C raises before the first line of a function that SQLite calls.

    Elsewhere it arrives by itself; kept for longer, it would keep what it passed from being closed.
    """
    before = signal.getsignal(signal.SIGINT)
    if not _on_main_thread() or not callable(before) or hasattr(before, "notes"):
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)
        except BaseException as error:
            if frame is not None and frame.f_code in _CALLED:
                _NOTED.error = error
            raise

    handler.notes = True  # type: ignore[attr-defined]
    _NOTED.error = None
    try:
        signal.signal(signal.SIGINT, handler)
        yield
    finally:
        if _on_main_thread() and signal.getsignal(signal.SIGINT) is handler:  # rows may change threads
            signal.signal(signal.SIGINT, before)


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


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
    """Lock a file without waiting; False if it is already locked, True if the system has no such locks."""
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
    """Lock a file or folder for the block; yields False if it is already locked, True if it is missing."""
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
    """Keep writers away while a database file is read directly; returns a descriptor to close at the end.

    Returns None if such a lock is not available: the lock file is missing, or the system has only exclusive
    locks.

    Raises:
        LibraryBusy: another process is writing.
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
