"""PubMed XML: ``PubmedArticle`` and ``PubmedBookArticle``, in their sets or alone.

The fields stay in ``metadata["pubmed"]`` as (name of the element, value) pairs, except what the paper holds.
Source: "MEDLINE/PubMed XML Data Elements" of the National Library of Medicine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aspectra.papers.bibliography import names_in
from aspectra.papers.identifiers import identifiers_in, scheme_of
from aspectra.papers.names import printed
from aspectra.papers.paper import Paper, Reference
from aspectra.papers.sources.assembly import assemble, identifiers_of, year_in
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, leaves, text_of
from aspectra.papers.text.references import cited_title

_RECORDS = ("PubmedArticle", "PubmedBookArticle")
_TYPES = names_in("nbib").types
_NOT_KEPT = (
    *("Abstract", "AuthorList", "ReferenceList", "ArticleTitle", "BookTitle", "History", "ArticleIdList"),
    *("DateCompleted", "DateRevised", "CommentsCorrectionsList"),
)


def _confidence(root: str, attributes: str, head: bytes) -> float:
    return 0.98 if root in (*_RECORDS, "PubmedArticleSet", "PubmedBookArticleSet") else 0.0


def _person(author: Element) -> str:
    if collective := text_of(first(author, "CollectiveName")):
        return collective
    given = text_of(first(author, "ForeName")) or text_of(first(author, "Initials"))
    return printed(given, text_of(first(author, "LastName")), text_of(first(author, "Suffix")))


def _abstract(element: Element | None) -> str:
    parts = []
    for part in found(element, "AbstractText"):
        label, text = attribute(part, "Label").strip(": "), text_of(part)
        if text:
            parts.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return "\n\n".join(parts)


def _year(*dates: Element | None) -> int | None:
    texts = (text_of(first(date, name)) for date in dates for name in ("Year", "MedlineDate"))
    return next((year for text in texts if (year := year_in(text))), None)


def _identifiers(
    core: Element, data: Element | None, article: Element | None
) -> Iterator[tuple[str, object]]:
    yield "pmid", text_of(first(core, "PMID"))
    lists = [*found(data, "ArticleIdList/ArticleId"), *found(core, "ArticleIdList/ArticleId")]
    for one in lists:
        if scheme := scheme_of(attribute(one, "IdType")):
            yield scheme, text_of(one)
    for one in [*found(article, "ELocationID"), *found(core, "Book/ELocationID")]:
        if attribute(one, "ValidYN") != "N" and (scheme := scheme_of(attribute(one, "EIdType"))):
            yield scheme, text_of(one)
    yield "isbn", text_of(first(core, "Book/Isbn"))


def _references(data: Element | None) -> list[Reference]:
    out = []
    for one in found(data, "ReferenceList//Reference"):
        raw = text_of(first(one, "Citation"))
        stated = identifiers_of(
            (scheme, text_of(i))
            for i in found(one, "ArticleIdList/ArticleId")
            if (scheme := scheme_of(attribute(i, "IdType")))
        )
        if raw or stated:
            out.append(Reference(raw, title=cited_title(raw), identifiers=identifiers_in(raw) | stated))
    return out


def _paper(record: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    book = record.tag == "PubmedBookArticle"
    core = first(record, "BookDocument" if book else "MedlineCitation")
    data = first(record, "PubmedBookData" if book else "PubmedData")
    if core is None:
        yield Remark(place, "the article is empty: skipped")
        return
    article = core if book else first(core, "Article")
    journal = first(article, "Journal")
    venue = text_of(first(journal, "Title")) or text_of(first(journal, "ISOAbbreviation"))
    title = text_of(first(article, "ArticleTitle"))
    if title.startswith("[") and title.rstrip(".").endswith("]"):
        title = title.rstrip(".").strip("[]")  # a translated title
    if title.casefold() in ("", "not available"):
        title = text_of(first(article, "VernacularTitle"))
    in_book = text_of(first(core, "Book/BookTitle"))
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
        "volume": text_of(first(journal, "JournalIssue/Volume")),
        "issue": text_of(first(journal, "JournalIssue/Issue")),
        "pages": text_of(first(article, "Pagination/MedlinePgn")),
        "publisher": text_of(first(core, "Book/Publisher/PublisherName")),
        "issn": text_of(first(journal, "ISSN")),
        "keywords": [*map(text_of, words)],
        "editors": [name for kind, author in people if kind == "editors" and (name := _person(author))],
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
        authors=[name for kind, author in people if kind != "editors" and (name := _person(author))],
        year=_year(
            first(journal, "JournalIssue/PubDate"), first(core, "Book/PubDate"), first(article, "ArticleDate")
        ),
        venue=venue or (in_book if title else ""),
        identifiers=_identifiers(core, data, article),
        language=text_of(first(article, "Language")),
        references=_references(data),
        metadata={name: value for name, value in metadata.items() if value},
    )


SOURCES.register("pubmed-xml")(
    XmlFormat("pubmed-xml", "PubMed's XML, articles and books", _RECORDS, _confidence, _paper)
)
