"""The process that opens a PDF or an old workbook, apart from everything else.

Run by :mod:`aspectra.papers.sources.children` with the file on standard input and the limits as one JSON
argument. It writes one JSON object per line to standard output: the document, each page or row as it is read,
then ``{"end": ...}``; the reader can use these even if the process dies.

It imports nothing of the package and limits its own memory, processor time and output: a file that is large,
slow or damaged ends only this process. That is not a sandbox. A fault in Python or PDFium that runs code of
the file's choice gives it the rights of the user; the audit hook refuses connections, programs and writing
files, which stops accidents, not an attacker.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import json
import math
import os
import sys
import time
from typing import Any

_REFUSED = (
    *("socket.", "subprocess.", "ctypes.dlopen", "os.exec", "os.fork", "os.posix_spawn", "os.spawn"),
    *("os.system", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"),
    "os.chmod",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MAX_PAGE = 400_000  # characters of one page
_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_IMAGE = 3  # FPDF_PAGEOBJ_IMAGE
_INVISIBLE = 3  # FPDF_TEXTRENDERMODE_INVISIBLE
_FEW = 400  # characters of a page below which its images are counted
_SPACES = frozenset((9, 32, 160, 0x3000, *range(0x2000, 0x200B)))
_HYPHEN = 2  # what PDFium writes for a hyphen at the end of a line


def main() -> int:
    """Read the file on standard input; 0 when an answer was given, whatever it says."""
    limits = json.loads(sys.argv[1])
    _limit(int(limits["memory_mb"]), float(limits["seconds"]))
    try:
        (_sheets if limits.get("what") == "sheets" else _read)(limits)
    except MemoryError:
        _say({"error": "memory", "detail": f"needs more than {limits['memory_mb']} MiB"})
    except RecursionError:
        _say({"error": "damaged", "detail": "objects nested too deeply"})
    except Exception as error:
        _say({"error": "damaged", "detail": f"{type(error).__name__}: {error}"[:300]})
    return 0


def _limit(memory_mb: int, seconds: float) -> None:
    """Limits of the operating system, where it has them."""
    try:
        import resource
    except ImportError:  # Windows: the parent's wall clock remains
        return
    wanted = {
        "RLIMIT_AS": memory_mb << 20,
        "RLIMIT_CPU": int(seconds) + 2,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
    }
    for name, value in wanted.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):  # macOS refuses some of them
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (limit, limit))


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REFUSED):
        raise PermissionError(f"not while reading a file: {event}")
    if event != "open":
        return
    _, mode, flags = (*arguments, None, 0)[:3]
    named = isinstance(mode, str) and any(mark in mode for mark in "wax+")
    if named or (isinstance(flags, int) and flags & _WRITING):
        raise PermissionError("not while reading a file: open for writing")


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _read(limits: dict[str, Any]) -> None:
    import pypdfium2
    from pypdfium2 import raw

    sys.addaudithook(_guard)
    # A little before the parent's clock, so that a slow file still ends in order.
    deadline = time.monotonic() + 0.8 * float(limits["seconds"])
    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer)
    except pypdfium2.PdfiumError as error:
        locked = getattr(error, "err_code", None) == _PASSWORD_ERROR
        _say({"error": "encrypted"} if locked else {"error": "damaged", "detail": str(error)[:300]})
        return
    count = len(document)
    version = f"{pypdfium2.PYPDFIUM_INFO} (PDFium {pypdfium2.PDFIUM_INFO.build})"
    _say({"version": version, "pages": count, "info": _info(document)})
    left = int(limits["chars"])
    for number in range(min(count, int(limits["pages"]))):
        if time.monotonic() > deadline:
            _say({"end": "time"})
            return
        page = _page(document, number, raw, min(left, _MAX_PAGE))
        left -= page["chars"]
        _say(page)
        if left <= 0:
            _say({"end": "chars"})
            return
    _say({"end": "pages" if count > int(limits["pages"]) else "all"})


def _sheets(limits: dict[str, Any]) -> None:
    """The rows of a workbook's sheets, those without anything left out."""
    import python_calamine

    sys.addaudithook(_guard)
    deadline = time.monotonic() + 0.8 * float(limits["seconds"])
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(sys.stdin.buffer)
    except python_calamine.PasswordError:
        _say({"error": "encrypted"})
        return
    left = int(limits["chars"])
    for name in book.sheet_names:
        _say({"sheet": name})
        sheet = book.get_sheet_by_name(name)
        first = (sheet.start or (0, 0))[0]
        for number, row in enumerate(sheet.iter_rows(), first + 1):
            cells = [_cell(value) for value in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                _say({"row": number, "cells": cells})
                left -= sum(map(len, cells)) + len(cells)
            if left <= 0 or time.monotonic() > deadline:
                _say({"end": "chars" if left <= 0 else "time"})
                return
    _say({"end": "all"})


def _cell(value: Any) -> str:
    """A value as it is written: 2014 for 2014.0, a date in ISO 8601."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _info(document: Any) -> dict[str, str]:
    """The document information, texts only."""
    try:
        found = document.get_metadata_dict(skip_empty=True)
    except MemoryError:
        raise
    except Exception:
        return {}  # a damaged dictionary should not lose the text
    return {str(key)[:60]: str(value)[:2000] for key, value in found.items()}


def _page(document: Any, number: int, raw: Any, most: int) -> dict[str, Any]:
    """The runs of text of a page, without text that nobody can see."""
    message: dict[str, Any] = {"page": number + 1, "runs": [], "styles": [], "chars": 0}
    try:
        page = document[number]
        try:
            left, bottom, right, top = page.get_bbox()
            text = page.get_textpage()
            try:
                reading = _Runs(raw, text.raw, (left, bottom, right, top))
                message["size"] = reading.read(most)
            finally:
                text.close()
            message |= {"runs": reading.runs, "styles": reading.styles}
            message |= {"chars": reading.count, "hidden": reading.hidden}
            if reading.count < _FEW:
                message["images"] = round(_image_share(page), 2)
        finally:
            page.close()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        message["fault"] = f"{type(error).__name__}: {error}"[:200]
    return message


def _image_share(page: Any) -> float:
    """Share of the page that images cover (overlaps count twice), at most 1."""
    covered = 0.0
    for item in page.get_objects(filter=[_IMAGE], max_depth=3):
        left, bottom, right, top = item.get_bounds()
        covered += max(0.0, right - left) * max(0.0, top - bottom)
    width, height = page.get_size()
    return min(1.0, float(covered / max(1.0, width * height)))


class _Runs:
    """Characters of a page gathered into runs: one font, size and line, no gap wider than a letter.

    A run is ``[text, left, top, right, bottom, baseline, size, style, joint]``: points from the top left
    corner of the page; ``joint`` is 0 when it follows the run before without a blank, 1 with one, 2 when it
    begins a new piece of line, and 9 for text at another angle than most of the page (stamps in the margin,
    labels of axes), whose places mean nothing. Pages are turned so that most of their text is upright. Styles
    are ``[font name, weight, italic]``.

    Text in type below 2 points or outside the page is taken out. White text (the ground may be dark) and the
    invisible mode (recognised text under a scan) are only counted.
    """

    def __init__(self, raw: Any, text: Any, box: tuple[float, float, float, float]) -> None:
        self.runs: list[list[Any]] = []
        self.styles: list[list[Any]] = []
        self.hidden = {"tiny": 0, "off_page": 0, "white": 0, "invisible": 0}
        self.count = 0
        self._raw, self._text, self._box = raw, text, box
        self._style_numbers: dict[tuple[str, int, bool], int] = {}
        self._objects: dict[int, tuple[int, float, int, str]] = {}
        self._turns: list[int] = []
        self._tallest: dict[int, float] | None = None

    def read(self, most: int) -> list[float]:
        """Fill ``runs`` with at most ``most`` characters; returns the width and height of the page."""
        raw, text = self._raw, self._text
        x, y, box = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
        joint, end, base, key = 2, 0.0, 0.0, None
        for i in range(raw.FPDFText_CountChars(text)):
            code = raw.FPDFText_GetUnicode(text, i)
            if code in (10, 13):
                joint = 2
                continue
            if code in _SPACES:
                joint = max(joint, 1)
                continue
            style, size, turn, kind = self._object(i)
            raw.FPDFText_GetCharOrigin(text, i, x, y)
            kind = self._place(x.value, y.value) or kind
            if kind:
                self.hidden[kind] += 1
                if kind in ("tiny", "off_page"):
                    continue
            if self.count >= most:
                break
            self.count += 1
            raw.FPDFText_GetLooseCharBox(text, i, box)
            if box.top - box.bottom > 3 * size and turn == 0:  # a bitmap font's box is that of its tallest
                box.bottom, box.top = y.value - 0.25 * size, y.value + 0.8 * size
            left, low, right, high = _turned(turn, box.left, box.bottom, box.right, box.top)
            _, level, _, _ = _turned(turn, x.value, y.value, x.value, y.value)
            gap = left - end
            if key != (style, size, turn) or abs(level - base) > 0.08 * size:
                same = False
                joint = joint if -size < gap < 0.9 * size else 2
            else:
                same = joint < 2 and -size < gap < 0.9 * size
                joint = joint if same else 2
            letter = _letter(code)
            if same and self.runs:
                run = self.runs[-1]
                # Two blanks for a wide gap: they separate names in a row.
                run[0] += ("  " if gap > 0.5 * size else " ") + letter if joint else letter
                run[1], run[2] = min(run[1], left), min(run[2], low)
                run[3], run[4] = max(run[3], right), max(run[4], high)
            else:
                self.runs.append([letter, left, low, right, high, level, size, style, joint])
                self._turns.append(turn)
            key, end, base = (style, size, turn), right, level
            joint = 2 if code == _HYPHEN else 0
        return self._upright()

    def _object(self, i: int) -> tuple[int, float, int, str]:
        """(style, size, quarter turns or -1, "tiny", "white", "invisible" or "") of a character."""
        raw, text = self._raw, self._text
        item = raw.FPDFText_GetTextObject(text, i)
        address = ctypes.cast(item, ctypes.c_void_p).value or 0
        if address in self._objects and address:
            return self._objects[address]
        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(text, i, matrix)
        size = abs(raw.FPDFText_GetFontSize(text, i)) * math.hypot(matrix.c, matrix.d)
        angle = math.degrees(math.atan2(matrix.b, matrix.a)) / 90
        turn = round(angle) % 4 if abs(angle - round(angle)) < 0.03 else -1
        name, weight, italic = self._font(i)
        bitmap = not name
        if bitmap:
            # A Type 3 font has no size of its own: its tallest glyph tells, which is about 0.8 of it.
            size = self._heights().get(self._font_address(item), 0.0) / 0.8 or size
        number = self._style_numbers.setdefault((name, weight, italic), len(self.styles))
        if number == len(self.styles):
            self.styles.append([name, weight, italic])
        kind = "tiny" if 0 < size < 2 and not bitmap else self._colour(item)
        found = (number, round(size, 1) or 1.0, turn, kind)
        self._objects[address] = found
        return found

    def _font(self, i: int) -> tuple[str, int, bool]:
        raw = self._raw
        buffer, flags = ctypes.create_string_buffer(200), ctypes.c_int()
        raw.FPDFText_GetFontInfo(self._text, i, buffer, 200, flags)
        name = buffer.value.decode("utf-8", "replace")
        if len(name) > 7 and name[6] == "+":
            name = name[7:]
        return name, max(0, raw.FPDFText_GetFontWeight(self._text, i)), bool(flags.value & 64)

    def _font_address(self, item: Any) -> int:
        return ctypes.cast(self._raw.FPDFTextObj_GetFont(item), ctypes.c_void_p).value or 0 if item else 0

    def _heights(self) -> dict[int, float]:
        """Height of the tallest glyph of every font on the page, in points."""
        if self._tallest is None:
            raw, self._tallest = self._raw, {}
            sides = [ctypes.c_double() for _ in range(4)]
            for i in range(raw.FPDFText_CountChars(self._text)):
                address = self._font_address(raw.FPDFText_GetTextObject(self._text, i))
                raw.FPDFText_GetCharBox(self._text, i, *sides)  # left, right, bottom, top
                height = min(sides[3].value - sides[2].value, 40.0)
                self._tallest[address] = max(height, self._tallest.get(address, 0.0))
        return self._tallest

    def _colour(self, item: Any) -> str:
        raw = self._raw
        if not item:
            return ""
        if raw.FPDFTextObj_GetTextRenderMode(item) == _INVISIBLE:
            return "invisible"
        shades = [ctypes.c_uint() for _ in range(4)]
        raw.FPDFPageObj_GetFillColor(item, *shades)
        return "white" if all(shade.value == 255 for shade in shades[:3]) else ""

    def _place(self, x: float, y: float) -> str:
        left, bottom, right, top = self._box
        inside = left - 20 <= x <= right + 20 and bottom - 20 <= y <= top + 20
        return "" if inside else "off_page"

    def _upright(self) -> list[float]:
        """Measure everything from the top left corner of the page as it is read."""
        letters = [0, 0, 0, 0]
        for run, turn in zip(self.runs, self._turns, strict=True):
            if turn >= 0:
                letters[turn] += len(run[0])
        most = letters.index(max(letters))
        left, low, right, high = _turned(most, *self._box)
        for run, turn in zip(self.runs, self._turns, strict=True):
            if turn != most:
                run[8] = 9
            bottom, top = high - run[2], high - run[4]
            run[1:6] = [round(v, 1) for v in (run[1] - left, top, run[3] - left, bottom, high - run[5])]
        return [round(right - left, 1), round(high - low, 1)]


def _turned(turn: int, left: float, low: float, right: float, high: float) -> tuple[float, ...]:
    """A box (left, low, right, high) after ``turn`` quarter turns clockwise."""
    if turn == 1:
        return low, -right, high, -left
    if turn == 2:
        return -right, -high, -left, -low
    if turn == 3:
        return -high, left, -low, right
    return left, low, right, high


def _letter(code: int) -> str:
    if code == _HYPHEN:
        return "-"
    # A glyph without a letter is counted as such, not dropped.
    return chr(code) if code and not 0xD800 <= code < 0xE000 else "\ufffd"


if __name__ == "__main__":
    sys.exit(main())
