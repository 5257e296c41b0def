"""What every request passes before anything else: host, origin, token, size; and headers of every answer."""

from __future__ import annotations

import secrets
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aspectra.app.surfaces.http.problems import problem_response
from aspectra.app.surfaces.service.access import COOKIE, Access, NoToken
from aspectra.app.surfaces.service.answering import FROM_ELSEWHERE
from aspectra.base.errors import AspectraError, NotAllowed, TooLarge

_NO_FORMS = ("/v1/", "/mcp", "/healthz", "/readyz")
_SAFE = ("GET", "HEAD", "OPTIONS")
_ELSEWHERE = ("cross-site", "same-site")  # other ports of this computer are of the same site
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"same-origin",
    b"x-frame-options": b"DENY",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"private, no-cache",
}


class Guards:
    """ASGI middleware: refuses what must not reach the application; sets the headers of every answer.

    Args:
        application: what is guarded.
        access: who may ask.
    """

    def __init__(self, application: ASGIApp, access: Access) -> None:
        self._application, self._access = application, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        request = Request(scope)
        mark = secrets.token_hex(8)
        scope["request_id"] = mark

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [(k, v) for k, v in _HEADERS.items() if k not in present]
                message["headers"] = [*message["headers"], *added, (b"x-request-id", mark.encode())]
            await send(message)

        try:
            limit = self._check(request)
        except AspectraError as error:
            if isinstance(error, NoToken) and "text/html" in request.headers.get("accept", ""):
                await RedirectResponse("/token", 303)(scope, receive, with_headers)
            else:
                await problem_response(error, request)(scope, receive, with_headers)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > limit:
                raise TooLarge(f"the request has more than {limit:,} bytes", hint="send less at a time")
            return message

        came = FROM_ELSEWHERE.set(request.headers.get("sec-fetch-site") in _ELSEWHERE)
        try:
            await self._application(scope, counted, with_headers)
        finally:
            FROM_ELSEWHERE.reset(came)

    def _check(self, request: Request) -> int:
        """Most bytes that the request may have.

        Raises:
            AspectraError: it is refused.
        """
        headers, access = request.headers, self._access
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not access.knows(hosts[0]):
            error = NotAllowed("this service has another name", hint=f"http://127.0.0.1:{access.port}/")
            raise error
        origin = headers.get("origin")
        foreign = origin is not None and not _is_of(origin, access)
        if headers.get("sec-fetch-site") in _ELSEWHERE:  # a link may be followed, to a page of its own
            how = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
            foreign = foreign or request.method not in _SAFE or how != ("navigate", "document")
        if foreign:
            raise NotAllowed("requests from other sites are refused", hint="open the page itself")
        kind = headers.get("content-type", "").partition(";")[0].strip().casefold()
        form = kind in ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "")
        if (
            request.method == "POST"
            and form
            and origin is None
            and not request.url.path.startswith(_NO_FORMS)
        ):
            # A form of another site needs no preflight; browsers name the origin of each form. What /v1
            # takes is no form.
            raise NotAllowed("a form without its origin is refused", hint="send JSON, or Origin")
        if len(request.url.query) > 32_768 or len(request.url.path) > 4096:
            raise TooLarge("the address is too long", hint="POST /v1/search takes longer questions")
        open_to_all = request.url.path in ("/healthz", "/token") or request.url.path.startswith("/static/")
        if not open_to_all:
            given = headers.get("authorization", "")
            bearer = given[7:] if given[:7].casefold() == "bearer " else ""
            if not access.admits(bearer or unquote(request.cookies.get(COOKIE, ""))):
                raise NoToken("the token is missing or wrong", hint="send: Authorization: Bearer TOKEN")
        limit = access.upload if request.url.path in ("/library/add", "/v1/jobs/add") else access.body
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > limit:
            raise TooLarge(f"the request has more than {limit:,} bytes", hint="send less at a time")
        return limit


def _is_of(origin: str, access: Access) -> bool:
    """Whether an Origin header names this service."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and access.knows(parts.netloc)
