"""Which function draws which value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aspectra.app.library import Library
from aspectra.app.output.documents import VIEW_COLUMNS, library_rows, view_rows
from aspectra.app.surfaces.notebook.elements import Forms, Markup, element, plain, row, table
from aspectra.app.surfaces.notebook.papers import OpenedPaper, forms_of_opened, forms_of_paper
from aspectra.app.surfaces.notebook.rankings import forms_of_plan, forms_of_ranking
from aspectra.app.surfaces.notebook.scores import forms_of_drawing
from aspectra.app.terminal.screen import schema_of
from aspectra.base.errors import AspectraError
from aspectra.lab.figures.drawing import Drawing
from aspectra.papers.paper import Paper
from aspectra.search.plan import Plan
from aspectra.search.ranking import Ranking

if TYPE_CHECKING:
    from aspectra.app.library import Library


# A library in a notebook: what it holds, and what waits to be indexed.

_VIEWS = 60
_NUMBERS = (3, 4)


def forms_of_library(library: Library) -> Forms:
    """What ``aspectra status`` prints, in its forms."""
    facts = library.status()
    rows, views = library_rows(facts), view_rows(facts)
    held = [row(_label(label), plain(text, 300)) for label, text in rows]
    seen = [row(*(plain(cell, 80) for cell in view), numbers=_NUMBERS) for view in views[:_VIEWS]]
    shown = [table("Library", (), held)]
    shown += [table("Views of the index", VIEW_COLUMNS, seen, _NUMBERS)] if seen else []
    if (rest := len(views) - _VIEWS) > 0:
        shown.append(element("p", f"and {rest:,} more: library.status()"))
    text = "\n".join(f"{label:<18}{value}" for label, value in rows)
    return Forms(text, element("div", *shown), "status", {"schema": schema_of("status"), **facts})


def _label(label: str) -> Markup:
    inside = "padding-left:1em" if label.startswith(" ") else ""
    return element("span", plain(label), style=inside)


_DRAWN: tuple[tuple[type, Callable[[Any], Forms]], ...] = (
    (Ranking, forms_of_ranking),
    (Plan, forms_of_plan),
    (Paper, forms_of_paper),
    (OpenedPaper, forms_of_opened),
    (Library, forms_of_library),
    (Drawing, forms_of_drawing),
)


def forms_of(value: object) -> dict[str, Any]:
    """The forms of a value by media type; where it cannot be read any more, the error."""
    draw = next((draw for kind, draw in _DRAWN if isinstance(value, kind)), None)
    try:
        found = Forms(repr(value), element("pre", plain(repr(value), 2000))) if draw is None else draw(value)
    except AspectraError as error:
        found = Forms(str(error), element("pre", plain(str(error), 2000)))
    return found.to_dict()
