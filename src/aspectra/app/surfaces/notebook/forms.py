"""Forms in which notebooks show rankings, plans, papers and libraries; parts of scores; progress."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from time import monotonic
from typing import Any

from aspectra.app.library import Library
from aspectra.app.output.criteria import (
    Criterion,
    CriterionResult,
    criteria_of,
    criteria_table,
    mark_rows,
    score_shares,
)
from aspectra.app.output.documents import VIEW_COLUMNS, library_rows, record_rows, view_rows
from aspectra.app.output.papers import LINKS, paper_document
from aspectra.app.output.rankings import card_of, short
from aspectra.app.terminal.screen import ProgressShown, count, safe, schema_of
from aspectra.base.display import Displayed
from aspectra.base.errors import AspectraError
from aspectra.base.values import replace
from aspectra.lab.figures.drawing import Drawing
from aspectra.lab.reports.tables import Table, render
from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import abstract_sentences, lead_field
from aspectra.search.plan import Plan
from aspectra.search.planning.aspects import NOT_APPLIED
from aspectra.search.ranking import Hit, Ranking

# HTML that is escaped by construction. Colours are inherited, so that a notebook's own theme decides; where a
# background is set, so is its colour.

MARKED = "background-color:#fff0b3;color:#1c1c1c"
_CELL = "vertical-align:top;padding:.3em .6em;border-bottom:1px solid rgba(128,128,128,.5);white-space:normal"
_SPACE = "margin:.3em 0"
# MathJax, which notebooks run on all HTML, would take what is between two dollar signs.
NO_MATH = '<div class="tex2jax_ignore mathjax_ignore">'


class Markup(str):
    """Text that is escaped already; any other text is escaped where it becomes part of an element."""

    __slots__ = ()


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Join parts; those that are not markup are escaped, without characters that control a display."""
    return Markup(between.join(part if isinstance(part, Markup) else escape(safe(part)) for part in parts))


def element(name: str, *parts: str, **attributes: str) -> Markup:
    """An element; attributes that are "" are left out.

    >>> element("b", "a < b", title='"x"')
    '<b title="&quot;x&quot;">a &lt; b</b>'
    """
    given = "".join(f' {key}="{joined([value])}"' for key, value in attributes.items() if value)
    return Markup(f"<{name}{given}>{joined(parts)}</{name}>")


def lines(items: Iterable[str]) -> Markup:
    """Items below each other."""
    return joined(element("div", item) for item in items)


def quiet(*parts: str) -> Markup:
    """Secondary text, in small type."""
    return element("small", *parts)


def quoted(text: str) -> Markup:
    """A quote of a paper, marked."""
    return element("mark", short(text, 700), style=MARKED, dir="auto") if text else Markup()


def listed(items: Sequence[str], most: int = 20) -> Markup:
    """A list of the first items, and how many there are besides; "" where there is none."""
    shown = [element("li", item) for item in items[:most]]
    if (rest := len(items) - most) > 0:
        shown.append(element("li", f"and {rest:,} more"))
    return element("ul", *shown, style="margin:.2em 0 .6em;padding-left:1.6em") if shown else Markup()


def table(
    caption: str,
    head: Iterable[str],
    rows: Iterable[Sequence[str]],
    numbers: Collection[int] = (),
    named_by: int = 0,
) -> Markup:
    """A table; it scrolls by itself where it is too wide.

    Args:
        caption: what it shows.
        head: names of the columns; none leaves the head out.
        rows: the cells of each row.
        numbers: of the columns that are aligned to the right.
        named_by: number of the column that says what a row is about.
    """

    def cell(n: int, text: str, scope: str) -> Markup:
        weight = ";font-weight:normal" if scope == "row" else ""
        style = f"text-align:{'right' if n in numbers else 'left'};{_CELL}{weight}"
        return element("th" if scope else "td", text, scope=scope, style=style)

    cells = [cell(n, one, "col") for n, one in enumerate(head)]
    top = element("thead", element("tr", *cells)) if cells else Markup()
    body = [
        element("tr", *(cell(n, one, "row" if n == named_by else "") for n, one in enumerate(row)))
        for row in rows
    ]
    title = element("caption", caption, style="text-align:left;caption-side:top;color:inherit;padding:.3em 0")
    whole = element("table", title, top, element("tbody", *body), style="border-collapse:collapse;margin:0")
    reached = {"tabindex": "0", "role": "group", "aria-label": caption}  # what scrolls can be reached by keys
    return element("div", whole, style="overflow-x:auto", **reached)


_LONGEST_TEXT = 20_000  # characters of the plain form
_LARGEST_DOCUMENT = 1_000_000  # bytes; a notebook would save the full text of each paper that it shows


