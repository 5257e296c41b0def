"""Kinds that a paper's record states: a publication type, a track, the author's remark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from aspectra.papers.paper import Paper
from aspectra.views.lenses._data import load_data

_LONGEST = 200  # characters of a value that is a type; longer ones are texts


@cache
def _tables() -> tuple[Mapping[str, Any], dict[str, list[str]], list[tuple[str, str]], dict[str, list[str]]]:
    """(fields, type -> kinds, beginnings of types with their kind, words of remarks -> kinds)."""
    data = load_data("kind_records")
    whole: dict[str, list[str]] = {}
    begins: list[tuple[str, str]] = []
    for kind, values in data["types"].items():
        for value in values:
            if value.endswith("*"):
                begins.append((value[:-1], kind))
            else:
                whole.setdefault(value, []).append(kind)
    remarks: dict[str, list[str]] = {}
    for kind, values in data["remarks"].items():
        for value in values:
            remarks.setdefault(value, []).append(kind)
    return data["fields"], whole, begins, remarks


def recorded_kinds(paper: Paper) -> dict[str, str]:
    """Kind -> the words of the record that state it; empty for most papers.

    >>> recorded_kinds(Paper("x", metadata={"nbib": [["PT", "Journal Article"], ["PT", "Case Reports"]]}))
    {'case report': 'Case Reports'}
    """
    if not paper.metadata:
        return {}
    fields, whole, begins, remarks = _tables()
    found: dict[str, str] = {}
    for stated in _types(paper.metadata, fields):
        for part in (stated, *stated.split(";")):
            value = part.strip().casefold()
            kinds = [*whole.get(value, ()), *(kind for start, kind in begins if value.startswith(start))]
            for kind in kinds:
                found.setdefault(kind, part.strip())
    for name in fields["remarks"]:
        if isinstance(remark := paper.metadata.get(name), str):
            low = remark.casefold()
            for words, kinds in remarks.items():
                if words in low:
                    for kind in kinds:
                        found.setdefault(kind, remark[:_LONGEST].strip())
    return found


def _types(metadata: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[str]:
    """The values of fields that hold a type of publication."""
    for name, value in metadata.items():
        if name.casefold() in fields["names"]:
            yield from _strings(value)
    tagged = metadata.get("nbib")
    if isinstance(tagged, list):
        yield from _tagged(tagged, fields["nbib"])
    ris = metadata.get("ris")
    if isinstance(ris, dict) and isinstance(ris.get("fields"), list):
        yield from _tagged(ris["fields"], fields["ris"])


def _tagged(rows: list[Any], tags: list[str]) -> Iterator[str]:
    for row in rows:
        if isinstance(row, list) and len(row) == 2 and row[0] in tags:
            yield from _strings(row[1])


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) <= _LONGEST:
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
