"""PDF: the text layer of a paper, read by pypdf in a process of its own.

A PDF is a program of sorts, and some are hostile: it is opened in a child process with limits on memory,
processor time and pages, and a wall clock that ends it. A file that needs too much of them costs only itself.
The child is no sandbox: it has the rights of the user. What the text says about its own structure (title,
abstract, sections, references) is found by :mod:`aspectra.papers.text.structure`; scanned pages without a
text layer are remarked, not recognised.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from aspectra.base.errors import BadInput
from aspectra.papers.names import split_names
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.sources.assembly import assemble, identifiers_of
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.json.arxiv import arxiv_year
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, mend_hyphens, one_line, strip_invisible
from aspectra.papers.text.structure import outline

__all__ = ["Pdf"]

_CHILD = Path(__file__).with_name("_pdf_child.py")
_MAX_BYTES = 512 * 1024 * 1024
_PASSED_ON = ("PATH", "SYSTEMROOT", "PYTHONPATH", "PYTHONHOME", "LANG", "LC_ALL", "TMPDIR", "TEMP")
_MAX_FRONT = 5000

_STAMP = re.compile(
    r"arXiv:(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?\s*\[[a-z-]+(?:\.[A-Za-z-]+)?\]"
)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}|\\^`]+", re.I)
_DATA_DOI = re.compile(r"10\.(?:5281/zenodo|6084/m9\.figshare|17605|7910/dvn)", re.I)
_FILE_LIKE = re.compile(
    r"\.(?:docx?|tex|dvi|pdf|indd|qxd|rtf|odt)$|^microsoft word|^untitled|^\W*$|[\\/]", re.I
)
_NO_TITLE = re.compile(r"@|https?:|\b10\.\d{4,9}/|\buniversit|\bISSN\b|\bvol(?:ume)?\.? \d", re.I)
_DIGITS = re.compile(r"\d+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+")


@dataclass(slots=True)
class _Answer:
    """What the child process reported before it ended."""

    version: str = ""
    pages: int = 0
    info: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    spans: list[tuple[float, str]] = field(default_factory=list)
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
            BadInput: the file is no PDF, is encrypted or damaged, or did not end within the limits.
        """
        answer = _extract(file, options)
        if answer.error:
            raise _refusal(file.path, answer, options)
        yield from _paper(file.path, answer, options)


def _extract(file: InputFile, options: ReadOptions) -> _Answer:
    limits = {
        "pages": options.pdf_pages,
        "seconds": options.pdf_seconds,
        "memory_mb": options.pdf_memory_mb,
        "chars": options.max_text_chars * 2,
    }
    with contextlib.ExitStack() as stack:
        stdin = _as_file(file, stack)
        # Started as a file and with -P, so that nothing but pypdf is imported and no file beside the PDF is.
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
            [sys.executable, "-P", str(_CHILD), json.dumps(limits)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        )
        late = False
        try:
            out, _ = process.communicate(timeout=options.pdf_seconds)
        except subprocess.TimeoutExpired:
            late = True
            process.kill()
            out, _ = process.communicate()
        except BaseException:
            process.kill()
            process.wait()
            raise
    answer = _parse(out)
    if late:
        answer.end = "time"
    elif process.returncode != 0 and not answer.error and not answer.end:
        answer.end = "died"
        answer.detail = f"reader ended with status {process.returncode}"
    if not answer.texts and not answer.error and answer.end in ("time", "died"):
        answer.error = answer.end
    return answer


def _as_file(file: InputFile, stack: contextlib.ExitStack) -> IO[bytes]:
    """The PDF as a real file for the child: as it is, or unpacked when it is compressed."""
    path = file.path
    if b"%PDF-" not in file.head[:1024]:
        raise BadInput(f"{path} is not a PDF", why="no %PDF mark in its first KiB", hint="check the download")
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


def _parse(out: bytes) -> _Answer:
    answer = _Answer()
    for line in out.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            break  # cut off in the middle when the child was stopped
        if "error" in message:
            answer.error, answer.detail = message["error"], message.get("detail", "")
        elif "end" in message:
            answer.end = message["end"]
        elif "page" in message:
            answer.texts.append(message["text"])
            answer.hidden.update(message.get("hidden", {}))
            if "fault" in message:
                answer.faults.append(f"page {message['page']}: {message['fault']}")
            answer.spans += [(size, text) for size, text in message.get("spans", ())]
        else:
            answer.version, answer.pages, answer.info = message["version"], message["pages"], message["info"]
    # Trouble on a later page does not undo the pages before it.
    if answer.error and any(text.strip() for text in answer.texts):
        answer.end, answer.error = "died", ""
    return answer


def _refusal(path: Path, answer: _Answer, options: ReadOptions) -> BadInput:
    large, instead = "it is very large or built to be slow", "convert it to text first"
    what, why, hint = {
        "encrypted": ("is encrypted", "it opens only with a password", "save a copy without a password"),
        "time": (f"took longer than {options.pdf_seconds:g} s", large, f"allow more time, or {instead}"),
        "memory": (f"needs more than {options.pdf_memory_mb} MiB", large, f"allow more memory, or {instead}"),
    }.get(
        answer.error,
        (
            "cannot be read as a PDF",
            "it is damaged",
            "fetch the file again, or repair it (for instance with qpdf)",
        ),
    )
    return BadInput(
        f"{path.name} {what}",
        why=why if answer.error in ("time", "memory") else answer.detail or why,
        hint=hint,
    )


