"""Files that survive a crash, and the one place through which they reach the disk.

A file is durable once its content and its name are: it is written under a temporary name, flushed, renamed,
and then its folder is flushed. :func:`write_durably` does all of it. Whatever changes the disk goes through
the :class:`Disk` in use, so that a test can put another one in its place that fails, or stops the program,
at the n-th operation.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from aspectra.base.errors import AspectraError

# Of file systems without hard links, with too many of a file already, or that forbid them.
_NO_LINKS = {
    errno.EPERM,
    errno.EXDEV,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.EMLINK,
    errno.ENOSYS,
    errno.EACCES,
}


class Disk:
    """Every operation that changes the disk. Content counts as written when :meth:`sync` returns."""

    def create(self, path: Path, mode: str = "wb") -> BinaryIO:
        """A file opened for writing: ``wb`` anew, ``xb`` if it does not exist yet, ``ab`` at its end."""
        stream: BinaryIO = path.open(mode)  # type: ignore[assignment]
        return stream

    def reserve(self, path: Path, size: int) -> None:
        """Make a file ``size`` bytes long, of zeros from its end on, and take the room for them.

        Filling it in place through a map then cannot fail because the disk is full.

        Raises:
            OSError: the disk is full.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            os.truncate(descriptor, size)
            if hasattr(os, "posix_fallocate") and size:
                try:
                    os.posix_fallocate(descriptor, 0, size)
                except OSError as error:
                    if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # the file system cannot
                        raise
        finally:
            os.close(descriptor)

    def sync(self, path: Path) -> None:
        """Wait until the content of a file is on the disk."""
        with path.open("r+b") as stream:  # Windows flushes only what is open for writing
            os.fsync(stream.fileno())

    def sync_stream(self, stream: BinaryIO) -> None:
        """Wait until what was written to an open file is on the disk."""
        stream.flush()
        os.fsync(stream.fileno())

    def sync_folder(self, path: Path) -> None:
        """Wait until the names in a folder are on the disk; nothing where the system cannot."""
        if os.name != "posix":
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def make_folder(self, path: Path) -> None:
        """A new folder in one that exists."""
        path.mkdir()

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file or a folder; a file of that name is replaced at once."""
        source.replace(target)

    def link(self, source: Path, target: Path) -> bool:
        """Give a file a second name; False where the file system has no such names, and nothing was done."""
        try:
            target.hardlink_to(source)
        except OSError as error:
            if error.errno in _NO_LINKS:
                return False
            raise
        return True

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder with all it holds."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


_DISKS = [Disk()]  # the last one is in use


def disk() -> Disk:
    """The disk in use."""
    return _DISKS[-1]


@contextlib.contextmanager
def using(other: Disk) -> Iterator[None]:
    """Use another disk, in this process and for a while."""
    _DISKS.append(other)
    try:
        yield
    finally:
        _DISKS.remove(other)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, durably; existing folders are left as they are."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was quicker
            disk().make_folder(one)
        disk().sync_folder(one.parent)


def write_durably(path: Path, content: bytes | str) -> None:
    """Write a file whole or not at all; it is on the disk when this returns.

    Args:
        path: in a folder that exists; replaced where there is one.
        content: text is written as UTF-8.

    Raises:
        OSError: it cannot be written; what was there before stays.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        with disk().create(part) as stream:
            stream.write(content.encode("utf-8") if isinstance(content, str) else content)
            disk().sync_stream(stream)
        disk().replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            disk().remove(part)
        raise
    disk().sync_folder(path.parent)


def file_name(text: str) -> str:
    """A name for a file: letters and digits stay, all else becomes ``-``.

    >>> file_name("csfcube/method (pools)")
    'csfcube-method--pools-'
    """
    return "".join(c if c.isalnum() else "-" for c in text)


def state_file(name: str) -> Path:
    """A file of the user's that remembers something between commands; losing it costs nothing."""
    import platformdirs

    return Path(platformdirs.user_state_dir("aspectra", appauthor=False)) / name


def refuse_journal(database: Path, kind: type[AspectraError], hint: str) -> None:
    """Refuse an SQLite database that brings a rollback journal, before SQLite sees it.

    SQLite undoes the changes that such a journal lists as soon as anything is read, and then deletes the file
    that the journal names as its super-journal: any file of the user. Our own databases have none.

    Args:
        database: its path; the journal of a link lies beside the file itself.
        kind: of the error.
        hint: what to do next.

    Raises:
        AspectraError: of that kind.
    """
    journal = Path(f"{os.path.realpath(database)}-journal")
    with contextlib.suppress(OSError):  # it does not exist
        if journal.lstat().st_size and database.stat().st_size:  # SQLite reads no other
            raise kind(
                f"{database} has a rollback journal",
                why=f"opening it would change it, and may delete any file that {journal.name} names",
                hint=hint,
            )


# Content hashes: one canonical JSON spelling, one hash function.


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value: sorted keys, no spaces, real Unicode, no NaN.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Hash of a JSON value: 32 hexadecimal digits (BLAKE2b, 128 bits)."""
    return digest_texts([canonical_json(value)])


def digest_texts(texts: Iterable[str]) -> str:
    """Hash of a sequence of texts; the boundaries count, so ["ab"] and ["a", "b"] differ.

    Lone surrogates (from damaged input) are kept distinct rather than refused.
    """
    state = hashlib.blake2b(digest_size=16)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little") + raw)
    return state.hexdigest()


_LEAST_SPACE = 1 << 16  # bytes; SQLite's shared memory takes half of it


def disk_is_full(folder: Path) -> bool:
    """True if so little space is left that SQLite cannot create even the files it needs for reading."""
    try:
        return shutil.disk_usage(folder).free < _LEAST_SPACE
    except OSError:
        return False
