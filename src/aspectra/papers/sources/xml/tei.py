"""GROBID TEI: full text that GROBID made out of a PDF.

Read are title, authors, identifiers, venue and year of the header, the abstract (with its sentences where
GROBID marked them), the sections of the body and of the back matter, and the reference list. Figures,
tables and formulas' numbers are left out of the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from aspectra.papers.names import printed
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.sources.assembly import assemble, reference_of, year_in
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found, ids_of, text_of
from aspectra.papers.text.cleaning import one_line

_SKIP = ("figure", "table", "note")
_BLOCKS = ("p", "formula", "list", "ab", "quote")


def _confidence(root: str, attributes: str, head: bytes) -> float:
    return 0.98 if root in ("TEI", "teiCorpus", "TEI.2") else 0.0


def _paper(tei: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    source = first(tei, "teiHeader/fileDesc/sourceDesc/biblStruct")
    title = text_of(tei, "teiHeader/fileDesc/titleStmt/title") or text_of(source, "analytic/title")
    abstract, sentences = _abstract(first(tei, "teiHeader/profileDesc/abstract"))
    sections, numbers = _sections(tei)
    dated = [*found(source, "monogr/imprint/date"), *found(tei, "teiHeader/fileDesc/publicationStmt/date")]
    application = first(tei, "teiHeader/encodingDesc/appInfo/application")
    affiliations = map(text_of, found(source, "analytic/author/affiliation"))
    sums = (i for i in found(source, "idno") if attribute(i, "type").upper() == "MD5")
    metadata = {
        "keywords": [text_of(term) for term in found(tei, "teiHeader/profileDesc/textClass/keywords//term")],
        "extractor": one_line(f"{attribute(application, 'ident')} {attribute(application, 'version')}"),
        "pdf_md5": next((text_of(i) for i in sums), ""),
        "affiliations": list(dict.fromkeys(filter(None, affiliations))),
        "section_numbers": numbers if any(numbers) else [],
    }
    yield from assemble(
        place,
        options,
        title=title,
        abstract=abstract,
        authors=map(_person, found(source, "analytic/author")),
        year=tuple(map(_date, dated)),
        venue=text_of(source, "monogr/title"),
        identifiers=ids_of(source, ".//idno", "type"),
        language=attribute(first(tei, "text"), "xml:lang"),
        sections=sections,
        references=_references(tei),
        sentences=sentences,
        metadata=metadata,
    )


def _date(date: Element | None) -> str:
    return attribute(date, "when") or text_of(date)


def _person(author: Element) -> str:
    names = first(author, "persName")
    if names is None:
        return text_of(author, skip=("affiliation", "email", "idno")) if author.tag != "author" else ""
    parts = [" ".join(map(text_of, found(names, part))) for part in ("forename", "surname", "genName")]
    return printed(*parts) or text_of(names)


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
    # A text that is not divided is one without front and back.
    parts = [first(tei, "text")] if body is None else [body, *found(tei, "text/back")]
    divs = [d for part in parts for d in found(part, ".//div") if attribute(d, "type") != "references"]
    plain = [text for p in found(parts[0], "p") if (text := text_of(p, skip=_SKIP))]
    if plain:
        sections.append(Section("", "\n\n".join(plain)))
        numbers.append("")
    for div in divs:
        head = first(div, "head")
        blocks = [text_of(block, skip=_SKIP) for block in div if block.tag in _BLOCKS]
        text = "\n\n".join(block for block in blocks if block)
        if not any(blocks) and first(div, "div") is None:
            text = text_of(div, skip=(*_SKIP, "head", "listBibl"))  # its text without paragraphs
        if text_of(head) or text:
            sections.append(Section(text_of(head), text))
            numbers.append(attribute(head, "n"))
    return sections, numbers


def _references(tei: Element) -> Iterator[Reference]:
    for bibl in found(tei, "text/back//listBibl/biblStruct"):
        note = next((n for n in found(bibl, "note") if attribute(n, "type") == "raw_reference"), None)
        titles = [text_of(t) for t in [*found(bibl, "analytic/title"), *found(bibl, "monogr/title")]]
        title = next((t for t in titles if t), "")
        raw = text_of(note) or _printed(bibl, titles)
        stated = ids_of(bibl, ".//idno", "type")
        yield reference_of(raw, attribute(bibl, "xml:id"), title, stated)


def _printed(bibl: Element, titles: list[str]) -> str:
    """The entry put together again where GROBID did not keep it as printed."""
    people = [_person(a) for a in found(bibl, ".//author")]
    year = year_in(_date(first(bibl, "monogr/imprint/date")))
    parts = [", ".join(p for p in people if p), str(year or ""), *titles]
    return ". ".join(part for part in parts if part)


SOURCES.register("tei")(
    XmlFormat("tei", "TEI as GROBID writes it", "TEI", _confidence, _paper, (".xml", ".tei"))
)
