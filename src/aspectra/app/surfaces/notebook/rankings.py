"""A ranking and a plan in a notebook, with the parts of each hit's score."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any

from aspectra.app.output.criteria import criteria_of, criteria_table, score_shares
from aspectra.app.output.rankings import by_line
from aspectra.app.terminal.screen import count, safe, schema_of
from aspectra.lab.reports.tables import Table, render
from aspectra.search.planning.aspects import NOT_APPLIED

if TYPE_CHECKING:
    from aspectra.app.output.criteria import Cell, Criterion
    from aspectra.lab.figures.drawing import Drawing
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Hit, Ranking


# HTML that is escaped by construction, and small: elements, shortened texts, rows until the room is used up.
#
# Colours are inherited, so that a notebook's own theme decides; where a background is set, so is its colour.

MOST_BYTES = 100_000  # of one form of a value
MARKED = "background-color:#fff0b3;color:#1c1c1c"
_LONGEST = 4000  # characters of one text
_CELL = "vertical-align:top;padding:.3em .6em;border-bottom:1px solid rgba(128,128,128,.5);white-space:normal"


class Markup(str):
    """Text that is escaped already; any other text is escaped where it becomes part of an element."""

    __slots__ = ()


def size_of(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "replace"))


def plain(text: object, most: int = 300) -> str:
    r"""A text on one line, shortened, without characters that control a display or turn its direction.

    >>> plain("a \x1b[31mred\x1b[0m\n title", 9)
    'a red ti…'
    """
    # Cut first: no one waits for the cleaning of megabytes that are not shown.
    line = safe(str(text)[: 4 * most], one_line=True)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _escaped(part: str) -> str:
    return part if isinstance(part, Markup) else escape(safe(part[:_LONGEST]))


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Join parts; those that are not markup are escaped."""
    return Markup(escape(between).join(map(_escaped, parts)))


def element(name: str, *parts: str, **attributes: str) -> Markup:
    """An element; attributes that are "" are left out.

    >>> element("b", "a < b", title='"x"')
    '<b title="&quot;x&quot;">a &lt; b</b>'
    """
    given = "".join(f' {key}="{escape(plain(value))}"' for key, value in attributes.items() if value)
    return Markup(f"<{name}{given}>{joined(parts)}</{name}>")


def lines(items: Iterable[str]) -> Markup:
    """Items below each other."""
    return joined(element("div", item) for item in items)


def quiet(*parts: str) -> Markup:
    """Secondary text, in small type."""
    return element("small", *parts)


def quoted(text: str, most: int = 400) -> Markup:
    """A quote of a paper, marked."""
    return element("mark", plain(text, most), style=MARKED, dir="auto")


def bar(share: float) -> Markup:
    """A bar of up to 4 em beside a number that says the same, so that screen readers skip it."""
    width = f"{4 * max(0.0, min(1.0, share)):.2f}em"
    style = f"display:inline-block;height:.5em;width:{width};background-color:currentColor;opacity:.7"
    return element("span", style=style, **{"aria-hidden": "true"})


def listed(items: Iterable[str], most: int = 20, more: str = "more") -> Markup:
    """A list of the first items, and how many there are besides; "" where there is none."""
    held = list(items)
    shown = [element("li", item) for item in held[:most]]
    if (rest := len(held) - most) > 0:
        shown.append(element("li", f"and {rest:,} {more}"))
    return element("ul", *shown, style="margin:.2em 0 .6em;padding-left:1.6em") if shown else Markup()


def row(*cells: str, named_by: int = 0, numbers: Collection[int] = ()) -> Markup:
    """A row of a table.

    Args:
        cells: its texts.
        named_by: number of the cell that says what the row is about.
        numbers: of the cells that are aligned to the right.
    """
    return element(
        "tr",
        *(
            element("th", one, scope="row", style=f"{_style(n in numbers)};font-weight:normal")
            if n == named_by
            else element("td", one, style=_style(n in numbers))
            for n, one in enumerate(cells)
        ),
    )


