"""Files opened once, decompressed and decoded, whatever their encoding.

Those of a folder come in the order of their names, and it is said why others are skipped.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from aspectra.base.decompression import DAMAGE, Bounds, compression_of, decompressed
from aspectra.base.errors import BadInput
from aspectra.papers.paper import Remark

# What every reader refuses, whatever a file claims: the limits that no setting changes.
#
# They are far above what papers have, and low enough that a file made to harm costs less than 1 GB of memory.
# What depends on the collection (compressed sizes, PDF pages, lengths of texts) is in
# :class:`~aspectra.papers.sources.protocol.ReadOptions`.


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of one record and of one file.

    Attributes:
        line_bytes: longest line, and longest JSON record; a book's full text has 5 MB.
        text_bytes: largest file that is one paper as a whole (Markdown, plain text).
        values: most values in one JSON record, and most elements and attributes in one XML record. Each costs
            up to 250 bytes, so this bounds memory where lengths do not: ``{},`` needs 24 bytes a byte.
        fields: most fields of one tagged or BibTeX record; real ones have up to a few hundred.
        entry_chars: longest tagged or BibTeX record.
        expanded_chars: most characters that the abbreviations and parents of one BibTeX file may add.
        front_chars: longest YAML front matter.
        remarks: remarks of one file that are kept one by one; the others are counted.
        skipped: records skipped one after another before the rest of the file is given up.
    """

    line_bytes: int = 32 << 20
    text_bytes: int = 8 << 20
    values: int = 1_000_000
    fields: int = 10_000
    entry_chars: int = 4 << 20
    expanded_chars: int = 32 << 20
    front_chars: int = 65_536
    remarks: int = 10_000
    skipped: int = 100_000


LIMITS = ReadLimits()


