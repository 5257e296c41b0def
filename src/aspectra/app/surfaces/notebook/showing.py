"""Which function draws which value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aspectra.app.library import Library
from aspectra.app.surfaces.notebook.elements import element, plain
from aspectra.app.surfaces.notebook.forms import Forms
from aspectra.app.surfaces.notebook.holdings import forms_of_library
from aspectra.app.surfaces.notebook.papers import OpenedPaper, forms_of_opened, forms_of_paper
from aspectra.app.surfaces.notebook.rankings import forms_of_plan, forms_of_ranking
from aspectra.app.surfaces.notebook.scores import forms_of_drawing
from aspectra.base.errors import AspectraError
from aspectra.lab.figures.drawing import Drawing
from aspectra.papers.paper import Paper
from aspectra.search.plan import Plan
from aspectra.search.ranking import Ranking

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
