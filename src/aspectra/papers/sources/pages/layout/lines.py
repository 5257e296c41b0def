"""Lines of print out of runs of characters that share a font and a size."""

from __future__ import annotations

import bisect
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")

_BOLD = re.compile(
    r"bold|black|heavy|demi|semib|medi(?!um)|(?:cm|sf|ec|tc|lm)s*bx|bx\d|[a-z]TB|-B(?:d|$|I)|\.B\b", re.I
)
_BOLD_CASE = re.compile(r"[a-z]T(?:B|Z)(?:I|O)?$|Bd(?:It)?$")
_ITALIC = re.compile(r"ital|obli|slant|(?:cm|sf|ec|lm)(?:ti|sl|bxti)\d|It$|TI$", re.I)
_SMALL_CAPS = re.compile(r"csc|smallcap|caps|SC\d*$|-SC", re.I)
_COMMON = "the of and in to a is that we der die und le la les et de que el en".split()
_MOST_NEAR = 60  # lines looked at above and below a gap
_BAND = 12.0  # points; lines are looked up by the bands of the page that they touch


@dataclass(frozen=True, slots=True)
class Font:
    """A font as the PDF names it."""

    name: str
    bold: bool = False
    italic: bool = False
    small_caps: bool = False


@dataclass(slots=True)
class TextRun:
    """Characters of one font and size on one line; points from the top left corner of the page.

    ``joint`` is 0 when it follows the run before without a blank, 1 with one, 2 when it begins a line.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    base: float
    size: float
    font: Font
    joint: int = 2


@dataclass
class Line:
    """Runs that are read from left to right. ``page`` counts from 0."""

    runs: list[TextRun]
    page: int = 0

    @cached_property
    def left(self) -> float:
        return min(run.left for run in self.runs)

    @cached_property
    def right(self) -> float:
        return max(run.right for run in self.runs)

    @cached_property
    def _main(self) -> TextRun:
        """The run that tells size and baseline: the longest of the largest that matter."""
        letters: Counter[float] = Counter()
        for run in self.runs:
            letters[run.size] += sum(c.isalnum() for c in run.text)
        total = sum(letters.values())
        sizes = [size for size, count in letters.items() if count >= 0.3 * total] or list(letters)
        best = max(sizes, key=lambda size: (letters[size], size))
        return max((run for run in self.runs if run.size == best), key=lambda run: len(run.text))

    @property
    def size(self) -> float:
        """Size of most of its letters, in points."""
        return self._main.size

    @property
    def base(self) -> float:
        return self._main.base

    @property
    def font(self) -> Font:
        return self._main.font

    @cached_property
    def top(self) -> float:
        return self.base - 0.75 * self.size

    @cached_property
    def bottom(self) -> float:
        return self.base + 0.25 * self.size

    @cached_property
    def spaced(self) -> str:
        """The text, with two blanks where there is a wide gap."""
        return joined(self.runs)

    @cached_property
    def text(self) -> str:
        """The text, single blanks."""
        return " ".join(self.spaced.split())

    @cached_property
    def letters(self) -> int:
        return sum(c.isalpha() for c in self.text)

    def share(self, kind: str) -> float:
        """Share of the letters that are ``bold``, ``italic`` or ``small_caps``."""
        marked = sum(c.isalpha() for run in self.runs if getattr(run.font, kind) for c in run.text)
        return marked / self.letters if self.letters else 0.0


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A line and the number of the column or band that it stands in."""

    line: Line
    region: int


@dataclass
class PrintedPage:
    """Lines of one page, unordered. ``turned`` is text at another angle; ``characters`` counts all."""

    number: int
    width: float
    height: float
    lines: list[Line]
    turned: list[str] = field(default_factory=list)
    characters: int = 0
    images: float = 0.0


