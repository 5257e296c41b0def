"""GROBID TEI: full text that GROBID made out of a PDF.

Read are title, authors, identifiers, venue and year of the header, the abstract (with its sentences where
GROBID marked them), the sections of the body and of the back matter, and the reference list. Figures,
tables and formulas' numbers are left out of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aspectra.papers.identifiers import identifiers_in, scheme_of
from aspectra.papers.names import printed
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.sources.assembly import assemble, identifiers_of, year_in
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, text_of
from aspectra.papers.text.cleaning import one_line
from aspectra.papers.text.references import cited_title

_SKIP = ("figure", "table", "note")


def _confidence(root: str, attributes: str, head: bytes) -> float:
    return 0.98 if root in ("TEI", "teiCorpus", "TEI.2") else 0.0


def _paper(tei: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    source = first(tei, "teiHeader/fileDesc/sourceDesc/biblStruct")
    title = text_of(first(tei, "teiHeader/fileDesc/titleStmt/title"))
    title = title or text_of(first(source, "analytic/title"))
    abstract, sentences = _abstract(first(tei, "teiHeader/profileDesc/abstract"))
    sections, numbers = _sections(tei)
    dates = [attribute(date, "when") or text_of(date) for date in found(source, "monogr/imprint/date")]
    dates += [
        attribute(date, "when") or text_of(date)
        for date in found(tei, "teiHeader/fileDesc/publicationStmt/date")
    ]
    metadata: dict[str, Any] = {}
    keywords = [text_of(term) for term in found(tei, "teiHeader/profileDesc/textClass/keywords//term")]
    if keywords := [word for word in keywords if word]:
        metadata["keywords"] = keywords
    application = first(tei, "teiHeader/encodingDesc/appInfo/application")
    if application is not None:
        metadata["extractor"] = one_line(
            f"{attribute(application, 'ident')} {attribute(application, 'version')}"
        )
    md5 = next((i for i in found(source, "idno") if attribute(i, "type").upper() == "MD5"), None)
    if md5 is not None:
        metadata["pdf_md5"] = text_of(md5)
    affiliations = {text_of(a): None for a in found(source, "analytic/author/affiliation") if text_of(a)}
    if affiliations:
        metadata["affiliations"] = list(affiliations)
    if any(numbers):
        metadata["section_numbers"] = numbers
    yield from assemble(
        place,
        options,
        title=title,
        abstract=abstract,
        authors=[name for a in found(source, "analytic/author") if (name := _person(a))],
        year=next((year for date in dates if (year := year_in(date))), None),
        venue=text_of(first(source, "monogr/title")),
        identifiers=_identifiers(source),
        language=attribute(first(tei, "text"), "xml:lang"),
        sections=sections,
        references=_references(tei),
        sentences=sentences,
        metadata=metadata,
    )


def _person(author: Element) -> str:
    names = first(author, "persName")
    if names is None:
        return text_of(author, skip=("affiliation", "email", "idno")) if author.tag != "author" else ""
    parts = [" ".join(map(text_of, found(names, part))) for part in ("forename", "surname", "genName")]
    return printed(*parts) or text_of(names)


def _identifiers(bibl: Element | None) -> dict[str, str]:
    return identifiers_of(
        (scheme, text_of(i)) for i in found(bibl, ".//idno") if (scheme := scheme_of(attribute(i, "type")))
    )


def _abstract(element: Element | None) -> tuple[str, list[Sentence]]:
    """The abstract, and its sentences where every paragraph consists of ``s`` elements."""
    if element is None:
        return "", []
    blocks = list(element.iter("p", "ab")) or [element]
    text = ""
    sentences: list[Sentence] = []
    marked = all(first(block, "s") is not None for block in blocks)
    for block in blocks:
        pieces = [text_of(s) for s in found(block, "s")] if marked else [text_of(block)]
        for number, piece in enumerate(piece for piece in pieces if piece):
            text += (" " if number else "\n\n") if text else ""
            sentences.append(Sentence(len(text), len(text) + len(piece)))
            text += piece
    return text, sentences if marked else []


def _sections(tei: Element) -> tuple[list[Section], list[str]]:
    sections: list[Section] = []
    numbers: list[str] = []
    body = first(tei, "text/body")
    if body is None:  # a text that is not divided: one without front and back
        body = first(tei, "text")
    divs = [d for d in found(body, ".//div") if attribute(d, "type") != "references"]
    if first(tei, "text/body") is not None:
        divs += [d for d in found(tei, "text/back//div") if attribute(d, "type") != "references"]
    plain = [text for p in found(body, "p") if (text := text_of(p, _SKIP))]
    if plain:
        sections.append(Section("", "\n\n".join(plain)))
        numbers.append("")
    for div in divs:
        head = first(div, "head")
        blocks = [
            text_of(block, _SKIP) for block in div if block.tag in ("p", "formula", "list", "ab", "quote")
        ]
        text = "\n\n".join(block for block in blocks if block)
        if not any(blocks) and first(div, "div") is None:
            text = text_of(div, (*_SKIP, "head", "listBibl"))  # its text without paragraphs
        if text_of(head) or text:
            sections.append(Section(text_of(head), text))
            numbers.append(attribute(head, "n"))
    return sections, numbers


def _references(tei: Element) -> list[Reference]:
    references = []
    for bibl in found(tei, "text/back//listBibl/biblStruct"):
        note = next((n for n in found(bibl, "note") if attribute(n, "type") == "raw_reference"), None)
        titles = [text_of(t) for t in [*found(bibl, "analytic/title"), *found(bibl, "monogr/title")]]
        title = next((t for t in titles if t), "")
        raw = text_of(note) or _printed(bibl, titles)
        identifiers = identifiers_in(raw) | _identifiers(bibl)
        references.append(Reference(raw, attribute(bibl, "xml:id"), title or cited_title(raw), identifiers))
    return references


def _printed(bibl: Element, titles: list[str]) -> str:
    """The entry put together again where GROBID did not keep it as printed."""
    people = [_person(a) for a in found(bibl, ".//author")]
    date = first(bibl, "monogr/imprint/date")
    year = year_in(attribute(date, "when") or text_of(date))
    parts = [", ".join(p for p in people if p), str(year or ""), *titles]
    return ". ".join(part for part in parts if part)


SOURCES.register("tei")(
    XmlFormat("tei", "TEI as GROBID writes it", "TEI", _confidence, _paper, (".xml", ".tei"))
)
