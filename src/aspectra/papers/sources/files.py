"""Opening what people have on disk: compressed or not, in whatever encoding."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from aspectra.base.errors import BadInput
from aspectra.papers.sources.protocol import Remark

__all__ = ["HEAD_BYTES", "ZstdFrames", "clean", "cut", "open_bytes", "read_head", "read_lines", "read_text"]

HEAD_BYTES = 65_536
_MAX_LINE = 256 * 1024 * 1024
# What decompressors raise on damaged data.
_DAMAGE = (OSError, EOFError, zlib.error, zstandard.ZstdError)
# Control characters other than tab, newline and carriage return: they carry no text and break terminals.
# A terminal sequence goes whole: its letters ("[31m") are no text either.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class ZstdFrames:
    """Decompresses Zstandard frames block by block and knows whether the last one ended.

    The library's own stream readers take a file that was cut off for one that ends.
    """

    def __init__(self) -> None:
        self.ended = True
        self._engine = zstandard.ZstdDecompressor(max_window_size=2**31)
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def feed(self, block: bytes) -> bytes:
        """The text that a further block of the file completes."""
        out = []
        while block:
            if self._frame is None:
                self._frame = self._engine.decompressobj()
                self.ended = False
            out.append(self._frame.decompress(block))
            block = b""
            if self._frame.eof:
                block = self._frame.unused_data
                self._frame = None
                self.ended = True
        return b"".join(out)


class _ZstdFile(io.RawIOBase):
    """A Zstandard file as a stream; a file that was cut off raises EOFError at its end."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._frames = ZstdFrames()
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            block = self._raw.read(HEAD_BYTES)
            if not block:
                if not self._frames.ended:
                    raise EOFError("the compressed file was cut off")
                return 0
            self._held = self._frames.feed(block)
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, decompressed (gzip or Zstandard, told by content). The caller closes it.

    Raises:
        BadInput: the file cannot be opened.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise BadInput(
            f"cannot open {path}", why=error.strerror or str(error), hint="check the path"
        ) from error
    magic = raw.read(4)
    raw.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if magic == b"\x28\xb5\x2f\xfd":
        return cast("IO[bytes]", io.BufferedReader(_ZstdFile(raw), HEAD_BYTES))
    return raw


def read_head(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The first ``size`` decompressed bytes; b"" for a folder."""
    if path.is_dir():
        return b""
    with open_bytes(path) as stream:
        try:
            return stream.read(size)
        except _DAMAGE as error:
            raise BadInput(f"{path} is damaged", why=str(error), hint="fetch or export it again") from error


def _decode(raw: bytes) -> tuple[str, str]:
    """Text and a remark: UTF-8 (with or without mark), UTF-16 with mark, else Windows-1252."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace"), "read as UTF-16"
    try:
        return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace"), "not valid UTF-8: read as Windows-1252"


def read_text(path: Path, *, max_bytes: int = 512 * 1024 * 1024) -> tuple[str, list[Remark]]:
    """A whole file as text, with remarks about its encoding.

    Raises:
        BadInput: the file cannot be opened, is damaged, is empty or is larger than ``max_bytes``.
    """
    with open_bytes(path) as stream:
        try:
            raw = stream.read(max_bytes + 1)
        except _DAMAGE as error:
            raise BadInput(f"{path} is damaged", why=str(error), hint="fetch or export it again") from error
    if len(raw) > max_bytes:
        raise BadInput(f"{path} is larger than {max_bytes >> 20} MiB", hint="split the file")
    if not raw.strip():
        raise BadInput(f"{path} is empty", hint="check that the export finished")
    text, note = _decode(raw)
    return text, [Remark("file", note, skipped=False)] if note else []


def read_lines(path: Path) -> Iterator[tuple[int, str, Remark | None]]:
    """(line number from 1, line without its end, encoding remark or None), streaming.

    A file that turns out damaged ends with a remark that its rest was not read.
    """
    number = 0
    with open_bytes(path) as stream:
        while True:
            try:
                raw = stream.readline(_MAX_LINE)
            except _DAMAGE as error:
                place = f"line {number + 1}"
                yield number + 1, "", Remark(place, f"file is damaged, rest not read: {error}")
                return
            if not raw:
                return
            number += 1
            if number == 1 and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                text, _ = _decode(raw + stream.read())
                for line in text.splitlines():
                    yield number, line, None
                    number += 1
                return
            text, note = _decode(raw.rstrip(b"\r\n"))
            yield number, text, Remark(f"line {number}", note, skipped=False) if note else None


def clean(text: object) -> str:
    """Text without control characters, with plain newlines, stripped at both ends; None gives ""."""
    if text is None:
        return ""
    out = str(text).replace("\r\n", "\n").replace("\r", "\n")
    # A lone surrogate cannot be stored as UTF-8.
    out = out.encode("utf-8", "replace").decode("utf-8")
    return _CONTROL.sub("", out).strip()


def cut(text: str, limit: int, place: str, what: str) -> tuple[str, Remark | None]:
    """``text`` within ``limit`` characters, and a remark when it had to be cut."""
    if len(text) <= limit:
        return text, None
    note = f"{what} of {len(text):,} characters cut at {limit:,}"
    return text[:limit], Remark(place, note, skipped=False)
