"""The last search: its plan, what was asked for, and its papers by number. Losing it costs nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspectra.base.errors import UsageError
from aspectra.base.files import state_file

if TYPE_CHECKING:
    from aspectra.search.plan import Plan

LAST = "last"
_NAME = "last.json"
_NUMBERS = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
_WAYS = "aspectra show last 3, aspectra export last 1-20, or: aspectra export last 3,5"


@dataclass(frozen=True, slots=True)
class Recent:
    """A search and what came of it.

    Attributes:
        library: the folder that was searched, absolute.
        plan: what was run.
        ids: of all papers that were found, best first: paper N is ``ids[N - 1]``.
        scores: of these.
        shown: the numbers that were listed, in that order; they count from 1.
        asked: ``text``, ``seeds`` and ``given`` (the arguments of :meth:`aspectra.app.library.Library.plan`,
            as they were written), or {} for a plan from a file.
    """

    library: Path
    plan: Plan
    ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    shown: tuple[int, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The question in one line, as the page writes it; of a plan from a file, the text of the plan."""
        from aspectra.app.surfaces.service.question import Question

        given = self.asked.get("given", {})
        same, different = (tuple(given.get(name) or ()) for name in ("same", "different"))
        text, seeds = self.asked.get("text", ""), tuple(self.asked.get("seeds", ()))
        question = Question(text, seeds, same=same, different=different)
        return question.words or " ".join(self.plan.text.split())


def remember(recent: Recent) -> None:
    """Keep a search; a folder that cannot be written is not an error."""
    path = state_file(_NAME)
    value = {
        "library": os.path.abspath(recent.library),
        "plan": recent.plan.to_dict(),
        "ids": recent.ids,
        "scores": recent.scores,
        "shown": recent.shown,
        "asked": recent.asked,
    }
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

    with _loaded() as loaded:
        rest = {name: tuple(loaded.get(name, ())) for name in ("ids", "scores", "shown")}
        library, plan = Path(loaded["library"]), Plan.from_dict(loaded["plan"])
        asked = dict(loaded.get("asked", {}))
    return Recent(library, plan, asked=asked, **rest)


def papers_of_last(words: Sequence[str], *, library: Path | None = None) -> list[str] | None:
    """Ids of papers of the last search that are named by their numbers; nothing is searched.

    Args:
        words: ``last`` for all that were listed, else ``last`` and numbers: ``3``, ``1-20``, ``3,5``.
        library: the folder of the library in use; None where any will do.

    Returns:
        The ids in the order of the words, each once, or None where the first word is not ``last``.

    Raises:
        UsageError: there was no search, it was in another library, or it found no paper of that number.
    """
    if not words or words[0] != LAST:
        return None
    with _loaded() as loaded:
        ids, shown, where = list(loaded["ids"]), list(loaded["shown"]), str(loaded["library"])
    if library is not None and os.path.abspath(library) != where:
        raise UsageError(
            f"the last search was in another library: {where}",
            hint=f"--library {where}, or search in this library first",
        )
    wanted = _numbers(words[1:], len(ids)) if len(words) > 1 else shown
    return list(dict.fromkeys(ids[number - 1] for number in wanted))


def spelled(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The request as JSON values: a recipe other than text becomes its dictionary."""
    given = {
        name: value if value is None or isinstance(value, (str, int, tuple, list)) else value.to_dict()
        for name, value in asked.get("given", {}).items()
    }
    return {**asked, "given": given} if asked else {}


def _numbers(words: Sequence[str], found: int) -> list[int]:
    """The numbers that words such as ``3``, ``1-20`` and ``3,5`` name."""
    out: list[int] = []
    for part in (part for word in words for part in word.split(",") if part):
        named = _NUMBERS.fullmatch(part)
        if named is None:
            raise UsageError(f"{part!r} is no number of a paper of the last search", hint=_WAYS)
        first, last = int(named[1]), int(named[2] or named[1])
        if not 1 <= first <= last <= found:
            raise UsageError(
                f"the last search has no paper {part}",
                why=f"it found {found:,}: 1-{found}" if found else "it found none",
                hint='aspectra search "..." -n 50 finds more' if found else "ask in other words, or for less",
            )
        out += range(first, last + 1)
    if not out:
        raise UsageError("no number follows `last`", hint=_WAYS)
    return out


@contextlib.contextmanager
def _loaded() -> Iterator[dict[str, Any]]:
    """What :func:`remember` wrote; a file that is missing, or that cannot be read, is no search."""
    try:
        yield json.loads(state_file(_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        none = "there is no last search to repeat"
        raise UsageError(none, hint='aspectra search "what you look for"') from error
