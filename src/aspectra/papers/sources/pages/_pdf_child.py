"""The process that opens a PDF, apart from everything else.

Run by :mod:`aspectra.papers.sources.pages.pdf` with the file on standard input and the limits as one JSON
argument. It answers on standard output with one JSON object a line: the document, then each page as it is
read, then ``{"end": ...}``; the reader can use the pages even if the process dies.

It imports nothing of the package and limits its own memory, processor time and output: a file that is large,
slow or damaged ends this process and no other. That is no sandbox. A fault in Python or pypdf that runs code
of the file's choice gives it the rights of the user; the audit hook refuses connections, programs and writing
files, which stops accidents and not an attacker.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from typing import Any

__all__ = ["main"]

_REFUSED = (
    *("socket.", "subprocess.", "ctypes.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"),
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MAX_PAGE = 400_000  # characters of one page
_MAX_SPANS = 400  # pieces of the first page told with their size, for the title


def main() -> int:
    """Read the PDF on standard input; 0 when an answer was given, whatever it says."""
    limits = json.loads(sys.argv[1])
    _limit(int(limits["memory_mb"]), float(limits["seconds"]))
    try:
        _read(limits)
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
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        try:
            hard = resource.getrlimit(kind)[1]
            limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):
            continue  # macOS refuses some of them


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REFUSED):
        raise PermissionError(f"not while reading a PDF: {event}")
    if event != "open":
        return
    _, mode, flags = (*arguments, None, 0)[:3]
    named = isinstance(mode, str) and any(mark in mode for mark in "wax+")
    if named or (isinstance(flags, int) and flags & _WRITING):
        raise PermissionError("not while reading a PDF: open for writing")


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _read(limits: dict[str, Any]) -> None:
    import pypdf
    from pypdf.errors import FileNotDecryptedError, PdfReadError

    sys.addaudithook(_guard)
    logging.disable(logging.CRITICAL)
    # A little before the parent's clock, so that a slow file still ends in order.
    deadline = time.monotonic() + 0.8 * float(limits["seconds"])
    try:
        reader = pypdf.PdfReader(sys.stdin.buffer, strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            _say({"error": "encrypted"})
            return
        count = len(reader.pages)
    except FileNotDecryptedError:
        _say({"error": "encrypted"})
        return
    except pypdf.errors.DependencyError as error:
        _say({"error": "encrypted", "detail": str(error)[:300]})
        return
    except PdfReadError as error:
        _say({"error": "damaged", "detail": str(error)[:300]})
        return
    _say({"version": pypdf.__version__, "pages": count, "info": _info(reader)})
    left = int(limits["chars"])
    for number in range(min(count, int(limits["pages"]))):
        if time.monotonic() > deadline:
            _say({"end": "time"})
            return
        page = _page(reader, number)
        page["text"] = page["text"][: min(left, _MAX_PAGE)]
        left -= len(page["text"])
        _say(page)
        if left <= 0:
            _say({"end": "chars"})
            return
    _say({"end": "pages" if count > int(limits["pages"]) else "all"})


def _info(reader: Any) -> dict[str, str]:
    """The document information, texts only."""
    found: dict[str, str] = {}
    try:
        for key, value in dict(reader.metadata or {}).items():
            if isinstance(value, str) and value.strip():
                found[str(key).lstrip("/")[:60]] = value[:2000]
    except MemoryError:
        raise
    except Exception:
        return found  # a damaged dictionary is no reason to lose the text
    return found


def _page(reader: Any, number: int) -> dict[str, Any]:
    """Text of a page without invisible text; of the first page also the size of its pieces."""
    try:
        page = reader.pages[number]
        watch = _Watch(page, spans=number == 0)
        text = page.extract_text(
            visitor_operand_before=watch.before, visitor_operand_after=watch.after, visitor_text=watch.text
        )
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        return {"page": number + 1, "text": "", "fault": f"{type(error).__name__}: {error}"[:200]}
    return {"page": number + 1, "text": text or "", "hidden": watch.hidden, "spans": watch.spans}


class _Watch:
    """Observes the reading of a page: type sizes, for the title, and text that a person would not see.

    Text in type below 2 points or outside the page is taken out. White text (the ground may be dark)
    and the invisible mode (recognised text under a scan) are only counted. Inside form objects, whose place
    and scale pypdf does not tell, nothing is judged; nor are Type 3 fonts, whose size means nothing.
    """

    def __init__(self, page: Any, *, spans: bool) -> None:
        self.spans: list[tuple[float, str]] = []
        self.hidden: dict[str, int] = {"tiny": 0, "off_page": 0, "white": 0, "invisible": 0}
        self._want_spans = spans
        self._box = [float(value) for value in page.mediabox]
        self._bitmap = self._bitmap_fonts(page)
        self._forms = 0
        self._size: float | None = None
        self._white = False
        self._mode = 0
        self._saved: list[tuple[float | None, bool, int]] = []

    @staticmethod
    def _bitmap_fonts(page: Any) -> set[str]:
        found = set()
        try:
            for name, font in page["/Resources"]["/Font"].items():
                if font.get_object().get("/Subtype") == "/Type3":
                    found.add(str(name))
        except (KeyError, AttributeError, TypeError):
            return found
        return found

    def before(self, operator: bytes, operands: Any, cm: Any, tm: Any) -> None:
        """Follow the graphics state, and empty the operands of invisible text."""
        if operator == b"Do":
            self._forms += 1
        elif operator == b"q":
            if len(self._saved) < 1000:
                self._saved.append((self._size, self._white, self._mode))
        elif operator == b"Q":
            if self._saved:
                self._size, self._white, self._mode = self._saved.pop()
        elif operator == b"Tf" and len(operands) == 2:
            self._size = None if str(operands[0]) in self._bitmap else _number(operands[1])
        elif operator == b"Tr" and operands:
            self._mode = int(_number(operands[0]) or 0)
        elif operator in (b"g", b"rg", b"k", b"sc", b"scn"):
            values = [_number(value) for value in operands]
            self._white = values in ([1.0], [1.0] * 3, [0.0] * 4)
        elif operator == b"cs":
            self._white = False
        elif operator in (b"Tj", b"TJ", b"'", b'"') and operands and not self._forms:
            self._shown(operands, cm, tm)

    def after(self, operator: bytes, operands: Any, cm: Any, tm: Any) -> None:
        """The other end of a form object."""
        if operator == b"Do":
            self._forms -= 1

    def text(self, text: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        """A piece of text with its height on the page."""
        upright = abs(tm[1]) <= abs(tm[0])  # stamps in the margin are rotated
        if self._want_spans and text.strip() and upright and len(self.spans) < _MAX_SPANS:
            self.spans.append((round(abs(size * _scale(cm, tm)), 1), text[:500]))

    def _shown(self, operands: Any, cm: Any, tm: Any) -> None:
        last = operands[-1]
        length = sum(len(p) for p in last if isinstance(p, str | bytes)) if isinstance(last, list) else 0
        length = len(last) if isinstance(last, str | bytes) else length
        height = None if self._size is None else abs(self._size * _scale(cm, tm))
        x = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
        y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        left, bottom, right, top = self._box
        kind = ""
        if height is not None and 0 < height < 2:
            kind = "tiny"
        elif not (bottom - 20 <= y <= top + 20 and x <= right + 20 and x >= left - 2000):
            kind = "off_page"
        elif self._mode == 3:
            self.hidden["invisible"] += length
        elif self._white:
            self.hidden["white"] += length
        if kind:
            self.hidden[kind] += length
            operands[-1] = type(last)()


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return -1.0


def _scale(cm: Any, tm: Any) -> float:
    """How much the text matrix and the page's matrix enlarge the height of a font."""
    return float((tm[2] ** 2 + tm[3] ** 2) ** 0.5 * (cm[2] ** 2 + cm[3] ** 2) ** 0.5)


if __name__ == "__main__":
    sys.exit(main())
