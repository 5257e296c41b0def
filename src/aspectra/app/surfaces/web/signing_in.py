"""Signing in with the token of a service that other computers can reach."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.surfaces.service.access import COOKIE, NoToken
from aspectra.app.surfaces.web.forms import one_of, read_form

if TYPE_CHECKING:
    from aspectra.app.surfaces.web.rendering import Pages

_LONGEST = 1000


def signing_in(pages: Pages) -> APIRouter:
    """``/token``: a form that takes the token, and a cookie that brings it from then on.

    Args:
        pages: the service and who may use it.
    """
    router = APIRouter()

    @router.get("/token")
    async def ask(request: Request) -> Response:
        """The form."""
        return pages.render(request, "token.html", error=None)

    @router.post("/token")
    async def sign_in(request: Request) -> Response:
        """Keep the right token in a cookie that no script reads; 401 for a wrong one."""
        form = await read_form(request)
        given = one_of(form, "token", most=_LONGEST)
        if not pages.access.admits(given):
            error = NoToken("this is not the token", hint="ASPECTRA_TOKEN, where the service was started")
            return pages.render(request, "token.html", status=error.http_status, error=error)
        answer = pages.back("/")
        # Behind a proxy with a certificate, the browser names the scheme in the form's origin.
        schemes = (request.url.scheme, request.headers.get("x-forwarded-proto"))
        secure = "https" in schemes or request.headers.get("origin", "").startswith("https:")
        answer.set_cookie(COOKIE, quote(given), httponly=True, samesite="strict", secure=secure, path="/")
        return answer

    return router
