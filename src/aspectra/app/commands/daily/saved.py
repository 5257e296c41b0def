"""``save``, ``saved``, ``news``: searches that are asked again."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aspectra.app.options.model import language_model, read_beside_rules
from aspectra.app.recent import Recent, recall, remember
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, option
from aspectra.app.terminal.screen import columns, count, safe
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.app.ingest.saved import News
    from aspectra.app.library import Library
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking


@common
def save(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.", show_default=False)],
) -> None:
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
    delete: Annotated[str | None, option("--delete", metavar="NAME", about="Delete this one.")] = None,
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
        rows: list[dict[str, Any]] = [
            {"name": one.name, "asked": dict(one.asked), "at": one.at, "ran": one.ran} for one in every
        ]
        session.screen.document("saved", {"searches": rows})
        return
    if not every:
        session.screen.line('No search is saved: aspectra search "...", then aspectra save NAME')
        return
    cells = [(one.name, one.ran[:10], one.words[:100]) for one in every]
    table = [("name", "last run", "search"), *cells]
    for line in columns([[safe(cell, one_line=True) for cell in row] for row in table]):
        session.screen.line(line)


@common
def news(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="One saved search; all of them without.", show_default=False),
    ] = None,
    keep: Annotated[bool, option("--keep", about="Show them the next time again.")] = False,
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
        found = [
            library.saved.news(one, lambda plan: _run(session, library, plan), keep=not keep) for one in names
        ]
        if as_json:
            rows = [
                {"name": one.name, "since": one.since, "hits": [hit.to_dict() for hit in one.ranking]}
                for one in found
            ]
            session.screen.document("news", {"searches": rows})
            return
        if not found:
            session.screen.line('No search is saved: aspectra search "...", then aspectra save NAME')
        for one in found:
            _show(session, library, one)
        if len(found) == 1:
            _remember(session, library, found[0])


def _run(session: Session, library: Library, plan: Plan) -> Ranking:
    from aspectra.search.stages.protocol import needs_model

    with language_model(session) if needs_model(plan.stages) else nullcontext() as library.model:
        return library.run(plan)


def _show(session: Session, library: Library, found: News) -> None:
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
