"""A paper, opened: its record, links and marks; its sentences by role; what of it should be searched for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.output.papers import RESOLVERS, listed_rows, sentence_rows
from aspectra.app.surfaces.web.viewing import Wanted, given_of
from aspectra.base.errors import NoSuchPaper
from aspectra.search.planning.aspects import ASPECT_ROLES, corrected_roles
from aspectra.search.planning.index_views import IndexSeeds
from aspectra.views.view import ROLE_GROUPS, ROLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aspectra.app.library import Library
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.web.viewing import Pages
    from aspectra.papers.paper import Paper
    from aspectra.views.terms.values import Offer

_LINKED = 25  # papers that are listed of each kind of link
_TERMS = 12  # that are offered of an aspect
_SHOWN_TEXT = 4000  # characters of a section; its own page would be too long for a browser
# Role -> the aspect that it belongs to.
_ASPECT_OF = {role: name for name, roles in ASPECT_ROLES.items() for role in roles}

_SITES = ("doi", "arxiv", "acl")  # whose pages are linked


@dataclass
class Opened:
    """A paper as its page shows it.

    Attributes:
        paper: whole.
        sentences: rows of :func:`~aspectra.app.output.papers.sentence_rows`, with ``kind``: the class of
            its role's colour.
        terms: aspect -> the terms that the paper names in it.
        linked: (what the papers are to it, how many there are, rows of those that are listed).
        marks: what was said about it.
        links: (name, address) of its record elsewhere.
        indexed: whether searches know it.
    """

    paper: Paper
    sentences: list[dict[str, Any]] = field(default_factory=list)
    terms: dict[str, list[str]] = field(default_factory=dict)
    linked: list[tuple[str, int, list[dict[str, Any]]]] = field(default_factory=list)
    marks: dict[str, Any] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    indexed: bool = False


def paper_pages(pages: Pages) -> APIRouter:
    """``/paper/ID``, and ``/paper?id=ID`` for ids that no path can hold.

    Args:
        pages: the service and its templates.
    """
    router = APIRouter()
    service = pages.service

    @router.get("/paper")
    async def by_name(request: Request) -> Response:
        return await show(request, "".join(request.query_params.getlist("id")[-1:]))

    @router.get("/paper/{paper:path}")
    async def show(request: Request, paper: str) -> Response:
        """A paper, and a form to search for papers that are like parts of it."""
        wanted = Wanted.of({**given_of(request), "id": []})

        def work() -> Response:
            if not paper.strip():
                raise NoSuchPaper("no paper is named", hint="open one from a list of papers")
            opened = _opened(service, paper)
            roles = corrected_roles(wanted.question.roles)
            for row in opened.sentences:
                row["role"] = roles.get(row["number"], row["role"])
                row["kind"] = f"aspect-{_ASPECT_OF.get(row['role'], 'other')}"
            return pages.render(
                request,
                "paper.html",
                opened=opened,
                paper=opened.paper,
                chosen=wanted.question,
                shown_text=_SHOWN_TEXT,
                roles=[role for group in ROLE_GROUPS for role in group if role in ROLES],
                aspects=[*ASPECT_ROLES],
            )

        return await pages.work(request, work)

    return router


def _opened(service: Service, named: str) -> Opened:
    """Everything of a paper.

    Raises:
        NoSuchPaper: it is not in the library.
    """
    library = service.library
    paper = library.show(service.resolve(named))
    opened = Opened(paper, sentence_rows(library, paper), marks=library.marks.of(paper.id))
    opened.links = _elsewhere(paper)
    opened.linked = _linked(library, paper)
    opened.terms, opened.indexed = _terms(service, paper)
    return opened


def _terms(service: Service, paper: Paper) -> tuple[dict[str, list[str]], bool]:
    """The terms of each aspect, and whether the index knows the paper."""
    library = service.library
    if library.store.generations.current() is None:
        return {}, False
    service.generation()
    index = library.searcher.index
    if paper.id not in index.positions:
        return {}, False
    offers: Mapping[str, Offer] = IndexSeeds(index).offers(paper.id)
    return {name: [one.text for one in offer.phrases[:_TERMS]] for name, offer in offers.items()}, True


def _linked(library: Library, paper: Paper) -> list[tuple[str, int, list[dict[str, Any]]]]:
    """Papers that are linked to it, by the kind of the link."""
    names = {"versions": "Other versions", "cites": "Cites", "cited_by": "Cited by"}
    links = library.links(paper.id)
    return [
        (said, len(links[name]), listed_rows(library, links[name][:_LINKED]))
        for name, said in names.items()
        if links[name]
    ]


def _elsewhere(paper: Paper) -> list[tuple[str, str]]:
    """Where the record names the paper elsewhere; only addresses that a browser opens as pages."""
    held = paper.identifiers
    out = [
        (f"{name} {held[name]}", RESOLVERS[name].format(quote(held[name]))) for name in _SITES if name in held
    ]
    if paper.url.casefold().startswith(("http://", "https://")):
        out.append(("web page", paper.url))
    return out
