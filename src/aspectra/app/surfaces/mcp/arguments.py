"""The arguments of each tool, from whose types come schemas; and the libraries that are served."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from aspectra.app.surfaces.service.answering import Service
from aspectra.app.surfaces.service.question import Aspects, Question
from aspectra.app.terminal.screen import safe
from aspectra.base.errors import NoSuchThing, UsageError, did_you_mean
from aspectra.base.trust import Permission, require
from aspectra.base.values import converted

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.app.settings import Settings
    from aspectra.base.config import Config


MOST_PAPERS = 25  # in one answer
Direction = Literal["", "builds-on", "built-on-by", "both"]
Detail = Literal["ids", "brief", "full"]
Id = Annotated[str, Meta(min_length=1, max_length=1000)]
Year = Annotated[int, Meta(ge=0, le=9999)] | None
Start = Annotated[int, Meta(ge=0)]
_OF_ANSWER = ("library", "detail", "cursor")  # arguments that are no part of the question
T = TypeVar("T", bound="Arguments")


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every tool takes: ``library`` names one, where several are served."""

    library: Annotated[str, Meta(max_length=64)] = ""


class _Asking(Arguments, frozen=True, kw_only=True):
    same: Aspects = ()
    different: Aspects = ()
    conditions: Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=20)] = ()
    since: Year = None
    until: Year = None
    limit: Annotated[int, Meta(ge=1, le=MOST_PAPERS)] = 10
    detail: Detail = "brief"
    cursor: Annotated[str, Meta(max_length=400)] = ""

    def question(self, **more: Any) -> Question:
        """The question of these arguments; ``more`` is in place of them."""
        given = {name: held for name, held in msgspec.structs.asdict(self).items() if name not in _OF_ANSWER}
        return Question(**given | more)


class SearchPapers(_Asking, frozen=True, kw_only=True):
    """``search_papers``."""

    text: Annotated[str, Meta(min_length=1, max_length=4000)]


class Similar(_Asking, frozen=True, kw_only=True):
    """``find_similar``."""

    seeds: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=20)]
    instruction: Annotated[str, Meta(max_length=4000)] = ""
    direction: Direction = ""


class Get(Arguments, frozen=True, kw_only=True):
    """``get_paper``."""

    id: Id
    start: Start = 0


class Explain(Arguments, frozen=True, kw_only=True):
    """``explain_match``."""

    plan: Annotated[str, Meta(min_length=1, max_length=64)]
    id: Id
    generation: Annotated[str, Meta(max_length=64)] = ""


class Cite(Arguments, frozen=True, kw_only=True):
    """``export_citations``."""

    ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=100)]
    format: Literal["ris", "bibtex", "csl-json"] = "ris"
    abstracts: bool = False
    start: Start = 0


def read(kind: type[T], given: Mapping[str, Any] | None) -> T:
    """The arguments of a call; null and "" count as not given, ``"10"`` as 10, and a list's JSON as the list.

    Raises:
        UsageError: they cannot be read; the reason names the argument.
    """
    known = {one.name: one.type for one in msgspec.structs.fields(kind)}
    found = {name: value for name, value in (given or {}).items() if value not in (None, "")}
    if other := next((name for name in found if name not in known), None):
        raise UsageError(
            f"there is no argument {other[:64]!r}",
            why=f"there are: {', '.join(known)}",
            hint=did_you_mean(other, list(known)),
        )
    try:
        for name, value in found.items():
            if isinstance(value, str) and isinstance(_inner(known[name]), _LISTS):
                found[name] = msgspec.json.decode(value) if value.lstrip().startswith("[") else [value]
        return converted(found, kind, strict=False)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError("the arguments cannot be read", why=str(error), hint="correct that one") from error


_LISTS = (msgspec.inspect.VarTupleType, msgspec.inspect.ListType)


def _inner(kind: object) -> msgspec.inspect.Type:
    """A type without the bounds around it."""
    found = msgspec.inspect.type_info(kind)
    return _inner(found.type) if isinstance(found, msgspec.inspect.Metadata) else found


