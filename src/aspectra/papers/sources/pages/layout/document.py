"""A paper out of printed pages: front, abstract, sections, references. Every line goes somewhere."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aspectra.papers.paper import Reference, Section, normalise_title
from aspectra.papers.sources.pages.layout import front as fronts
from aspectra.papers.sources.pages.layout.front import Abstract, find_abstract
from aspectra.papers.sources.pages.layout.headings import (
    BodyText,
    Heading,
    body_of,
    find_headings,
    find_references,
    known_name,
    without_number,
)
from aspectra.papers.sources.pages.layout.lines import Line, PrintedPage, PrintedRow, group, is_prose, regions
from aspectra.papers.text.cleaning import clean, mend_hyphens, one_line, strip_invisible
from aspectra.papers.text.structure import outline

# Running heads, running feet and page numbers: what repeats at the edge of pages.

_DIGITS = re.compile(r"\d+")
_MOST_EDGE = 100  # lines at the edges of one page that are looked at
_EDGE = 0.13  # of the page's height
_NUMBER = re.compile(r"\W{0,3}(?:page\s+)?(\d{1,5}|[ivxlc]{1,6})(?:\s*(?:/|of)\s*\d{1,4})?\W{0,3}", re.I)


def remove_running(
    pages: Sequence[PrintedPage], body: float, title: str = "", kept: Collection[int] = ()
) -> tuple[list[str], int]:
    """Remove running heads, feet and page numbers from the pages.

    A line at the edge of a page is one of these if its text, apart from numbers, recurs on other pages; if it
    is a number that grows with the pages; or if it is the title of the paper on a later page.

    Args:
        pages: changed in place.
        body: size of the text in points; a much larger line is not a head (but the title of a slide).
        title: of the paper, or "".
        kept: ids of runs that stay even if they recur (the title itself).

    Returns:
        Each different head once, and the number of letters and digits removed.
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
    """True if a line is set off from the text above and below it, unlike the last line of a column."""
    return not any(
        abs(line.base - other.base) < 1.4 * max(line.size, other.size)
        and ((other.left < line.right and line.left < other.right) or abs(line.base - other.base) < 2)
        for other in others
    )


def _level(places: Sequence[tuple[float, int]], line: Line) -> int:
    """Count the pages on which a text is printed at the height of ``line``: heads keep their place."""
    return len({page for base, page in places if abs(base - line.base) < 6})


def _edge(page: PrintedPage) -> list[Line]:
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
    """True if a line is the title, or the beginning of a title that was too long for the head."""
    return len(line) > 8 and (line == title or (title.startswith(line) and len(line) > 0.4 * len(title)))


# Paragraphs out of rows, across columns and pages; captions and footnotes wait for the end of a sentence.

_CAPTION = re.compile(
    r"(?:fig(?:ure)?s?|table|tab|algorithm|listing|scheme|box)\b\.?\s*[A-Z]?\d+\s*[.:|(–—-]", re.I
)
_BULLET = re.compile(r"(?:[•▪■◦‣∙*–—-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]|\[\d{1,3}\])\s")
_END = re.compile(r"[.!?:;][”’\"')\]\d†‡∗*]{0,4}$")


def paragraphs(rows: Sequence[PrintedRow], body: BodyText) -> list[str]:
    r"""Paragraphs as printed lines with ``\\n`` between them, so that hyphens can be mended.

    Every row is in exactly one paragraph. Captions and rows in smaller type than the body (footnotes, labels
    of figures, cells of tables) never interrupt a sentence of the text: they follow its paragraph.
    """
    out: list[str] = []
    waiting: list[str] = []
    text: list[str] = []
    for block, side in _blocks(rows, body):
        if side:
            waiting.append(block)
            continue
        if text and _goes_on(text[-1], block):
            text.append(block)
            continue
        # Blocks printed within a paragraph follow it.
        out += ["\n".join(text), *waiting] if text else waiting
        waiting, text = [], [block]
    return [*out, *(["\n".join(text)] if text else []), *waiting]


def _goes_on(text: str, block: str) -> bool:
    """True if ``block`` continues an unfinished sentence."""
    if text.endswith("-"):
        return block[:1].islower()
    return not _END.search(text[-12:]) and (block[:1].islower() or block[:1] in "(,;")


def _blocks(rows: Sequence[PrintedRow], body: BodyText) -> Iterator[tuple[str, bool]]:
    """(printed lines of a paragraph of one column, whether it is set beside the text)."""
    current: list[str] = []
    last: PrintedRow | None = None
    side = caption = False
    for row in rows:
        line = row.line
        begins_caption = bool(_CAPTION.match(line.text))
        small = line.size < body.size - 0.6
        fresh = (
            last is None
            or _breaks(last, row, rows, body, caption)
            or begins_caption
            or small != (side and not caption)
        )
        if fresh and current:
            yield "\n".join(current), side or caption
            current = []
        if fresh:
            caption, side = begins_caption, small
        current.append(line.text)
        last = row
    if current:
        yield "\n".join(current), side or caption


