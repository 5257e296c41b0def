"""``zotero``: a Zotero library read, followed, and written to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.commands.adding import tell_remarks
from aspectra.app.ingest.works import one_each
from aspectra.app.ingest.zotero.pushing import Outgoing, Pushed, Pushing, SentQuote, import_file
from aspectra.app.library import Library, open_library
from aspectra.app.recent import LAST, papers_of_last, recall
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import CommandGroup, Names, OutputFile, argument, option
from aspectra.app.terminal.screen import count, safe
from aspectra.base.errors import AspectraError, UsageError
from aspectra.base.values import now
from aspectra.papers.library.marks.values import Item

if TYPE_CHECKING:
    from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi
    from aspectra.app.ingest.zotero.sync import PdfReport, Places, SyncReport
    from aspectra.papers.library.store import Store
    from aspectra.papers.sources.zotero.mapping import ZoteroSource
    from aspectra.search.ranking import Hit


# Parts of ``zotero push``: what is sent, shown and remembered, and taken back.

_PAPERS_SHOWN = 10
_KEPT = 20  # pushes that can be taken back
_WRITING = "writing to Zotero"


def undo_last(session: Session, api: ZoteroApi, *, yes: bool) -> None:
    """Take back what was sent last to this library of Zotero's.

    Raises:
        UsageError: nothing was sent.
        ZoteroError: Zotero cannot be reached or refuses.
    """
    with session.open_library() as library:
        sent = _sent(library.store, api.library)
        if not sent:
            raise UsageError("nothing was sent that could be taken back")
        last = sent[-1]
        session.screen.note(
            f"Sent at {last.at}: {count(len(last.papers), 'new record')}, {count(len(last.notes), 'note')}, "
            f"tags of {count(len(last.tags), 'item')}, {count(len(last.joined), 'item')} put into a "
            "collection"
        )
        if not yes:
            session.confirm("Take this back?", _WRITING)
        left = Pushing(api).undo(last)
        _remember(library.store, api.library, sent[:-1], forget=list(last.papers))
    session.screen.line(f"Taken back{' but for' if left.failed else ''}{':' if left.failed else '.'}")
    for key, why in left.failed.items():
        session.screen.line(f"{key}: {why}", indent=2)


def _picked(
    session: Session, words: Sequence[str], limit: int | None, *, notes: bool
) -> tuple[Library, list[Outgoing]]:
    """The library, open, and papers of it: those named, of the last search with quotes, or the included."""
    if list(words[:1]) != [LAST]:
        library = session.open_library()
        decided = library.store.marks.decisions()
        included = [paper for paper, one in decided.items() if one.decision == "include"]
        found = (
            library.store.get_many(library.resolve(*words), full=False).values()
            if words
            else one_each(library.store, included)
        )
        return library, [Outgoing(paper) for paper in found]
    from aspectra.app.options import run_plan

    recent = recall()
    place = session.library_path if session.config.origin("library") == "flag" else recent.library
    chosen = papers_of_last(words, library=place) if len(words) > 1 else None
    if chosen is not None:
        limit = 1 + max(recent.ids.index(one) for one in chosen)
    plan = recent.plan if limit is None else recent.plan.with_limit(limit)
    library = open_library(place)
    try:
        ranking = run_plan(session, library, plan)
    except BaseException:
        library.close()
        raise
    query = recent.words
    return library, [
        Outgoing(hit.paper, quotes=_quotes(hit) if notes else (), query=query)
        for hit in ranking.hits
        if chosen is None or hit.id in chosen
    ]


def _quotes(hit: Hit) -> tuple[SentQuote, ...]:
    found: dict[str, SentQuote] = {}
    for one in hit.evidence:
        where = one.heading or ("" if one.field.startswith("section:") else one.field)
        found.setdefault(one.quote, SentQuote(" ".join(one.quote.split()), where.capitalize()))
    return tuple(found.values())


def _with_key(one: Outgoing, keys: Mapping[str, str], store: Store) -> Outgoing:
    """The same with the key of its item in Zotero, or of another version of the work."""
    versions = store.versions([one.paper.id]).get(one.paper.id, [])
    key = next((keys[i] for i in (one.paper.id, *versions) if i in keys), "")
    return Outgoing(one.paper, key, one.quotes, one.query)


def _show(
    session: Session, going: Sequence[Outgoing], place: str, collection: str, tags: Sequence[str]
) -> None:
    note = session.screen.note
    note(f"To {place}:")
    if collection:
        note(f"  into the collection {collection!r}")
    if tags:
        note(f"  with the {'tag' if len(tags) == 1 else 'tags'} {', '.join(tags)}")
    for one in going[:_PAPERS_SHOWN]:
        what = "" if one.key else "  a new record"
        quoted = f"  a note with {count(len(one.quotes), 'sentence')}" if one.quotes else ""
        note(f"  {one.paper.id}  {safe(one.paper.title, one_line=True)[:70]}{what}{quoted}")
    if len(going) > _PAPERS_SHOWN:
        note(f"  and {count(len(going) - _PAPERS_SHOWN, 'more paper')}")


def _write_file(
    session: Session, picked: Sequence[Outgoing], tags: Sequence[str], collection: str, output: Path
) -> None:
    from aspectra.papers.export.protocol import WRITERS

    endings = {WRITERS.get(name).suffix: name for name in ("ris", "csl-json", "bibtex")}
    form = endings.get(output.suffix.lower(), "")
    if not form:
        raise UsageError(f"{output} is no file that Zotero imports", hint=f"end it in {', '.join(endings)}")
    session.screen.data(import_file(picked, tags, form), output)
    where = f" into the collection {collection!r}" if collection else ""
    session.screen.note(f"Wrote {count(len(picked), 'record')} to {output}. In Zotero: File, Import{where}.")
    session.screen.note("What is in Zotero already is there twice then: Duplicate Items merges it.")


def _sent(store: Store, library: str) -> list[Pushed]:
    """The records of earlier pushes, the last at the end."""
    names = {one.name for one in fields(Pushed)}
    rows = json.loads(store.meta(f"zotero-sent:{library}", "[]"))
    return [Pushed(**{name: value for name, value in row.items() if name in names}) for row in rows]


def _remember(store: Store, library: str, sent: Sequence[Pushed], forget: Sequence[str] = ()) -> None:
    """Keep what was sent, and which items of Zotero's the new records are."""
    rows = [{name: value for name, value in asdict(one).items() if name != "failed"} for one in sent[-_KEPT:]]
    with store.writing("zotero push") as writer:
        writer.set_meta(f"zotero-sent:{library}", json.dumps(rows, ensure_ascii=False))
        writer.marks.drop_items([Item("zotero", library, key) for key in forget])
        new = {Item("zotero", library, key): paper for one in sent[-1:] for key, paper in one.papers.items()}
        if new and not forget:
            writer.marks.put_items(new)


