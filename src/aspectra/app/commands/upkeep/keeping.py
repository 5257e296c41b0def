"""``backup`` and ``restore``: a library as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import option
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
    from aspectra.app.upkeep.restoring import restore_library

    with (
        session.progress() as shown,
        restore_library(file, session.library_path, replace=replace, progress=shown) as library,
    ):
        held = len(library)
    session.screen.line(f"Restored {count(held, 'paper')} to {session.library_path}.")
    session.screen.next(f"aspectra status{session.library_words()}")
