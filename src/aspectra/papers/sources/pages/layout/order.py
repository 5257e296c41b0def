"""The order in which a page is read: columns from left to right, each from top to bottom.

A page is cut along its gutter, and where text runs across the gutter (a title, a wide table) into bands
above and below it: recursive cuts in the manner of Nagy and Seth (1984).
"""

from __future__ import annotations

import bisect
import re
import statistics
from collections.abc import Sequence
from operator import attrgetter

from aspectra.papers.sources.pages.layout.lines import Line

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
    found = set()
    for line in lines:
        at = bisect.bisect_right(tops, line.base - 0.3 * line.size)
        if id(line) not in across and any(
            bottom > line.base - 0.3 * line.size for _, bottom in spans[max(0, at - 3) : at]
        ):
            found.add(id(line))
    return found


def _ends(last: Line, line: Line, lines: list[Line], gutter: float) -> bool:
    """Whether a short line is the end of a paragraph that runs across the gutter."""
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
    """How many lines, on the poorer side, have a line of the other side beside them."""
    left = [line for line in text if line.right <= x]
    right = [line for line in text if line.left >= x]
    counts = []
    widths = []
    for side, other in ((left, right), (right, left)):
        tops = sorted(line.top for line in other)
        counts.append(
            sum(
                bisect.bisect_right(tops, line.bottom) - bisect.bisect_left(tops, line.top - line.size) > 0
                for line in side
            )
        )
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
