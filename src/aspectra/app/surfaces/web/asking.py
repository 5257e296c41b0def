"""Ask: the question, what was read from it, and the papers; why one is not higher; criteria table and map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.output.criteria import criteria_of, criteria_table, written_table
from aspectra.app.output.maps import LEAST_MAPPED, paper_map, why_not_higher
from aspectra.app.output.papers import MOST_PAGES, SORTS
from aspectra.app.surfaces.service.access import retry_headers
from aspectra.app.surfaces.service.answering import Answer
from aspectra.app.surfaces.service.question import Question
from aspectra.app.surfaces.service.suggesting import suggested_papers
from aspectra.app.surfaces.web.paper import paper_pages
from aspectra.app.surfaces.web.triage import FORMATS, last_steps
from aspectra.app.surfaces.web.viewing import (
    Wanted,
    address,
    asked_tags,
    edited_address,
    given_of,
    hits_of,
    kind_of,
    plain_warning,
    said_of,
    words_of,
)
from aspectra.app.terminal.screen import safe
from aspectra.base.errors import AspectraError, check_length
from aspectra.base.values import replace
from aspectra.base.values import replace as with_fields
from aspectra.search.planning.aspects import ASPECT_ROLES, NOT_APPLIED, named_sentences
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import LIKE_DECIDED

if TYPE_CHECKING:
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.web.viewing import Pages
    from aspectra.papers.paper import Paper

_REASONS = 50  # that were given before, and are offered
_MAPPED = 50  # best papers on the map
_LONGEST_ASPECT = 500
_WHOLE = "title and abstract"  # in place of an aspect


def asking(pages: Pages) -> APIRouter:
    """``/``, ``/why``, ``/criteria``, ``/map``, ``/suggest``, ``/keys`` and the pages of papers.

    Args:
        pages: the service and its templates.
    """
    router = APIRouter()
    router.include_router(paper_pages(pages))
    service, trail = pages.service, pages.trail

    def page(request: Request, wanted: Wanted) -> Response:
        """The whole page of Ask; blocking."""
        values: dict[str, Any] = {"wanted": wanted, "answer": None, "error": None, "suggested": []}
        try:
            seeds, unknown = _seeds(service, wanted.question.seeds)
            values["seeds"] = seeds
            if unknown is not None:
                values["suggested"] = suggested_papers(service.library, unknown[0])
                raise unknown[1]
            ids = tuple(one.id for one in seeds)
            wanted = replace(wanted, question=with_fields(wanted.question, seeds=ids))
            values["wanted"] = wanted
            if wanted.asked:
                answer = _answer(service, wanted)
                values["step"] = trail.record(answer) if wanted.above is None else None
                values |= _results(service, wanted, answer)
            else:
                values |= _home(service)
        except AspectraError as error:
            values |= {"error": error, "state": _state(service)}
        return _rendered(pages, request, values)

    @router.get("/")
    async def ask(request: Request) -> Response:
        """The form, and below it the papers of the question that the address holds."""
        try:
            wanted = Wanted.of(given_of(request))
        except AspectraError as error:  # what cannot be read at all is shown beside an empty form
            return _rendered(pages, request, {"wanted": Wanted(), "error": error})
        try:
            return await pages.work(request, lambda: page(request, wanted))
        except AspectraError as error:  # too many wait, or it took too long
            return _rendered(pages, request, {"wanted": wanted, "error": error})

    @router.get("/why")
    async def why(request: Request) -> Response:
        """Why a paper is not higher, or not listed."""
        given = given_of(request)
        wanted, named = Wanted.of(given), " ".join(given.get("paper", [])[-1:])

        def work() -> Response:
            values = _why(service, wanted, named)
            error: AspectraError | None = values["error"]
            return pages.render(
                request, "why.html", status=error.http_status if error else 200, wanted=wanted, **values
            )

        return await pages.work(request, work)

    @router.get("/criteria")
    async def criteria(request: Request) -> Response:
        """A row for each paper, a column for each criterion."""
        wanted = Wanted.of(given_of(request))

        def work() -> Response:
            answer = _answer(service, wanted)
            columns = [(one, said_of(one.name), kind_of(one.key)) for one in criteria_of(answer.ranking)]
            values: dict[str, Any] = {
                "said": words_of(service.library, wanted.question),
                "columns": columns,
                "rows": list(zip(answer.ranking, criteria_table(answer.ranking), strict=True)),
                "csv": wanted.address("/criteria.csv"),
                "back": wanted.address(),
            }
            return pages.render(request, "criteria.html", **values)

        return await pages.work(request, work)

    @router.get("/criteria.csv")
    async def criteria_file(request: Request) -> Response:
        """The same as CSV."""
        wanted = Wanted.of(given_of(request))
        text = await pages.work(request, lambda: written_table(_answer(service, wanted).ranking))
        return Response(
            text.encode("utf-8", "replace"),
            media_type="text/csv; charset=utf-8",
            headers={"content-disposition": 'attachment; filename="aspectra-criteria.csv"'},
        )

    @router.get("/map")
    async def papers_map(request: Request) -> Response:
        """The best papers and the seeds in a plane, by what they say of an aspect."""
        given = given_of(request)
        wanted, aspect = Wanted.of(given), "".join(given.get("aspect", [])[-1:]).strip()
        check_length("characters in aspect", aspect, _LONGEST_ASPECT, hint="shorten it")

        def work() -> Response:
            return pages.render(request, "map.html", **_map(service, wanted, aspect))

        return await pages.work(request, work)

    @router.get("/suggest")
    async def suggest(request: Request) -> Response:
        """Papers that what is typed may mean."""
        given = given_of(request)
        typed = next((one for one in reversed([*given.get("q", []), *given.get("seeds", [])]) if one), "")

        def work() -> Response:
            found = suggested_papers(service.library, typed)
            return pages.render(request, "suggest.html", typed=typed, suggested=found)

        return await pages.work(request, work)

    @router.get("/keys")
    async def keys(request: Request) -> Response:
        """The keys of the page."""
        return pages.render(request, "keys.html")

    return router


def _rendered(pages: Pages, request: Request, values: dict[str, Any]) -> Response:
    """The page with what is known; the status is the error's, where there is one."""
    error: AspectraError | None = values.get("error")
    headers = {}
    if values.get("here") and request.headers.get("hx-target", "").endswith("#main"):
        headers["hx-push-url"] = values["here"]  # without what the form sends and means nothing
    if error is not None:
        headers |= retry_headers(error)
    planners = [(name, PLANNERS.get(name).summary, PLANNERS.get(name).seeds) for name in PLANNERS]
    planners.sort(key=lambda one: one[0] != "guided")  # the default first
    empty: dict[str, Any] = {"answer": None, "seeds": [], "suggested": [], "state": "", "step": None}
    return pages.render(
        request,
        "ask.html",
        status=200 if error is None else error.http_status,
        headers=headers,
        **{"planners": planners, "sorts": SORTS, "formats": FORMATS, **empty, **values},
    )


