"""What a searcher says about papers, from the forms of the page: decisions, tags, notes, undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from aspectra.app.surfaces.web.rendering import ids_of, one_of, read_form
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.app.surfaces.web.rendering import Pages
    from aspectra.papers.library.marks.reader import Marks
    from aspectra.papers.library.marks.values import Action

_OFFERED = ("decide", "tag", "note")

_LONGEST_NOTE = 20_000
_LONGEST_REASON = 500


def last_steps(read: Marks) -> dict[str, Action | None]:
    """``undoable`` and ``redoable`` of pages of papers: the last step if it is a decision, a tag or a note.

    What was done elsewhere, such as saving a search, is undone there: a key pressed here must not take it.
    """
    found = {"undoable": read.undoable, "redoable": read.redoable}
    return {name: step if step and step.verb in _OFFERED else None for name, step in found.items()}


def marking(pages: Pages) -> APIRouter:
    """The forms that change marks; each leads back to the page that it names.

    Args:
        pages: the service and its templates.
    """
    router = APIRouter()
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
        """Add tags, several parted by commas, and take one away."""
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

    return router
