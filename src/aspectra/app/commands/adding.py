"""``add``: papers into a library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import asdict

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option
from aspectra.app.terminal.screen import count

if TYPE_CHECKING:
    from aspectra.app.ingest.files import FileReport

__all__ = ["add"]

_SHOWN = 3  # remarks printed per file; the others are for `status --skips`


@common
def add(
    session: Session,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files and folders.", show_default=False)
    ],
    as_: Annotated[
        str | None, option("--as", metavar="NAME", about="The format, where it is not recognised{; sources}.")
    ] = None,
    again: Annotated[bool, option("--again", about="Read files even if they have not changed.")] = False,
    strict: Annotated[bool, option("--strict", about="Exit with 4 when anything was skipped.")] = False,
) -> None:
    """Add papers from files and folders.

    BibTeX, RIS, CSL-JSON, JSON Lines, PDF, XML and more; the format is detected from the content.
    Adding the same file twice changes nothing. Bad records are reported and skipped.

    Example:  aspectra add library.bib papers/
    """
    from aspectra.app.upkeep.schedule import check_if_due
    from aspectra.papers.library.summary import summary
    from aspectra.papers.sources.protocol import ReadOptions

    limits = ReadOptions(**asdict(session.settings.add))
    with session.open_library() as library:
        check_if_due(library.store)
        with session.progress() as shown:

            def tell(report: FileReport) -> None:
                shown.clear()
                _tell(session, report)

            reports = library.add(
                *paths, source=as_, again=again, options=limits, report=tell, progress=shown
            )
        groups = summary(library.store)["version_groups"]
    _sum_up(session, reports, groups)
    skipped = sum(r.skipped for r in reports)
    # A file that was named and could not be read is a failure, whatever became of the others.
    if not any(r.papers for r in reports) or any(r.named and r.error for r in reports):
        raise typer.Exit(1)
    if skipped and strict:
        raise typer.Exit(4)


def _tell(session: Session, report: FileReport) -> None:
    """One line for a file, and its first remarks."""
    screen = session.screen
    if report.error is not None and report.named:
        screen.failure(report.error)
        return
    if report.passed_over:
        screen.detail(f"{report.path}: passed over: {report.passed_over}")
        return
    if report.error is not None:
        screen.note(f"{report.path}: skipped: {report.remarks[-1].reason}")
        return
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
    remarks = sorted(report.remarks, key=lambda remark: not remark.skipped)
    for remark in remarks[:_SHOWN]:
        what = "skipped" if remark.skipped else "note"
        screen.note(f"  {what}: {remark.place}: {remark.reason}")
    if len(remarks) > _SHOWN:
        more = f"aspectra status --skips{session.library_words()}"
        screen.note(f"  and {count(len(remarks) - _SHOWN, 'remark')} more: {more}")


def _sum_up(session: Session, reports: Sequence[FileReport], groups: int) -> None:
    added, updated = sum(r.added for r in reports), sum(r.updated for r in reports)
    unchanged = sum(r.unchanged for r in reports)
    abstracts, full = sum(r.with_abstract for r in reports), sum(r.with_full_text for r in reports)
    skipped = sum(r.skipped for r in reports)
    read = added + updated + unchanged
    other = "".join(f", {n:,} {word}" for n, word in ((updated, "updated"), (unchanged, "unchanged")) if n)
    versions = f" {count(groups, 'preprint/journal group')}." if groups else ""
    if read:
        session.screen.line(
            f"Added {count(added, 'record')}{other} ({abstracts:,} with abstract, {full:,} with full text, "
            f"{skipped:,} skipped).{versions}"
        )
    else:
        session.screen.line(f"Added nothing ({skipped:,} skipped).")
    passed = [r for r in reports if r.passed_over]
    if passed and not session.options.verbose:
        names = ", ".join(r.path.name for r in passed[:_SHOWN])
        more = f" and {len(passed) - _SHOWN:,} more" if len(passed) > _SHOWN else ""
        session.screen.note(f"{count(len(passed), 'file')} passed over: {names}{more} (--verbose says why)")
    if added or updated:
        session.screen.next(f"aspectra index{session.library_words()}")
