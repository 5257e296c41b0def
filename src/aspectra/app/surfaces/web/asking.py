"""Ask: the question and its papers, why one is not higher, criteria table, map; the trail of questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.output.criteria import (
    LEAST_MAPPED,
    criteria_of,
    criteria_table,
    paper_map,
    why_not_higher,
    written_table,
)
from aspectra.app.output.papers import MOST_PAGES, SORTS
from aspectra.app.surfaces.service.access import retry_headers
from aspectra.app.surfaces.service.answering import (
    Answer,
    RankMove,
    TrailStep,
    changed_lines,
    encoders_of,
    moves,
)
from aspectra.app.surfaces.service.question import Question, suggested_papers
from aspectra.app.surfaces.web.library import paper_pages
from aspectra.app.surfaces.web.triage import FORMATS, last_steps
from aspectra.app.surfaces.web.viewing import (
    WantedPage,
    address,
    asked_tags,
    edited_address,
    file_of,
    given_of,
    hits_of,
    kind_of,
    plain_warning,
    read_form,
    said_of,
    words_of,
)
from aspectra.app.terminal.screen import safe
from aspectra.base.errors import AspectraError, UsageError, check_length
from aspectra.base.values import replace
from aspectra.search.planning.aspects import ASPECT_ROLES, NOT_APPLIED, named_sentences
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import LIKE_DECIDED

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.web.viewing import Pages
    from aspectra.papers.paper import Paper


_REASONS = 50  # that were given before, and are offered
_MAPPED = 50  # best papers on the map
_LONGEST_ASPECT = 500
_WHOLE = "title and abstract"  # in place of an aspect


def asking(router: APIRouter, pages: Pages) -> None:
    """``/``, ``/why``, ``/criteria``, ``/map``, ``/suggest``, ``/keys`` and the pages of papers.

    Args:
        router: that gets them.
        pages: the service and its templates.
    """
    paper_pages(router, pages)
    service, trail = pages.service, pages.trail

    def page(request: Request, wanted: WantedPage) -> Response:
        """The whole page of Ask; blocking."""
        values: dict[str, Any] = {"wanted": wanted, "answer": None, "error": None, "suggested": []}
        try:
            seeds, unknown = _seeds(service, wanted.question.seeds)
            values["seeds"] = seeds
            if unknown is not None:
                values["suggested"] = suggested_papers(service.library, unknown[0])
                raise unknown[1]
            ids = tuple(one.id for one in seeds)
            wanted = replace(wanted, question=replace(wanted.question, seeds=ids))
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
            wanted = WantedPage.of(given_of(request))
        except AspectraError as error:  # what cannot be read at all is shown beside an empty form
            return _rendered(pages, request, {"wanted": WantedPage(), "error": error})
        try:
            return await pages.work(request, lambda: page(request, wanted))
        except AspectraError as error:  # too many wait, or it took too long
            return _rendered(pages, request, {"wanted": wanted, "error": error})

    @router.get("/why")
    async def why(request: Request) -> Response:
        """Why a paper is not higher, or not listed."""
        given = given_of(request)
        wanted, named = WantedPage.of(given), " ".join(given.get("paper", [])[-1:])

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
        wanted = WantedPage.of(given_of(request))

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
        wanted = WantedPage.of(given_of(request))
        text = await pages.work(request, lambda: written_table(_answer(service, wanted).ranking))
        return file_of(text, "criteria.csv")

    @router.get("/map")
    async def papers_map(request: Request) -> Response:
        """The best papers and the seeds in a plane, by what they say of an aspect."""
        given = given_of(request)
        wanted, aspect = WantedPage.of(given), "".join(given.get("aspect", [])[-1:]).strip()
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
    """The seed papers, each once; and the first name that is not a paper, with the error."""
    ids: list[str] = []
    unknown = None
    for one in named:
        try:
            ids.append(service.resolve(one))
        except AspectraError as error:
            unknown = unknown or (one, error)
    return list(service.library.store.get_many(dict.fromkeys(ids), full=False).values()), unknown


def _answer(service: Service, wanted: WantedPage) -> Answer:
    """The hits of a page, or all from the best one down to a rank."""
    if wanted.above is None:
        return service.answer(wanted.question, page=wanted.page, sort=wanted.sort)
    made = service.plan(wanted.question)
    pages = min(MOST_PAGES, -(-wanted.above // made.limit))  # so many were found for the page of that rank
    ranking = service.run(made.with_limit(made.limit * pages))
    return Answer(wanted.question, replace(ranking, hits=ranking.hits[: wanted.above]))


def _results(service: Service, wanted: WantedPage, answer: Answer) -> dict[str, Any]:
    """The values of an answer for the template."""
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
        "literal": address(replace(question, literal=not question.literal), more=order),
        "decided_like": address(replace(question, recipe=recipe)) if decided else "",
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
    """The values of the start page: size of the library and example questions."""
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


def _map(service: Service, wanted: WantedPage, aspect: str) -> dict[str, Any]:
    """Map the best papers and the seeds by an aspect; by default the first aspect of the question."""
    library, question = service.library, wanted.question
    made = service.plan(question)
    ranking = service.run(replace(made, limit=_MAPPED, evidence=0))
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


def _why(service: Service, wanted: WantedPage, named: str) -> dict[str, Any]:
    """Explain why a paper ranks below the one above it, or is not found."""
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
    ranking = service.run(replace(made, limit=made.limit * MOST_PAGES, evidence=0), explain=by_rank)
    place = ranking.ids.index(paper) if paper in ranking.ids else None
    if place is None:
        return {**out, "reasons": service.library.searcher.why_not(made, paper)}
    hit = ranking[place]
    if place == 0:
        return {**out, "hit": hit}
    above = ranking[place - 1]
    return {**out, "hit": hit, "above": above, "parts": why_not_higher(hit, above, made.search.fusion)}


# The trail: what was searched for, step by step: go back, share, compare two, repeat one exactly.

_ON_A_PAGE = 30
_TITLES = 3  # of each step


def trail_pages(router: APIRouter, pages: Pages) -> None:
    """``/trail`` and the pages of its steps.

    Args:
        router: that gets them.
        pages: the service, its trail and its templates.
    """
    service, trail = pages.service, pages.trail
    library = service.library

    @router.get("/trail")
    async def steps(request: Request, page: int = 1) -> Response:
        """The steps, newest first."""

        def work() -> dict[str, Any]:
            every = trail.steps()
            last = max(1, -(-len(every) // _ON_A_PAGE))
            if not 1 <= page <= last:
                raise UsageError(f"the trail has no page {page}", why=f"the last is page {last}")
            part = every[(page - 1) * _ON_A_PAGE : page * _ON_A_PAGE]
            titles = _titles(library, (one for step in part for one in _named(step)))
            shown = [_shown(step, titles) for step in part]
            return {"steps": shown, "count": len(every), "page": page, "last": last}

        values = await pages.work(request, work)
        base = str(request.base_url).rstrip("/")
        return pages.render(request, "trail.html", **values, base=base, trouble=trail.trouble)

    @router.get("/trail/compare")
    async def compare(request: Request, a: int = 0, b: int = 0) -> Response:
        """Two steps side by side."""
        if not (a and b):
            raise UsageError("two steps are compared", hint="choose one in each column of the trail")

        def work() -> dict[str, Any]:
            one, other = trail.get(a), trail.get(b)
            titles = _titles(library, (*_named(one), *one.ids, *_named(other), *other.ids))
            shown = {"one": _shown(one, titles), "other": _shown(other, titles)}
            return {"compared": _compared(one, other, titles), **shown}

        return pages.render(request, "trail_compare.html", **await pages.work(request, work))

    @router.get("/trail/clear")
    async def confirm(request: Request) -> Response:
        """Show the number of steps that would be deleted."""
        count = len(await pages.work(request, trail.steps))
        return pages.render(request, "trail_clear.html", count=count)

    @router.post("/trail/clear")
    async def clear(request: Request) -> Response:
        """Forget all steps."""
        await read_form(request)
        await pages.work(request, trail.clear)
        return pages.back("/trail")

    @router.get("/trail/{number}/repeat")
    async def repeat(request: Request, number: int) -> Response:
        """Answer the question of a step again, and compare."""

        def work() -> dict[str, Any]:
            then = trail.get(number)
            question = Question.from_parameters(then.parameters)
            answer = service.answer(question, page=then.page, sort=then.sort)
            now = TrailStep.of(answer, encoders_of(service))
            titles = _titles(library, (*_named(then), *then.ids, *now.ids))
            return {"compared": _compared(then, now, titles), "one": _shown(then, titles)}

        return pages.render(request, "trail_repeat.html", **await pages.work(request, work))


def _titles(library: Library, ids: Iterable[str]) -> dict[str, str]:
    """Id -> title, without papers that were removed from the library."""
    held = library.store.get_many(list(dict.fromkeys(ids)), full=False)
    return {one: paper.title or one for one, paper in held.items()}


def _named(step: TrailStep) -> list[str]:
    """Papers that a step is told by: its seeds, and the first that it found."""
    return [*step.parameters.get("seeds", ()), *step.ids[:_TITLES]]


def _shown(step: TrailStep, titles: dict[str, str]) -> dict[str, Any]:
    """A step as it is shown.

    Returns:
        step: of the trail.
        words: its question in one line.
        back: its address here, or "" where this version cannot read the question.
        titles: of its first papers.
        applied: what was read from the question, with the class of its colour.
    """
    names = [titles.get(one, one) for one in step.ids[:_TITLES]]
    shown = {"step": step, "titles": names, "applied": [(said_of(one), kind_of(one)) for one in step.applied]}
    try:
        question = Question.from_parameters(step.parameters)
    except UsageError:
        return {**shown, "words": " ".join(value for _, value in step.question), "back": ""}
    own = [("page", step.page if step.page > 1 else ""), ("sort", "" if step.sort == "score" else step.sort)]
    return {**shown, "words": question.said(titles), "back": address(question, more=own)}


def _compared(one: TrailStep, other: TrailStep, titles: dict[str, str]) -> dict[str, Any]:
    """Two steps side by side.

    Returns:
        rows: (rank, paper of the one step, paper of the other); a paper is its title and its move.
        counts: move in words -> how many papers.
        lines: of both plans, with what is only in one.
        facts: (what, of the one, of the other, whether they are the same).
        same: True if plan, index, encoders, papers and scores are the same.
    """
    moved = moves(one, other)

    def at(step: TrailStep, rank: int) -> tuple[str, RankMove] | None:
        place = rank - step.first
        if not 0 <= place < len(step.ids):
            return None
        return titles.get(step.ids[place], step.ids[place]), moved[step.ids[place]]

    ranks = {step.first + n for step in (one, other) for n in range(len(step.ids))}
    said = [move.said.partition(" ")[0] for move in moved.values()]
    pairs = (
        ("question", _written(one), _written(other)),
        ("plan", one.plan_hash, other.plan_hash),
        ("index", one.generation, other.generation),
        ("encoders", *_differing(one.encoders, other.encoders)),
        ("papers", *(f"{len(step.ids)} papers" for step in (one, other))),
        ("papers and scores", one.result[:12], other.result[:12]),
    )
    same = {"papers": one.ids == other.ids}
    facts = [(name, a, b, same.get(name, a == b)) for name, a, b in pairs]
    return {
        "rows": [(rank, at(one, rank), at(other, rank)) for rank in sorted(ranks)],
        "counts": {name: said.count(name) for name in ("same", "up", "down", "new", "gone") if name in said},
        "lines": changed_lines(one.described()[1:], other.described()[1:]),  # the first ones have the hashes
        "facts": facts,
        "same": all(fact[3] for fact in facts),
    }


def _written(step: TrailStep) -> str:
    own = [f"page {step.page}"] if step.page > 1 else []
    own += [] if step.sort == "score" else [f"sorted by {step.sort}"]
    return " · ".join([*(f"{name} {value}" for name, value in step.question), *own])


def _differing(one: dict[str, str], other: dict[str, str]) -> tuple[str, str]:
    """The fingerprints that differ, of either; all of them where none does."""
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    if not names:
        text = ", ".join(print_[:12] for print_ in sorted({*filter(None, one.values())})) or "none"
        return text, text

    def told(held: dict[str, str]) -> str:
        return ", ".join(f"{name} {held.get(name, 'missing')[:12] or 'words'}" for name in names)

    return told(one), told(other)
