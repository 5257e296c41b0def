"""The routes of jobs: each starts a command of the command line, and tells how far it is."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response

from aspectra.app.surfaces.http.bodies import BenchBody, IndexBody, LensBody, read_body, written
from aspectra.app.surfaces.http.openapi import answers, body
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.base.errors import UsageError

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
