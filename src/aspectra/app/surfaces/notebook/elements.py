"""HTML that is escaped by construction, and small: elements, shortened texts, rows until the room is used up.

Colours are inherited, so that a notebook's own theme decides; where a background is set, so is its colour.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate, takewhile
from typing import Any

from aspectra.app.terminal.screen import safe

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
    """Parts one after the other, those that are no markup escaped."""
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
    """What matters less, in small type."""
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
    """How a value is shown.

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
