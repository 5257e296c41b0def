"""A paper out of printed pages: front, abstract, sections, references. Every line goes somewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aspectra.papers.paper import Reference, Section
from aspectra.papers.sources.pages.layout import front as fronts
from aspectra.papers.sources.pages.layout.abstracts import Abstract, find_abstract
from aspectra.papers.sources.pages.layout.headings import (
    Body,
    Heading,
    body_of,
    find_headings,
    known_name,
    without_number,
)
from aspectra.papers.sources.pages.layout.lines import Line, Page, Row, is_prose
from aspectra.papers.sources.pages.layout.order import regions
from aspectra.papers.sources.pages.layout.paragraphs import paragraphs
from aspectra.papers.sources.pages.layout.reference_lists import find_references
from aspectra.papers.sources.pages.layout.running import remove_running
from aspectra.papers.text.cleaning import clean, mend_hyphens, one_line, strip_invisible
from aspectra.papers.text.structure import outline

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


def read_pages(pages: Sequence[Page], info: Mapping[str, str]) -> Printed:
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


def _edges(lines: Sequence[Line], height: float, body: Body) -> list[str]:
    """Heads, feet and small print of the first page, each as one text."""
    parts: list[list[Line]] = []
    for line in lines:
        if 0.1 < line.base / height < 0.9 and line.size > body.size - 0.6:
            continue
        last = parts[-1][-1] if parts else None
        if last is not None and 0 <= line.base - last.base < 1.7 * line.size:
            parts[-1].append(line)
        else:
            parts.append([line])
    return [" ".join(line.text for line in part) for part in parts]


def _rows(pages: Sequence[Page]) -> list[Row]:
    """All rows in reading order; regions count through the document."""
    rows: list[Row] = []
    number = 0
    for page in pages:
        for part in regions(page.lines, page.width):
            rows += [Row(line, number) for line in part]
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
    rows: list[Row],
    headings: list[Heading],
    body: Body,
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
    texts: list[list[str]] = []
    names: list[str] = []
    starts = {h.first: h for h in headings}
    inside = {i for h in headings for i in range(h.first, h.last + 1)}
    part: list[Row] = []
    name = ""

    def close() -> None:
        if part or name:
            names.append(name)
            texts.append(paragraphs(part, body))

    for number, row in enumerate(rows):
        if number in starts:
            heading = starts[number]
            close()
            part, name = [], heading.text
            if number in abstract.headings or number in references.headings:
                name = ""
            continue
        if number in inside or number in used:
            continue
        part.append(row)
    close()
    below = [line for line in front_lines if line.base > found.below]
    found.authors = fronts.authors_of(below or front_lines, info.get("Author", ""), beginning)
    abstract_text = paragraphs([rows[i] for i in sorted(abstract.rows)], _local(rows, abstract.rows, body))
    blocks = [abstract_text, *texts]
    mended, found.zero_width = _mended([*blocks, references.lines])
    found.abstract = "\n\n".join(mended[0])
    for heading_text, parts in zip(names, mended[1:-1], strict=True):
        shown = one_line(strip_invisible(heading_text)[0])
        if shown or parts:
            found.sections.append(Section(without_number(shown), "\n\n".join(parts)))
    around = [rows[i].line.spaced for i in sorted(front)]
    found.front = strip_invisible(clean("\n".join(around)))[0]
    references.read(strip_invisible(clean("\n".join(references.lines)))[0])
    found.references = references.entries
    if references.rest:
        found.sections.append(Section("References", references.rest))


def _front(rows: list[Row], headings: list[Heading], abstract: Abstract, page: int) -> set[int]:
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


def _small(front: set[int], rows: list[Row], headings: list[Heading], abstract: Abstract) -> bool:
    """Whether the lines before the text are a front: without abstract and headings they may be everything."""
    letters = sum(rows[i].line.letters for i in front)
    return bool(headings or abstract.rows) and letters < 0.3 * sum(row.line.letters for row in rows)


def _local(rows: list[Row], numbers: set[int], body: Body) -> Body:
    """The style of some rows taken for body: an abstract is set smaller and is no footnote."""
    return body_of([rows[i].line for i in sorted(numbers)]) if numbers else body


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


def _by_words(found: Printed, rows: list[Row], page: int, info: Mapping[str, str], beginning: str) -> bool:
    """Structure by the words of the headings, where no style tells them from the text; False without any."""
    text = "\n\n".join("\n".join(row.line.text for row in part) for part in _parted(rows))
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


def _parted(rows: list[Row]) -> list[list[Row]]:
    parts: list[list[Row]] = []
    for row in rows:
        if parts and parts[-1][-1].region == row.region:
            parts[-1].append(row)
        else:
            parts.append([row])
    return parts
