"""Bounds and spans: lengths, years, counts of citations and participants, ages."""

from __future__ import annotations

import re
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


_PATTERNS = joined_lines("bounds")
_UNIT = _PATTERNS["unit"]
_SMALL = _numbers("numbers")
_BIG = _numbers("big")
_SMALL_RE = "|".join(sorted(map(re.escape, _SMALL), key=len, reverse=True))
_FIGURE = r"\d{1,3}(?:[,.\u00a0\u202f ]\d{3}(?!\d)){1,3}+|\d{1,7}"  # "10 000", "1.000"
_BIG_RE = r"(?:hundred|hundert|thousand|tausend|k|百|千)(?![^\W\u3400-\u9fff])"
_NUMBER = (
    rf"(?:(?:{_FIGURE}|(?:{_SMALL_RE})(?![^\W\u3400-\u9fff]))(?:[ -]?{_BIG_RE})?"
    r"|hundert|tausend|thousand|hundreds?)"
)
_KINDS = {start: unit for unit, starts in table("bounds")["units"].items() for start in starts.split(" | ")}
_UPPER, _UNDER, _LOWER, _OVER = (_PATTERNS[name] for name in ("upper", "under", "lower", "over"))
_AFTER = rf"\s*+,?+\s*+(?P<behind>{_PATTERNS['after_upper']}|{_PATTERNS['after_lower']})"
_END = r"(?:\s+(?:long|in\s+length|lang))?"
_GAP = r"(?:[ -]\s*|(?<=[\d\u3400-\u9fff]))"

# What matches of the expressions below contain.
_ANY_UNIT, _ANY_DIGIT = Expression(_UNIT), Expression(r"\d")
_ANY_PEOPLE = Expression(_PATTERNS["people"])
_ANY_CITED = Expression(rf"{_PATTERNS['citations']}|{_PATTERNS['cited']}")
_TIMES = ("years", "months", "few_years", "a_year", "decade", "this_year")
_ANY_TIME = Expression("|".join([*(_PATTERNS[name] for name in _TIMES), "années"]))
_ANY_COUNT = Expression("|".join([_NUMBER, *(_PATTERNS[name] for name in _TIMES[2:])]))  # "this year"

_RANGE = Expression(
    rf"(?:(?:between|from|zwischen)\s+)?(?P<low>{_NUMBER})\s*(?:words?\s+)?(?:to|and|und|bis"
    rf"|[-–])\s*(?P<high>{_NUMBER})"
    rf"{_GAP}{_UNIT}{_END}",
    part=_ANY_UNIT,
)
_BEFORE = Expression(
    rf"(?P<how>{_UPPER}|{_UNDER}|{_LOWER}|{_OVER}|[<>]=?|[≤≥])\s*(?:about\s+|around"
    rf"\s+)?(?P<number>{_NUMBER}){_GAP}{_PATTERNS['full']}{_UNIT}{_END}",
    part=_ANY_UNIT,
)
_BEHIND = Expression(
    rf"(?:say\s+)?+(?P<number>{_NUMBER}){_GAP}{_PATTERNS['full']}{_UNIT}\s*,?\s*(?P<how>{_PATTERNS['after_upper']}|{_PATTERNS['after_lower']})",
    part=_ANY_UNIT,
)
_AMID = Expression(
    rf"(?:with\s+)?+(?P<number>{_NUMBER})\s*+(?P<how>\+|(?:or|oder)\s+(?:more|fewer|less|mehr|weniger))\s*+{_UNIT}{_END}",
    part=_ANY_UNIT,
)
_UNIT_FIRST = Expression(rf"{_UNIT}\s*(?P<how>[<>]=?|[≤≥])\s*(?P<number>\d{{1,5}})", part=_ANY_UNIT)
_COUNTED = ("words", "characters", "minute")  # units that an answer has, if only about so many
_ABOUT = Expression(
    rf"(?:in\s+)?(?:(?:about\s+|around\s+|roughly\s+)?(?P<number>\d[\d,]*)|say\s+(?P<said>{_NUMBER})){_GAP}{_UNIT}{_END}",
    part=_ANY_UNIT,
)

