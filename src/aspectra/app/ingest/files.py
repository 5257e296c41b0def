"""From paths on a command line to papers in a library, with a report for every file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from aspectra.base.display import Progress
from aspectra.base.errors import AspectraError, BadInput
from aspectra.base.values import replace
from aspectra.base.version import __version__
from aspectra.papers.library.mutations import AddReport, Writer
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import UnknownFormat, detect, read_papers
from aspectra.papers.sources.files import FoundFile, InputFile, walk
from aspectra.papers.sources.protocol import ReadOptions, Remark

# Files that describe a folder; they are read only where they are named one by one.
_ABOUT = ("readme", "license", "licence", "changelog", "contributing", "copying", "makefile")
_MOST_REMEMBERED = 20_000  # papers per file; a larger file is simply read again


@dataclass
class FileReport(AddReport):
    """The result of reading one file.

    Attributes:
        path: the file.
        source: the format it was read as, or "" when it was not read.
        error: why nothing could be read, or None.
        known: True when it was added before and had not changed, so that it was not read again.
        passed_over: why a file of a folder was not read, or "".
    """

    path: Path = field(kw_only=True)
    source: str = ""
    error: AspectraError | None = None
    named: bool = True
    known: bool = False
    passed_over: str = ""


def _expand(paths: Iterable[Path]) -> Iterator[FoundFile]:
    """The files of all paths: of folders all that :func:`walk` gives, less what only describes the folder."""
    for path in paths:
        if not path.is_dir():
            yield FoundFile(path, named=True)
            continue
        for found in walk(path):
            if found.path == path:
                yield replace(found, named=True)
            elif not found.problem and found.path.name.lower().split(".")[0] in _ABOUT:
                yield FoundFile(found.path, "describes the folder; name it to add it")
            else:
                yield found


def _extractor(source: str) -> str:
    """The version of the reader of a format; another version may read the same file better."""
    if source != "pdf":
        return __version__
    from importlib import metadata

    try:
        return f"{__version__} pypdfium2 {metadata.version('pypdfium2')}"
    except metadata.PackageNotFoundError:
        return __version__


@dataclass
class Adding:
    """Adds files to one library under one writer.

    A file whose very bytes were added before is not read again while all its papers are still there, whatever
    other files said of them since: a folder of PDFs costs its extraction once.

    Args:
        library: the library.
        writer: its writer, which holds the lock.
        as_: format to read everything as; detected where None.
        options: limits for the sources.
        again: read files even when they are known.
        progress: called with (what is read, records so far, 0); the total is not known.
    """

    library: Store
    writer: Writer
    as_: str | None
    options: ReadOptions
    again: bool
    progress: Progress
    _stored: set[str] | None = field(default=None, init=False)

    def run(self, paths: Iterable[Path], tell: Callable[[FileReport], None]) -> list[FileReport]:
        """Add everything; ``tell`` is called after each file."""
        reports = []
        for found in _expand(paths):
            report = self._one(found)
            reports.append(report)
            tell(report)
        return reports

    def _one(self, found: FoundFile) -> FileReport:
        report = FileReport(path=found.path, named=found.named)
        if found.problem and found.named:
            self._failed(report, BadInput(f"{found.path} {found.problem}"))
            return report
        if found.problem:
            report.passed_over = found.problem
            return report
        try:
            self._read(found.path, report)
        except UnknownFormat as error:
            if found.named:
                self._failed(report, error)
            else:
                report.passed_over = "its format is not recognised"
        except BadInput as error:
            self._failed(report, error)
        except RecursionError:
            nested = BadInput(f"{found.path} cannot be read", why="its parts are nested too deeply")
            self._failed(report, nested)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            # A fault of a reader; the other files of a folder must not suffer from it.
            fault = BadInput(
                f"{found.path} cannot be read",
                why=f"its reader failed: {type(error).__name__}: {error}",
                hint="please report it, with the file if you may",
            )
            self._failed(report, fault)
        return report

    def _failed(self, report: FileReport, error: BadInput) -> None:
        """Report a file that could not be read, and store the remark for ``status --skips``."""
        report.error = error
        remark = Remark("file", _storable(_reason(error, report.path)))
        report.remarks.append(remark)
        report.skipped += 1
        if os.path.lexists(report.path):  # nothing is stored of a mistyped name
            # Not the whole file: its papers keep that they came from it.
            self.writer.add([remark], path=_absolute(report.path), source=report.source, whole=False)

    def _read(self, path: Path, report: FileReport) -> None:
        if not path.exists():
            raise BadInput(f"there is no file or folder {path}", hint="check the path")
        with InputFile(path, self.options.bounds) as file:
            self._read_file(file, report)

    def _read_file(self, file: InputFile, report: FileReport) -> None:
        path = file.path
        content = file.digest() if path.is_file() else ""
        if content and not self.again and self._recall(content, _absolute(path), report):
            return
        report.source = self.as_ or detect(file)
        hashes: list[str] = []

        def noted() -> Iterator[Paper | Remark]:
            step = f"reading {path.name}"
            for number, record in enumerate(read_papers(file, report.source, self.options)):
                if number % 100 == 0:
                    self.progress(step, number, 0)
                if isinstance(record, Paper) and len(hashes) <= _MOST_REMEMBERED:
                    hashes.append(record.content_hash)
                yield record

        self.writer.add(noted(), path=_absolute(path), source=report.source, report=report)
        if self._stored is not None:
            self._stored.update(hashes)
        if content and hashes and len(hashes) <= _MOST_REMEMBERED:
            self._remember(content, report, hashes)

    def _remember(self, content: str, report: FileReport, hashes: list[str]) -> None:
        value = {
            "source": report.source,
            "extractor": _extractor(report.source),
            "options": str(self.options),
            "papers": hashes,
            "with_abstract": report.with_abstract,
            "with_full_text": report.with_full_text,
            "skipped": report.skipped,
        }
        self.writer.set_meta(f"file:{content}", json.dumps(value))
        self.writer.set_meta(f"read:{_absolute(report.path)}", content)

    def _recall(self, content: str, path: str, report: FileReport) -> bool:
        """Fill the report from an earlier reading of the file; False if it is new or must be read again."""
        stored = self.library.meta(f"file:{content}")
        if not stored:
            return False
        known = json.loads(stored)
        same = known["extractor"] == _extractor(known["source"]) and known["options"] == str(self.options)
        if not same or self.as_ not in (None, known["source"]):
            return False
        if self._stored is None:
            hashes = "SELECT content_hash FROM papers UNION ALL SELECT file_hash FROM edits"
            self._stored = {row[0] for row in self.library.rows(hashes)}
        if not self._stored.issuperset(known["papers"]):
            # Other files may have changed the records since; all of its papers must still be there.
            count = "SELECT count(pos) FROM origins WHERE file = ?"
            if self.library.meta(f"read:{path}") != content or [(len(known["papers"]),)] != (
                self.library.fetch(count, (path,))
            ):
                return False
        report.source, report.known = known["source"], True
        report.unchanged, report.skipped = len(known["papers"]), known["skipped"]
        report.with_abstract, report.with_full_text = known["with_abstract"], known["with_full_text"]
        return True


def _reason(error: BadInput, path: Path) -> str:
    """Why a file was not read and the way on, in one line that is shown behind the name of the file."""
    what = error.what.removeprefix(f"{path} ").removeprefix(f"{path.name} ").replace(f" of {path}", "")
    return f"{what}{': ' if error.why else ''}{error.why.rstrip('.')}{'; ' if error.hint else ''}{error.hint}"


def _absolute(path: Path) -> str:
    return _storable(os.path.abspath(path))


def _storable(text: str) -> str:
    """The text with characters escaped that UTF-8 cannot encode, as in file names that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
