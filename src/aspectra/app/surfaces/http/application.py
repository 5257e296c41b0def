"""The served application: ``/v1`` for programs, the page for people, MCP for agents, behind one guard."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from aspectra.app.surfaces.http.guards import Guards
from aspectra.app.surfaces.http.problems import problem_response
from aspectra.app.surfaces.http.routes import document, routes
from aspectra.app.surfaces.service.access import Access
from aspectra.app.surfaces.service.answering import Service
from aspectra.app.surfaces.service.failures import as_error
from aspectra.app.surfaces.service.gate import Gate
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.app.surfaces.web.asking import asking
from aspectra.app.surfaces.web.library import library_pages
from aspectra.app.surfaces.web.rendering import FOLDER, Pages
from aspectra.app.surfaces.web.trail import trail_pages
from aspectra.app.surfaces.web.triage import triage
from aspectra.base.errors import AspectraError, NoSuchThing, UsageError
from aspectra.base.version import __version__


class NotThatWay(AspectraError):
    """An address that takes other methods than the one of the request."""

    code = "method-not-allowed"
    http_status = 405


class Mounted(Protocol):
    """An ASGI application that has something to be entered while requests are answered."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """What is entered once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


def api(service: Service, gate: Gate, jobs: Jobs, access: Access, mcp: Mounted | None = None) -> FastAPI:
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
    v1 = routes(service, gate, jobs)
    routers = [v1, *(part(pages) for part in (asking, triage, trail_pages, library_pages))]
    for router in routers:
        for route in _routes(router):
            methods: set[str] = getattr(route, "methods", None) or set()
            if "GET" in methods and not getattr(route, "path", "").startswith("/v1"):
                methods.add("HEAD")  # for monitors and link checkers
        app.include_router(router, include_in_schema=router is v1)
    if mcp is not None:
        app.router.routes.append(Route("/mcp", mcp))
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    app.openapi = document  # type: ignore[method-assign]

    async def failed(request: Request, error: Exception) -> Response:
        """Any failure, as a problem document for programs and as a page for people."""
        known = _known(error)
        html = "text/html" in request.headers.get("accept", "") or request.headers.get("hx-request")
        for_programs = request.url.path.startswith(("/v1/", "/healthz", "/readyz", "/openapi"))
        answer = (
            pages.error(request, known) if html and not for_programs else problem_response(known, request)
        )
        if known.http_status == 405:
            answer.headers["allow"] = _allowed(routers, request)
        return answer

    for kind in (AspectraError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, failed)
    app.add_exception_handler(ClientDisconnect, _left)
    return app


def application(
    service: Service, gate: Gate, jobs: Jobs, access: Access, mcp: Mounted | None = None
) -> ASGIApp:
    """The application behind its guards, for a server."""
    return Guards(api(service, gate, jobs, access, mcp), access)


async def _left(request: Request, error: Exception) -> Response:
    """The answer to a request whose connection was closed before its body was whole: nobody receives it."""
    return Response(status_code=400)


def _routes(router: APIRouter) -> Iterator[BaseRoute]:
    """The routes of a router and of those that it includes, which FastAPI keeps apart."""
    for route in router.routes:
        inner = getattr(route, "original_router", None)
        yield from _routes(inner) if inner else (route,)


def _allowed(routers: Iterable[APIRouter], request: Request) -> str:
    """The methods that an address takes; those of a file where no route has it."""
    methods = {
        method
        for router in routers
        for route in _routes(router)
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
