"""What every page needs: templates that escape, the service behind them, and where routes are collected.

What a form or an address brings is read as plain texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import jinja2
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from aspectra.app.surfaces.service.access import retry_headers
from aspectra.app.surfaces.service.trail import Trail
from aspectra.app.terminal.screen import safe
from aspectra.base.checking import check_length
from aspectra.base.errors import AspectraError, UsageError
from aspectra.papers.record_facts import is_retracted

if TYPE_CHECKING:
    from aspectra.app.surfaces.service.access import Access
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.service.gate import Gate
    from aspectra.app.surfaces.service.jobs import Jobs
    from aspectra.papers.paper import Paper


MOST_IDS = 500


async def read_form(request: Request, *, files: int = 0) -> FormData:
    """The fields of a form.

    Args:
        request: that brings it; its size is limited before.
        files: most files in it.

    Raises:
        UsageError: it cannot be read, or has too many fields or files.
    """
    try:
        return await request.form(max_files=files, max_fields=2 * MOST_IDS)
    except HTTPException as error:
        raise UsageError("the form cannot be read", why=str(error.detail), hint="send it again") from error


def one_of(form: FormData, name: str, *, most: int = 4000) -> str:
    """The last text of a field without white space at its ends; "" where it is missing.

    Raises:
        UsageError: it has more than ``most`` characters.
    """
    texts = [value for value in form.getlist(name) if isinstance(value, str)]
    text = texts[-1].strip() if texts else ""
    check_length(f"characters in {name}", text, most, hint="shorten it")
    return text


def ids_of(values: Iterable[object]) -> list[str]:
    """Ids of papers that a form or an address names, each once.

    Raises:
        UsageError: there are more than 500.
    """
    found = list(dict.fromkeys(one.strip() for one in values if isinstance(one, str) and one.strip()))
    check_length("papers in one request", found, MOST_IDS, hint="take fewer at a time")
    return found


def given_of(request: Request) -> dict[str, list[str]]:
    """Name -> values of the address, as ``Question.from_parameters`` reads them."""
    return {name: request.query_params.getlist(name) for name in request.query_params}


FOLDER = Path(__file__).parent
T = TypeVar("T")


def _plain(text: object) -> str:
    """Text without control and bidirectional characters; the template escapes it."""
    return safe(str(text), one_line=True)


def _prose(text: object) -> str:
    """As ``plain``, with its lines and the spaces at its ends: for a piece of a longer text."""
    return safe(str(text))


def _retracted(paper: Paper | Mapping[str, Any]) -> bool:
    """Whether a paper, or a row of a listing, says that it was retracted."""
    return bool(paper.get("retracted")) if isinstance(paper, Mapping) else is_retracted(paper)


def _shown(value: object) -> object:
    """Whatever a template writes, without control and bidirectional characters; markup of macros as it is."""
    return safe(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


class Pages:
    """The service, its jobs and the templates, for the modules that answer.

    Args:
        service: that answers questions.
        gate: that all work with the library passes.
        jobs: what runs beside the service.
        access: who may ask.
    """

    def __init__(self, service: Service, gate: Gate, jobs: Jobs, access: Access) -> None:
        self.service, self.gate, self.jobs, self.access = service, gate, jobs, access
        self.trail = Trail.of(service)
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=_shown,
        )
        self._templates.filters["plain"] = _plain
        self._templates.filters["prose"] = _prose
        self._templates.tests["retracted"] = _retracted

    def render(
        self,
        request: Request,
        template: str,
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """A template as a page, or as the fragment that htmx wants.

        Args:
            request: that is answered; templates see it, and ``fragment``: whether htmx asks for a part.
            template: its file.
            status: of HTTP.
            headers: further ones.
            values: of the template.
        """
        fragment = request.headers.get("hx-request") == "true"
        text = self._templates.get_template(template).render(
            request=request, fragment=fragment, library=self.service.library, **values
        )
        return HTMLResponse(
            text.encode("utf-8", "replace"), status, {"vary": "HX-Request", **(headers or {})}
        )

    def error(self, request: Request, error: AspectraError) -> Response:
        """An error as a page, or as a fragment: htmx swaps answers of every status."""
        # The address stays one that can be reloaded.
        headers = {"hx-push-url": "false", **retry_headers(error)}
        return self.render(request, "error.html", status=error.http_status, headers=headers, error=error)

    async def work(self, request: Request, work: Callable[[], T]) -> T:
        """Run blocking work in its turn; dropped where the browser has left meanwhile."""
        return await self.gate.run(work, gone=request.is_disconnected)

    @staticmethod
    def back(wanted: str, to: str = "/") -> Response:
        """After a form: to an address of this site, or to ``to`` where it is none."""
        inside = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
        plain = inside and wanted.isascii() and wanted.isprintable()
        return RedirectResponse(wanted if plain else to, 303)
