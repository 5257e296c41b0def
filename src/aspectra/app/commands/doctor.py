"""``doctor``: what is installed, what would be contacted, and whether the library is sound."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from aspectra.app.session import Session, common
from aspectra.app.terminal.panels import AsJson, option

__all__ = ["doctor"]

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
