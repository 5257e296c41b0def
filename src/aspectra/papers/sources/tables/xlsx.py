"""Workbooks: every sheet with titles, abstracts or identifiers, rows as in a CSV file.

Rows of XLSX are read one by one, so that a sheet costs no more memory than its shared texts. Those of XLS and
ODS come from a library in another language.
"""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.papers.sources.children import ZipMembers, ask_child, zip_names
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tables.rows import MOST_BEFORE, Row, are_rows, find_header, papers_in_rows
from aspectra.papers.sources.xml.elements import Element, attribute, first, found, records
from aspectra.papers.text.cleaning import storable

_WORKBOOK = "xl/workbook.xml"
_WIDE, _LONG = 1024, 1000  # columns of a row, and characters of a shared text, that are counted
_MOST_ADDED = 8 << 20  # cells of wide rows and characters of long shared texts, repeats counted
_MOST_CHARS = 64 << 20  # of all cells of a workbook that is read as a whole
_WHY = {
    "time": "it takes too long",
    "memory": "it needs too much memory",
    "chars": "its cells hold too much text",
}
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MOST_COLUMNS = 16_384  # as Excel has
_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_LITERAL = re.compile(r"\"[^\"]{0,60}\"|\[[^\[\]]{0,40}\]|\\.")  # in a format of numbers
_DATES = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))  # formats that Excel has
_FIRST_DAY = datetime.date(1899, 12, 30)  # day 0; right from March 1900 on
_FIRST_OF_MAC = datetime.date(1904, 1, 1)  # day 0 where the workbook says date1904


class Xlsx:
    """Excel workbooks."""

    name = "xlsx"
    description = (
        "Excel workbooks (XLSX), every sheet with a column of titles, by the names of columns as in CSV"
    )
    endings = (".xlsx", ".xlsm")

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 for a ZIP archive with a workbook in it, else 0."""
        return 0.95 if _WORKBOOK in zip_names(path, head) else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers and remarks, sheet by sheet.

        Raises:
            BadInput: it is not a workbook, is damaged, or no sheet has titles, abstracts or identifiers.
        """
        members = ZipMembers(file, options.bounds)
        if _WORKBOOK not in members:
            raise BadInput(f"{file.path} is no workbook", hint="save it as XLSX or CSV, and add that")
        texts = _shared_texts(members)
        dates = _date_styles(members)
        room = _Room(str(file.path), _MOST_ADDED + sum(map(len, texts)))
        sheets = [(name, _rows(members, part, texts, dates, room)) for name, part in _sheets(members)]
        yield from _papers(file.path, sheets, options)


