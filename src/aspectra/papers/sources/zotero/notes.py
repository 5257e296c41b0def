"""Notes and annotations of Zotero items as plain text.

A note is HTML. An annotation is an item of its own whose parent is an attachment: the text that was marked, a
comment, a colour, and the label of its page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Literal

from aspectra.papers.text.cleaning import clean, one_line

_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr "
    "li main ol p pre section table td th tr ul".split()
)
_UNSEEN = frozenset(("script", "style", "head", "title", "template"))


@dataclass(frozen=True, slots=True)
class ItemNote:
    """One note or annotation.

    Attributes:
        key: Zotero's key of it.
        kind: ``note`` or ``annotation``.
        text: the person's own words: the note, or the comment on a passage; may be "".
        quote: the passage that was marked, or "".
        page: label of its page as printed, or "".
        colour: ``#rrggbb``, or "".
    """

    key: str
    kind: Literal["note", "annotation"]
    text: str = ""
    quote: str = ""
    page: str = ""
    colour: str = ""


class _Text(HTMLParser):
    """Collects the text of HTML; a block begins a line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._hidden += 1
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def html_text(html: str) -> str:
    r"""The text of a note's HTML, a line for each block.

    >>> html_text("<h1>Plan</h1><p>read <b>this</b> &amp; that</p><ul><li>one</li></ul>")
    'Plan\nread this & that\none'
    """
    parser = _Text()
    parser.feed(clean(html))
    parser.close()
    lines = (one_line(line) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)


def note_html(paragraphs: list[tuple[str, str]]) -> str:
    """HTML of a note that Zotero shows, out of (element, text) pairs; the element is h1, p or blockquote."""
    from html import escape

    shown = []
    for element, text in paragraphs:
        inner = (
            f"<p>{escape(text, quote=False)}</p>" if element == "blockquote" else escape(text, quote=False)
        )
        shown.append(f"<{element}>{inner}</{element}>")
    return "\n".join(shown)


def read_note(item: Mapping[str, Any]) -> ItemNote | None:
    """The note or annotation of an item in the API's JSON; None where it holds no words, or is neither."""
    kind, key = item.get("itemType"), str(item.get("key", ""))
    if kind == "note":
        text = html_text(str(item.get("note") or ""))
        return ItemNote(key, "note", text) if text else None
    if kind != "annotation":
        return None
    text, quote = clean(item.get("annotationComment")), one_line(item.get("annotationText"))
    if not text and not quote:
        return None  # a drawing, or a picture without a comment
    page, colour = one_line(item.get("annotationPageLabel")), one_line(item.get("annotationColor"))
    return ItemNote(key, "annotation", text, quote, page, colour)
