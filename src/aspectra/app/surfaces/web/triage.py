"""Triage on the page: decide on papers one at a time, mark and export them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.output.criteria import Criterion, CriterionResult, criteria_of, criteria_table
from aspectra.app.output.papers import listed_rows
from aspectra.app.surfaces.service.question import MOST_SHOWN, Question
from aspectra.app.surfaces.web.viewing import (
    address,
    file_of,
    given_of,
    ids_of,
    kind_of,
    one_of,
    pieces_of,
    place_of,
    read_form,
    said_of,
    words_of,
)
from aspectra.base.errors import UsageError, check_choice
from aspectra.base.values import replace
from aspectra.papers.text.structure import lead_field
from aspectra.search.query import LIKE_DECIDED

if TYPE_CHECKING:
    from aspectra.app.surfaces.service.answering import Service
    from aspectra.app.surfaces.web.viewing import Pages
    from aspectra.papers.library.marks.reader import Marks
    from aspectra.papers.library.marks.values import Action, Decision
    from aspectra.search.ranking import Ranking


POOL = 50  # papers of a question that are screened, where the address names no other number
POOLS = (20, 50, 100)
_MOST_SKIPPED = 200
_MOST_REASONS = 50


@dataclass(frozen=True)
class TriageWork:
    """A work that is screened: a paper, and the other records that share its decision."""

    id: str
    others: tuple[str, ...]
    decision: Decision | None

    @property
    def records(self) -> tuple[str, ...]:
        """Ids of all records."""
        return (self.id, *self.others)


@dataclass
class Screening:
    """The state of the triage page.

    Attributes:
        question: whose papers are screened; without words or seeds the undecided papers of the library.
        works: that are screened, in order; of the library only those that come next.
        shown: the work that is decided on now, or None at the end.
        counts: decision -> number of works; ``any``: those not counted by decision.
        of: works in all.
        moving: True if the order changes with every decision.
        skipped: ids that were left out for now.
        ranking: of the question, or None.
    """

    question: Question
    works: list[TriageWork]
    shown: TriageWork | None
    counts: Counter[str]
    of: int
    moving: bool = False
    skipped: Sequence[str] = ()
    ranking: Ranking | None = None

    @property
    def done(self) -> int:
        """Decided works."""
        return self.counts.total()


def triage(router: APIRouter, pages: Pages) -> None:
    """``/triage``, and the forms and files that go with it.

    Args:
        router: that gets them.
        pages: the service and its templates.
    """
    marking(router, pages)
    exporting(router, pages)
    service = pages.service

    @router.get("/triage")
    async def screen(request: Request) -> Response:
        """The first undecided paper, or at the end what was decided."""
        given = given_of(request)
        question = Question.from_parameters(given)
        pool = _pool(given.get("pool", []))
        skipped = ids_of(given.get("skip", []))[-_MOST_SKIPPED:]
        at = (given.get("at") or [""])[-1]
        asked = bool(question.text or question.seeds)

        def work() -> dict[str, Any]:
            if asked:
                found = _of_question(service, question, pool, skipped, at)
            else:
                found = _of_library(service, question, skipped, at)
            works = {} if found.shown else {one.id: one for one in found.works}
            rows = listed_rows(service.library, [*works])
            return {
                "screening": found,
                "said": words_of(service.library, question),
                "shown": _shown(service, found, found.shown) if found.shown else None,
                "listed": [(row, works[row["id"]].decision) for row in rows],
                "tags": [*service.library.marks.read.tag_counts()][:_MOST_REASONS],
                "reasons": service.library.marks.reasons()[:_MOST_REASONS],
                **last_steps(service.library.marks.read),
            }

        values = await pages.work(request, work)
        return pages.render(
            request,
            "triage.html",
            **values,
            asked=asked,
            links=_links(question, pool if asked else POOL, skipped),
            pool=pool,
            pools=POOLS,
            formats=FORMATS,
        )


def _links(question: Question, pool: int, skipped: Sequence[str]) -> dict[str, Any]:
    """Addresses of this page: everything that is shown is in them.

    Returns:
        parameters: of the question.
        here: this page, without what was looked at once.
        skip: gives the next paper, behind one.
        at: gives one paper, decided or not.
        fresh: with what was skipped.
        results: the list of results.
        like_decided: the same question with the papers that were decided on as examples.
    """
    pooled = [("pool", "" if pool == POOL else str(pool))]
    here = partial(address, question, "/triage")
    kept = [*pooled, *(("skip", one) for one in skipped)]
    further = question.recipe if "feedback(" in question.recipe else f"{question.recipe} | {LIKE_DECIDED}"
    return {
        "parameters": question.parameters(),
        "here": here(kept),
        "skip": lambda paper: here([*kept, ("skip", paper)]),
        "at": lambda paper: here([*kept, ("at", paper)]),
        "fresh": here(pooled),
        "results": address(question),
        "like_decided": address(replace(question, recipe=further, decided="none"), "/triage", pooled),
    }


def _pool(given: Sequence[str]) -> int:
    text = given[-1].strip() if given else ""
    if not text:
        return POOL
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST_SHOWN):
        raise UsageError(
            f"{text[:40]!r} papers cannot be screened at once", why=f"it is 1 to {MOST_SHOWN}", hint="pool=50"
        )
    return int(text)


def _of_question(
    service: Service, question: Question, pool: int, skipped: Sequence[str], at: str
) -> Screening:
    """The best papers of a question.

    Decided papers stay in the list, so that progress can be told; only where they are examples of what is
    searched for (``moving``) the list holds what is left.
    """
    moving = question.decided == "none" and "feedback(" in question.recipe
    if question.decided == "none" and not moving:
        question = replace(question, decided="")
    ranking = service.answer(replace(question, limit=pool)).ranking
    works = _works(service, ranking.ids)
    judged = works
    if moving:
        known = service.library.marks.read.decisions().items()
        judged = _works(service, [one for one, decision in known if decision.under == question.words])
    made = [work.decision.decision for work in judged if work.decision]
    return Screening(
        question,
        works,
        _next(works, skipped, at) or _named(service, at),
        Counter(made),
        len(made) + len(works) if moving else len(works),
        moving,
        skipped,
        ranking,
    )


def _of_library(service: Service, question: Question, skipped: Sequence[str], at: str) -> Screening:
    """Undecided papers of the library, newest first."""
    library = service.library
    flow = library.works.flow()
    page, shown, works = 1, None, list[TriageWork]()
    while shown is None:
        found = library.marks.papers(
            tags=question.tags, decision="none", limit=_MOST_SKIPPED + POOL, page=page
        )
        works = _works(service, found.ids)
        shown = _next(works, skipped, "")
        if page >= found.pages:
            break
        page += 1
    return Screening(
        question,
        [work for work in works if work.decision is None and work.id in skipped],
        _named(service, at) or shown,
        Counter({"any": flow.screened}),
        flow.works,
        False,
        skipped,
    )


def _works(service: Service, ids: Sequence[str]) -> list[TriageWork]:
    """The works of papers, each once, with the decision on them."""
    others = service.library.store.versions(ids)
    known = service.library.marks.read.decisions(ids)
    works, seen = [], set[str]()
    for one in ids:
        records = (one, *others.get(one, ()))
        if one not in seen:
            works.append(TriageWork(one, records[1:], known.get(one)))
        seen.update(records)
    return works


def _next(works: Sequence[TriageWork], skipped: Sequence[str], at: str) -> TriageWork | None:
    """The work that the address names, else the first that is neither decided nor skipped."""
    left = set(skipped)
    named = next((work for work in works if at and at in work.records), None)
    return named or next((work for work in works if work.decision is None and work.id not in left), None)


def _named(service: Service, at: str) -> TriageWork | None:
    return _works(service, [service.resolve(at)])[0] if at else None


def _shown(service: Service, found: Screening, work: TriageWork) -> dict[str, Any]:
    """The paper that is decided on.

    Returns:
        paper: its record.
        versions: rows of the work's other records.
        lead: its abstract, or the beginning of its full text, in pieces: (text, whether it is a quote).
        place: the field that ``lead`` is.
        criteria: the name of each criterion, the criterion, what the paper is by it, the class of its colour.
        evidence: quotes from elsewhere in the paper, where they are, and the class of their colour.
        rank: among the papers of the question; 0 if it is not one of them.
        tags, notes: on it.
    """
    library = service.library
    paper = library.store.get(work.id)
    hit = next((hit for hit in found.ranking or () if hit.id == work.id), None)
    criteria: list[tuple[str, Criterion, CriterionResult, str]] = []
    if hit is not None and found.ranking is not None:
        row = criteria_table(found.ranking)[found.ranking.ids.index(work.id)]
        columns = criteria_of(found.ranking)
        pairs = zip(columns, row, strict=True)
        criteria = [(said_of(one.name), one, cell, kind_of(one.key)) for one, cell in pairs]
    said = {cell.quote for _, _, cell, _ in criteria}
    evidence = hit.evidence if hit is not None else ()
    place, lead = lead_field(paper)  # without an abstract: the beginning of the full text
    spans = [(one.start, one.end) for one in evidence if one.field == place]
    unsaid = [one for one in evidence if one.field != place and one.quote not in said]
    return {
        "paper": paper,
        "versions": listed_rows(library, list(work.others)),
        "lead": pieces_of(lead, spans),
        "place": place,
        "criteria": criteria,
        "evidence": [(one, place_of(paper, one), kind_of(one.aspect)) for one in unsaid],
        "rank": hit.rank if hit is not None else 0,
        "tags": library.marks.read.tags([work.id]).get(work.id, []),
        "notes": library.marks.read.notes_of(work.id),
    }


_OFFERED = ("decide", "tag", "note")

_LONGEST_NOTE = 20_000
_LONGEST_REASON = 500


def last_steps(read: Marks) -> dict[str, Action | None]:
    """``undoable`` and ``redoable`` of pages of papers: the last step if it is a decision, a tag or a note.

    What was done elsewhere, such as saving a search, is undone there: a key pressed here must not take it.
    """
    found = {"undoable": read.undoable, "redoable": read.redoable}
    return {name: step if step and step.verb in _OFFERED else None for name, step in found.items()}


def marking(router: APIRouter, pages: Pages) -> None:
    """The forms that change marks; each leads back to the page that it names.

    Args:
        router: that gets them.
        pages: the service and its templates.
    """
    marks = pages.service.library.marks

    @router.post("/decide")
    async def decide(request: Request) -> Response:
        """Decide on papers; refused where a page showed another decision than there is now."""
        form = await read_form(request)
        ids, decision = ids_of(form.getlist("id")), one_of(form, "decision")
        if not ids:
            raise UsageError("no paper is named", hint="choose one")
        reason = one_of(form, "reason", most=_LONGEST_REASON) if decision else ""
        under = one_of(form, "under", most=10_000)

        def work() -> None:
            now = next((held.decision for held in marks.read.decisions(ids[:1]).values()), "")
            if "was" in form and now not in (one_of(form, "was"), decision):
                raise UsageError(f"decided elsewhere meanwhile: {now or 'none'}", hint="open the page again")
            marks.decide(decision, *ids, reason=reason, under=under)

        await pages.work(request, work)
        return pages.back(one_of(form, "back", most=40_000), "/triage")

    @router.post("/tag")
    async def tag(request: Request) -> Response:
        """Add tags, separated by commas, and remove one."""
        form = await read_form(request)
        ids = ids_of(form.getlist("id"))
        add = [part.strip() for part in one_of(form, "add").split(",") if part.strip()]
        remove = [one] if (one := one_of(form, "remove")) else []
        if not ids or not (add or remove):
            raise UsageError("no tag is named", hint="write one or more, parted by commas")
        await pages.work(request, lambda: marks.tag(*ids, add=add, remove=remove))
        return pages.back(one_of(form, "back", most=40_000), "/triage")

    @router.post("/note")
    async def note(request: Request) -> Response:
        """Add a note to a paper, or remove one by its number."""
        form = await read_form(request)
        drop, back = one_of(form, "drop"), one_of(form, "back", most=40_000)
        if drop:
            if not (drop.isascii() and drop.isdigit() and len(drop) < 16):
                raise UsageError(f"there is no note {drop!r}", hint="remove it on the page of its paper")
            await pages.work(request, lambda: marks.drop_note(int(drop)))
            return pages.back(back, "/triage")
        ids = ids_of(form.getlist("id"))
        text, quote = (one_of(form, name, most=_LONGEST_NOTE) for name in ("text", "quote"))
        if len(ids) != 1:
            raise UsageError("a note belongs to one paper", hint="send one id")
        await pages.work(request, lambda: marks.note(ids[0], text, quote=quote))
        return pages.back(back, "/triage")

    async def turn(request: Request, verb: Literal["undo", "redo"]) -> Response:
        """Refused where the page showed another step than would be taken."""
        form = await read_form(request)
        shown = one_of(form, "step")

        def work() -> None:
            step = marks.read.undoable if verb == "undo" else marks.read.redoable
            if shown and shown != str(step and step.number):
                raise UsageError(f"another step came after the one to {verb}", hint="open the page again")
            (marks.undo if verb == "undo" else marks.redo)()

        await pages.work(request, work)
        return pages.back(one_of(form, "back", most=40_000), "/triage")

    @router.post("/undo")
    async def undo(request: Request) -> Response:
        """Take the last step back."""
        return await turn(request, "undo")

    @router.post("/redo")
    async def redo(request: Request) -> Response:
        """Do again what was undone last."""
        return await turn(request, "redo")


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


def exporting(router: APIRouter, pages: Pages) -> None:
    """``/export``: a file of papers, by their ids or by what was decided.

    Args:
        router: that gets them.
        pages: the service and its templates.
    """
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
        name = f"{_DECIDED.get(decided, 'papers')}{WRITERS.get(form).suffix}"
        return file_of(text, name, f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)

    @router.get("/export")
    async def export(request: Request) -> Response:
        given = request.query_params
        return await answer(request, given.getlist("id"), given.get("format", ""), given.get("decided", ""))

    @router.post("/export")
    async def export_many(request: Request) -> Response:
        form = await read_form(request)
        return await answer(request, form.getlist("id"), one_of(form, "format"), one_of(form, "decided"))
