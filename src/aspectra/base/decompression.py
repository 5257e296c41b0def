"""The one way to decompress bytes from elsewhere: block by block, bounded by size, by ratio and by window.

A few kilobytes can hold terabytes. Nothing here needs more memory than one block, the input it came from and
the window of the format, which is bounded too, whatever the data claim.
"""

from __future__ import annotations

import bz2
import io
import lzma
import shlex
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from aspectra.base.errors import BadInput

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError)
"""What reading a damaged compressed file raises."""

_BLOCK = 65_536  # bytes in one decompressed block
_PIECE = 16_384  # bytes fed at once: what is behind the end of a member is copied for each member
_WINDOW_LOG = 27  # zstd windows of 128 MiB, the largest that its command line takes without an option
_LZMA_MEMORY = 160 << 20  # bytes; `xz -9` needs 65 MiB to decompress
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bz2"),
    (b"\xfd7zXZ\x00", "xz"),
)
_COMMANDS = {"gzip": "gzip -dk", "zstd": "zstd -d --long=31", "bz2": "bzip2 -dk", "xz": "xz -dk"}
_LARGE_WINDOW = "Frame requires too much memory"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on the size of decompressed data.

    Attributes:
        size: most bytes in all.
        ratio: most bytes for each byte of input. Text is compressed 3 to 30 times, zeros 1,000 times or more.
        free: bytes that are allowed whatever the ratio, because small files can repeat themselves.
    """

    size: int = 16 << 30
    ratio: int = 100
    free: int = 16 << 20


class Expansion:
    """Counts what goes in and what comes out, and refuses what :class:`Bounds` does not allow.

    Args:
        bounds: the limits.
        name: what grows, for messages.
        hint: the way on, for messages.
    """

    def __init__(self, bounds: Bounds, name: str, hint: str = "") -> None:
        self.read = self.made = 0
        self._bounds, self._name, self._hint = bounds, name, hint

    def grow(self, count: int) -> None:
        """Count ``count`` more bytes made.

        Raises:
            BadInput: they are more than allowed.
        """
        self.made += count
        bounds = self._bounds
        if self.made > bounds.size:
            what, why = "expands to too much", f"the limit is {_mebibytes(bounds.size)}"
        elif self.made > bounds.free and self.made > bounds.ratio * self.read:
            what = f"expands more than {bounds.ratio:,} times"
            why = f"{self.read:,} bytes of it gave more than {_mebibytes(self.made)}"
        else:
            return
        raise BadInput(f"{self._name} {what}", why=why, hint=self._hint)


def _mebibytes(count: int) -> str:
    return f"{count >> 20:,} MiB" if count >= 1 << 20 else f"{count:,} bytes"


def compression_of(head: bytes) -> str:
    """``gzip``, ``zstd``, ``bz2`` or ``xz`` by the first six bytes; "" for anything else.

    >>> compression_of(bytes.fromhex("1f8b0800")), compression_of(b"@article")
    ('gzip', '')
    """
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), "")


class _Gzip:
    """The interface of the other decompressors over zlib's; reads zlib's own header too."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=47)
        self._full = False

    def decompress(self, data: bytes, max_length: int) -> bytes:
        found = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self._full = len(found) == max_length
        return found

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self.eof and not self._full and not self._inner.unconsumed_tail


def _decompressor(kind: str) -> Any:
    if kind == "zstd":
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})
    if kind == "bz2":
        return bz2.BZ2Decompressor()
    if kind == "xz":
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY)
    return _Gzip()


class Decompressor:
    """Decompresses what it is fed, whatever the sizes of the parts.

    Args:
        kind: from :func:`compression_of`; members and frames may follow one another.
        bounds: the limits.
        name: of the file or answer, for messages.
        hint: the way on where a limit is reached; for a file, that it can be decompressed by hand.
    """

    def __init__(self, kind: str, bounds: Bounds, name: str, hint: str = "") -> None:
        self._kind = kind
        self._name = name
        self._hint = hint or f"if you trust it, decompress it first: {_COMMANDS[kind]} {shlex.quote(name)}"
        self._count = Expansion(bounds, name, self._hint)
        self._member: Any = None  # between members

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The blocks, of at most 64 KiB, that ``data`` completes.

        Raises:
            BadInput: a limit is reached.
            OSError, EOFError, zlib.error, LZMAError, ZstdError: the data are damaged.
        """
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            self._count.read += len(piece)
            yield from self._piece(piece)

    def _piece(self, piece: bytes) -> Iterator[bytes]:
        while True:
            if self._member is None:
                if not (piece := piece.lstrip(b"\0")):  # padding between members
                    return
                self._member = _decompressor(self._kind)
            block = self._decompress(piece)
            if block:
                self._count.grow(len(block))
                yield block
            if self._member.eof:
                piece, self._member = self._member.unused_data, None
            elif self._member.needs_input:
                return
            else:
                piece = b""

    def _decompress(self, piece: bytes) -> bytes:
        try:
            block: bytes = self._member.decompress(piece, _BLOCK)
        except (zstd.ZstdError, lzma.LZMAError) as error:
            if _LARGE_WINDOW not in str(error) and "Memory usage limit" not in str(error):
                raise
            raise BadInput(
                f"{self._name} needs too much memory to decompress",
                why=f"its window is larger than {1 << (_WINDOW_LOG - 20)} MiB",
                hint=self._hint,
            ) from error
        return block

    def finish(self) -> None:
        """Check that the data ended where a member did.

        Raises:
            EOFError: they were cut off.
        """
        if self._member is not None:
            raise EOFError("the compressed data end too early")


class _Decompressed(io.RawIOBase):
    """A compressed file as one that can be read, and read again from its beginning."""

    def __init__(self, raw: IO[bytes], kind: str, bounds: Bounds, name: str) -> None:
        self._raw, self._made_from = raw, (kind, bounds, name)
        self._rewind()

    def _rewind(self) -> None:
        self._raw.seek(0)
        self._blocks = self._read_blocks()
        self._left = memoryview(b"")
        self._at = 0
        self._failure: Exception | None = None

    def _read_blocks(self) -> Iterator[bytes]:
        decompressor = Decompressor(*self._made_from)
        while data := self._raw.read(_PIECE):
            yield from decompressor.feed(data)
        decompressor.finish()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence != 0 or offset not in (0, self._at):
            raise io.UnsupportedOperation("only back to the beginning")
        if offset != self._at:
            self._rewind()
        return offset

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        if self._failure is not None:  # damage stays damage, and is not taken for the end
            raise self._failure
        if not self._left:
            try:
                self._left = memoryview(next(self._blocks, b""))
            except (BadInput, *DAMAGE) as error:
                self._failure = error
                raise
        count = min(len(room), len(self._left))
        room[:count] = self._left[:count]
        self._left = self._left[count:]
        self._at += count
        return count


def decompressed(raw: IO[bytes], kind: str, bounds: Bounds, name: str) -> io.BufferedReader:
    """A file that reads as the decompressed bytes of ``raw``; it can be read again after ``seek(0)``.

    Args:
        raw: a file that can be read again from its beginning; it stays open.
        kind: from :func:`compression_of`.
        bounds: the limits.
        name: of the file, for messages.

    Reading raises:
        BadInput: a limit is reached; the message names the file, the limit and the way on.
        OSError, EOFError, zlib.error, LZMAError, ZstdError: the file is damaged or cut off.
    """
    return io.BufferedReader(_Decompressed(raw, kind, bounds, name), _BLOCK)
