"""Where the abstract is: under its heading, behind its label, or as the first paragraph of another style."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aspectra.papers.sources.pages.layout.headings import Body, Heading, body_of, known_name
from aspectra.papers.sources.pages.layout.lines import Line, Row, Run, is_prose
from aspectra.papers.text.references import ABSTRACT_NAMES

_HEADING = re.compile(
    rf"\W*(?:\d\W{{0,2}})?(?:{ABSTRACT_NAMES}|a\s?b\s?s\s?t\s?r\s?a\s?c\s?t|executive summary)\W*", re.I
)
_LABEL = re.compile(r"\W*(?:abstract|ABSTRACT|Abstract)\s*[.:—–-]\s*(?=\S)")
_AFTER = re.compile(
    r"\W*(?:key ?-?words?(?: and phrases)?|index terms|ccs concepts|acm reference format|general terms|"
    r"categories and subject descriptors|jel classification|pacs|subject classification|code|datasets?|"
    r"extended version|supplementary material|(?:project )?(?:page|website)|correspondence|"
    r"copyright|©)\b[^a-z]{0,4}",
    re.I,
)
_STRUCTURED = re.compile(
    r"\W*(?:background|context|objectives?|aims?|purpose|introduction|motivation|methods?|"
    r"materials and methods|"
    r"methodology|design|setting|participants|interventions?|main outcome measures?|results?|findings|"
    r"conclusions?|interpretation|significance|importance|limitations?|availability|contact|"
    r"funding|approach)\W*",
    re.I,
)
_END = re.compile(r"[.!?][”’\"')\]\d†‡∗*]{0,4}$")
_LONGEST = 6000  # characters; a longer one means that its end was missed


@dataclass
class Abstract:
    """Numbers of its rows, of its heading, and of rows beside it (keywords, footnotes of the first page)."""

    rows: set[int] = field(default_factory=set)
    headings: set[int] = field(default_factory=set)
    beside: set[int] = field(default_factory=set)


def find_abstract(rows: Sequence[Row], headings: Sequence[Heading], body: Body, page: int) -> Abstract:
    """The abstract on the first three pages, or an empty one."""
    # A thesis has its abstract behind its title, declaration and thanks.
    last = page + (2 if rows and rows[-1].line.page < 40 else 15)
    for heading in headings:
        if rows[heading.first].line.page > last:
            break
        if _HEADING.fullmatch(heading.text):
            return _below(rows, headings, heading.last + 1, {heading.first}, body)
    for number, row in enumerate(rows):
        if row.line.page > page + 1:
            break
        if _HEADING.fullmatch(row.line.text):
            return _below(rows, headings, number + 1, {number}, body)
        if found := _LABEL.match(row.line.text):
            _cut_label(row.line, found.end())
            return _below(rows, headings, number, set(), body)
    return _unnamed(rows, headings, body, page)


def _cut_label(line: Line, end: int) -> None:
    """Take the label off the first line; its letters say nothing."""
    left = len(line.text[:end].replace(" ", ""))
    runs: list[Run] = []
    for run in line.runs:
        text = run.text
        while left and text:
            left -= not text[0].isspace()
            text = text[1:]
        if text.strip():
            runs.append(
                Run(text, run.left, run.top, run.right, run.bottom, run.base, run.size, run.font, run.joint)
            )
    line.runs[:] = runs or line.runs
    for name in ("text", "spaced", "letters"):
        line.__dict__.pop(name, None)


def _below(
    rows: Sequence[Row], headings: Sequence[Heading], start: int, named: set[int], body: Body
) -> Abstract:
    found = Abstract(headings=set(named))
    last = {known_name(h.text).casefold(): h.first for h in headings}
    stops = {h.first for h in headings if not _within(h, rows, last)}
    if start >= len(rows):
        return found
    size = body_of([row.line for row in rows[start : start + 6]]).size
    bold = sum(row.line.share("bold") > 0.5 for row in rows[start : start + 4]) >= 3
    length = 0
    closed = 0  # number of the row behind the abstract, such as its keywords
    for number in range(start, len(rows)):
        line = rows[number].line
        if number in stops or length > _LONGEST:
            break
        smaller = line.size < size - 0.6
        if closed and number > closed + 1 and line.size > body.size - 0.4 and is_prose(rows, number):
            break
        if closed or smaller:
            if line.page > rows[start].line.page:
                break
            found.beside.add(number)
            continue
        if _leaves(rows, number, size, body):
            break
        lead = line.runs[0].font.bold and not bold and not _STRUCTURED.match(line.text)
        ended = number > start and bool(_END.search(rows[number - 1].line.text[-12:]))
        if ended and (_AFTER.match(line.text) or (lead and line.text[:1].isupper())):
            closed = number
            found.beside.add(number)
            continue
        found.rows.add(number)
        length += len(line.text)
    if length > _LONGEST:
        found.rows = _first_paragraphs(rows, found.rows)
        found.beside = {i for i in found.beside if i < max(found.rows, default=0)}
    return found


def _within(heading: Heading, rows: Sequence[Row], last: Mapping[str, int]) -> bool:
    """Whether a heading such as "Methods" is a part of a structured abstract: the paper's own follow.

    Args:
        heading: on any page.
        rows: of the document.
        last: usual names of sections and where each comes last.
    """
    if not _STRUCTURED.fullmatch(heading.text) or rows[heading.first].line.page > 1:
        return False
    name = heading.text.casefold().strip(" .:")
    again = last.get(name, -1) > heading.first
    return again or (name != "introduction" and last.get("introduction", -1) > heading.first)


def _leaves(rows: Sequence[Row], number: int, size: float, body: Body) -> bool:
    """Whether the text of the body begins: three lines in its size, which is not the abstract's."""
    if abs(size - body.size) < 0.4:
        return False
    part = rows[number : number + 3]
    return len(part) == 3 and all(abs(row.line.size - body.size) < 0.3 for row in part)


