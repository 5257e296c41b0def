"""What goes back to Zotero: which papers, into which collection, with which tags and quoted sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aspectra.papers.bibliography import names_in, shared_text
from aspectra.papers.names import name_parts, stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.zotero.mapping import note_html

_NAMES = names_in("zotero")
# CSL type -> Zotero's; of several the one that comes first in the table.
_TYPES = {csl: own for own, csl in reversed(_NAMES.types.items())}
# Fields that a type has, beside title, abstractNote, date, url, language and extra. Zotero refuses others.
_FIELDS: dict[str, tuple[str, ...]] = {
    "journalArticle": ("publicationTitle", "volume", "issue", "pages", "ISSN", "DOI"),
    "magazineArticle": ("publicationTitle", "volume", "issue", "pages", "ISSN"),
    "newspaperArticle": ("publicationTitle", "place", "edition", "pages", "ISSN"),
    "conferencePaper": ("proceedingsTitle", "volume", "pages", "publisher", "place", "series", "ISBN", "DOI"),
    "preprint": ("repository", "archiveID", "DOI"),
    "book": ("volume", "publisher", "place", "edition", "series", "ISBN"),
    "bookSection": ("bookTitle", "volume", "pages", "publisher", "place", "edition", "series", "ISBN"),
    "thesis": ("university", "place"),
    "report": ("institution", "place", "pages"),
    "document": ("publisher",),
}

_PLAIN = ("volume", "issue", "pages", "place", "edition", "series")  # called so by Zotero too
_SHARED = (*_PLAIN, "publisher", "issn", "date", "editors")


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence that supports a paper's place in a search, and where it stands: a heading, or ""."""

    text: str
    where: str = ""


@dataclass(frozen=True)
class Outgoing:
    """One paper on its way.

    Attributes:
        paper: it.
        key: of its item in Zotero; "" where it becomes a new one.
        quotes: for its note; no note without any.
        query: what was searched for, for the note.
    """

    paper: Paper
    key: str = ""
    quotes: tuple[Quote, ...] = ()
    query: str = ""

    def note(self) -> str:
        """The note as HTML, or ""."""
        if not self.quotes:
            return ""
        parts = [("h1", f"Aspectra: {self.query}" if self.query else "Aspectra")]
        for quote in self.quotes:
            parts.append(("blockquote", quote.text))
            if quote.where:
                parts.append(("p", quote.where))
        return note_html(parts)


def _creators(paper: Paper, names: Iterable[str], kind: str) -> list[dict[str, str]]:
    found, stated = [], stated_names(paper.metadata)
    for name in names:
        if parts := name_parts(name, stated):
            given, particle, family, suffix = parts
            last = " ".join(filter(None, (particle, family)))
            first = " ".join(filter(None, (given, suffix)))
            found.append({"creatorType": kind, "firstName": first, "lastName": last})
        else:
            found.append({"creatorType": kind, "name": name})
    return found


def item_of_paper(paper: Paper) -> dict[str, Any]:
    """A new item in the JSON of Zotero's API; what its type has no field for is in ``extra``."""
    csl = str(paper.metadata.get("type") or "article-journal")
    kind = _TYPES.get(csl, "document")
    fields = _FIELDS.get(kind)
    if fields is None:
        kind, fields = "document", _FIELDS["document"]
    venue = next((f for f in fields if f in _NAMES.attributes["venue"]), "")
    publisher = next((f for f in fields if f in _NAMES.shared["publisher"]), "")
    arxiv = paper.identifiers.get("arxiv", "")
    known = {
        "DOI": paper.identifiers.get("doi", ""),
        "ISBN": paper.identifiers.get("isbn", ""),
        "ISSN": shared_text(paper.metadata, "issn"),
        "archiveID": f"arXiv:{arxiv}" if arxiv else "",
        publisher: shared_text(paper.metadata, "publisher"),
        venue: paper.venue,
        **{name: shared_text(paper.metadata, name) for name in _PLAIN},
    }
    rest = [
        f"{name}: {value}"
        for name, value in (
            ("Citation Key", paper.id if ":" not in paper.id else ""),
            ("DOI", "" if "DOI" in fields else known["DOI"]),
            ("arXiv", "" if "archiveID" in fields else arxiv),
            ("PMID", paper.identifiers.get("pmid", "")),
            ("PMCID", paper.identifiers.get("pmcid", "")),
        )
        if value
    ]
    editors = paper.metadata.get("editors")
    edited = kind in ("book", "bookSection", "conferencePaper", "journalArticle") and isinstance(
        editors, list
    )
    item: dict[str, Any] = {
        "itemType": kind,
        "title": paper.title,
        "abstractNote": paper.abstract,
        "creators": _creators(paper, paper.authors, "author"),
        "date": shared_text(paper.metadata, "date") or (str(paper.year) if paper.year else ""),
        "url": paper.url,
        "language": paper.language,
        "extra": "\n".join(rest),
        **{name: known[name] for name in fields if known.get(name)},
    }
    if edited and isinstance(editors, list):
        item["creators"] += _creators(paper, map(str, editors), "editor")
    return {name: value for name, value in item.items() if value}


def import_file(papers: Sequence[Outgoing], tags: Sequence[str], form: str) -> str:
    """The papers with their tags and notes as a file that Zotero imports.

    Args:
        papers: what would be sent.
        tags: for all of them.
        form: name of a writer, as ``ris``.
    """
    from aspectra.papers.bibliography import shared_list
    from aspectra.papers.export.protocol import WRITERS

    changed = []
    for one in papers:
        # Built anew from the paper: a record kept as it was read would be written as it was read.
        metadata = {k: v for k, v in one.paper.metadata.items() if k in ("type", *_SHARED)}
        metadata["keywords"] = list(dict.fromkeys([*shared_list(one.paper.metadata, "keywords"), *tags]))
        if one.quotes:
            told = [q.text + (f" ({q.where})" if q.where else "") for q in one.quotes]
            metadata["note"] = "\n".join([f"Aspectra: {one.query}" if one.query else "Aspectra", *told])
        changed.append(replace(one.paper, metadata=metadata))
    return WRITERS.get(form).write(changed)
