"""One HTML page without scripts and without requests: text is escaped, figures and styles are in it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from aspectra.lab.figures.drawing import Drawing, printable, svg_text
from aspectra.lab.reports.tables import Table

_LINKED = re.compile(r'((?:\bid|xlink:href)=")(#?)|(url\(#)')
_MOST_ROWS = 400  # of a figure's numbers on the page
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        title: its heading.
        parts: pieces of HTML, escaped already.
    """

    title: str
    parts: tuple[str, ...]


def escaped(text: object) -> str:
    """Text for a page: nothing in it can be a tag, an attribute or a control character.

    >>> escaped('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(printable(str(text)), quote=True)


def table_html(table: Table, *, rows: int = 0) -> str:
    """A table with its title as caption and its notes below.

    Args:
        table: what is shown.
        rows: show only so many, and say so; 0 shows all.
    """
    numeric = table.numeric
    shown = len(table.rows) if not rows else min(rows, len(table.rows))
    head = "".join(
        f'<th scope="col" class="{"n" if n else "t"}">{escaped(c)}</th>'
        for c, n in zip(table.columns, numeric, strict=True)
    )
    body = []
    for i in range(shown):
        cells = []
        for j, number in enumerate(numeric):
            text = escaped(table.text(i, j) + table.mark(i, j))
            text = f"<strong>{text}</strong>" if (i, j) in table.best and text else text
            if j == 0 and not number:
                cells.append(f'<th scope="row">{text}</th>')
            else:
                cells.append(f'<td class="{"n" if number else "t"}">{text}</td>')
        body.append(f"<tr>{''.join(cells)}</tr>")
    notes = list(table.notes)
    if shown < len(table.rows):
        notes.append(f"the first {shown:,} of {len(table.rows):,} rows; all of them are in the figure's CSV")
    below = notes_html(notes)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escaped(table.title)}"><table>'
        f"<caption>{escaped(table.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>{below}"
    )


def notes_html(notes: Sequence[str]) -> str:
    """Sentences below something, as a list; nothing for none."""
    listed = "".join(f"<li>{escaped(note)}</li>" for note in notes)
    return f'<ul class="notes">{listed}</ul>' if listed else ""


def figure_html(drawing: Drawing, number: int) -> str:
    """A figure inside the page, with its text alternative and its numbers as a table.

    Args:
        drawing: the figure.
        number: of the figure on its page; keeps the names inside it apart from those of others.
    """
    text = svg_text(drawing)
    text = text[text.index("<svg") :]
    before, _, rest = text.partition("<metadata>")  # of names alone, which need no place on the page
    text = before + rest.partition("</metadata>")[2]
    prefix = f"f{number}-"
    text = _LINKED.sub(lambda m: f"{m[3]}{prefix}" if m[3] else f"{m[1]}{m[2]}{prefix}", text)
    about = escaped(drawing.about)
    text = text.replace("<svg ", f'<svg role="img" aria-label="{about}" ', 1)
    return (
        f"<figure>{text}<figcaption>Figure {number}. {escaped(drawing.title)}</figcaption></figure>"
        f"<details><summary>Numbers of figure {number}</summary>"
        f"{table_html(drawing.table, rows=_MOST_ROWS)}</details>"
    )


def page_html(title: str, lead: str, sections: Sequence[Section], foot: str) -> str:
    """The whole page.

    Args:
        title: its heading, plain text.
        lead: below the heading, HTML.
        sections: in order.
        foot: last line, plain text.
    """
    style = resources.files(__package__).joinpath("data/report.css").read_text("utf-8")
    named = [(f"part-{n}", section) for n, section in enumerate(sections, 1)]
    links = "".join(f'<li><a href="#{name}">{escaped(s.title)}</a></li>' for name, s in named)
    parts = "\n".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escaped(s.title)}</h2>\n'
        + "\n".join(s.parts)
        + "</section>"
        for name, s in named
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style></head>\n<body>\n"
        f"<header><h1>{escaped(title)}</h1>{lead}"
        f'<nav aria-label="Parts of this page"><ul>{links}</ul></nav></header>\n'
        f"<main>\n{parts}\n</main>\n"
        f'<footer class="small"><p>{escaped(foot)}</p></footer>\n</body></html>\n'
    )
