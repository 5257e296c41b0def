"""PubMed XML: ``PubmedArticle`` and ``PubmedBookArticle``, in their sets or alone.

The fields stay in ``metadata["pubmed"]`` as (name of the element, value) pairs, except what the paper holds.
Source: "MEDLINE/PubMed XML Data Elements" of the National Library of Medicine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aspectra.papers.bibliography import names_in
from aspectra.papers.names import printed
from aspectra.papers.paper import Paper, Reference
from aspectra.papers.sources.assembly import assemble, reference_of
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import (
    Element,
    XmlFormat,
    attribute,
    first,
    found,
    ids_of,
    leaves,
    text_of,
)

_RECORDS = ("PubmedArticle", "PubmedBookArticle")
_NAMES, _TYPES = names_in("pubmed"), names_in("nbib").types
_NOT_KEPT = (
    *("Abstract", "AuthorList", "ReferenceList", "ArticleTitle", "BookTitle", "History", "ArticleIdList"),
    *("DateCompleted", "DateRevised", "CommentsCorrectionsList"),
)


def _confidence(root: str, attributes: str, head: bytes) -> float:
    return 0.98 if root in (*_RECORDS, "PubmedArticleSet", "PubmedBookArticleSet") else 0.0


def _person(author: Element) -> str:
    if collective := text_of(author, "CollectiveName"):
        return collective
    given = text_of(author, "ForeName", "Initials")
    return printed(given, text_of(author, "LastName"), text_of(author, "Suffix"))


def _abstract(element: Element | None) -> str:
    parts = []
    for part in found(element, "AbstractText"):
        label, text = attribute(part, "Label").strip(": "), text_of(part)
        if text:
            parts.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return "\n\n".join(parts)


def _identifiers(
    core: Element, data: Element | None, article: Element | None
) -> Iterator[tuple[str, object]]:
    yield "pmid", text_of(core, "PMID")
    yield from ids_of(data, "ArticleIdList/ArticleId", "IdType")
    yield from ids_of(core, "ArticleIdList/ArticleId", "IdType")
    for one in [*found(article, "ELocationID"), *found(core, "Book/ELocationID")]:
        if attribute(one, "ValidYN") != "N":
            yield from ids_of(one, ".", "EIdType")
    yield "isbn", text_of(core, "Book/Isbn")


def _references(data: Element | None) -> Iterator[Reference]:
    for one in found(data, "ReferenceList//Reference"):
        made = reference_of(text_of(one, "Citation"), stated=ids_of(one, "ArticleIdList/ArticleId", "IdType"))
        if made.raw or made.identifiers:
            yield made


def _paper(record: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    book = record.tag == "PubmedBookArticle"
    core = first(record, "BookDocument" if book else "MedlineCitation")
    data = first(record, "PubmedBookData" if book else "PubmedData")
    if core is None:
        yield Remark(place, "the article is empty: skipped")
        return
    article = core if book else first(core, "Article")
    title = text_of(article, "ArticleTitle")
    if title.startswith("[") and title.rstrip(".").endswith("]"):
        title = title.rstrip(".").strip("[]")  # a translated title
    if title.casefold() in ("", "not available"):
        title = text_of(article, "VernacularTitle")
    in_book = text_of(core, "Book/BookTitle")
    kinds = [text_of(k) for k in found(article, ".//PublicationType")]
    kind = next((t for name in kinds if (t := _TYPES.get(name))), "article-journal")
    lists = [*found(article, "AuthorList"), *found(core, "Book/AuthorList")]
    people = [(attribute(one, "Type"), author) for one in lists for author in found(one, "Author")]
    words = [*found(core, "KeywordList/Keyword"), *found(core, "MeshHeadingList/MeshHeading/DescriptorName")]
    others = [text for other in found(core, "OtherAbstract") if (text := _abstract(other))]
    abstract = _abstract(first(article, "Abstract")) or (others.pop(0) if others else "")
    affiliations = [text_of(a) for _, author in people for a in found(author, "AffiliationInfo/Affiliation")]
    metadata: dict[str, Any] = {
        "type": ("chapter" if title and in_book else "book") if book else kind,
        **_NAMES.shared_texts(lambda path: text_of(record, path)),
        "keywords": [*map(text_of, words)],
        "editors": [_person(author) for kind, author in people if kind == "editors"],
        "database": "PubMed",
        "affiliations": list(dict.fromkeys(filter(None, affiliations))),
        "other_abstracts": others,
        "pubmed": leaves(record, _NOT_KEPT),
    }
    yield from assemble(
        place,
        options,
        title=title or in_book,
        abstract=abstract,
        authors=[_person(author) for kind, author in people if kind != "editors"],
        year=tuple(text_of(record, path) for path in _NAMES.attributes["year"]),
        venue=text_of(record, *_NAMES.attributes["venue"]) or (in_book if title else ""),
        identifiers=_identifiers(core, data, article),
        language=text_of(article, "Language"),
        references=_references(data),
        metadata=metadata,
    )


SOURCES.register("pubmed-xml")(
    XmlFormat("pubmed-xml", "PubMed's XML, articles and books", _RECORDS, _confidence, _paper)
)
