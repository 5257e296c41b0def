"""A check of the database once a week, before a command that writes for a while anyway."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from aspectra.app.settings import state_file
from aspectra.base.files import make_folder, write_durably
from aspectra.papers.library.row_sums import damaged
from aspectra.papers.library.store import Store

_NAME = "checked.json"
_WEEK = 7 * 24 * 3600  # seconds
_MOST = 1000  # libraries remembered


def check_if_due(library: Store) -> bool:
    """Check the database if that was a week ago, or never done; returns whether it was checked.

    When is kept in the user's own state, since a library may be on a medium that is only read. A clock that
    was set back only means another check.

    Raises:
        LibraryCorrupt: the database is damaged.
    """
    path, name = state_file(_NAME), os.path.abspath(library.folder)
    known = _known(path)
    if abs(time.time() - known.get(name, 0.0)) < _WEEK:
        return False
    if problems := library.check(quick=True):
        raise damaged(problems[0])
    known.pop(name, None)
    kept = dict(list(known.items())[-_MOST + 1 :]) | {name: time.time()}
    with contextlib.suppress(OSError):  # then it is checked again the next time
        make_folder(path.parent)
        write_durably(path, json.dumps(kept))
    return True


def _known(path: Path) -> dict[str, float]:
    """Library -> when it was checked, in seconds of the clock."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(at) for name, at in held.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
