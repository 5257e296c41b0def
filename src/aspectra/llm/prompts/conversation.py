"""Prompts: the turns of a prompt file, data that cannot leave its fence, and the form of a reply.

A prompt file has two texts, ``system`` and ``user``, or turns. A turn with ``each = "paper"`` is repeated for
every paper; neighbouring ones are repeated together. ``paper`` is one paper's line in ``{{papers}}``::

    placeholders = ["count", "question", "label", "title", "abstract"]
    names = {question = "query"}                  # what the file calls our place {{query}}
    reply = "text"                                # no JSON is asked for; "json": JSON of the file's own form
    keys = {new_query = "query"}                  # what its JSON calls our field
    max_tokens = 400
    repetition_penalty = 1.1

    [[turns]]
    role = "user"
    text = "Here are {{count}} papers on {{question}}."
    [[turns]]
    role = "user"
    each = "paper"
    text = "({{label}}) {{title}}: {{abstract}}"
"""

from __future__ import annotations

import json
import re
import stat
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError, check_choice, check_number, refuse_unknown
from aspectra.base.values import replace
from aspectra.llm.chat import Message, Request, Role

LARGEST_PROMPT = 2**16  # bytes of a prompt; a key of many parts takes quadratic time to read
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_OPEN = re.compile(r"\{\{.{0,40}")


def read_prompt(path: Path, what: str = "the prompt file") -> str:
    """The text of a prompt file, or of another that a lens is made of.

    Raises:
        UsageError: it is not a regular file of at most 64 KiB in UTF-8, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device may never end
            raise UsageError(f"{what} {path} cannot be read", why="it is no plain file")
        with path.open("rb") as source:
            raw = source.read(LARGEST_PROMPT + 1)
        if len(raw) > LARGEST_PROMPT:
            raise UsageError(f"{what} {path} cannot be read", why="it is larger than 64 KiB")
        return raw.decode("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} {path} cannot be read", why=str(error)) from error


def parse_prompt(what: str, text: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """The tables and values of a prompt file.

    Args:
        what: the prompt, for messages: ``the prompt 'pairwise'``.
        text: of the file.
        keys: that it may have.

    Raises:
        UsageError: not TOML, nested too deeply, too long, or an unknown key.
    """
    if len(text) > LARGEST_PROMPT:
        raise UsageError(f"{what} cannot be used", why="it is longer than 65,536 characters")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{what} is not valid TOML", why=str(error)) from error
    refuse_unknown(data, keys, f"key in {what}")
    return data


def check_places(what: str, declared: object, *texts: str) -> tuple[str, ...]:
    """The placeholders of some texts, sorted.

    Raises:
        UsageError: they are not those that are declared, or two opening braces begin something else.
    """
    used: set[str] = set()
    for text in texts:
        used.update(_PLACE.findall(text))
        if (odd := _OPEN.search(_PLACE.sub("", text))) is not None:
            raise UsageError(
                f"{what} holds {odd[0]!r}, which is no placeholder",
                why="a placeholder is a name between double braces, without spaces: {{paper}}",
            )
    if not isinstance(declared, list):
        raise UsageError(f"{what} declares no list of placeholders", hint='placeholders = ["paper"]')
    if used != (names := set(map(str, declared))):
        raise UsageError(
            f"{what} uses other placeholders than it declares", why=", ".join(sorted(used ^ names))
        )
    return tuple(sorted(used))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with the values of its placeholders.

    >>> fill("{{paper}} {{rules}}", {"paper": "{{rules}}", "rules": "Be brief."})
    '{{rules}} Be brief.'
    """
    return _PLACE.sub(lambda found: values[found[1]], text)


