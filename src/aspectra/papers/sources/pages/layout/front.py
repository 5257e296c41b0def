"""The front of a paper: title, authors, year, identifiers and abstract, from what is printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from aspectra.base.values import replace
from aspectra.papers.names import split_names
from aspectra.papers.paper import normalise_title
from aspectra.papers.sources.pages.layout.headings import BodyText, Heading, body_of, glued, known_name
from aspectra.papers.sources.pages.layout.lines import Line, PrintedRow, TextRun, group, is_prose
from aspectra.papers.text.cleaning import one_line, strip_invisible
from aspectra.papers.text.references import ABSTRACT_NAMES

_STAMP = re.compile(
    r"arXiv:(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?\s*(?:\[[a-z-]+(?:\.[A-Za-z-]+)?\])?"
    r"\s*(?:\d{1,2} [A-Z][a-z]{2} (\d{4}))?"
)
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>{}|\\^`]+", re.I)
_DATA_DOI = re.compile(r"10\.(?:5281/zenodo|6084/m9\.figshare|17605|7910/dvn|5061/dryad)", re.I)
_YEAR = re.compile(r"(?<!\d)((?:19[5-9]|20[0-4])\d)(?!\d)")

_NO_TITLE = re.compile(
    r"@|https?:|www\.|\b10\.\d{4,9}/|\bISSN\b|\bISBN\b|\bvol(?:ume)?\.? ?\d|^arxiv:|"
    r"^(?:in )?proceedings? of\b|^(?:the )?(?:\S+ ){0,6}journal of\b|^journal\b|"
    r"\btransactions on\b|^(?:advances|lecture notes) in\b|^(?:published|accepted|submitted|"
    r"received|presented)\b|"
    r"^(?:original |research |review |regular |full |short |invited )*"
    r"(?:article|paper|research|communication|letter|report|review|survey|editorial|perspective)s?$|"
    r"^open access$|^(?:technical|working|discussion) (?:report|paper)\b.{0,20}$|"
    r"^(?:ph\.? ?d\.?|doctoral|master).{0,20} thesis$|"
    r"^(?:an? )?(?:universit|department|faculty|school of|institute of|college of)|"
    r"\buniversit(?:y|é|ät|à|at)$|"
    r"^(?:author.s personal copy|accepted manuscript|just accepted|in press|research online|see discussions)|"
    r"^(?:abstract|contents|table of contents|preprint|draft|articles?|under review.*|"
    r"a preprint)$|^copyright|^©",
    re.I,
)
_MAST = re.compile(r"journal homepage|sciencedirect|contents lists available|www\.elsevier", re.I)
_NOT_NAME = re.compile(
    r"universit|institut|department|\bdept\b|school|college|laborator|\blabs?\b|cent(?:er|re)\b|research|"
    r"\bscien|engineering|technolog|\binc\b|\bltd\b|\bcorp|company|group\b|foundation|hospital|clinic|"
    r"academy|ministry|faculty|division|program|informati|comput|intelligence|systems|google|microsoft|"
    r"amazon|facebook|\bmeta\b|\bibm\b|nvidia|openai|deepmind|\bacm\b|professor|"
    r"independent|abstract|introduction|keywords|corresponding|author|equal|contribut|preprint|draft|"
    r"conference|workshop|proceedings|journal|article|copyright|licen[sc]e|republic|kingdom|united|\bUSA?\b|"
    r"\bchina\b|germany|france|japan|india\b|canada|switzerland|netherlands|street|avenue|"
    r"\broad\b|association|"
    r"society|council|national|state\b|street|analytics|statistics|mathematic|physics|biolog|chemist|medic|"
    r"\b(?:the|of|for|with|on|to|from|this|we|is|are|in|an?|by|at)\b|submitted|received|"
    r"accepted|published|technical|report",
    re.I,
)
_ROLE = re.compile(
    r"(?:(?:life |senior |graduate |student |associate )*(?:member|fellow|student)|ieee|"
    r"ph\.? ?d\.?|m\.? ?d\.?|msc?|bsc?|mba|mph|"
    r"editor|supervisor|advisor|student member)\.?",
    re.I,
)
_BY = re.compile(r"^\s*+(?:by|authors?|von|par)\b[\s:]++(?=[A-Z])", re.I)
_PARTICLES = frozenset(
    "van von de der den del della di da dos du la le el al bin ibn ter ten zu zur af av y e".split()
)
_TOKEN = re.compile(r"[^\W\d_](?:[^\W\d_]|[.'’`´¨-])*")
_SPLIT = re.compile(r"\s{2,}|[,;·•|/&□⋄♠♢♡♣★]|\band\b|\bAND\b")
_MARKS = "∗*†‡§¶‖♠♢♡♣⋆★□⋄◦•✉\u2709"
_INITIAL = re.compile(r"\b(?:[A-Z]|[JS]r)\.$")
_SUFFIX = frozenset("jr sr ii iii iv phd md".split())


def title_rows(lines: Sequence[Line], body: float, height: float) -> list[Line]:
    """The lines of the title: the largest type near the top, except stamps, heads and names of journals.

    Args:
        lines: of the first page, in reading order.
        body: size of the text, in points.
        height: of the page.
    """
    blocks = group(lines, _alike)
    best: list[Line] = []
    rank = (0.0, 0)
    above = max(
        (n for n, block in enumerate(blocks) if any(_MAST.search(line.text) for line in block)), default=-1
    )
    for number, block in enumerate(blocks):
        if number <= above:
            continue  # what stands above such a line is the name of the journal
        text = _title_text(block)
        words = text.split()
        size = max(_largest(line) for line in block)
        if block[0].top > 0.65 * height or not _title_shaped(text, words) or _NO_TITLE.search(text):
            continue
        bold = block[0].share("bold") > 0.7
        if size < body + 0.7 and not (bold and block[0].top < 0.35 * height):
            continue
        # One or two words in large type are more often a logo than a title.
        size = size if len(words) >= 3 else 0.7 * size
        if (round(size, 1), int(bold)) > rank:
            best, rank = block, (round(size, 1), int(bold))
    return best


def _largest(line: Line) -> float:
    """Size of the largest type that has at least a tenth of the letters (small capitals have two sizes)."""
    least = 0.1 * max(1, line.letters)
    return max((r.size for r in line.runs if sum(c.isalpha() for c in r.text) >= least), default=line.size)


def _alike(one: Line, two: Line) -> bool:
    """True if a line may continue the title that the line before it has begun."""
    return (
        abs(_largest(one) - _largest(two)) < 0.6
        and abs(one.share("bold") - two.share("bold")) < 0.5
        and 0 < two.base - one.base < 2.0 * max(one.size, two.size)
    )


def _title_text(block: Iterable[Line]) -> str:
    out = reduce(glued, (line.text for line in block), "")
    return one_line(strip_invisible(out)[0]).rstrip(_MARKS + " ")


def _title_shaped(text: str, words: list[str]) -> bool:
    letters = sum(c.isalpha() for c in text)
    return 8 <= len(text) <= 400 and 1 <= len(words) <= 50 and letters >= 0.6 * len(text.replace(" ", ""))


def title_of(rows: Sequence[Line], named: str, beginning: str) -> str:
    """The printed title; the document information's only where the first page holds it."""
    if rows:
        return _title_text(rows)
    named = one_line(strip_invisible(named)[0])
    shown = normalise_title(named)
    return named if len(shown) >= 8 and shown in normalise_title(beginning) else ""


