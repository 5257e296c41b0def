"""``show`` and ``export``: papers as they are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from aspectra.app.output.papers import LINKS, paper_document, sentence_rows
from aspectra.app.output.rankings import ids_kept
from aspectra.app.recent import LAST, papers_of_last, recall
from aspectra.app.session import Session, common
from aspectra.app.settings import export_formats
from aspectra.app.terminal.panels import AsJson, Names, OutputFile, argument, option, showing
from aspectra.app.terminal.screen import Screen, count, safe
from aspectra.base.errors import UsageError, check_choice
from aspectra.papers.library.marks.values import DECISIONS

if TYPE_CHECKING:
    from pathlib import Path

    from aspectra.app.library import Library
    from aspectra.papers.paper import Paper

_LISTED = 20  # citing and cited papers shown


FormatName = Annotated[str | None, showing("{writers}, trec.", "--format")]


@common
def show(
    session: Session,
    words: Annotated[list[str], argument("An id, DOI, arXiv id or exact title; or: last 3.", "ID")],
    sentences: Annotated[bool, option("The abstract, sentence by sentence.")] = False,
    full: Annotated[bool, option("The full text too.")] = False,
    as_json: AsJson = False,
    format: FormatName = None,  # noqa: A002
) -> None:
    """Show a paper.

    Its record, its other versions, what it cites and what cites it inside the library. `last 3` is the third
    paper of the last search, `last 1-5` are five.

    Example:  aspectra show doi:10.1000/xyz --sentences
    """
    named = papers_of_last(words, library=session.library_path) or words
    if as_json and len(named) > 1:
        raise UsageError("--json shows one paper", hint="aspectra export ID... --format jsonl")
    with session.open_library() as library:
        if format is not None:
            session.screen.data(library.export(named, format, versions="all"))
            return
        for number, one in enumerate(named):
            paper = library.show(one)
            if as_json:
                session.screen.document("paper", paper_document(library, paper, sentences=sentences))
                return
            if number:
                session.screen.line()
            _show(session.screen, library, paper, sentences=sentences, full=full)


def _show(screen: Screen, library: Library, paper: Paper, *, sentences: bool, full: bool) -> None:
    from aspectra.app.output.criteria import mark_rows
    from aspectra.app.output.documents import record_rows

    links = library.links(paper.id)
    screen.line(safe(paper.title, one_line=True) or "(no title)", style="bold")
    rows = record_rows(paper)
    rows += mark_rows(library.marks.of(paper.id))
    screen.pairs((label, safe(value, one_line=True)) for label, value in rows if value)
    screen.line()
    if sentences:
        spans = sentence_rows(library, paper)
        if not paper.abstract.strip():
            screen.line("(no abstract; the full text begins)" if spans else "(no abstract)")
        for span in spans:
            role = f" {span['role']}" if span["role"] else ""
            screen.line(f"{span['number']} [{span['start']}–{span['end']}{role}] {span['text']}", indent=2)
    else:
        screen.line(paper.abstract or "(no abstract)")
    if full:
        for section in paper.sections:
            screen.line()
            screen.line(safe(section.heading, one_line=True), style="bold")
            for part in safe(section.text).split("\n"):
                screen.line(part)
    for name, label in LINKS.items():
        if links[name]:
            screen.line()
            screen.line(f"{label} ({len(links[name]):,} in the library)", style="bold")
            titles = library.store.get_many(links[name][:_LISTED], full=False)
            for one, other in titles.items():
                year = f" ({other.year})" if other.year else ""
                screen.line(f"{one}  {safe(other.title, one_line=True)}{year}", indent=2)
            if len(links[name]) > _LISTED:
                screen.line(f"and {len(links[name]) - _LISTED:,} more (--json)", indent=2)


@common
def export(
    session: Session,
    ids: Annotated[Names, argument("`last`: the last search; last 3, last 1-20.", "last|ID")] = None,
    everything: Annotated[bool, option("Every paper of the library.", "--all")] = False,
    decision: Annotated[str, option("Those decided so: include, exclude, maybe, any.")] = "",
    tag: Annotated[Names, option("Those with this tag; repeat for several.", metavar="TAG")] = None,
    format: FormatName = None,  # noqa: A002
    limit: Annotated[int | None, option("With last: so many papers.", "-n", min=0)] = None,
    all_versions: Annotated[bool, showing("Each record, not one a work.")] = False,
    output: OutputFile = None,
) -> None:
    """Write papers for other programs.

    BibTeX, RIS, CSL-JSON, CSV, JSON Lines, TREC runs; ids and citation keys stay as they are.
    The format is taken from the name of the file where none is given. Decisions, reasons, tags and notes are
    written too. One record a work is written, the best one, with what only its other records have.

    Example:  aspectra export last --format ris -o picks.ris
    """
    chosen = format or _format_of(output) or "bibtex"
    check_choice(chosen, export_formats(), "export format")
    chosen_by_marks = bool(decision or tag)
    if [everything, bool(ids), chosen_by_marks].count(True) != 1:
        raise UsageError(
            "say which papers, in one way",
            hint="aspectra export last, aspectra export ID..., --all, --decision include, or --tag TAG",
        )
    if limit is not None and (ids is None or ids[0] != LAST):
        raise UsageError("--limit is for the last search", hint=f"aspectra export last -n {limit}")
    if ids is not None and ids[0] == LAST:
        text, found, written = _last(session, chosen, ids, limit, all_versions=all_versions)
    else:
        with session.open_library() as library:
            if chosen_by_marks:
                check_choice(decision or "any", (*DECISIONS, "any"), "decision")
                found = library.marks.papers(tags=tuple(tag or ()), decision=decision, limit=10**9).ids
            else:
                found = library.store.ids() if everything else library.resolve(*ids or ())
            which = None if everything else found
            written = found if all_versions or output is None else _leading(library, which)
            text = library.export(which, chosen, "all" if all_versions else "best")
    session.screen.data(text, output)
    if output is not None:
        kept = ids_kept(text, chosen, written)
        of = f" of {count(len(written), 'work')}, one each," if len(written) < len(found) else ""
        session.screen.note(f"Wrote {count(len(found), 'record')}{of} to {output} ({chosen}, {kept}).")


def _leading(library: Library, ids: list[str] | None) -> list[str]:
    """Ids of the records that are written where there is one for each work."""
    from aspectra.app.ingest.works import one_each

    return [paper.id for paper in one_each(library.store, ids)]


def _format_of(output: Path | None) -> str:
    """The format that the ending of a file's name stands for, or ""."""
    from aspectra.papers.export.protocol import WRITERS

    endings = {WRITERS.get(name).suffix: name for name in WRITERS} | {".trec": "trec", ".run": "trec"}
    return endings.get(output.suffix.lower(), "") if output else ""


