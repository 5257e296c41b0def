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

from aspectra.llm.prompts.conversation import plain_digits, without_thoughts

Form = Literal["json", "keys", "chain", "lines", "brackets", "bare", "words", "none"]

_TRIES = 40  # places at which JSON is looked for
_UNSURE = re.compile(
    r"n['’o]t\b|\b(?:cannot|never|neither|nor|or|either|if|unless|would(?! say)|could|might|may|maybe|perhaps"
    r"|hmm|wait|worse|less|loses|instead|rather|between|versus|unsure|unclear|unable|wrong|incorrect|examples?"
    r"|e\.g|at least|more than|over|under|up to|oder|nicht|kein|vielleicht)\b",
    re.I,
)
_TURNED = re.compile(
    r"\b(?:actually|but|correction|wait|or|no)\b[^\n]{0,200}?\d", re.I
)  # another number is named
_OPEN_ENDED = r"(?!\s*[?+±])"
_LABELS = (
    r"(?:points?|scores?|grade|rating|rate|give|say|answer|verdict|decision|judge?ment|result|reply|choice|better"
    r"|text|paper|option|relevance|choose|pick|punkte|punktzahl|bewertung|note|nota|voto|puntuación|respuesta|réponse"
    r"|antwort|risposta|resposta|odpowiedź|svar|cevap|ответ|оценка|الجواب|उत्तर)"
)
_LABELS_UNSPACED = r"(?:答案|回答|评分|得分|分数|정답|점수)"
_ORDER_KEYS = "order ranking ranked rank ranks permutation result results answer output ids".split()
_LABEL_KEYS = (
    "label id paper_id doc_id document_id passage_id text_id paper_label text_label candidate_num candidate"
    " number num paper document doc passage text"
).split()
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
_COUNTED = re.compile(
    rf"^\W*(?:(?:rank|place|position|platz|rang|no|nr)\b\W*)?(\d{{1,6}})\s*"
    rf"(?:([.):])|\||[–—-]>?|→|(?={_FILLER}\b))\s*",
    re.I,
)
_BULLET = "•"  # in the place of a list's number
_LABEL_LEADS = re.compile(rf"^\s*{_BULLET}|^\W*(?:{_FILLER}\b\W*)*\d", re.I)
_CONCLUDES = re.compile(
    r"\b(?:final|overall)\s(?:ranking|ranked|order|answer|list)\b[^\n\d\[]{0,40}"
    r"|^[^\w\n]*(?:(?:ranking|order|answer)[^\w\n:]{0,9}|here\b[^\n:]{0,99}):",
    re.I | re.M,
)
_LETTER_LEADS = re.compile(r"^\W*([A-Z])(?:\W*$|\s*[\]).:>-])")


@dataclass(frozen=True, slots=True)
class FoundLabels:
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
        """True if no repair was needed."""
        return not (self.unknown or self.repeated or self.missing)


def repair(found: Sequence[str], shown: Sequence[str], fallback: Sequence[str] | None = None) -> Repaired:
    """An order of exactly the papers that were shown.

    Args:
        found: names as the reply gives them; anything.
        shown: the names there are, each once.
        fallback: the same names in the order in which those not found are put behind; ``shown`` if None.

    >>> repair(["c", "x", "a", "c"], ["a", "b", "c"])
    Repaired(order=('c', 'a', 'b'), unknown=1, repeated=1, missing=1)
    """
    known = set(shown)
    named = [name for name in found if name in known]
    order = dict.fromkeys(named)
    missing = [name for name in (shown if fallback is None else fallback) if name not in order]
    unknown, repeated = len(found) - len(named), len(named) - len(order)
    return Repaired((*order, *missing), unknown, repeated, len(missing))


