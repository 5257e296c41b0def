"""Headings told by size, weight, numbers and known names; the reference list of printed pages."""

from __future__ import annotations

import bisect
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from pathlib import Path

from aspectra.papers import text
from aspectra.papers.paper import Reference
from aspectra.papers.sources.pages.layout.lines import Line, PrintedRow, group, is_prose
from aspectra.papers.text.references import ABSTRACT_NAMES, REFERENCES_NAMES, entries_of, read_reference

_NAMES = "|".join(Path(text.__file__).with_name("headings.txt").read_text("utf-8").split("\n")[:-1])
_OTHERS = (
    rf"{ABSTRACT_NAMES}|executive summary|keywords?|key words|index terms|{REFERENCES_NAMES}|"
    r"notes|contents|table of contents|nomenclature|glossary|"
    r"related works?|ccs concepts|declarations?|availability"
)
_NUMBER = r"(?:\d{1,2}(?:\.\d{1,2}){0,3}|[IVX]{1,5}(?=[.:)\s])|[A-Z](?:\.\d{1,2}){1,3}|[A-Z])"
_NUMBERED = re.compile(
    rf"(?P<number>(?:Appendix\s+|APPENDIX\s+|Chapter\s+)?{_NUMBER})(?P<mark>[.:)]{{0,2}})(?P<gap>\s*)(?P<name>[^\W_].*)"
)
_KNOWN = re.compile(rf"(?:{_NUMBER}[.:)]?\s*)?(?P<name>{_NAMES}|{_OTHERS})[.:]?", re.I)
_CAPTION = re.compile(
    r"(?:fig(?:ure|s?)?|table|tab|algorithm|listing|scheme|plate|box|equation|eq|definition|theorem|lemma|corollary|"
    r"proposition|remark|example|property|assumption|claim|hypothesis|conjecture|step|input|output|proof\W?$)\b"
    r"\.?\s*(?:[A-Z]{0,2}\d|[IVX]+\b|[.:(]|$)",
    re.I,
)
_CONTENTS = re.compile(r"(?:\. ?){4}|\s{2}\d{1,3}$")  # a line of a table of contents
_CODE = re.compile(r"[@_{}=\\]|http|::")  # addresses and lines of programs
_PAGE_NUMBER = re.compile(r"\d{1,4}$")
_LONGEST = 220  # characters of a heading
_MOST_ROWS = 5

Style = tuple[str, float]


@dataclass(frozen=True, slots=True)
class BodyText:
    """The main type of the document: font, size in points, line distance in points."""

    font: str
    size: float
    leading: float
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """Rows ``first`` to ``last`` (inclusive) make up one heading."""

    first: int
    last: int
    text: str


def body_of(rows: Sequence[Line]) -> BodyText:
    """The style in which most letters are set."""
    sizes: Counter[tuple[str, float, bool]] = Counter()
    for row in rows:
        for run in row.runs:
            sizes[run.font.name, run.size, run.font.bold] += len(run.text)
    if not sizes:
        return BodyText("", 10.0, 12.0)
    (font, size, bold), _ = sizes.most_common(1)[0]
    steps = Counter(
        round(two.base - one.base, 1)
        for one, two in pairwise(rows)
        if one.page == two.page and abs(one.size - size) < 0.3 and size <= two.base - one.base < 2.5 * size
    )
    return BodyText(font, size, steps.most_common(1)[0][0] if steps else 1.2 * size, bold)


def known_name(line: str) -> str:
    """The usual name of a section that a line consists of, without its number, else ""."""
    found = _KNOWN.fullmatch(line)
    return found["name"] if found and found["name"][0].isupper() else ""


def _after(number: str) -> str:
    """The number behind ``number`` on its level, "" for one without digits.

    >>> _after("2.3"), _after("4"), _after("A")
    ('2.4', '5', '')
    """
    head, dot, last = number.rpartition(".")
    return f"{head}{dot}{int(last) + 1}" if last.isdigit() else ""


def without_number(text: str) -> str:
    """A heading without its number; "Appendix A: ..." stays whole, as does "A Survey of ...".

    >>> without_number("II. Related Work"), without_number("Appendix B: Proofs"), without_number("2.1 Walks")
    ('Related Work', 'Appendix B: Proofs', 'Walks')
    """
    found = _NUMBERED.fullmatch(text)
    number = _numbered(text)
    if not found or not number or " " in number:
        return text
    article = number == "A" and not found["mark"] and len(found["name"].split()) > 3
    return text if article else found["name"]