_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A path to read, or why it is skipped.

    Attributes:
        path: the file, or the folder that cannot be entered.
        problem: why it is not read, or "".
        named: given by a person, not found in a folder.
    """

    path: Path
    problem: str = ""
    named: bool = False


def walk(folder: Path) -> Iterator[FoundFile]:
    """Every file in a folder and in the folders within it.

    Hidden files are left out. Nothing outside the folder is read: a symbolic link that leads out of it is
    refused, and linked folders are not entered, so that no loop can form. An Aspectra library does not count
    as a folder of papers. If ``folder`` cannot be listed, the only item is ``folder`` itself.
    """
    yield from _walk(folder, folder.resolve(), 0)


def _walk(folder: Path, root: Path, depth: int) -> Iterator[FoundFile]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        yield FoundFile(folder, f"cannot be listed: {error.strerror or error}")
        return
    for path in (folder / name for name in names if not name.startswith(".")):
        kind = _kind(path, root)
        if kind != "folder":
            yield FoundFile(path, "" if kind == "file" else kind)
        elif (path / "library.db").is_file():
            yield FoundFile(path, "an Aspectra library, not a folder of papers")
        elif depth >= _MAX_DEPTH:
            yield FoundFile(path, "too many folders inside one another")
        else:
            yield from _walk(path, root, depth + 1)


def _kind(path: Path, root: Path) -> str:
    """``file``, ``folder``, or why ``path``, found below ``root``, is skipped."""
    try:
        if path.is_symlink():
            target = path.resolve(strict=True)
            if not target.is_relative_to(root):
                return "a symbolic link that leads out of the folder: refused"
            if target.is_dir():
                return "a symbolic link to a folder: not entered"
        mode = path.stat().st_mode
    except (OSError, RuntimeError, ValueError) as error:
        return f"cannot be opened: {error}"
    if stat.S_ISDIR(mode):
        return "folder"
    # Reading a pipe or a device may never end.
    return "file" if stat.S_ISREG(mode) else f"{kind_of_file(mode) or 'something else'}, not a file"


_HEAD_BYTES = 65_536
_MAX_BYTES = 512 * 1024 * 1024
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_PLAIN = "utf-8-sig"
_SEEN = 4096  # bytes in which an encoding without a mark is told
_LEAST_PAIRS = 4
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_NOT_UTF8 = "not valid UTF-8: lines that are not are read as Windows-1252"
_DISK_BLOCK = 512  # bytes, the unit of st_blocks
_KINDS = (
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def kind_of_file(mode: int) -> str:
    """The kind of a special file whose reading may never end, such as ``a pipe (FIFO)``; else ""."""
    return next((name for test, name in _KINDS if test(mode)), "")


class InputFile:
    """A file to read papers from, opened at most once. Close it, or use it in a ``with``.

    Args:
        path: where it is.
        bounds: how far a compressed file may expand.
    """

    def __init__(self, path: Path, bounds: Bounds | None = None) -> None:
        self.path = path
        self._bounds = bounds or Bounds()
        self._raw: io.BufferedReader | None = None
        self._stream: io.BufferedReader | None = None
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
                raw = open(self.path, "rb", opener=_at_once)  # noqa: SIM115 - closed by close()
            except OSError as error:
                raise BadInput(
                    f"cannot open {self.path}", why=error.strerror or str(error), hint="check the path"
                ) from error
            try:
                self._check(os.fstat(raw.fileno()))
            except BadInput:
                raw.close()
                raise
            self._raw = raw
        self._raw.seek(0)
        return self._raw

    def _check(self, facts: os.stat_result) -> None:
        if kind := kind_of_file(facts.st_mode):
            raise not_a_file(self.path, kind)
        on_disk = getattr(facts, "st_blocks", facts.st_size) * _DISK_BLOCK
        if facts.st_size > max(self._bounds.free, self._bounds.ratio * on_disk):
            raise BadInput(
                f"{self.path} is nearly all holes",
                why=f"{facts.st_size:,} bytes long, {on_disk:,} of them on the disk",
                hint="check that the download finished",
            )

    def digest(self) -> str:
        """SHA-256 of the bytes on disk, in hexadecimal digits.

        Raises:
            BadInput: the file cannot be opened or read.
        """
        with self.damage():
            return hashlib.file_digest(self._open(), "sha256").hexdigest()

    def stream(self) -> io.BufferedReader:
        """The bytes from their beginning, decompressed (gzip, Zstandard, bzip2 or xz, told by content).

        Raises:
            BadInput: the file cannot be opened, or is not a file. Reading raises it where the data expand to
                more than the bounds allow, and :data:`DAMAGE` where they are damaged.
        """
        if self._stream is not None:
            self._stream.seek(0)
            return self._stream
        raw = self._open()
        kind = compression_of(raw.read(6))
        raw.seek(0)
        self._stream = decompressed(raw, kind, self._bounds, str(self.path)) if kind else raw
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
        """The first 64 KiB, decompressed, without a byte order mark, UTF-16 as UTF-8."""
        if self._head is None:
            with self.damage():
                head = self.stream().read(_HEAD_BYTES)
            if (coding := _coding(head)) != _PLAIN:
                head = head.decode(coding, "replace").encode("utf-8", "replace")
            self._head = head.removeprefix(b"\xef\xbb\xbf")
        return self._head

    def recoded(self) -> Iterator[bytes] | None:
        """The bytes as UTF-8 where they are UTF-16 or UTF-32, for parsers of bytes; else None.

        Raises:
            BadInput: as :meth:`pieces`.
        """
        with self.damage():
            if _coding(self.stream().peek(_SEEN)) == _PLAIN:
                return None
        return (piece.encode("utf-8", "replace") for piece in self.pieces() if isinstance(piece, str))

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

    def text(self, max_bytes: int = _MAX_BYTES) -> tuple[str, list[Remark]]:
        """The whole file as text, with remarks about its encoding.

        Raises:
            BadInput: as :meth:`content`.
        """
        text, note = _decode(self.content(max_bytes))
        return text, [Remark("file", note, skipped=False)] if note else []

    def pieces(self) -> Iterator[str | Remark]:
        """The text in pieces of up to 64 Ki characters, with remarks about its encoding.

        Each line that is not valid UTF-8 is read as Windows-1252.

        Raises:
            BadInput: the file cannot be opened, or is damaged from here on.
        """
        stream = self.stream()
        with self.damage():
            coding = _coding(stream.peek(_SEEN))
        if note := _note(coding):
            yield Remark("file", note, skipped=False)
        decoder = codecs.getincrementaldecoder(coding)("replace" if note else "strict")
        told = False
        while True:
            with self.damage():
                raw = stream.read(_HEAD_BYTES)
            held = decoder.getstate()[0]
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeDecodeError:
                if not told:
                    yield Remark("file", _NOT_UTF8, skipped=False)
                told = True
                decoder.reset()
                with self.damage():
                    text = _by_line(held + raw + stream.readline(_HEAD_BYTES))
            if text:
                yield text
            if not raw:
                return

    def text_lines(self) -> Iterator[tuple[int, str] | Remark]:
        """(line number from 1, line without its end), whatever the line ends are; remarks as :meth:`pieces`.

        A line longer than a record may be is left out, with a remark.

        Raises:
            BadInput: as :meth:`pieces`.
        """
        number, held, longest = 1, "", LIMITS.line_bytes
        parts: list[str] = []
        size = 0
        for piece in self.pieces():
            if isinstance(piece, Remark):
                yield piece
                continue
            text = held + piece
            held = "\r" if text.endswith("\r") else ""  # perhaps half of a line end
            text = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n")
            *whole, last = text.split("\n")
            for line in whole:
                size += len(line)
                if size > longest:
                    yield _too_long(number)
                else:
                    yield number, "".join([*parts, line])
                number, parts, size = number + 1, [], 0
            size += len(last)
            parts = [*parts, last] if size <= longest and last else parts if size <= longest else []
        if size > longest:
            yield _too_long(number)
        elif size:
            yield number, "".join(parts)

    def lines(self) -> Iterator[tuple[int, str, Remark | None]]:
        """(line number from 1, line without its end, remark or None), streaming; lines end with a line feed.

        A remark tells of an encoding, or of a line too long to be a record, which is left out. A file that
        turns out damaged ends with a remark that its rest was not read.
        """
        stream = self.stream()
        coding = _PLAIN
        with contextlib.suppress(*DAMAGE):  # it is met again below
            coding = _coding(stream.peek(_SEEN))
        if coding != _PLAIN:
            for line in self.text_lines():
                if isinstance(line, tuple):
                    yield line[0], line[1], None
                elif line.skipped:
                    yield 0, "", line
            return
        number = 0
        while True:
            number += 1
            try:
                raw = stream.readline(LIMITS.line_bytes)
                whole = len(raw) < LIMITS.line_bytes or raw.endswith(b"\n")
                more = raw
                while not whole and more and not more.endswith(b"\n"):
                    more = stream.readline(_HEAD_BYTES)
            except DAMAGE as error:
                place = f"line {number}"
                yield number, "", Remark(place, f"file is damaged, rest not read: {error}")
                return
            if not raw:
                return
            if not whole:
                yield number, "", _too_long(number)
                continue
            text, note = _decode(raw.rstrip(b"\r\n"), _PLAIN)
            yield number, text, Remark(f"line {number}", note, skipped=False) if note else None


def _at_once(name: str, flags: int) -> int:
    """Open a file; unlike ``open``, do not wait for somebody to write into a pipe."""
    return os.open(name, flags | _NO_WAITING)


def not_a_file(path: Path, kind: str) -> BadInput:
    """The error for something other than a file; ``kind`` is from :func:`kind_of_file`."""
    return BadInput(
        f"{path} is {kind}, not a file",
        why="reading it may never end",
        hint="save what it gives in a file, and add that",
    )


def _too_long(number: int) -> Remark:
    return Remark(f"line {number}", f"longer than {LIMITS.line_bytes >> 20} MiB: left out")


def _coding(head: bytes) -> str:
    """The encoding of a text that begins so: by its byte order mark, else UTF-16 where zero bytes show it.

    Of Latin text in UTF-16 every other byte is zero, always on the same side. Other scripts without a mark
    are not distinguished from binary data.
    """
    for mark, coding in _MARKS:
        if head.startswith(mark):
            return coding
    head = head[:_SEEN]
    even, odd, pairs = head[::2].count(0), head[1::2].count(0), len(head) // 2
    if pairs >= _LEAST_PAIRS and not min(even, odd) and max(even, odd) * 2 > pairs:
        return "utf-16-le" if odd else "utf-16-be"
    return _PLAIN


def _note(coding: str) -> str:
    return "" if coding == _PLAIN else f"read as {coding[:6].upper()}"


def _decode(raw: bytes, coding: str = "") -> tuple[str, str]:
    """Text and a remark: in the encoding of :func:`_coding`, and Windows-1252 where it is not UTF-8."""
    coding = coding or _coding(raw)
    if coding != _PLAIN:
        return raw.decode(coding, "replace").removeprefix("\ufeff"), _note(coding)
    try:
        return raw.decode(_PLAIN), ""
    except UnicodeDecodeError:
        return _by_line(raw), _NOT_UTF8


def _by_line(raw: bytes) -> str:
    """The text of bytes of which not all are UTF-8: the lines that are not are read as Windows-1252."""
    parts = []
    for line in raw.splitlines(keepends=True):
        try:
            parts.append(line.decode(_PLAIN))
        except UnicodeDecodeError:
            parts.append(line.decode("cp1252", "replace"))
    return "".join(parts)


def read_text(path: Path) -> tuple[str, list[Remark]]:
    """:meth:`InputFile.text` of a file."""
    with InputFile(path) as file:
        return file.text()


def read_lines(path: Path) -> Iterator[tuple[int, str, Remark | None]]:
    """:meth:`InputFile.lines` of a file."""
    with InputFile(path) as file:
        yield from file.lines()
