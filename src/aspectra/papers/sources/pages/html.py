"""HTML in reading order, and a saved web page of one paper: a publisher's, arXiv's, PubMed's.

Title, authors, year, identifiers come from its meta tags (Highwire's ``citation_*``, Dublin Core) and its
JSON-LD; abstract and full text from the page. If a page has only the abstract, the rest of it belongs to
the site. Nothing is fetched, and a page that does not show a paper is refused.
"""

from __future__ import annotations

import codecs
import contextlib
import html.entities
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from aspectra.base.errors import BadInput
from aspectra.papers.bibliography import names_in
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.names import person, split_names
from aspectra.papers.paper import Paper, Section, normalise_title
from aspectra.papers.sources.assembly import assemble, role_of
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import Element, without_namespaces
from aspectra.papers.text.cleaning import clean, one_line, storable
from aspectra.papers.text.references import ABSTRACT_NAMES, REFERENCES_NAMES, read_reference
from aspectra.papers.text.structure import Outline, bare_heading, outline

# Headings and paragraphs of a document in reading order, and the paper that they make up.
#
# HTML, DOCX and EPUB share this. No word is lost: text before the first heading is the front matter where an
# abstract follows, else a section without heading.

_ABSTRACT = re.compile(ABSTRACT_NAMES, re.I)
_REFERENCES = re.compile(REFERENCES_NAMES, re.I)
_LABELLED = re.compile(r"abstract\s?[.:—–-]\s?(\S.*)", re.I | re.S)
_ENTRY = re.compile(r"\[?\d{1,4}[\].]\s?")


_Group = tuple[int, str, list[str]]  # level and text of a heading, the paragraphs under it


class Block(NamedTuple):
    """One heading or paragraph.

    Attributes:
        level: 1 to 9 for a heading, 0 for a paragraph.
        text: on one line.
    """

    level: int
    text: str


def outline_of(blocks: Iterable[Block], title: str = "", abstract: str = "") -> Outline:
    """The parts of a paper in its blocks.

    Args:
        blocks: in reading order.
        title: where it is known from elsewhere; else the first heading, where nothing stands before it and no
            other heading of its level follows.
        abstract: where it is known from elsewhere; else what stands under a heading such as *Abstract*.
    """
    held = [block for block in blocks if block.text]
    if not any(block.level for block in held):
        return _without_headings(held, title, abstract)
    if not title:
        title, held = _title(held)
    same = normalise_title(title)
    front, groups = list[str](), list[_Group]()
    for level, text in held:
        if level and normalise_title(text) == same and not groups:
            continue  # the title once more
        if level:
            groups.append((level, bare_heading(one_line(text)), []))
        elif groups:
            groups[-1][2].append(text)
        elif normalise_title(text) != same:
            front.append(text)
    found, groups = _abstract(groups)
    if not found:
        found, front = _labelled(front)
    sections = list[Section]()
    references = list[str]()
    for _, heading, texts in groups:
        if _REFERENCES.fullmatch(heading):
            references += [_ENTRY.sub("", text, count=1) if _ENTRY.match(text) else text for text in texts]
        elif heading or texts:
            sections.append(Section(heading, "\n\n".join(texts)))
    if abstract and found and normalise_title(abstract) != normalise_title(found):
        # The page states a shorter one, or another: the longer is the abstract, the other is kept too.
        shorter, longer = sorted((abstract, found), key=len)
        if normalise_title(shorter.rstrip(" .…")[:200]) not in normalise_title(longer):
            sections.insert(0, Section("Abstract", shorter))
        abstract = longer
    abstract = abstract or found
    if front and not abstract:
        sections.insert(0, Section("", "\n\n".join(front)))
        front = []
    return Outline(
        one_line(title),
        "\n\n".join(front),
        clean(abstract),
        tuple(sections),
        tuple(map(read_reference, references)),
    )


def _without_headings(blocks: Sequence[Block], title: str, abstract: str) -> Outline:
    found = outline("\n\n".join(block.text for block in blocks), title=title, markdown=False)
    if not abstract:
        return found
    sections = found.sections
    if found.abstract and normalise_title(found.abstract) != normalise_title(abstract):
        sections = (Section("Abstract", found.abstract), *sections)
    return Outline(found.title, found.front, abstract, sections, found.references)


