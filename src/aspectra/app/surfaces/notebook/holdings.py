"""A library in a notebook: what it holds, and what waits to be indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aspectra.app.output.facts import VIEW_COLUMNS, library_rows, view_rows
from aspectra.app.surfaces.notebook.elements import Markup, element, plain, row, table
from aspectra.app.surfaces.notebook.forms import Forms
from aspectra.app.terminal.screen import schema_of

if TYPE_CHECKING:
    from aspectra.app.library import Library

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