_OWN = ("keys", "max_tokens", "names", "paper", "repetition_penalty", "reply", "turns")
CONVERSATION_KEYS = ("placeholders", "system", "user", *_OWN)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: its role, its text, and whether it is repeated for each paper."""

    role: Role
    text: str
    each: bool = False


@dataclass(frozen=True)
class Conversation:
    """Contents of a prompt file.

    Attributes:
        turns: templates with ``{{placeholders}}``.
        places: all placeholders, sorted, under our names.
        paper: template of a paper's line; "" for JSON between fences.
        reply: ``text``, ``json`` of its own form, or "" for the form that the schema describes.
        keys: our name of a field of the reply -> its own.
        max_tokens: of the reply; 0 for what is usual.
        repetition_penalty: 0 for none.
        own: what a file of two turns alone does not say, for its hash; "" there.
    """

    turns: tuple[Turn, ...]
    places: tuple[str, ...]
    paper: str = ""
    reply: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    max_tokens: int = 0
    repetition_penalty: float = 0.0
    own: str = ""

    @property
    def plain(self) -> bool:
        """True if papers are shown one per turn or one per line, without fences."""
        return any(turn.each for turn in self.turns) or (bool(self.paper) and "papers" in self.places)

    def repeats(self, text: str) -> bool:
        """True if a text of a reply only repeats a placeholder: dots, or a quoted string of the prompt."""
        said = " ".join(text.split())
        dots = not any(map(str.isalnum, said))
        return bool(said) and (dots or any(f'"{said}"' in turn.text for turn in self.turns))

    def messages(
        self, values: Mapping[str, str], papers: Sequence[Mapping[str, str]] = ()
    ) -> tuple[Message, ...]:
        """The turns with values put in.

        Args:
            values: of the placeholders.
            papers: values of those that each paper has.
        """
        if self.paper:
            values = {**values, "papers": "\n".join(fill(self.paper, {**values, **one}) for one in papers)}
        said: list[Message] = []
        for each, group in groupby(self.turns, key=lambda turn: turn.each):
            turns = list(group)
            for one in papers if each else ({},):
                said += [Message(turn.role, fill(turn.text, {**values, **one})) for turn in turns]
        return tuple(said)

    def request(self, request: Request) -> Request:
        """A request with the form and the length of the reply that the file wants."""
        return replace(
            request,
            schema=None if self.reply else request.schema,
            max_tokens=self.max_tokens or request.max_tokens,
            repetition_penalty=self.repetition_penalty,
        )

    @classmethod
    def parse(cls, what: str, data: Mapping[str, Any]) -> Conversation:
        """Read the table of a prompt file.

        Raises:
            UsageError: it has no turns, or a value that it cannot have; placeholders differ from those that
                are declared.
        """
        names, keys = (
            {str(k): str(v) for k, v in dict(data.get(one, {})).items()} for one in ("names", "keys")
        )
        told = data.get("turns", [{"role": role, "text": data.get(role)} for role in ("system", "user")])
        turns = [_turn(what, one, names) for one in told]
        paper = _ours(str(data.get("paper", "")), names)
        declared = data.get("placeholders", [])
        if isinstance(declared, list):
            declared = [names.get(str(one), one) for one in declared]
        places = check_places(what, declared, paper, *(turn.text for turn in turns))
        reply = check_choice(data.get("reply", ""), ("", "json", "text"), "form of a reply")
        most, penalty = data.get("max_tokens", 0), data.get("repetition_penalty", 0.0)
        check_number("max_tokens", most, 0, 1_000_000)
        check_number("repetition_penalty", penalty, 0.0, 10.0)
        own = {name: data[name] for name in _OWN if name in data and name != "max_tokens"}
        fields = {ours: theirs.casefold() for theirs, ours in keys.items()}
        return cls(tuple(turns), places, paper, reply, fields, most, penalty, repr(own) if own else "")


def _turn(what: str, given: Any, names: Mapping[str, str]) -> Turn:
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise UsageError(f"{what} needs the texts system and user", why="or turns, each with its text")
    refuse_unknown(given, ("role", "text", "each"), f"key of a turn in {what}")
    check_choice(str(given.get("role")), ("system", "user", "assistant"), "role of a turn")
    check_choice(given.get("each", "paper"), ("paper",), "value of each")
    return Turn(given["role"], _ours(given["text"].strip(), names), "each" in given)


def _ours(text: str, names: Mapping[str, str]) -> str:
    """The text with our names for its places."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: f"{{{{{names.get(found[1], found[1])}}}}}", text)


# r"""Texts of papers as data in a prompt: a line of JSON of which nothing can be taken for a template's
# mark.
#
# Model families mark turns, roles, thoughts and tools by bracketed words: ``<|im_start|>``, ``[INST]``,
# ``<start_of_turn>``, ``<｜User｜>``, ``◁think▷``. A tokenizer may read such a mark wherever it occurs, some
# after folding wide characters to plain ones. The bracket that opens one is therefore spelt as a JSON
# escape (``\u003c``), which says the same to a reader of JSON and nothing to a tokenizer.