def _title(blocks: Sequence[Block]) -> tuple[str, list[Block]]:
    """(the title or "", the blocks without it)."""
    first = next((number for number, block in enumerate(blocks) if block.level), 0)
    level, text = blocks[first]
    same = sum(block.level == level for block in blocks)
    special = _ABSTRACT.fullmatch(bare_heading(text)) or _REFERENCES.fullmatch(bare_heading(text))
    if special or (same > 1 and level > 1) or (same > 1 and first > 0):
        return "", list(blocks)
    return text, [*blocks[:first], *blocks[first + 1 :]]


def _abstract(groups: list[_Group]) -> tuple[str, list[_Group]]:
    """(text under the first heading *Abstract* with its parts, the other groups)."""
    at = next((n for n, (_, heading, _) in enumerate(groups[:12]) if _ABSTRACT.fullmatch(heading)), None)
    if at is None:
        return "", groups
    level, _, texts = groups[at]
    parts, end = list(texts), at + 1
    while end < len(groups) and groups[end][0] > level and (not parts or role_of(groups[end][1]) != "other"):
        _, heading, more = groups[end]
        label = heading.rstrip(":.")
        parts += [f"{label}: {more[0]}", *more[1:]] if more else [label]
        end += 1
    return ("\n\n".join(parts), groups[:at] + groups[end:]) if parts else ("", groups)


def _labelled(front: list[str]) -> tuple[str, list[str]]:
    """(the paragraph that begins with *Abstract:*, the others)."""
    for number, text in enumerate(front):
        if found := _LABELLED.fullmatch(text):
            return found[1], front[:number] + front[number + 1 :]
        if _ABSTRACT.fullmatch(text.strip(" .:")) and number + 1 < len(front):
            return front[number + 1], front[:number] + front[number + 2 :]
    return "", front


_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s?=\s?[\"']?\s?([A-Za-z0-9_:.-]{2,40})", re.I)
_SKIPPED = frozenset(
    "script style template noscript svg nav footer aside form button select iframe head annotation "
    "annotation-xml object audio video canvas dialog menu".split()
)
_BLOCKS = frozenset(
    "p div li ul ol dl dt dd section article main header table tr caption thead tbody blockquote pre figure "
    "figcaption address hr h1 h2 h3 h4 h5 h6 body html details summary fieldset center".split()
)
_QUOTED, _BETWEEN = re.compile(rb"\"[^\"]*+\"|'[^']*+'"), re.compile(rb"[\s/=]++")
_LONG_TAG = 2000  # bytes of a tag whose attributes are counted
_MOST_COMPARED = 400_000_000  # one second
_XHTML = re.compile(r"\s*+(?:<\?xml|<!DOCTYPE\s[^<>]{0,200}XHTML|<html[^<>]{0,500}\sxmlns)", re.I)
_DECLARATIONS = re.compile(r"\s*+(?:<\?xml[^<>]{0,200}\?>\s*+)?(?:<!DOCTYPE[^<>\[]{0,500}>)?", re.I)
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_EMPTY = re.compile(r"<(title|script|style|a|div|span|p|i|b|em|td|textarea)((?:\s[^<>]{0,1000})?)/>", re.I)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def parsed(content: bytes, path: Path) -> Element:
    """The root element of a page.

    Raises:
        BadInput: it has no elements, too many, or elements that are nested too deeply.
    """
    why = f"more than {LIMITS.values:,} tags" if content.count(b"<") > LIMITS.values else ""
    if not why and _comparisons(content) > _MOST_COMPARED:
        why = "an element has far too many attributes"
    if why:
        raise BadInput(
            f"{path} is larger than any paper", why=why, hint="save the paper as PDF, and add that"
        )
    text = storable(_decoded(content))
    if _XHTML.match(text):
        if (strict := _as_xml(text)) is not None:
            return strict
        text = _EMPTY.sub(r"<\1\2></\1>", text)
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, recover=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise BadInput(
            f"{path} is nested too deeply to be read as a whole",
            why="text would be lost",
            hint="save the paper as PDF, and add that",
        )
    if root is None:
        raise BadInput(f"{path} holds no HTML", hint="save the page again, or export the record as RIS")
    return root