def table(caption: str, head: Iterable[str], rows: Iterable[Markup], numbers: Collection[int] = ()) -> Markup:
    """A table of rows from :func:`row`; it scrolls by itself where it is too wide.

    Args:
        caption: what it shows.
        head: names of the columns; none leaves the head out.
        rows: the rest.
        numbers: of the columns that are aligned to the right.
    """
    cells = [element("th", one, scope="col", style=_style(n in numbers)) for n, one in enumerate(head)]
    top = element("thead", element("tr", *cells)) if cells else Markup()
    title = element("caption", caption, style="text-align:left;caption-side:top;color:inherit;padding:.3em 0")
    whole = element("table", title, top, element("tbody", *rows), style="border-collapse:collapse;margin:0")
    reached = {"tabindex": "0", "role": "group", "aria-label": caption}  # what scrolls can be reached by keys
    return element("div", whole, style="overflow-x:auto", **reached)


def _style(number: bool) -> str:
    return f"text-align:{'right' if number else 'left'};{_CELL}"


def picture(png: bytes, about: str, width: float) -> Markup:
    """An image that is part of the page.

    Args:
        png: its file.
        about: its text alternative.
        width: in inches of 96 dots.
    """
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    style = f"width:{96 * width:.0f}px;max-width:100%;height:auto"
    return Markup(f'<img alt="{escape(plain(about, 2000))}" style="{style}" src="{source}">')


def fitting(parts: Iterable[Markup], room: int) -> list[Markup]:
    """The first parts that have together at most so many bytes; the rest are not even made."""
    out = []
    for part in parts:
        room -= size_of(part)
        if room < 0:
            break
        out.append(part)
    return out


# MathJax, which notebooks run on all HTML, would take what stands between two dollar signs.
NO_MATH = '<div class="tex2jax_ignore mathjax_ignore">'

_LONGEST_TEXT = 20_000  # characters of the plain form
_NOTE = 500  # bytes for the sentence that some are not there


@dataclass(frozen=True)
class Forms:
    """The forms in which a value is shown.

    Attributes:
        text: on a terminal.
        html: in a browser.
        name: of the document, as in ``search``, or "".
        document: what a program reads, or None.
        png: a picture of it, or b"".
    """

    text: str
    html: Markup
    name: str = ""
    document: Mapping[str, Any] | None = None
    png: bytes = b""

    def to_dict(self) -> dict[str, Any]:
        """By media type; no form but the picture is larger than :data:`MOST_BYTES`.

        The document has a media type of its own, as in ``application/vnd.aspectra.search+json``, since
        JupyterLab shows ``application/json`` instead of HTML, as a tree.
        """
        text = safe(self.text)
        out: dict[str, Any] = {"text/plain": text[:_LONGEST_TEXT], "text/html": str(self.html)}
        if size_of(self.html) > MOST_BYTES - len(NO_MATH) - len("</div>"):
            out["text/html"] = str(element("pre", plain(text, 2000)))
        out["text/html"] = f"{NO_MATH}{out['text/html']}</div>"
        if self.document is not None and _json_size(self.document) <= MOST_BYTES:
            out[f"application/vnd.aspectra.{self.name}+json"] = dict(self.document)
        if self.png:
            out["image/png"] = self.png
        return out


def _json_size(document: object) -> float:
    """Bytes; infinite where the document holds half a character, which cannot be sent."""
    try:
        return len(json.dumps(document, ensure_ascii=False).encode("utf-8"))
    except UnicodeEncodeError:
        return math.inf


def shortened(document: Mapping[str, Any], rows: str, note: Callable[[int, int], str]) -> Mapping[str, Any]:
    """A document with as many of its rows as fit; ``warnings`` then says so.

    Args:
        document: whole.
        rows: name of the field whose last items may be left out.
        note: makes the sentence, from the number of rows that are there and of all.
    """
    held: Sequence[Any] = document[rows]
    room = MOST_BYTES - _json_size({**document, rows: []})
    ends = takewhile(lambda end: end <= room, accumulate(_json_size(one) + 2 for one in held))  # and a comma
    sizes = list(ends)
    if len(sizes) == len(held):
        return document
    low = sum(1 for end in sizes if end <= room - _NOTE)
    warnings = [*document.get("warnings", ()), note(low, len(held))]
    return {**document, rows: held[:low], "warnings": warnings}


_CRITERIA = 6  # columns; more do not fit beside the papers
_QUOTES = 3  # of a paper
_NOTES = 12
_LINES = 200  # of a plan
_SPACE = "margin:.3em 0"


