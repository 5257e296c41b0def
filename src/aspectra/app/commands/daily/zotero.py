"""``zotero``: a Zotero library read, followed, and written to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import CommandGroup, OutputFile, option
from aspectra.app.terminal.screen import count
from aspectra.base.errors import AspectraError, UsageError

if TYPE_CHECKING:
    from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi
    from aspectra.app.ingest.zotero.sync import PdfReport, Places, SyncReport
    from aspectra.papers.sources.zotero.mapping import ZoteroSource

_SHOWN = 3
_KEY = "ZOTERO_API_KEY"

app = CommandGroup("Read a Zotero library, follow its changes, and send picks, tags and notes back.")

Database = Annotated[
    Path | None,
    option("--database", metavar="FILE", about="Read a copy of this zotero.sqlite; Zotero may be running."),
]
Web = Annotated[bool, option("--web", about=f"Use zotero.org, with the key in {_KEY}.")]
Group = Annotated[str, option("--group", metavar="NAME", about="A group's library: its name or number.")]
Port = Annotated[
    int, option("--port", metavar="N", about="Where Zotero listens.", rare=True, min=1, max=65535)
]


@app.command()
@common
def sync(
    session: Session,
    database: Database = None,
    web: Web = False,
    group: Group = "",
    pdfs: Annotated[bool, option("--pdfs/--no-pdfs", about="Read attached PDFs too.")] = True,
    remove: Annotated[
        bool, option("--remove", about="Remove papers whose items are no longer in Zotero.")
    ] = False,
    again: Annotated[bool, option("--again", about="Read everything, whatever is remembered.")] = False,
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
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="last|ID", help="`last`, `last 3`, `last 1-20`, or ids.", show_default=False),
    ] = None,
    included: Annotated[bool, option("--included", about="The papers that you decided to include.")] = False,
    collection: Annotated[
        str, option("--collection", metavar="NAME", about="Put them into this collection of Zotero's.")
    ] = "",
    tags: Annotated[list[str] | None, option("--tag", metavar="TAG", about="Add this tag to each.")] = None,
    notes: Annotated[
        bool, option("--notes/--no-notes", about="With last: a note with the quoted sentences.")
    ] = True,
    limit: Annotated[
        int | None, option("--limit", "-n", metavar="N", min=0, about="With last: so many papers.")
    ] = None,
    yes: Annotated[bool, option("--yes", "-y", about="Do not ask.")] = False,
    undo: Annotated[bool, option("--undo", about="Take back what was sent last.")] = False,
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
    from aspectra.app.commands.daily._zotero_push import push_papers, undo_last

    if undo:
        undo_last(session, _api(web, group, port), yes=yes)
        return
    if included == bool(ids):
        raise UsageError("say which papers", hint="aspectra zotero push last, ID..., or --included")
    if limit is not None and (not ids or ids[0] != "last"):
        raise UsageError("--limit is for the last search", hint=f"aspectra zotero push last -n {limit}")
    push_papers(
        session,
        ids or (),
        (lambda: _api(web, group, port)) if output is None else None,
        output,
        collection=collection,
        tags=tags or [],
        notes=notes,
        limit=limit,
        yes=yes,
    )


def _api(web: bool, group: str, port: int) -> ZoteroApi:
    from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi, local_address

    return ZoteroApi(_web() if web else Connection(local_address(port)), group)


def _source(session: Session, places: Places, named: bool, web: bool, group: str, port: int) -> ZoteroSource:
    """Where Zotero is read from: what the user named, else its program since version 10, else its database.

    Programs before that do not say which items changed, so their database is quicker and tells more.
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
    from aspectra.base.trust import Permission, allow
    from aspectra.llm.secrets import read_key

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
    remarks = sorted(report.remarks, key=lambda remark: not remark.skipped)
    for remark in remarks[:_SHOWN]:
        screen.note(f"  {'skipped' if remark.skipped else 'note'}: {remark.place}: {remark.reason}")
    if len(remarks) > _SHOWN:
        more = f"aspectra status --skips{session.library_words()}"
        screen.note(f"  and {count(len(remarks) - _SHOWN, 'remark')} more: {more}")


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
