"""Zotero's items as papers, and what of a Zotero library is new.

Source: the item types and fields of Zotero's API, version 3 (zotero.org/support/dev/web_api/v3); the types'
CSL names are in ``bibliography.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal, Protocol

from aspectra.papers.bibliography import names_in, shared_text
from aspectra.papers.identifiers import parse_identifier, scheme_of
from aspectra.papers.names import person
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble
from aspectra.papers.sources.protocol import ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line, storable

CHILDREN = ("note", "attachment", "annotation")
"""Types of items that are no papers."""


@dataclass
class SyncState:
    """The state of one Zotero library that is kept between syncs; stored as JSON.

    Attributes:
        origin: where it was read from: ``database`` and the file's place, or ``api`` and the server's id.
            What was read from another origin has other versions, so everything is compared anew.
        version: the library's version as the origin counts; 0 where it has none.
        signature: of the database's files, as they were; "" of an API.
        stamps: key of every item -> what changes whenever the item does.
        parents: key of a note, attachment or annotation -> key of its parent.
        papers: key of a regular item -> id of its paper here; kept with the papers, not in the JSON.
        collections: key -> path, as ``Reviews / Neural``.
        pdfs: key of an attached PDF -> where it is (see :func:`pdf_path`), when it was added, and under
            ``read`` what its file was when it was read.
    """

    origin: str = ""
    version: int = 0
    signature: str = ""
    stamps: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    papers: dict[str, str] = field(default_factory=dict)
    collections: dict[str, str] = field(default_factory=dict)
    pdfs: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class ItemChanges:
    """The changes of a Zotero library since the last sync.

    Attributes:
        none: True if nothing changed; all else is empty then.
        items: key -> item in the JSON of Zotero's API (its ``data``), for every item of any type that is new
            or another. Those in the trash are not among them.
        stamps: as in :class:`SyncState`, of all items that there are.
        version, signature, origin: as there.
        collections: as there, of all collections.
    """

    none: bool = False
    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict)
    version: int = 0
    signature: str = ""
    origin: str = ""
    collections: dict[str, str] = field(default_factory=dict)


class ZoteroSource(Protocol):
    """Reads one library of Zotero, its own or a group's.

    Attributes:
        library: ``users/0`` for a person's own, ``groups/N`` for a group's.
        place: where it is read from, for people.
    """

    library: str
    place: str

    def changes(self, known: SyncState, progress: Callable[[str, int, int], None]) -> ItemChanges:
        """Read the changes since the known state.

        Raises:
            AspectraError: it cannot be read.
        """
        ...


def collection_paths(rows: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Key -> names from the top down, out of (key, name, key of the parent or "").

    >>> collection_paths([("A", "Reviews", ""), ("B", "Neural", "A")])
    {'A': 'Reviews', 'B': 'Reviews / Neural'}
    """
    known = {key: (one_line(name), parent) for key, name, parent in rows}
    paths: dict[str, str] = {}
    for key in known:
        names: list[str] = []
        at, seen = key, set[str]()
        while at in known and at not in seen:  # a damaged database may have a circle
            seen.add(at)
            names.append(known[at][0])
            at = known[at][1]
        paths[key] = " / ".join(reversed(names))
    return paths


def pdf_path(item: Mapping[str, Any], data: Path | None, base: Path | None) -> Path | None:
    """The path of an attached PDF on this computer; None if it is not a PDF, or its path is not known.

    Args:
        item: the attachment in the API's JSON.
        data: Zotero's data folder, which has ``storage`` in it.
        base: the folder that linked files are relative to, where the user set one.
    """
    if item.get("contentType") != "application/pdf":
        return None
    if item.get("linkMode") in ("imported_file", "imported_url"):
        name, key = str(item.get("filename") or ""), str(item.get("key") or "")
        plain = name not in ("", ".", "..") and not {"/", "\\", "\0"} & set(name)
        return data / "storage" / key / name if data and plain and key.isalnum() else None
    path = str(item.get("path") or "")
    if item.get("linkMode") != "linked_file" or "\0" in path or path.startswith(("\\\\", "//")):
        return None  # a path of a network would open a connection
    if path.startswith("attachments:"):
        inner = path.removeprefix("attachments:")
        parts = (*PurePosixPath(inner).parts, *PureWindowsPath(inner).parts)
        outside = ".." in parts or PurePosixPath(inner).is_absolute() or PureWindowsPath(inner).drive
        return None if base is None or outside else base / inner
    return Path(path) if Path(path).is_absolute() else None


