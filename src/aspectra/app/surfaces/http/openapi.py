"""The OpenAPI document: paths from the routes, bodies and answers from the values themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from aspectra.app.surfaces.http.bodies import ANSWERS, BODIES, Problem
from aspectra.app.surfaces.http.problems import PROBLEM

_REFERENCE = "#/components/schemas/{name}"


def body(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """What a route says of its JSON body."""
    schema = {"$ref": _REFERENCE.format(name=kind.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def answers(name: str, about: str, status: int = 200, *errors: int) -> dict[int | str, dict[str, Any]]:
    """What a route says of its answers: the document ``name``, and problems.

    Args:
        name: of a type in :data:`~aspectra.app.surfaces.http.bodies.ANSWERS`; "" for no JSON.
        about: of the answer.
        status: of success.
        errors: statuses of problems beside those that every route has.
    """
    content = {"application/json": {"schema": {"$ref": _REFERENCE.format(name=name)}}} if name else {}
    said: dict[int | str, dict[str, Any]] = {status: {"description": about, "content": content}}
    problem = {PROBLEM: {"schema": {"$ref": _REFERENCE.format(name="Problem")}}}
    for code in sorted({401, 403, 413, 422, 429, *errors}):
        said[code] = {"description": "a problem", "content": problem}
    return said


def described(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """The document of the routes."""
    made = get_openapi(
        title="Aspectra",
        version="1",
        summary="Literature search that shows its evidence.",
        description="Errors are problem documents (RFC 9457) whose `code` is the catalogue's.",
        routes=routes,
    )
    _, schemas = msgspec.json.schema_components(
        [*BODIES, *ANSWERS.values(), Problem], ref_template=_REFERENCE
    )
    parts = made.setdefault("components", {})
    parts["schemas"] = dict(sorted(schemas.items()))
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return made
