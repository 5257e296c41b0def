"""Reference lists in plain text: where they begin and end, one entry at a time, and what an entry cites.

The text may come from a PDF (one printed line per line), from Markdown or from a plain file. Everything
here works by layout and punctuation; an entry that cannot be taken apart stays whole as ``raw``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from aspectra.base.expressions import expression
from aspectra.papers.identifiers import identifiers_in
from aspectra.papers.paper import Reference
from aspectra.papers.text.cleaning import one_line

# Headings, in whatever format a paper comes.
ABSTRACT_NAMES = r"abstract|summary|zusammenfassung|kurzfassung|résumé|resumen|resumo"
REFERENCES_NAMES = (
    r"references(?: and notes| cited)?|bibliography|literature(?: cited)?|works cited|reference list"
    r"|literatur(?:verzeichnis)?|références(?: bibliographiques)?|bibliographie"
    r"|refer[eê]ncias(?: bibliográficas)?|bibliograf[ií]a"
)
_HEADING = expression(
    rf"^[ \t]*+(?:#{{1,6}}[ \t]*+)?\**+(?:(?:\d{{1,2}}|[IVX]{{1,5}})[.)]?[ \t]++)?(?:{REFERENCES_NAMES})"
    r"\**+[ \t]*+[:.]?[ \t]*+$",
    re.I | re.M,
)
_YEAR = expression(r"(?<!\d)(?:1[89]|20)\d\d[a-z]?(?!\d)")
_MARKDOWN_HEADING = expression(r"^#{1,6}[ \t]+\S.*$", re.M)
_APPENDIX = expression(
    r"^[ \t]*(?:(?:Appendix|Appendices|APPENDIX|APPENDICES|Supplementary|SUPPLEMENTARY|Supplemental)\b.{0,80}"
    r"|A(?:\.1)?[.:]?[ \t]+[A-Z][^.,;\n]{2,80}[^.,;:\n\d])$",
    re.M,
)
_BRACKET = expression(
    r"^[ \t]*(?:[-*•][ \t]+)?\[(?=[^\[\]\n]{0,39}\d)[^\[\]\n]{1,40}\](?!\()[ \t]*(?=\S)", re.M
)
_NUMBER = expression(r"^[ \t]*(?:[-*•][ \t]+)?\(?(\d{1,4})[.)]?[ \t]+(?=\S)", re.M)
_BULLET = expression(r"^[ \t]*[-*•][ \t]+(?=\S)", re.M)
_INLINE_BRACKET = expression(r"(?:^|(?<=\s))\[(\d{1,4})\][ \t]*(?=\S)", re.M)
_BLANK = expression(r"\n[ \t]*\n")
_ENTRY_END = expression(r"(?:[.)\]>]|\d|https?://\S+|10\.\d{4,9}/\S+)[ \t]*$")
_AUTHOR_START = expression(
    r"^(?:\W{0,2})(?:(?:van|von|de|del|der|den|di|da|la|le|al|el|ten|ter)[ \t]+)*"
    r"[A-Z\u00c0-\u024f\u0370-\u04ff]"
)
_NOT_AUTHOR = expression(
    r"^(?:In\b|Proceedings|Proc\.|Advances|Association|Conference|Journal|Springer|Transactions|Lecture|"
    r"Technical|Preprint|Available|Accessed|Curran|Press|University|ACM\b|IEEE\b|Volume|Vol\.|URL|DOI|ArXiv|"
    r"CoRR|Pages?\b|PMLR|Version|Springer|Elsevier|Cambridge|Oxford|Online)"
)
_LINK = expression(r"\[([^\[\]]{0,2000})\]\((<?[^()\s]{0,500}(?:\([^()\s]{0,80}\)[^()\s]{0,200})?>?)\)")
_LINK_START = expression(r"://|doi\.org/|\b10\.\d{4,9}/")
_MOST_HEADINGS = 20  # at either end of the text: more are not headings
_MOST_BEFORE = 200  # most characters of a running head before the first entry
_LONGEST = 4000  # characters of one entry; a longer run is not a reference


def cut_references(text: str) -> tuple[str, str, str]:
    """(text before the reference list, the list without its heading, text after it, such as appendices).

    Without a reference heading the whole text is the first part.
    """
    headings = list(_HEADING.finditer(text))
    if not headings:
        return text, "", ""
    # A list is dense with years; a line "References" in a table of contents is not followed by them.
    headings = headings[:_MOST_HEADINGS] + headings[_MOST_HEADINGS:][-_MOST_HEADINGS:]
    limits = [m.start() for m in headings[1:]] + [len(text)]
    dense = [
        m
        for m, limit in zip(headings, limits, strict=True)
        if len(_YEAR.findall(text, m.end(), min(m.end() + 2000, limit))) >= 2
    ]
    chosen = dense[0] if dense else headings[-1]
    before, after = text[: chosen.start()].rstrip(), text[chosen.end() :]
    end = _list_end(after)
    return before, after[:end].strip("\n"), after[end:].strip("\n")


def _list_end(text: str) -> int:
    found = _MARKDOWN_HEADING.search(text)
    end = found.start() if found else len(text)
    for match in _APPENDIX.finditer(text, 0, end):
        line = match.group()
        if _YEAR.search(line) or not _starts_fresh(text, match.start()):
            continue
        # A wrapped title such as "A Survey of ..." is followed by its year, an appendix by prose.
        if not _YEAR.search(text, match.end(), min(len(text), match.end() + 400)):
            return match.start()
    return end


def _starts_fresh(text: str, at: int) -> bool:
    """True if the text before ``at`` could be the end of an entry."""
    before = text[:at].rstrip(" \t\n")
    return not before or bool(_ENTRY_END.search(before[-300:].rpartition("\n")[2]))


def entries_of(block: str) -> list[str]:
    """The entries of a reference list, each on one line without its label or bullet.

    Understands bracketed labels (``[1]``, ``[ABC20]``), numbers (``1.``), bullets, entries separated by
    blank lines, and author-year lists in printed lines.
    """
    if not block.strip():
        return []
    starts = _starts(block)
    ends = [start for start, _ in starts[1:]] + [len(block)]
    entries = (_join_lines(block[body:end]) for (_, body), end in zip(starts, ends, strict=True))
    return [entry[:_LONGEST] for entry in entries if len(entry) >= 10]


def _starts(block: str) -> list[tuple[int, int]]:
    """(start, start of the text behind the label) of every entry."""
    bracketed = max(_spans(_BRACKET, block), _counted(_INLINE_BRACKET, block), key=len)
    numbered = _counted(_NUMBER, block)
    if len(bracketed) >= 2 and len(bracketed) >= len(numbered):
        return bracketed
    if len(numbered) >= 2:
        return numbered
    bullets = _spans(_BULLET, block)
    if len(bullets) >= 2:
        return bullets
    paragraphs = [0, *(match.end() for match in _BLANK.finditer(block))]
    if len(paragraphs) >= 3 and len(_YEAR.findall(block)) >= len(paragraphs) // 2:
        return _merge_yearless(block, paragraphs)
    return _by_author(block)


def _spans(pattern: re.Pattern[str], block: str) -> list[tuple[int, int]]:
    """All labels, if the list begins with one; else they are something else, such as ``[cs.CL]``."""
    found = [match.span() for match in pattern.finditer(block)]
    return found if found and found[0][0] <= _MOST_BEFORE else []


def _counted(pattern: re.Pattern[str], block: str) -> list[tuple[int, int]]:
    """Labels that count up from 1; one may be missing, and numbers out of sequence are skipped."""
    found: list[tuple[int, int]] = []
    last = 0
    for match in pattern.finditer(block):
        number = int(match.group(1))
        if last < number <= last + 2 and (last or number == 1):
            found.append(match.span())
            last = number
    return found if found and found[0][0] <= _MOST_BEFORE else []


def _merge_yearless(block: str, starts: list[int]) -> list[tuple[int, int]]:
    """Paragraphs as entries; one without a year continues the entry before it (a page break)."""
    merged: list[tuple[int, int]] = []
    ends = [*starts[1:], len(block)]
    for start, end in zip(starts, ends, strict=True):
        previous = block[merged[-1][0] : start] if merged else ""
        if not merged or (_YEAR.search(previous) and _YEAR.search(block, start, end)):
            merged.append((start, start))
    return merged


def _by_author(block: str) -> list[tuple[int, int]]:
    """A line begins an entry when the one before looks finished, has its year, and a name may follow."""
    starts: list[tuple[int, int]] = []
    at = 0
    previous, has_year = "", False
    for line in block.splitlines(keepends=True):
        if text := line.strip():
            if not starts or (has_year and _ENTRY_END.search(previous) and _looks_like_author(text)):
                starts.append((at, at))
                has_year = False
            has_year = has_year or bool(_YEAR.search(text))
            previous = text[-300:]
        at += len(line)
    return starts


def _looks_like_author(line: str) -> bool:
    if not _AUTHOR_START.match(line) or _NOT_AUTHOR.match(line):
        return False
    # A name is followed by a comma, an initial, "and", or a stop before the year or title.
    return bool(re.match(r"^[^\d:]{2,80}?(?:,|\.| and | et al| &)", line))


def _join_lines(text: str) -> str:
    """Printed lines as one, hyphens at line ends mended, links that were broken put together."""
    out = ""
    for raw in text.split("\n"):
        line = one_line(raw)
        if not line:
            continue
        if not out:
            out = line
        elif out[-1] in "/._=-" and _LINK_START.search(out[-200:].rpartition(" ")[2][:-1]):
            out += line
        elif out.endswith("-") and out[-2:-1].islower() and line[0].islower():
            out = out[:-1] + line
        else:
            out = f"{out} {line}"
        if len(out) > _LONGEST * 2:
            break
    return out


def read_reference(raw: str) -> Reference:
    """An entry with the identifiers it names and its title where that can be told."""
    links: list[str] = []

    def unlink(match: re.Match[str]) -> str:
        links.append(match.group(2).strip("<>"))
        return match.group(1)

    shown = one_line(_LINK.sub(unlink, raw)) if "](" in raw else raw
    found = [identifiers_in(part) for part in (shown, *links)]
    identifiers = {scheme: value for part in reversed(found) for scheme, value in part.items()}
    return Reference(raw=shown, title=cited_title(shown), identifiers=identifiers)


_QUOTED = expression(r"[“\"‘']{1,2}([^“”\"]{12,301}+)[”\"]")
_AFTER_YEAR = expression(r"(?:[.,]\s*+|(?<!\s)\s*+)\(?(?:1[89]|20)\d\d[a-z]?(?:,[^()]{0,20})?\)?\s*[.:]\s+")
_STOP = expression(
    r"(?<![A-Z])[.?!](?=\s+(?:[“\"'A-Z\d*(<]|arXiv|doi|https?:|pp?\.)|\s*$)|(?<=\w\w[A-Z])\.(?=\s)"
)
_COLON = expression(r"^(?:[^:]{0,300}?\b[A-Z]\.|[^:]{0,300}? et al\.?):\s+")
_INITIALS = expression(r"(?:^|[\s.-])[A-Z]\.|,|\band\b|&|et al")
_NAME = expression(r"^(?:[A-Z][\w'’-]*[ .]+){2,4}$")
_VENUE = expression(
    r"^(?:In\b|arXiv|Proceedings|Proc\.|Advances in|Journal of|https?:|doi|Available|pp?\.)", re.I
)


def cited_title(raw: str) -> str:
    """The title inside a printed entry, or "" if it is not found.

    >>> cited_title("A. Lee and B. Roy. 2020. Maps of soft rooms. In Proceedings of X.")
    'Maps of soft rooms'
    >>> cited_title("Ann Lee, Bo Roy, et al. Maps of soft rooms. arXiv preprint, 2020.")
    'Maps of soft rooms'
    >>> cited_title('A. Lee, "Maps of soft rooms," J. Rooms, 2020.')
    'Maps of soft rooms'
    """
    text = raw[:1500].replace("*", "")
    if (found := _QUOTED.search(text)) and len(found.group(1).split()) >= 3:
        title = found[1][:-1] if found[1][-1] in ",.?!" else found[1]
        return title.strip(" ,.")
    if found := _COLON.match(text):
        return _first_sentence(text[found.end() :])
    # Author-year: the year comes before the title, so within the first part of the entry.
    if (found := _AFTER_YEAR.search(text)) and found.start() <= 600:
        head = text[: found.start()]
        people = _INITIALS.search(head) or len(head.split()) <= 6
        if people and (title := _first_sentence(text[found.end() :])):
            return title
    # Year at the end: authors, full stop, title, full stop.
    parts = _sentences(text, 3)
    if (
        len(parts) >= 3
        and (_INITIALS.search(parts[0]) or _NAME.match(parts[0]))
        and not _VENUE.match(parts[1])
    ):
        return _title_like(parts[1])
    return ""


def _sentences(text: str, most: int) -> list[str]:
    parts, at = [], 0
    for match in _STOP.finditer(text):
        parts.append(text[at : match.end()].strip())
        at = match.end()
        if len(parts) == most:
            return parts
    if tail := text[at:].strip():
        parts.append(tail)
    return parts


def _first_sentence(text: str) -> str:
    parts = _sentences(text, 1)
    return _title_like(parts[0]) if parts and not _VENUE.match(parts[0]) else ""


def _title_like(text: str) -> str:
    title = text.strip().rstrip(".,").strip('“”" ')
    words = title.split()
    return (
        title
        if 2 <= len(words) <= 40 and len(title) >= 8 and sum(c.isalpha() for c in title) > len(title) / 2
        else ""
    )


# Text without its in-text citations, with a map back into the stored text.
#
# A view of full text that is to say what papers are *about* should not match "(Brill, 1992)" with "(Brill,
# 1992)": that would find citation links by their markers. The stored text stays as it is; a view reads it
# through :class:`Stripped`, whose offsets lead back, so that every quote can still be checked by slicing.

# Part of every cache key that depends on what is left out: raise it when the rules change.
STRIPPER_VERSION = 1

_CITED_YEAR = r"(?:1[89]|20)\d\d[a-z]?"
_CITED_NAME = (
    r"(?:(?:van|von|de|der|den|di|du|la|le|Mc|Mac|O['’])\s?){0,4}"
    r"[A-Z](?=[\w'’-]{0,60}[a-z])[\w'’-]{1,61}+"
)
_NAMES = (
    rf"{_CITED_NAME}(?:\s*+,\s*+{_CITED_NAME}){{0,4}}(?:\s*+,?\s*+(?:and|&)\s++{_CITED_NAME})?"
    r"(?:(?:\s*+,)?+\s++et\.?\s*+al\b\.?)?"
    r"(?:['’]s)?"
)
_YEARS = rf"{_CITED_YEAR}(?:\s*+[,;]\s*+{_CITED_YEAR})*"
_RULES = expression(
    "|".join(
        (
            # Markers that converters leave behind.
            r"\{\{cite:[^{}]{1,200}\}\}",
            r"\\(?:cite|citep|citet|citealp|citeauthor|citeyear)\*?(?:\[[^\]]{0,80}\]){0,2}\{[^{}]{1,300}\}",
            # Part of the sentence: "Min and Wilson (1998)".
            rf"\b{_NAMES}\s*+[(\[]\s*+{_YEARS}\s*+(?:[:,][^()\[\]]{{0,40}})?[)\]]",
            # In brackets with a name, a year and other text: "(see Min, 1996; Abe, 1998)".
            rf"[(\[](?=[^()\[\]]{{0,300}}[A-Z])[^()\[\]]{{1,300}}\b{_CITED_YEAR}\b[^()\[\]]{{0,80}}[)\]]",
            # Years alone in brackets: "Brill's tagger (1992; 1994)".
            rf"[(\[]\s*+{_YEARS}\s*+[)\]]",
            # Without brackets: "Smith et al., 1998", "Min and Wilson, 1998".
            rf"\b{_CITED_NAME}(?:\s*+,)?+\s++et\.?\s*+al\b\.?(?:\s*+,?\s*+{_YEARS})?",
            rf"\b{_CITED_NAME}\s++(?:and|&)\s++{_CITED_NAME}\s*+,\s*+{_YEARS}\b",
            rf"\b{_CITED_NAME}\s*+,\s*+{_YEARS}\b",
            # Numbers: "[3, 7-9]".
            r"\[\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*\]",
        )
    )
)


class Stripped(Struct, frozen=True, dict=True):
    """A text without its citations.

    Attributes:
        stored: the text as it is stored.
        removed: (start, end) of each citation in it, ascending, not overlapping.
    """

    stored: str
    removed: tuple[tuple[int, int], ...]

    @cached_property
    def text(self) -> str:
        """The text without its citations."""
        return self.between(0, len(self.stored))

    def between(self, start: int, end: int) -> str:
        """``stored[start:end]`` without citations."""
        parts, at = [], start
        for low, high in self.removed:
            if high <= start or low >= end:
                continue
            parts.append(self.stored[at : max(at, low)])
            at = max(at, high)
        parts.append(self.stored[at:end] if at < end else "")
        return "".join(parts)

    @cached_property
    def _gone(self) -> tuple[list[int], list[int]]:
        """Position of each citation in :attr:`text`, and characters removed up to its end."""
        total = list(accumulate(high - low for low, high in self.removed))
        before = [0, *total][: len(total)]
        return [low - gone for (low, _), gone in zip(self.removed, before, strict=True)], total

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of :attr:`stored` that ``text[start:end]`` comes from; citations inside it are in it.

        >>> found = strip_citations("We follow Brill (1992) and Min (1996) here.")
        >>> found.text
        'We follow  and  here.'
        >>> found.stored[slice(*found.original(11, 20))]
        'and Min (1996) here'
        """
        if end <= start:
            at = self._place(start)
            return at, at
        return self._place(start), self._place(end - 1) + 1

    def _place(self, at: int) -> int:
        places, total = self._gone
        number = bisect_right(places, at)
        return at + (total[number - 1] if number else 0)


def strip_citations(text: str) -> Stripped:
    r"""Find in-text citations: names with years, years and numbers in brackets, ``{{cite:..}}``, ``\cite``.

    Rules, not a model: on ACL papers they leave about a tenth of the years that a text mentions. A formula
    such as ``x[1]`` loses its index too, which no view would have matched anyway.

    Source: the need is that of SciFullBench (PRISM, section 4), which removes citations and mentions.
    """
    return Stripped(text, tuple(m.span() for m in _RULES.finditer(text)))
