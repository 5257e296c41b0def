"""Bounds and spans: lengths, years, counts of citations and participants, ages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from msgspec import Struct

from aspectra.base.expressions import AllOf, AnyOf, Expression
from aspectra.base.values import replace
from aspectra.search.conditions.attributes.labels.source import WORDS_PER_MINUTE
from aspectra.search.instructions.recognisers.lexicon import joined_lines, table

_PLURAL = {"page": "pages"}
_EARLIEST = 1500  # year
_WORDS_PER_PARAGRAPH = 150


class Bound(Struct, frozen=True):
    """The request in a bound or a span.

    Attributes:
        attribute: ``length``, ``year``, ``citations``, ``sample`` or ``population`` (an age).
        values: all of them must hold; of years, one.
        opposite: what is left when it is denied, or "" where denying it denies the value (a span of years).
        vague: a measure that no text is counted in (minutes), so only a preference.
        needs: ``company`` where the words also stand in subjects (*in 2017*).
    """

    attribute: str
    values: tuple[str, ...]
    opposite: str = ""
    vague: bool = False
    needs: str = ""


def _numbers(name: str) -> dict[str, int]:
    """Word -> number, of a table in ``words/bounds.toml``."""
    return {word: int(n) for n, words in table("bounds")[name].items() for word in words.split(" | ")}


def _any(words: Iterable[str]) -> str:
    """An expression for any of some words, longer ones first."""
    return "|".join(sorted(words, key=len, reverse=True))


_SMALL, _BIG, _TENS = _numbers("numbers"), _numbers("big"), _numbers("decades")
_PATTERNS = joined_lines("bounds", {"small": _any(map(re.escape, _SMALL)), "tens": _any(_TENS)})
_KINDS = {start: unit for unit, starts in table("bounds")["units"].items() for start in starts.split(" | ")}
_UPPER, _UNDER, _LOWER, _OVER = (_PATTERNS[name] for name in ("upper", "under", "lower", "over"))

# What matches of the expressions below contain.
_ANY_UNIT, _ANY_DIGIT = Expression(_PATTERNS["unit"]), Expression(r"\d")
_ANY_PEOPLE = Expression(_PATTERNS["people"])
_ANY_CITED = Expression(rf"{_PATTERNS['citations']}|{_PATTERNS['cited']}")
_TIMES = ("years", "months", "few_years", "a_year", "decade", "this_year")
_ANY_TIME = Expression("|".join([*(_PATTERNS[name] for name in _TIMES), "années"]))
_ANY_COUNT = Expression(
    "|".join([_PATTERNS["number"], *(_PATTERNS[name] for name in _TIMES[2:])])
)  # "this year"

_RANGE = Expression(_PATTERNS["length_range"], part=_ANY_UNIT)
_BEFORE = Expression(_PATTERNS["length_before"], part=_ANY_UNIT)
_BEHIND = Expression(_PATTERNS["length_behind"], part=_ANY_UNIT)
_AMID = Expression(_PATTERNS["length_amid"], part=_ANY_UNIT)
_UNIT_FIRST = Expression(_PATTERNS["length_unit_first"], part=_ANY_UNIT)
_COUNTED = ("words", "characters", "minute")  # units that an answer has, if only about so many
_ABOUT = Expression(_PATTERNS["length_about"], part=_ANY_UNIT)

_SPAN = Expression(_PATTERNS["years_span"], part=_ANY_DIGIT)
_ONE = Expression(_PATTERNS["one_year"], part=_ANY_DIGIT)
_IN_A_YEAR = Expression(rf"{_PATTERNS['part']}|{_PATTERNS['month']}|-\d\d-\d\d$")
_EDGES = {"ya": Expression(_PATTERNS["ends"]), "yb": Expression(_PATTERNS["begins"])}
_AGO = Expression(_PATTERNS["years_ago"], part=AllOf(_ANY_TIME, _ANY_COUNT))

_DECADE = Expression(
    _PATTERNS["years_decade"], part=AnyOf([*_TENS, "0er", "années", "años", "jahren", "年代", "den ", "世纪"])
)

_CITED = Expression(_PATTERNS["cited_times"], part=_ANY_CITED)
_SAMPLE = Expression(_PATTERNS["sample_size"], part=_ANY_COUNT)
_PEOPLE_RANGE = Expression(_PATTERNS["people_range"], part=AllOf(_ANY_COUNT, _ANY_PEOPLE))
_AGED = Expression(_PATTERNS["people_aged"], part=_ANY_DIGIT)


def _number(text: str) -> int:
    text = re.sub(r"(?<=\d)[,.\s](?=\d{3})", "", text.strip())
    found = re.fullmatch(r"(.*?)[ -]?(hundred|hundert|thousand|tausend|k|百|千)?s?", text)
    head, big = found.groups() if found else (text, None)
    count = int(head) if head.isdecimal() else _SMALL.get(head, 1)
    return count * _BIG.get(big or "", 1)


def number_of(words: str) -> int | None:
    """The number that words say, alone; None where they say none.

    >>> number_of("two hundred"), number_of("owls")
    (200, None)
    """
    said = _ANY_COUNT.within(words) and re.fullmatch(_PATTERNS["number"], words.strip())
    return _number(words) if said else None


def _unit(text: str) -> str:
    return _KINDS.get(text) or _KINDS.get(text[:4]) or _KINDS[text[:3]]


def _count(number: int, unit: str) -> str:
    """A number of a unit as a value of length has it; minutes as the words read in them."""
    if unit == "minute":
        return f"{number * WORDS_PER_MINUTE} words"
    return f"{number} {_PLURAL.get(unit, unit)}"


def _length_bound(upper: bool, strict: bool, number: int, unit: str) -> Bound | None:
    """The value of a bound on length; *shorter than a paragraph* is a sentence."""
    if unit in ("words", "characters", "minute", "page"):
        ends = f"<={_count(number, unit)}", f">={_count(number, unit)}"
    elif unit == "paragraph" and upper and number > 1 + strict:
        ends = f"<={number * _WORDS_PER_PARAGRAPH} words", f">={number * _WORDS_PER_PARAGRAPH} words"
    elif unit == "sentence" and number == 1 and upper == strict:
        return None  # fewer than one, or one at least
    elif unit == "article" and upper and not strict:
        return None
    else:
        one = number <= 1 and strict == upper if unit == "paragraph" else number == 1 or not upper
        ends = ("sentence", ">=paragraph") if unit != "article" and one else ("<=paragraph", "article")
    value, opposite = ends if upper else ends[::-1]
    return Bound("length", (value,), opposite, vague=unit == "minute")


def _length(low: str, at: int) -> tuple[int, Bound] | None:
    if match := _RANGE.match(low, at):
        first, last, unit = _number(match["low"]), _number(match["high"]), _unit(match["unit"])
        if unit in ("words", "characters", "page") and first <= last:
            return match.end(), Bound("length", (f">={_count(first, unit)}", f"<={_count(last, unit)}"))
        return None
    strict = about = False
    if match := _BEFORE.match(low, at):
        how = match["how"]
        if match["number"] in ("a few", "several") and _unit(match["unit"]) != "sentence":
            return None
        upper = bool(re.fullmatch(f"{_UPPER}|{_UNDER}|<=?|≤", how))
        strict = not re.fullmatch(f"{_UPPER}|{_LOWER}|[<>]=|[≤≥]", how)
    elif match := _UNIT_FIRST.match(low, at):
        upper, strict = match["how"][0] in "<≤", match["how"] in "<>"
    elif match := _BEHIND.match(low, at):
        upper = bool(re.fullmatch(_PATTERNS["after_upper"], match["how"]))
    elif match := _AMID.match(low, at):
        upper = match["how"].endswith(("fewer", "less", "weniger"))
    elif (match := _ABOUT.match(low, at)) and (match["said"] or _unit(match["unit"]) in _COUNTED):
        upper = about = True
    else:
        return None
    number = _number((about and match["said"]) or match["number"])
    bound = _length_bound(upper, strict, number, _unit(match["unit"]))
    return (match.end(), replace(bound, vague=bound.vague or about)) if bound else None


def _beyond(how: str, number: int, *, whole: bool) -> tuple[str, str]:
    """A bound on a count, and what is left when it is denied; ``whole``: with >= and <= alone."""
    if how in "<≤" or how == "<=" or re.fullmatch(f"{_UPPER}|{_UNDER}", how):
        strict = how == "<" or bool(re.fullmatch(_UNDER, how))
        if whole:
            return f"<={number - strict}", f">={number + (not strict)}"
        return (f"<{number}", f">={number}") if strict else (f"<={number}", f">{number}")
    strict = how == ">" or bool(re.fullmatch(_OVER, how))
    if whole:
        return f">={number + strict}", f"<={number - (not strict)}"
    return (f">{number}", f"<={number}") if strict else (f">={number}", f"<{number}")


def _counted(low: str, at: int) -> tuple[int, Bound] | None:
    """Citations, participants, ages."""
    for attribute, pattern in (("citations", _CITED), ("sample", _SAMPLE)):
        if match := pattern.match(low, at):
            if match["plus"]:
                value = (f">={_number(match['plus'])}", f"<={_number(match['plus']) - 1}")
            elif match["behind"]:
                how = "at most" if re.fullmatch(_PATTERNS["after_upper"], match["behind"]) else "at least"
                said = match["said"] or match["size"]
                value = _beyond(how, _number(said), whole=attribute == "citations")
            else:
                how, number = match["how"] or match["how2"], match["number"] or match["number2"]
                value = _beyond(how.strip(), _number(number), whole=attribute == "citations")
            return match.end(), Bound(attribute, value[:1], value[1])
    if match := _PEOPLE_RANGE.match(low, at):
        first, last = sorted((_number(match["low"]), _number(match["high"])))
        return match.end(), Bound("sample", (f"{first}..{last}",))
    match = _AGED.match(low, at)
    if match and (match["who"] or match["aged"] or re.search("old|age", match["old"] or "")):
        words = low[match.start("who") if match["who"] else match.start() : match.end()]
        return match.end(), Bound("population", (words.strip(),), needs="" if match["who"] else "company")
    return None


def _half(year: int, *, upper: bool) -> Bound:
    """All years up to one, or from one on."""
    if upper:
        return Bound("year", (f"<={year}",), f">={year + 1}")
    return Bound("year", (f">={year}",), f"<={year - 1}")


def _one(match: re.Match[str], low: str) -> Bound:
    got = match.groupdict()
    for name in ("ya", "yb", "ys", "yf", "yo", "yu", "ye"):
        if got[name]:
            shift = {"ya": 1, "yb": -1}.get(name, 0)
            said, sharp = match.group(), _EDGES["yb" if name in ("yb", "ys") else "ya"]
            if _IN_A_YEAR.within(said) and not sharp.within(said):  # "before June 2020" has a part of 2020
                ends = f"<={got[name]}", f">={got[name]}"
                value, opposite = ends if name in ("yb", "yu") else ends[::-1]
                return Bound("year", (value,), opposite)
            whole = int(got[name]) + shift - match.group().endswith("前")  # 以前 leaves the year itself out
            bound = _half(whole, upper=name in ("yb", "yu", "ye"))
            # "nothing from 2020" denies 2020
            return replace(bound, opposite=got["yf"]) if got["yf"] else bound
    done = re.match(_PATTERNS["done"], low[match.start() : match.end()])
    needs = "" if done else "company"
    if got["yv"]:
        return Bound("year", (got["yv"],), vague=True)
    if got["decade"]:
        decade = int(got["decade"])
        decade += 1900 if decade < _EARLIEST else 0
        alone = (got["dlead"] or "").startswith("from")  # "owls, from the 1980s"
        return Bound("year", (f"{decade}..{decade + 9}",), needs="" if alone else needs)
    return Bound("year", (got["year"], *re.findall(_PATTERNS["year_number"], got["more"] or "")), needs=needs)


def _decade(match: re.Match[str]) -> Bound | None:
    """Ten years: *années 1990*, *in den Neunzigern*, *20世纪90年代*; not *in den 1990*."""
    lead, said = (match["lead"] or "").strip(), match["ten"] or match["bare"]
    named = "ann" in lead or "años" in lead or said.endswith(("ies", "zigern"))
    if not (named or match["bare"] or match["end"]):
        return None
    first = int(said) if said.isdecimal() else _TENS[said]
    first += 0 if first >= _EARLIEST else 2000 if "21" in lead or "本" in lead else 1900
    return Bound("year", (f"{first}..{first + 9}",), needs="" if lead and lead != "in the" else "company")


def _ago(match: re.Match[str]) -> Bound | None:
    """*From the past five years*, counted back from the year that it is."""
    now = date.today().year
    counts = [count for count in match.groupdict().values() if count and count[0].isdigit()]
    if any(_number(count) >= _EARLIEST for count in counts):
        return None  # a year: "earlier than 2022"
    if match["these"]:
        return Bound("year", (str(now),))
    if match["older"]:
        return _half(now - _number(match["on"]) - 1, upper=True)
    said = match["n"] or match["most"] or match["yn"] or match["nn"] or "one"
    back = 10 if match["ten"] else 3 if match["few"] else _number(said)
    if match["months"]:
        back = -(-_number(match["months"]) // 12)
    return _half(now - back, upper=False) if now - back >= _EARLIEST else None


def read_bound(low: str, at: int) -> tuple[int, Bound] | None:
    """The bound that begins at a place of a folded text.

    Returns:
        Where it ends, and what it asks for; None where none begins.

    >>> read_bound("no more than 200 words, please", 0)
    (22, Bound(attribute='length', values=('<=200 words',), opposite='>=200 words', vague=False, needs=''))
    """
    if found := _length(low, at) or _counted(low, at):
        return found
    if (match := _AGO.match(low, at)) and (bound := _ago(match)):
        return match.end(), bound
    if (match := _DECADE.match(low, at)) and (bound := _decade(match)):
        return match.end(), bound
    if match := _SPAN.match(low, at):
        if match["open"]:
            return match.end(), _half(int(match["first"]), upper=False)
        if match["lead"] or not re.fullmatch(_PATTERNS["and"], match["join"].strip()):
            century = match["first"][:2] if len(match["last"]) == 2 else ""  # "2019-22"
            first, last = sorted((int(match["first"]), int(century + match["last"])))
            return match.end(), Bound("year", (f"{first}..{last}",))
    if match := _ONE.match(low, at):
        return match.end(), _one(match, low)
    return None
