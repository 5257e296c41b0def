"""``duplicates``, ``merge``, ``split``: which records are one work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.recent import papers_of_last
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, option
from aspectra.app.terminal.screen import Screen, count, safe
from aspectra.papers.bibliography import is_retracted

if TYPE_CHECKING:
    from aspectra.app.ingest.works import Group
    from aspectra.app.library import Library
    from aspectra.papers.paper import Paper

_SHOWN = 20  # groups of each kind that are printed
_MEMBERS = 10  # records of a group that are printed
Words = Annotated[
    list[str],
    typer.Argument(metavar="ID", help="Ids, DOIs or exact titles; or: last 3,5.", show_default=False),
]


@common
def duplicates(
    session: Session,
    limit: Annotated[
        int, option("--limit", "-n", metavar="N", min=0, about="Groups of each kind that are listed [20].")
    ] = _SHOWN,
    as_json: AsJson = False,
) -> None:
    """List records of the same work.

    First groups that should be looked at, then those that are one work already: search shows one record of
    each, and export writes one. Nothing is deleted. `merge` and `split` decide; `undo` takes it back.

    Example:  aspectra duplicates -n 50
    """
    with session.open_library() as library:
        found = library.works.duplicates()
        if as_json:
            session.screen.document("duplicates", asdict(found))
            return
        screen = session.screen
        look = [group for group in found.groups if group.kind == "look"]
        one = [group for group in found.groups if group.kind == "one"]
        further = found.records - found.works
        screen.line(
            f"{count(found.records, 'record')} of {count(found.works, 'work')}: {count(len(one), 'work')} "
            f"with {count(len(one) + further, 'record')}; {count(len(look), 'group')} to look at"
        )
        for title, groups in (("To look at", look), ("One work already", one)):
            if groups and limit:
                screen.line()
                screen.line(title, style="bold")
                _list(screen, library, groups, limit)
        if look:
            session.screen.next(f"aspectra merge ID ID, or aspectra split ID ID{session.library_words()}")


def _list(screen: Screen, library: Library, groups: list[Group], limit: int) -> None:
    for group in groups[:limit]:
        shown = library.store.get_many(group.ids[:_MEMBERS], full=False)
        for one in shown.values():
            screen.line(_record(one), indent=2)
        if len(group.ids) > _MEMBERS:
            screen.line(f"and {count(len(group.ids) - _MEMBERS, 'record')} more (--json)", indent=2)
        screen.line(safe("; ".join(group.why) or "grouped earlier", one_line=True), style="dim", indent=4)
    if len(groups) > limit:
        screen.line(f"and {count(len(groups) - limit, 'group')} more: --limit {len(groups)}", indent=2)


def _record(paper: Paper) -> str:
    year = (f" ({paper.year})" if paper.year else "") + (" RETRACTED" if is_retracted(paper) else "")
    where = f", {paper.venue}" if paper.venue else ""
    return safe(f"{paper.id}  {paper.title[:120] or '(no title)'}{year}{where}", one_line=True)


@common
def merge(session: Session, papers: Words, as_json: AsJson = False) -> None:
    """Make records one work.

    The first one leads: it is shown, and exported with what only the others have. All records stay, and the
    decision lasts when the same files are added again. `aspectra undo` takes it back.

    Example:  aspectra merge smith2020 arXiv:2004.07180
    """
    named = papers_of_last(papers, library=session.library_path) or papers
    with session.open_library() as library:
        records = library.works.merge(*named)
    if as_json:
        session.screen.document("merge", {"records": records})
        return
    session.screen.line(
        f"{records[0]} leads {count(len(records), 'record')} of one work: {', '.join(records)}"
    )


@common
def split(session: Session, papers: Words, as_json: AsJson = False) -> None:
    """Keep records apart.

    One paper is split from all its versions, several from each other. They are never grouped again, also when
    the same files are added again. `aspectra undo` takes it back.

    Example:  aspectra split smith2020
    """
    named = papers_of_last(papers, library=session.library_path) or papers
    with session.open_library() as library:
        pairs = library.works.split(*named)
    if as_json:
        session.screen.document("split", {"apart": pairs})
        return
    for one, other in pairs:
        session.screen.line(f"{one} and {other} are two works")
