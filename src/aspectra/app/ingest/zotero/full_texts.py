"""The full text of the PDFs that are attached to Zotero's items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspectra.app.ingest.zotero.places import Places
from aspectra.app.ingest.zotero.sync import recall, remember
from aspectra.base.errors import AspectraError
from aspectra.base.progress import Progress, quiet
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.sources.zotero.mapping import Remembered, pdf_path

if TYPE_CHECKING:
    from aspectra.papers.library.store import Store

_AT_ONCE = 25  # PDFs between two times that the state is kept; reading one takes a second or more


@dataclass
class PdfReport:
    """What became of the attached PDFs.

    Attributes:
        read: files whose text their papers now have.
        missing: files that are not on this computer, or not yet.
        refused: files without usable text, with the reasons as remarks.
        remarks: every remark.
    """

    read: int = 0
    missing: int = 0
    refused: int = 0
    remarks: list[Remark] = field(default_factory=list)


def read_pdfs(
    store: Store,
    library: str,
    places: Places,
    *,
    options: ReadOptions | None = None,
    progress: Progress = quiet,
) -> PdfReport:
    """Read the PDFs that were not read yet, or are others now; a paper keeps Zotero's metadata.

    What was read is kept every few files, so an interruption costs little.

    Args:
        store: our library, which :func:`~aspectra.app.ingest.zotero.sync.follow` brought up to date.
        library: Zotero's, as ``users/0``.
        places: where the files are.
        options: limits.
        progress: called with (step, done, total).

    Raises:
        LibraryBusy: another process is writing.
    """
    report, known = PdfReport(), recall(store, library)
    waiting = list(_waiting(known, places, report))
    if not waiting:
        return report
    with store.writing("zotero sync") as writer:
        for at in range(0, len(waiting), _AT_ONCE):
            some = waiting[at : at + _AT_ONCE]
            held = {
                i: _as_filed(store, p)
                for i, p in store.get_many(known.papers[t] for _, t, _, _ in some).items()
            }

            def papers(
                some: list[tuple[str, str, Path, str]] = some, held: Mapping[str, Paper] = held, at: int = at
            ) -> Iterator[Paper]:
                for number, (key, top, path, state) in enumerate(some, at):
                    progress(f"reading {path.name}", number, len(waiting))
                    known.pdfs[key]["read"] = state
                    paper = held.get(known.papers[top])
                    if paper is not None and (full := _read(paper, path, report, options)):
                        yield full

            place = f"zotero:{library}"
            writer.add(papers(), path=place, source="zotero", whole=False, same=set(held))
            remember(writer, library, known)
        writer.checkpoint()
    return report


def _waiting(known: Remembered, places: Places, report: PdfReport) -> Iterator[tuple[str, str, Path, str]]:
    """(key, key of its item, file, what the file is) of each PDF to read: the oldest of each item."""
    taken: set[str] = set()
    for key, facts in sorted(known.pdfs.items(), key=lambda pair: (pair[1].get("added", ""), pair[0])):
        top = known.parents.get(key, "")
        if key not in known.stamps or top not in known.papers or top in taken:
            continue
        taken.add(top)
        path = pdf_path({**facts, "key": key, "contentType": "application/pdf"}, places.data, places.base)
        try:
            state = path.stat() if path is not None else None
        except OSError:
            state = None
        if path is None or state is None:
            report.missing += 1
            continue
        found = f"{state.st_size}:{state.st_mtime_ns}"
        if facts.get("read") != found:
            yield key, top, path, found


def _as_filed(store: Store, paper: Paper) -> Paper:
    """The paper as its record has it, without the searcher's edits, which are put back on storing."""
    filed = store.marks.edit(paper.id).file
    return Paper.from_dict({**paper.to_dict(), **filed}) if filed else paper


def _read(paper: Paper, path: Path, report: PdfReport, options: ReadOptions | None) -> Paper | None:
    """The paper with the PDF's text, references, and abstract where it has none."""
    options = options or ReadOptions()
    found: Paper | None = None
    try:
        with InputFile(path, options.bounds) as file:
            for one in read_papers(file, "pdf", options):
                if isinstance(one, Paper):
                    found = one
                else:
                    report.remarks.append(replace(one, place=str(path)))
    except (AspectraError, OSError) as error:
        reason = error.what if isinstance(error, AspectraError) else str(error)
        report.remarks.append(Remark(str(path), reason))
    if found is None:
        report.refused += 1
        return None
    report.read += 1
    facts: dict[str, Any] = {k: v for k, v in found.metadata.items() if k not in ("front_matter", "pdf_info")}
    return replace(
        paper,
        abstract=paper.abstract or found.abstract,
        sections=found.sections,
        references=found.references or paper.references,
        metadata={**paper.metadata, "pdf": facts},
    )
