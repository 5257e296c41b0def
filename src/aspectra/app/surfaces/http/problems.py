"""Errors over HTTP: problem documents (RFC 9457) from the one catalogue."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.surfaces.service.failures import retry_headers
from aspectra.base.errors import AspectraError

PROBLEM = "application/problem+json"


def problem(error: AspectraError, instance: str = "") -> dict[str, Any]:
    """The problem document of an error.

    ``type``, ``title``, ``status``, ``detail`` and ``instance``, and from the catalogue ``code``, ``hint``,
    ``retryable`` and ``retry_after``.
    """
    said = error.to_dict()
    return {
        "type": f"urn:aspectra:error:{error.code}",
        "title": said["what"],
        "status": error.http_status,
        "detail": said["why"],
        "instance": instance,
        **{name: said[name] for name in ("code", "hint", "retryable", "retry_after")},
    }


def problem_response(error: AspectraError, request: Request | None = None) -> Response:
    """The answer to a request that failed."""
    given = dict(retry_headers(error))
    if error.http_status == 401:
        given["www-authenticate"] = "Bearer"
    body = json.dumps(problem(error, request.url.path if request is not None else ""), ensure_ascii=False)
    return Response(body.encode("utf-8", "replace"), error.http_status, given, PROBLEM)
