"""Better BibTeX's JSON: ``{"config": ..., "items": [...]}``, items as Zotero has them.

Notes and attachments stay with each item in ``metadata["zotero"]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aspectra.base.values import replace
from aspectra.papers.bibliography import database_of
from aspectra.papers.paper import Paper
from aspectra.papers.sources.json.records import JsonFormat
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.zotero.mapping import CHILDREN, item_paper
from aspectra.papers.text.cleaning import one_line, storable

_HELD = ("notes", "attachments", "collections", "relations")


def _confidence(keys: frozenset[str], head: bytes) -> float:
    if "items" in keys and ("items.itemType" in keys or (b'"itemType"' in head and b'"creators"' in head)):
        return 0.97
    if "items" in keys and any(key.startswith("config.") for key in keys):
        return 0.97 if b"Better" in head[:4000] else 0.0
    return 0.9 if {"itemType", "creators"} <= keys else 0.0


def _paper(item: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    kind = one_line(item.get("itemType"))
    if kind in CHILDREN:
        yield Remark(place, f"an item of Zotero that is a {kind}, no paper")
        return
    if "itemType" not in item:
        yield Remark(place, "no item of Zotero: it has no itemType")
        return
    extra = item.get("extra")
    if isinstance(extra, list):  # its lines, one by one
        item = {**item, "extra": "\n".join(line for line in extra if isinstance(line, str))}
    held = {name: storable(item[name]) for name in _HELD if item.get(name)}
    for made in item_paper(item, place, options, zotero=held):
        if isinstance(made, Paper):
            database = database_of([one_line(item.get("libraryCatalog"))]) or "Zotero"
            made = replace(made, metadata={"database": database, **made.metadata})  # noqa: PLW2901
        yield made


SOURCES.register("better-bibtex")(
    JsonFormat(
        "better-bibtex",
        "Better BibTeX's JSON of Zotero: items with creators, tags, notes and attachments",
        _confidence,
        _paper,
        (".json",),
    )
)