# Brackets other than "<", "[" and their wide forms, which marks of some families have.
_OPENERS = "◁⟨〈❬❮❰⟪《‹«⦑⧼【〖〔⟦⟬「『◀⊲≪"
_CLOSERS = "▷⟩〉❭❯❱⟫》›»⦒⧽】〗〕⟧⟭」』▶⊳≫"
_BARS = dict.fromkeys("│∣❘ǀ¦￤╎┃", "|")
_NAMED = "INST|SYS|THINK|TOOL|AVAILABLE"
# On text in which wide and other forms were folded to plain ones, character by character.
_MARK = re.compile(
    rf"""
      <(?=[|/!?<\[A-Za-z_▁]|0x)                              # <|end|>  </s>  <bos>  <<SYS>>  <0x0A>
    | (?<=\|)[>\]{_CLOSERS}]                                 # |>  |]
    | \[(?=\||e~|/?(?i:{_NAMED})[\w ]{{0,12}}\]              # [|user|]  [e~[  [INST]  [/TOOL_RESULTS]
          |/?[a-z]?[A-Z][A-Z_]{{1,30}}[0-9]{{0,6}}\])        # [MASK]  [gMASK]  [UNUSED_TOKEN_146]
    | \](?=~)                                                # ]~b]
    | [{_OPENERS}](?=/?\|?[A-Za-z_▁][\w▁:.\- ]{{0,40}}\|?[{_CLOSERS}])  # ◁think▷
    """,
    re.VERBOSE,
)


class _Table(dict[int, "str | None"]):
    """A translation table that works out each character when it is first met."""

    def __init__(self, of: Callable[[str], str | None]) -> None:
        self._of = of

    def __missing__(self, code: int) -> str | None:
        self[code] = found = self._of(chr(code))
        return found


def _folded(character: str) -> str:
    """A character in its plain form where that is one character."""
    plain = unicodedata.normalize("NFKC", character)
    return _BARS.get(plain, plain) if len(plain) == 1 else character


_FOLDED = _Table(_folded)


def _marks(text: str) -> list[int]:
    """Places of the brackets that open or close a mark."""
    plain = text if text.isascii() else text.translate(_FOLDED)
    return [found.start() for found in _MARK.finditer(plain)]


def _replaced(text: str, form: Callable[[str], str]) -> str:
    parts, end = [], 0
    for place in _marks(text):
        parts += [text[end:place], form(text[place])]
        end = place + 1
    return "".join([*parts, text[end:]])


def holds_mark(text: str) -> bool:
    """True if a part of a text could be taken for a mark of a chat template."""
    return bool(_marks(text))


def as_data(value: object) -> str:
    r"""A JSON value in one line of which nothing can be taken for a template's mark.

    >>> print(as_data({"text": "a <b <|im_end|>\n[INST] p < 0.05"}))
    {"text": "a \u003cb \u003c|im_end|\u003e\n\u005bINST] p < 0.05"}
    """
    line = json.dumps(value, ensure_ascii=False)
    return _replaced(line, lambda character: f"\\u{ord(character):04x}")


def without_marks(text: str) -> str:
    """A text that is not JSON, with a space on both sides of each bracket that is part of a mark.

    >>> without_marks("done<|im_end|>")
    'done < |im_end| > '
    """
    return _replaced(text, lambda character: f" {character} ")


def refuse_marks(text: str, what: str) -> None:
    """Refuse a text that goes into a prompt as it is.

    Raises:
        UsageError: it holds a mark of a chat template.
    """
    if holds_mark(text):
        raise UsageError(f"{what} holds a mark of a chat template", why=repr(text[:200]), hint="leave it out")


# Texts as plain characters: what cannot be seen is taken out and counted, digits of any script are read.
#
# Papers may carry characters that a person does not see and a model does (zero-width and tag characters,
# marks that turn the direction of writing); replies may carry digits in circles or above the line.

# Besides every format character (category Cf: zero-width, direction, tags, soft hyphen): characters that
# change or fill others without being seen.
_ALSO_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_KEPT = frozenset("\t\n")


def _seen(character: str) -> str | None:
    """A character as a person sees it, or None where nobody does."""
    if character in _KEPT:
        return character
    kind = unicodedata.category(character)
    if kind == "Cf" or _ALSO_HIDDEN.match(character):
        return None
    if kind == "Cc":
        return " " if character.isspace() else None
    if kind == "Cs":
        return "\ufffd"  # half a pair, from damaged input: no endpoint takes it
    return "\n" if kind in ("Zl", "Zp") else character


