"""The JSON documents of ``--json``, as types: ``aspectra schema NAME`` prints their JSON schemas.

``schemas.toml`` declares them. Each document names its schema in the field ``schema``, as in
``aspectra.search/1``. The number grows when a field is removed or changes its meaning; new fields may come
without notice. A field with a default may be absent. A test converts the real output of every command
strictly into these types.
"""

from __future__ import annotations

import ast
import tomllib
from importlib import resources
from typing import Annotated, Any, get_type_hints

import msgspec

from aspectra.app.checkup import Check
from aspectra.base.checking import check_choice
from aspectra.lab.benchmarks.protocol import Option
from aspectra.views.prompted.running import LensEstimate, RunReport

__all__ = ["DOCUMENTS", "json_schema"]

_CLASSES = {one.__name__: one for one in (Check, LensEstimate, Option, RunReport)}
_GRADE = Annotated[float, msgspec.Meta(ge=0, le=1)]


def _documents() -> dict[str, type[msgspec.Struct]]:
    """Name of a schema -> the type of its document."""
    declared = tomllib.loads((resources.files(__package__) / "schemas.toml").read_text("utf-8"))
    top = declared.pop("DOCUMENTS")
    known: dict[str, Any] = {"Any": Any, "Grade": _GRADE, **_CLASSES}
    for name, fields in declared.items():
        about, closed = fields.pop("ABOUT"), not fields.pop("OPEN", False)
        like = get_type_hints(_CLASSES[fields.pop("LIKE")]) if "LIKE" in fields else {}
        defaults = {}
        for field, text in fields.items():
            fields[field], absent, default = text.partition(" = ")
            if absent:
                defaults[field] = ast.literal_eval(default)
        holder = type(name, (), {"__annotations__": fields})
        own = get_type_hints(holder, localns=known, include_extras=True)
        kinds = own | like | own  # its own fields come first, and its own types count
        members = [
            (field, kind, defaults[field]) if field in defaults else (field, kind)
            for field, kind in kinds.items()
        ]
        made = msgspec.defstruct(name, members, frozen=True, forbid_unknown_fields=closed)
        made.__doc__ = about
        known[name] = made
    return {name: known[kind] for name, kind in top.items()}


DOCUMENTS = _documents()


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema of a document.

    Args:
        name: a key of :data:`DOCUMENTS`.

    Raises:
        UsageError: there is none of that name.
    """
    check_choice(name, DOCUMENTS, "schema")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **msgspec.json.schema(DOCUMENTS[name]),
    }
