"""Answers that only a person can give: which library, which of several papers of one name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from aspectra.app.surfaces.mcp.fitting import clip, handle, line
from aspectra.base.errors import SeveralPapers, UsageError

if TYPE_CHECKING:
    from aspectra.app.surfaces.mcp.arguments import Arguments
    from aspectra.app.surfaces.mcp.libraries import Libraries
    from aspectra.app.surfaces.service.answering import Service

_LONGEST_STATE = 24_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with its possible answers.

    Attributes:
        key: by which the answer is known.
        message: for people.
        options: (value, title for people).
    """

    key: str
    message: str
    options: tuple[tuple[str, str], ...]


class NeedsChoice(Exception):
    """Something must be chosen first.

    Args:
        choices: what is asked.
        error: what is said where nobody can be asked.
    """

    def __init__(self, choices: Sequence[Choice], error: UsageError) -> None:
        super().__init__(error.what)
        self.choices, self.error = (*choices,), error


def library_of(libraries: Libraries, given: Arguments, chosen: Mapping[str, str]) -> tuple[str, Service]:
    """Name and service of the library that a call is about.

    Raises:
        NeedsChoice: several are served, and none is named.
        NoSuchThing: none has that name.
    """
    names = libraries.names
    name = given.library or chosen.get("library", "") or (names[0] if len(names) == 1 else "")
    if not name:
        listed = ", ".join(names)
        raise NeedsChoice(
            [Choice("library", "Which library is meant?", tuple((one, one) for one in names))],
            UsageError(
                "several libraries are served, and none is named", why=listed, hint="library: one of these"
            ),
        )
    return name, libraries.get(name)


def papers_of(service: Service, names: Sequence[str], chosen: Mapping[str, str]) -> tuple[str, ...]:
    """Ids of papers, each once: by id, DOI, arXiv id or exact title.

    Raises:
        NeedsChoice: several papers have that name.
        NoSuchPaper: none has.
    """
    found, open_, first = [], [], None
    for number, name in enumerate(names, start=1):
        key = f"paper {number}"
        try:
            found.append(service.resolve(chosen.get(key, name)))
        except SeveralPapers as error:
            first = first or error
            open_.append(_of_that_name(service, key, error))
    if first is not None:
        raise NeedsChoice(open_, first)
    return tuple(dict.fromkeys(found))


def _of_that_name(service: Service, key: str, error: SeveralPapers) -> Choice:
    options = []
    for paper in service.library.store.get_many(error.ids).values():
        if named := handle(paper.id, {}):
            title = f"{clip(line(paper.title), 200)} ({paper.year or 'no year'}, {clip(named, 100)})"
            options.append((named, title))
    return Choice(key, f"Which paper is meant by {clip(line(error.name), 300)}?", tuple(options))


def write_state(chosen: Mapping[str, str]) -> str:
    """What was chosen, for the client to send again; it grants nothing that arguments do not."""
    return json.dumps(chosen)


def read_state(text: str | None) -> dict[str, str]:
    """Inverse of :func:`write_state`.

    Raises:
        UsageError: this is no state.
    """
    if not text:
        return {}
    try:
        if len(text) > _LONGEST_STATE:
            raise ValueError(text[:20])
        return msgspec.json.decode(text, type=dict[str, str])
    except (ValueError, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise UsageError("requestState cannot be read", hint="send it back unchanged") from error