def forms_of_ranking(ranking: Ranking) -> Forms:
    """Its forms; papers that have no room are counted below the others."""
    columns = criteria_of(ranking)[:_CRITERIA]
    head = joined([_heading(ranking), _requests(ranking), _warnings(ranking)])
    below = _steps(ranking)
    names = ("#", "paper", *map(_column, columns), "score")
    numbers = (0, len(names) - 1)
    graded = zip(ranking, criteria_table(ranking), strict=True)
    caption = "Papers, best first" + (": each criterion with its grade" if columns else "")
    empty = table(caption, names, [], numbers)
    room = MOST_BYTES - 500 - size_of(head) - size_of(below) - size_of(empty)
    rows = fitting((_row(hit, columns, cells, numbers) for hit, cells in graded), room)
    shown = table(caption, names, rows, numbers) if rows else Markup()
    more = (
        element("p", _more(len(rows), len(ranking)), style=_SPACE) if len(rows) < len(ranking) else Markup()
    )
    document = {"schema": schema_of("search"), **ranking.to_dict()}
    return Forms(
        _text(ranking),
        element("div", head, shown, more, below),
        "search",
        shortened(document, "hits", _more),
    )


def _more(shown: int, of: int) -> str:
    return f"{shown:,} of {count(of, 'paper')} are shown here; all of them: ranking.hits"


def _text(ranking: Ranking) -> str:
    told = [f"{name:<14}{text}" for name, text in ranking.requests.rows]
    told += [
        f"{hit.rank:>4}  {hit.score:7.3f}  {hit.title or hit.id} [{hit.id}]{' RETRACTED' * hit.retracted}"
        for hit in ranking
    ]
    return "\n".join([*told, *ranking.warnings, f"{count(len(ranking), 'paper')}, plan {ranking.plan.hash}"])


def _heading(ranking: Ranking) -> Markup:
    found = count(len(ranking), "paper") if len(ranking) else "no paper"
    facts = [f"{ranking.seconds:.2f} s", f"plan {ranking.plan.hash}"]
    facts += ["simulated: no language model answered"] if ranking.simulated else []
    return element("p", element("b", found), " · ", " · ".join(facts), style=_SPACE)


def _requests(ranking: Ranking) -> Markup:
    """Table of requests applied, requests not applied and searched words, as in the other surfaces."""
    groups: dict[str, list[str]] = {}
    for name, item in ranking.requests.rows:
        groups.setdefault(name or next(reversed(groups)), []).append(plain(item, 200))
    terms = [plain(one, 200) for one in ranking.plan.search.terms[:_NOTES]]
    groups |= {"terms": terms} if terms else {}
    rows = [row(name, lines(items[:_NOTES] + _others(items))) for name, items in groups.items()]
    return table("What was read from the question", (), rows) if rows else Markup()


def _others(items: Sequence[str]) -> list[str]:
    rest = len(items) - _NOTES
    return [f"and {rest:,} more"] if rest > 0 else []


def _warnings(ranking: Ranking) -> Markup:
    in_rows = bool(ranking.requests.rows)
    said = [w for w in ranking.warnings if not (in_rows and w.startswith(NOT_APPLIED))]
    weak = ranking.fit is not None and ranking.fit.weak
    if weak and not any(warning.startswith("weak match") for warning in said):
        said.insert(0, "weak match: the library may hold nothing on this")
    if not said:
        return Markup()
    items = [joined([element("b", "Note: "), plain(warning, 400)]) for warning in said]
    return element("div", listed(items, _NOTES), role="note")


def _column(one: Criterion) -> Markup:
    said = [quiet(f"“{plain(one.words, 60)}”")] if one.words else []
    return lines([plain(one.name, 60), *said])


def _row(hit: Hit, columns: Sequence[Criterion], cells: Sequence[Cell], numbers: Sequence[int]) -> Markup:
    paper = hit.paper
    title = plain(hit.title, 200) or plain(paper.abstract, 160) or "(no title)"
    where = [plain(by_line(paper), 160), str(paper.year or ""), plain(paper.venue, 80), plain(hit.id, 100)]
    told = [element("b", title, dir="auto"), quiet(" · ".join(part for part in where if part))]
    if hit.versions:
        told.append(quiet(plain("also as " + ", ".join(hit.versions), 160)))
    for quote in hit.evidence[:_QUOTES]:
        about = plain(quote.aspect or quote.heading, 60)
        told.append(joined([quiet(f"{about}: ") if about else "", quoted(quote.quote)]))
        if quote.seed_quote:
            of = f"as in {plain(quote.seed, 60)}: “{plain(quote.seed_quote, 240)}”"
            told.append(quiet(of))
    if (rest := len(hit.evidence) - _QUOTES) > 0:
        told.append(quiet(f"and {count(rest, 'more quote')}"))
    held = {quote.quote for quote in hit.evidence}
    told += [
        joined([quiet(f"{plain(one.name, 60)}: "), quoted(cell.quote, 200)])
        for one, cell in zip(columns, cells, strict=False)
        if cell.quote and cell.quote not in held
    ]
    grades = [_cell(cell) for cell in cells[: len(columns)]]
    return row(str(hit.rank), lines(told), *grades, f"{hit.score:.3f}", named_by=1, numbers=numbers)


