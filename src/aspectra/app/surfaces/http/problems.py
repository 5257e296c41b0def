"""Errors over HTTP: problem documents (RFC 9457) from the one catalogue."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aspectra.base.errors import AspectraError

__all__ = ["PROBLEM", "as_error", "problem", "problem_response"]

PROBLEM = "application/problem+json"
_LOG = logging.getLogger("aspectra.http")


def as_error(error: BaseException) -> AspectraError:
    """The error of the catalogue that any failure is; what is unknown is logged and tells nothing outside."""
    if isinstance(error, AspectraError):
        return error
    _LOG.error("%s while answering", type(error).__name__, exc_info=error)
    if isinstance(error, MemoryError):
        return AspectraError("there is not enough memory", hint="ask for fewer papers")
    return AspectraError("internal error", hint="the log of the service tells more")


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


def problem_response(
    error: AspectraError, request: Request | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that failed."""
    given = dict(headers or {})
    if error.retry_after is not None:
        given["retry-after"] = str(max(1, round(error.retry_after)))
    if error.http_status == 401:
        given["www-authenticate"] = "Bearer"
    body = json.dumps(problem(error, request.url.path if request is not None else ""), ensure_ascii=False)
    return Response(body.encode("utf-8", "replace"), error.http_status, given, PROBLEM)
