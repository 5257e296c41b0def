"""The structure of a paper in plain text: title, abstract, sections, references; and its sentences.

For text without any markup of its own: the text layer of a PDF, a ``.txt`` file. A heading is a line that
carries a known name (Introduction, Related Work ...) or the next number in a sequence; anything doubtful
stays text, so nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from aspectra.base.expressions import expression
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.text.cleaning import one_line
from aspectra.papers.text.references import ABSTRACT_NAMES, cut_references, entries_of, read_reference

# Sentences with exact offsets into the stored text.
#
# A small rule-based splitter: abstracts are well-edited prose, and evidence needs offsets that slice back
# to the very sentence. It is fast (about 60,000 sentences a second) and has no model to ship.

# Part of every cache key that depends on sentence boundaries: raise it when the rules change.
SPLITTER_VERSION = 1

_LONGEST = 1200  # characters; longer runs (tables, formulas, code) are cut at white space

# Candidate ends: Latin stops followed by white space, CJK stops, blank lines. The pattern begins with one set
# of characters: the search skips what lies between, which is four times as fast as trying three alternatives.
_END = expression(
    r"""[.!?。！？\n](?:(?<=[.!?])(?<![.!?].)[.!?]*+["'”’)\]}]*+(?=\s)"""
    r"""|(?<=[。！？])[。！？]*["'”’」』）]*|(?<=\n)[ \t]*\n)"""
)
_WORD_BEFORE = expression(r"(?<![\w.&-])([\w.&-]+)\.[\"'”’)\]}]*+$")
_INITIAL = expression(r"(?:[A-Z]|[A-Z](?:\.[A-Z])+)$")
_NEXT_STARTS = expression(r"\s+[\"'“‘(\[{]*([^\W_]|[$\\#*•\-–—])")

_ABBREVIATIONS = frozenset(
    """al approx appl assoc ca cf ch chap col comp conf corp dept dr ed eds eq eqn eqns eqs esp etc
    ext fig figs gen hon inc incl int jr lab lang lett ltd max min misc mr mrs ms mt no nos nr oct
    op para pp prev prob proc prof ref refs rel repr resp rev sec sect sen ser soc sr st subsec
    suppl tab tech th thm trans univ viz vol vols vs wrt e.g i.e a.k.a w.r.t s.t c.f i.i.d u.s u.k
    u.n ph.d m.s b.s et.al jan feb mar apr jun jul aug sept nov dec def cor lem prop""".split()
)


def _ends_sentence(text: str, start: int, stop_start: int, stop_end: int) -> bool:
    """True if the stop at ``text[stop_start:stop_end]`` ends the sentence that began at ``start``."""
    stop = text[stop_start]
    if stop in "。！？\n":
        return True
    following = _NEXT_STARTS.match(text, stop_end)
    if following is None:
        return stop_end + 1 >= len(text) or text[stop_end:].isspace()
    first = following.group(1)
    if stop != ".":
        return not first.islower()
    if first.islower():
        return False
    word = text[max(start, stop_start - 24) : stop_start].rpartition(" ")[2]
    if stop_end > stop_start + 1 or not word.isalpha():  # more than a word and its stop
        before = _WORD_BEFORE.search(text[max(start, stop_start - 24) : stop_end])
        if before is None:
            return True
        word = before.group(1)
    if word.casefold() in _ABBREVIATIONS:
        # "etc." and "et al." do end sentences before a capitalised word that is not a name's year.
        return word.casefold() in {"etc", "resp"} and first.isupper()
    # A lone capital is an initial ("J. Smith") unless it is a label ("class A. We ..."), which is rarer.
    return not _INITIAL.match(word)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space at its ends."""
    span = text[start:end]
    start += len(span) - len(span.lstrip())
    return start, start + len(span.strip())


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span itself, or cut at white space where it is longer than any sentence should be."""
    while end - start > _LONGEST:
        at = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
        at = at if at > 0 else start + _LONGEST
        span = trimmed(text, start, at)
        if span[0] < span[1]:
            yield span
        start = at
    span = trimmed(text, start, end)
    if span[0] < span[1]:
        yield span


def split_sentences(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, in order, not overlapping, without surrounding white space.

    >>> text = "We follow Smith et al. (2019). It works, e.g. for J. Doe. 你好。再见！"
    >>> [text[a:b] for a, b in split_sentences(text)]
    ['We follow Smith et al. (2019).', 'It works, e.g. for J. Doe.', '你好。', '再见！']
    """
    out: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if _ends_sentence(text, start, match.start(), match.end()):
            out.extend(_pieces(text, start, match.end()))
            start = match.end()
    out.extend(_pieces(text, start, len(text)))
    return out


def lead_field(paper: Paper) -> tuple[str, str]:
    """(field, text) that represents the paper in the abstract views.

    The abstract; where there is none, the lead of the first section with text (its first 2,000
    characters, cut at white space), so that a PDF without a marked abstract can still be found.
    """
    if paper.abstract.strip():
        return "abstract", paper.abstract
    for number, section in enumerate(paper.sections):
        if section.text.strip():
            text = section.text
            if len(text) > 2000:
                at = text.rfind(" ", 0, 2000)
                text = text[: at if at > 0 else 2000]
            return f"section:{number}", text
    return "abstract", ""


def abstract_sentences(paper: Paper) -> list[Sentence]:
    """Sentences of :func:`lead_field`; the source's own boundaries and roles where it brings them."""
    field, text = lead_field(paper)
    if field == "abstract" and paper.sentences:
        return [s for s in paper.sentences if 0 <= s.start < s.end <= len(text)]
    return [Sentence(start, end) for start, end in split_sentences(text)]


_NAMES = "|".join(Path(__file__).with_name("headings.txt").read_text("utf-8").split("\n")[:-1])
_KNOWN = expression(
    rf"(?P<number>(?:\d{{1,2}}(?:\.\d{{1,2}}){{0,3}}|[IVX]{{1,5}}|[A-Z])[.:)]?)?\s*(?P<name>{_NAMES})[.:]?",
    re.I,
)
_NUMBERED = expression(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+(?P<name>[^\W\d_].{1,98})")
_LETTERED = expression(r"(?:Appendix\s+)?(?P<number>[A-Z](?:\.\d{1,2}){0,3})[.:]?\s+(?P<name>[A-Z].{1,98})")
_ROMAN = expression(r"(?P<number>[IVX]{1,5})\.\s+(?P<name>[A-Z][^a-z]{2,80})")
_MARKDOWN = expression(r"#{1,6}\s+(?P<name>.{1,300}?)\s*#*")
_ABSTRACT = expression(rf"(?:#{{1,6}}\s*)?\**(?:{ABSTRACT_NAMES})\**\s*(?:[.:—–-]+\s*(?P<text>\S.*)?)?", re.I)
_ABSTRACT_ROMAN = expression(r"(?:Abstract|ABSTRACT)\s*[—–]+\s*(?P<text>\S.*)")
_AFTER_ABSTRACT = expression(
    r"(?:#{1,6}\s*)?\**(?:key ?-?words(?: and phrases)?|index terms|ccs concepts|acm reference format|"
    r"general terms|categories and subject descriptors|jel classification|pacs)\b",
    re.I,
)
_LONGEST_ABSTRACT = 6000  # characters; a longer one means that the first heading was missed


class Outline(Struct, frozen=True):
    """The parts of a text. ``front`` is the text between the title and the abstract."""

    title: str
    front: str
    abstract: str
    sections: tuple[Section, ...]
    references: tuple[Reference, ...]


def _reflow(lines: list[str]) -> str:
    """Printed lines as paragraphs: one line each, with a blank line between."""
    lengths = [len(line) for line in lines if len(line) > 30]
    from statistics import median  # a slow import, for texts without structure

    short = 0.75 * median(lengths) if len(lengths) >= 4 else 0.0
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        text = one_line(line)
        if not text:
            paragraphs.append([])
            continue
        paragraphs[-1].append(text)
        if len(text) < short and text.endswith((".", "!", "?", ":")):
            paragraphs.append([])
    return "\n\n".join(" ".join(paragraph) for paragraph in paragraphs if paragraph)


class _Headings:
    """Recognises heading lines; numbers must follow one another."""

    def __init__(self, appendix: bool, markdown: bool) -> None:
        self._last: tuple[int, ...] = ()
        self._markdown = markdown
        self._appendix = appendix

    def name(self, line: str) -> str | None:
        """The heading without its number, or None when ``line`` is text."""
        if not 2 < len(line) <= 310 or "\t" in line:
            return None
        if self._markdown and (found := _MARKDOWN.fullmatch(line)):
            return bare_heading(found["name"].strip("* "))
        if len(line) > 110:
            return None
        if (known := _KNOWN.fullmatch(line)) and (known["name"][0].isupper()):
            self._note(known["number"])
            return known["name"]
        found = _NUMBERED.fullmatch(line)
        if not found and (roman := _ROMAN.fullmatch(line)):
            return roman["name"]
        if found := found or (_LETTERED.fullmatch(line) if self._appendix else None):
            head, *tail = found["number"].split(".")
            number = (int(head) if head.isdecimal() else ord(head) - 64, *map(int, tail))
            if self._follows(number) and _title_shaped(found["name"]):
                self._last = number
                return found["name"]
        return None

    def _note(self, number: str | None) -> None:
        parts = (number or "").rstrip(".:)").split(".")
        if all(part.isdigit() for part in parts):
            self._last = tuple(int(part) for part in parts)

    def _follows(self, number: tuple[int, ...]) -> bool:
        """True if ``number`` can come next: 2 after 1 or 1.3, 2.1 after 2, 2.4 after 2.3 or 2.3.1."""
        if not self._last:
            return number in ((1,), (1, 1))
        if len(number) > len(self._last):
            return number[:-1] == self._last and number[-1] <= 2
        depth = len(number) - 1
        return number[:depth] == self._last[:depth] and 1 <= number[depth] - self._last[depth] <= 2


def bare_heading(heading: str) -> str:
    """A heading without its number.

    >>> bare_heading("2.1 Walks"), bare_heading("A Proofs"), bare_heading("10 simple rules")
    ('Walks', 'Proofs', '10 simple rules')
    """
    found = _NUMBERED.fullmatch(heading) or _LETTERED.fullmatch(heading)
    article = heading.startswith("A ") and len(heading.split()) > 3  # "A Survey of ..." is not an appendix
    return found["name"] if found and found["name"][0].isupper() and not article else heading


def _title_shaped(name: str) -> bool:
    """True if the text after a number looks like a heading, not like a list item or a table row."""
    words = name.split()
    letters = sum(c.isalpha() or c.isspace() for c in name)
    return (
        len(words) <= 14
        and name[0].isupper()
        and not name.endswith((".", ",", ";"))
        and not any(mark in name for mark in '“”"')
        and letters >= 0.8 * len(name)
    )


def outline(text: str, *, title: str = "", markdown: bool = True) -> Outline:
    """The structure of ``text``.

    Args:
        text: printed lines or paragraphs, any heading on a line of its own.
        title: the title if it is known from elsewhere; otherwise the first lines are tried.
        markdown: whether a line that begins with ``#`` is a heading.
    """
    before, block, after = cut_references(text)
    lines = before.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if not title:
        title, first = _title(lines, first)
    front, abstract, sections = _body(lines[first:], markdown=markdown)
    sections += _sections(after.split("\n"), appendix=True, markdown=markdown)
    references = tuple(read_reference(entry) for entry in entries_of(block))
    return Outline(title, front, abstract, tuple(sections), references)


def _title(lines: list[str], first: int) -> tuple[str, int]:
    """The first line, if it looks like a title, and the number of the line behind it."""
    line = one_line(lines[first]) if first < len(lines) else ""
    found = _MARKDOWN.fullmatch(line)
    name = found["name"] if found else line
    plausible = 3 <= len(name) <= 250 and not name.endswith((".", ",", ";", ":")) and name[:1].isalnum()
    if not plausible or _ABSTRACT.fullmatch(line) or _KNOWN.fullmatch(line):
        return "", first
    return name.strip("* "), first + 1


def _body(lines: list[str], *, markdown: bool) -> tuple[str, str, list[Section]]:
    """(front matter, abstract, sections) of the text before the reference list."""
    at = _abstract_line(lines)
    if at is None:
        sections = _sections(lines, appendix=False, markdown=markdown)
        if len(sections) > 1 and not sections[0].heading:
            front, abstract = _prose_of(sections[0].text)
            if abstract:
                return front, abstract, sections[1:]
        return "", "", sections
    found = _ABSTRACT_ROMAN.fullmatch(lines[at].strip()) or _ABSTRACT.fullmatch(lines[at].strip())
    inline = found["text"] if found and found["text"] else ""
    headings = _Headings(appendix=False, markdown=markdown)
    below = ((number, line.strip()) for number, line in enumerate(lines[at + 1 :], at + 1))
    ends = (number for number, line in below if _AFTER_ABSTRACT.match(line) or headings.name(line))
    end = next(ends, len(lines))
    abstract = _reflow([inline, *lines[at + 1 : end]] if inline else lines[at + 1 : end])
    left = lines[end:]
    if len(abstract) > _LONGEST_ABSTRACT:
        abstract, _, more = abstract.partition("\n\n")
        left = [*more.split("\n"), "", *left]
        if len(abstract) > _LONGEST_ABSTRACT:
            left, abstract = [abstract, "", *left], ""
    sections = _sections(left, appendix=False, markdown=markdown)
    return _reflow(lines[:at]), abstract, sections


def _abstract_line(lines: list[str]) -> int | None:
    for number, line in enumerate(lines[:400]):
        text = line.strip()
        if _ABSTRACT_ROMAN.fullmatch(text):
            return number
        found = _ABSTRACT.fullmatch(text)
        if found and text[0] in "#*AS" and not (text.casefold().startswith("summary") and number > 60):
            return number
    return None


def _prose_of(text: str) -> tuple[str, str]:
    """(rest, the first long paragraph of several sentences): an abstract that has no heading."""
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        letters = sum(c.isalpha() for c in paragraph)
        if (
            300 <= len(paragraph) <= _LONGEST_ABSTRACT
            and paragraph.count(". ") >= 2
            and letters > 0.7 * len(paragraph)
        ):
            return "\n\n".join(paragraphs[:number] + paragraphs[number + 1 :]), paragraph
    return text, ""


def _sections(lines: list[str], *, appendix: bool, markdown: bool) -> list[Section]:
    headings = _Headings(appendix, markdown)
    sections: list[Section] = []
    name, body = "", list[str]()
    skip = False
    for number, line in enumerate(lines):
        if skip:
            skip = False
            continue
        text = line.strip()
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if re.fullmatch(r"\d{1,2}(?:\.\d{1,2}){0,3}\.?", text) and following[:1].isupper():
            # The number of a heading on a line of its own, as two-column layouts leave it.
            heading = headings.name(f"{text} {following}")
            skip = heading is not None
        else:
            heading = headings.name(text)
        if heading is None:
            body.append(line)
            continue
        sections.append(Section(name, _reflow(body)))
        name, body = one_line(heading), []
    sections.append(Section(name, _reflow(body)))
    return [section for section in sections if section.heading or section.text]