def authors_of(lines: Sequence[Line], named: str, beginning: str) -> list[str]:
    """Names of persons printed between title and text.

    Args:
        lines: between the title and the abstract, in reading order.
        named: the author field of the document information: used where the page prints just these names.
        beginning: text of the first page.
    """
    found = _printed_names(lines)
    stated = [
        name
        for name in map(one_line, split_names(named))
        if _name_like(name) == 2 and not _NOT_NAME.search(name)
    ]
    page = normalise_title(beginning)
    if stated and len(stated) >= len(found) and all(normalise_title(name) in page for name in stated):
        return stated
    return found


def _printed_names(lines: Sequence[Line]) -> list[str]:
    found: dict[str, tuple[float, float, int, str]] = {}
    style: tuple[str, float] | None = None
    taken: set[tuple[str, float]] = set()
    fresh = True
    last: Line | None = None
    for line in lines:
        if last is not None:
            away = abs(line.left - last.left) > 60 and line.base <= last.base
            fresh = fresh or away or line.base - last.base > 1.9 * line.size
        last = line
        names, other = _names_in(line, len(found))
        own = (line.font.name, round(line.size))
        if style is None and names:
            style = own
        if names and own == style and (own not in taken or fresh):
            for at, name in enumerate(names):
                found.setdefault(normalise_title(name), (round(line.base / 4), line.left, at, name))
        if other and not names:
            taken.add(own)
            fresh = "@" in line.text
        elif names:
            fresh = not (other and own in taken)
    # Row by row, though the columns of a grid of authors were read one after the other.
    return [name for *_, name in sorted(found.values())]


