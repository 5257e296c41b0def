"""The routes of ``/v1``: each fills in a question or an id, and writes the document of the command line."""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.openapi.utils import get_openapi

from aspectra.app.output.criteria import Listing
from aspectra.app.output.lenses import lens_rows
from aspectra.app.output.papers import listed_rows, paper_document, sentence_rows
from aspectra.app.output.schemas import LensList, Paper, Status, flush
from aspectra.app.surfaces.http import bodies
from aspectra.app.surfaces.service.access import Gate
from aspectra.app.surfaces.service.answering import Service
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.app.surfaces.service.question import Question
from aspectra.app.terminal.screen import schema_of
from aspectra.base.errors import UsageError
from aspectra.base.version import __version__

# The OpenAPI document: paths from the routes, bodies and answers from the values themselves.

_REFERENCE = "#/components/schemas/{name}"
_FILE = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def _content(kind: type, media: str = "application/json") -> dict[str, Any]:
    return {media: {"schema": {"$ref": _REFERENCE.format(name=kind.__name__)}}}


class Routes(APIRouter):
    """Routes whose bodies and answers are structs of msgspec, which describe themselves.

    Args:
        gate: that all work with the library passes.

    Attributes:
        kinds: the types of bodies and answers.
    """

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate = gate
        self.kinds: list[type] = [bodies.Problem]

    def on(
        self,
        tag: str,
        place: str,
        answer: type,
        about: str,
        *errors: int,
        takes: type | None = None,
        status: int = 200,
        also: Mapping[int | str, dict[str, Any]] | None = None,
    ) -> Callable[[Endpoint], Endpoint]:
        """Decorator for what answers at an address; its name and docstring are those of the operation.

        Args:
            tag: of the operation.
            place: method and address, as ``POST /v1/search``.
            answer: type of the document that it writes.
            about: of that document.
            errors: statuses of problems beside those that every route has.
            takes: type of the JSON body; ``bytes`` for a file.
            status: of success.
            also: descriptions of further answers, by status.
        """
        method, path = place.split()
        self.kinds += [answer, takes] if takes not in (None, bytes) else [answer]
        problem = {"description": "a problem", "content": _content(bodies.Problem, bodies.PROBLEM)}
        said: dict[int | str, dict[str, Any]] = {status: {"description": about, "content": _content(answer)}}
        said |= dict.fromkeys(sorted({401, 403, 413, 422, 429, *errors}), problem)
        said |= also or {}
        body = {} if takes is None else {"content": _FILE if takes is bytes else _content(takes)}

        def named(function: Endpoint) -> Endpoint:
            summary, function.__doc__ = function.__doc__, None  # FastAPI would make it the description too
            return self.api_route(
                path,
                methods=[method],
                operation_id=function.__name__,
                summary=summary,
                status_code=status,
                responses=said,
                openapi_extra={"requestBody": {"required": True, **body}} if body else None,
                tags=[tag],
            )(function)

        return named

    async def work(self, request: Request, work: Callable[[], Any], seconds: float | None = None) -> Response:
        """The document that ``work`` makes in its turn, as an answer."""
        return bodies.written(await self._gate.run(work, deadline=seconds, gone=request.is_disconnected))


# The routes of jobs: each starts a command of the command line, and tells how far it is.

Key = Annotated[
    str, Header(alias="Idempotency-Key", max_length=200, description="the same key starts the same job once")
]
Name = Annotated[str, Path(max_length=64)]


