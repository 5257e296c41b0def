"""The last search, so that ``export last`` and ``plan last`` can repeat it. Losing it costs nothing."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aspectra.app.settings import state_file
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.search.plan import Plan

__all__ = ["Recent", "recall", "remember"]

_NAME = "last.json"


@dataclass(frozen=True, slots=True)
class Recent:
    """A plan and the library it was run on."""

    library: Path
    plan: Plan


def remember(library: Path, plan: Plan) -> None:
    """Keep the plan; a folder that cannot be written is no error."""
    path = state_file(_NAME)
    value = {"library": os.path.abspath(library), "plan": plan.to_dict()}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{_NAME}.{os.getpid()}")
        part.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8", errors="replace")
        part.replace(path)


def recall() -> Recent:
    """The last search.

    Raises:
        UsageError: there was none.
    """
    from aspectra.search.plan import Plan

    try:
        loaded = json.loads(state_file(_NAME).read_text(encoding="utf-8"))
        return Recent(Path(loaded["library"]), Plan.from_dict(loaded["plan"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            "there is no last search to repeat", hint='aspectra search "what you look for"'
        ) from error
