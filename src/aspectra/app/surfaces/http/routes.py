"""The routes of ``/v1``: each fills in a question or an id, and writes the document of the command line."""

from __future__ import annotations

import asyncio
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute

from aspectra.app.output.lenses import lens_rows
from aspectra.app.output.papers import listed_rows, paper_document, sentence_rows
from aspectra.app.output.schemas import flush
from aspectra.app.surfaces.http.bodies import (
    ANSWERS,
    BODIES,
    PROBLEM,
    BenchBody,
    DecideBody,
    ExportBody,
    IndexBody,
    LensBody,
    Problem,
    SearchBody,
    read_body,
    written,
)
from aspectra.app.surfaces.service.access import Gate
from aspectra.app.surfaces.service.answering import Service
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.app.surfaces.service.question import Question
from aspectra.app.terminal.screen import schema_of
from aspectra.base.errors import UsageError
from aspectra.base.version import __version__

# The OpenAPI document: paths from the routes, bodies and answers from the values themselves.

_REFERENCE = "#/components/schemas/{name}"


def body(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The OpenAPI description of a JSON body."""
    schema = {"$ref": _REFERENCE.format(name=kind.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def answers(name: str, about: str, status: int = 200, *errors: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of a route's answers: the document ``name``, and problems.

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
    parts["schemas"] = flush(dict(sorted(schemas.items())))
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return made


# The routes of jobs: each starts a command of the command line, and tells how far it is.

Key = Annotated[
    str,
    Header(alias="Idempotency-Key", max_length=200, description="the same key starts the same job once"),
]
Name = Annotated[str, Path(max_length=64)]


def job_routes(router: APIRouter, jobs: Jobs) -> None:
    """Add the routes of jobs to a router."""
    begun = answers("JobAnswer", "the job; its state is at /v1/jobs/ID", 202)

    def start(kind: str, arguments: list[str], key: str) -> Response:
        digest = hashlib.sha256("\0".join([kind, *arguments]).encode()).hexdigest()
        job = jobs.start(kind, arguments, key=key, digest=digest)
        return written(job.to_dict(), 202, {"location": f"/v1/jobs/{job.id}"})

    @router.post(
        "/v1/jobs/add",
        operation_id="add",
        summary="Add papers from one file, which is the body",
        status_code=202,
        responses=begun,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
        tags=["jobs"],
    )
    async def add(
        request: Request,
        name: Annotated[str, Query(min_length=1, max_length=200, description="of the file")],
        key: Key = "",
    ) -> Response:
        if request.headers.get("content-type") != "application/octet-stream":
            raise UsageError(
                "the body is not said to be a file", hint="content-type: application/octet-stream"
            )
        raw = await request.body()
        if not raw:
            raise UsageError("the file is empty", hint="send its bytes as the body")
        kept = await asyncio.to_thread(jobs.keep, name, raw)
        return start("add", ["add", "--json", "--", str(kept)], key)

    @router.post(
        "/v1/jobs/index",
        operation_id="index",
        summary="Make what was added searchable",
        status_code=202,
        responses=begun,
        openapi_extra=body(IndexBody),
        tags=["jobs"],
    )
    async def index(request: Request, key: Key = "") -> Response:
        given = await read_body(request, IndexBody)
        return start("index", ["index", *(["--rebuild"] if given.rebuild else [])], key)

    @router.post(
        "/v1/jobs/lens",
        operation_id="run_lens",
        summary="Compute a prompted lens with the language model of the settings",
        status_code=202,
        responses=begun,
        openapi_extra=body(LensBody),
        tags=["jobs"],
    )
    async def lens(request: Request, key: Key = "") -> Response:
        given = await read_body(request, LensBody)
        most = [] if given.most is None else ["--most", str(given.most)]
        return start("lens", ["lens", "run", "--json", *most, "--", given.name], key)

    @router.post(
        "/v1/jobs/bench",
        operation_id="bench",
        summary="Rank and score a benchmark with recipes",
        status_code=202,
        responses=begun,
        openapi_extra=body(BenchBody),
        tags=["jobs"],
    )
    async def bench(request: Request, key: Key = "") -> Response:
        given = await read_body(request, BenchBody)
        return start("bench", jobs.bench(given.name, given.recipes), key)

    @router.get(
        "/v1/jobs",
        operation_id="jobs",
        summary="Jobs, newest first",
        responses=answers("JobsAnswer", "the jobs"),
        tags=["jobs"],
    )
    async def every() -> Response:
        return written({"jobs": [job.to_dict() for job in jobs.all()]})

    @router.get(
        "/v1/jobs/{job}",
        operation_id="job",
        summary="One job",
        responses=answers("JobAnswer", "the job", 200, 404),
        tags=["jobs"],
    )
    async def one(job: Name) -> Response:
        return written(jobs.get(job).to_dict())

    @router.delete(
        "/v1/jobs/{job}",
        operation_id="stop_job",
        summary="Stop a job; what it finished is kept",
        responses=answers("JobAnswer", "the job", 200, 404),
        tags=["jobs"],
    )
    async def stop(job: Name) -> Response:
        return written((await jobs.stop(job)).to_dict())


T = TypeVar("T")
PaperId = Annotated[str, Path(min_length=1, max_length=1000, description="an id, DOI, arXiv id or title")]
Handle = Annotated[str, Path(min_length=1, max_length=64, pattern="^[0-9a-f]+$")]
Seconds = Annotated[
    float | None,
    Header(alias="Request-Timeout", ge=0.01, le=600, description="seconds that the caller waits"),
]


def routes(service: Service, gate: Gate, jobs: Jobs) -> APIRouter:
    """All routes of ``/v1``, and those of health.

    Args:
        service: that answers questions.
        gate: that all work with the library passes.
        jobs: what runs beside the service.
    """
    router = APIRouter()
    for part in (_searching, _reading, _marking, _health):
        part(router, service, gate)
    job_routes(router, jobs)
    return router


@functools.cache
def document() -> dict[str, Any]:
    """The OpenAPI document of these routes; it needs no library."""
    nothing: Any = None
    return described(routes(nothing, nothing, nothing).routes)


async def _turn(gate: Gate, request: Request, work: Callable[[], T], seconds: float | None = None) -> T:
    return await gate.run(work, deadline=seconds, gone=request.is_disconnected)


def _searching(router: APIRouter, service: Service, gate: Gate) -> None:

    async def found(request: Request, seconds: float | None, *, seeded: bool) -> Response:
        asked = await read_body(request, SearchBody)
        if seeded and not asked.seeds:
            raise UsageError("no seed is named", hint='"seeds": ["an id, a DOI or an exact title"]')

        def work() -> dict[str, Any]:
            answer = service.answer(
                asked.question, cursor=asked.cursor, sort=asked.sort, explain=asked.explain
            )
            return {"schema": schema_of("search"), **answer.to_dict(explain=asked.explain)}

        return written(await _turn(gate, request, work, seconds))

    answered = answers("SearchAnswer", "a page of a ranking", 200, 404, 408, 409, 410)

    @router.post(
        "/v1/search",
        operation_id="search",
        summary="Papers for a question",
        responses=answered,
        openapi_extra=body(SearchBody),
        tags=["search"],
    )
    async def search(request: Request, seconds: Seconds = None) -> Response:
        return await found(request, seconds, seeded=False)

    @router.post(
        "/v1/similar",
        operation_id="similar",
        summary="Papers like the seeds",
        responses=answered,
        openapi_extra=body(SearchBody),
        tags=["search"],
    )
    async def similar(request: Request, seconds: Seconds = None) -> Response:
        return await found(request, seconds, seeded=True)

    @router.post(
        "/v1/plan",
        operation_id="plan",
        summary="What a question would search for",
        responses=answers("PlanAnswer", "the plan", 200, 404, 409),
        openapi_extra=body(Question),
        tags=["search"],
    )
    async def plan(request: Request) -> Response:
        from aspectra.search.planning.aspects import AspectRequests

        asked = await read_body(request, Question)
        made = await _turn(gate, request, lambda: service.plan(asked))
        requests = AspectRequests.of(made).to_dict()
        return written(
            {"plan": made.to_dict(), "hash": made.hash, "text": made.describe(), "requests": requests}
        )

    @router.get(
        "/v1/plans/{plan}/why-not",
        operation_id="why_not",
        summary="Why a paper is not among the hits of a search",
        responses=answers("WhyNotAnswer", "the reasons", 200, 404, 409, 410),
        tags=["search"],
    )
    async def why_not(
        request: Request, plan: Handle, paper: Annotated[str, Query(min_length=1, max_length=1000)]
    ) -> Response:
        made = service.known(plan)

        def work() -> dict[str, Any]:
            told = service.library.searcher.why_not(made, service.resolve(paper))
            reasons = [{"what": r.what, "drops": r.drops, "quote": r.quote} for r in told.reasons]
            place = {"id": told.paper.id, "rank": told.rank, "limit": told.limit}
            return {**place, "reasons": reasons, "text": told.describe()}

        return written(await _turn(gate, request, work))


def _reading(router: APIRouter, service: Service, gate: Gate) -> None:
    @router.get(
        "/v1/papers",
        operation_id="list_papers",
        summary="Papers of the library",
        responses=answers("Listing", "a page of papers"),
        tags=["papers"],
    )
    async def list_papers(
        request: Request,
        tag: Annotated[list[str] | None, Query(max_length=20)] = None,
        decision: Literal["", "include", "exclude", "maybe", "any", "none"] = "",
        years: Annotated[str, Query(max_length=20)] = "",
        order: Literal["added", "year", "title", "decided"] = "added",
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    ) -> Response:
        def work() -> dict[str, Any]:
            found = service.library.marks.papers(
                tags=tuple(tag or ()), decision=decision, years=years, order=order, limit=limit, page=page
            )
            held = {"papers": found.found, "page": found.page, "pages": found.pages}
            return {"schema": schema_of("list"), **held, "hits": listed_rows(service.library, found.ids)}

        return written(await _turn(gate, request, work))

    @router.get(
        "/v1/papers/{paper:path}/sentences",
        operation_id="sentences",
        summary="The sentences of a paper's abstract, with their roles",
        responses=answers("SentencesAnswer", "the sentences", 200, 404),
        tags=["papers"],
    )
    async def sentences(request: Request, paper: PaperId) -> Response:
        def work() -> dict[str, Any]:
            held = service.library.store.get(service.resolve(paper))
            return {"id": held.id, "sentences": sentence_rows(service.library, held)}

        return written(await _turn(gate, request, work))

    @router.get(
        "/v1/papers/{paper:path}",
        operation_id="paper",
        summary="One paper",
        responses={
            **answers("Paper", "the paper, with an ETag", 200, 404),
            304: {"description": "as the ETag says"},
        },
        tags=["papers"],
    )
    async def one_paper(
        request: Request,
        paper: PaperId,
        known: Annotated[str, Header(alias="If-None-Match", max_length=1000)] = "",
    ) -> Response:
        def work() -> dict[str, Any]:
            held = service.library.store.get(service.resolve(paper))
            return {"schema": schema_of("paper"), **paper_document(service.library, held)}

        answer = written(await _turn(gate, request, work))
        etag = f'"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
        same = etag in [one.strip().removeprefix("W/") for one in known.split(",")]
        if same:
            return Response(status_code=304, headers={"etag": etag})
        answer.headers["etag"] = etag
        return answer

    @router.get(
        "/v1/lenses",
        operation_id="lenses",
        summary="Lenses of the library, and those that could be added",
        responses=answers("LensList", "the lenses"),
        tags=["papers"],
    )
    async def lenses(request: Request) -> Response:
        rows = await _turn(gate, request, lambda: lens_rows(service.library.store))
        return written({"schema": schema_of("lens-list"), "lenses": rows})

    @router.get(
        "/v1/status",
        operation_id="status",
        summary="What the library holds",
        responses=answers("Status", "counts, and the index"),
        tags=["papers"],
    )
    async def status(request: Request) -> Response:
        facts = await _turn(gate, request, service.library.status)
        return written({"schema": schema_of("status"), **facts})


def _marking(router: APIRouter, service: Service, gate: Gate) -> None:
    @router.post(
        "/v1/decisions",
        operation_id="decide",
        summary="Include, exclude or postpone papers",
        responses=answers("DecidedAnswer", "how many changed", 200, 404, 409),
        openapi_extra=body(DecideBody),
        tags=["decisions"],
    )
    async def decide(request: Request) -> Response:
        given = await read_body(request, DecideBody)
        decide = service.library.marks.decide
        more = {"reason": given.reason, "under": given.under}
        changed = await _turn(gate, request, lambda: decide(given.decision, *given.ids, **more))
        return written({"changed": changed})

    @router.post(
        "/v1/export",
        operation_id="export",
        summary="Papers for other programs",
        responses=answers("ExportAnswer", "the records", 200, 404),
        openapi_extra=body(ExportBody),
        tags=["papers"],
    )
    async def export(request: Request) -> Response:
        given = await read_body(request, ExportBody)

        def work() -> dict[str, Any]:
            ids = service.library.resolve(*given.ids)
            text = service.library.export(ids, given.format, given.versions)
            return {"format": given.format, "records": len(ids), "text": text}

        return written(await _turn(gate, request, work))


def _health(router: APIRouter, service: Service, gate: Gate) -> None:

    @router.get(
        "/healthz",
        operation_id="health",
        summary="The process answers",
        responses=answers("Health", "it does"),
        tags=["health"],
    )
    async def health() -> Response:
        return written({"status": "ok", "version": __version__})

    @router.get(
        "/readyz",
        operation_id="ready",
        summary="Searches can be answered",
        responses=answers("Ready", "they can", 200, 409),
        tags=["health"],
    )
    async def ready(request: Request) -> Response:
        return written(await _turn(gate, request, service.ready))