_YEAR = r"(?:1[5-9]\d\d|20\d\d)(?!\d)"
_MONTH = rf"(?:{_PATTERNS['month']})?+"
_PART = rf"(?:{_PATTERNS['part']}|{_PATTERNS['month']})?+"  # of the year behind it: "June", "early"
_DAY = r"(?:-\d\d-\d\d(?!\d))?+"  # what stands behind the year in 2021-12-31
# 2021, 2022 or 2023
_LISTED = r"(?:\s*+[,/&、或和]\s*+(?:(?:and|or)\s++)?+|\s++(?:and|or|und|oder|et|ou|y|o)\s++)"
_SPAN = Expression(
    rf"(?:(?:the\s+)?(?:years?|period|jahre[n]?|年份)\s+)?+(?:{_PATTERNS['done']})?+"
    rf"(?:(?P<lead>{_PATTERNS['range_lead']})\s*+{_PART}|{_MONTH})(?P<first>{_YEAR})\s*+年?+\s*+"
    rf"(?:(?P<join>{_PATTERNS['range_join']})\s*+{_PART}(?P<last>{_YEAR}|(?<=\d[-–/])\d\d(?![\d%]))年?+"
    rf"|(?P<open>[-–—](?=\s*+(?:$|[,.;:)])|\s*+(?:present|now|today|heute))(?:\s*+(?:present|now|today|heute))?+|(?:to|until|till|through|bis|à)\s+(?:date|present|now|today|heute|aujourd'hui)|至今))",
    part=_ANY_DIGIT,
)
_ONE = Expression(
    rf"(?:{_PATTERNS['done']})?+(?:"
    rf"(?P<after>{_PATTERNS['after']})(?:the\s+year\s+)?+{_PART}(?P<ya>{_YEAR}){_DAY}年?+(?!\s*%)"
    rf"|(?P<before>{_PATTERNS['before']})(?:the\s+year\s+)?+{_PART}(?P<yb>{_YEAR}){_DAY}年?+"
    rf"|(?:{_PATTERNS['since']})(?:the\s+year\s+)?+{_PART}(?P<ys>{_YEAR}){_DAY}年?+(?:\s+(?:on\b(?!\s+(?!(?:and|or|but|please)\b)\w)|onwards?))?+(?:以后|以来|起|之后)?+"
    rf"|(?:{_PATTERNS['until']})(?:the\s+year\s+)?+{_PART}(?P<yu>{_YEAR}){_DAY}年?+"
    rf"|(?:{_PATTERNS['in_lead']})?+(?P<yo>{_YEAR})(?:{_PATTERNS['or_later']})"
    rf"|(?:{_PATTERNS['in_lead']})?+(?P<ye>{_YEAR})(?:{_PATTERNS['or_earlier']})"
    rf"|(?P<dlead>{_PATTERNS['in_lead']}|of\s+|the\s+)?+(?:the\s+)?+(?:years?\s+)?+(?P<decade>(?:1[5-9]\d|20\d)0|(?<=the\s)[2-9]0)'?s(?!\w)"
    rf"|{_PATTERNS['vague']}(?P<yv>{_YEAR})"
    rf"|(?P<from>from\s+|von\s+|de\s+)(?P<yf>{_YEAR})(?=\s*+(?:$|[,.;:!?)]|only\b|please\b))"
    rf"|(?P<lead>{_PATTERNS['in_lead']}|year(?:\s*+:)?\s++)?+(?P<year>{_YEAR})年?+(?P<more>(?:{_LISTED}{_YEAR}年?+)++)?+)",
    part=_ANY_DIGIT,
)
_IN_A_YEAR = Expression(rf"{_PATTERNS['part']}|{_PATTERNS['month']}|-\d\d-\d\d$")
_EDGES = {"ya": Expression(_PATTERNS["ends"]), "yb": Expression(_PATTERNS["begins"])}
_AGO = Expression(
    rf"(?:{_PATTERNS['done']})?+(?:(?P<older>{_PATTERNS['older']})(?P<on>{_NUMBER})(?:\s+|-)?+{_PATTERNS['years']}(?:\s+(?:old|ago))?+"
    rf"|(?P<younger>{_PATTERNS['younger']})(?P<yn>{_NUMBER})\s*+{_PATTERNS['years']}(?:\s+(?:old|alt))?+"
    rf"|(?P<most>{_NUMBER})\s*+{_PATTERNS['years']}(?:\s+(?:max(?:imum)?|at\s+most|tops)\b|[以之]?内(?:的|(?=[，。；,;]|$)))"
    rf"|(?:{_PATTERNS['within']})?+(?:{_PATTERNS['last']})(?:(?:{_NUMBER}\s*+(?:[-–]|to|or|bis|oder|ou|o)\s*+)?+(?P<n>{_NUMBER})\s*+{_PATTERNS['years']}|(?P<months>{_NUMBER})\s*+{_PATTERNS['months']}"
    rf"|(?P<few>{_PATTERNS['few_years']})|(?P<one>{_PATTERNS['a_year']})|(?P<ten>{_PATTERNS['decade']}))"
    rf"|(?:{_PATTERNS['within']})?+(?:des|les|ces|the)\s+(?P<nn>{_NUMBER})\s+(?:derni[eè]res\s+années|(?:last|past)\s+years)"
    rf"|(?P<these>{_PATTERNS['this_year']}))(?![^\W\u3400-\u9fff])",
    part=AllOf(_ANY_TIME, _ANY_COUNT),
)

