"""A saved web page of one paper: a publisher's, arXiv's, PubMed's.

Title, authors, year, identifiers come from its meta tags (Highwire's ``citation_*``, Dublin Core) and its
JSON-LD; abstract and full text from the page. If a page has only the abstract, the rest of it belongs to
the site. Nothing is fetched, and a page that does not show a paper is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from aspectra.base.errors import BadInput
from aspectra.papers.bibliography import names_in
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.names import person, split_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.pages.hypertext import Block, blocks_of, outline_of, parsed
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line, storable

Element = etree._Element

_START = re.compile(
    rb"\s*+(?:<\?xml[^>]{0,200}>\s*+)?(?:<!--.{0,2000}?-->\s*+){0,5}<(?:!doctype\s++html|html|head)\b",
    re.I | re.S,
)
_SCHOLARLY = frozenset(("ScholarlyArticle", "MedicalScholarlyArticle", "Thesis", "Report", "TechArticle"))
_LONG = 150  # characters of a paragraph; captions, links and menus are shorter
_FULL = 5  # such paragraphs beside the abstract make a full text
_TAGS = re.compile(r"<[^<>]{1,200}>")
_NAMES = names_in("html")


class Html:
    """Pages of papers."""

    name = "html"
    description = "a saved web page of a paper: meta tags, JSON-LD, abstract and text; nothing is fetched"
    endings = (".html", ".htm", ".xhtml")

    def sniff(self, path: Path, head: bytes) -> float:
        """0.9 for a text that begins like HTML, else 0."""
        return 0.9 if _START.match(head) else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """The paper of the page, after remarks.

        Raises:
            BadInput: it is not HTML, or does not show a paper.
        """
        root = parsed(file.content(LIMITS.line_bytes), file.path)
        meta, linked = _meta(root), _linked_data(root)
        body = _body(root)
        blocks = list(blocks_of(body)) if body is not None else []
        title = _first(meta, "title") or one_line(linked.get("headline") or linked.get("name"))
        stated = _plain(_first(meta, "abstract"))
        described = _plain(linked.get("abstract") or linked.get("description"))
        found = outline_of(blocks, title, "")
        known = title and (linked or "citation_title" in meta or _first(meta, "authors") or found.abstract)
        if not known and not (found.title and found.abstract):
            raise _no_paper(file.path)
        abstract = max(found.abstract, stated, described, key=len)
        full = _is_full_text(blocks, abstract) or not title
        dates = [one for name in _NAMES.attributes["year"] for one in meta.get(name, ())]
        dates.append(one_line(linked.get("datePublished")))
        words = meta.get("citation_keywords", [])
        texts = _NAMES.shared_texts(lambda name: meta.get(name, [""])[0])
        start, end = texts.pop("first"), texts.pop("last")
        metadata = {
            **texts,
            "pages": f"{start}-{end}" if start and end else start,
            "keywords": words[0] if len(words) == 1 else words,
            "date": dates[0],
            "meta": {name: values if len(values) > 1 else values[0] for name, values in meta.items()},
            "file": clean(file.path.name),
            "front_matter": found.front if full else "",
        }
        if not full and blocks:
            reason = (
                "a page about the paper: beside title and abstract, its text is the site's and is not kept"
            )
            yield Remark("file", reason, skipped=False)
        yield from assemble(
            "file",
            options,
            title=title or found.title,
            abstract=abstract,
            authors=_authors(meta, linked, root),
            year=tuple(dates),
            venue=_first(meta, "venue") or _part_of(linked),
            identifiers=list(_identifiers(meta, linked)),
            url=_address(root, meta),
            language=_first(meta, "language") or root.get("lang"),
            sections=found.sections if full else (),
            references=found.references if full else (),
            metadata=storable(metadata),
        )


def _no_paper(path: Path) -> BadInput:
    return BadInput(
        f"{path} is no page of a paper",
        why="it has neither meta tags of a paper (citation_title ...) nor a title with an abstract",
        hint="export the record as RIS or BibTeX, or save the paper as PDF",
    )


def _meta(root: Element) -> dict[str, list[str]]:
    """Name of a meta tag in lower case -> its contents, those of papers only."""
    out: dict[str, list[str]] = {}
    for node in root.iter("meta"):
        name = one_line(node.get("name") or node.get("property")).casefold().replace(":", ".")
        content = one_line(node.get("content"))
        if content and name.startswith(("citation_", "dc.", "dcterms.", "prism.", "bepress_", "eprints.")):
            if name == "citation_reference":
                continue  # works that the paper cites
            out.setdefault(name, []).append(content)
    return out


def _first(meta: Mapping[str, list[str]], attribute: str) -> str:
    return next((meta[name][0] for name in _NAMES.attributes[attribute] if name in meta), "")


def _plain(value: object) -> str:
    """A text that may hold tags, without them."""
    if not isinstance(value, str):
        return ""
    text = re.sub(r"</(?:jats:)?(?:p|title|sec)>", "\n\n", value)
    text = "\n\n".join(part for part in map(one_line, _TAGS.sub(" ", text).split("\n\n")) if part)
    return re.sub(r"^abstract\s{0,3}[.:]?\s", "", text, flags=re.I)


def _linked_data(root: Element) -> dict[str, Any]:
    """The first JSON-LD object on the page that is a scholarly article, or {}."""
    for node in root.iter("script"):
        if "ld+json" not in (node.get("type") or "") or not node.text:
            continue
        try:
            waiting: list[Any] = [json.loads(node.text)]
        except (ValueError, RecursionError):
            continue
        for _ in range(1000):
            if not waiting:
                break
            held = waiting.pop(0)
            if isinstance(held, list):
                waiting += held
            elif isinstance(held, dict):
                kinds = held.get("@type")
                if _SCHOLARLY & {str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds])}:
                    return held
                waiting += [
                    held[name] for name in ("@graph", "mainEntity", "mainEntityOfPage") if name in held
                ]
    return {}


def _authors(meta: Mapping[str, list[str]], linked: Mapping[str, Any], root: Element) -> list[str]:
    for name in _NAMES.attributes["authors"]:
        if stated := meta.get(name):
            if len(stated) == 1 and (";" in stated[0] or name == "citation_authors"):
                return split_names(stated[0].strip("; "))
            return [*map(person, stated)]
    people = linked.get("author") or linked.get("creator") or []
    found = [person(one) for one in (people if isinstance(people, list) else [people])]
    if any(found):
        return found
    nodes = root.iterfind(".//span[@class='ltx_personname']")  # LaTeXML, as arXiv uses it
    return [one for node in nodes for one in split_names(" ".join(_own_text(node)))]


def _own_text(node: Element) -> Iterator[str]:
    """Text of a node without footnotes and superscripts."""
    yield node.text or ""
    for child in node:
        if child.tag in ("span", "a") and "note" not in (child.get("class") or ""):
            yield from (text for text in child.itertext() if isinstance(text, str))
        elif child.tag == "br":
            yield " ; "
        yield child.tail or ""


def _part_of(linked: Mapping[str, Any]) -> str:
    """The journal in JSON-LD: the outermost thing that the article is part of."""
    held, name = linked.get("isPartOf"), ""
    for _ in range(5):
        held = held[0] if isinstance(held, list) and held else held
        if not isinstance(held, dict):
            break
        name = one_line(held.get("name")) or name
        held = held.get("isPartOf")
    return name


def _identifiers(meta: Mapping[str, list[str]], linked: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for scheme in ("doi", "pmid", "arxiv", "isbn", "pmcid"):
        names = _NAMES.attributes[scheme]
        yield from ((scheme, value) for name in names for value in meta.get(name, ()))
    values: list[Any] = [v for name in ("dc.identifier", "dcterms.identifier") for v in meta.get(name, ())]
    values += [linked.get(name) for name in ("sameAs", "@id", "url", "identifier")]
    for value in values:
        for one in value if isinstance(value, list) else [value]:
            text = one.get("value") if isinstance(one, dict) else one
            if isinstance(text, str) and (found := parse_identifier(text)):
                yield found


def _address(root: Element, meta: Mapping[str, list[str]]) -> str:
    for node in root.iter("link"):
        if (node.get("rel") or "").casefold() == "canonical" and "://" in (node.get("href") or ""):
            return one_line(node.get("href"))
    for node in root.iter("meta"):
        if node.get("property") == "og:url" and "://" in (node.get("content") or ""):
            return one_line(node.get("content"))
    return _first(meta, "url")


def _body(root: Element) -> Element | None:
    """The element with the paper: the article or main part where it has most of the long paragraphs."""
    whole = next(root.iter("body"), None)
    if whole is None:
        return None
    size = _prose(whole)
    for name in ("article", "main"):
        best = max(root.iter(name), key=_prose, default=None)
        if best is not None and 2 * _prose(best) > size:
            return best
    return whole


def _prose(node: Element) -> int:
    """Characters in paragraphs and headings."""
    return sum(
        len(text)
        for part in node.iter("p", "h1", "h2", "h3")
        for text in part.itertext()
        if isinstance(text, str)
    )


def _is_full_text(blocks: list[Block], abstract: str) -> bool:
    long = [block.text for block in blocks if not block.level and len(block.text) >= _LONG]
    return sum(text[:100] not in abstract for text in long) >= _FULL


SOURCES.register("html")(Html())
