"""``list``, ``open``, ``save``, ``saved``, ``news``: papers, and searches that are run again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlsplit

from msgspec.structs import asdict

from aspectra.app.commands.daily.marking import papers_named
from aspectra.app.options import read_beside_rules, run_plan
from aspectra.app.output.papers import RESOLVERS, listed_rows
from aspectra.app.recent import Recent, recall, remember
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, Names, argument, filtering, option, showing
from aspectra.app.terminal.screen import columns, count, safe
from aspectra.base.errors import AspectraError, UsageError

if TYPE_CHECKING:
    from aspectra.app.ingest.saved import News
    from aspectra.app.library import Library


_MOST = 5  # pages opened at once


@common
def list_papers(
    session: Session,
    tag: Annotated[Names, filtering("With this tag; repeat for several.", metavar="TAG")] = None,
    decision: Annotated[str, filtering("include, exclude, maybe, or any.")] = "",
    undecided: Annotated[bool, filtering("Without a decision.")] = False,
    year: Annotated[str, filtering("2020, 2018-2020, 2018- or -2020.", metavar="YEARS")] = "",
    no_abstract: Annotated[bool, filtering("Without an abstract.")] = False,
    added: Annotated[str, filtering("Added on this day or later, as 2026-05-01.", metavar="DAY")] = "",
    sort: Annotated[str, showing("added (newest first), year, title, decided.", metavar="ORDER")] = "added",
    limit: Annotated[int, showing("Papers on a page [50].", "-n")] = 50,
    page: Annotated[int, showing("The page [1].")] = 1,
    ids: Annotated[bool, showing("Ids only, one a line.")] = False,
    as_json: AsJson = False,
) -> None:
    """List papers of the library.

    Example:  aspectra list --undecided --year 2018- --sort year
    """
    from aspectra.papers.library.marks.values import DECISIONS

    if undecided and decision:
        raise UsageError("--undecided and --decision exclude each other", hint="aspectra list --undecided")
    if decision not in ("", "any", *DECISIONS):
        raise UsageError(f"{decision!r} is no decision", hint=f"one of {', '.join(DECISIONS)}, any")
    with session.open_library() as library:
        found = library.marks.papers(
            tags=tuple(tag or ()),
            decision="none" if undecided else decision,
            years=year,
            no_abstract=no_abstract,
            since=added,
            order=sort,
            limit=limit,
            page=page,
        )
        rows = listed_rows(library, found.ids)
    if as_json:
        page_of = {"papers": found.found, "page": found.page, "pages": found.pages}
        session.screen.document("list", {**page_of, "hits": rows})
    elif ids:
        session.screen.data("".join(f"{one}\n" for one in found.ids))
    else:
        for row in rows:
            _show(session, row)
        pages = f", page {found.page} of {found.pages}" if found.pages > 1 else ""
        session.screen.line(f"{count(found.found, 'paper')}{pages}.")
        if found.page < found.pages:
            session.screen.note(f"--page {found.page + 1} shows more")


def _show(session: Session, row: dict[str, Any]) -> None:
    said = (
        [f"{row['decision']}{': ' + row['reason'] if 'reason' in row else ''}"] if "decision" in row else []
    )
    said += [f"+{one}" for one in row.get("tags", ())]
    year = (f" ({row['year']})" if "year" in row else "") + (" RETRACTED" if "retracted" in row else "")
    title = safe(row["title"], one_line=True) or "(no title)"
    session.screen.line(f"{safe(row['id'], one_line=True)}  {title}{year}", indent=2)
    if said:
        session.screen.line(safe(" · ".join(said), one_line=True), indent=4, first="    ")


@common
def open_paper(
    session: Session,
    papers: Annotated[list[str], argument("Ids, DOIs, titles; or: last 3.", "PAPER...")],
    pdf: Annotated[bool, option("The PDF that it was added from, or arXiv's.")] = False,
    show: Annotated[bool, option("Print the address, open nothing.", "--print")] = False,
) -> None:
    """Open the page of a paper, or its PDF.

    Example:  aspectra open last 2
    """
    with session.open_library() as library:
        found = papers_named(session, library, papers)
        if len(found) > _MOST and not show:
            raise UsageError(f"{len(found)} pages would open at once", hint=f"{_MOST} at most, or --print")
        places = [_place(library, one, pdf=pdf) for one in found]
    for one in places:
        if show or not _opened(one):
            session.screen.line(one)
        else:
            session.screen.note(f"opened {one}")


def _place(library: Library, paper: str, *, pdf: bool) -> str:
    """The address of a paper's page, or the path of its PDF."""
    held = library.store.get(paper)
    files = [o.file for o in library.marks.read.origins([paper]).get(paper, []) if o.source == "pdf"]
    there = [file for file in files if _is_pdf(Path(file))]
    if pdf and there:
        return there[0]
    if pdf and "arxiv" in held.identifiers:
        return f"https://arxiv.org/pdf/{quote(held.identifiers['arxiv'])}"
    if pdf:
        why = f"it was {files[0]}, which is gone or not a PDF" if files else "it was not added from a PDF"
        raise AspectraError(f"there is no PDF of {paper}", why=why, hint=f"aspectra open {paper}")
    for scheme, resolver in RESOLVERS.items():
        if scheme in held.identifiers:
            return resolver.format(quote(held.identifiers[scheme]))
    if urlsplit(held.url).scheme in ("http", "https"):
        return "".join(c for c in held.url if c.isprintable() and not c.isspace())
    if there:
        return there[0]
    raise AspectraError(
        f"nothing is known of {paper} that could be opened",
        why="its record has no DOI, no other identifier of a page, and no address",
        hint=f"aspectra edit {paper} --identifier doi=10.1000/xyz",
    )