def _cell(cell: Cell) -> Markup:
    """The number, the same as a bar, the verdict in words, and what in the record decided."""
    drawn = [bar(cell.grade)] if cell.grade is not None else []
    verdict = "" if cell.verdict == "unknown" and cell.reason else cell.verdict
    said = [quiet(part) for part in (verdict, plain(cell.reason, 80)) if part]
    return lines([cell.value, *drawn, *said])


def _steps(ranking: Ranking) -> Markup:
    """Table of the stages with their notes and times; empty without stages."""
    rows = []
    for step in ranking.steps[:_NOTES]:
        facts = [f"{step.tally.questions:,} questions" if step.tally.questions else "", *step.notes[:3]]
        said = "; ".join(plain(fact, 200) for fact in facts if fact)
        rows.append(row(plain(step.step, 120), said, f"{step.seconds:.2f} s", numbers=(2,)))
    return table("Stages", ("stage", "what it did", "took"), rows, (2,)) if rows else Markup()


def forms_of_plan(plan: Plan) -> Forms:
    """Its forms: the lines that ``describe`` gives, and how it is edited."""
    first, *steps = plan.describe().split("\n")
    shown = [_line(line) for line in steps[:_LINES]]
    rest = len(steps) - len(shown)
    if rest > 0:
        shown.append(element("li", f"and {count(rest, 'more line')}: plan.describe()"))
    return Forms(
        plan.describe(),
        element(
            "div",
            element("p", element("b", plain(first, 200)), style=_SPACE),
            element("ul", *shown, style="margin:0;padding-left:.5em"),
            element("p", quiet("To edit it: plan.to_toml(). To run it: library.run(plan)."), style=_SPACE),
        ),
        "plan",
        plan.to_dict(),
    )


def _line(line: str) -> Markup:
    depth = (len(line) - len(line.lstrip())) / 2
    return element("li", plain(line, 300), style=f"list-style:none;margin-left:{depth:.1f}em")


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


_DOTS = (144, 96, 60)  # an inch: the sharpest that is small enough
_MOST_PNG = 50_000  # bytes


def forms_of_drawing(drawing: Drawing) -> Forms:
    """A drawing as a picture with a text alternative, and its numbers as a table that opens."""
    png = next((small for dots in _DOTS if len(small := _png(drawing, dots)) <= _MOST_PNG), b"")
    numbers = drawing.table
    right = [n for n, is_number in enumerate(numbers.numeric) if is_number]
    columns = range(len(numbers.columns))
    every = (
        row(*(plain(numbers.text(n, column), 100) for column in columns), named_by=-1, numbers=right)
        for n in range(len(numbers.rows))
    )
    shown = picture(png, drawing.about, float(drawing.figure.get_figwidth())) if png else Markup()
    room = MOST_BYTES - 1500 - size_of(shown)
    rows = fitting(every, room)
    rest = len(numbers.rows) - len(rows)
    more = element("p", f"and {count(rest, 'more row')}") if rest else Markup()
    head = [plain(column, 100) for column in numbers.columns]
    opened = element(
        "details", element("summary", "The numbers"), table(numbers.title, head, rows, right), more
    )
    html = element("figure", shown, opened, style="margin:0")
    return Forms(f"{drawing.about}\n\n{render(numbers, 'markdown')}", html, png=png)


def _png(drawing: Drawing, dots: int) -> bytes:
    """The drawing as PNG in at most 64 colours: a third of the bytes, with no visible difference."""
    from PIL import Image  # matplotlib needs it

    drawn, small = BytesIO(), BytesIO()
    drawing.figure.savefig(drawn, format="png", dpi=dots, facecolor="white")
    Image.open(drawn).convert("RGB").quantize(64).save(small, format="PNG", optimize=True)
    return small.getvalue()
