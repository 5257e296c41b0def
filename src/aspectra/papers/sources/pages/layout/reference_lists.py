"""The reference list of printed pages: where it begins and ends, and one entry at a time."""

from __future__ import annotations

import bisect
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from aspectra.papers.paper import Reference
from aspectra.papers.sources.pages.layout.headings import BodyText, Heading
from aspectra.papers.sources.pages.layout.lines import Line, PrintedRow, group
from aspectra.papers.text.references import REFERENCES_NAMES, entries_of, read_reference

_HEADING = re.compile(
    rf"\W*(?:(?:\d{{1,2}}(?:\.\d{{1,2}})*|[A-Z]|[IVX]{{1,5}})[.)]?\s*)?(?:{REFERENCES_NAMES})\W*", re.I
)
_LABEL = re.compile(r"\[(\d{1,3})\]\s*\S")
_CAPTION = re.compile(r"(?:fig(?:ure|\.)|table)\s*[A-Z]?\d+\s*[.:|]", re.I)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d[a-z]?(?!\d)")
_KEY = re.compile(r"^\W{0,3}\[[^\[\]\n]{1,40}\]|^\W{0,2}\d{1,3}[.)]", re.M)
_LIFE = re.compile(
    r"^.{3,60}?\b(?:is|was|received|joined|holds|earned|obtained) (?:a|an|the|his|her|their|now|with|"
    r"currently|both|born|B|M|Ph)\b"
)
_LABELLED = re.compile(r"(?:[-*•]\s+)?(?:\[[^\[\]]{1,40}\]|\(?\d{1,3}[.)])\s*\S")


@dataclass
class ReferenceList:
    """Rows of the list and of its headings, by number; after ``read``: its entries, and text outside them."""

    rows: set[int] = field(default_factory=set)
    headings: set[int] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)
    entries: list[Reference] = field(default_factory=list)
    rest: str = ""

    def read(self, block: str) -> None:
        """Take the list apart; a list that loses letters on the way is kept as text as well."""
        entries = entries_of(block)
        self.entries = [read_reference(entry) for entry in entries]
        kept = sum(c.isalnum() for entry in entries for c in entry)
        labels = "".join(_KEY.findall(block))
        whole = sum(c.isalnum() for c in block) - sum(c.isalnum() for c in labels)
        line = " ".join(block.split())
        opening = " ".join(entries[0].split()[:3]) if entries else ""
        before = line[: max(0, line.find(opening))] if opening else ""
        head = sum(c.isalnum() for c in before)
        if kept + head < 0.96 * whole - 4 * len(entries):
            self.rest = "\n\n".join(" ".join(part.split()) for part in block.split("\n\n"))
        elif head > 20:
            self.rest = before.strip()


def find_references(rows: Sequence[PrintedRow], headings: Sequence[Heading], body: BodyText) -> ReferenceList:
    """The list under a heading such as References, else the entries [1], [2] ... at the end."""
    found = ReferenceList()
    stops = sorted(h.first for h in headings)
    starts = [h for h in headings if _HEADING.fullmatch(h.text)]
    spans = []
    for heading in starts:
        at = bisect.bisect_right(stops, heading.last)
        end = stops[at] if at < len(stops) else len(rows)
        spans.append((heading.last + 1, end))
        found.headings.add(heading.first)
    if not spans and (begin := _labelled(rows)) is not None:
        spans.append((begin, next((stop for stop in stops if stop > begin), len(rows))))
    for start, end in spans:
        numbers = _own(rows, start, end)
        found.rows |= set(numbers)
        found.lines += _with_blanks([rows[i] for i in numbers])
    return found


def _labelled(rows: Sequence[PrintedRow]) -> int | None:
    """The first row of the last list that is numbered from 1 to 5 or more; None if there is none."""
    best: int | None = None
    start, expected = 0, 1
    for number, row in enumerate(rows):
        found = _LABEL.match(row.line.text)
        if not found:
            continue
        value = int(found[1])
        if value == 1:
            start, expected = number, 2
        elif value == expected:
            expected += 1
            if expected > 5:
                best = start
    return best


