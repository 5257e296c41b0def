"""``add``: papers into a library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, argument, option
from aspectra.app.terminal.screen import count, safe

if TYPE_CHECKING:
    from aspectra.app.ingest.files import FileReport
    from aspectra.app.ingest.works import NewRecords
    from aspectra.papers.sources.protocol import Remark

_SHOWN = 3  # remarks printed per file; the others are for `status --skips`
_FILES = 20  # files that have lines of their own; of more, only what failed
_COUNTS = ("added", "updated", "unchanged", "skipped")


@common
def add(
    session: Session,
    paths: Annotated[list[Path], argument("Files and folders.", "PATH")],
    as_: Annotated[str | None, option("The format, where it is not recognised{; sources}.", "--as")] = None,
    again: Annotated[bool, option("Read files even if they have not changed.")] = False,
    strict: Annotated[bool, option("Exit with 4 when anything was skipped.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add papers from files and folders.

    BibTeX, RIS, CSL-JSON, JSON Lines, PDF, XML and more; the format is detected from the content.
    Adding the same file twice changes nothing. Bad records are reported and skipped.

    Example:  aspectra add library.bib papers/
    """
    from aspectra.app.upkeep.checkup import check_if_due
    from aspectra.papers.sources.protocol import ReadOptions

    limits = ReadOptions(**asdict(session.settings.add))
    with session.open_library() as library:
        check_if_due(library.store)
        before = library.works.last_positions
        with session.progress() as shown:
            lines = 0

            def tell(report: FileReport) -> None:
                nonlocal lines
                shown.clear()
                if as_json:
                    if report.error is not None and report.named:
                        session.screen.failure(report.error)
                    return
                lines += _tell(session, report, brief=lines >= _FILES and not session.options.verbose)

            reports = library.add(
                *paths, source=as_, again=again, options=limits, report=tell, progress=shown
            )
        new = library.works.added_since(before)
    total = {
        name: sum(getattr(r, name) for r in reports) for name in (*_COUNTS, "with_abstract", "with_full_text")
    }
    if as_json:
        session.screen.document("added", _document(reports, new, total))
    else:
        _sum_up(session, reports, new, total)
    # A file that was named and could not be read is a failure, whatever became of the others.
    if not any(r.papers for r in reports) or any(r.named and r.error for r in reports):
        raise typer.Exit(1)
    if total["skipped"] and strict:
        raise typer.Exit(4)


def _tell(session: Session, report: FileReport, *, brief: bool) -> bool:
    """One line for a file, and its first remarks; returns whether there was one.

    With ``brief``, only what could not be read is told.
    """
    screen = session.screen
    if report.error is not None and report.named:
        screen.failure(report.error)
        return False
    if report.passed_over:
        screen.detail(f"{report.path}: passed over: {report.passed_over}")
        return False
    if report.error is not None:
        screen.note(f"{report.path}: skipped: {report.remarks[-1].reason}")
        return False
    if brief:
        return True
    if not session.screen.quiet:
        name = f"{report.path} ({report.source})"
        if report.known:
            note = f", {report.skipped:,} skipped" if report.skipped else ""
            screen.line(f"{name}: as it was, {count(report.unchanged, 'paper')}{note}")
        else:
            screen.line(
                f"{name}: {report.added:,} added, {report.updated:,} updated, "
                f"{report.unchanged:,} unchanged, {report.skipped:,} skipped"
            )
    tell_remarks(session, report.remarks)
    return True


def tell_remarks(session: Session, found: Iterable[Remark]) -> None:
    """Print the first remarks of a reader, skipped records before notes, and how many more there are."""
    remarks = sorted(found, key=lambda remark: not remark.skipped)
    for remark in remarks[:_SHOWN]:
        what = "skipped" if remark.skipped else "note"
        session.screen.note(f"  {what}: {remark.place}: {remark.reason}")
    if len(remarks) > _SHOWN:
        more = f"aspectra status --skips{session.library_words()}"
        session.screen.note(f"  and {count(len(remarks) - _SHOWN, 'remark')} more: {more}")


def _sum_up(
    session: Session, reports: Sequence[FileReport], new: NewRecords, total: Mapping[str, int]
) -> None:
    added, updated, unchanged, skipped, abstracts, full = total.values()
    read = [r for r in reports if not r.error and not r.passed_over]
    if len(read) > _FILES and not session.options.verbose:
        untold = read[_FILES:]
        remarks = sum(len(r.remarks) for r in untold)
        where = f", {count(remarks, 'remark')}: aspectra status --skips" if remarks else ""
        session.screen.note(
            session.spell_out(f"and {count(len(untold), 'file')} more (--verbose lists them){where}")
        )
    other = "".join(f", {n:,} {word}" for n, word in ((updated, "updated"), (unchanged, "unchanged")) if n)
    if added + updated + unchanged:
        session.screen.line(
            f"Added {count(added, 'record')}{other} ({abstracts:,} with abstract, {full:,} with full text, "
            f"{skipped:,} skipped)."
        )
    else:
        session.screen.line(f"Added nothing ({skipped:,} skipped).")
    if decisions := sum(r.decisions for r in reports):
        session.screen.line(f"{count(decisions, 'decision')} came with them (aspectra list --decision any).")
    _tell_versions(session, new)
    passed = [r for r in reports if r.passed_over]
    if passed and not session.options.verbose:
        names = ", ".join(r.path.name for r in passed[:_SHOWN])
        more = f" and {len(passed) - _SHOWN:,} more" if len(passed) > _SHOWN else ""
        session.screen.note(f"{count(len(passed), 'file')} passed over: {names}{more} (--verbose says why)")
    if added or updated:
        session.screen.next(f"aspectra index{session.library_words()}")


def _tell_versions(session: Session, new: NewRecords) -> None:
    """Report which new records are versions of a work, and how many have only an identifier."""
    if new.versions:
        what = (
            "is a version of a work that was" if len(new.versions) == 1 else "are versions of works that were"
        )
        where = f"aspectra duplicates{session.library_words()}"
        session.screen.line(f"{count(len(new.versions), 'record')} {what} there, or of each other: {where}")
    for paper, others in new.versions:
        session.screen.detail(safe(f"  {paper} is the same work as {', '.join(others)}", one_line=True))
    if new.to_complete:
        have = "has" if new.to_complete == 1 else "have"
        session.screen.line(f"{count(new.to_complete, 'record')} {have} an identifier and nothing else yet.")


def _document(reports: Sequence[FileReport], new: NewRecords, total: Mapping[str, int]) -> dict[str, object]:
    """The JSON document of what was added."""
    files = [
        {
            "file": str(r.path),
            **{name: getattr(r, name) for name in ("source", *_COUNTS, "known")},
            **({"error": r.error.what} if r.error else {}),
            **({"passed_over": r.passed_over} if r.passed_over else {}),
        }
        for r in reports
    ]
    return {
        "files": files,
        **total,
        "merged": [{"id": paper, "versions": others} for paper, others in new.versions],
        "to_complete": new.to_complete,
    }