def _is_pdf(file: Path) -> bool:
    """Check that a file is a PDF by name and content: a library may name any file, even an executable one."""
    if file.suffix.casefold() != ".pdf" or not file.is_absolute() or not file.is_file():
        return False
    with contextlib.suppress(OSError), file.open("rb") as content:
        return b"%PDF-" in content.read(1024)
    return False


def _opened(place: str) -> bool:
    """Open an address or a file in the system's default program; False if that fails."""
    try:
        if sys.platform == "win32":
            os.startfile(place)  # noqa: S606 - an address, or a file that is there
            return True
        displayed = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        program = "open" if sys.platform == "darwin" else "xdg-open" if displayed else None
        found = shutil.which(program) if program else None
        if found is None:
            return False
        done = subprocess.run([found, place], check=False, capture_output=True, timeout=20)  # noqa: S603
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


# ``save``, ``saved``, ``news``: searches to run again.


@common
def save(session: Session, name: Annotated[str, argument("What to call it.", "NAME")]) -> None:
    """Save the last search, to ask it again.

    Its question is saved, not its results: `aspectra news` runs it and shows what is new.

    Example:  aspectra save owls
    """
    last = recall()
    with session.open_library() as library:
        if library.store.folder.absolute() != last.library:
            raise UsageError(
                f"the last search was in another library: {last.library}", hint=f"--library {last.library}"
            )
        asked = dict(last.asked) or {"plan": last.plan.to_dict()}
        library.saved.save(name, asked, last.ids)
    session.screen.line(f"Saved the last search as {safe(name, one_line=True)!r}.")
    session.screen.next(f"aspectra news{session.library_words()}, after papers were added")


@common
def saved(
    session: Session,
    delete: Annotated[str | None, option("Delete this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """List saved searches.

    Example:  aspectra saved --delete owls
    """
    with session.open_library() as library:
        if delete is not None:
            library.saved.delete(delete)
            session.screen.note(f"Deleted the saved search {safe(delete, one_line=True)!r}: aspectra undo")
        every = library.saved.all()
    if as_json:
        session.screen.document("saved", {"searches": [asdict(one) for one in every]})
        return
    if not every:
        session.screen.line('No search is saved: aspectra search "...", then aspectra save NAME')
        return
    cells = [(one.name, one.ran[:10], one.words[:100]) for one in every]
    table = [("name", "last run", "search"), *cells]
    session.screen.lines(columns([[safe(cell, one_line=True) for cell in row] for row in table]))


@common
def news(
    session: Session,
    name: Annotated[str | None, argument("One saved search; all of them without.", "NAME")] = None,
    keep: Annotated[bool, option("Show them the next time again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is new in saved searches.

    New is a paper that was added since the search was run last, and is now among its results. After that it
    is known; --keep leaves it new.

    Example:  aspectra news owls
    """
    read_beside_rules(session)
    with session.open_library() as library:
        names = [name] if name is not None else [one.name for one in library.saved.all()]
        run = partial(run_plan, session, library)
        found = [library.saved.news(one, run, keep=False) for one in names]
        if as_json:
            rows = [
                {"name": one.name, "since": one.since, "hits": [hit.to_dict() for hit in one.ranking]}
                for one in found
            ]
            session.screen.document("news", {"searches": rows})
        elif not found:
            session.screen.line('No search is saved: aspectra search "...", then aspectra save NAME')
        else:
            for one in found:
                _show_news(session, library, one)
            if len(found) == 1:
                _remember(session, library, found[0])
        session.screen.flush()  # what could not be shown stays new
        for one in () if keep else found:
            library.saved.remember(one)


def _show_news(session: Session, library: Library, found: News) -> None:
    from aspectra.app.output.rankings import show_hits

    title = safe(found.name, one_line=True)
    new = count(len(found.ranking), "new paper") if len(found.ranking) else "nothing new"
    session.screen.line(f"{title}: {new} since {found.since[:16].replace('T', ' ')}", style="bold")
    show_hits(session.screen, found.ranking)
    for warning in found.ranking.warnings:
        session.screen.warn(session.spell_out(warning))


def _remember(session: Session, library: Library, found: News) -> None:
    """Let ``last 1`` name the first of the new papers."""
    hits = found.ranking
    scores, shown = tuple(hit.score for hit in hits), tuple(range(1, len(hits) + 1))
    asked = {one.name: one.asked for one in library.saved.all()}.get(found.name, {})
    remember(Recent(session.library_path, hits.plan, tuple(hits.ids), scores, shown, asked))
