"""Files that a library in another language opens, in a process with limits; files inside files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from aspectra.base.decompression import Bounds, Expansion
from aspectra.base.errors import BadInput
from aspectra.base.values import replace
from aspectra.papers.sources.files import InputFile

_CHILD = Path(__file__).with_name("_child.py")
_MAX_BYTES = 512 * 1024 * 1024
_PASSED_ON = ("PATH", "SYSTEMROOT", "PYTHONPATH", "PYTHONHOME", "LANG", "LC_ALL", "TMPDIR", "TEMP")


class ChildAnswer(NamedTuple):
    """The output of a child process: its JSON objects, a flag for a timeout, and its exit status."""

    said: list[dict[str, Any]]
    late: bool
    status: int


def ask_child(file: InputFile, limits: dict[str, Any]) -> ChildAnswer:
    """Have a child read a file.

    Args:
        file: the file.
        limits: ``what`` (``pdf`` or ``sheets``), ``seconds``, ``memory_mb``, ``chars`` and more of it.

    Raises:
        BadInput: the file is too large.
    """
    with contextlib.ExitStack() as stack:
        stdin = _as_file(file, stack)
        # Started as a file and with -P: nothing but the library is imported, and no file beside this one is.
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
            [sys.executable, "-P", str(_CHILD), json.dumps(limits)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        )
        late = False
        try:
            out, _ = process.communicate(timeout=limits["seconds"])
        except subprocess.TimeoutExpired:
            late = True
            process.kill()
            out, _ = process.communicate()
        except BaseException:
            process.kill()
            process.wait()
            raise
    said = []
    for line in out.splitlines():
        try:
            said.append(json.loads(line))
        except ValueError:
            break  # cut off in the middle when the child was stopped
    return ChildAnswer(said, late, process.returncode)


def _as_file(file: InputFile, stack: contextlib.ExitStack) -> IO[bytes]:
    """A real file for the child: as it is, or unpacked when it is compressed."""
    path = file.path
    stream = file.stream()
    if isinstance(getattr(stream, "raw", None), io.FileIO) and path.stat().st_size <= _MAX_BYTES:
        os.lseek(stream.fileno(), 0, os.SEEK_SET)  # the child shares the offset, not our buffer
        return stream
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    with file.damage():
        while block := stream.read(1 << 20):
            copy.write(block)
            if copy.tell() > _MAX_BYTES:
                raise BadInput(f"{path} is larger than {_MAX_BYTES >> 20} MiB", hint="split the file")
    copy.seek(0)
    return copy


# Files inside other files: members of a ZIP archive, and texts in a cell, read like files of their own.

_ZIP = b"PK\x03\x04"
# (where it stands, the bytes, the name) of archives of files
_SIGNS = (
    (0, _ZIP, "ZIP"),
    (0, b"PK\x05\x06", "ZIP"),
    (0, b"Rar!\x1a\x07", "RAR"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z"),
    (257, b"ustar", "tar"),
)
_SIZE = 256 << 20  # bytes that one member may expand to: a book has 10 MB
_MOST_NAMES = 100_000
_LARGEST_DIRECTORY = 16 << 20  # bytes of the list of members, which is read as a whole
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_BROKEN = (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError)


class InnerFile(InputFile):
    """Bytes that lie inside another file.

    Args:
        path: what messages call it.
        stream: the bytes, which can be read again from their beginning.
    """

    def __init__(self, path: Path, stream: io.BufferedReader) -> None:
        super().__init__(path)
        self._inner = stream

    @classmethod
    def of_text(cls, path: Path, text: str) -> InnerFile:
        """A text as a file."""
        data: io.RawIOBase = io.BytesIO(text.encode("utf-8", "replace"))  # type: ignore[assignment]
        return cls(path, io.BufferedReader(data))

    def stream(self) -> io.BufferedReader:
        """The bytes from their beginning."""
        self._inner.seek(0)
        return self._inner


class _Bounded(io.RawIOBase):
    """A member of an archive, counted while it is read."""

    def __init__(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, bounds: Bounds, name: str) -> None:
        self._member = archive.open(member)
        self._count = Expansion(bounds, name, hint="check where the file comes from")
        self._count.read = member.compress_size
        self._name = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset == 0 and whence == 0 and self._member.tell():
            self._count.made = 0
            self._member.seek(0)
        return self._member.tell()

    def tell(self) -> int:
        return self._member.tell()

    def readinto(self, buffer: object) -> int:
        room = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        try:
            data = self._member.read(len(room))
        except _BROKEN as error:
            raise OSError(str(error)) from error
        self._count.grow(len(data))
        room[: len(data)] = data
        return len(data)


class ZipMembers:
    """The members of a ZIP archive (DOCX, XLSX, EPUB), opened one by one.

    Args:
        file: the archive; it is not unpacked to the disk.
        bounds: limits on its decompressed size.

    Raises:
        BadInput: it is not a ZIP archive, or is damaged.
    """

    def __init__(self, file: InputFile, bounds: Bounds) -> None:
        self.path = file.path
        self._bounds = replace(bounds, size=min(bounds.size, _SIZE))
        with self._damage():
            self._archive = _opened(file.stream(), self.path)
            self._members = {member.filename: member for member in self._archive.infolist()[:_MOST_NAMES]}

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (*_BROKEN, OSError, EOFError) as error:
            what = f"{self.path} is damaged"
            raise BadInput(what, why=str(error), hint="fetch or export it again") from error

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def open(self, name: str) -> InnerFile:
        """A member as a file.

        Raises:
            BadInput: there is none of this name, or it is encrypted or packed in an unusual way.
        """
        member = self._members.get(name)
        if member is None or member.compress_type not in _PLAIN or member.flag_bits & 1:
            why = "it is not in the archive" if member is None else "it is encrypted or packed unusually"
            hint = "save the file again, without a password"
            raise BadInput(f"{self.path}: the part {name} cannot be read", why=why, hint=hint)
        with self._damage():
            inner = _Bounded(self._archive, member, self._bounds, f"{self.path}: {name}")
        return InnerFile(self.path / name, io.BufferedReader(inner))


def _opened(stream: IO[bytes], path: Path) -> zipfile.ZipFile:
    """The archive in a stream.

    Raises:
        BadInput: its list of members is too large to be read.
    """
    ending = zipfile._EndRecData(stream)  # type: ignore[attr-defined]
    if ending and ending[5] > _LARGEST_DIRECTORY:  # the size of the list
        raise BadInput(f"{path} lists too many files", why=f"{ending[4]:,} entries", hint="unpack it first")
    return zipfile.ZipFile(stream)


def zip_names(path: Path, head: bytes) -> tuple[str, ...]:
    """Names of the members of the ZIP archive at ``path``; () where ``head`` does not begin like one."""
    if not head.startswith(_ZIP):
        return ()
    try:
        with path.open("rb") as file, _opened(file, path) as archive:
            return tuple(archive.namelist()[:_MOST_NAMES])
    except (*_BROKEN, OSError, EOFError, BadInput):
        return ()


def archive_of(head: bytes) -> str:
    r"""The kind of archive that begins with ``head``: ``ZIP``, ``RAR``, ``7z`` or ``tar``; else "".

    >>> archive_of(b"PK\x03\x04..."), archive_of(b"%PDF-1.7")
    ('ZIP', '')
    """
    return next((name for at, sign, name in _SIGNS if head.startswith(sign, at)), "")