def _tell_pushed(session: Session, done: Pushed) -> None:
    screen = session.screen
    screen.line(
        f"Sent: {count(len(done.papers), 'new record')}, {count(len(done.notes), 'note')}, "
        f"tags to {count(len(done.tags), 'item')}, {count(len(done.joined), 'item')} put into the collection."
    )
    for paper, why in done.failed.items():
        screen.line(f"not sent: {paper}: {why}", indent=2)
    if not done.empty:
        screen.note("aspectra zotero push --undo takes it back")
        screen.next(f"aspectra zotero sync{session.library_words()}")
    if done.failed:
        raise typer.Exit(1)


_SHOWN = 3
_KEY = "ZOTERO_API_KEY"

app = CommandGroup("Read a Zotero library, follow its changes, and send picks, tags and notes back.")

Database = Annotated[
    Path | None,
    option("Read a copy of this zotero.sqlite; Zotero may be running.", "--database"),
]
Web = Annotated[bool, option(f"Use zotero.org, with the key in {_KEY}.", "--web")]
Group = Annotated[str, option("A group's library: its name or number.", "--group")]
Port = Annotated[int, option("Where Zotero listens.", "--port", rare=True, min=1, max=65535)]


@app.command()
@common
def sync(
    session: Session,
    database: Database = None,
    web: Web = False,
    group: Group = "",
    pdfs: Annotated[bool, option("Read attached PDFs too.")] = True,
    remove: Annotated[bool, option("Remove papers whose items are no longer in Zotero.")] = False,
    again: Annotated[bool, option("Read everything, whatever is remembered.")] = False,
    port: Port = 23119,
) -> None:
    """Bring what is new in Zotero into the library.

    Records, collections, tags, notes, annotations and the text of attached PDFs. Zotero is read through its
    own program where it runs, else from a copy of its database. Only what changed is read.

    Example:  aspectra zotero sync
    """
    from aspectra.app.ingest.zotero.sync import find_places, follow, read_pdfs
    from aspectra.papers.sources.protocol import ReadOptions

    if database is not None and web:
        raise UsageError("--database and --web exclude each other")
    from msgspec.structs import asdict

    options = ReadOptions(**asdict(session.settings.add))
    places = find_places(database)
    with session.open_library() as library:
        source = _source(session, places, database is not None, web, group, port)
        with session.progress() as shown:
            report = follow(
                library.store, source, remove=remove, again=again, options=options, progress=shown
            )
            shown.clear()
            _tell(session, source, report)
            if pdfs:
                texts = read_pdfs(library.store, source.library, places, options=options, progress=shown)
                shown.clear()
                _tell_pdfs(session, texts)
                report.updated += texts.read
    if report.added or report.updated or report.removed:
        session.screen.next(f"aspectra index{session.library_words()}")


