"""CSL-JSON, as Zotero, Pandoc and Crossref give it: an array, ``{"items": [...]}``, or one item a line.

The whole item stays in ``metadata["csl"]``. What Zotero itself does not put into CSL-JSON (collections,
rich notes, attachments) cannot be read from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from aspectra.papers.ids import distinct_ids
from aspectra.papers.paper import Paper
from aspectra.papers.sources.json.csl_record import item_paper
from aspectra.papers.sources.json.jsonl import head_keys, read_json
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark

__all__ = ["CslJson"]

_TELLING = frozenset(("container-title", "issued", "citation-key", "event-title", "container-title-short"))
_INSIDE = re.compile(rb'"(?:container-title|issued|date-parts)"\s*:')


class CslJson:
    """CSL-JSON items."""

    name = "csl-json"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.9 for records with a type and a variable that only CSL has."""
        keys = head_keys(head)
        if "type" in keys and keys & _TELLING:
            return 0.9
        if "type" in keys and keys & {"DOI", "URL", "author"} and "title" in keys and "authors" not in keys:
            return 0.7
        return 0.8 if keys & {"items", "message"} and _INSIDE.search(head) else 0.0

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order.

        Raises:
            BadInput: the file is empty or holds no JSON object.
        """
        yield from distinct_ids(
            read_json(
                path,
                lambda record, place: item_paper(record, place, options),
                "item",
                ("CSL-JSON item", "no element is a JSON object"),
            )
        )


SOURCES.register("csl-json")(CslJson())
