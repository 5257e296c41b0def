"""Bounds and spans: numbers of words and characters, sentences and paragraphs, years."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from aspectra.search.conditions.attributes.labels.length import WORDS_PER_MINUTE
from aspectra.search.instructions.grammar.lexicon import joined_lines, table

__all__ = ["Bound", "read_bound"]

_WORDS_PER_PAGE = 500
_WORDS_PER_PARAGRAPH = 150


@dataclass(frozen=True, slots=True)
class Bound:
    """What a bound or a span asks for.

    Attributes:
        attribute: ``length`` or ``year``.
        values: all of them must hold.
        opposite: what is left when it is denied, or "" where denying it denies the value (a span of years).
        vague: a measure that no text is counted in (minutes), so a plain wish.
        needs: ``published`` where the words also stand in subjects (*in 2017*).
    """

    attribute: str
    values: tuple[str, ...]
    opposite: str = ""
    vague: bool = False
    needs: str = ""


def _numbers(name: str) -> dict[str, int]:
    """Word -> number, of a table in ``words/bounds.toml``."""
    return {word: int(n) for n, words in table("bounds")[name].items() for word in words.split(" | ")}


_PATTERNS = joined_lines("bounds")
_UNIT = _PATTERNS["unit"]
_SMALL = _numbers("numbers")
_BIG = _numbers("big")
_SMALL_RE = "|".join(sorted(map(re.escape, _SMALL), key=len, reverse=True))
_NUMBER = (
    rf"(?:(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,7}}|(?:{_SMALL_RE})(?![^\W\u3400-\u9fff]))(?:[ -]?(?:hundred"
    rf"|hundert|thousand|tausend|k|百|千)(?![^\W\u3400-\u9fff]))?|hundert|tausend|thousand|hundreds?)"
)
_KINDS = {start: unit for unit, starts in table("bounds")["units"].items() for start in starts.split(" | ")}
_FULL = _PATTERNS["full"]
_UPPER = _PATTERNS["upper"]
_UNDER = _PATTERNS["under"]
_LOWER = _PATTERNS["lower"]
_OVER = _PATTERNS["over"]
_AFTER_UPPER = _PATTERNS["after_upper"]
_AFTER_LOWER = _PATTERNS["after_lower"]
_END = r"(?:\s+(?:long|in\s+length|lang))?"
_GAP = r"(?:[ -]\s*|(?<=[\d\u3400-\u9fff]))"

_RANGE = re.compile(
    rf"(?:(?:between|from|zwischen)\s+)?(?P<low>{_NUMBER})\s*(?:words?\s+)?(?:to|and|und|bis"
    rf"|[-–])\s*(?P<high>{_NUMBER})"
    rf"{_GAP}{_UNIT}{_END}"
)
_BEFORE = re.compile(
    rf"(?P<how>{_UPPER}|{_UNDER}|{_LOWER}|{_OVER})\s*(?:about\s+|around"
    rf"\s+)?(?P<number>{_NUMBER}){_GAP}{_FULL}{_UNIT}{_END}"
)
_BEHIND = re.compile(
    rf"(?P<number>{_NUMBER}){_GAP}{_FULL}{_UNIT}\s*,?\s*(?P<how>{_AFTER_UPPER}|{_AFTER_LOWER})"
)
_ABOUT = re.compile(rf"(?:in\s+)?(?:about\s+|around\s+|roughly\s+)?(?P<number>\d[\d,]*){_GAP}{_UNIT}{_END}")

_YEAR = r"(?:1[5-9]\d\d|20\d\d)(?!\d)"
_YEARS = re.compile(
    rf"(?:(?:the\s+)?(?:years?|period|jahre[n]?|年份)\s+)?(?:(?:(?:published|posted|written|appeared"
    rf"|dated)\s+)?(?:between|from|zwischen|von|从)\s*)?(?P<first>{_YEAR})\s*+年?\s*+(?:to|and|through"
    rf"|until|till|thru|und|bis|[-–—]|到|至)\s*(?P<last>{_YEAR})(?:年)?"
    rf"|(?P<after>after|later\s+than|newer\s+than|younger\s+than|past|more\s+recent(?:ly)?\s+than"
    rf"|following|beyond|nach)\s+(?:the\s+year\s+)?(?P<ya>{_YEAR})"
    rf"|(?P<before>before|prior\s+to|earlier\s+than|older\s+than|preceding|pre|vor|older\s+als"
    rf"|älter\s+als)[\s-]+(?:the\s+year\s+)?(?P<yb>{_YEAR})"
    rf"|(?:since|seit|as\s+of|as\s+from|starting\s+(?:in|from|with)|beginning\s+(?:in|with)|(?:not"
    rf"|no|nothing)\s+(?:before|earlier\s+than|older\s+than)|ab)\s+(?P<ys>{_YEAR})(?:\s+(?:on|onwards?))?"
    rf"|(?:(?:published|posted|written|appeared)\s+)?(?:from\s+|von\s+|dated\s+|in"
    rf"\s+)?(?P<yo>{_YEAR})(?:\s*+年)?(?:\s*+,?\s*+(?:or|and)\s+(?:later|newer|after|since|onwards?|more"
    rf"\s+recent(?:ly)?|younger|thereafter|beyond|up)|\s+onwards?|\s+on(?=\s*(?:$|[,.;:!?)]|and\b"
    rf"|or\b|but\b|please\b))|\s*+\+|\s+(?:oder|und)\s+(?:später|neuer|danach)|\s*+(?:以后|之后|以来|起))"
    rf"|(?:until|till|up\s+to|through|up\s+until|bis|no\s+later\s+than|not\s+later\s+than|no"
    rf"\s+newer\s+than|not\s+after|nothing\s+after|no\s+more\s+recent\s+than)\s+(?P<yu>{_YEAR})"
    rf"|(?:(?:published|posted|written|appeared)\s+)?(?:from\s+|in\s+)?(?P<ye>{_YEAR})(?:\s*+年)?(?:\s*+,?"
    rf"\s*+(?:or|and)\s+(?:earlier|older|before)|\s+(?:oder|und)\s+(?:früher|älter|davor)|\s*+(?:以前|之前))"
    rf"|(?P<lead>(?:published|posted|written|appeared|dated|printed|erschienen|veröffentlicht)\s+"
    rf"(?:in\s+)?|from\s+|in\s+|of\s+|during\s+|im\s+jahr\s+|aus\s+|the\s+year\s+|year\s+)?(?:the"
    rf"\s+)?(?:years?\s+)?(?P<decade>(?:1[5-9]\d|20\d)0)'?s(?!\w)"
    rf"|(?P<lead2>(?:published|posted|written|appeared|dated|printed|erschienen|veröffentlicht)\s+"
    rf"(?:in\s+)?|from\s+|in\s+|during\s+|im\s+jahr\s+|aus\s+|the\s+year\s+|year(?:\s*+:)?"
    rf"\s++)?(?P<year>{_YEAR})(?:年)?"
)


def _number(text: str) -> int:
    text = text.strip().replace(",", "")
    found = re.fullmatch(r"(.*?)[ -]?(hundred|hundert|thousand|tausend|k|百|千)?s?", text)
    head, big = found.groups() if found else (text, None)
    count = int(head) if head.isdecimal() else _SMALL.get(head, 1)
    return count * _BIG.get(big or "", 1)


def _unit(text: str) -> str:
    return _KINDS.get(text) or _KINDS.get(text[:4]) or _KINDS[text[:3]]


def _length_bound(upper: bool, strict: bool, number: int, unit: str) -> Bound | None:
    """The value of a bound on length; *shorter than a paragraph* is a sentence."""
    if unit in ("words", "characters"):
        low, high = f">={number} {unit}", f"<={number} {unit}"
        return Bound("length", (high if upper else low,), low if upper else high)
    if unit == "minute":
        count = f"{number * WORDS_PER_MINUTE} words"
        return Bound(
            "length",
            ((f"<={count}") if upper else f">={count}",),
            (">=" if upper else "<=") + count,
            vague=True,
        )
    if unit == "page":
        count = f"{number * _WORDS_PER_PAGE} words"
        return Bound("length", (("<=" if upper else ">=") + count,), (">=" if upper else "<=") + count)
    if unit == "sentence":
        if number == 1 and upper != strict:  # at most one, or more than one
            pair = ("sentence", ">=paragraph")
            return Bound("length", (pair[0] if upper else pair[1],), pair[1] if upper else pair[0])
        if number == 1:
            return None
        if upper:
            return Bound("length", ("<=paragraph",), "article")
        return Bound("length", (">=paragraph",), "sentence")
    if unit == "paragraph":
        if number > 1 and upper and not (strict and number == 2):
            count = f"{number * _WORDS_PER_PARAGRAPH} words"
            return Bound("length", (f"<={count}",), f">={count}")
        if upper:
            return (
                Bound("length", ("sentence",), ">=paragraph")
                if strict and number == 1
                else Bound("length", ("<=paragraph",), "article")
            )
        if strict or number > 1:
            return Bound("length", ("article",), "<=paragraph")
        return Bound("length", (">=paragraph",), "sentence")
    # article
    if upper and strict:
        return Bound("length", ("<=paragraph",), "article")
    if not upper:
        return Bound("length", ("article",), "<=paragraph")
    return None


def _length(low: str, at: int) -> tuple[int, Bound] | None:
    bound: Bound | None
    if match := _RANGE.match(low, at):
        first, last, unit = _number(match["low"]), _number(match["high"]), _unit(match["unit"])
        if unit in ("words", "characters") and first <= last:
            return match.end(), Bound("length", (f">={first} {unit}", f"<={last} {unit}"))
        return None
    if match := _BEFORE.match(low, at):
        how, unit = match["how"], _unit(match["unit"])
        if match["number"] in ("a few", "several") and unit != "sentence":
            return None
        upper = bool(re.fullmatch(f"{_UPPER}|{_UNDER}", how))
        strict = not re.fullmatch(f"{_UPPER}|{_LOWER}", how)
        bound = _length_bound(upper, strict, _number(match["number"]), unit)
    elif match := _BEHIND.match(low, at):
        upper = bool(re.fullmatch(_AFTER_UPPER, match["how"]))
        bound = _length_bound(upper, False, _number(match["number"]), _unit(match["unit"]))
    elif (match := _ABOUT.match(low, at)) and _unit(match["unit"]) in ("words", "characters", "minute"):
        bound = _length_bound(True, False, _number(match["number"]), _unit(match["unit"]))
        bound = Bound("length", bound.values, bound.opposite, vague=True) if bound else None
    else:
        return None
    return (match.end(), bound) if bound else None


def _years(match: re.Match[str]) -> Bound:
    got = match.groupdict()
    if got["first"]:
        first, last = sorted((int(got["first"]), int(got["last"])))
        return Bound("year", (f"{first}..{last}",))
    for name, shift, upper in (
        ("ya", 1, False),
        ("yb", -1, True),
        ("ys", 0, False),
        ("yo", 0, False),
        ("yu", 0, True),
        ("ye", 0, True),
    ):
        if got[name]:
            year = int(got[name]) + shift
            return (
                Bound("year", (f"<={year}",), f">={year + 1}")
                if upper
                else Bound("year", (f">={year}",), f"<={year - 1}")
            )
    lead = (got["lead"] or got["lead2"] or "").strip()
    needs = (
        "" if lead[:4] in ("publ", "post", "writ", "appe", "date", "prin", "ersc", "verö") else "published"
    )
    if got["decade"]:
        decade = int(got["decade"])
        return Bound("year", (f"{decade}..{decade + 9}",), needs=needs)
    return Bound("year", (f"{int(got['year'])}..{int(got['year'])}",), needs=needs)


_LAST_YEARS = re.compile(
    rf"(?:published\s+|written\s+|appeared\s+)?(?:from|in|over|within|during|of)\s+the\s+(?:last"
    rf"|past|previous)\s+(?:(?P<n>{_NUMBER})\s+years|(?P<one>year)|(?P<ten>decade))(?!\w)"
)


def _last_years(low: str, at: int) -> tuple[int, Bound] | None:
    """*From the past five years*, counted back from the year that it is."""
    match = _LAST_YEARS.match(low, at)
    if match is None:
        return None
    back = 10 if match["ten"] else _number(match["n"] or "one")
    first = date.today().year - back
    if first < 1500:
        return None
    return match.end(), Bound("year", (f">={first}",), f"<={first - 1}")


def read_bound(low: str, at: int) -> tuple[int, Bound] | None:
    """The bound that begins at a place of a folded text.

    Returns:
        Where it ends, and what it asks for; None where none begins.

    >>> read_bound("no more than 200 words, please", 0)
    (22, Bound(attribute='length', values=('<=200 words',), opposite='>=200 words', vague=False, needs=''))
    """
    if found := _length(low, at):
        return found
    if found := _last_years(low, at):
        return found
    if match := _YEARS.match(low, at):
        return match.end(), _years(match)
    return None
