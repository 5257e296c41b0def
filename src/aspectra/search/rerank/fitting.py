"""Texts fitted to a budget: where a text is too long, the passages nearest the query stay.

Nearness is by shared words. The first sentence (most often the title) always stays, and passages keep their
order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aspectra.base.checking import check_number
from aspectra.base.errors import UsageError
from aspectra.llm import loops
from aspectra.llm.budget import estimate_tokens
from aspectra.llm.chat import ChatModel
from aspectra.papers.text.sentences import split_sentences

_GAP = " … "
WHOLE = 2**31  # tokens; no text has so many
_FOR_TEXTS = 0.75  # of the context that an endpoint states; the rest is for the prompt and the reply
_WORD = re.compile(r"\w+")
# Scripts written without spaces: two neighbouring characters stand for a word.
_DENSE = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Fit:
    """How much text one question to a model may hold, in tokens by the rule of thumb.

    Attributes:
        each: of one paper, at most.
        total: of all papers together, at most; long texts give way first.
        query: of the query, and of its text for judges, at most.
    """

    each: int = 600
    total: int = 16_000
    query: int = 2_000

    def __post_init__(self) -> None:
        if min(self.each, self.total, self.query) < 1:
            raise UsageError("texts need a budget of at least one token")

    @property
    def shown(self) -> int:
        """Tokens of a single paper."""
        return min(self.each, self.total)


def check_tokens(text_tokens: int, request_tokens: int = 0) -> None:
    """Refuse a budget of a stage that is no number of tokens.

    Raises:
        UsageError: a number is negative, or too large.
    """
    for name, value in (("text_tokens", text_tokens), ("request_tokens", request_tokens)):
        check_number(name, value, 0, WHOLE)


def fit_for(model: ChatModel | None, text_tokens: int, request_tokens: int) -> Fit:
    """How much text a stage shows a model in one question.

    A budget other than the usual one stays below the context that the endpoint states, where it states one.

    Args:
        model: is asked.
        text_tokens: of a paper, and of the query where that is more than usual; 0 for whole texts.
        request_tokens: of all papers together; 0 for what the model reads.
    """
    usual = Fit()
    if (text_tokens, request_tokens) == (usual.each, usual.total):
        return usual
    said = getattr(model, "context", None)
    stated = loops.run(said()) if said is not None else None
    room = int(stated * _FOR_TEXTS) if stated else WHOLE
    each = text_tokens or WHOLE
    query = min(max(usual.query, each), room)
    return Fit(each, max(1, min(request_tokens or WHOLE, room)), query)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text that fits, and whether anything was left out of it."""

    text: str
    cut: bool


def share_out(sizes: Sequence[int], each: int, total: int) -> list[int]:
    """How much each of several texts may take, so that all together keep within ``total``.

    Short texts keep what they need; what they leave goes to the long ones in equal parts.

    >>> share_out([10, 100, 200], each=150, total=130)
    [10, 60, 60]
    """
    out = [min(size, each) for size in sizes]
    left, waiting = total, len(out)
    for place in sorted(range(len(out)), key=out.__getitem__):
        out[place] = min(out[place], left // waiting)
        left -= out[place]
        waiting -= 1
    return out


def fit_text(text: str, query: str, tokens: int) -> Fitted:
    """The text itself where it fits, else its passages nearest the query.

    Args:
        text: any text.
        query: what the passages should be near to.
        tokens: how much may stay, by the rule of thumb.
    """
    if estimate_tokens(text) <= tokens:
        return Fitted(text, False)
    passages = [text[a:b] for a, b in split_sentences(text)]
    if not passages:
        return Fitted("", bool(text))
    nearness = shared_words(query, passages)
    left = 4 * tokens  # bytes
    kept = set()
    for place in (0, *sorted(range(1, len(passages)), key=lambda n: (-nearness[n], n))):
        # Each passage is charged the mark of a gap on both sides, so that the whole never exceeds the budget.
        size = len(passages[place].encode("utf-8", "surrogatepass")) + 2 * len(_GAP.encode())
        if size <= left:
            kept.add(place)
            left -= size
    if not kept:
        return Fitted(_cut(passages[0], tokens), True)
    parts: list[str] = []
    for place in sorted(kept):
        if place and place - 1 not in kept:
            parts.append("…")
        parts.append(passages[place])
    if max(kept) < len(passages) - 1:
        parts.append("…")
    return Fitted(" ".join(parts), True)


def _cut(text: str, tokens: int) -> str:
    """The start of a text, cut at white space where there is some in its second half."""
    cut = text.encode("utf-8", "surrogatepass")[: max(1, 4 * tokens - 4)].decode("utf-8", "ignore")
    at = cut.rfind(" ", len(cut) // 2)
    return (cut[:at] if at > 0 else cut) + "…"


def shared_words(query: str, passages: Sequence[str]) -> list[float]:
    """Share of the query's words in each passage, rare words counting more; 0 to 1.

    A word counts by how few of the passages hold it, so that no list of stop words is needed.

    >>> [round(x, 2) for x in shared_words("owls hunt", ["owls fly", "mice run", "owls hunt mice"])]
    [0.4, 0.0, 1.0]
    """
    wanted = set(_words(query))
    held = [wanted.intersection(_words(passage)) for passage in passages]
    spread = Counter(word for words in held for word in words)
    weight = {word: math.log1p(len(passages) / count) for word, count in spread.items()}
    whole = sum(weight.values()) or 1.0
    return [sum(weight[word] for word in sorted(words)) / whole for words in held]


def _words(text: str) -> list[str]:
    out = []
    for word in _WORD.findall(text.casefold()):
        if _DENSE.search(word):
            out += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            out.append(word)
    return out
