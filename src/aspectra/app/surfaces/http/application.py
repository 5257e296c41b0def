"""The served application: ``/v1`` for programs, the page for people, MCP for agents, behind one guard.

Its connections are a bounded number at once, each of which must soon send a whole request.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote, urlsplit

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from aspectra.app.surfaces.http.bodies import problem_response
from aspectra.app.surfaces.http.routes import document, routes
from aspectra.app.surfaces.service.access import COOKIE, Access, Gate, NoToken, as_error
from aspectra.app.surfaces.service.answering import FROM_ELSEWHERE, Service
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.app.surfaces.web.asking import asking, trail_pages
from aspectra.app.surfaces.web.library import library_pages
from aspectra.app.surfaces.web.triage import triage
from aspectra.app.surfaces.web.viewing import FOLDER, Pages
from aspectra.base.errors import AspectraError, NoSuchThing, NotAllowed, TooLarge, UsageError
from aspectra.base.version import __version__

if TYPE_CHECKING:
    from aspectra.app.surfaces.mcp.server import McpApplication

BACKLOG = 32  # taken from the system at once: that many beyond `most`, for a moment


def _most() -> int:
    """A share of the files that this process may open: the library needs some, too."""
    try:
        import resource
    except ImportError:  # Windows
        return 500
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 500 if files < 0 else min(500, files // 4)


class LimitedConnection(H11Protocol):
    """A connection of uvicorn's server.

    Attributes:
        most: open at once; one more closes the one that has been without a request for longest.
        seconds: until the headers of a request must be whole; longer than an idle connection is kept.
        least: bytes of a body that must come within `seconds`. At most half of the connections wait for
            bodies; one more closes the one that has brought too little for longest.
    """

    most: ClassVar[int] = _most()
    seconds: ClassVar[float] = 20.0
    least: ClassVar[int] = 20_000
    _silent: ClassVar[dict[LimitedConnection, asyncio.TimerHandle]] = {}  # without a request, oldest first
    _bodies: ClassVar[dict[LimitedConnection, asyncio.TimerHandle]] = {}  # without a whole body
    _brought = 0  # bytes of its body since it was last given time

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait(self._silent)
        if len(self.connections) > self.most:
            next(iter(self._silent)).end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            return
        self._brought += len(data)
        if not self.cycle.more_body:
            self._heard()
        elif self not in self._bodies or self._brought >= self.least:
            self._wait(self._bodies)
            if len(self._bodies) > self.most // 2:
                next(iter(self._bodies)).end()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._wait(self._silent)

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        super().connection_lost(exc)

    def end(self) -> None:
        """Close it without a word."""
        self._heard()
        self.connections.discard(self)
        self.transport.abort()

    def _wait(self, waiting: dict[LimitedConnection, asyncio.TimerHandle]) -> None:
        self._heard()
        self._brought = 0
        waiting[self] = self.loop.call_later(self.seconds, self._late, waiting)

    def _late(self, waiting: dict[LimitedConnection, asyncio.TimerHandle]) -> None:
        # An answer is still on its way over a slow line, or what has come of the body was not taken yet.
        if self.transport.get_write_buffer_size() or self.flow.read_paused:
            self._wait(waiting)
        else:
            self.end()

    def _heard(self) -> None:
        for waiting in (self._silent, self._bodies):
            if timer := waiting.pop(self, None):
                timer.cancel()


# What every request passes before anything else: host, origin, token, size; and headers of every answer.

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
            raise NotAllowed("this service has another name", hint=f"http://127.0.0.1:{access.port}/")
        origin = headers.get("origin")
        foreign = origin is not None and not _is_of(origin, access)
        if headers.get("sec-fetch-site") in _ELSEWHERE:  # a link may be followed, to a page of its own
            how = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
            foreign = foreign or request.method not in _SAFE or how != ("navigate", "document")
        if foreign:
            raise NotAllowed("requests from other sites are refused", hint="open the page itself")
        kind = headers.get("content-type", "").partition(";")[0].strip().casefold()
        form = kind in ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "")
        posted = form and request.method == "POST" and not request.url.path.startswith(_NO_FORMS)
        if posted and origin is None:
            # A form of another site needs no preflight; browsers name the origin of each form. /v1 does
            # not take forms.
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
    """True if an Origin header names this service."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and access.knows(parts.netloc)


class NotThatWay(AspectraError, code="method-not-allowed", http_status=405):
    """An address that takes other methods than the one of the request."""


def api(
    service: Service, gate: Gate, jobs: Jobs, access: Access, mcp: McpApplication | None = None
) -> FastAPI:
    """The application without its guards.

    Args:
        service: that answers questions.
        gate: that all work with the library passes.
        jobs: what runs beside the service.
        access: who may ask; the page signs people in with it.
        mcp: answers at ``/mcp``; None where its extra is not installed.
    """
    pages = Pages(service, gate, jobs, access)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.running() if mcp is not None else contextlib.nullcontext():
            yield
        await jobs.close()

    app = FastAPI(title="Aspectra", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    v1, page = routes(service, gate, jobs), APIRouter()
    for part in (asking, triage, trail_pages, library_pages):
        part(page, pages)
    for router in (v1, page):
        for route in router.routes:
            methods: set[str] = getattr(route, "methods", None) or set()
            if "GET" in methods and not getattr(route, "path", "").startswith("/v1"):
                methods.add("HEAD")  # for monitors and link checkers
        app.include_router(router)
    if mcp is not None:
        app.router.routes.append(Route("/mcp", mcp))
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    app.openapi = document  # type: ignore[method-assign]

    async def failed(request: Request, error: Exception) -> Response:
        """Any failure, as a problem document for programs and as a page for people."""
        known = _known(error)
        html = "text/html" in request.headers.get("accept", "") or request.headers.get("hx-request")
        for_programs = request.url.path.startswith(("/v1/", "/healthz", "/readyz", "/openapi"))
        page_wanted = html and not for_programs
        answer = pages.error(request, known) if page_wanted else problem_response(known, request)
        if known.http_status == 405:
            answer.headers["allow"] = _allowed((*v1.routes, *page.routes), request)
        return answer

    for kind in (AspectraError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, failed)
    app.add_exception_handler(ClientDisconnect, _left)
    return app


def application(
    service: Service, gate: Gate, jobs: Jobs, access: Access, mcp: McpApplication | None = None
) -> ASGIApp:
    """The application behind its guards, for a server."""
    return Guards(api(service, gate, jobs, access, mcp), access)


async def _left(request: Request, error: Exception) -> Response:
    """The answer to a request whose connection was closed before its body was whole: nobody receives it."""
    return Response(status_code=400)


def _allowed(routes: Iterable[BaseRoute], request: Request) -> str:
    """The methods that an address takes; those of a file where no route has it."""
    methods = {
        method
        for route in routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    }
    return ", ".join(sorted(methods)) or "GET, HEAD"


def _known(error: Exception) -> AspectraError:
    """The error of the catalogue that a failure within the framework is."""
    if isinstance(error, RequestValidationError):
        said: list[dict[str, Any]] = list(error.errors())
        where = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in said[:5])
        return UsageError("the request cannot be read", why=where, hint="GET /openapi.json")
    if isinstance(error, HTTPException):
        if error.status_code == 405:
            return NotThatWay("this address does not take that method", hint="GET /openapi.json")
        if error.status_code < 500:
            return NoSuchThing("there is nothing at this address", hint="the page begins at /")
    return as_error(error)