def _paper(path: Path, answer: _Answer, options: ReadOptions) -> Iterator[Paper | Remark]:
    text, hidden = strip_invisible(clean("\n".join(_without_running_lines(answer.texts))))
    quality, reason = _quality(text, len(answer.texts))
    if answer.end in ("time", "died", "pages", "chars"):
        why = {
            "time": f"time limit of {options.pdf_seconds:g} s",
            "died": f"reading stopped: {answer.detail}",
            "pages": f"page limit of {options.pdf_pages}",
            "chars": "text limit",
        }[answer.end]
        kept = f"read {len(answer.texts)} of {answer.pages} pages ({why})"
        yield Remark("file", kept, skipped=False)
    for fault in answer.faults[:5]:
        yield Remark("file", f"text of a page cannot be read, {fault}", skipped=False)
    if quality == "none":
        yield Remark("file", f"no usable text layer ({reason}): left out; run OCR on it (e.g. ocrmypdf)")
        return
    if quality == "poor":
        yield Remark("file", f"poor text layer ({reason}): kept, but check what was read", skipped=False)
    unseen, note = _unseen(answer.hidden, hidden, len(text))
    if note:
        yield Remark("file", note, skipped=False)

    text = mend_hyphens(text)
    title = _title(answer, text)
    found = outline(_without_title(text, title), title=title, markdown=False)
    first = strip_invisible(clean(answer.texts[0]))[0]
    identifiers = _identifiers(first)
    metadata: dict[str, Any] = {
        "file": clean(path.name),
        "extractor": f"pypdf {answer.version}",
        "pages": answer.pages,
        "pages_read": len(answer.texts),
        "text_quality": quality,
        "text_quality_reason": reason,
        "pdf_info": {clean(k): clean(v) for k, v in answer.info.items()},
        "front_matter": found.front[:_MAX_FRONT],
        "hidden_text": unseen,
    }
    yield from assemble(
        "file",
        options,
        title=found.title,
        abstract=found.abstract,
        authors=_authors(answer.info),
        year=arxiv_year(identifiers.get("arxiv", "")),
        identifiers=identifiers,
        sections=found.sections,
        references=found.references,
        metadata={key: value for key, value in metadata.items() if value not in ("", {})},
    )


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


def _without_running_lines(pages: list[str]) -> list[str]:
    """Pages without the headers, footers and page numbers that repeat from page to page."""
    split = [page.split("\n") for page in pages]
    seen: Counter[str] = Counter()
    for lines in split:
        shown = [line for line in lines if line.strip()]
        seen.update({_pattern(line) for line in [*shown[:2], *shown[-2:]]})
    often = max(3, len(pages) // 8)
    kept = []
    for lines in split:
        last = len(lines) - 1
        kept.append(
            "\n".join(
                line
                for number, line in enumerate(lines)
                if not (
                    (number < 3 or number > last - 3)
                    and (line.strip().isdigit() or seen[_pattern(line)] >= often)
                )
            )
        )
    return kept


def _pattern(line: str) -> str:
    return _DIGITS.sub("#", one_line(line))


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


def _title(answer: _Answer, text: str) -> str:
    """The document's own title where the text contains it, else the largest type of the first page."""
    named = one_line(strip_invisible(answer.info.get("Title", ""))[0])
    beginning = normalise_title(text[:4000])
    if len(named) >= 8 and not _FILE_LIKE.search(named) and normalise_title(named) in beginning:
        return named
    largest = _largest(answer.spans, text[:4000])
    if largest and normalise_title(largest) in beginning:
        return largest
    good = len(named.split()) >= 4 and not _FILE_LIKE.search(named)
    return largest or (named if good else "")


def _largest(spans: list[tuple[float, str]], page: str) -> str:
    """The text in the largest type of the first page, when it reads like a title."""
    for size in sorted({size for size, _ in spans}, reverse=True)[:3]:
        start = next(i for i, span in enumerate(spans) if span[0] == size)
        parts = []
        for other, text in spans[start:]:
            if abs(other - size) > 0.1 * size:
                break
            parts.append(text)
        # The pieces come without the breaks between them: those are in the text of the page.
        letters = "".join(strip_invisible(clean("".join(parts)))[0].split())[:400]
        if len(letters) < 8:
            continue
        found = re.search(r"\s*".join(map(re.escape, letters)), page)
        title = one_line(mend_hyphens(found.group() if found else " ".join(parts)))
        words = title.split()
        # Drop capitals, logos and volume numbers are larger than many a title.
        if 3 <= len(words) <= 40 and 10 <= len(title) <= 300 and not _NO_TITLE.search(title):
            return title
    return ""


def _without_title(text: str, title: str) -> str:
    """The text behind the title, if it begins with it (a running head may come before)."""
    words = [re.escape(word) for word in title.split()]
    found = re.search(r"^[ \t]*" + r"\s+".join(words) + r"[ \t]*$", text[:4000], re.I | re.M)
    return text[found.end() :] if found else text


def _authors(info: Mapping[str, str]) -> list[str]:
    """The authors that the document information names, when it names persons in full."""
    names = split_names(info.get("Author", ""))
    good = [name for name in names if 2 <= len(name.split()) <= 6 and not any(c.isdigit() for c in name)]
    return good if len(good) == len(names) else []


def _identifiers(first: str) -> dict[str, str]:
    """Only what is unmistakably the paper's own: the arXiv stamp, and the one DOI of the first page."""
    pairs: list[tuple[str, object]] = []
    if stamps := set(_STAMP.findall(first)):
        pairs += [("arxiv", stamps.pop())] if len(stamps) == 1 else []
    body = re.split(r"\n[^\S\n]*+(?:references|bibliography)[^\S\n]*+\n", first, maxsplit=1, flags=re.I)[0]
    dois = {doi.rstrip(".,;:)").casefold() for doi in _DOI.findall(body) if not _DATA_DOI.match(doi)}
    if len(dois) == 1:
        pairs.append(("doi", dois.pop()))
    return identifiers_of(pairs)


SOURCES.register("pdf")(Pdf())