_TENS = _numbers("decades")
_TENS_RE = "|".join(sorted(_TENS, key=len, reverse=True))
_TEN = rf"(?:1[5-9]\d|20\d)0|[2-9]0|{_TENS_RE}"
_DECADE = Expression(
    rf"(?:{_PATTERNS['done']})?+(?:(?P<lead>{_PATTERNS['decade_lead']})(?P<ten>{_TEN})(?P<end>{_PATTERNS['decade_end']})?+"
    rf"|(?P<bare>{_TEN}){_PATTERNS['decade_end']})(?![^\W\u3400-\u9fff])",
    part=AnyOf([*_TENS, "0er", "années", "años", "jahren", "年代", "den ", "世纪"]),
)

_HOW = rf"(?P<how>{_UPPER}|{_UNDER}|{_LOWER}|{_OVER}|[<>]=?|[≤≥])\s*+"
_HOW_TOO = _HOW.replace("how", "how2")
_CITED = Expression(
    rf"(?:(?:with\s+|having\s+)?+{_HOW}(?P<number>{_NUMBER})\s*+{_PATTERNS['citations']}"
    rf"|(?:with\s+|having\s+)?+(?P<plus>{_NUMBER})\s*+(?:\+|or\s+more|oder\s+mehr)\s*+{_PATTERNS['citations']}"
    rf"|(?:with\s+|having\s+)?+(?P<said>{_NUMBER})\s*+{_PATTERNS['citations']}{_AFTER}"
    rf"|(?:that\s+(?:are|were|have\s+been)\s+)?+{_PATTERNS['cited']}\s*+"
    rf"(?:of\s+)?+{_HOW_TOO}"
    rf"(?P<number2>{_NUMBER})(?:\s+times|次)?+)(?![^\W\u3400-\u9fff])",
    part=_ANY_CITED,
)
_SAMPLE = Expression(
    rf"(?:(?:with\s+|having\s+|in\s+)?+{_HOW}(?P<number>{_NUMBER})\s*+{_PATTERNS['people']}"
    rf"|(?:with\s+)?+(?P<plus>{_NUMBER})\s*+(?:\+|or\s+more)\s*+{_PATTERNS['people']}"
    rf"|(?:with\s+)?+(?:(?P<said>{_NUMBER})\s*+{_PATTERNS['people']}|{_PATTERNS['samples']}\s+(?:of\s+)?+(?P<size>{_NUMBER})){_AFTER}"
    rf"|(?:with\s+)?+(?:an?\s+)?+{_PATTERNS['samples']}\s*+(?:of\s+|is\s+)?+{_HOW_TOO}"
    rf"(?P<number2>{_NUMBER})[人例名]?+)(?![^\W\u3400-\u9fff])",
    part=_ANY_COUNT,
)
_AGED = Expression(
    rf"(?:(?:in|among|for|of|with)\s+(?={_PATTERNS['who']}))?+(?P<who>{_PATTERNS['who']})?+(?P<aged>aged?\s+|im\s+alter\s+)?+"
    rf"(?:(?:(?:over|under|above|below|older\s+than|younger\s+than|über|unter)\s+|[<>]=?\s*+|[≥≤]\s*+)(?P<one>\d{{1,2}})(?!\d)|(?P<span>\d{{1,2}}\s*+(?:[-–]|to|and)\s*+\d{{1,2}})(?!\d))"
    rf"(?P<old>\s+years(?:\s+(?:old|of\s+age))?+|\s+(?:and|or)\s+(?:over|older|above)|\s+jahre)?+(?![\w%])",
    part=_ANY_DIGIT,
)


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
    return _number(words) if _ANY_COUNT.within(words) and re.fullmatch(_NUMBER, words.strip()) else None


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


_PEOPLE_RANGE = Expression(
    rf"(?:between\s+|from\s+)?+(?P<low>{_NUMBER})\s*+(?:and|to|[-–])\s*+(?P<high>{_NUMBER})\s*+{_PATTERNS['people']}(?!\w)",
    part=AllOf(_ANY_COUNT, _ANY_PEOPLE),
)


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
    return Bound("year", (got["year"], *re.findall(_YEAR, got["more"] or "")), needs=needs)


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
