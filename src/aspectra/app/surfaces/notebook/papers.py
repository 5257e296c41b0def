"""A paper in a notebook, with the roles of its sentences; and the progress of long steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

from aspectra.app.library import Library
from aspectra.app.output.criteria import mark_rows
from aspectra.app.output.documents import VIEW_COLUMNS, library_rows, record_rows, view_rows
from aspectra.app.output.papers import paper_document
from aspectra.app.surfaces.notebook.rankings import (
    MOST_BYTES,
    Forms,
    Markup,
    element,
    fitting,
    forms_of_drawing,
    forms_of_plan,
    forms_of_ranking,
    joined,
    listed,
    plain,
    quiet,
    row,
    size_of,
    table,
)
from aspectra.app.terminal.screen import ProgressShown, count, schema_of
from aspectra.base.display import Displayed
from aspectra.base.errors import AspectraError
from aspectra.lab.figures.drawing import Drawing
from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import abstract_sentences, lead_field
from aspectra.search.plan import Plan
from aspectra.search.ranking import Ranking

if TYPE_CHECKING:
    from aspectra.app.library import Library


# Lines below sentences: on white and on black each has a contrast of 3 or more, and a word says the same.
ROLE_COLOURS = {
    "background": "#8a8a8a",
    "objective": "#b06c00",
    "method": "#1f7fc4",
    "result": "#0b8f6a",
    "other": "#a8629a",
}
_ROWS = 30
_SENTENCES = 100
_HEADINGS = 40
_LINKED = 10
_LINKS = {"versions": "other versions", "cites": "cites", "cited_by": "cited by"}


@dataclass(frozen=True)
class OpenedPaper(Displayed):
    """A paper with what its library knows of it, from :func:`open_paper`.

    Attributes:
        paper: whole.
        document: as ``aspectra show --sentences --json`` prints it.
        titles: id -> title of some papers that it is linked with.
    """

    paper: Paper
    document: Mapping[str, Any]
    titles: Mapping[str, str]


def open_paper(library: Library, paper: str) -> OpenedPaper:
    """A paper to look at: the roles of its sentences, its marks, and the papers it is linked with.

    Args:
        library: that holds it.
        paper: its id, DOI, arXiv id or exact title.

    Raises:
        NoSuchPaper: it is not in the library.
    """
    whole = library.show(paper)
    document = paper_document(library, whole, sentences=True)
    linked = [one for name in _LINKS for one in document["links"][name][:_LINKED]]
    titles = {one: held.title for one, held in library.store.get_many(linked, full=False).items()}
    return OpenedPaper(whole, document, titles)


def forms_of_paper(paper: Paper) -> Forms:
    """The forms of a paper by itself: it has the roles that its source brought."""
    lead = lead_field(paper)[1]
    spans = [{"text": lead[s.start : s.end], "role": s.role} for s in abstract_sentences(paper)]
    return _forms(paper, record_rows(paper), spans, Markup(), "record", paper.to_dict())


def forms_of_opened(opened: OpenedPaper) -> Forms:
    """The forms of a paper with what its library knows."""
    document = opened.document
    rows = [*record_rows(opened.paper), *mark_rows(document["marks"])]
    linked = joined([_linked(label, document["links"][name], opened) for name, label in _LINKS.items()])
    whole = {"schema": schema_of("paper"), **document}
    return _forms(opened.paper, rows, document["sentence_spans"], linked, "paper", whole)


def _forms(
    paper: Paper,
    rows: Sequence[tuple[str, str]],
    spans: Sequence[Mapping[str, Any]],
    linked: Markup,
    name: str,
    document: Mapping[str, Any],
) -> Forms:
    facts = [row(plain(label, 60), plain(text, 400)) for label, text in rows[:_ROWS]]
    if (rest := len(rows) - _ROWS) > 0:
        facts.append(row("", f"and {rest:,} more"))
    headings = [plain(section.heading, 120) or "(no heading)" for section in paper.sections]
    title = element("b", plain(paper.title, 400) or "(no title)", dir="auto")
    parts = [element("p", title, style="margin:.3em 0"), table("Record", (), facts)]
    tail = [_part("Sections", listed(headings, _HEADINGS)), linked]
    room = MOST_BYTES - 500 - sum(map(size_of, [*parts, *tail]))
    parts += [_abstract(paper, spans, room), *tail]
    said = "\n".join(f"{label}: {text}" for label, text in rows)
    text = f"{paper.title or '(no title)'}\n{said}\n\n{lead_field(paper)[1] or '(no abstract)'}"
    return Forms(text, element("div", *parts), name, document)


def _part(name: str, shown: Markup) -> Markup:
    head = element("p", element("b", name), style="margin:.6em 0 .2em")
    return joined([head, shown]) if shown else Markup()


def _abstract(paper: Paper, spans: Sequence[Mapping[str, Any]], room: int) -> Markup:
    """The sentences, each underlined in the colour of its role; a role is named where it begins."""
    if not spans:
        return element("p", "(no abstract)")
    before = ["", *(span["role"] for span in spans)]
    told = (
        _sentence(span["text"], span["role"], named=span["role"] != previous)
        for span, previous in zip(spans[:_SENTENCES], before, strict=False)
    )
    shown = fitting(told, room)
    rest = len(spans) - len(shown)
    more = quiet(f" and {count(rest, 'more sentence')}: paper.abstract") if rest else Markup()
    name = "Abstract" if paper.abstract.strip() else "No abstract; the full text begins"
    return _part(name, element("p", joined(shown, " "), more, style="max-width:48em;line-height:1.7"))


def _sentence(text: str, role: str, *, named: bool) -> Markup:
    said = plain(text, 1000)
    if not role:
        return element("span", said, dir="auto")
    colour = ROLE_COLOURS.get(role, ROLE_COLOURS["other"])
    shown = element("span", said, dir="auto", style=f"border-bottom:3px solid {colour}")
    return joined([quiet(element("b", plain(role, 30)), " "), shown]) if named else shown


def _linked(label: str, ids: Sequence[str], opened: OpenedPaper) -> Markup:
    lines: list[str] = []
    for one in ids[:_LINKED]:
        lines.append(joined([plain(opened.titles.get(one, ""), 160), quiet(" ", plain(one, 100))]))
    if (rest := len(ids) - _LINKED) > 0:
        lines.append(f"and {rest:,} more: library.links({plain(opened.paper.id, 60)!r})")
    return _part(f"{label} ({len(ids):,} in the library)", listed(lines, _LINKED + 1))


# A library in a notebook: its contents, and the papers still to be indexed.

_VIEWS = 60
_NUMBERS = (3, 4)


def forms_of_library(library: Library) -> Forms:
    """The output of ``aspectra status``, in its forms."""
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


# Progress of long steps in a notebook, and on standard error elsewhere.

_EVERY = 0.2  # seconds between two updates
_SOON = 0.5  # seconds before anything is shown


class Progress:
    """A callback ``(step, done, total)`` for ``progress=`` of ``Library.add`` and ``Library.index``.

    In a notebook one line is updated in place, and nothing is left of it when its cell has run; it needs no
    widgets. Elsewhere a terminal shows a bar, and other streams get a line now and then. As a context
    manager it ends with the block.

    >>> with Progress() as shown:
    ...     _ = library.index(encoders=[], progress=shown)
    """

    def __init__(self) -> None:
        self._cell = _running_cell()
        self._plain = ProgressShown(wanted=True)
        self._line: Any = None
        self._step = ""
        self._began = self._drawn = monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._cell is None:
            self._plain(step, done, total)
            return
        now = monotonic()
        if now - self._began < _SOON or (now - self._drawn < _EVERY and step == self._step):
            return
        self._step, self._drawn = step, now
        self._draw(_line(step, done, total))

    def _draw(self, line: Markup) -> None:
        if self._line is not None:
            self._line.update(_Line(line))
        elif line:
            from IPython.display import display

            self._cell.events.register("post_run_cell", self._ended)
            self._line = display(_Line(line), display_id=True)  # type: ignore[no-untyped-call]

    def _ended(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take away what is shown; the next call brings it back."""
        self._plain.clear()
        if self._line is not None:
            self._draw(Markup())
            self._line = None
            self._cell.events.unregister("post_run_cell", self._ended)
        self._step, self._began = "", monotonic()


class _Line:
    """One line that takes the place of the one before."""

    def __init__(self, html: Markup) -> None:
        self._html = html

    def __repr__(self) -> str:
        return ""

    def _repr_html_(self) -> str:
        return self._html


def _line(step: str, done: int, total: int) -> Markup:
    said = f"{done:,}" + (f" of {total:,}" if total else "")
    ends = {"max": str(total), "value": str(min(done, total)), "aria-label": step}
    shown = element("progress", **ends) if total else Markup()
    return element("p", plain(step, 80), " ", shown, " ", quiet(said), role="status")


def _running_cell() -> Any:
    """The IPython that runs in a kernel, or None elsewhere; it is never imported for this."""
    running = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return running if running is not None and hasattr(running, "kernel") else None