def read_labels(text: str, labels: Sequence[str], *, cut: bool = False) -> FoundLabels:
    r"""The labels that a reply names, best first. Never raises.

    Forms are tried from the strictest to the loosest, until one names at least two labels; of equally strict
    ones, and where none does, that counts which names most. A reply cut off while it was still thinking names
    none.

    Args:
        text: the reply.
        labels: those that were given out: whole numbers (``1`` ...) or single capital letters.
        cut: whether the reply ended at its limit; prose without the key of an order is then thoughts.

    >>> read_labels('{"order": ["2", 3, "[1]"]}', ["1", "2", "3"])
    FoundLabels(labels=('2', '3', '1'), form='json')
    >>> read_labels("1. Paper 3, as it ...\n2. Paper 1 ...", ["1", "2", "3"])
    FoundLabels(labels=('3', '1'), form='lines')
    """
    text = plain_digits(without_thoughts(text))
    letters = bool(labels) and not labels[0].isdigit()
    known = set(labels)
    ordered = [m.end() for m in _ORDER_KEY.finditer(text)]
    prose = cut and len(re.findall(r"[^\W\d_]{3,}", text)) > 3
    if not ordered and (prose or _THOUGHT_KEY.search(text)):
        return FoundLabels((), "none")  # cut off before the order; labels in the thoughts are not an order
    token = _LETTER if letters else _NUMBER
    concluded = [
        m.end()
        for m in _CONCLUDES.finditer(text)
        if len(known.intersection(n[1] for n in token.finditer(text, m.end()))) > 1
    ][-1:]
    answer = text[(ordered or concluded or [0])[-1] :]
    best, most = FoundLabels((), "none"), 0
    for readings in _readings(text, answer if letters else _uncounted(answer, known), letters):
        for form, found in readings:
            names = [_canonical(name, letters) for name in found]
            covered = len(known.intersection(names))
            if covered > most:
                # Numbers in prose (years, counts) are not wrong labels.
                kept = [n for n in names if n in known] if form in ("lines", "words") else names
                best, most = FoundLabels(tuple(kept), form), covered
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
    """The text with bullets for the numbers of a numbered list whose every line also names a label."""
    lines = text.splitlines()
    counted = [(n, found) for n, line in enumerate(lines) if (found := _COUNTED.match(line))]
    if [int(found[1]) for _, found in counted] != list(range(1, len(counted) + 1)):
        return text
    if len(counted) == 1 and not counted[0][1][2]:  # 1 - 3 - 2 on one line is an order itself
        return text
    rest = {n: f"{_BULLET} {lines[n][found.end() :]}" for n, found in counted}
    if not all(known.intersection(m[1] for m in _NUMBER.finditer(line)) for line in rest.values()):
        return text
    return "\n".join(rest.get(n, line) for n, line in enumerate(lines))


def _chain(text: str, token: re.Pattern[str]) -> list[str]:
    """The longest run of labels with no words between them, the last one of several."""
    best: list[str] = []
    run: list[str] = []
    named: set[str] = set()
    most = 0  # different labels in the best run
    end = -1
    for found in token.finditer(text):
        joined = end >= 0 and found.start() - end < 80 and _BETWEEN.fullmatch(text, end, found.start())
        if not joined:
            run, named = [], set()
        run.append(found[1])
        named.add(found[1])
        end = found.end()
        if len(named) >= most:
            best, most = run, len(named)
    whole = best and len(best) == 1 and len(text.strip()) <= 12
    return best if len(best) > 1 or whole else []


def _line_labels(text: str, letters: bool) -> list[str]:
    """The first label of each line; a number in a heading over such lines is none if one of them names it."""
    lines = text.splitlines()
    if letters:
        return [first[1] for line in lines if (first := _LETTER_LEADS.match(_COUNTED.sub("", line)))]
    firsts = [
        (first[1], _LABEL_LEADS.match(line))
        for line in lines
        if (first := _BRACKETED.search(line) or _NUMBER.search(line))
    ]
    leading = {label for label, leads in firsts if leads}
    return [label for label, leads in firsts if len(leading) < 2 or leads or label not in leading]


def _json_labels(text: str, token: re.Pattern[str]) -> list[str]:
    best: list[str] = []
    most = 0  # different labels in the best list
    singles: list[str] = []
    for value in json_values(text):
        one = _label_of(value, token) if isinstance(value, dict) else None
        if one is not None:
            singles.append(one)
            continue
        found = _order_in(value, token, 0)
        different = len(set(found))
        if different >= most:
            best, most = found, different
    return best if most >= len(set(singles)) else singles


def json_values(text: str) -> Iterator[Any]:
    """JSON objects and lists in a text; a list of one item counts as a label in brackets."""
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
        rows = [item if isinstance(item, Mapping) else {} for item in value]
        ranks: list[Any] = [row.get("rank", row.get("position")) for row in rows]
        if all(type(rank) is int for rank in ranks):
            value = [item for _, item in sorted(zip(ranks, value, strict=True), key=lambda pair: pair[0])]
        return [name for item in value if (name := _label_of(item, token)) is not None]
    if isinstance(value, str):
        return _chain(value, _BRACKETED) or _chain(value, token)
    if not isinstance(value, Mapping) or depth > 4:
        return []
    folded = {str(key).casefold(): inner for key, inner in value.items()}
    if len(folded) > 1 and list(folded) == [str(n + 1) for n in range(len(folded))]:  # rank -> label
        return _order_in(list(folded.values()), token, depth + 1)
    if len(folded) > 1 and list(folded.values()) == list(range(1, len(folded) + 1)):  # label -> rank
        return _order_in(list(folded), token, depth + 1)
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
        # Numbers of thousands of digits cannot be spelt, and are not labels.
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


def _plain(text: str, cut: bool) -> str:
    """The answer without thoughts, tags and emphasis; of a cut reply its start, without the last word."""
    text = plain_digits(without_thoughts(text))
    text = re.sub(r"(?<![\d./])\d[\d./]*+$|(?<!\w)\w++$", "", text).lstrip()[:60] if cut else text
    text = re.sub(r"\\boxed\{([^{}]{0,99})\}", r" \1 ", text)
    return re.sub(r"</?\w{1,20}>|<\|\w{1,20}\|>|[*_`#~$]+", " ", text)