def find_headings(printed: Sequence[PrintedRow], body: BodyText) -> list[Heading]:
    """Headings in the order of the rows.

    Args:
        printed: rows in reading order.
        body: style of the text.
    """
    rows = [row.line for row in printed]
    regions = [row.region for row in printed]
    listed = _contents_pages(rows)
    candidates = [
        h for h in _candidates(rows, regions, body) if rows[h.first].page not in listed or known_name(h.text)
    ]
    styles = _trusted(candidates, rows, body)
    if not styles:
        return []
    numbered = sum(bool(_numbered(h.text)) and _style(rows[h.first]) in styles for h in candidates) >= 4
    # Before the first sure heading, and before running text, there are only names and places.
    sure = [h for h in candidates if known_name(h.text) or _numbered(h.text)[:1].isdigit()]
    text = next((at for at, row in enumerate(rows) if row.page > rows[0].page or is_prose(printed, at)), 0)
    begin = min(text, sure[0].first) if sure else text
    found: list[Heading] = []
    letter = above = ""
    for heading in candidates:
        row = rows[heading.first]
        style = _style(row)
        name = known_name(heading.text)
        number = _numbered(heading.text)
        if heading.first < begin:
            continue
        if len(number) == 1 and number.isalpha() and not name:
            # Letters count up from A; else it is the initial of a name, if not a Roman number.
            if number == "A" or (letter and number in (letter, chr(ord(letter) + 1))):
                letter = number
            elif number not in "IVX":
                continue
        if name:
            good = style in styles or not heading.text.endswith((".", ":"))
        elif number:
            expected = (f"{above}.1", _after(above), _after(above.rpartition(".")[0])) if above else ()
            good = style in styles or (number[0].isdigit() and number in expected)
        else:
            large = row.size >= body.size + 0.4
            alone = style in styles and _stands_alone(heading, rows, regions, body)
            good = alone and (large or not numbered)
        if good:
            found.append(heading)
            above = number or above
    return found


def _contents_pages(rows: Sequence[Line]) -> set[int]:
    """Pages of a table of contents: most lines end with a number, and the numbers rise."""
    ends: defaultdict[int, list[int]] = defaultdict(list)
    total: Counter[int] = Counter()
    for row in rows:
        total[row.page] += 1
        found = _PAGE_NUMBER.search(row.text)
        if found and row.letters >= 3:
            ends[row.page].append(int(found[0]))
    return {
        page
        for page, numbers in ends.items()
        if len(numbers) >= max(5, 0.5 * total[page])
        and sum(one <= two for one, two in pairwise(numbers)) >= 0.9 * (len(numbers) - 1)
    }


def _candidates(rows: Sequence[Line], regions: Sequence[int], body: BodyText) -> list[Heading]:
    found: list[Heading] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        raised = row.runs[0].size < 0.85 * row.size and row.runs[0].text.strip()[:1].isdigit()
        listed = bool(_CONTENTS.search(row.spaced))
        if raised or listed or not _distinct(row, body) or not _begins(row.text):
            at += 1
            continue
        last = at
        while (
            last + 1 < len(rows)
            and last - at < _MOST_ROWS
            and regions[last + 1] == regions[at]
            and _style(rows[last + 1]) == _style(row)
            and _distinct(rows[last + 1], body)
            and rows[last + 1].base - rows[last].base < 1.6 * row.size
            and not _numbered(rows[last + 1].text)
            and not known_name(rows[last].text)
        ):
            last += 1
        name = reduce(glued, (row.text for row in rows[at : last + 1]))
        if _shaped(name, last - at) and not _runs_in(rows, regions, last, body):
            found.append(Heading(at, last, name))
        at = last + 1
    return found


def glued(one: str, two: str) -> str:
    """Two printed lines as one text, a divided word put together."""
    return one[:-1] + two if one.endswith("-") and two[:1].islower() else f"{one} {two}"


def _runs_in(rows: Sequence[Line], regions: Sequence[int], last: int, body: BodyText) -> bool:
    """True if the next line starts in bold and continues as plain text: a run-in heading of a paragraph."""
    if last + 1 >= len(rows) or regions[last + 1] != regions[last]:
        return False
    row, following = rows[last], rows[last + 1]
    if row.size > body.size + 0.4 or following.base - row.base > 1.25 * body.leading:
        return False
    head = following.runs[0]
    return (
        head.font.bold
        and head.font == row.font
        and not _distinct(following, body)
        and head.text[:1].isalpha()
    )


def _trusted(candidates: Sequence[Heading], rows: Sequence[Line], body: BodyText) -> Mapping[Style, int]:
    """Styles of numbered headings and of those with a usual name, with the count of each."""
    votes: Counter[Style] = Counter()
    tops: list[int] = []
    for heading in candidates:
        style = _style(rows[heading.first])
        if known_name(heading.text):
            # With a full stop it is more often the lead of a paragraph.
            votes[style] += 0 if heading.text.endswith((".", ":")) else 2
        elif number := _numbered(heading.text):
            votes[style] += not number.isdigit() or not tops or int(number) in (tops[-1], tops[-1] + 1)
            if number.isdigit():
                tops.append(int(number))
    sizes = {size for (_, size), count in votes.items() if count >= 2}
    fonts = {font for (font, _), count in votes.items() if count >= 2}
    styles = {style: count for style, count in votes.items() if count >= 2}
    if any(size >= body.size + 0.7 and count >= 3 for (_, size), count in votes.items()):
        # Where headings are larger than the text, bold lines of its size are leads, unless most have numbers.
        for style in [style for style in styles if style[1] < body.size + 0.4]:
            among = [h for h in candidates if _style(rows[h.first]) == style]
            if sum(bool(_numbered(h.text)) for h in among) < 0.5 * len(among):
                del styles[style]
    # A second level without numbers: the same font between the first level and the body, more than once.
    others = Counter(_style(rows[heading.first]) for heading in candidates)
    for (font, size), count in others.items():
        if font in fonts and sizes and count >= 2 and body.size + 0.4 <= size <= max(sizes):
            styles.setdefault((font, size), count)
    return styles


