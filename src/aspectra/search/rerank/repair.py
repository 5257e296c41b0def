"""From any reply to an order: labels are found in the text; what is wrong with them is repaired and counted.

Two steps. :func:`read_labels` finds the labels that a reply names, whatever its form; :func:`repair` makes
them an order of exactly what was shown. Neither ever raises, so a ranking cannot lose or gain a paper,
whatever a model says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from aspectra.search.rerank.plain_text import plain_digits

__all__ = [
    "Form",
    "Reading",
    "Repaired",
    "json_values",
    "read_choice",
    "read_labels",
    "read_number",
    "repair",
    "without_thoughts",
]

Form = Literal["json", "keys", "chain", "lines", "brackets", "bare", "words", "none"]

_LONGEST = 200_000  # characters that are read, the last ones
_TRIES = 40  # places at which JSON is looked for
_THOUGHT = r"think|thinking|thoughts?|reasoning|analysis|scratchpad"
_OPEN = re.compile(rf"<(?:\w{{1,20}}:)?(?:{_THOUGHT})>|\[THINK\]|◁think▷", re.I)
_CLOSE = re.compile(rf"</(?:\w{{1,20}}:)?(?:{_THOUGHT})>|\[/THINK\]|◁/think▷|<\|message\|>", re.I)
_ORDER_KEYS = "order ranking ranked rank ranks permutation result results answer output ids".split()
_LABEL_KEYS = "label id candidate_num candidate number num paper document doc passage text".split()
_THOUGHT_KEY = re.compile(r'"\w{0,30}(?:thought|analys|reasoning)\w{0,10}"\s*:', re.I)
_ORDER_KEY = re.compile(rf'"(?:{"|".join(_ORDER_KEYS)})"\s*:', re.I)
_KEYED = re.compile(rf'"(?:{"|".join(_LABEL_KEYS)})"\s*:\s*"?\[?(\w{{1,6}})\b', re.I)
_FILLER = (
    r"(?:papers?|documents?|docs?|texts?|passages?|candidates?|items?|labels?|abstracts?|options?|numbers?|nos?"
    r"|ids?|and|then)"
)
_BETWEEN = re.compile(rf"(?:[^\w]|\b{_FILLER}\b)*", re.I)
_BRACKETED = re.compile(r"\[\s*(\w{1,6})\s*\]")
_NUMBER = re.compile(r"(?<![\w.])(\d{1,6})(?!\w|\.\d)")
_LETTER = re.compile(r"(?<!\w)([A-Za-z])(?!\w)")
_COUNTED = re.compile(r"^\W*(\d{1,6})\s*[.):]\s*")
_LETTER_LEADS = re.compile(r"^\W*([A-Z])(?:\W*$|\s*[\]).:>-])")


@dataclass(frozen=True, slots=True)
class Reading:
    """Labels as a reply names them, in order; repeated and unknown ones are still there.

    ``form`` says how they were found: in whole JSON, behind JSON keys, in a chain (``[2] > [1]``), one a
    line, in brackets, bare with nothing between, as words of prose, or not at all.
    """

    labels: tuple[str, ...]
    form: Form


@dataclass(frozen=True, slots=True)
class Repaired:
    """An order of everything that was shown, and what had to be done to get it.

    Attributes:
        order: each of what was shown, once.
        unknown: names dropped because nothing of that name was shown.
        repeated: names dropped because they had come before.
        missing: what was not named, put behind in the order of the fallback.
    """

    order: tuple[str, ...]
    unknown: int
    repeated: int
    missing: int

    @property
    def clean(self) -> bool:
        """Whether nothing had to be done."""
        return not (self.unknown or self.repeated or self.missing)


def repair(found: Sequence[str], shown: Sequence[str], fallback: Sequence[str] | None = None) -> Repaired:
    """An order of exactly what was shown.

    Args:
        found: names as the reply gives them; anything.
        shown: the names there are, each once.
        fallback: the same names in the order in which those not found are put behind; ``shown`` if None.

    >>> repair(["c", "x", "a", "c"], ["a", "b", "c"])
    Repaired(order=('c', 'a', 'b'), unknown=1, repeated=1, missing=1)
    """
    known = set(shown)
    order: dict[str, None] = {}
    unknown = repeated = 0
    for name in found:
        if name not in known:
            unknown += 1
        elif name in order:
            repeated += 1
        else:
            order[name] = None
    missing = [name for name in (shown if fallback is None else fallback) if name not in order]
    return Repaired((*order, *missing), unknown, repeated, len(missing))


def without_thoughts(text: str) -> str:
    """What a reply says after thinking aloud; "" where it never stopped thinking.

    >>> without_thoughts("<think>first [2]?</think>[1] > [2]")
    '[1] > [2]'
    """
    text = text[-_LONGEST:]
    end = 0
    for close in _CLOSE.finditer(text):
        end = close.end()
    if end:
        return text[end:]
    opened = _OPEN.search(text)
    return text[: opened.start()] if opened else text


def read_labels(text: str, labels: Sequence[str]) -> Reading:
    r"""The labels that a reply names, best first. Never raises.

    Forms are tried from the strictest to the loosest, until one names at least two labels; of equally strict
    ones, and where none does, that counts which names most. A reply cut off while it was still thinking names
    none.

    Args:
        text: the reply.
        labels: those that were given out: whole numbers (``1`` ...) or single capital letters.

    >>> read_labels('{"order": ["2", 3, "[1]"]}', ["1", "2", "3"])
    Reading(labels=('2', '3', '1'), form='json')
    >>> read_labels("1. Paper 3, as it ...\n2. Paper 1 ...", ["1", "2", "3"])
    Reading(labels=('3', '1'), form='lines')
    """
    text = plain_digits(without_thoughts(text))
    letters = bool(labels) and not labels[0].isdigit()
    known = set(labels)
    ordered = [m.end() for m in _ORDER_KEY.finditer(text)]
    if not ordered and _THOUGHT_KEY.search(text):
        return Reading((), "none")  # cut off before the order; labels in the thoughts are no order
    answer = text[ordered[-1] :] if ordered else text
    best, most = Reading((), "none"), 0
    for readings in _readings(text, answer if letters else _uncounted(answer, known), letters):
        for form, found in readings:
            names = [_canonical(name, letters) for name in found]
            covered = len(known.intersection(names))
            if covered > most:
                # Numbers in prose (years, counts) are not wrong labels.
                kept = [n for n in names if n in known] if form in ("lines", "words") else names
                best, most = Reading(tuple(kept), form), covered
        if most >= min(2, len(known)):
            break
    return best


def _canonical(name: str, letters: bool) -> str:
    name = name.strip()
    if letters:
        return name.upper() if len(name) == 1 else name
    return (name.lstrip("0") or "0") if name.isascii() and name.isdigit() else name


def _readings(text: str, answer: str, letters: bool) -> Iterator[Iterable[tuple[Form, list[str]]]]:
    """Ways to read a reply, the strictest first; ``answer`` is what follows the key of the order, if any."""
    token = _LETTER if letters else _NUMBER
    yield [("json", _json_labels(text, token)), ("keys", [m[1] for m in _KEYED.finditer(answer)])]
    brackets = [m[1] for m in _BRACKETED.finditer(answer)]
    lines = _line_labels(answer, letters)
    yield [("chain", _chain(answer, _BRACKETED)), ("lines", lines), ("brackets", brackets)]
    yield [("bare", _chain(answer, token))]
    if not letters:  # a letter in prose is an article or a name
        yield [("words", [m[1] for m in token.finditer(answer)])]


def _uncounted(text: str, known: set[str]) -> str:
    """Without the numbers of a numbered list whose every line names a label besides."""
    lines = text.splitlines()
    counted = [(n, found) for n, line in enumerate(lines) if (found := _COUNTED.match(line))]
    if [int(found[1]) for _, found in counted] != list(range(1, len(counted) + 1)):
        return text
    rest = {n: lines[n][found.end() :] for n, found in counted}
    if not all(known.intersection(m[1] for m in _NUMBER.finditer(line)) for line in rest.values()):
        return text
    return "\n".join(rest.get(n, line) for n, line in enumerate(lines))


def _chain(text: str, token: re.Pattern[str]) -> list[str]:
    """The longest run of labels with no words between them, the last one of several."""
    best: list[str] = []
    run: list[str] = []
    end = -1
    for found in token.finditer(text):
        joined = end >= 0 and found.start() - end < 80 and _BETWEEN.fullmatch(text, end, found.start())
        if not joined:
            run = []
        run.append(found[1])
        end = found.end()
        if len(set(run)) >= len(set(best)):
            best = run
    whole = best and len(best) == 1 and len(text.strip()) <= 12
    return best if len(best) > 1 or whole else []


def _line_labels(text: str, letters: bool) -> list[str]:
    """The first label of each line."""
    lines = text.splitlines()
    if letters:
        firsts = [_LETTER_LEADS.match(_COUNTED.sub("", line)) for line in lines]
    else:
        firsts = [_BRACKETED.search(line) or _NUMBER.search(line) for line in lines]
    return [first[1] for first in firsts if first]


def _json_labels(text: str, token: re.Pattern[str]) -> list[str]:
    best: list[str] = []
    singles: list[str] = []
    for value in json_values(text):
        one = _label_of(value, token) if isinstance(value, dict) else None
        if one is not None:
            singles.append(one)
            continue
        found = _order_in(value, token, 0)
        if len(set(found)) >= len(set(best)):
            best = found
    return best if len(set(best)) >= len(set(singles)) else singles


def json_values(text: str) -> Iterator[Any]:
    """JSON objects and lists in a text; a list of one is no JSON but a label in brackets."""
    decoder = json.JSONDecoder()
    at = tries = 0
    opening = re.compile(r"[{\[]")
    while tries < _TRIES and (start := opening.search(text, at)):
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            at = start.end()
            tries += 1
            continue
        at = end
        if isinstance(value, dict) or len(value) > 1:
            yield value
        else:
            tries += 1


def _order_in(value: Any, token: re.Pattern[str], depth: int) -> list[str]:
    """The list of labels in a JSON value."""
    if isinstance(value, list):
        return [name for item in value if (name := _label_of(item, token)) is not None]
    if isinstance(value, str):
        return _chain(value, _BRACKETED) or _chain(value, token)
    if not isinstance(value, Mapping) or depth > 4:
        return []
    folded = {str(key).casefold(): inner for key, inner in value.items()}
    for key in _ORDER_KEYS:
        if key in folded and (found := _order_in(folded[key], token, depth + 1)):
            return found
    rest = [inner for key, inner in folded.items() if not _THOUGHT_KEY.match(f'"{key[:30]}":')]
    lists = [
        found
        for inner in rest
        if isinstance(inner, list | Mapping)
        if (found := _order_in(inner, token, depth + 1))
    ]
    return lists[-1] if lists else []


def _label_of(item: Any, token: re.Pattern[str]) -> str | None:
    """The label that one entry of a list names; None where it is nothing of the kind."""
    if isinstance(item, bool) or item is None:
        return None
    if isinstance(item, int | float):
        # Numbers of thousands of digits cannot be spelt, and are no labels.
        return str(int(item)) if abs(item) < 1e6 and item == int(item) else "?"
    if isinstance(item, str):
        inside = {m[1] for m in token.finditer(item)} if len(item) <= 40 else set()
        return inside.pop() if len(inside) == 1 else item[:40]
    if isinstance(item, Mapping):
        folded = {str(key).casefold(): inner for key, inner in item.items()}
        for key in _LABEL_KEYS:
            if key in folded and not isinstance(folded[key], list | dict):
                return _label_of(folded[key], token)
    if isinstance(item, list) and len(item) == 1 and not isinstance(item[0], list):
        return _label_of(item[0], token)
    return None


def read_choice(text: str, choices: Sequence[str]) -> str | None:
    """Which of some words a reply chooses, or None where it says none or several. Never raises.

    >>> read_choice('{"better": "B"}', "AB"), read_choice("Text A.", "AB"), read_choice("A or B", "AB")
    ('B', 'A', None)
    """
    text = plain_digits(without_thoughts(text))
    folded = {choice.casefold(): choice for choice in choices}
    for value in json_values(text):
        if isinstance(value, dict):
            said = {
                folded[v.strip().casefold()]
                for v in value.values()
                if isinstance(v, str) and v.strip().casefold() in folded
            }
            if len(said) == 1:
                return said.pop()
    either = "|".join(re.escape(choice) for choice in choices)
    bare = re.fullmatch(
        rf"\W*(?:\w{{1,12}}\W{{1,3}})?({either})\W*", text[:80] if len(text) <= 80 else "", re.I
    )
    if bare:
        return folded[bare[1].casefold()]
    # A single letter counts as a capital only, and not where it is the article of a clause.
    if max(map(len, choices)) == 1:
        named = re.compile(rf"(?<!\w)({either})(?!\w)")
        clause = re.compile(rf"(?<!\w)({either})(?!\w|\s+(?!(?:is|fits|wins)\b)[a-z])")
    else:
        named = clause = re.compile(rf"(?i)\b({either})\b")
    said = {folded[m[1].casefold()] for m in named.finditer(text)}
    if len(said) == 1 and clause.search(text):
        return said.pop()
    lead = re.match(rf"\W*({either})(?:\W*$|\s*[.,:;!\n-])", text, re.I)
    return folded[lead[1].casefold()] if lead else None


def read_number(text: str, keys: Sequence[str], low: float, high: float) -> float | None:
    """The number that a reply gives, or None where there is none from ``low`` to ``high``. Never raises.

    >>> read_number('{"points": 85}', ["points"], 0, 100), read_number("I say 7/100.", [], 0, 100)
    (85.0, 7.0)
    """
    text = plain_digits(without_thoughts(text))
    found: list[float] = []
    for value in json_values(text):
        if isinstance(value, dict):
            found += [number for key in keys if (number := _as_number(value.get(key))) is not None]
    if not found and keys:
        keyed = re.search(
            rf'"?(?:{"|".join(map(re.escape, keys))})\b[^\d\n-]{{0,12}}(-?\d{{1,9}}(?:\.\d{{1,9}})?)',
            text,
            re.I,
        )
        found = [float(keyed[1])] if keyed else []
    if not found:
        first = re.search(r"(?<![\w.])-?\d{1,9}(?:\.\d{1,9})?(?!\w)", text)
        found = [float(first[0])] if first else []
    return found[-1] if found and low <= found[-1] <= high else None


def _as_number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e12 else float("inf")
    if isinstance(value, str) and (
        number := re.fullmatch(r"\s*+(-?\d{1,9}(?:\.\d{1,9})?)\s*+(?:/\s*+\d{1,9})?\s*+", value)
    ):
        return float(number[1])
    return None