def _breaks(
    last: PrintedRow, row: PrintedRow, rows: Sequence[PrintedRow], body: BodyText, caption: bool
) -> bool:
    """True if a paragraph ends between two consecutive rows."""
    if last.region != row.region:
        return True
    one, two = last.line, row.line
    step = two.base - one.base
    leading = max(body.leading if abs(two.size - body.size) < 0.6 else 1.2 * two.size, 0.8 * two.size)
    if step > 1.3 * max(leading, 1.15 * min(one.size, two.size)) or step < 0:
        return True
    if caption:
        return False
    if _BULLET.match(two.text) and two.left <= one.left + 1:
        return True
    # An indented line begins a paragraph when the line before did not hang as well.
    indented = 0.6 * two.size < two.left - one.left < 4 * two.size and len(one.text) > 20
    return indented and bool(_END.search(one.text[-12:]))


_BREAK = "\x1e"  # between texts that are mended together; no PDF text holds it after cleaning
_PARAGRAPH = "\x1f"


@dataclass(slots=True)
class Printed:
    """The parts of a printed paper.

    ``front`` is what stands around title and abstract on the first page. ``heads`` are the running heads that
    were taken off, each once; ``running`` counts the letters and digits of all of them. ``turned`` is text at
    an angle (stamps, labels of axes). ``zero_width`` counts characters without width that were removed.
    ``below`` is the height of the title, in points from the top.
    """

    title: str = ""
    authors: list[str] = field(default_factory=list)
    year: int | None = None
    arxiv: str = ""
    doi: str = ""
    abstract: str = ""
    sections: list[Section] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    front: str = ""
    heads: list[str] = field(default_factory=list)
    turned: list[str] = field(default_factory=list)
    zero_width: int = 0
    running: int = 0
    below: float = 0.0


def read_pages(pages: Sequence[PrintedPage], info: Mapping[str, str]) -> Printed:
    """The paper that ``pages`` print; ``info`` is the document information, believed only where confirmed."""
    found = Printed(turned=[text for page in pages for text in page.turned])
    first = next((page for page in pages if page.lines), None)
    if first is None:
        return found
    columns = [line for part in regions(first.lines, first.width) for line in part]
    body = body_of([line for page in pages for line in page.lines])
    titled = fronts.title_rows(columns, body.size, first.height)
    beginning = "\n".join(line.text for line in columns)
    found.title = fronts.title_of(titled, info.get("Title", ""), beginning)
    if not titled and found.title:
        titled = _rows_of(found.title, columns)
    found.below = min((line.base for line in titled), default=0.0)
    marked = {id(run) for line in titled for run in line.runs}
    found.heads, found.running = remove_running(pages, body.size, found.title, marked)

    rows = _rows(pages)
    body = body_of([row.line for row in rows])
    rows = [row for row in rows if id(row.line.runs[0]) not in marked]
    headings = find_headings(rows, body)
    if len(headings) >= 2 or not _by_words(found, rows, first.number, info, beginning):
        _by_layout(found, rows, headings, body, first.number, info, beginning)
    edge = _edges(columns, first.height, body)
    found.arxiv, stamp = fronts.arxiv_stamp([*first.turned, *beginning.split("\n")])
    near = [*found.heads, *edge, *found.front.split("\n")]
    found.doi = fronts.own_doi(near)
    found.year = fronts.year_of([*edge, *found.heads], stamp, found.front.split("\n"))
    return found


def _edges(lines: Sequence[Line], height: float, body: BodyText) -> list[str]:
    """Heads, feet and small print of the first page, each as one text."""
    small = (line for line in lines if not 0.1 < line.base / height < 0.9 or line.size <= body.size - 0.6)
    parts = group(small, lambda last, line: 0 <= line.base - last.base < 1.7 * line.size)
    return [" ".join(line.text for line in part) for part in parts]


def _rows(pages: Sequence[PrintedPage]) -> list[PrintedRow]:
    """All rows in reading order; regions count through the document."""
    rows: list[PrintedRow] = []
    number = 0
    for page in pages:
        for part in regions(page.lines, page.width):
            rows += [PrintedRow(line, number) for line in part]
            number += 1
    return rows


def _rows_of(title: str, lines: Sequence[Line]) -> list[Line]:
    """The first lines that print the title."""
    wanted = "".join(title.split()).casefold()
    return [
        line for line in lines[:60] if len(line.text) > 5 and "".join(line.text.split()).casefold() in wanted
    ]