def _job_routes(router: Routes, running: Jobs) -> None:
    on, begun = functools.partial(router.on, "jobs"), "the job; its state is at /v1/jobs/ID"

    def start(kind: str, arguments: list[str], key: str) -> Response:
        job = running.start(kind, arguments, key=key)
        return bodies.written(job.to_dict(), 202, {"location": f"/v1/jobs/{job.id}"})

    @on("POST /v1/jobs/add", bodies.JobAnswer, begun, takes=bytes, status=202)
    async def add(
        request: Request,
        name: Annotated[str, Query(min_length=1, max_length=200, description="of the file")],
        key: Key = "",
    ) -> Response:
        """Add papers from one file, which is the body"""
        if request.headers.get("content-type") != "application/octet-stream":
            raise UsageError(
                "the body is not said to be a file", hint="content-type: application/octet-stream"
            )
        raw = await request.body()
        if not raw:
            raise UsageError("the file is empty", hint="send its bytes as the body")
        kept = await asyncio.to_thread(running.keep, name, raw)
        return start("add", ["add", "--json", "--", str(kept)], key)

    @on("POST /v1/jobs/index", bodies.JobAnswer, begun, takes=bodies.IndexBody, status=202)
    async def index(request: Request, key: Key = "") -> Response:
        """Make what was added searchable"""
        given = await bodies.read_body(request, bodies.IndexBody)
        return start("index", ["index", *(["--rebuild"] if given.rebuild else [])], key)

    @on("POST /v1/jobs/lens", bodies.JobAnswer, begun, takes=bodies.LensBody, status=202)
    async def run_lens(request: Request, key: Key = "") -> Response:
        """Compute a prompted lens with the language model of the settings"""
        given = await bodies.read_body(request, bodies.LensBody)
        most = [] if given.most is None else ["--most", str(given.most)]
        return start("lens", ["lens", "run", "--json", *most, "--", given.name], key)

    @on("POST /v1/jobs/bench", bodies.JobAnswer, begun, takes=bodies.BenchBody, status=202)
    async def bench(request: Request, key: Key = "") -> Response:
        """Rank and score a benchmark with recipes"""
        given = await bodies.read_body(request, bodies.BenchBody)
        return start("bench", running.bench(given.name, given.recipes), key)

    @on("GET /v1/jobs", bodies.JobsAnswer, "the jobs")
    async def jobs() -> Response:
        """Jobs, newest first"""
        return bodies.written({"jobs": [job.to_dict() for job in running.all()]})

    @on("GET /v1/jobs/{job}", bodies.JobAnswer, "the job", 404)
    async def job(job: Name) -> Response:
        """One job"""
        return bodies.written(running.get(job).to_dict())

    @on("DELETE /v1/jobs/{job}", bodies.JobAnswer, "the job", 404)
    async def stop_job(job: Name) -> Response:
        """Stop a job; what it finished is kept"""
        return bodies.written((await running.stop(job)).to_dict())


PaperId = Annotated[str, Path(min_length=1, max_length=1000, description="an id, DOI, arXiv id or title")]
Handle = Annotated[str, Path(min_length=1, max_length=64, pattern="^[0-9a-f]+$")]
Seconds = Annotated[
    float | None,
    Header(alias="Request-Timeout", ge=0.01, le=600, description="seconds that the caller waits"),
]


def routes(service: Service, gate: Gate, jobs: Jobs) -> Routes:
    """All routes of ``/v1``, and those of health.

    Args:
        service: that answers questions.
        gate: that all work with the library passes.
        jobs: what runs beside the service.
    """
    router = Routes(gate)
    for part in (_searching, _reading, _marking, _health):
        part(router, service)
    _job_routes(router, jobs)
    return router


@functools.cache
def document() -> dict[str, Any]:
    """The OpenAPI document of these routes; it needs no library."""
    nothing: Any = None
    described = routes(nothing, nothing, nothing)
    made = get_openapi(
        title="Aspectra",
        version="1",
        summary="Literature search that shows its evidence.",
        description="Errors are problem documents (RFC 9457) whose `code` is the catalogue's.",
        routes=described.routes,
    )
    _, schemas = msgspec.json.schema_components(dict.fromkeys(described.kinds), ref_template=_REFERENCE)
    parts = made.setdefault("components", {})
    parts["schemas"] = flush(dict(sorted(schemas.items())))
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return made


def _searching(router: Routes, service: Service) -> None:
    on = functools.partial(router.on, "search")

    async def found(request: Request, seconds: float | None, *, seeded: bool) -> Response:
        asked = await bodies.read_body(request, bodies.SearchBody)
        if seeded and not asked.seeds:
            raise UsageError("no seed is named", hint='"seeds": ["an id, a DOI or an exact title"]')

        def work() -> dict[str, Any]:
            answer = service.answer(
                asked.question, cursor=asked.cursor, sort=asked.sort, explain=asked.explain
            )
            return {"schema": schema_of("search"), **answer.to_dict(explain=asked.explain)}

        return await router.work(request, work, seconds)

    page = (bodies.SearchAnswer, "a page of a ranking", 404, 408, 409, 410)

    @on("POST /v1/search", *page, takes=bodies.SearchBody)
    async def search(request: Request, seconds: Seconds = None) -> Response:
        """Papers for a question"""
        return await found(request, seconds, seeded=False)

    @on("POST /v1/similar", *page, takes=bodies.SearchBody)
    async def similar(request: Request, seconds: Seconds = None) -> Response:
        """Papers like the seeds"""
        return await found(request, seconds, seeded=True)

    @on("POST /v1/plan", bodies.PlanAnswer, "the plan", 404, 409, takes=Question)
    async def plan(request: Request) -> Response:
        """What a question would search for"""
        from aspectra.search.planning.aspects import AspectRequests

        asked = await bodies.read_body(request, Question)

        def work() -> dict[str, Any]:
            made = service.plan(asked)
            requests = AspectRequests.of(made).to_dict()
            return {"plan": made.to_dict(), "hash": made.hash, "text": made.describe(), "requests": requests}

        return await router.work(request, work)

    @on("GET /v1/plans/{plan}/why-not", bodies.WhyNotAnswer, "the reasons", 404, 409, 410)
    async def why_not(
        request: Request, plan: Handle, paper: Annotated[str, Query(min_length=1, max_length=1000)]
    ) -> Response:
        """Why a paper is not among the hits of a search"""
        made = service.known(plan)

        def work() -> dict[str, Any]:
            told = service.library.searcher.why_not(made, service.resolve(paper))
            reasons = [{"what": r.what, "drops": r.drops, "quote": r.quote} for r in told.reasons]
            place = {"id": told.paper.id, "rank": told.rank, "limit": told.limit}
            return {**place, "reasons": reasons, "text": told.describe()}

        return await router.work(request, work)


