"""CSL-JSON, readable by Zotero, Pandoc and citeproc: one array.

A paper that came from CSL-JSON is written with its own variables as long as they still say what the paper
holds; dates get parts that are numbers, for pandoc refuses a file for one that is not, or for a null. Lost:
sections, references, sentence spans, metadata outside the shared names, dates in words that no calendar has,
identifiers other than DOI, PMID, PMCID, ISBN and arXiv.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

from aspectra.papers.bibliography import date_parts, keywords_text, shared_list, shared_text
from aspectra.papers.export.protocol import NO_LIMIT, WRITERS, ReadBack, plain_doi, tidy
from aspectra.papers.names import name_parts, stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import year_in
from aspectra.papers.sources.json.csl_json import NAMES, VARIABLES_OF, in_one_text, item_paper

_DATES = ("issued", "accessed", "available-date", "event-date", "original-date", "published", "submitted")
_SEVERAL = ("ISSN", "ISBN", "keyword")  # may have several values
_TEXTS = {*chain(*VARIABLES_OF.values(), *NAMES.shared.values(), _SEVERAL), "subtitle", "title-short"}
_OF_PEOPLE = {"family", "given", "literal"}
_DAY = re.compile(r"(\d{4})[-/](\d{1,2})(?:[-/]0{0,2}(\d{1,2}))?/?")


class CslJsonWriter:
    """CSL-JSON items."""

    name = "csl-json"
    suffix = ".json"

    def write(self, papers: Iterable[Paper]) -> str:
        """An array of items, indented by two, real Unicode."""
        items = [_item(paper) for paper in map(tidy, papers)]
        return json.dumps(items, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _item(paper: Paper) -> dict[str, Any]:
    kept = paper.metadata.get("csl")
    item = {"id": ""} | _valid(kept if isinstance(kept, dict) else {}) | {"id": paper.id}
    kind = shared_text(paper.metadata, "type") or str(item.get("type", ""))
    kind = NAMES.written_types.get(kind) or NAMES.types.get(kind, kind)
    item["type"] = kind or ("article-journal" if paper.venue else "document")
    _mend_dates(item)
    if doi := plain_doi(paper, str(item.get("DOI", ""))):
        item["DOI"] = doi
    if paper.abstract:
        item.setdefault("abstract", _escaped(paper.abstract, "abstract"))
    back = ReadBack(paper, item_paper(item, "", NO_LIMIT))
    for attribute in back.attributes(VARIABLES_OF):
        for name in (*VARIABLES_OF[attribute], *(("subtitle",) if attribute == "title" else ())):
            item.pop(name, None)
        item.update(_written(paper, attribute))
    for scheme, value in back.identifiers().items():
        if scheme in ("doi", "pmid", "pmcid", "isbn"):
            item[scheme.upper()] = value
        elif scheme == "arxiv":
            item.setdefault("number", f"arXiv:{value}")
    _add_shared(paper, back, item)
    if ReadBack(paper, item_paper(item, "", NO_LIMIT)).attributes(["id"]):
        item["citation-key"] = paper.id  # it counts before any other key that the item carries
    return item


def _valid(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Variables as CSL has them: Crossref gives texts as lists, and much that is no variable."""
    out: dict[str, Any] = {}
    for name, value in kept.items():
        if name in (*_DATES, "custom", "categories") or not isinstance(value, list | dict):
            out[name] = value
        elif isinstance(value, dict):
            continue
        elif all(isinstance(one, str | int) for one in value):
            if name in _TEXTS:
                out[name] = in_one_text(value) if name in _SEVERAL else next(iter(value), None)
        elif all(isinstance(one, dict) and one.keys() & _OF_PEOPLE for one in value):
            out[name] = [{k: v for k, v in one.items() if isinstance(v, str | bool)} for one in value]
    return {name: value for name, value in out.items() if value is not None}