def joined(runs: Sequence[TextRun]) -> str:
    """Text of runs in order; a blank where the file has one or the gap is as wide as one."""
    out = ""
    before: TextRun | None = None
    for run in runs:
        if before is not None:
            gap = run.left - before.right
            em = max(run.size, before.size)
            if gap > 0.6 * em:
                out += "  "
            elif run.joint == 1 or gap > 0.17 * em:
                out += " "
        out += run.text
        before = run
    return out


def group(items: Iterable[T], goes_on: Callable[[T, T], bool]) -> list[list[T]]:
    """Items in sequence, cut wherever one does not go on from the one before it.

    >>> group([1, 2, 5, 6], lambda one, two: two == one + 1)
    [[1, 2], [5, 6]]
    """
    parts: list[list[T]] = []
    for item in items:
        if parts and goes_on(parts[-1][-1], item):
            parts[-1].append(item)
        else:
            parts.append([item])
    return parts


def is_prose(rows: Sequence[PrintedRow], at: int) -> bool:
    """True if running text begins at a row: three full lines of one size in sequence, with common words."""
    part = rows[at : at + 4]
    if len(part) < 4 or any(row.region != part[0].region for row in part):
        return False
    sizes = {round(row.line.size, 1) for row in part}
    full = [row for row in part if len(row.line.text) > 38 and row.line.letters > 0.7 * len(row.line.text)]
    words = Counter(word for row in part for word in row.line.text.casefold().split())
    return len(sizes) == 1 and len(full) >= 3 and sum(words[word] for word in _COMMON) >= 4


def page_of(message: dict[str, Any]) -> PrintedPage:
    """The page that the child process reported."""
    fonts = [_font(*style) for style in message["styles"]]
    number = message["page"] - 1
    width, height = message.get("size", (612.0, 792.0))
    page = PrintedPage(
        number, width, height, [], characters=message["chars"], images=message.get("images", 0.0)
    )
    pieces: list[list[TextRun]] = []
    turned: list[list[TextRun]] = []
    angled = False
    for text, left, top, right, bottom, base, size, style, joint in message["runs"]:
        run = TextRun(text, left, top, right, bottom, base, size, fonts[style], joint)
        if joint == 9:
            if angled and turned[-1][-1].size == size:
                turned[-1].append(run)
            else:
                turned.append([run])
            angled = True
            continue
        if joint == 2 or angled or not pieces:
            pieces.append([run])
        else:
            pieces[-1].append(run)
        angled = False
    page.turned = [" ".join(run.text for run in runs) for runs in turned]
    page.lines = _assembled([Line(runs, number) for runs in pieces])
    return page


def _font(name: str, weight: int, italic: bool) -> Font:
    bold = weight >= 600 or bool(_BOLD.search(name)) or bool(_BOLD_CASE.search(name))
    return Font(name, bold, bool(_ITALIC.search(name)), bool(_SMALL_CAPS.search(name)))


