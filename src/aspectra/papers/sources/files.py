"""Files opened once, decompressed and decoded, whatever their encoding."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Self

from aspectra.base.errors import BadInput
from aspectra.papers.remark import Remark

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["DAMAGE", "InputFile", "open_bytes", "read_head", "read_lines", "read_text", "zstd"]

_HEAD_BYTES = 65_536
DAMAGE = (OSError, EOFError, zlib.error, zstd.ZstdError)
"""What reading a damaged compressed file raises."""

_MAX_BYTES = 512 * 1024 * 1024
_MAX_LINE = 256 * 1024 * 1024
_WIDEST = {int(zstd.DecompressionParameter.window_log_max): 31}
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class InputFile:
    """A file (or folder) to read papers from, opened at most once. Close it, or use it in a ``with``.

    Args:
        path: where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._raw: io.BufferedReader | None = None
        self._stream: IO[bytes] | None = None
        self._head: bytes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        for stream in (self._stream, self._raw):
            if stream is not None:
                stream.close()
        self._raw = self._stream = None

    def _open(self) -> io.BufferedReader:
        if self._raw is None:
            try:
                self._raw = self.path.open("rb")
            except OSError as error:
                raise BadInput(
                    f"cannot open {self.path}", why=error.strerror or str(error), hint="check the path"
                ) from error
        self._raw.seek(0)
        return self._raw

    def digest(self) -> str:
        """SHA-256 of the bytes on disk, in hexadecimal digits.

        Raises:
            BadInput: the file cannot be opened or read.
        """
        with self.damage():
            return hashlib.file_digest(self._open(), "sha256").hexdigest()

    def stream(self) -> IO[bytes]:
        """The bytes from their beginning, decompressed (gzip or Zstandard, told by content).

        Raises:
            BadInput: the file cannot be opened.
        """
        if self._stream is not None:
            self._stream.seek(0)
            return self._stream
        raw = self._open()
        magic = raw.read(4)
        raw.seek(0)
        unpacked: Any = None
        if magic[:2] == b"\x1f\x8b":
            unpacked = gzip.GzipFile(fileobj=raw)
        elif magic == b"\x28\xb5\x2f\xfd":
            unpacked = zstd.ZstdFile(raw, options=_WIDEST)
        # In C, unlike the readline of the two above.
        self._stream = raw if unpacked is None else io.BufferedReader(unpacked, _HEAD_BYTES)
        return self._stream

    @contextlib.contextmanager
    def damage(self) -> Iterator[None]:
        """Turns what reading a damaged file raises into BadInput."""
        try:
            yield
        except DAMAGE as error:
            raise BadInput(
                f"{self.path} is damaged", why=str(error), hint="fetch or export it again"
            ) from error

    @property
    def head(self) -> bytes:
        """The first 64 KiB, decompressed, without a byte order mark, UTF-16 as UTF-8; b"" for a folder."""
        if self._head is None:
            head = b""
            if not self.path.is_dir():
                with self.damage():
                    head = self.stream().read(_HEAD_BYTES)
            if head.startswith(_UTF16):
                head = head.decode("utf-16", "replace").encode("utf-8", "replace")
            self._head = head.removeprefix(b"\xef\xbb\xbf")
        return self._head

    def content(self, max_bytes: int = _MAX_BYTES) -> bytes:
        """All bytes, decompressed.

        Raises:
            BadInput: the file cannot be opened, is damaged, is empty or is larger than ``max_bytes``.
        """
        with self.damage():
            raw = self.stream().read(max_bytes + 1)
        if len(raw) > max_bytes:
            raise BadInput(f"{self.path} is larger than {max_bytes >> 20} MiB", hint="split the file")
        if not raw.strip():
            raise BadInput(f"{self.path} is empty", hint="check that the export or download finished")
        return raw

    def text(self) -> tuple[str, list[Remark]]:
        """The whole file as text, with remarks about its encoding.

        Raises:
            BadInput: as :meth:`content`.
        """
        text, note = _decode(self.content())
        return text, [Remark("file", note, skipped=False)] if note else []

    def lines(self) -> Iterator[tuple[int, str, Remark | None]]:
        """(line number from 1, line without its end, encoding remark or None), streaming.

        A file that turns out damaged ends with a remark that its rest was not read.
        """
        stream = self.stream()
        number = 0
        while True:
            try:
                raw = stream.readline(_MAX_LINE)
            except DAMAGE as error:
                place = f"line {number + 1}"
                yield number + 1, "", Remark(place, f"file is damaged, rest not read: {error}")
                return
            if not raw:
                return
            number += 1
            if number == 1 and raw.startswith(_UTF16):
                text, _ = _decode(raw + stream.read())
                yield from ((n, line, None) for n, line in enumerate(text.splitlines(), 1))
                return
            text, note = _decode(raw.rstrip(b"\r\n"))
            yield number, text, Remark(f"line {number}", note, skipped=False) if note else None


def _decode(raw: bytes) -> tuple[str, str]:
    """Text and a remark: UTF-8 (with or without mark), UTF-16 with mark, else Windows-1252."""
    if raw.startswith(_UTF16):
        return raw.decode("utf-16", "replace"), "read as UTF-16"
    try:
        return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace"), "not valid UTF-8: read as Windows-1252"


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """:meth:`InputFile.stream` of a file."""
    with InputFile(path) as file:
        yield file.stream()


def read_head(path: Path) -> bytes:
    """:attr:`InputFile.head` of a file."""
    with InputFile(path) as file:
        return file.head


def read_text(path: Path) -> tuple[str, list[Remark]]:
    """:meth:`InputFile.text` of a file."""
    with InputFile(path) as file:
        return file.text()


def read_lines(path: Path) -> Iterator[tuple[int, str, Remark | None]]:
    """:meth:`InputFile.lines` of a file."""
    with InputFile(path) as file:
        yield from file.lines()
