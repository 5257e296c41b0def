"""The trail: what was searched for, step by step: go back, share, compare two, repeat one exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.surfaces.service.question import Question
from aspectra.app.surfaces.service.trail import Move, Step, changed_lines, encoders_of, moves
from aspectra.app.surfaces.web.viewing import address, kind_of, read_form, said_of
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aspectra.app.library import Library
    from aspectra.app.surfaces.web.viewing import Pages

_ON_A_PAGE = 30
_TITLES = 3  # of each step


@dataclass(frozen=True)
class ShownStep:
    """A step as it is shown.

    Attributes:
        step: of the trail.
        words: its question in one line.
        back: its address here, or "" where this version cannot read the question.
        titles: of its first papers.
        applied: what was read from the question, with the class of its colour.
    """

    step: Step
    words: str
    back: str
    titles: list[str]
    applied: list[tuple[str, str]]


@dataclass(frozen=True)
class Compared:
    """Two steps side by side.

    Attributes:
        rows: (rank, paper of the one step, paper of the other); a paper is its title and its move.
        counts: move in words -> how many papers.
        lines: of both plans, with what is only in one.
        facts: (what, of the one, of the other, whether they are the same).
    """

    rows: list[tuple[int, tuple[str, Move] | None, tuple[str, Move] | None]]
    counts: dict[str, int]
    lines: list[tuple[str, str]]
    facts: list[tuple[str, str, str, bool]]

    @property
    def same(self) -> bool:
        """Whether plan, index, encoders, papers and scores are the same."""
        return all(fact[3] for fact in self.facts)


def trail_pages(pages: Pages) -> APIRouter:
    """``/trail`` and the pages of its steps.

    Args:
        pages: the service, its trail and its templates.
    """
    router = APIRouter()
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
            shown = (_shown(one, titles), _shown(other, titles))
            return {"compared": _compared(one, other, titles), "one": shown[0], "other": shown[1]}

        return pages.render(request, "trail_compare.html", **await pages.work(request, work))

    @router.get("/trail/clear")
    async def confirm(request: Request) -> Response:
        """What would be forgotten."""
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
            now = Step.of(answer, encoders_of(service))
            titles = _titles(library, (*_named(then), *then.ids, *now.ids))
            return {"compared": _compared(then, now, titles), "one": _shown(then, titles)}

        return pages.render(request, "trail_repeat.html", **await pages.work(request, work))

    return router


def _titles(library: Library, ids: Iterable[str]) -> dict[str, str]:
    """Id -> title; papers that are no longer in the library are left out."""
    held = library.store.get_many(list(dict.fromkeys(ids)), full=False)
    return {one: paper.title or one for one, paper in held.items()}


def _named(step: Step) -> list[str]:
    """Papers that a step is told by: its seeds, and the first that it found."""
    return [*step.parameters.get("seeds", ()), *step.ids[:_TITLES]]


def _shown(step: Step, titles: dict[str, str]) -> ShownStep:
    names = [titles.get(one, one) for one in step.ids[:_TITLES]]
    applied = [(said_of(one), kind_of(one)) for one in step.applied]
    try:
        question = Question.from_parameters(step.parameters)
    except UsageError:
        return ShownStep(step, " ".join(value for _, value in step.question), "", names, applied)
    own = [("page", step.page if step.page > 1 else ""), ("sort", "" if step.sort == "score" else step.sort)]
    return ShownStep(step, question.said(titles), address(question, more=own), names, applied)


def _compared(one: Step, other: Step, titles: dict[str, str]) -> Compared:
    moved = moves(one, other)

    def at(step: Step, rank: int) -> tuple[str, Move] | None:
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
    return Compared(
        [(rank, at(one, rank), at(other, rank)) for rank in sorted(ranks)],
        {name: said.count(name) for name in ("same", "up", "down", "new", "gone") if name in said},
        changed_lines(_lines(one), _lines(other)),
        [(name, a, b, same.get(name, a == b)) for name, a, b in pairs],
    )


def _lines(step: Step) -> list[str]:
    """The plan without its first line, which has the hash."""
    return step.described()[1:]


def _written(step: Step) -> str:
    own = [f"page {step.page}"] if step.page > 1 else []
    own += [] if step.sort == "score" else [f"sorted by {step.sort}"]
    return " · ".join([*(f"{name} {value}" for name, value in step.question), *own])


def _differing(one: dict[str, str], other: dict[str, str]) -> tuple[str, str]:
    """The fingerprints that differ, of either; all of them where none does."""
    names = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    shown = names or sorted({print_ for print_ in one.values() if print_})
    if not names:
        text = ", ".join(print_[:12] for print_ in shown) or "none"
        return text, text
    a, b = (
        ", ".join(f"{name} {held.get(name, 'missing')[:12] or 'words'}" for name in shown)
        for held in (one, other)
    )
    return a, b