def input_schema(kind: type[Arguments], about: Mapping[str, str]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments.

    Args:
        kind: their type.
        about: name -> what it is, where the name does not say it.
    """
    (_,), parts = msgspec.json.schema_components((kind,))
    whole = parts[kind.__name__]
    properties = {}
    # What all tools take comes last.
    for name in sorted(whole["properties"], key=lambda one: one == "library"):
        brief = _brief(whole["properties"][name])
        properties[name] = {**brief, "description": about[name]} if name in about else brief
    out = {"type": "object", "properties": properties}
    return out | ({"required": whole["required"]} if whole["required"] else {})


def _brief(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without defaults, and without limits that an error message tells just as well."""
    if "anyOf" in schema:  # a value or null
        return _brief(schema["anyOf"][0])
    if "enum" in schema:
        return {"enum": [one for one in schema["enum"] if one]}
    kept = {k: v for k, v in schema.items() if k in ("type", "maximum", "maxItems")}
    if kept.get("maximum") == 9999:
        del kept["maximum"]
    if "items" in schema:
        kept["items"] = _brief(schema["items"])
        if kept.get("maxItems", 0) < 100:
            kept.pop("maxItems", None)
    return kept


# Libraries that are served.

_LONGEST_NAME = 64
_MOST = 50


class Libraries:
    """Services by name.

    Args:
        folders: name -> folder of a library.
        opening: opens the library of a folder.
        held: services that are there already, by name; they are not closed here.
    """

    def __init__(
        self,
        folders: Mapping[str, Path],
        opening: Callable[[Path], Library],
        held: Mapping[str, Service] | None = None,
    ) -> None:
        self._folders, self._opening = dict(folders), opening
        self._held = dict(held or {})
        self._opened: dict[str, Service] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of the settings."""
        return tuple(dict.fromkeys((*self._folders, *self._held)))

    def get(self, name: str) -> Service:
        """The service of a library.

        Raises:
            NoSuchThing: none has that name.
            LibraryNotFound: its folder holds none.
            LibraryCorrupt: it is damaged.
        """
        if name in self._held:
            return self._held[name]
        if name not in self._folders:
            raise NoSuchThing(
                f"no library is called {name[:_LONGEST_NAME]!r}", hint=f"library: {', '.join(self.names)}"
            )
        with self._lock:
            if name not in self._opened:
                self._opened[name] = Service(self._opening(self._folders[name]))
            return self._opened[name]

    def close(self) -> None:
        """Close the libraries that were opened here."""
        with self._lock:
            for service in self._opened.values():
                service.close()
            self._opened.clear()


def listed_libraries(config: Config[Settings], library: Path) -> dict[str, Path]:
    """Name -> folder of what is served: the setting ``libraries``, or else the one library in use.

    Args:
        config: the settings with their origins.
        library: folder of the library in use.

    Raises:
        UsageError: a name cannot be used, or two are of one library.
        NotTrusted: a project's file names a library outside of its folder, and the user permits it not.
    """
    named = config.settings.libraries
    found = {name: Path(folder).expanduser() for name, folder in named.items()}
    if not named:
        found = {safe(library.name, one_line=True)[:_LONGEST_NAME] or "library": library}
    if len(found) > _MOST:
        raise UsageError(f"{len(found)} libraries are listed", why=f"at most {_MOST} are served together")
    places: dict[str, str] = {}
    for name, folder in found.items():
        if not name.strip() or name != safe(name, one_line=True) or len(name) > _LONGEST_NAME:
            raise UsageError(
                "a library's name cannot be used",
                why=f"{name[:200]!r} must be 1 to {_LONGEST_NAME} characters on one line",
                hint="correct the setting libraries",
            )
        place = os.path.realpath(folder)
        if other := places.get(place):
            raise UsageError(f"{other} and {name} are the same library", hint="list it once")
        places[place] = name
    if config.project is not None and config.claimed("libraries" if named else "library"):
        inside = os.path.realpath(config.project.parent)
        for place in places:
            if not Path(place).is_relative_to(inside):
                require(Permission.folder(place, "library"), f"the project's {config.project}")
    return {name: Path(os.path.abspath(folder)) for name, folder in found.items()}


def library_of(libraries: Libraries, given: Arguments) -> tuple[str, Service]:
    """Name and service of the library that a call is about.

    Raises:
        UsageError: several are served, and none is named.
        NoSuchThing: none has that name.
    """
    names = libraries.names
    name = given.library or (names[0] if len(names) == 1 else "")
    if not name:
        listed = ", ".join(names)
        raise UsageError(
            "several libraries are served, and none is named", why=listed, hint="library: one of these"
        )
    return name, libraries.get(name)


def papers_of(service: Service, names: Iterable[str]) -> tuple[str, ...]:
    """Ids of papers, each once: by id, DOI, arXiv id or exact title.

    Raises:
        SeveralPapers: several papers have that name.
        NoSuchPaper: none has.
    """
    return tuple(dict.fromkeys(map(service.resolve, names)))