@app.command()
@common
def push(
    session: Session,
    ids: Annotated[Names, argument("`last`, `last 3`, `last 1-20`, or ids.", "last|ID")] = None,
    included: Annotated[bool, option("The papers that you decided to include.")] = False,
    collection: Annotated[str, option("Put them into this collection of Zotero's.")] = "",
    tags: Annotated[Names, option("Add this tag to each.", "--tag", metavar="TAG")] = None,
    notes: Annotated[bool, option("With last: a note with the quoted sentences.")] = True,
    limit: Annotated[int | None, option("With last: so many papers.", "-n", min=0)] = None,
    yes: Annotated[bool, option("Do not ask.", "-y")] = False,
    undo: Annotated[bool, option("Take back what was sent last.")] = False,
    output: OutputFile = None,
    web: Web = False,
    group: Group = "",
    port: Port = 23119,
) -> None:
    """Send papers, tags and quoted sentences to Zotero.

    Shows what would be sent and waits for a yes. Nothing in Zotero is overwritten: tags are added, notes are
    new, and --undo takes all of it back. Zotero 10 takes changes itself, and puts its own question; else use
    --web, or -o picks.ris for a file that Zotero imports.

    Example:  aspectra zotero push last --collection "Screening" --tag found
    """
    if undo:
        undo_last(session, _api(web, group, port), yes=yes)
        return
    if included == bool(ids):
        raise UsageError("say which papers", hint="aspectra zotero push last, ID..., or --included")
    if limit is not None and (not ids or ids[0] != "last"):
        raise UsageError("--limit is for the last search", hint=f"aspectra zotero push last -n {limit}")
    added = tags or []
    library, picked = _picked(session, ids or (), limit, notes=notes)
    with library:
        if not picked:
            raise UsageError(
                "there are no papers to send", hint="aspectra decide PAPER include, or name papers"
            )
        if output is not None:
            _write_file(session, picked, added, collection, output)
            return
        pushing = Pushing(api := _api(web, group, port))
        items = library.store.marks.items("zotero")
        keys = {paper: item.key for item, paper in items.items() if item.library == api.library}
        going = [_with_key(one, keys, library.store) for one in picked]
        _show(session, going, api.place, collection, added)
        if not (collection or added or any(one.quotes or not one.key for one in going)):
            raise UsageError("there is nothing to send", hint="add --collection NAME or --tag TAG")
        if not yes:
            session.confirm(f"Send this to {api.place}?", _WRITING)
        done = Pushed(at=now())
        before = _sent(library.store, api.library)
        hashes = [note for one in before for note in one.notes]
        try:
            pushing.send(going, done, collection=collection, tags=added, known=hashes)
        finally:
            if not done.empty:
                _remember(library.store, api.library, [*before, done])
    _tell_pushed(session, done)


