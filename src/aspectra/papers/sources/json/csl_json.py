"""CSL-JSON, as Zotero, Pandoc and Crossref give it: an array, ``{"items": [...]}``, or one item a line.

The whole item stays in ``metadata["csl"]``. What Zotero itself does not put into CSL-JSON (collections,
rich notes, attachments) cannot be read from it.
"""

from __future__ import annotations

import re

from aspectra.papers.sources.json.csl_record import item_paper
from aspectra.papers.sources.json.records import JsonFormat
from aspectra.papers.sources.protocol import SOURCES

__all__: list[str] = []

_TELLING = frozenset(("container-title", "issued", "citation-key", "event-title", "container-title-short"))
_INSIDE = re.compile(rb'"(?:container-title|issued|date-parts)"\s*:')


def _confidence(keys: frozenset[str], head: bytes) -> float:
    if "type" in keys and keys & _TELLING:
        return 0.9
    if {"type", "title"} <= keys and keys & {"DOI", "URL", "author"} and "authors" not in keys:
        return 0.7
    return 0.8 if keys & {"items", "message"} and _INSIDE.search(head) else 0.0


SOURCES.register("csl-json")(
    JsonFormat(
        "csl-json",
        "CSL-JSON, also Zotero's; `citation-key` is the id where there is one",
        _confidence,
        item_paper,
        (".json",),
    )
)