def _comparisons(content: bytes) -> int:
    """About how often libxml2 compares attributes of one element with one another: the square of how many."""
    tags = (_QUOTED.sub(b"", tag).partition(b">")[0] for tag in content.split(b"<") if len(tag) > _LONG_TAG)
    return sum(len(_BETWEEN.findall(tag)) ** 2 for tag in tags)


def _as_xml(text: str) -> Element | None:
    """The root element of XHTML, without namespaces; None where it is not well-formed or declares entities.

    To HTML an element such as ``<title/>`` is not closed, and would take the rest of the page.
    """
    if "<!ENTITY" in text:
        return None
    plain = _ENTITY.sub(_character, _DECLARATIONS.sub("", text, count=1))
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
    )
    try:
        return without_namespaces(etree.fromstring(plain.encode("utf-8", "replace"), parser))
    except (etree.XMLSyntaxError, ValueError):
        return None


def _character(found: re.Match[str]) -> str:
    """The character of a named entity that XML does not know."""
    known = html.entities.html5.get(found[1] + ";", "")
    return found[0] if found[1] in ("amp", "lt", "gt", "quot", "apos") else known


def _decoded(content: bytes) -> str:
    """The text: by byte order mark, as UTF-8, by the charset that the page states, else as Windows-1252."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        stated = _CHARSET.search(content[:4096])
    with contextlib.suppress(LookupError):
        if stated:
            return content.decode(stated[1].decode("ascii"), "replace")
    return content.decode("cp1252", "replace")


def blocks_of(root: Element, *, skipped: frozenset[str] = _SKIPPED) -> Iterator[Block]:
    """Headings and paragraphs inside an element, in order; menus, forms and hidden parts are left out.

    The cells of a row of a table are one paragraph.
    """
    parts: list[str] = []
    level = 0

    def flush() -> Iterator[Block]:
        text = one_line("".join(parts)).strip("| ")
        parts.clear()
        if text:
            yield Block(level, text)

    # A stack instead of recursion: pages nest deeply. It holds elements to open, texts, and tags to close.
    stack: list[tuple[Element | None, str, str]] = [(root, "", "")]
    while stack:
        node, text, closed = stack.pop()
        if node is None:
            if closed in _BLOCKS:
                yield from flush()
                level = 0 if closed in _HEADINGS else level
            parts.append(text)
            continue
        if node is not root and node.tail:
            stack.append((None, node.tail, ""))
        tag = node.tag if isinstance(node.tag, str) else ""
        if not tag or tag in skipped or (node is not root and _hidden(node)):
            parts.append(" ")
            continue
        if tag == "math" and (spelled := node.get("alttext")):
            parts.append(f" {spelled} ")
            continue
        if tag in _BLOCKS:
            yield from flush()
            level = _HEADINGS.get(tag, level)
        elif tag == "br":
            parts.append(" ")
        elif tag in ("td", "th"):
            parts.append(" | ")
        stack.append((None, "", tag))
        stack.extend((child, "", "") for child in reversed(node))
        parts.append(node.text or "")
    yield from flush()


def _hidden(node: Element) -> bool:
    style = node.get("style") or ""
    return (
        node.get("hidden") is not None
        or node.get("aria-hidden") == "true"
        or ("display" in style and "none" in style.partition("display")[2][:8])
        or node.get("role") in ("navigation", "search", "banner", "dialog", "menu")
    )


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
    texts = (text for part in node.iter("p", "h1", "h2", "h3") for text in part.itertext())
    return sum(len(text) for text in texts if isinstance(text, str))


def _is_full_text(blocks: list[Block], abstract: str) -> bool:
    long = [block.text for block in blocks if not block.level and len(block.text) >= _LONG]
    return sum(text[:100] not in abstract for text in long) >= _FULL


SOURCES.register("html")(Html())