def _api(web: bool, group: str, port: int) -> ZoteroApi:
    from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi, local_address

    return ZoteroApi(_web() if web else Connection(local_address(port)), group)


def _source(session: Session, places: Places, named: bool, web: bool, group: str, port: int) -> ZoteroSource:
    """Choose the source of Zotero's items: the one named, else its API since version 10, else its database.

    Earlier versions do not say which items changed, so their database is quicker and has more facts.
    """
    from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi, ZoteroError, local_address
    from aspectra.papers.sources.zotero.database import ZoteroDatabase

    if web:
        return ZoteroApi(_web(), group)
    api: ZoteroApi | None = None
    failure: AspectraError | None = None
    if not named and not session.settings.offline:
        try:
            api = ZoteroApi(Connection(local_address(port)), group)
        except ZoteroError as error:
            failure = error
    if api is not None and (api.counts or places.database is None):
        return api
    if places.database is not None:
        return ZoteroDatabase(places.database, group)
    raise failure or AspectraError(
        "no Zotero library was found", hint="aspectra zotero sync --database PATH/TO/zotero.sqlite"
    )


def _web() -> Connection:
    from aspectra.app.ingest.zotero.connection import WEB, Connection
    from aspectra.base.trust import Permission, allow, read_key

    if not read_key(_KEY):
        raise UsageError(
            "there is no key for zotero.org",
            why=f"{_KEY} is not set",
            hint=f"make one at zotero.org/settings/keys and put it into the variable {_KEY}",
        )
    allow(Permission.host(WEB, _KEY))  # whoever writes --web permits it
    return Connection(WEB, lambda: read_key(_KEY))


def _tell(session: Session, source: ZoteroSource, report: SyncReport) -> None:
    screen = session.screen
    if report.nothing_new and not report.removed:
        screen.line(f"{source.place}: nothing new.")
    else:
        screen.line(
            f"{source.place}: {report.added:,} added, {report.updated:,} updated, "
            f"{report.unchanged:,} unchanged, {report.skipped:,} skipped; {count(report.notes, 'note')}, "
            f"{count(report.annotations, 'annotation')}, {count(report.tags, 'tag')}."
        )
    if report.removed:
        screen.line(f"Removed {count(report.removed, 'paper')} that Zotero no longer has.")
    if report.gone:
        names = ", ".join(report.gone[:_SHOWN]) + (" ..." if len(report.gone) > _SHOWN else "")
        screen.note(
            f"{count(len(report.gone), 'paper')} no longer in Zotero, kept here: {names} "
            "(aspectra zotero sync --remove removes them)"
        )
    if report.left:
        screen.note(f"{count(report.left, 'note or file', 'notes or files')} without a record: not read")
    tell_remarks(session, report.remarks)


def _tell_pdfs(session: Session, report: PdfReport) -> None:
    screen = session.screen
    if report.read or report.refused:
        screen.line(f"PDFs: {report.read:,} read, {report.refused:,} without usable text.")
    if report.missing:
        screen.note(f"{count(report.missing, 'attached PDF')} not on this computer: not read")
    for remark in report.remarks[:_SHOWN]:
        screen.note(f"  {'skipped' if remark.skipped else 'note'}: {remark.place}: {remark.reason}")
    if len(report.remarks) > _SHOWN:
        screen.note(f"  and {count(len(report.remarks) - _SHOWN, 'remark')} more (--verbose lists them)")
        for remark in report.remarks[_SHOWN:]:
            screen.detail(f"  {remark.place}: {remark.reason}")