def _reading(router: Routes, service: Service) -> None:
    on = functools.partial(router.on, "papers")

    @on("GET /v1/papers", Listing, "a page of papers")
    async def list_papers(
        request: Request,
        tag: Annotated[list[str] | None, Query(max_length=20)] = None,
        decision: Literal["", "include", "exclude", "maybe", "any", "none"] = "",
        years: Annotated[str, Query(max_length=20)] = "",
        order: Literal["added", "year", "title", "decided"] = "added",
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    ) -> Response:
        """Papers of the library"""

        def work() -> dict[str, Any]:
            found = service.library.marks.papers(
                tags=tuple(tag or ()), decision=decision, years=years, order=order, limit=limit, page=page
            )
            held = {"papers": found.found, "page": found.page, "pages": found.pages}
            return {"schema": schema_of("list"), **held, "hits": listed_rows(service.library, found.ids)}

        return await router.work(request, work)

    @on("GET /v1/papers/{paper:path}/sentences", bodies.SentencesAnswer, "the sentences", 404)
    async def sentences(request: Request, paper: PaperId) -> Response:
        """The sentences of a paper's abstract, with their roles"""

        def work() -> dict[str, Any]:
            held = service.library.store.get(service.resolve(paper))
            return {"id": held.id, "sentences": sentence_rows(service.library, held)}

        return await router.work(request, work)

    unchanged: dict[int | str, dict[str, Any]] = {304: {"description": "as the ETag says"}}

    @on("GET /v1/papers/{paper:path}", Paper, "the paper, with an ETag", 404, also=unchanged)
    async def paper(
        request: Request,
        paper: PaperId,
        known: Annotated[str, Header(alias="If-None-Match", max_length=1000)] = "",
    ) -> Response:
        """One paper"""

        def work() -> dict[str, Any]:
            held = service.library.store.get(service.resolve(paper))
            return {"schema": schema_of("paper"), **paper_document(service.library, held)}

        answer = await router.work(request, work)
        etag = f'"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
        if etag in [one.strip().removeprefix("W/") for one in known.split(",")]:
            return Response(status_code=304, headers={"etag": etag})
        answer.headers["etag"] = etag
        return answer

    @on("GET /v1/lenses", LensList, "the lenses")
    async def lenses(request: Request) -> Response:
        """Lenses of the library, and those that could be added"""
        return await router.work(
            request, lambda: {"schema": schema_of("lens-list"), "lenses": lens_rows(service.library.store)}
        )

    @on("GET /v1/status", Status, "counts, and the index")
    async def status(request: Request) -> Response:
        """What the library holds"""
        return await router.work(request, lambda: {"schema": schema_of("status"), **service.library.status()})


def _marking(router: Routes, service: Service) -> None:
    changed = (bodies.DecidedAnswer, "how many changed", 404, 409)

    @router.on("decisions", "POST /v1/decisions", *changed, takes=bodies.DecideBody)
    async def decide(request: Request) -> Response:
        """Include, exclude or postpone papers"""
        given = await bodies.read_body(request, bodies.DecideBody)
        change = functools.partial(service.library.marks.decide, reason=given.reason, under=given.under)
        return await router.work(request, lambda: {"changed": change(given.decision, *given.ids)})

    @router.on("papers", "POST /v1/export", bodies.ExportAnswer, "the records", 404, takes=bodies.ExportBody)
    async def export(request: Request) -> Response:
        """Papers for other programs"""
        given = await bodies.read_body(request, bodies.ExportBody)

        def work() -> dict[str, Any]:
            ids = service.library.resolve(*given.ids)
            text = service.library.export(ids, given.format, given.versions)
            return {"format": given.format, "records": len(ids), "text": text}

        return await router.work(request, work)


def _health(router: Routes, service: Service) -> None:
    @router.on("health", "GET /healthz", bodies.Health, "it does")
    async def health() -> Response:
        """The process answers"""
        return bodies.written({"status": "ok", "version": __version__})

    @router.on("health", "GET /readyz", bodies.Ready, "they can", 409)
    async def ready(request: Request) -> Response:
        """Searches can be answered"""
        return await router.work(request, service.ready)