_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr "
    "li main ol p pre section table td th tr ul".split()
)
_UNSEEN = frozenset(("script", "style", "head", "title", "template"))


@dataclass(frozen=True, slots=True)
class ItemNote:
    """One note or annotation.

    Attributes:
        key: Zotero's key of it.
        kind: ``note`` or ``annotation``.
        text: the person's own words: the note, or the comment on a passage; may be "".
        quote: the passage that was marked, or "".
        page: label of its page as printed, or "".
        colour: ``#rrggbb``, or "".
    """

    key: str
    kind: Literal["note", "annotation"]
    text: str = ""
    quote: str = ""
    page: str = ""
    colour: str = ""


class _Text(HTMLParser):
    """Collects the text of HTML; a block begins a line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _UNSEEN
        self.parts.append("\n" if tag in _BLOCKS else "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(0, self._hidden - (tag in _UNSEEN))
        self.parts.append("\n" if tag in _BLOCKS else "")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def html_text(html: str) -> str:
    r"""The text of a note's HTML, a line for each block.

    >>> html_text("<h1>Plan</h1><p>read <b>this</b> &amp; that</p><ul><li>one</li></ul>")
    'Plan\nread this & that\none'
    """
    parser = _Text()
    parser.feed(clean(html))
    parser.close()
    lines = (one_line(line) for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line)


def note_html(paragraphs: list[tuple[str, str]]) -> str:
    """HTML of a note that Zotero shows, out of (element, text) pairs; the element is h1, p or blockquote."""
    from html import escape

    shown = ((element, escape(text, quote=False)) for element, text in paragraphs)
    return "\n".join(
        f"<{element}>{f'<p>{text}</p>' if element == 'blockquote' else text}</{element}>"
        for element, text in shown
    )


def read_note(item: Mapping[str, Any]) -> ItemNote | None:
    """The note or annotation of an item in the API's JSON; None where it holds no words, or is neither."""
    kind, key = item.get("itemType"), str(item.get("key", ""))
    if kind == "note":
        text = html_text(str(item.get("note") or ""))
        return ItemNote(key, "note", text) if text else None
    if kind != "annotation":
        return None
    text, quote = clean(item.get("annotationComment")), one_line(item.get("annotationText"))
    if not text and not quote:
        return None  # a drawing, or a picture without a comment
    page, colour = one_line(item.get("annotationPageLabel")), one_line(item.get("annotationColor"))
    return ItemNote(key, "annotation", text, quote, page, colour)


NAMES = names_in("zotero")
_EXTRA = re.compile(r"^[^\S\n]*+([A-Za-z][A-Za-z _]{0,30}+):[^\S\n]*+(\S.*)$", re.M)
_SECOND = ("editor", "seriesEditor", "translator", "reviewedAuthor", "recipient", "commenter", "contributor")
# What the paper holds elsewhere, and what changes without the record changing.
_KEPT_ELSEWHERE = frozenset(
    "abstractNote key version dateModified tags collections notes attachments relations".split()
)


def _text(item: Mapping[str, Any], name: str) -> str:
    return one_line(shared_text(item, name))


def _listed(item: Mapping[str, Any], name: str) -> list[Any]:
    value = item.get(name)
    return value if isinstance(value, list) else []


def _extra(item: Mapping[str, Any]) -> dict[str, str]:
    """``Name: value`` lines of the extra field, names in lower case; the first of a name wins."""
    found: dict[str, str] = {}
    extra = item.get("extra")
    for name, value in _EXTRA.findall(extra) if isinstance(extra, str) else ():
        found.setdefault(name.casefold().strip(), value.strip())
    return found