def _seeds(service: Service, named: Sequence[str]) -> tuple[list[Paper], tuple[str, AspectraError] | None]:
    """The seed papers, each once; and the first that is none, with the error."""
    ids: list[str] = []
    unknown = None
    for one in named:
        try:
            ids.append(service.resolve(one))
        except AspectraError as error:
            unknown = unknown or (one, error)
    return list(service.library.store.get_many(dict.fromkeys(ids), full=False).values()), unknown


def _answer(service: Service, wanted: Wanted) -> Answer:
    """The hits of a page, or all from the best one down to a rank."""
    if wanted.above is None:
        return service.answer(wanted.question, page=wanted.page, sort=wanted.sort)
    made = service.plan(wanted.question)
    pages = min(MOST_PAGES, -(-wanted.above // made.limit))  # so many were found for the page of that rank
    ranking = service.run(made.with_limit(made.limit * pages))
    return Answer(wanted.question, replace(ranking, hits=ranking.hits[: wanted.above]))


def _results(service: Service, wanted: Wanted, answer: Answer) -> dict[str, Any]:
    """What the template shows of an answer."""
    library, question, ranking = service.library, wanted.question, answer.ranking
    here = wanted.address(page=wanted.page)
    if wanted.above is not None:
        here = address(question, more=[("above", wanted.above)])
    order = [("sort", wanted.sort if wanted.sort != "score" else "")]
    recipe = " | ".join((question.recipe, LIKE_DECIDED))
    decided = bool(library.marks.read.decisions()) and LIKE_DECIDED not in question.recipe
    last = answer.page.of if answer.page is not None else wanted.page + bool(answer.next)
    first = max(1, min(wanted.page - 2, last - 4))
    links = [
        (str(n), wanted.address(page=n), "current" if n == wanted.page else "")
        for n in range(first, min(last, first + 4) + 1)
    ]
    if wanted.page > 1:
        links.insert(0, ("← Previous", wanted.address(page=wanted.page - 1), "prev"))
    if wanted.page < last:
        links.append(("Next →", wanted.address(page=wanted.page + 1), "next"))
    return {
        "answer": answer,
        "hits": hits_of(library, answer),
        "tags": asked_tags(question, ranking, order),
        "links": links if last > 1 and wanted.above is None else [],
        "orders": [(name, said, wanted.address(sort=name)) for name, said in SORTS.items()],
        "edit": edited_address(question, ranking.plan, more=[*order, ("edit", 1)]),
        "literal": address(with_fields(question, literal=not question.literal), more=order),
        "decided_like": address(with_fields(question, recipe=recipe)) if decided else "",
        "criteria": wanted.address("/criteria"),
        "map": address(question, "/map"),
        "caveats": [
            plain_warning(one)
            for one in ranking.warnings[bool(ranking.fit and ranking.fit.weak) :]  # the first is a notice
            if not one.startswith(NOT_APPLIED)  # which is a tag
        ],
        "triage": address(question, "/triage"),
        "plan": safe(ranking.plan.describe()),
        "here": here,
        "reasons": library.marks.reasons()[:_REASONS],
        "undoable": last_steps(library.marks.read)["undoable"],
    }


def _state(service: Service) -> str:
    """Why nothing can be searched: ``empty``, ``unindexed``, or "" where it can."""
    if not len(service.library):
        return "empty"
    return "unindexed" if service.library.store.generations.current() is None else ""


def _home(service: Service) -> dict[str, Any]:
    """What is shown before anything was asked: what the library holds, and questions to begin with."""
    state = _state(service)
    if state:
        return {"state": state, "held": len(service.library)}
    service.generation()
    index = service.library.searcher.index
    total = len(index)
    # Papers from the beginning, the middle and the end: no two examples are about the same.
    places = [int(total * share) for share in (0.15, 0.5, 0.85, 0.75, 0.65, 0.55)]
    ids = list(index.positions)
    found = service.library.store.get_many([ids[place] for place in dict.fromkeys(places)], full=False)
    papers = [one for one in found.values() if one.title and one.abstract]
    return {"held": len(service.library), "indexed": total, "examples": _examples(service, papers)}


def _examples(service: Service, papers: Sequence[Paper]) -> list[tuple[str, str, str]]:
    """(what it shows, the words, the address) for questions that any library can answer.

    Args:
        service: that answers them.
        papers: one for each question, and more in place of those whose title reads as a request.
    """
    kinds: tuple[tuple[str, Callable[[Paper], Question]], ...] = (
        ("papers like one that you know", lambda paper: Question(seeds=(paper.id,))),
        (
            "the same method for another problem",
            lambda paper: Question(seeds=(paper.id,), same=("method",), different=("background",)),
        ),
        (
            "a question in words, with a limit in them",
            lambda paper: Question(text=f"{paper.title} since {(paper.year or 2010) - 3}"[:300]),
        ),
    )
    out, left = [], iter(papers)
    for said, make in kinds:
        for paper in left:
            question = make(paper)
            made = question.plan(service.library) if question.text else None
            if made is None or (len(made.conditions) == 1 and not made.unread):
                out.append((said, question.text or paper.title, address(question)))
                break
    return out


def _map(service: Service, wanted: Wanted, aspect: str) -> dict[str, Any]:
    """Where the best papers and the seeds lie; by the first aspect that was asked for where none is named."""
    library, question = service.library, wanted.question
    made = service.plan(question)
    ranking = service.run(with_fields(made, limit=_MAPPED, evidence=0))
    sentences = named_sentences(question.same_sentences).name
    asked = [name for one in ranking.requests.aspects if (name := one.partition(" ")[2]) != sentences]
    aspect = aspect or (asked[0] if asked else _WHOLE)
    known = library.store.get_many(dict.fromkeys(made.search.seeds), full=False)
    seeds = [paper for paper in known.values() if paper.id not in ranking.ids]
    papers = [*seeds, *(hit.paper for hit in ranking)]
    ids = [paper.id for paper in papers]
    vectors = library.searcher.aspect_vectors(ids, "" if aspect == _WHOLE else aspect)
    ranks = dict(zip(ids, [*("S" for _ in seeds), *(str(hit.rank) for hit in ranking)], strict=True))
    decisions = library.marks.read.decisions(ids)
    names = dict.fromkeys([_WHOLE, *ASPECT_ROLES, *asked, aspect])
    return {
        "map": paper_map(papers, vectors),
        "said": words_of(library, question),
        "least": LEAST_MAPPED,
        "ranks": ranks,
        "decided": {one: held.decision for one, held in decisions.items()},
        "aspect": aspect,
        "whole": _WHOLE,
        "kind": kind_of(aspect),
        "aspects": [(name, address(question, "/map", [("aspect", name)])) for name in names],
        "back": wanted.address(),
    }


def _why(service: Service, wanted: Wanted, named: str) -> dict[str, Any]:
    """What parts a paper from the one above it, or keeps it out."""
    out: dict[str, Any] = {"back": wanted.address(), "hit": None, "above": None, "parts": [], "reasons": None}
    out |= {"error": None, "suggested": []}
    try:
        paper = service.resolve(named)
    except AspectraError as error:
        papers = suggested_papers(service.library, named)
        links = [(one, address(wanted.question, "/why", [("paper", one.id)])) for one in papers]
        return {**out, "error": error, "suggested": links}
    made = service.plan(wanted.question)
    by_rank = made.search.fusion.kind == "rrf"  # parts of other scores are known without the ranks
    ranking = service.run(with_fields(made, limit=made.limit * MOST_PAGES, evidence=0), explain=by_rank)
    place = ranking.ids.index(paper) if paper in ranking.ids else None
    if place is None:
        return {**out, "reasons": service.library.searcher.why_not(made, paper)}
    hit = ranking[place]
    if place == 0:
        return {**out, "hit": hit}
    above = ranking[place - 1]
    return {**out, "hit": hit, "above": above, "parts": why_not_higher(hit, above, made.search.fusion)}
