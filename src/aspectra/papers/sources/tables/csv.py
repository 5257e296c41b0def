"""CSV and TSV: exports of databases, reference managers and screening tools, with names of columns.

The sign between cells and the way of quoting are those by which the first rows agree best with the header. A
quote that is never closed costs its row, not the rows behind it.
"""

from __future__ import annotations

import csv
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.base.values import replace
from aspectra.papers.paper import Paper
from aspectra.papers.sources.files import LIMITS, InputFile
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tables.columns import folded
from aspectra.papers.sources.tables.rows import MOST_BEFORE, Row, are_rows, find_header, papers_in_rows

_SIGNS = (",", "\t", ";", "|")
_QUOTING: tuple[dict[str, Any], ...] = (
    {"quoting": csv.QUOTE_MINIMAL},
    {"quoting": csv.QUOTE_NONE, "quotechar": None},
    {"quoting": csv.QUOTE_MINIMAL, "doublequote": False, "escapechar": "\\"},
)
_ROWS = 200  # rows by which ways of reading are compared
_TRIED = 20  # lines of a row that are tried as rows of their own
_ENDINGS = (".csv", ".tsv", ".tab")


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to cut lines into cells.

    Attributes:
        width: cells of most of the first rows.
        agree: share of the first rows that have no more cells than the header has names.
    """

    sign: str
    quoting: dict[str, Any]
    width: int = 0
    agree: float = 0.0

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The rows of the lines; ends at a row that cannot be read."""
        reader = csv.reader(lines, delimiter=self.sign, **self.quoting)
        try:
            yield from reader
        except csv.Error:
            return


class Csv:
    """Tables as text."""

    name = "csv"
    description = (
        "CSV and TSV of databases and tools, by the names of columns (title, abstract, authors, DOI ...)"
    )
    endings = _ENDINGS

    def sniff(self, path: Path, head: bytes) -> float:
        """0.97 for a header with titles and another known name whose rows agree; less without titles.

        A RIS record may lie in a cell: the header counts more than what is inside.
        """
        named = path.suffix.casefold() in _ENDINGS
        if not head.strip() or b"\x00" in head or head.lstrip()[:1] in (b"{", b"[", b"<", b"@", b"%"):
            return 0.0
        lines = _lines_of(head.decode("utf-8", "replace"))
        way = _best_way(lines)
        agree = way.agree
        at, header = find_header(way.rows(lines))
        enough = header.known >= 2 and len(header.names) >= 2
        if header.titled and (enough or (named and folded(header.names[0]) in ("title", "titles"))):
            return 0.97 if agree >= 0.6 and (at == 0 or agree >= 0.8) else 0.4 if named else 0.0
        if header.known >= 3 and agree >= 0.8 and at == 0:
            return 0.9
        if header.identified and enough and agree >= 0.8:
            return 0.85
        return 0.35 if named and (len(header.names) >= 2 or header.known) else 0.0

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers and remarks, row by row.

        Raises:
            BadInput: no column holds titles, abstracts or identifiers, or the file is empty, or no text.
        """
        head = file.head
        if not head.strip() or b"\x00" in head:
            why = "it holds zero bytes" if head.strip() else ""
            hint = "export the table as CSV (UTF-8), or export as RIS"
            raise BadInput(f"{file.path} holds no table", why=why, hint=hint)
        way = _best_way(_lines_of(head.decode("utf-8", "replace")))
        yield from papers_in_rows(file.path, _rows(file, way), options)


def _lines_of(text: str) -> list[str]:
    """Lines with plain ends, at most as many as are compared, without the last, which may be cut."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    whole = lines[:-1] if len(lines) > 1 and len(text) > 60_000 else lines
    return [f"{line}\n" for line in whole]


def _best_way(lines: list[str]) -> _Way:
    """The way that reads the first rows best."""
    csv.field_size_limit(LIMITS.line_bytes)
    best: tuple[tuple[bool, int, float, int], _Way] | None = None
    for sign in _SIGNS:
        if not any(sign in line for line in lines[: MOST_BEFORE + 1]) and sign != ",":
            continue
        for order, quoting in enumerate(_QUOTING):
            way = _Way(sign, quoting)
            rows = [row for row in islice(way.rows(lines), _ROWS) if any(cell.strip() for cell in row)]
            at, header = find_header(rows)
            width, below = len(header.names), rows[at + 1 :]
            # The last row may end where the first 64 KiB do.
            below = below[:-1] if len(below) > 3 else below
            fits = sum(_width(row) <= width and len(row) >= min(width, 2) for row in below)
            full = sum(len(row) == len(rows[at]) for row in below)
            agree = fits / len(below) if below else 1.0
            exact = round(agree + (full / len(below) if below else 1.0), 2)
            # Cells of tab-separated text are quoted only where one begins and ends with a quote.
            plain = sign == "\t" and order == 1 and not _quoted(rows)
            rank = (header.titled or header.identified, header.known, exact, 1 if plain else -order)
            if best is None or rank > best[0]:
                common = Counter(map(len, rows)).most_common(1)
                best = rank, replace(way, width=common[0][0] if common else 0, agree=agree)
    return best[1] if best else _Way(",", _QUOTING[0])