def _stated(text: str, pattern: str, extra: str = "") -> list[re.Match[str]]:
    """Places where a line is nothing but the pattern and ``extra``, or has the pattern behind a label."""
    value = rf"(?P<value>{pattern})"
    alone = re.compile(rf"^[^\w\n-]*{value}(?:{extra})?[^\w\n?+±]*$", re.I | re.M)
    link = r"(?:(?:is|of|it|a|an|was|是|=>?|:|：|->|→|[-–](?=\s))\s*)*"
    label = rf"(?:\b{_LABELS}\b|{_LABELS_UNSPACED})['\")\]]*\s*{link}['\"(\[]*"
    behind = re.compile(rf"{label}{value}(?![\w.]*\w){_OPEN_ENDED}(?P<rest>[^\n.;(]*)", re.I)
    return [*alone.finditer(text), *behind.finditer(text)]


def read_choice(text: str, choices: Sequence[str], *, cut: bool = False) -> str | None:
    """The one word that a reply chooses, or None if it says none or several, or is not sure. Never raises.

    >>> read_choice('{"better": "B"}', "AB"), read_choice("Text A.", "AB"), read_choice("A or B", "AB")
    ('B', 'A', None)
    """
    folded = {choice.casefold(): choice for choice in choices}
    for value in json_values(plain_digits(without_thoughts(text))):
        if isinstance(value, dict):
            said = {v.strip().casefold() for v in value.values() if isinstance(v, str)} & set(folded)
            if len(said) == 1:
                return folded[said.pop()]
    text = _plain(text, cut)
    either = "|".join(re.escape(choice) for choice in choices)
    letters = max(map(len, choices)) == 1
    spelt = re.compile(rf"(?<!\w)({either})(?!\w)", 0 if letters else re.I)
    named = {folded[m[1].casefold()] for m in spelt.finditer(text)}
    lead = re.match(rf"\W*({either})(?:[^\w?+±]*$|\s*[.,:;!\n–—-])", text, re.I)
    fits = r"\s(?:is|fits|wins)\b[^\n.]*" if letters else ""
    stated = {folded[m["value"].casefold()] for m in _stated(text, either, fits)}
    if lead and (
        text[lead.end() :].startswith(" because") or len({*stated, *named, folded[lead[1].casefold()]}) == 1
    ):
        return folded[lead[1].casefold()]
    return (
        stated.pop() if len(stated) == 1 and len(stated | named) == 1 and not _UNSURE.search(text) else None
    )


def read_number(
    text: str, keys: Sequence[str], low: float, high: float, *, cut: bool = False
) -> float | None:
    """The number that a reply gives, from ``low`` to ``high``; None for none or several. Never raises.

    A number on another scale (``9/10``, ``90 %``) is converted to one up to ``high``.

    >>> read_number('{"points": 85}', ["points"], 0, 100), read_number("I say 7/100.", [], 0, 100)
    (85.0, 7.0)
    >>> read_number("Score (0-100): 9/10", [], 0, 100)
    90.0
    """
    found: set[float | None] = set()
    for value in json_values(plain_digits(without_thoughts(text))):
        if isinstance(value, dict):
            found |= {_as_number(value[key], high) for key in keys if key in value}
    if not found:
        plain = re.sub(r"[(\[]?\b(\d+)\s*(?:-|–|to)\s*(\d+)\b[)\]]?(?=\s*[:=])", " ", _plain(text, cut))
        number = r"-?\d{1,9}(?:\.\d{1,9})?(?:\s*(?:/|(?:out )?of)\s*\d{1,9}|\s*%)?"
        for stated in _stated(plain, number, r"\s*(?:points?|pts|分|점)|\s*[:-]\s[^\d\n]*"):
            rest = stated.groupdict().get("rest") or ""
            before = re.split(r"[\n.;!?]", plain[: stated.start()])[-1]
            sure = not re.search(r"\d|^\s*[-–]\s*$", rest) and not _UNSURE.search(before + stated[0])
            sure = sure and not _TURNED.search(plain, stated.end())
            found.add(_as_number(stated["value"], high) if sure else None)
    said = found.pop() if len(found) == 1 else None
    # A fraction of 1 on a scale to 100 is one of another scale.
    return None if said is None or not low <= said <= high or (high > 3 and 0 < said < 1) else said


def _as_number(value: Any, high: float) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e12 else float("inf")
    text = value.strip(" \t\n*_`'\"") if isinstance(value, str) else ""
    read = re.fullmatch(r"(-?\d{1,9}(?:\.\d{1,9})?)\s*(?:(?:/|(?:out )?of)\s*(\d{1,9})|(%))?", text)
    if not read:
        return None
    scale, said = 100.0 if read[3] else float(read[2] or high), float(read[1])
    if (read[2] or read[3]) and not (0 <= said <= scale and scale):
        return None
    return said if scale == high else said * high / scale