def _by_layout(
    found: Printed,
    rows: list[PrintedRow],
    headings: list[Heading],
    body: BodyText,
    page: int,
    info: Mapping[str, str],
    beginning: str,
) -> None:
    references = find_references(rows, headings, body)
    abstract = find_abstract(rows, headings, body, page)
    front = _front(rows, headings, abstract, page)
    front_lines = [rows[i].line for i in sorted(front)]
    if not _small(front, rows, headings, abstract):
        front = set(abstract.beside)
    used = references.rows | abstract.rows | front
    starts = {h.first: h.text for h in headings}
    inside = {i for h in headings for i in range(h.first, h.last + 1)}
    parts: list[tuple[str, list[PrintedRow]]] = [("", [])]
    for number, row in enumerate(rows):
        if number in starts:
            unnamed = number in abstract.headings or number in references.headings
            parts.append(("" if unnamed else starts[number], []))
        elif number not in inside and number not in used:
            parts[-1][1].append(row)
    parts = [(name, part) for name, part in parts if name or part]
    below = [line for line in front_lines if line.base > found.below]
    found.authors = fronts.authors_of(below or front_lines, info.get("Author", ""), beginning)
    own = [rows[i] for i in sorted(abstract.rows)]
    # An abstract in small type is not a footnote.
    blocks = [paragraphs(own, body_of([row.line for row in own]) if own else body)]
    blocks += (paragraphs(part, body) for _, part in parts)
    mended, found.zero_width = _mended([*blocks, references.lines])
    found.abstract = "\n\n".join(mended[0])
    for (name, _), texts in zip(parts, mended[1:-1], strict=True):
        shown = one_line(strip_invisible(name)[0])
        if shown or texts:
            found.sections.append(Section(without_number(shown), "\n\n".join(texts)))
    around = [rows[i].line.spaced for i in sorted(front)]
    found.front = strip_invisible(clean("\n".join(around)))[0]
    references.read(strip_invisible(clean("\n".join(references.lines)))[0])
    found.references = references.entries
    if references.rest:
        found.sections.append(Section("References", references.rest))


def _front(rows: list[PrintedRow], headings: list[Heading], abstract: Abstract, page: int) -> set[int]:
    """Numbers of the rows between title and text."""
    end = min(abstract.rows | abstract.headings, default=len(rows))
    first_section = next((h.first for h in headings if h.first not in abstract.headings), len(rows))
    if abstract.rows or abstract.headings:
        top = rows[end].line
        if first_section < len(rows) and rows[first_section].line.page <= top.page:
            end = min(end, first_section)
    else:
        end = first_section
    found: set[int] = set()
    for number in range(min(end, len(rows))):
        if rows[number].line.page > page or is_prose(rows, number):
            break
        found.add(number)
    return found | abstract.beside


def _small(front: set[int], rows: list[PrintedRow], headings: list[Heading], abstract: Abstract) -> bool:
    """True if the lines before the text are front matter, with less than 0.3 of all letters.

    False without abstract and headings: these lines may be the whole document.
    """
    letters = sum(rows[i].line.letters for i in front)
    return bool(headings or abstract.rows) and letters < 0.3 * sum(row.line.letters for row in rows)


def _mended(texts: list[list[str]]) -> tuple[list[list[str]], int]:
    """Paragraphs as single lines: words divided at line ends joined, invisible characters gone.

    All at once, because whether a hyphen belongs to a word shows elsewhere in the document.
    """
    raw = _BREAK.join(_PARAGRAPH.join(clean(part) for part in parts) for parts in texts)
    shown, hidden = strip_invisible(raw)
    out = [
        [text for part in block.split(_PARAGRAPH) if (text := one_line(part))]
        for block in mend_hyphens(shown).split(_BREAK)
    ]
    return out, hidden


def _by_words(
    found: Printed, rows: list[PrintedRow], page: int, info: Mapping[str, str], beginning: str
) -> bool:
    """Structure by the words of the headings, where no style tells them from the text; False without any."""
    text = "\n\n".join(
        "\n".join(row.line.text for row in part)
        for part in group(rows, lambda one, two: one.region == two.region)
    )
    shown, found.zero_width = strip_invisible(clean(text))
    read = outline(mend_hyphens(shown), title=found.title or "\x00", markdown=False)
    if sum(bool(section.heading) for section in read.sections) < 2:
        return False
    found.abstract, found.sections = read.abstract, list(read.sections)
    found.references, found.front = list(read.references), read.front
    lines = []
    for number, row in enumerate(rows):
        if row.line.page > page or known_name(row.line.text) or is_prose(rows, number):
            break
        lines.append(row.line)
    found.authors = fronts.authors_of(lines[:60], info.get("Author", ""), beginning)
    if not found.front:
        found.front = "\n".join(line.text for line in lines[:60])
    return True