def _mend_dates(item: dict[str, Any]) -> None:
    """Give dates their parts where they are only text: year, month and day, else the year.

    A text that says more than its parts is kept under ``custom``, where CSL has room for it. A text without a
    year stays a text, which is valid.
    """
    for name in _DATES:
        date = item.get(name)
        if isinstance(date, list) and date:  # as older programs give it
            date = item[name] = date[0]
        if isinstance(date, Mapping):
            if parts := _valid_parts(date.get("date-parts")):
                item[name] = {**date, "date-parts": parts}
                continue
            date = {key: value for key, value in date.items() if key != "date-parts"}
            if not date:
                del item[name]
                continue
            text = next((t for key in ("raw", "literal") if isinstance(t := date.get(key), str)), "")
        else:
            text = str(date) if isinstance(date, str | int) else ""
        exact = _DAY.fullmatch(text.strip())
        found = _parts([part for part in exact.groups() if part]) if exact else []
        if not found and (year := year_in(text)) is not None:
            found = [year]
        if not found:
            continue
        held = date.items() if isinstance(date, Mapping) else ()
        rest = {k: v for k, v in held if k not in ("raw", "literal")}
        item[name] = {**rest, "date-parts": [found]}
        whole = exact and len(found) == sum(g is not None for g in exact.groups())
        if not whole and text.strip() != str(found[0]):
            custom = item.get("custom")
            item["custom"] = {**(custom if isinstance(custom, dict) else {}), f"{name}-raw": text}


def _valid_parts(parts: Any) -> list[list[int]]:
    """Date parts as numbers, without months and days that do not exist; parts without a year are left out."""
    # Months beyond 12 are the seasons that CSL once had.
    given = parts if isinstance(parts, list) else []
    lists = [one for one in given if isinstance(one, list)] or [given]
    return [valid for one in lists if (valid := _parts(one, months=24))]


def _parts(values: list[Any], months: int = 12) -> list[int]:
    """Year, month and day as far as they are valid."""
    found: list[int] = []
    for value, most in zip(values, (9999, months, 31), strict=False):
        digits = str(value).strip()
        number = int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 7 else 0
        if not number or (found and not 1 <= number <= most):
            break
        found.append(number)
    return found


def _escaped(text: str, variable: str) -> str:
    """The text unchanged, or with < and & escaped where a reader would take it for markup."""
    attribute = next(name for name, names in VARIABLES_OF.items() if variable in names)
    plain = Paper("x", **{"title": "x", attribute: text})  # type: ignore[arg-type]
    back = ReadBack(plain, item_paper({"id": "x", "title": "x", variable: text}, "", NO_LIMIT))
    return html.escape(text, quote=False) if back.attributes([attribute]) else text


def _written(paper: Paper, attribute: str) -> dict[str, Any]:
    match attribute:
        case "authors":
            return {"author": _people(paper, paper.authors)} if paper.authors else {}
        case "year":
            parts = date_parts(shared_text(paper.metadata, "date"), paper.year) or (paper.year,)
            return {"issued": {"date-parts": [list(parts)]}} if paper.year is not None else {}
    variable = VARIABLES_OF[attribute][0]
    value = getattr(paper, attribute)
    return {variable: _escaped(value, variable)} if value else {}


def _people(paper: Paper, names: Iterable[str]) -> list[dict[str, str]]:
    stated = stated_names(paper.metadata)
    return [_person(name, stated) for name in names]


def _person(name: str, stated: Collection[str]) -> dict[str, str]:
    parts = name_parts(name, stated)
    if parts is None:
        return {"literal": name}
    given, particle, family, suffix = parts
    person = {"family": family, "given": given, "non-dropping-particle": particle, "suffix": suffix}
    return {key: value for key, value in person.items() if value}


def _add_shared(paper: Paper, back: ReadBack, item: dict[str, Any]) -> None:
    for name in back.shared():
        if name == "keywords":
            item["keyword"] = keywords_text(shared_list(paper.metadata, name))
        elif name == "editors":
            item["editor"] = _people(paper, shared_list(paper.metadata, name))
        elif name in NAMES.shared:
            item[NAMES.shared[name][0]] = shared_text(paper.metadata, name)


WRITERS.register("csl-json")(CslJsonWriter())