def _first_paragraphs(rows: Sequence[Row], numbers: set[int]) -> set[int]:
    kept: set[int] = set()
    length = 0
    last: Line | None = None
    for number in sorted(numbers):
        line = rows[number].line
        gap = last is not None and (line.base - last.base > 1.5 * line.size or line.page != last.page)
        if gap and length > 400:
            break
        kept.add(number)
        length += len(line.text)
        last = line
    return kept if length <= _LONGEST else set()


def _unnamed(rows: Sequence[Row], headings: Sequence[Heading], body: Body, page: int) -> Abstract:
    """The first prose of the first page that is set apart from the body by size, slant or margins."""
    first = next((h.first for h in headings), len(rows))
    blocks = _blocks(rows, page)
    for block in blocks:
        lines = [rows[i].line for i in block]
        letters = sum(line.letters for line in lines)
        text = " ".join(line.text for line in lines)
        if not 250 <= letters <= 4000 or text.count(". ") < 1 or letters < 0.7 * len(text.replace(" ", "")):
            continue
        style = body_of(lines)
        slanted = sum(line.letters for line in lines if line.share("italic") > 0.7) > 0.7 * letters
        bold = (
            not body.bold and sum(line.letters for line in lines if line.share("bold") > 0.7) > 0.7 * letters
        )
        apart = abs(style.size - body.size) >= 0.4 or slanted or bold
        rights = text.startswith(("Copyright", "©", "Permission"))
        if apart and not rights and style.size > body.size - 1.6:
            return Abstract(rows=set(block))
    prose = [
        block for block in blocks if sum(rows[i].line.letters for i in block) >= 250 and max(block) < first
    ]
    if first < len(rows) and prose and rows[first].line.page <= page + 1:
        start = min(prose[0])
        letters = sum(rows[i].line.letters for i in range(start, first))
        if letters <= 4000:
            chosen = {i for block in prose for i in block}
            return Abstract(rows=chosen)
    return Abstract()


def _blocks(rows: Sequence[Row], page: int) -> list[list[int]]:
    """Runs of rows of the first page with even distances and one size."""
    blocks: list[list[int]] = []
    for number, row in enumerate(rows):
        if row.line.page > page:
            break
        last = rows[blocks[-1][-1]] if blocks else None
        even = last is not None and (
            last.region == row.region
            and abs(last.line.size - row.line.size) < 0.4
            and row.line.base - last.line.base < 1.75 * row.line.size
        )
        if even:
            blocks[-1].append(number)
        else:
            blocks.append([number])
    return blocks
