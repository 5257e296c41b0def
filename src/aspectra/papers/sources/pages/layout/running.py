"""Running heads, running feet and page numbers: what repeats at the edge of pages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from aspectra.papers.paper import normalise_title
from aspectra.papers.sources.pages.layout.lines import Line, Page

_DIGITS = re.compile(r"\d+")
_MOST_EDGE = 100  # lines at the edges of one page that are looked at
_EDGE = 0.13  # of the page's height
_NUMBER = re.compile(r"\W{0,3}(?:page\s+)?(\d{1,5}|[ivxlc]{1,6})(?:\s*(?:/|of)\s*\d{1,4})?\W{0,3}", re.I)


def remove_running(
    pages: Sequence[Page], body: float, title: str = "", kept: Collection[int] = ()
) -> tuple[list[str], int]:
    """Take heads, feet and page numbers off the pages.

    A line at the edge of a page is one when its text comes back on other pages, numbers apart; when it is a
    number that grows with the pages; or when it is the title of the paper on a later page.

    Args:
        pages: changed in place.
        body: size of the text in points; what is much larger is no head (the title of a slide).
        title: of the paper, or "".
        kept: ids of runs that stay, whatever they repeat (the title itself).

    Returns:
        Each different head once, and how many letters and digits were taken off.
    """
    edges = [
        (page, line)
        for page in pages
        for line in _edge(page)
        if id(line.runs[0]) not in kept and line.size <= body + 2
    ]
    seen: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    exact: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    steps: defaultdict[int, set[int]] = defaultdict(set)
    for page, line in edges:
        seen[_pattern(line)].append((line.base, page.number))
        exact[line.text].append((line.base, page.number))
        for number in _numbers(line):
            steps[number - page.number].add(page.number)
    few = 2 if len(pages) <= 5 else 3
    often = max(few, min(6, len(pages) // 5))
    name = normalise_title(title)
    most = max((len(places) for places in steps.values()), default=0)
    sure: set[int] = set()
    likely: defaultdict[int, list[Line]] = defaultdict(list)
    for page, line in edges:
        pattern = _pattern(line)
        counted = any(len(steps[n - page.number]) >= max(few, most // 2) for n in _numbers(line))
        titled = page.number > 0 and len(name) > 8 and _cut_title(normalise_title(line.text), name)
        worded = line.letters >= 3
        repeated = worded and _level(exact[line.text], line) >= few
        patterned = worded and _level(seen[pattern], line) >= often and (counted or "#" not in pattern)
        if (counted and _NUMBER.fullmatch(line.text)) or titled or repeated or patterned:
            likely[page.number].append(line)
            if patterned and counted:
                sure.add(id(line))
    removed: dict[str, None] = {}
    gone: defaultdict[int, set[int]] = defaultdict(set)
    for page in pages:
        marked = {id(line) for line in likely[page.number]}
        others = [line for line in page.lines if id(line) not in marked]
        for line in likely[page.number]:
            # A head with the number of its page needs no white about it to be one.
            if id(line) in sure or _apart(line, others):
                gone[page.number].add(id(line))
                removed.setdefault(line.text if line.letters >= 3 else "", None)
    count = 0
    for page in pages:
        off = [line for line in page.lines if id(line) in gone[page.number]]
        count += sum(c.isalnum() for line in off for run in line.runs for c in run.text)
        page.lines = [line for line in page.lines if id(line) not in gone[page.number]]
    return [text for text in removed if text], count


def _apart(line: Line, others: Sequence[Line]) -> bool:
    """Whether a line keeps away from the text above and below it, as the end of a column does not."""
    return not any(
        abs(line.base - other.base) < 1.4 * max(line.size, other.size)
        and ((other.left < line.right and line.left < other.right) or abs(line.base - other.base) < 2)
        for other in others
    )


def _level(places: Sequence[tuple[float, int]], line: Line) -> int:
    """On how many pages a text is printed at the height of ``line``: heads keep their place."""
    return len({page for base, page in places if abs(base - line.base) < 6})


def _edge(page: Page) -> list[Line]:
    """The lines of the first three and the last three rows that lie in the margins of the page."""
    lines = sorted(page.lines, key=lambda line: line.base)
    found: dict[int, Line] = {}
    for ordered in (lines, lines[::-1]):
        rows: list[float] = []
        for line in ordered:
            if not rows or abs(line.base - rows[-1]) > 3:
                rows.append(line.base)
            if len(rows) > 3:
                break
            if len(found) >= _MOST_EDGE:
                break
            if line.base < _EDGE * page.height or line.base > (1 - _EDGE) * page.height:
                found[id(line)] = line
    return list(found.values())


def _pattern(line: Line) -> str:
    return _DIGITS.sub("#", line.text).casefold()


def _numbers(line: Line) -> list[int]:
    return [int(digits) for digits in _DIGITS.findall(line.text)[:4] if len(digits) <= 5]


def _cut_title(line: str, title: str) -> bool:
    """Whether a line is the title, or its beginning where it was too long for the head."""
    return len(line) > 8 and (line == title or (title.startswith(line) and len(line) > 0.4 * len(title)))
