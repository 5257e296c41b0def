"""Jobs in the page: how far each is, what came of it, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.surfaces.web.forms import read_form
from aspectra.app.terminal.screen import count

if TYPE_CHECKING:
    from aspectra.app.surfaces.service.jobs import Job
    from aspectra.app.surfaces.web.rendering import Pages

_KINDS = {"add": "Adding papers", "index": "Indexing", "bench": "Benchmark", "lens": "Running a lens"}
_MOST_LINES = 100


def job_pages(pages: Pages) -> APIRouter:
    """``/jobs`` and the page of each.

    Args:
        pages: the jobs and the templates.
    """
    router = APIRouter()
    jobs = pages.jobs

    @router.get("/jobs")
    async def every(request: Request) -> Response:
        """All jobs, newest first."""
        return pages.render(request, "jobs.html", jobs=jobs.all(), kinds=_KINDS)

    @router.get("/jobs/{name}")
    async def one(request: Request, name: str) -> Response:
        """One job; while it runs, the page comes again every second."""
        job = jobs.get(name)
        words = _words(job)
        return pages.render(request, "job.html", job=job, title=_KINDS.get(job.kind, job.kind), **words)

    @router.post("/jobs/{name}/stop")
    async def stop(request: Request, name: str) -> Response:
        """Stop it; what it finished is kept."""
        await read_form(request)
        return pages.back(f"/jobs/{(await jobs.stop(name)).id}")

    return router


def _words(job: Job) -> dict[str, Any]:
    """The result of a job: sentences, files of which something is to be said, and what comes next."""
    found = job.result
    kept = {one["file"]: PurePath(one["file"]).name for one in found.get("files", ())}
    error = {name: _named(value, kept) for name, value in job.error.items()}
    if job.kind == "add" and "files" in found:
        read = count(found["added"] + found["updated"] + found["unchanged"], "record")
        lines = [
            f"{read} read: {found['added']:,} added, {found['updated']:,} updated, "
            f"{found['unchanged']:,} unchanged, {found['skipped']:,} skipped.",
            f"{found['with_abstract']:,} with abstract, {found['with_full_text']:,} with full text.",
        ]
        if found["merged"]:
            lines.append(f"{count(len(found['merged']), 'record')} of works that were there: versions.")
        if found["to_complete"]:
            lines.append(f"{count(found['to_complete'], 'record')} with an identifier and nothing else yet.")
        files = [
            (kept[one["file"]], _named(one.get("error") or one.get("passed_over") or _counted(one), kept))
            for one in found["files"]
        ]
        after = "index" if found["added"] or found["updated"] else ""
        return {"lines": lines, "files": files[:_MOST_LINES], "after": after, "error": error}
    lines = [str(one) for one in found.get("lines", [])][:_MOST_LINES]
    return {"lines": lines, "files": [], "after": "ask" if job.kind == "index" else "", "error": error}


def _named(text: Any, kept: Mapping[str, str]) -> str:
    """A message with the names of files in place of where they are kept."""
    out = str(text or "")
    for path, name in kept.items():
        out = out.replace(path, name)
    return out


def _counted(one: dict[str, Any]) -> str:
    names = ("added", "updated", "unchanged", "skipped")
    said = ", ".join(f"{one[name]:,} {name}" for name in names if one[name])
    return f"{said or 'nothing'} ({one['source']})"
