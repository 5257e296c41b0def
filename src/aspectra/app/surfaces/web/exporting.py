"""Papers as files for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.surfaces.web.rendering import ids_of, one_of, read_form
from aspectra.base.checking import check_choice
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.app.surfaces.web.rendering import Pages

# Format -> (its name for people, type of the file).
FORMATS = {
    "bibtex": ("BibTeX", "application/x-bibtex"),
    "ris": ("RIS (Zotero, EndNote)", "application/x-research-info-systems"),
    "csl-json": ("CSL-JSON", "application/vnd.citationstyles.csl+json"),
    "csv": ("CSV (spreadsheets)", "text/csv"),
    "jsonl": ("JSON Lines", "application/x-ndjson"),
}
_DECIDED = {"include": "included", "exclude": "excluded", "maybe": "later", "any": "decided"}
_ALL = 1_000_000_000


def exporting(pages: Pages) -> APIRouter:
    """``/export``: a file of papers, by their ids or by what was decided.

    Args:
        pages: the service and its templates.
    """
    router = APIRouter()
    library = pages.service.library

    async def answer(request: Request, named: Sequence[object], form: str, decided: str) -> Response:
        from aspectra.papers.export.protocol import WRITERS

        ids = ids_of(named)
        form = check_choice(form or "bibtex", tuple(WRITERS), "format")
        if decided:
            check_choice(decided, tuple(_DECIDED), "decision")
        elif not ids:
            raise UsageError("no papers are named", hint="/export?decided=include&format=bibtex")

        def work() -> str:
            chosen = library.resolve(*ids)
            if decided:
                of = library.marks.papers(decision=decided, limit=_ALL).ids
                named = set(chosen)
                chosen = [one for one in of if one in named] if ids else of
            if not chosen:
                raise UsageError(
                    f"no paper is {_DECIDED[decided]}" + (" of those that are named" if ids else ""),
                    hint="decide on papers first: /triage",
                )
            return library.export(chosen, form)

        text = await pages.work(request, work)
        kind = FORMATS.get(form, ("", "text/plain"))[1]
        name = f"aspectra-{_DECIDED.get(decided, 'papers')}{WRITERS.get(form).suffix}"
        return Response(
            text.encode("utf-8", "replace"),
            media_type=f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    @router.get("/export")
    async def export(request: Request) -> Response:
        given = request.query_params
        return await answer(request, given.getlist("id"), given.get("format", ""), given.get("decided", ""))

    @router.post("/export")
    async def export_many(request: Request) -> Response:
        form = await read_form(request)
        return await answer(request, form.getlist("id"), one_of(form, "format"), one_of(form, "decided"))

    return router
