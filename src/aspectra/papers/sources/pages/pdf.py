"""PDF: the text layer of a paper, read by PDFium in a process of its own.

A PDF is a program of sorts, and some are hostile: it is opened in a child process with limits on memory,
processor time and pages, and a wall clock that ends it. A file that needs too much of them costs only itself.
The child is not a sandbox: it has the rights of the user. :mod:`aspectra.papers.sources.pages.layout` finds
title, authors, headings and columns by the positions, sizes and fonts of the text; scanned pages without a
text layer get a remark and are not recognised (no OCR).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble, identifiers_of
from aspectra.papers.sources.children import ask_child
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.json.arxiv import arxiv_year
from aspectra.papers.sources.pages.layout.document import Printed, read_pages
from aspectra.papers.sources.pages.layout.lines import PrintedPage, page_of
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean

_MOST_TURNED = 20_000  # characters of text at an angle that are kept
_LEAST_KEPT = 0.98  # of the letters and digits of the pages; numbers of headings and labels may go
_FEW = 300  # letters and digits whose loss says nothing in a short document
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")


@dataclass(slots=True)
class _Answer:
    """The report of the child process."""

    version: str = ""
    pages: int = 0
    info: dict[str, str] = field(default_factory=dict)
    read: list[PrintedPage] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    hidden: Counter[str] = field(default_factory=Counter)
    end: str = ""
    error: str = ""
    detail: str = ""


class Pdf:
    """One PDF file."""

    name = "pdf"
    description = (
        "PDF with a text layer, in a child process with limits; title, abstract, sections and references"
    )
    endings = (".pdf",)

    def sniff(self, path: Path, head: bytes) -> float:
        """1 for ``%PDF`` at the beginning, 0.9 within the first KiB, else 0."""
        if head.startswith(b"%PDF-"):
            return 1.0
        return 0.9 if b"%PDF-" in head[:1024] else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """The paper, after remarks on what was cut or unclear; or only a remark when it has no text.

        Raises:
            BadInput: the file is not a PDF, is encrypted or damaged, or did not end within the limits.
        """
        answer = _extract(file, options)
        if answer.error:
            raise _refusal(file.path, answer, options)
        yield from _paper(file.path, answer, options)


def _extract(file: InputFile, options: ReadOptions) -> _Answer:
    limits = {
        "what": "pdf",
        "pages": options.pdf_pages,
        "seconds": options.pdf_seconds,
        "memory_mb": options.pdf_memory_mb,
        "chars": options.max_text_chars * 2,
    }
    if b"%PDF-" not in file.head[:1024]:
        raise BadInput(
            f"{file.path} is not a PDF", why="no %PDF mark in its first KiB", hint="check the download"
        )
    said, late, status = ask_child(file, limits)
    answer = _parse(said)
    if late:
        answer.end = "time"
    elif status != 0 and not answer.error and not answer.end:
        answer.end = "died"
        answer.detail = f"reader ended with status {status}"
    if not answer.read and not answer.error and answer.end in ("time", "died"):
        answer.error = answer.end
    return answer


def _parse(said: Iterable[dict[str, Any]]) -> _Answer:
    answer = _Answer()
    for message in said:
        if "error" in message:
            answer.error, answer.detail = message["error"], message.get("detail", "")
        elif "end" in message:
            answer.end = message["end"]
        elif "page" in message:
            answer.read.append(page_of(message))
            answer.hidden.update(message.get("hidden", {}))
            if "fault" in message:
                answer.faults.append(f"page {message['page']}: {message['fault']}")
        else:
            answer.version, answer.pages, answer.info = message["version"], message["pages"], message["info"]
    # Trouble on a later page does not undo the pages before it.
    if answer.error and any(page.characters for page in answer.read):
        answer.end, answer.error = "died", ""
    return answer


def _refusal(path: Path, answer: _Answer, options: ReadOptions) -> BadInput:
    large, instead = "it is very large or built to be slow", "convert it to text first"
    repair = "fetch the file again, or repair it (for instance with qpdf)"
    what, why, hint = {
        "encrypted": ("is encrypted", "it opens only with a password", "save a copy without a password"),
        "time": (f"took longer than {options.pdf_seconds:g} s", large, f"allow more time, or {instead}"),
        "memory": (f"needs more than {options.pdf_memory_mb} MiB", large, f"allow more memory, or {instead}"),
    }.get(answer.error, ("cannot be read as a PDF", "it is damaged", repair))
    told = answer.error in ("time", "memory")
    return BadInput(f"{path.name} {what}", why=why if told else answer.detail or why, hint=hint)


def _paper(path: Path, answer: _Answer, options: ReadOptions) -> Iterator[Paper | Remark]:
    held = _letters_of(answer.read)
    text = "\n".join(line.text for page in answer.read for line in page.lines)
    quality, reason = _quality(text, len(answer.read))
    if answer.end in ("time", "died", "pages", "chars"):
        why = {
            "time": f"time limit of {options.pdf_seconds:g} s",
            "died": f"reading stopped: {answer.detail}",
            "pages": f"page limit of {options.pdf_pages}",
            "chars": "text limit",
        }[answer.end]
        part = f"read {len(answer.read)} of {answer.pages} pages ({why})"
        yield Remark("file", part, skipped=False)
    for fault in answer.faults[:5]:
        yield Remark("file", f"text of a page cannot be read, {fault}", skipped=False)
    if quality == "none":
        yield Remark("file", f"no usable text layer ({reason}): left out; run OCR on it (e.g. ocrmypdf)")
        return
    pictures = [page.number + 1 for page in answer.read if page.characters < 100 and page.images > 0.3]
    if pictures:
        shown = ", ".join(map(str, pictures[:20]))
        note = f"pages that are images, whose text is not read without OCR: {shown}"
        yield Remark("file", note, skipped=False)
    found = read_pages(answer.read, answer.info)
    kept = _kept(found)
    share = min(1.0, kept / held) if held else 1.0
    lost = held - kept > _FEW and share < _LEAST_KEPT
    if lost or len(pictures) > len(answer.read) / 2 or answer.faults:
        note = f"{share:.1%} of the letters kept, {len(pictures)} of {len(answer.read)} pages are images"
        quality, reason = "poor", f"{note}; {reason}"
    if quality == "poor":
        yield Remark("file", f"poor text layer ({reason}): kept, but check what was read", skipped=False)
    unseen, note = _unseen(answer.hidden, found.zero_width, len(text))
    if note:
        yield Remark("file", note, skipped=False)
    if not (found.abstract or found.references or found.sections[1:]):
        note = "no abstract, headings or references found: kept as one text, it may be no paper"
        yield Remark("file", note, skipped=False)

    identifiers = identifiers_of([("arxiv", found.arxiv), ("doi", found.doi)])
    metadata = {
        "file": clean(path.name),
        "extractor": f"pypdfium2 {answer.version}",
        "pages": answer.pages,
        "pages_read": len(answer.read),
        "pages_of_images": pictures,
        "text_quality": quality,
        "text_quality_reason": reason,
        "pdf_info": {clean(k): clean(v) for k, v in answer.info.items()},
        "front_matter": found.front,
        "running_heads": [clean(head) for head in found.heads],
        "turned_text": clean("\n".join(found.turned))[:_MOST_TURNED],
        "hidden_text": unseen,
    }
    yield from assemble(
        "file",
        options,
        title=found.title,
        abstract=found.abstract,
        authors=found.authors,
        year=found.year or arxiv_year(identifiers.get("arxiv", "")),
        identifiers=identifiers,
        sections=found.sections,
        references=found.references,
        metadata=metadata,
    )


def _letters_of(pages: list[PrintedPage]) -> int:
    """Letters and digits on the pages, text at an angle apart."""
    return sum(c.isalnum() for page in pages for line in page.lines for run in line.runs for c in run.text)


def _kept(found: Printed) -> int:
    """Letters and digits that found a place, and those of heads and page numbers, which come back."""
    texts = [found.title, found.abstract, found.front, *(s.heading for s in found.sections)]
    texts += [section.text for section in found.sections] + [entry.raw for entry in found.references]
    return sum(c.isalnum() for text in texts for c in text) + found.running


def _unseen(counts: Mapping[str, int], characters: int, total: int) -> tuple[dict[str, int], str]:
    """(characters that a person would not see, by kind; a remark, or "" when there is nothing odd)."""
    found = {kind: count for kind, count in counts.items() if count}
    if characters:
        found["zero_width"] = characters
    words = {
        "tiny": "in type below 2 points, removed",
        "off_page": "outside the page, removed",
        "zero_width": "without width, removed",
        "white": "in white, kept",
        "invisible": "in invisible type, kept",
    }
    # A page whose text is mostly white has a dark ground; one mostly invisible is a scan with its text.
    usual = {kind for kind in ("white", "invisible") if found.get(kind, 0) > 0.3 * total}
    parts = [f"{count} {words.get(kind, kind)}" for kind, count in found.items() if kind not in usual]
    return found, "characters that cannot be seen: " + "; ".join(parts) if parts else ""


def _quality(text: str, pages: int) -> tuple[str, str]:
    """("good", "poor" or "none", the measured reason)."""
    shown = [c for c in text if not c.isspace()]
    if len(shown) < max(20, 10 * pages):
        return "none", f"{len(shown)} characters on {pages} pages"
    letters = sum(c.isalpha() for c in shown) / len(shown)
    broken = (text.count("\ufffd") + text.count("(cid:") + text.count("/uni")) / len(shown)
    words = _LATIN.findall(text)
    single = sum(len(word) == 1 for word in words) / len(words) if words else 0.0
    long = sum(len(word) > 25 for word in words) / len(words) if words else 0.0
    private = sum("\ue000" <= c <= "\uf8ff" for c in shown) / len(shown)
    problems = [
        f"{share:.0%} {what}"
        for share, limit, what in (
            (1 - letters, 0.5, "of the characters are no letters"),
            (broken, 0.01, "undecoded glyphs"),
            (private, 0.05, "private-use characters"),
            (single, 0.4, "one-letter words"),
            (long, 0.08, "words over 25 letters"),
        )
        if share > limit
    ]
    per_page = len(shown) // pages
    if per_page < 200 and pages > 1:
        problems.append(f"only {per_page} characters a page")
    return ("poor", "; ".join(problems)) if problems else ("good", f"{per_page} characters a page")


SOURCES.register("pdf")(Pdf())