def _own(rows: Sequence[PrintedRow], start: int, end: int) -> list[int]:
    """Rows of the list itself, without tables and figures in between and text in another type after it."""
    # The type of the first rows is the list's; the most common may be that of a long appendix.
    opening: Counter[float] = Counter()
    for number in range(start, min(end, start + 12)):
        opening[round(rows[number].line.size, 1)] += len(rows[number].line.text)
    if not opening:
        return []
    size = opening.most_common(1)[0][0]
    kept: list[int] = []
    caption = False
    for number in range(start, end):
        line = rows[number].line
        before = rows[number - 1] if number > start else None
        if _CAPTION.match(line.text):
            caption = True
        elif before is not None and (
            before.region != rows[number].region or line.base - before.line.base > 1.7 * line.size
        ):
            caption = False
        if caption or abs(line.size - size) > 0.6:
            continue
        kept.append(number)
    return _without_tail(rows, kept, size)


def _without_tail(rows: Sequence[PrintedRow], numbers: list[int], size: float) -> list[int]:
    """The list without prose behind its last entry, such as lives of the authors: no years, no labels."""

    def goes_on(last: int, number: int) -> bool:
        step = rows[number].line.base - rows[last].line.base
        return rows[last].region == rows[number].region and number == last + 1 and step < 1.45 * size

    parts = group(numbers, goes_on)
    main = _font([rows[i].line for i in numbers])
    texts = [" ".join(rows[i].line.text for i in part) for part in parts]
    last = max((n for n, text in enumerate(texts) if _LABELLED.match(text)), default=0)
    lives = [n for n, text in enumerate(texts) if n > last and _LIFE.search(text)]
    end = lives[0] if lives and sum(map(len, texts[lives[0] :])) < 0.5 * sum(map(len, texts)) else len(parts)
    while end > 1:
        text = texts[end - 1]
        other = _font([rows[i].line for i in parts[end - 1]]) != main
        plain = not _YEAR.search(text) and not _LABELLED.match(text) and len(text) > 150 and ". " in text
        if not (other or (plain and "http" not in text)):
            break
        end -= 1
    tail = [i for part in parts[end:] for i in part]
    if sum(len(rows[i].line.text) for i in tail) < 200:
        return numbers
    return [i for part in parts[:end] for i in part]


def _font(lines: Sequence[Line]) -> tuple[str, float]:
    fonts: Counter[tuple[str, float]] = Counter()
    for line in lines:
        for run in line.runs:
            if not run.font.italic:
                fonts[run.font.name, round(run.size)] += len(run.text)
    return fonts.most_common(1)[0][0] if fonts else ("", 0.0)


def _with_blanks(rows: Sequence[PrintedRow]) -> list[str]:
    """Printed lines, with a blank one before each entry where indents or distances tell it."""
    by_region: dict[int, list[PrintedRow]] = {}
    for row in rows:
        by_region.setdefault(row.region, []).append(row)
    if not rows:
        return []
    hanging = _hangs(by_region)
    steps = Counter(
        round(two.line.base - one.line.base, 1)
        for one, two in itertools.pairwise(rows)
        if one.region == two.region
    )
    edges = {region: min(row.line.left for row in part) for region, part in by_region.items()}
    leading = steps.most_common(1)[0][0] if steps else 12.0
    spaced = sum(count for step, count in steps.items() if 1.15 * leading < step < 2.5 * leading) >= 3
    out: list[str] = []
    last: PrintedRow | None = None
    for row in rows:
        fresh = False
        if last is not None:
            if hanging:
                fresh = row.line.left < edges[row.region] + 4
            elif spaced and last.region == row.region:
                fresh = row.line.base - last.line.base > 1.15 * leading
            elif spaced:
                fresh = (
                    bool(re.search(r"[.\])]\s*$|\d\s*$", last.line.text)) and not row.line.text[:1].islower()
                )
        if fresh:
            out.append("")
        out.append(row.line.text)
        last = row
    return out


def _hangs(by_region: dict[int, list[PrintedRow]]) -> bool:
    """True if entries have hanging indents: their first lines start further left."""
    out = inner = 0
    for part in by_region.values():
        edge = min(row.line.left for row in part)
        offsets = [row.line.left - edge for row in part]
        out += sum(offset < 4 for offset in offsets)
        inner += sum(6 < offset < 40 for offset in offsets)
    return inner >= 0.25 * (out + inner) and out >= 3