class Sheets:
    """Workbooks of the old Excel format and of LibreOffice, opened by calamine in a process of its own."""

    name = "sheets"
    description = "workbooks of LibreOffice (ODS) and of the old Excel format (XLS), as XLSX"
    endings = (".ods", ".xls")

    def sniff(self, path: Path, head: bytes) -> float:
        """0.95 for an archive or a binary document with the ending that says which, else 0."""
        ending = path.suffix.casefold()
        ods = ending == ".ods" and "content.xml" in zip_names(path, head)
        return 0.95 if ods or (ending == ".xls" and head.startswith(_OLD)) else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers and remarks, sheet by sheet.

        Raises:
            BadInput: it is not a workbook, is damaged, encrypted or too large, or no sheet has titles,
                abstracts or identifiers.
        """
        limits = {"seconds": options.pdf_seconds, "memory_mb": options.pdf_memory_mb, "chars": _MOST_CHARS}
        said, late, _ = ask_child(file, {"what": "sheets", **limits})
        end = next((one["end"] for one in said if "end" in one), "")
        if late or end != "all":
            error = next((one for one in said if "error" in one), {"error": "time" if late else end})
            locked = error["error"] == "encrypted"
            raise BadInput(
                f"{file.path} {'is encrypted' if locked else 'cannot be read as a workbook'}",
                why=error.get("detail")
                or _WHY.get(error["error"], "it is damaged, or its rows are very many"),
                hint="save it as XLSX or CSV" + (" without a password" if locked else ""),
            )
        sheets: list[tuple[str, list[Row]]] = []
        for one in said:
            if "sheet" in one:
                sheets.append((storable(one["sheet"]), []))
            elif "row" in one:
                sheets[-1][1].append((f"row {one['row']}", [storable(cell) for cell in one["cells"]]))
        yield from _papers(file.path, sheets, options)


def _papers(
    path: Path, sheets: Sequence[tuple[str, Iterable[Row]]], options: ReadOptions
) -> Iterator[Paper | Remark]:
    """Papers and remarks of the sheets of a workbook, in order.

    Raises:
        BadInput: no sheet has titles, abstracts or identifiers.
    """
    read = 0
    refusal: BadInput | None = None
    for name, given in sheets:
        rows = iter(given)
        head = list(islice(rows, MOST_BEFORE + 1))
        _, header = find_header(cells for _, cells in head)
        if not any(any(cells) for _, cells in head):
            continue
        placed = _parted(chain(head, rows), len(header.names), f"sheet {name}, " * (len(sheets) > 1))
        try:
            for item in papers_in_rows(path, placed, options):
                if isinstance(item, Remark) and item.place == "file" and len(sheets) > 1:
                    yield replace(item, place=f"sheet {name}")
                else:
                    yield item
            read += 1
        except _TooMuch:
            raise
        except BadInput as error:
            refusal = error
            if len(sheets) > 1:
                columns = ", ".join(header.names)[:300]
                yield Remark(
                    f"sheet {name}",
                    f"no column of titles or abstracts: not read; its columns are: {columns}",
                )
    if not read:
        raise refusal or BadInput(f"{path} holds no table", hint="check that the export finished")


class _TooMuch(BadInput):
    """The rows of a workbook would be far larger than what it holds."""


@dataclass
class _Room:
    """The remaining allowance for wide rows and shared texts of a workbook, in cells and characters."""

    name: str
    left: int

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _TooMuch(
                f"{self.name} expands to far more than it holds",
                why="its rows repeat long texts, or are thousands of empty columns wide",
                hint="check where the file comes from, or save the table as CSV",
            )


def _sheets(members: ZipMembers) -> Iterator[tuple[str, str]]:
    """(name, part) of every sheet, in order; a part that several name is read once."""
    part = "xl/_rels/workbook.xml.rels"
    links = records(members.open(part), "Relationship") if part in members else ()
    targets = {attribute(link, "Id"): attribute(link, "Target") for link in links}
    seen: set[str] = set()
    for sheet in records(members.open(_WORKBOOK), "sheet"):
        keys = (str(value) for key, value in sheet.attrib.items() if str(key).endswith("}id"))
        target = next((targets[key] for key in keys if key in targets), "")
        part = target.removeprefix("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
        if part in members and "chartsheet" not in part and part not in seen:
            seen.add(part)
            yield storable(attribute(sheet, "name")), part


def _shared_texts(members: ZipMembers) -> list[str]:
    part = "xl/sharedStrings.xml"
    if part not in members:
        return []
    try:
        return [_text(item) for item in records(members.open(part), "si")]
    except BadInput as error:
        if "holds no <si>" in error.what:
            return []  # a workbook of numbers
        raise


def _text(item: Element | None) -> str:
    """The text of a cell, without the readings that East Asian texts carry along."""
    if item is None:
        return ""
    runs = [*found(item, "t"), *found(item, "r/t")]
    text = "".join(run.text or "" for run in runs)
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), text) if "_x" in text else text


def _date_styles(members: ZipMembers) -> dict[int, datetime.date]:
    """Numbers of the styles whose numbers are dates -> the day that counts as 0."""
    part = "xl/styles.xml"
    if part not in members:
        return {}
    book = next(records(members.open(_WORKBOOK), "workbook"))
    mac = attribute(first(book, "workbookPr"), "date1904").casefold() in ("1", "true")
    sheet = next(records(members.open(part), "styleSheet"))
    own = {
        int(attribute(one, "numFmtId"))
        for one in found(sheet, "numFmts/numFmt")
        if attribute(one, "numFmtId").isdecimal()
        and set("ymdYMD") & set(_LITERAL.sub("", attribute(one, "formatCode")))
    }
    kinds = [attribute(one, "numFmtId") for one in found(sheet, "cellXfs/xf")]
    dated = (n for n, kind in enumerate(kinds) if kind.isdecimal() and int(kind) in _DATES | own)
    return dict.fromkeys(dated, _FIRST_OF_MAC if mac else _FIRST_DAY)


def _rows(
    members: ZipMembers, part: str, texts: list[str], dates: dict[int, datetime.date], room: _Room
) -> Iterator[Row]:
    """(place, cells) of the rows that hold anything."""
    number = 0
    try:
        for row in records(members.open(part), "row"):
            stated = attribute(row, "r")
            number = int(stated) if stated.isdecimal() and len(stated) < 8 else number + 1
            cells: list[str] = []
            for cell in found(row, "c"):
                reference = _REFERENCE.fullmatch(attribute(cell, "r"))
                at = _column(reference[1]) if reference else len(cells)
                if at < len(cells) or at >= _MOST_COLUMNS:
                    continue
                value = storable(_value(cell, texts, dates))
                if reference and not value:
                    continue  # a format alone makes a row no wider
                if len(value) > _LONG and attribute(cell, "t") == "s":
                    room.take(len(value))
                cells += [""] * (at - len(cells))
                cells.append(value)
            if len(cells) > _WIDE:
                room.take(len(cells))
            if any(cells):
                yield f"row {number}", cells
    except BadInput as error:
        if "holds no <row>" not in error.what:
            raise


def _parted(rows: Iterable[Row], width: int, sheet: str) -> Iterator[Row | Remark]:
    """The rows, and those that one cell holds: a table as text with a stray quote was opened and saved."""
    for place, cells in rows:
        held = _held(cells, width)
        if held:
            why = f"a cell holds {len(held)} rows, as behind a stray quote: the first is left out"
            yield Remark(f"{sheet}{place}", f"{why}, the others are read")
        yield from ((f"{sheet}{place}", row) for row in (held[1:] if held else [cells]))


def _held(cells: Sequence[str], width: int) -> list[list[str]]:
    """The rows that a cell holds line by line, the first and the last with the cells beside it; else none."""
    cells = [*cells, *[""] * (width - len(cells))]
    for at, cell in enumerate(cells):
        ends = cell.rstrip().count("\n")
        for sign in ",;\t|" if ends else "":
            if cell.count(sign) < ends * (width - 1):
                continue
            rows = [line.split(sign) for line in cell.rstrip().split("\n")]
            rows[0][:0] = cells[:at]
            if len(rows[-1]) == at + 1 or any(cells[at + 1 :]):  # else the quote was never closed
                rows[-1] += cells[at + 1 :]
            if are_rows(rows, width):
                return rows
    return []


def _column(letters: str) -> int:
    """Number of a column from 0: A is 0, AA is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _value(cell: Element, texts: list[str], dates: dict[int, datetime.date]) -> str:
    kind = attribute(cell, "t")
    if kind == "inlineStr":
        return _text(first(cell, "is"))
    value = first(cell, "v")
    raw = (value.text or "") if value is not None else ""
    if kind == "s":
        return texts[int(raw)] if raw.isdecimal() and len(raw) < 9 and int(raw) < len(texts) else ""
    if kind in ("str", "d"):
        return raw
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(raw, raw)
    if kind == "e":
        return ""
    style = attribute(cell, "s")
    return _number(raw, dates.get(int(style)) if style.isdecimal() and len(style) < 7 else None)


def _number(raw: str, first_day: datetime.date | None) -> str:
    """A number as it is written: 2014 for 2014.0 and 2.014E3; a date in ISO 8601 if there is a first day."""
    try:
        number = float(raw)
    except ValueError:
        return raw
    if first_day and 1 <= number < 2_957_004:  # the year 9999 ends before
        return (first_day + datetime.timedelta(days=int(number))).isoformat()
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else raw


SOURCES.register("xlsx")(Xlsx())
SOURCES.register("sheets")(Sheets())
