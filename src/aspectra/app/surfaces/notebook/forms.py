"""The forms of a value in a notebook, by media type: text, HTML, and the document that a program reads."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any

from aspectra.app.surfaces.notebook.elements import MOST_BYTES, Markup, element, plain, size_of
from aspectra.app.terminal.screen import safe

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
