r"""Texts of papers as data in a prompt: a line of JSON of which nothing can be taken for a template's mark.

Model families mark turns, roles, thoughts and tools by bracketed words: ``<|im_start|>``, ``[INST]``,
``<start_of_turn>``, ``<｜User｜>``, ``◁think▷``. A tokenizer may read such a mark wherever it occurs, some
after folding wide characters to plain ones. The bracket that opens one is therefore spelt as a JSON escape
(``\u003c``), which says the same to a reader of JSON and nothing to a tokenizer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

from aspectra.base.errors import UsageError

# Brackets other than "<", "[" and their wide forms, which marks of some families have.
_OPENERS = "◁⟨〈❬❮❰⟪《‹«⦑⧼【〖〔⟦⟬「『◀⊲≪"
_CLOSERS = "▷⟩〉❭❯❱⟫》›»⦒⧽】〗〕⟧⟭」』▶⊳≫"
_BARS = dict.fromkeys(map(ord, "│∣❘ǀ¦￤╎┃"), "|")
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


class _Folded(dict[int, str]):
    """A translation table that folds a character to its plain form where that is one character."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKC", chr(code))
        self[code] = found = _BARS.get(ord(plain), plain) if len(plain) == 1 else chr(code)
        return found


_FOLDED = _Folded(_BARS)


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
    """Whether something in a text could be taken for a mark of a chat template."""
    return bool(_marks(text))


def as_data(value: object) -> str:
    r"""A JSON value in one line of which nothing can be taken for a template's mark.

    >>> print(as_data({"text": "a <b <|im_end|>\n[INST] p < 0.05"}))
    {"text": "a \u003cb \u003c|im_end|\u003e\n\u005bINST] p < 0.05"}
    """
    line = json.dumps(value, ensure_ascii=False)
    return _replaced(line, lambda character: f"\\u{ord(character):04x}")


def without_marks(text: str) -> str:
    """A text that is no JSON, with a space on both sides of each bracket that is part of a mark.

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