def _assembled(pieces: list[Line]) -> list[Line]:
    """Pieces that touch on one line put together: superscripts, formulas, words in another font."""
    bands: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        for band in _bands(piece):
            bands.setdefault(band, []).append(number)
    parent = list(range(len(pieces)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for members in bands.values():
        members.sort(key=lambda i: pieces[i].left)
        for at, i in enumerate(members):
            for j in members[at + 1 : at + 8]:
                if pieces[j].left - pieces[i].right > 12:
                    break
                if root(i) != root(j) and _touch(pieces[i], pieces[j]):
                    parent[root(j)] = root(i)
    groups: dict[int, list[TextRun]] = {}
    for number, piece in enumerate(pieces):
        groups.setdefault(root(number), []).extend(piece.runs)
    lines = [Line(sorted(runs, key=lambda run: run.left), pieces[i].page) for i, runs in groups.items()]
    return _bridged(lines)


def _bridged(lines: list[Line]) -> list[Line]:
    """Lines that a wide blank broke put together: the lines above and below run across the gap."""
    lines.sort(key=lambda line: (round(line.base), line.left))
    bases = [line.base for line in lines]
    out: list[Line] = []
    for line in lines:
        last = out[-1] if out else None
        if last is None or abs(last.base - line.base) > 1 or not 0 < line.left - last.right < 2 * line.size:
            out.append(line)
            continue
        reach = 1.8 * line.size
        begin = bisect.bisect_left(bases, line.base - reach)
        end = bisect.bisect_right(bases, line.base + reach)
        near = lines[begin : min(end, begin + _MOST_NEAR)]
        across = [other for other in near if other.left < last.right - 1 and other.right > line.left + 1]
        if any(o.base < line.base - 2 for o in across) and any(o.base > line.base + 2 for o in across):
            out[-1] = Line([*last.runs, *line.runs], line.page)
        else:
            out.append(line)
    return out


def _bands(line: Line) -> Iterable[int]:
    return range(int(line.top // _BAND), min(int(line.bottom // _BAND), int(line.top // _BAND) + 5) + 1)


def _touch(one: Line, other: Line) -> bool:
    """True if two pieces belong to one line: side by side, at most a blank apart."""
    small, large = sorted((one.size, other.size))
    overlap = min(one.bottom, other.bottom) - max(one.top, other.top)
    gap = other.left - one.right
    if large > 1.8 * small and len(one.text) > 1 and len(other.text) > 1:
        return False
    near = 0.6 * small if abs(one.base - other.base) < 0.15 * large else 0.35 * small
    return overlap > 0.35 * small and -0.5 * small < gap < near


# The order in which a page is read: columns from left to right, each from top to bottom.
#
# A page is cut along its gutter, and where text runs across the gutter (a title, a wide table) into bands
# above and below it: recursive cuts in the manner of Nagy and Seth (1984).

_KEYWORDS = re.compile(r"key ?words\b|a ?r ?t ?i ?c ?l ?e\s+i ?n ?f ?o|article history", re.I)
_MOST_LINES = 5000  # of a page; one with more is a drawing, and its columns are not looked for
_DEEPEST = 8
_STEP = 3.0  # points between the places tried for a gutter
_NARROW = 0.11  # of the page's width: text of a column is wider
_KEYWORD = 0.04  # the same for what stands beside the abstract on the first page
_OVERFULL = 12.0  # points by which a line may be too long for its column
_FACING = 3  # lines on either side that stand beside each other


def regions(lines: Sequence[Line], width: float) -> list[list[Line]]:
    """Columns and bands in reading order, each with its rows from top to bottom.

    Args:
        lines: lines of one page, in any order.
        width: of the page, in points.
    """
    if len(lines) > _MOST_LINES:
        return [_rows(list(lines))]
    return [_rows(part) for part in _cut(list(lines), width, 0) if part]


def _cut(lines: list[Line], width: float, depth: int) -> list[list[Line]]:
    if len(lines) < 2 * _FACING or depth >= _DEEPEST:
        return [lines]
    found = _gutter(lines, width)
    if found is None:
        return [lines]
    left, right = found
    gutter = (left + right) / 2
    # A line that is a little too long for its column does not run across.
    across = {
        id(line)
        for line in lines
        if line.left < gutter < line.right
        and not (line.right <= right + _OVERFULL and left - line.left > _NARROW * width)
    }
    beside = _beside(lines, across)
    parts: list[list[Line]] = []
    band: list[Line] = []
    wide = False
    for line in sorted(lines, key=lambda line: (line.top + line.bottom) / 2):
        crosses = (
            id(line) in across
            or id(line) in beside
            or (wide and bool(band) and _ends(band[-1], line, lines, gutter))
        )
        if crosses != wide and band:
            parts += _band(band, wide, gutter, width, depth)
            band = []
        wide = crosses
        band.append(line)
    if wide and len(band) == len(lines):
        return [lines]
    return parts + _band(band, wide, gutter, width, depth)


def _beside(lines: list[Line], across: set[int]) -> set[int]:
    """Lines with text beside them that runs across the gutter, such as keywords beside an abstract."""
    spans = sorted((line.top, line.bottom) for line in lines if id(line) in across)
    tops = [top for top, _ in spans]

    def covered(middle: float) -> bool:
        at = bisect.bisect_right(tops, middle)
        return any(bottom > middle for _, bottom in spans[max(0, at - 3) : at])

    return {id(line) for line in lines if id(line) not in across and covered(line.base - 0.3 * line.size)}


def _ends(last: Line, line: Line, lines: list[Line], gutter: float) -> bool:
    """True if a short line is the end of a paragraph that runs across the gutter."""
    same = abs(last.size - line.size) < 0.3 and last.font.name == line.font.name
    if not same or not 0 < line.base - last.base < 1.45 * line.size or abs(line.left - last.left) > 2:
        return False
    if last.left >= gutter or last.right <= gutter:
        return False
    return not any(o.left >= gutter and o.top < line.bottom and o.bottom > line.top for o in lines)


def _band(band: list[Line], across: bool, gutter: float, width: float, depth: int) -> list[list[Line]]:
    if across:
        return _cut(band, width, depth + 1)
    left = [line for line in band if line.left + line.right <= 2 * gutter]
    right = [line for line in band if line.left + line.right > 2 * gutter]
    return [*_cut(left, width, depth + 1), *_cut(right, width, depth + 1)]


def _gutter(lines: list[Line], width: float) -> tuple[float, float] | None:
    """The white strip with most lines beside each other to its left and right, or None."""
    # On the first page keywords stand beside an abstract, and they are short.
    beside = lines[0].page == 0 and any(_KEYWORDS.match(line.text) for line in lines)
    least, letters = (_KEYWORD, 4) if beside else (_NARROW, 8)
    text = [line for line in lines if line.right - line.left > least * width and line.letters >= letters]
    if len(text) < 2 * _FACING:
        return None
    lefts, rights = sorted(line.left for line in text), sorted(line.right for line in text)
    tried: list[tuple[int, float]] = []
    x = lefts[0] + least * width
    while x < rights[-1] - least * width:
        before = bisect.bisect_right(rights, x)
        after = len(lefts) - bisect.bisect_left(lefts, x)
        if min(before, after) >= _FACING:
            tried.append((min(before, after), x))
        x += _STEP
    best, most = None, _FACING - 1
    for count, x in sorted(tried, reverse=True):
        if count <= most:
            break
        facing = _facing(text, x, width)
        if facing > most:
            best, most = x, facing
    if best is None:
        return None
    right = min(line.left for line in text if line.left >= best)
    left = max(line.right for line in text if line.right <= best)
    return left, right


def _facing(text: list[Line], x: float, width: float) -> int:
    """Count the lines with a line beside them on the other side of ``x``; the lower count of the two sides.

    Returns 0 if the sides look like cells of a table.
    """
    left = [line for line in text if line.right <= x]
    right = [line for line in text if line.left >= x]
    counts, widths = list[int](), list[float]()
    for side, other in ((left, right), (right, left)):
        tops = sorted(line.top for line in other)
        spans = ((bisect.bisect_left(tops, one.top - one.size), one.bottom) for one in side)
        counts.append(sum(bisect.bisect_right(tops, bottom) > at for at, bottom in spans))
        widths.append(statistics.median(line.right - line.left for line in side))
    narrow, wide = sorted(widths)
    if narrow < _NARROW * width and wide < 2.5 * _NARROW * width:
        return 0  # cells of a table
    return min(counts)


def _rows(lines: list[Line]) -> list[Line]:
    """Lines of one column from top to bottom; what is printed on one baseline becomes one line."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.base):
        if rows and line.base - rows[-1][0].base < 0.35 * min(line.size, rows[-1][0].size):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [
        row[0]
        if len(row) == 1
        else Line(sorted((r for part in row for r in part.runs), key=attrgetter("left")), row[0].page)
        for row in rows
    ]