def _width(row: list[str]) -> int:
    return max((number for number, cell in enumerate(row, 1) if cell.strip()), default=0)


def _quoted(rows: list[list[str]]) -> bool:
    """True if cells that were read without quoting look quoted."""
    cells = [cell for row in rows for cell in row if '"' in cell]
    whole = sum(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells)
    return bool(cells) and whole >= 0.5 * len(cells)


class _Again:
    """Lines that can be given back; knows those that the row being read has taken."""

    def __init__(self, lines: Iterator[tuple[int, str] | Remark]) -> None:
        self._lines, self._back = lines, deque[tuple[int, str]]()
        self.taken: list[tuple[int, str]] = []
        self.remarks: list[Remark] = []
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._size > LIMITS.entry_chars:
            raise csv.Error("longer than any row is")
        while not self._back:
            item = next(self._lines)
            if isinstance(item, tuple):
                self._back.append(item)
            else:
                self.remarks.append(item)
        self.taken.append(self._back.popleft())
        self._size += len(self.taken[-1][1])
        return self.taken[-1][1] + "\n"

    def begin(self) -> None:
        """A new row begins."""
        self.taken, self._size = [], 0

    def give_back(self) -> int:
        """Give back all lines of the row but its first; returns how many characters they have."""
        self._back.extendleft(reversed(self.taken[1:]))
        return self._size


def _rows(file: InputFile, way: _Way) -> Iterator[Row | Remark]:
    """(place, cells) of every row.

    A row over several lines began with a stray quote if its lines look like separate rows, see
    :func:`_stray`: its first line is left out, and reading goes on behind it. Lines are read twice only as
    long as their total stays below that of all lines read, which keeps the time linear.
    """
    lines = _Again(file.text_lines())
    reader = csv.reader(lines, delimiter=way.sign, **way.quoting)
    whole = again = 0
    while True:
        lines.begin()
        problem = ""
        try:
            cells = next(reader)
        except StopIteration:
            yield from lines.remarks
            return
        except csv.Error as error:
            cells, problem = [], str(error)
        yield from lines.remarks
        lines.remarks.clear()
        whole += sum(len(line) for _, line in lines.taken)
        number = lines.taken[0][0]
        last = lines.taken[-1][0]
        place = f"line {number}" if number == last else f"lines {number} to {last}"
        stray = number < last and whole > again and _stray(cells, [line for _, line in lines.taken], way)
        if stray:
            again += lines.give_back()
            reason = "a quote in it is not closed: row left out, the rows behind it are read"
            yield Remark(f"line {number}", reason)
        elif problem:
            yield Remark(place, f"cannot be cut into cells: {problem}")
        else:
            yield place, cells


def _stray(cells: list[str], lines: list[str], way: _Way) -> bool:
    """True if a quote that does not begin a cell joined lines that are separate rows.

    Lines of a quoted text are not rows: their numbers of cells differ from those of rows or, if they happen
    to be equal, blanks follow their commas. A row of the right width counts only if text follows its closing
    quote, or if all of its lines are as wide as the row: the quote was closed in a later row.
    """
    if len(cells) != way.width:
        return any(len(_alone(line, way)) == way.width for line in lines[1:_TRIED])
    if next(_Way(way.sign, {**way.quoting, "strict": True}).rows(f"{line}\n" for line in lines), None):
        cut = (line.split(way.sign) if line.count('"') % 2 else _alone(line, way) for line in lines)
        return are_rows(cut, way.width)
    return any(are_rows([_alone(line, way)], way.width) for line in lines[1:_TRIED])


def _alone(line: str, way: _Way) -> list[str]:
    """The cells of a line read as a separate row; none if a quote in it stays open."""
    return [] if line.count('"') % 2 else next(way.rows([line]), [])


SOURCES.register("csv")(Csv())
