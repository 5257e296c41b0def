"""Answers of DataCite, Europe PMC and Semantic Scholar: what they nest, under the names other records have.

The nested fields stay as they are beside it.
Sources: "DataCite Metadata Schema" 4.6; "Europe PMC RESTful Web Service" (result type core); "Semantic
Scholar Academic Graph API" (paper).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aspectra.papers.bibliography import names_in
from aspectra.papers.sources.json.records import as_dict, as_list
from aspectra.papers.text.cleaning import one_line

_NBIB_TYPES = {kind.casefold(): type_ for kind, type_ in names_in("nbib").types.items()}
# DataCite's general types of resources -> CSL
_GENERAL = {
    "Book": "book",
    "BookChapter": "chapter",
    "ConferencePaper": "paper-conference",
    "DataPaper": "article-journal",
    "Dataset": "dataset",
    "Dissertation": "thesis",
    "JournalArticle": "article-journal",
    "Preprint": "article",
    "Report": "report",
    "Software": "software",
}


def spread(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the fields that these services nest; what it has under the name already stays."""
    if record.keys() & {"titles", "descriptions"}:
        found = _datacite(record)
        if record.get("type") == "dois":  # what the answer is a list of
            record = {**record, "type": found["type"]}
    elif record.keys() & {"pubYear", "journalInfo", "authorString"}:
        found = _europe_pmc(record)
    else:
        journal = as_dict(record.get("journal"))
        found = {name: one_line(journal.get(name)) for name in ("volume", "pages")}
    return {**record, **{name: value for name, value in found.items() if value and not record.get(name)}}


def _objects(values: object) -> list[Mapping[str, Any]]:
    return [as_dict(value) for value in as_list(values)]


def _texts(values: object, name: str) -> list[str]:
    """The texts of a list: its own, and those that its objects have under a name."""
    listed = values if isinstance(values, list) else [values]
    found = (one.get(name) if isinstance(one, Mapping) else one for one in listed)
    return [text for text in found if isinstance(text, str) and text.strip()]


def _datacite(record: Mapping[str, Any]) -> dict[str, Any]:
    container, told = as_dict(record.get("container")), record.get("descriptions")
    if isinstance(told, list):
        told = [one for one in told if as_dict(one).get("descriptionType") in (None, "Abstract", "Other")]
    pages = (one_line(container.get(name)) for name in ("firstPage", "lastPage"))
    serial = container.get("identifier") if container.get("identifierType") == "ISSN" else ""
    helpers, types = _objects(record.get("contributors")), as_dict(record.get("types"))
    return {
        "type": one_line(types.get("citeproc"))
        or _GENERAL.get(one_line(types.get("resourceTypeGeneral")), ""),
        "title": next(iter(_texts(record.get("titles"), "title")), ""),
        "abstract": next(iter(_texts(told, "description")), ""),
        "keywords": [*map(one_line, _texts(record.get("subjects"), "subject"))],
        "volume": one_line(container.get("volume")),
        "issue": one_line(container.get("issue")),
        "pages": "-".join(filter(None, pages)),
        "issn": one_line(serial),
        "editors": [one for one in helpers if one.get("contributorType") == "Editor"],
    }


def _europe_pmc(record: Mapping[str, Any]) -> dict[str, Any]:
    info, book = as_dict(record.get("journalInfo")), as_dict(record.get("bookOrReportDetails"))
    journal = as_dict(info.get("journal"))
    listed = _objects(as_dict(record.get("authorList")).get("author"))
    words = as_list(as_dict(record.get("keywordList")).get("keyword"))
    headings = _objects(as_dict(record.get("meshHeadingList")).get("meshHeading"))
    kinds = as_list(as_dict(record.get("pubTypeList")).get("pubType"))
    return {
        "authors": [
            {
                "given": one.get("firstName") or one.get("initials") or "",
                "family": one["lastName"],
                "suffix": one.get("suffix") or "",
            }
            if one.get("lastName")
            else one_line(one.get("collectiveName") or one.get("fullName"))
            for one in listed
        ],
        "keywords": list(
            dict.fromkeys(map(one_line, [*words, *(h.get("descriptorName") for h in headings)]))
        ),
        "volume": one_line(info.get("volume") or record.get("journalVolume")),
        "issue": one_line(info.get("issue") or record.get("issue")),
        "pages": one_line(record.get("pageInfo")),
        "issn": one_line(journal.get("issn") or journal.get("ISSN") or record.get("journalIssn")),
        "publisher": one_line(book.get("publisher")),
        "type": next((t for kind in kinds if (t := _NBIB_TYPES.get(one_line(kind).casefold()))), ""),
        "database": "Europe PMC",
    }
