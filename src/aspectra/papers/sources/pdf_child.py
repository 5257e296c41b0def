"""The process that opens a PDF, apart from everything else.

Run by :mod:`aspectra.papers.sources.pdf` with the file on standard input and the limits as one JSON
argument. It answers on standard output with one JSON object a line: the document, then each page as it is
read, then ``{"end": ...}``; whoever reads can use the pages even if the process dies on the way.

It imports nothing of the package, limits its own memory, time and output, and refuses to open network
connections, start programs or write files once the limits are set.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

__all__ = ["main"]

_REFUSED = (
    *("socket.", "subprocess.", "ctypes.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system"),
    *("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod"),
)
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
    mode = arguments[1] if event == "open" and len(arguments) > 1 else ""
    if isinstance(mode, str) and any(mark in mode for mark in "wax+"):
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
    """Text of a page; the first one also with the size of each piece of text."""
    spans: list[tuple[float, str]] = []
    tiny = 0

    def visit(text: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        nonlocal tiny
        # Height of the type on the page: what the text matrix and the page matrix make of the font size.
        scale = (tm[2] ** 2 + tm[3] ** 2) ** 0.5 * (cm[2] ** 2 + cm[3] ** 2) ** 0.5
        height = abs(size * scale)
        if text.strip():
            if 0 < height < 2:
                tiny += len(text.strip())
            upright = abs(tm[1]) <= abs(tm[0])  # stamps in the margin stand on their side
            if number == 0 and upright and len(spans) < _MAX_SPANS:
                spans.append((round(height, 1), text[:500]))

    try:
        text = reader.pages[number].extract_text(visitor_text=visit) or ""
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        return {"page": number + 1, "text": "", "fault": f"{type(error).__name__}: {error}"[:200]}
    out: dict[str, Any] = {"page": number + 1, "text": text, "tiny": tiny}
    if number == 0:
        out["spans"] = spans
    return out


if __name__ == "__main__":
    sys.exit(main())