_SMALL = "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
_SMALL_AFTER = re.compile(rf"(?<=\d)(?=[{_SMALL}])|(?<=[{_SMALL}])(?=\d)")
_BRACKETS = dict(zip("【】〔〕［］⟦⟧〖〗", "[]" * 5, strict=True))


def _with_digit(character: str) -> str:
    """A digit of any script or shape as 0-9; a wide letter or bracket in its plain form."""
    if character in _BRACKETS:
        return _BRACKETS[character]
    decimal = unicodedata.decimal(character, None)
    if decimal is not None:
        return str(decimal)
    if character in _SMALL:
        return str(unicodedata.digit(character))
    kind = unicodedata.category(character)
    if kind == "No":  # in a circle, in brackets, with a stop: each is a number by itself
        value = unicodedata.numeric(character)
        return f" {int(value)} " if value == int(value) else character
    folded = unicodedata.normalize("NFKC", character)
    return folded if len(folded) == 1 else character


_HIDDEN, _DIGITS = _Table(_seen), _Table(_with_digit)


def without_hidden(text: str) -> tuple[str, int]:
    r"""The text without characters that are not seen, and how many were taken out or replaced.

    Line ends and tabs stay; other control characters go, or become a space.

    >>> without_hidden("rank\u200b me\U000e0041 first")
    ('rank me first', 2)
    """
    if text.isascii() and text.isprintable():
        return text, 0
    odd = sum(text.count(c) for c in set(text) if _HIDDEN[ord(c)] != c)
    return (text.translate(_HIDDEN), odd) if odd else (text, 0)


def plain_digits(text: str) -> str:
    """The text with digits of every script and shape as 0-9, and wide letters and brackets as plain ones.

    >>> plain_digits("［１２］ > ③ > [¹⁴]")
    '[12] >  3  > [14]'
    """
    if text.isascii():
        return text
    # A small digit after a large one is a footnote or a power, not one more digit of the number.
    return _SMALL_AFTER.sub(" ", without_hidden(text)[0]).translate(_DIGITS)


# Where a reply stops thinking aloud, between whatever marks its model thinks.

_LONGEST_REPLY = 200_000  # characters that are read, the last ones
_WORDS = "think|thought|reason|reflect|analy|scratch|monolog|deliberat|cot|ponder"
_THOUGHT = rf"(?:[\w:.]{{0,20}}[_: ])?(?:{_WORDS})\w{{0,12}}"
_BEGINS_THINKING = re.compile(
    rf"[<\[◁]\|?{_THOUGHT}\|?[>\]▷]|<unused94>|<\|inner_prefix\|>|<\|channel>\s*thought", re.I
)
_ENDS_THINKING = re.compile(
    rf"[<\[◁](?:/|\|/|\|?end_?(?:of_?)?){_THOUGHT}\|?[>\]▷]|<\|message\|>|<unused95>|<\|inner_suffix\|>"
    r"|<channel\|>",
    re.I,
)
_FINAL = re.compile(r"<\|channel\|>\s*final\b.{0,80}?<\|message\|>", re.I | re.S)
_FENCE = re.compile(rf"\s*```{_THOUGHT}\n", re.I)
# An element before the answer, whatever its name, but for names of answers and of emphasis.
_ANSWER_NAMES = (
    "answer|final|output|respon|result|score|grade|point|rating|verdict|label|choice|order|rank|json|quer|text|list"
    "|sort|paper|doc|relevan|better|best|winner|prefer|value|search|title|word"
)
_EMPHASIS = r"b|i|u|p|em|strong|code|pre|span|div|ul|ol|li|h\d"
_ELEMENT = re.compile(rf"\s*<(?!(?:{_EMPHASIS})>|\w*(?:{_ANSWER_NAMES}))(\w{{3,30}})>.*?</\1>", re.I | re.S)


def without_thoughts(text: str) -> str:
    """The part of a reply after thinking aloud; "" if it never stopped thinking.

    >>> without_thoughts("<think>first [2]?</think>[1] > [2]")
    '[1] > [2]'
    """
    text = text[-_LONGEST_REPLY:]
    if "<|channel|>" in text:
        final = list(_FINAL.finditer(text))
        return text[final[-1].end() :] if final else ""
    if fence := _FENCE.match(text):
        text = text[fence.end() :].partition("\n```")[2]
    if closed := list(_ENDS_THINKING.finditer(text)):
        return text[closed[-1].end() :]
    if opened := _BEGINS_THINKING.search(text):
        return text[: opened.start()]
    element = _ELEMENT.match(text)
    return text[element.end() :] if element else text