def citation_key(item: Mapping[str, Any]) -> str:
    """The item's citation key: its own field, Better BibTeX's, or a line of the extra field; "" for none."""
    own = _text(item, "citationKey") or _text(item, "citekey") or _text(item, "citation-key")
    return own or one_line(_extra(item).get("citation key", ""))


def item_tags(item: Mapping[str, Any], *, automatic: bool) -> list[str]:
    """The item's tags that a person gave, or those that came with the record (``type`` 1), in order."""
    found = []
    for tag in _listed(item, "tags"):
        if isinstance(tag, str):
            name, kind = tag, 0
        elif isinstance(tag, Mapping):
            name, kind = tag.get("tag") or "", tag.get("type") or 0
        else:
            continue
        if (kind == 1) == automatic and (name := one_line(name)) and name not in found:
            found.append(name)
    return found


def _people(item: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """(authors, editors). An item without authors has those who made it: inventors, directors, presenters."""
    by_type: dict[str, list[str]] = {}
    for creator in _listed(item, "creators"):
        # A name in one field is an institution's: "Department of X, University of Y" is not turned round.
        if isinstance(creator, Mapping) and (name := person(creator, turn=False)):
            by_type.setdefault(str(creator.get("creatorType") or "author"), []).append(name)
    first = next((names for kind, names in by_type.items() if kind not in _SECOND), [])
    return by_type.get("author", first), by_type.get("editor", [])


def _identifiers(item: Mapping[str, Any], extra: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    yield from ((name.casefold(), item.get(name)) for name in ("DOI", "ISBN", "PMID", "PMCID"))
    for name, value in extra.items():
        if scheme := scheme_of(name):
            yield scheme, value
    for name in ("archiveID", "url", "number"):
        stated = item.get(name)
        if isinstance(stated, str) and (found := parse_identifier(stated)):
            yield found


def item_paper(
    item: Mapping[str, Any],
    place: str,
    options: ReadOptions,
    *,
    own_id: str = "",
    keywords: Sequence[str] | None = None,
    zotero: Mapping[str, Any] | None = None,
) -> Iterator[Paper | Remark]:
    """The paper of one regular item (no note, attachment or annotation), with remarks.

    Args:
        item: its fields, as ``data`` of the API's JSON.
        place: for remarks.
        options: limits.
        own_id: the id of the paper; the citation key, else the item's key, where "".
        keywords: for the metadata; all tags where None.
        zotero: kept as ``metadata["zotero"]`` together with the item's fields.

    Raises:
        ValueError: the item is nested too deeply to be one.
    """
    extra = _extra(item)
    authors, editors = _people(item)
    tags = [*item_tags(item, automatic=False), *item_tags(item, automatic=True)]
    metadata: dict[str, Any] = {
        "type": NAMES.types.get(_text(item, "itemType"), "document"),
        **NAMES.shared_texts(lambda name: _text(item, name)),
        "note": clean(item["extra"]) if isinstance(item.get("extra"), str) else "",
        "keywords": list(tags if keywords is None else keywords),
        "editors": editors,
        "is_retracted": item.get("is_retracted", ""),
    }
    fields = {
        k: v for k, v in item.items() if k not in _KEPT_ELSEWHERE and v not in (None, "", [], {}, False)
    }
    metadata["zotero"] = {**(zotero or {}), "item": storable(fields)}
    yield from assemble(
        place,
        options,
        own_id=own_id or citation_key(item) or _text(item, "key") or _text(item, "itemKey"),
        title=next((t for name in NAMES.attributes["title"] if (t := _text(item, name))), ""),
        abstract=item["abstractNote"] if isinstance(item.get("abstractNote"), str) else "",
        authors=authors,
        year=metadata["date"],
        venue=next((v for name in NAMES.attributes["venue"] if (v := _text(item, name))), ""),
        identifiers=_identifiers(item, extra),
        url=_text(item, "url"),
        language=_text(item, "language"),
        metadata=metadata,
    )