def _last(
    session: Session, chosen: str, words: list[str], limit: int | None, *, all_versions: bool
) -> tuple[str, list[str], list[str]]:
    """Papers of the last search in a format, the ids of all their records, and of those that are written.

    Nothing is searched again, unless more papers are wanted than were found, or those of another library.
    """
    from aspectra.app.library import open_library
    from aspectra.app.options import run_plan

    recent = recall()
    named = session.config.origin("library") == "flag"
    here = not named or os.path.abspath(session.library_path) == str(recent.library)
    with open_library(session.library_path if named else recent.library) as library:
        if len(words) == 1 and (not here or (limit or 0) > len(recent.ids) or not recent.ids):
            plan = recent.plan if limit is None else recent.plan.with_limit(limit)
            ranking = run_plan(session, library, plan)
            for warning in ranking.warnings:
                session.screen.warn(session.spell_out(warning))
            ids, scores = ranking.ids, [hit.score for hit in ranking]
            ranks = {one: rank for rank, one in enumerate(ids)}
        else:
            ranks = {one: rank for rank, one in enumerate(recent.ids)}
            given = papers_of_last(words, library=session.library_path if named else None) or []
            ids = list(recent.ids) if limit is not None and len(words) == 1 else given
            ids = ids if limit is None else ids[:limit]
            of = dict(zip(recent.ids, recent.scores, strict=False))
            scores = [of[one] for one in ids]
        if chosen == "trec":
            from aspectra.base.trec import trec_lines  # loads numpy

            ids = sorted(ids, key=ranks.__getitem__)
            return trec_lines("q1", ids, sorted(scores, reverse=True), "aspectra"), ids, ids
        known = ids if all_versions else list(library.store.get_many(ids, full=False))
        twins = library.store.versions(known)
        records = list(dict.fromkeys(i for one in known for i in (one, *twins.get(one, ()))))
        if all_versions:
            return library.export(records, chosen, "all"), records, records
        return library.export(known, chosen), records, _leading(library, known)
