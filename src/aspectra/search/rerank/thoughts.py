"""Where a reply stops thinking aloud, between whatever marks its model thinks."""

from __future__ import annotations

import re

_LONGEST = 200_000  # characters that are read, the last ones
_WORDS = "think|thought|reason|reflect|analy|scratch|monolog|deliberat|cot|ponder"
_THOUGHT = rf"(?:[\w:.]{{0,20}}[_: ])?(?:{_WORDS})\w{{0,12}}"
_OPEN = re.compile(rf"[<\[◁]\|?{_THOUGHT}\|?[>\]▷]|<unused94>|<\|inner_prefix\|>|<\|channel>\s*thought", re.I)
_CLOSE = re.compile(
    rf"[<\[◁](?:/|\|/|\|?end_?(?:of_?)?){_THOUGHT}\|?[>\]▷]|<\|message\|>|<unused95>|<\|inner_suffix\|>"
    r"|<channel\|>",
    re.I,
)
_FINAL = re.compile(r"<\|channel\|>\s*final\b.{0,80}?<\|message\|>", re.I | re.S)
_FENCE = re.compile(rf"\s*```{_THOUGHT}\n", re.I)
# An element before the answer, whatever its name, but for names of answers and of emphasis.
_ANSWERS = (
    "answer|final|output|respon|result|score|grade|point|rating|verdict|label|choice|order|rank|json|quer|text|list"
    "|sort|paper|doc|relevan|better|best|winner|prefer|value|search|title|word"
)
_EMPHASIS = r"b|i|u|p|em|strong|code|pre|span|div|ul|ol|li|h\d"
_ELEMENT = re.compile(rf"\s*<(?!(?:{_EMPHASIS})>|\w*(?:{_ANSWERS}))(\w{{3,30}})>.*?</\1>", re.I | re.S)


def without_thoughts(text: str) -> str:
    """What a reply says after thinking aloud; "" where it never stopped thinking.

    >>> without_thoughts("<think>first [2]?</think>[1] > [2]")
    '[1] > [2]'
    """
    text = text[-_LONGEST:]
    if "<|channel|>" in text:
        final = list(_FINAL.finditer(text))
        return text[final[-1].end() :] if final else ""
    if fence := _FENCE.match(text):
        text = text[fence.end() :].partition("\n```")[2]
    if closed := list(_CLOSE.finditer(text)):
        return text[closed[-1].end() :]
    if opened := _OPEN.search(text):
        return text[: opened.start()]
    element = _ELEMENT.match(text)
    return text[element.end() :] if element else text