def _style(row: Line) -> Style:
    """Font and size; small capitals that are drawn as smaller letters have the size of the large ones."""
    capitals = sum(c.isupper() for c in row.text) >= 0.9 * row.letters
    size = max(run.size for run in row.runs if run.font == row.font) if capitals else row.size
    return row.font.name, round(size * 2) / 2


def _distinct(row: Line, body: BodyText) -> bool:
    if row.letters < 3 or max(run.size for run in row.runs) < body.size - 1.3:
        return False
    capitals = sum(c.isupper() for c in row.text)
    return (
        row.size >= body.size + 0.7
        or (not body.bold and row.share("bold") > (0.6 if _numbered(row.text)[:1].isdigit() else 0.93))
        or row.share("small_caps") > 0.6
        or (capitals >= 0.9 * row.letters and row.letters >= 4)
        or (row.share("italic") > 0.8 and bool(_numbered(row.text)))
    )


def _begins(line: str) -> bool:
    return (line[0].isupper() or line[0].isdigit()) and not _CAPTION.match(line)


def _numbered(line: str) -> str:
    """The number of a heading such as ``2.1`` or ``Appendix A``, else ""."""
    found = _NUMBERED.fullmatch(line)
    if not found or not (found["name"][0].isupper() or found["name"][0].isdigit()):
        return ""
    number = found["number"]
    if ")" in found["mark"] and number[-1].isdigit():
        return ""  # an item of a list
    if not found["gap"] and not (found["mark"] and number[-1].isdigit()):
        return ""
    if number.isalpha() and len(number) == 1 and not found["mark"] and number == "A":
        # "A Survey of ..." in capitals or bold is a title as often as an appendix.
        return number if len(found["name"].split()) <= 8 else ""
    return number


def _shaped(name: str, more_rows: int) -> bool:
    """True if a text looks like a heading."""
    letters = sum(c.isalpha() or c.isspace() for c in name)
    return (
        len(name) <= _LONGEST
        and not (name.endswith((".", ",", ";")) and not known_name(name))
        and letters >= 0.6 * len(name)
        and not _CODE.search(name)
        and not _CONTENTS.search(name)
        and more_rows < _MOST_ROWS
    )


def _stands_alone(heading: Heading, rows: Sequence[Line], regions: Sequence[int], body: BodyText) -> bool:
    """True if a heading has more white space above it than lines have, or starts a column."""
    at = heading.first
    if at == 0 or regions[at - 1] != regions[at]:
        return True
    return rows[at].base - rows[at - 1].base > 1.25 * body.leading


_HEADING = re.compile(
    rf"\W*(?:(?:\d{{1,2}}(?:\.\d{{1,2}})*|[A-Z]|[IVX]{{1,5}})[.)]?\s*)?(?:{REFERENCES_NAMES})\W*", re.I
)
_LABEL = re.compile(r"\[(\d{1,3})\]\s*\S")
_CAPTION_LINE = re.compile(r"(?:fig(?:ure|\.)|table)\s*[A-Z]?\d+\s*[.:|]", re.I)
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
    stops = [*sorted(h.first for h in headings), len(rows)]
    named = [h for h in headings if _HEADING.fullmatch(h.text)]
    found.headings = {h.first for h in named}
    spans = [(h.last + 1, stops[bisect.bisect_right(stops, h.last)]) for h in named]
    if not spans and (begin := _labelled(rows)) is not None:
        spans = [(begin, stops[bisect.bisect_right(stops, begin)])]
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
        if _CAPTION_LINE.match(line.text):
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
    if not rows:
        return []
    by_region: dict[int, list[PrintedRow]] = {}
    for row in rows:
        by_region.setdefault(row.region, []).append(row)
    hanging = _hangs(by_region)
    steps = Counter(
        round(two.line.base - one.line.base, 1) for one, two in pairwise(rows) if one.region == two.region
    )
    edges = {region: min(row.line.left for row in part) for region, part in by_region.items()}
    leading = steps.most_common(1)[0][0] if steps else 12.0
    spaced = sum(count for step, count in steps.items() if 1.15 * leading < step < 2.5 * leading) >= 3
    out = [rows[0].line.text]
    for last, row in pairwise(rows):
        if hanging:
            fresh = row.line.left < edges[row.region] + 4
        elif spaced and last.region == row.region:
            fresh = row.line.base - last.line.base > 1.15 * leading
        else:
            ended = spaced and re.search(r"[.\])]\s*$|\d\s*$", last.line.text) is not None
            fresh = ended and not row.line.text[:1].islower()
        out += ["", row.line.text] if fresh else [row.line.text]
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
