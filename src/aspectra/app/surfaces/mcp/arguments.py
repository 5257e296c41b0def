"""What each tool takes, checked like every question; the schemas are made from these types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from aspectra.app.surfaces.service.question import Question
from aspectra.base.errors import UsageError, did_you_mean
from aspectra.base.values import converted

MOST_PAPERS = 25  # in one answer
Direction = Literal["", "builds-on", "built-on-by", "both"]
Detail = Literal["ids", "brief", "full"]
Id = Annotated[str, Meta(min_length=1, max_length=1000)]
Aspects = Annotated[tuple[Annotated[str, Meta(max_length=500)], ...], Meta(max_length=8)]
Year = Annotated[int, Meta(ge=0, le=9999)] | None
Start = Annotated[int, Meta(ge=0)]
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


class Search(_Asking, frozen=True, kw_only=True):
    """``search_papers``."""

    text: Annotated[str, Meta(min_length=1, max_length=4000)]

    def question(self) -> Question:
        """What is asked."""
        return Question(text=self.text, **_shared(self))


class Similar(_Asking, frozen=True, kw_only=True):
    """``find_similar``."""

    seeds: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=20)]
    instruction: Annotated[str, Meta(max_length=4000)] = ""
    direction: Direction = ""

    def question(self, seeds: tuple[str, ...]) -> Question:
        """What is asked, of the papers that the seeds name."""
        return Question(seeds=seeds, instruction=self.instruction, direction=self.direction, **_shared(self))


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


class Status(Arguments, frozen=True, kw_only=True):
    """``library_status``."""


def _shared(asked: _Asking) -> dict[str, Any]:
    names = ("same", "different", "conditions", "since", "until", "limit")
    return {name: getattr(asked, name) for name in names}


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