def _names_in(line: Line, before: int) -> tuple[list[str], bool]:
    """(names on a line, whether it holds anything else); ``before`` counts the names of the lines before."""
    names: list[str] = []
    single: list[tuple[int, str]] = []
    other = False
    for piece in _SPLIT.split(_BY.sub("", _unmarked(line))):
        name = " ".join(piece.split()).strip(_MARKS + " :")
        name = name if _INITIAL.search(name) else name.rstrip(".")
        if not name or name.casefold() in _SUFFIX or _ROLE.fullmatch(name):
            continue
        if "@" in name or any(c.isdigit() for c in name) or "{" in name:
            other = True
            continue
        if _NOT_NAME.search(name):
            # What follows an affiliation on its line is its town.
            return names, True
        kind = _name_like(name)
        if kind == 2:
            names.append(_cased(name))
        elif kind == 1:
            single.append((len(names), name))
        else:
            other = True
    for at, name in reversed(single):
        # One word is a name only among names.
        if len(names) >= 1 and len(names) + before >= 3:
            names.insert(at, name)
    return names, other


def _unmarked(line: Line) -> str:
    """The line with a comma for every raised mark or number."""
    out = ""
    before: TextRun | None = None
    for run in line.runs:
        raised = run.size < 0.85 * line.size or run.base < line.base - 0.15 * line.size
        if before is not None:
            gap = run.left - before.right
            out += "  " if gap > 0.5 * line.size else " " if run.joint == 1 or gap > 0.17 * line.size else ""
        text = run.text
        if raised and not any(c.isalpha() for c in text if len(text) > 3):
            text = ","
        out += "".join("," if c in _MARKS else c for c in text)
        before = run
    return strip_invisible(out)[0]


def _name_like(name: str) -> int:
    """2 for a name of several words, 1 for one word that could be one, else 0."""
    tokens = name.split()
    if not 1 <= len(tokens) <= 6 or len(name) > 60:
        return 0
    strong = 0
    for token in tokens:
        if not _TOKEN.fullmatch(token):
            return 0
        if len(token) > 2 and token.isupper() and not name.isupper() and token.casefold() not in _SUFFIX:
            return 0  # a word in capitals among others is an abbreviation
        if token.casefold().rstrip(".") in _PARTICLES and not token[0].isupper():
            continue
        if not token[0].isupper():
            return 0
        strong += len(token.strip(".")) > 1
    if len(tokens) == 1:
        return int(len(name) > 2 and not name.isupper())
    return 2 if strong else 0


def _cased(name: str) -> str:
    """Names printed in capitals as they are usually written."""
    if not name.isupper() or len(name.replace(".", "").replace(" ", "")) <= 4:
        return name
    return " ".join(
        token
        if len(token.rstrip(".")) == 1 or "." in token[:-1]
        else "-".join(p.capitalize() for p in token.split("-"))
        for token in name.split()
    )


def arxiv_stamp(texts: Iterable[str]) -> tuple[str, int | None]:
    """(arXiv id, year of the stamp) out of the margin of the first page; ("", None) without one."""
    for text in texts:
        if found := _STAMP.search(text):
            return found[1], int(found[2]) if found[2] else None
    return "", None


def own_doi(lines: Iterable[str]) -> str:
    """The one DOI that lines around the text name, "" for none or several (data sets do not count)."""
    dois = {doi.rstrip(".,;:)]").casefold() for line in lines for doi in _DOI.findall(line)}
    dois = {doi for doi in dois if not _DATA_DOI.match(doi) and not doi.startswith("10.48550/")}
    return dois.pop() if len(dois) == 1 else ""


