"""The papers in the rows of a table, whatever program wrote it.

Every column stays in ``metadata["table"]`` under its own name, but for those that a title and an abstract
were taken from unchanged. A cell that holds a whole RIS record fills what the columns leave open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.base.values import replace
from aspectra.papers.bibliography import csl_types, names_in
from aspectra.papers.identifiers import addresses_in, named_identifiers, normalise, parse_identifier
from aspectra.papers.names import given_first
from aspectra.papers.paper import Paper
from aspectra.papers.sources.assembly import assemble, each
from aspectra.papers.sources.children import InnerFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tables.columns import Header, folded, list_in, people_in, screening_of, words
from aspectra.papers.text.cleaning import clean, one_line, storable

MOST_BEFORE = 20
"""Rows that may stand before the header: names of the search, the date of the export."""

_LISTED = 40  # names of columns in a message
_CITATION = re.compile(
    r"(?P<venue>[^()]{2,300}?)\s?\((?P<year>1[4-9]\d\d|20\d\d)\)(?:\s(?P<volume>[^\s():.]{1,20})"
    r"(?::(?P<issue>[^\s():]{1,30}))?)?(?:\s\((?P<pages>[^()]{1,40})\))?(?:[.,\s].{0,500})?"
)
_LINKED_DOI = re.compile(r"doi(?:=|:|%3A|\.org/)(10\.[^&;#\s]+)", re.I)
_RIS = re.compile(r"\s{0,20}TY {0,4}- {0,4}[A-Z]")
_CODE = re.compile(r"[^\s\d]*\d\S*")
_GUARD = re.compile(r"'(?=[\"'\s]{0,20}[=+\-@|;\uff1d\uff0b\uff0d\uff20\uff5c\uff1b])")
_OWN = tuple("id title authors year venue doi arxiv pmid url language keywords abstract".split())
_MARKS = (("tags", "; "), ("notes", "\n"))  # in tables of ours, and what parts them

Row = tuple[str, Sequence[str]]
"""(place of a row for people, its cells)."""


def find_header(rows: Iterable[Sequence[str]]) -> tuple[int, Header]:
    """(number from 0, the header): the row with the most known names among the first; row 0 without any."""
    found = [(number, Header.of(cells)) for number, cells in enumerate(islice(rows, MOST_BEFORE + 1))]
    if not found:
        return 0, Header(())
    return max(found, key=lambda one: (one[1].titled or one[1].identified, one[1].known, -one[0]))


def are_rows(lines: Iterable[Sequence[str]], width: int) -> bool:
    """True if these lines, cut into cells, are all rows of a table of this width, not a text with commas.

    Two lines may have equal numbers of cells by chance, such as two lines of authors: a column must have a
    number, a DOI or an address in both.
    """
    cut: list[Sequence[str]] = []
    for line in lines:  # the first other line ends it: a text may have millions
        if len(line) != width or width < 3 or any(cell[:1].isspace() for cell in line):
            return False
        cut.append(line)
    return len(cut) != 2 or any(all(map(_CODE.fullmatch, pair)) for pair in zip(*cut, strict=True))


def papers_in_rows(
    path: Path, rows: Iterable[Row | Remark], options: ReadOptions
) -> Iterator[Paper | Remark]:
    """Papers and remarks of a table, in its order.

    Args:
        path: of the file, for messages.
        rows: (place, cells) of every row, the header among the first.
        options: limits.

    Raises:
        BadInput: the table has no rows, or no column of titles, abstracts or identifiers.
    """
    waiting = iter(rows)
    head: list[Row] = []
    for item in waiting:
        if isinstance(item, Remark):
            yield item
            continue
        head.append(item)
        if len(head) > MOST_BEFORE:
            break
    at, header = find_header(cells for _, cells in head)
    if not header.titled and not header.identified and not header.abstracted:
        raise _no_titles(path, header)
    for place, cells in head[:at]:
        if text := one_line(" ".join(cells))[:200]:
            yield Remark(place, f"stands before the header, is not read: {text}", skipped=False)
    if not header.titled:
        kept = "abstracts" if header.abstracted else "identifiers, to be completed later"
        why = f"no column holds titles: papers are kept by their {kept}"
        yield Remark("file", why, skipped=False)
    table = _Table(header, path, [cells for _, cells in head[at + 1 :]])

    def placed() -> Iterator[tuple[str, Row | Remark]]:
        yield from ((row[0], row) for row in head[at + 1 :])
        for item in waiting:
            yield ("", item) if isinstance(item, Remark) else (item[0], item)

    filled = (one for one in placed() if isinstance(one[1], Remark) or any(map(str.strip, one[1][1])))
    yield from each(filled, table.paper, options)


def _no_titles(path: Path, header: Header) -> BadInput:
    names = ", ".join(header.names[:_LISTED])
    if more := len(header.names) - _LISTED:
        names += f" and {more} more" if more > 0 else ""
    return BadInput(
        f"{path} is a table without a column of titles or abstracts",
        why=f"its columns are: {names}" if names else "it has no row",
        hint="name the column that holds the titles `title` and add the file again, or export as RIS",
    )


def _repeats_header(cells: Sequence[str]) -> bool:
    """True if most cells are names of columns; a paper may be called "Title", and its journal "Journal"."""
    return Header.of(cells).known > max(1, sum(map(bool, cells)) / 2)


class _Table:
    """Reads the rows of one table."""

    def __init__(self, header: Header, path: Path, first: Sequence[Sequence[str]]) -> None:
        held = words()
        self._header, self._path = header, path
        self._attributes = header.group(held.attributes)
        self._identifiers = header.group(held.identifiers)
        self._shared = header.group(held.shared)
        authors = self._attributes["authors"]
        parted = any(";" in cells[n] for cells in first for n in authors if n < len(cells))
        self._people = partial(people_in, semicolons=parted)
        self._lists = header.group(held.lists)
        self._kept = header.group(held.kept)
        self._screening = header.group(held.screening)
        self._ours = tuple(header.names[: len(_OWN)]) == _OWN  # marks follow
        if self._ours:  # what the searcher said, not what the record says
            self._lists["keywords"] = header.columns(["keywords"])
            self._shared["note"] = header.columns(["note"])
        self._databases = frozenset(held.databases["names"])

    def paper(self, row: Row, place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
        cells = _Cells(row[1], self._header, guarded=self._ours)
        if extra := [cell for cell in cells.values[len(self._header.names) :] if cell.strip()]:
            reason = f"{len(extra)} cells more than the header has names: kept, check the quotes of this row"
            yield Remark(place, reason, skipped=False)
        record = self._ris(cells, options) or Paper("")
        title, abstract = cells.first(self._attributes["title"]), cells.first(self._attributes["abstract"])
        if folded(title) in words().attributes["title"] and _repeats_header(row[1]):
            yield Remark(place, "repeats names of columns: left out", skipped=False)
            return
        year, venue, shared = self._facts(cells)
        stated = (one for n in self._attributes["url"] for one in addresses_in(cells.text(n)))
        urls = [url for url in stated if self._ours or "://" in url]
        people = cells.first(self._attributes["authors"])
        # Ours stand as they are printed: an institution with "and" is one.
        authors = list(map(given_first, people.split(";"))) if self._ours else self._people(people)
        identifiers = [*self._named(cells), *_linked(urls)]
        metadata: dict[str, Any] = {**shared, "table": cells.all(but=(title, abstract))}
        said = cells.named() if self._ours else {}
        if marks := {name: str(said[name]).split(sign) for name, sign in _MARKS if name in said}:
            metadata["marks"] = marks
        identifiers += record.identifiers.items()
        if record.id and not (title or record.title) and not abstract:
            yield Remark(place, "has no title", skipped=False)
        elif self._attributes["title"] and not title and abstract and not record.id:
            yield Remark(place, "has no title: kept by its abstract", skipped=False)
        yield from assemble(
            place,
            options,
            own_id=self._own_id(cells),
            title=title or record.title,
            abstract=abstract or record.abstract,
            authors=authors or record.authors,
            year=(*year, record.year),
            venue=venue or record.venue,
            identifiers=identifiers,
            url=urls[0] if urls else record.url,
            language=cells.first(self._attributes["language"]) or record.language,
            unread=storable({**record.metadata, **metadata}),
        )

    def _own_id(self, cells: _Cells) -> str:
        """A key of the record; numbers alone and texts with blanks name rows or things, not papers."""
        for number in self._attributes["id"]:
            text = one_line(cells.text(number))
            if self._ours or (text and " " not in text and not text.replace(".", "").isdigit()):
                return text
        return ""

    def _named(self, cells: _Cells) -> Iterator[tuple[str, object]]:
        """Identifiers out of the columns that are named after one."""
        for scheme, numbers in self._identifiers.items():
            for number in numbers:
                text = cells.text(number)
                if text and scheme in ("pmid", "corpusid"):
                    text = text.removesuffix(".0")  # spreadsheets turn numbers into fractions
                yield scheme, text
        yield from named_identifiers(cells.named())
        if (ut := cells.first(self._attributes["id"][:1])).upper().startswith("MEDLINE:"):
            yield "pmid", ut[8:]

    def _facts(self, cells: _Cells) -> tuple[tuple[str, ...], str, dict[str, Any]]:
        """(texts with the year, the venue, metadata under shared names)."""
        shared = {name: one_line(cells.first(numbers)) for name, numbers in self._shared.items()}
        start, end = shared.pop("first"), shared.pop("last")
        shared["pages"] = shared["pages"] or (f"{start}-{end}" if start and end else start or end)
        kind = shared["type"]
        shared["type"] = _type(kind)
        if kind and kind.casefold() != shared["type"]:
            shared["document_type"] = kind
        shared["note"] = clean(cells.first(self._shared["note"]))
        year = [cells.first(self._attributes["year"]), cells.first(self._attributes["date"])]
        venue = ""
        for number in self._attributes["venue"]:
            text = one_line(cells.text(number))
            name = folded(self._header.names[number])
            if name in ("source", "citation") and (cited := _CITATION.fullmatch(text[:900])):
                year.append(cited["year"])
                for part in ("volume", "issue", "pages"):
                    shared[part] = shared[part] or cited[part] or ""
                text = cited["venue"]
            elif name == "citation" or folded(text) in self._databases:
                if name == "source":
                    shared["database"] = text
                continue
            venue = venue or text
        date = one_line(cells.first(self._attributes["date"]))
        lists = {
            name: [one for number in numbers for one in list_in(cells.text(number))]
            for name, numbers in self._lists.items()
        }
        editors = [one for number in self._lists["editors"] for one in people_in(cells.text(number))]
        kept = {name: text for name, numbers in self._kept.items() if (text := cells.first(numbers))}
        found: dict[str, Any] = {
            **shared,
            "date": date,
            "keywords": lists["keywords"],
            "editors": list(dict.fromkeys(editors)),
            **kept,
            "screening": screening_of(
                cells.first(self._screening["decision"]),
                cells.first(self._screening["reason"]),
                shared["note"],
            ),
        }
        return tuple(year), venue, {name: value for name, value in found.items() if value}

    def _ris(self, cells: _Cells, options: ReadOptions) -> Paper | None:
        """The paper of a RIS record that a cell holds as a whole, or None."""
        cell = next((cell for cell in cells.values if _RIS.match(cell)), "")
        if not cell:
            return None
        inside = InnerFile.of_text(self._path, cell)
        try:
            found = SOURCES.get("ris").read(inside, replace(options, max_text_chars=2**62))
            return next((item for item in found if isinstance(item, Paper)), None)
        except (BadInput, ValueError):
            return None


class _Cells:
    """One row by the numbers of its columns."""

    def __init__(self, values: Sequence[str], header: Header, *, guarded: bool) -> None:
        self.values = [
            _GUARD.sub("", value, count=1) if guarded and value[:1] == "'" else value for value in values
        ]
        self._header = header

    def text(self, number: int) -> str:
        """The cell of a column; "" where the row is shorter, and for what stands for nothing."""
        cell = self.values[number] if number < len(self.values) else ""
        text = cell.strip()
        return "" if text in ("", "NA", "N/A", "nan", "NaN", "None", "null", "NULL", "[]") else text

    def first(self, numbers: Iterable[int]) -> str:
        """The first of these cells that has a text."""
        return next((text for number in numbers if (text := self.text(number))), "")

    def named(self) -> dict[str, object]:
        """Name of a column -> its text."""
        return {name: text for number, name in enumerate(self._header.names) if (text := self.text(number))}

    def all(self, but: Sequence[str]) -> dict[str, str]:
        """Every cell that holds something, as it is, but for these texts."""
        found = {name: self.values[n] for n, name in enumerate(self._header.names) if n < len(self.values)}
        start = len(self._header.names) + 1
        further = enumerate(self.values[start - 1 :], start)
        found |= {f"column {number}": cell for number, cell in further if cell}
        return {name: cell for name, cell in found.items() if cell.strip() and cell.strip() not in but}


def _type(text: str) -> str:
    """The CSL type of a kind of publication, as tables or RIS call it; "" for none, "document" for others."""
    if not text:
        return ""
    if text in csl_types():
        return text
    names = names_in("ris").types
    for part in (text, *text.split(";")):
        key = part.strip()
        if found := words().types.get(key.casefold()) or names.get(key.upper()):
            return found
    return "document"


def _linked(urls: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Identifiers inside links, also those that a link resolver gets as a parameter."""
    for url in urls:
        if found := parse_identifier(url):
            yield found
        elif (linked := _LINKED_DOI.search(url)) and (doi := normalise("doi", linked[1])):
            yield "doi", doi
