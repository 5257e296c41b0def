"""GROBID's training files: ``<tei>`` without a namespace, text in lines, marked up by hand.

A header file has title, authors and abstract; a full text has paragraphs and headings, and no title. What the
front matter holds beside them stays in ``metadata["front_matter"]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from aspectra.papers.identifiers import identifiers_in
from aspectra.papers.names import given_first
from aspectra.papers.paper import Paper, Section
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, XmlFormat, attribute, first, found
from aspectra.papers.text.cleaning import mend_hyphens, one_line
from aspectra.papers.text.references import read_reference

_MARKS = re.compile(r"[\d*†‡§¶#]+")
_BETWEEN = re.compile(r"[,;&\n]|\band\b")
_LEFT_OUT = ("figure", "listBibl", "note", "page")


def _confidence(root: str, attributes: str, head: bytes) -> float:
    return 0.95 if root == "tei" else 0.0


def _printed(element: Element | None) -> str:
    """The text of an element, broken words put together, on one line."""
    if element is None:
        return ""
    return one_line(mend_hyphens("".join(str(part) for part in element.itertext())))


def _authors(text: Element | None) -> Iterator[str]:
    for author in found(text, ".//docAuthor"):
        printed = "".join(str(part) for part in author.itertext())
        parts = (one_line(part) for part in _BETWEEN.split(_MARKS.sub(",", printed)))
        yield from (given_first(part) for part in parts if len(part) > 2)


def _sections(text: Element | None) -> list[Section]:
    """Paragraphs in order, a new section at each heading; text outside of elements is text too."""
    body = first(text, "body")
    holder = text if body is None else body
    if holder is None:
        return []
    headings, parts = [""], [[one_line(holder.text)]]
    for child in holder:
        if child.tag == "head":
            headings.append(_printed(child))
            parts.append([])
        elif child.tag not in ("front", *_LEFT_OUT):
            parts[-1].append(_printed(child))
        parts[-1].append(one_line(child.tail))
    made = (
        Section(heading, "\n\n".join(filter(None, own))) for heading, own in zip(headings, parts, strict=True)
    )
    return [section for section in made if section.heading or section.text]


def _paper(tei: Element, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    for mark in tei.iter("lb"):
        mark.text = "\n"
    text = first(tei, "text")
    front = first(text, "front")
    abstracts = [div for div in found(text, ".//div") if attribute(div, "type") == "abstract"]
    numbers = " ".join(_printed(one) for one in [*found(text, ".//idno"), *found(text, ".//ptr")])
    metadata = {
        "extractor": "GROBID training data",
        "keywords": [*map(_printed, found(text, ".//keyword"))],
        "affiliations": [place for one in found(text, ".//affiliation") if (place := _printed(one))],
        "front_matter": _printed(front),
        "file": attribute(first(tei, "teiHeader/fileDesc"), "xml:id"),
    }
    yield from assemble(
        place,
        options,
        title=" ".join(_printed(part) for part in found(text, ".//docTitle/titlePart")),
        abstract="\n\n".join(_printed(div) for div in abstracts),
        authors=_authors(text),
        year=" ".join(_printed(date) for date in found(front, ".//date")),
        identifiers=identifiers_in(numbers),
        language=attribute(text, "xml:lang"),
        sections=_sections(text),
        references=[read_reference(raw) for one in found(text, ".//listBibl/bibl") if (raw := _printed(one))],
        metadata=metadata,
    )


SOURCES.register("grobid-training")(
    XmlFormat("grobid-training", "GROBID's training files (`<tei>`)", "tei", _confidence, _paper)
)