def _forms(
    text: str, html: Markup, name: str = "", document: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The forms of a value by media type.

    The document has a media type of its own, as in ``application/vnd.aspectra.search+json``, since JupyterLab
    shows ``application/json`` instead of HTML, as a tree.

    Args:
        text: on a terminal.
        html: in a browser.
        name: of the document, as in ``search``, or "".
        document: what a program reads; left out where it is too large or cannot be sent.
    """
    out = {"text/plain": safe(text)[:_LONGEST_TEXT], "text/html": f"{NO_MATH}{html}</div>"}
    try:
        size = len(json.dumps(document, ensure_ascii=False).encode())
    except UnicodeEncodeError:  # half a character
        return out
    if document is None or size > _LARGEST_DOCUMENT:
        return out
    return {**out, f"application/vnd.aspectra.{name}+json": dict(document)}


_HITS = 100
_CRITERIA = 6  # columns; more do not fit beside the papers
_QUOTES = 3  # of a paper
_NOTES = 12


def _forms_of_ranking(ranking: Ranking) -> dict[str, Any]:
    columns = criteria_of(ranking)[:_CRITERIA]
    graded = zip(ranking.hits[:_HITS], criteria_table(ranking), strict=False)
    rows = [
        (
            str(hit.rank),
            str(hit.paper.year or "–"),
            _card(hit, columns, cells),
            *map(_cell, cells[:_CRITERIA]),
        )
        for hit, cells in graded
    ]
    caption = "Papers, best first" + (": each criterion with its grade" if columns else "")
    names = ("#", "year", "paper", *map(_column, columns))
    found = count(len(ranking), "paper") if len(ranking) else "no paper"
    facts = [f"{ranking.seconds:.2f} s", f"plan {ranking.plan.hash}"]
    facts += ["simulated: no language model answered"] if ranking.simulated else []
    more = f"{_HITS} of {found} are shown here; all of them: ranking.hits"
    html = element(
        "div",
        element("p", element("b", found), " · ", " · ".join(facts), style=_SPACE),
        _requests(ranking),
        _warnings(ranking),
        table(caption, names, rows, numbers=(0, 1), named_by=2) if rows else "",
        element("p", more, style=_SPACE) if len(ranking) > _HITS else "",
        _steps(ranking),
    )
    told = [f"{name:<14}{text}" for name, text in ranking.requests.rows]
    told += [
        f"{hit.rank:>4}  {hit.score:7.3f}  {next(card_of(hit))} [{hit.id}]{' RETRACTED' * hit.retracted}"
        for hit in ranking
    ]
    text = "\n".join([*told, *ranking.warnings, f"{count(len(ranking), 'paper')}, plan {ranking.plan.hash}"])
    return _forms(text, html, "search", {"schema": schema_of("search"), **ranking.to_dict()})


def _requests(ranking: Ranking) -> Markup:
    """Table of requests applied, requests not applied and searched words, as in the other surfaces."""
    groups: dict[str, list[str]] = {}
    for name, item in (*ranking.requests.rows, *(("terms", one) for one in ranking.plan.search.terms)):
        groups.setdefault(name or next(reversed(groups)), []).append(short(item, 200))
    rows = [(name, listed(items, _NOTES)) for name, items in groups.items()]
    return table("What was read from the question", (), rows) if rows else Markup()


def _warnings(ranking: Ranking) -> Markup:
    in_rows = bool(ranking.requests.rows)
    said = [one for one in ranking.warnings if not (in_rows and one.startswith(NOT_APPLIED))]
    items = [joined([element("b", "Note: "), short(one, 400)]) for one in said]
    return element("div", listed(items, _NOTES), role="note") if items else Markup()


def _column(one: Criterion) -> Markup:
    return lines([short(one.name, 60), *([quiet(f"“{short(one.words, 60)}”")] if one.words else [])])


def _card(hit: Hit, columns: Sequence[Criterion], cells: Sequence[CriterionResult]) -> Markup:
    """The card that terminals show too, and the sentences that decided about criteria."""
    told: list[str] = []
    for line in card_of(replace(hit, evidence=hit.evidence[:_QUOTES])):
        parts = (short(line.text, 400), quoted(line.quote), short(line.after, 100))
        said = joined(filter(None, parts), " ")
        told.append(element("b", said, dir="auto") if line.style == "bold" else quiet(said))
    if (rest := len(hit.evidence) - _QUOTES) > 0:
        told.append(quiet(f"and {count(rest, 'more quote')}"))
    held = {quote.quote for quote in hit.evidence}
    told += [
        quiet(f"{short(one.name, 60)}: ", quoted(cell.quote))
        for one, cell in zip(columns, cells, strict=False)
        if cell.quote and cell.quote not in held
    ]
    return lines(told)


def _cell(cell: CriterionResult) -> Markup:
    """The number, the verdict in words, and what in the record decided."""
    verdict = "" if cell.verdict == "unknown" and cell.reason else cell.verdict
    return lines([cell.value, *(quiet(part) for part in (verdict, short(cell.reason, 80)) if part)])


def _steps(ranking: Ranking) -> Markup:
    """Table of the stages with their notes and times; empty without stages."""
    rows = []
    for step in ranking.steps[:_NOTES]:
        facts = [f"{step.tally.questions:,} questions" if step.tally.questions else "", *step.notes[:3]]
        said = "; ".join(short(fact, 200) for fact in facts if fact)
        rows.append((short(step.step, 120), said, f"{step.seconds:.2f} s"))
    return table("Stages", ("stage", "what it did", "took"), rows, (2,)) if rows else Markup()


def score_parts(ranking: Ranking) -> Table:
    """The parts of each hit's score, as rows of rank, id, part, share of the score, and score.

    A part is a view, an aspect that is compared (all of its views together) or a condition that moves
    papers; the shares of a hit add up to its score. Where stages changed the order, they add up to the score
    of the last search before them.

    Raises:
        UsageError: the search was fused by rank, and was run without ``explain=True``.
    """
    fusion, staged = ranking.plan.search.fusion, any(hit.moves for hit in ranking)
    names = {one.partition(" ")[2]: one for one in ranking.requests.aspects}
    rows = [
        (hit.rank, hit.id, names.get(name, name), share, hit.score)
        for hit in ranking
        for name, share in score_shares(hit, fusion, whole=not staged).items()
    ]
    notes = (f"Fused by {fusion}.", *(("Stages after the search are no part.",) if staged else ()))
    return Table(
        "Parts of the scores", ("rank", "id", "part", "share", "score"), tuple(rows), notes, digits=3
    )


def _forms_of_plan(plan: Plan) -> dict[str, Any]:
    html = element(
        "div",
        element("pre", plan.describe(), style=f"white-space:pre-wrap;{_SPACE}"),
        element("p", quiet("To edit it: plan.to_toml(). To run it: library.run(plan)."), style=_SPACE),
    )
    return _forms(plan.describe(), html, "plan", plan.to_dict())


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
    linked = [one for name in LINKS for one in document["links"][name][:_LINKED]]
    titles = {one: held.title for one, held in library.store.get_many(linked, full=False).items()}
    return OpenedPaper(whole, document, titles)


def _forms_of_paper(paper: Paper) -> dict[str, Any]:
    """A paper by itself has the roles that its source brought."""
    lead = lead_field(paper)[1]
    spans = [{"text": lead[s.start : s.end], "role": s.role} for s in abstract_sentences(paper)]
    return _with_record(paper, [], spans, [], "record", paper.to_dict())


def _forms_of_opened(opened: OpenedPaper) -> dict[str, Any]:
    """A paper with what its library knows."""
    document = opened.document
    linked = [_linked(label, document["links"][name], opened) for name, label in LINKS.items()]
    marks, spans = mark_rows(document["marks"]), document["sentence_spans"]
    whole = {"schema": schema_of("paper"), **document}
    return _with_record(opened.paper, marks, spans, linked, "paper", whole)


def _with_record(
    paper: Paper,
    marks: Sequence[tuple[str, str]],
    spans: Sequence[Mapping[str, Any]],
    linked: Iterable[Markup],
    name: str,
    document: Mapping[str, Any],
) -> dict[str, Any]:
    rows = [*record_rows(paper), *marks]
    facts = [(short(label, 60), short(text, 400)) for label, text in rows[:_ROWS]]
    if (rest := len(rows) - _ROWS) > 0:
        facts.append(("and", f"{rest:,} more"))
    title = paper.title or "(no title)"
    html = element(
        "div",
        element("p", element("b", short(title, 400), dir="auto"), style=_SPACE),
        table("Record", (), facts),
        _abstract(paper, spans),
        _part(
            "Sections", listed([short(s.heading, 120) or "(no heading)" for s in paper.sections], _HEADINGS)
        ),
        *linked,
    )
    said = "\n".join(f"{label}: {text}" for label, text in rows)
    return _forms(f"{title}\n{said}\n\n{lead_field(paper)[1] or '(no abstract)'}", html, name, document)


def _part(name: str, shown: Markup) -> Markup:
    head = element("p", element("b", name), style="margin:.6em 0 .2em")
    return joined([head, shown]) if shown else Markup()


def _abstract(paper: Paper, spans: Sequence[Mapping[str, Any]]) -> Markup:
    """The sentences, each underlined in the colour of its role; a role is named where it begins."""
    if not spans:
        return element("p", "(no abstract)")
    shown, last = [], ""
    for span in spans[:_SENTENCES]:
        role = span["role"]
        colour = ROLE_COLOURS.get(role, ROLE_COLOURS["other"])
        style = f"border-bottom:3px solid {colour}" if role else ""
        shown += [quiet(element("b", short(role, 30)))] if role and role != last else []
        shown.append(element("span", short(span["text"], 1000), dir="auto", style=style))
        last = role
    if (rest := len(spans) - _SENTENCES) > 0:
        shown.append(quiet(f"and {count(rest, 'more sentence')}: paper.abstract"))
    name = "Abstract" if paper.abstract.strip() else "No abstract; the full text begins"
    return _part(name, element("p", joined(shown, " "), style="max-width:48em;line-height:1.7"))


def _linked(label: str, ids: Sequence[str], opened: OpenedPaper) -> Markup:
    shown = [joined([short(opened.titles.get(one, ""), 160), quiet(" ", short(one, 100))]) for one in ids]
    return _part(f"{label} ({len(ids):,} in the library)", listed(shown, _LINKED))


def _forms_of_library(library: Library) -> dict[str, Any]:
    """The output of ``aspectra status``."""
    facts = library.status()
    rows, views = library_rows(facts), view_rows(facts)
    html = element(
        "div",
        table("Library", (), [(label.replace("  ", "\u2003"), short(text, 300)) for label, text in rows]),
        table("Views of the index", VIEW_COLUMNS, views, (3, 4)) if views else "",
    )
    text = "\n".join(f"{label:<18}{value}" for label, value in rows)
    return _forms(text, html, "status", {"schema": schema_of("status"), **facts})


def _forms_of_drawing(drawing: Drawing) -> dict[str, Any]:
    """A picture with a text alternative, and its numbers as a table that opens."""
    drawn, numbers = BytesIO(), drawing.table
    drawing.figure.savefig(drawn, format="png", dpi=144, facecolor="white")
    png = drawn.getvalue()
    alt = joined([short(drawing.about, 2000)])
    style = f"width:{96 * drawing.figure.get_figwidth():.0f}px;max-width:100%;height:auto"
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    rows = [
        [short(numbers.text(n, column), 100) for column in range(len(numbers.columns))]
        for n in range(len(numbers.rows))
    ]
    right = [n for n, is_number in enumerate(numbers.numeric) if is_number]
    below = table(numbers.title, [short(one, 100) for one in numbers.columns], rows, right, named_by=-1)
    html = element(
        "figure",
        Markup(f'<img alt="{alt}" style="{style}" src="{source}">'),
        element("details", element("summary", "The numbers"), below),
        style="margin:0",
    )
    return {**_forms(f"{drawing.about}\n\n{render(numbers, 'markdown')}", html), "image/png": png}


_DRAWN: tuple[tuple[type, Callable[[Any], dict[str, Any]]], ...] = (
    (Ranking, _forms_of_ranking),
    (Plan, _forms_of_plan),
    (Paper, _forms_of_paper),
    (OpenedPaper, _forms_of_opened),
    (Library, _forms_of_library),
    (Drawing, _forms_of_drawing),
)


def forms_of(value: object) -> dict[str, Any]:
    """The forms of a value by media type; where it cannot be read any more, the error."""
    draw = next((draw for kind, draw in _DRAWN if isinstance(value, kind)), repr)
    try:
        found = draw(value)
    except AspectraError as error:
        found = str(error)
    return _forms(found, element("pre", found[:2000])) if isinstance(found, str) else found


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
        running = getattr(
            sys.modules.get("IPython"), "get_ipython", lambda: None
        )()  # never imported for this
        self._cell: Any = running if hasattr(running, "kernel") else None
        self._plain = ProgressShown(wanted=True)
        self._line: Any = None
        self._step = ""
        self._began = self._drawn = monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._cell is None:
            self._plain(step, done, total)
            return
        now = monotonic()
        if now - self._began < _SOON or (now - self._drawn < _EVERY and step == self._step):
            return
        self._step, self._drawn = step, now
        said = f"{done:,}" + (f" of {total:,}" if total else "")
        ends = {"max": str(total), "value": str(min(done, total)), "aria-label": step}
        bar = element("progress", **ends) if total else ""
        self._draw(element("p", short(step, 80), " ", bar, " ", quiet(said), role="status"))

    def _draw(self, line: str) -> None:
        forms = {"text/plain": "", "text/html": line}
        if self._line is not None:
            self._line.update(forms, raw=True)
        else:
            from IPython.display import display

            self._cell.events.register("post_run_cell", self._ended)
            self._line = display(forms, raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def _ended(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take away what is shown; the next call brings it back."""
        self._plain.clear()
        if self._line is not None:
            self._draw("")
            self._line = None
            self._cell.events.unregister("post_run_cell", self._ended)
        self._step, self._began = "", monotonic()