_PROCEEDINGS = re.compile(
    r"\b(?:proceedings|proc\.|appearing in|journal|vol(?:ume)?\.|transactions|magazine|conference)\b", re.I
)
_UNSURE = re.compile(r"\b(?:submitted|under review|do not distribute|received|accessed)\b", re.I)
_RIGHTS = re.compile(r"©|\bcopyright\b|\(c\)|^c (?=\d{4})", re.I)
_DATED = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|fall|autumn|winter|"
    r"published|accepted)[a-z]*\b",
    re.I,
)


def year_of(edge: Sequence[str], stamp: int | None, front: Sequence[str]) -> int | None:
    """The year as printed: of the proceedings or journal, of the stamp, of the copyright, of a date.

    Args:
        edge: heads and feet of the first page, and those that repeat.
        stamp: year of the arXiv stamp, or None.
        front: lines between title and text.
    """
    lines = [*edge, *front]
    lines = [found.string[: found.start()] if (found := _UNSURE.search(line)) else line for line in lines]
    for pattern in (_PROCEEDINGS, _RIGHTS, _DATED):
        if pattern is _RIGHTS and stamp:
            return stamp
        for line in lines:
            years = _YEAR.findall(line)
            if years and pattern.search(line) and len(line) < 600:
                return int(years[0])
    alone = [line for line in front if re.fullmatch(r"\W*(?:19|20)\d\d\W*", line)]
    return int(_YEAR.findall(alone[0])[0]) if alone and _YEAR.findall(alone[0]) else None


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


def find_abstract(
    rows: Sequence[PrintedRow], headings: Sequence[Heading], body: BodyText, page: int
) -> Abstract:
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
    runs: list[TextRun] = []
    for run in line.runs:
        text = run.text
        while left and text:
            left -= not text[0].isspace()
            text = text[1:]
        if text.strip():
            runs.append(replace(run, text=text))
    line.runs[:] = runs or line.runs
    for name in ("text", "spaced", "letters"):
        line.__dict__.pop(name, None)


def _below(
    rows: Sequence[PrintedRow], headings: Sequence[Heading], start: int, named: set[int], body: BodyText
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


def _within(heading: Heading, rows: Sequence[PrintedRow], last: Mapping[str, int]) -> bool:
    """True if a heading such as "Methods" is part of a structured abstract.

    That is so on page 1 if a section of the same name or the introduction follows.

    Args:
        heading: on any page.
        rows: of the document.
        last: usual names of sections -> row of the last heading with the name.
    """
    if not _STRUCTURED.fullmatch(heading.text) or rows[heading.first].line.page > 1:
        return False
    name = heading.text.casefold().strip(" .:")
    again = last.get(name, -1) > heading.first
    return again or (name != "introduction" and last.get("introduction", -1) > heading.first)


def _leaves(rows: Sequence[PrintedRow], number: int, size: float, body: BodyText) -> bool:
    """True if the body text begins here: three lines of its size, which differs from that of the abstract."""
    if abs(size - body.size) < 0.4:
        return False
    part = rows[number : number + 3]
    return len(part) == 3 and all(abs(row.line.size - body.size) < 0.3 for row in part)


def _first_paragraphs(rows: Sequence[PrintedRow], numbers: set[int]) -> set[int]:
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


def _unnamed(rows: Sequence[PrintedRow], headings: Sequence[Heading], body: BodyText, page: int) -> Abstract:
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
        marked = [
            kind
            for kind in ("italic", *(() if body.bold else ("bold",)))
            if sum(line.letters for line in lines if line.share(kind) > 0.7) > 0.7 * letters
        ]
        apart = abs(style.size - body.size) >= 0.4 or marked
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
            return Abstract(rows={i for block in prose for i in block})
    return Abstract()


def _blocks(rows: Sequence[PrintedRow], page: int) -> list[list[int]]:
    """Runs of rows of the first page with even distances and one size."""

    def even(one: int, two: int) -> bool:
        last, row = rows[one], rows[two]
        return (
            last.region == row.region
            and abs(last.line.size - row.line.size) < 0.4
            and row.line.base - last.line.base < 1.75 * row.line.size
        )

    return group((i for i, row in enumerate(rows) if row.line.page <= page), even)
