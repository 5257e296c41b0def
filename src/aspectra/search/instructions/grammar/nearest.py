"""Wishes in words that no rule knows: the nearest description of a value, by embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from aspectra.search.instructions.grammar.clauses import Clauses
from aspectra.search.instructions.grammar.scope import Wish, relation_of

__all__ = ["DESCRIPTIONS", "LEAST_COSINE", "LEAST_MARGIN", "Near", "nearest_values"]

# What each value means, as somebody might say it in other words than the rules'.
DESCRIPTIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("audience", "lay"): (
        "easy to understand without a degree",
        "for readers who have never heard of the subject",
        "a gentle explanation that a child could follow",
    ),
    ("audience", "expert"): (
        "assumes deep knowledge and years of practice",
        "for readers who do this for a living",
        "dense and demanding, full of special terms",
    ),
    ("audience", "student"): (
        "to prepare for a school exam",
        "for a class at school",
        "for my university course",
    ),
    ("format", "code"): ("with program listings that can be run", "shows the source of a program"),
    ("format", "list"): ("broken into short numbered items", "laid out as separate points"),
    ("format", "manual"): ("tells how to operate a device", "operating handbook of a product"),
    ("format", "qa"): (
        "somebody asks a question and others reply",
        "an interview with questions and replies",
    ),
    ("format", "prose"): ("told in connected paragraphs", "flowing text without lists"),
    ("source", "blog"): ("a personal post on somebody's website", "a web diary"),
    ("source", "forum"): (
        "people talking to each other online",
        "comments by members of an online community",
    ),
    ("source", "news"): ("what reporters wrote in the daily papers", "current affairs journalism"),
    ("source", "scholarly"): ("published in a scientific journal", "work by university researchers"),
    ("source", "encyclopedia"): ("an entry in a reference work", "a general reference article"),
    ("source", "official documentation"): (
        "written by the makers of the software themselves",
        "what the manufacturer published",
    ),
    ("length", "<=paragraph"): ("can be read very quickly", "only a few lines", "as little text as possible"),
    ("length", "article"): (
        "takes a long time to read",
        "many pages of text",
        "covers everything at great length",
    ),
    ("kind", "survey"): ("an overview of the state of the art", "summarises what others have found"),
    ("kind", "dataset"): ("presents a new collection of data",),
    ("kind", "theory"): ("proves mathematical statements",),
    ("kind", "evaluation"): ("tests existing systems against each other",),
    ("kind", "position"): ("argues for a point of view",),
}
# Tuned on phrases of our own: below these, what is near is more often wrong than right.
LEAST_COSINE = 0.6
LEAST_MARGIN = 0.1


class Near(NamedTuple):
    """The nearest value of a phrase."""

    attribute: str
    value: str
    cosine: float
    margin: float


def _nearest(phrases: Sequence[str], encode: Callable[[Sequence[str]], Any]) -> list[Near]:
    keys = [key for key, texts in DESCRIPTIONS.items() for _ in texts]
    described = np.asarray(encode([text for texts in DESCRIPTIONS.values() for text in texts]), np.float32)
    said = np.asarray(encode(list(phrases)), np.float32)
    out = []
    for row in said @ described.T:
        best = int(np.argmax(row))
        others = [score for key, score in zip(keys, row, strict=True) if key != keys[best]]
        out.append(Near(*keys[best], float(row[best]), float(row[best] - max(others))))
    return out


def nearest_values(
    text: str, unread: Sequence[tuple[int, int]], clauses: Clauses, encode: Callable[[Sequence[str]], Any]
) -> tuple[list[Wish], list[tuple[int, int]]]:
    """Wishes for the unread parts that come near the description of one value, and of no other.

    Args:
        text: the instruction.
        unread: (start, end) of its unread parts.
        clauses: the same text, divided.
        encode: texts -> (texts, dimensions) unit vectors.

    Returns:
        Wishes, and the parts that are still unread.
    """
    phrases, operators = [], []
    for start, end in unread:
        pieces = [p for p in clauses.pieces if start <= p.start and p.end <= end]
        rules = [p for p in pieces if p.rules]
        # The wish itself, without what says how it is meant and what names the document.
        inner = [p for p in pieces if not p.rules and p.category not in ("open", "polite")]
        while inner and (
            inner[0].category == "doc" or inner[0].low in ("the", "a", "it", "that", "is", "be")
        ):
            inner = inner[1:]
        phrases.append(text[inner[0].start : inner[-1].end] if inner else "")
        operators.append(rules)
    found: list[Wish] = []
    left: list[tuple[int, int]] = []
    for near, part, rules, phrase in zip(_nearest(phrases, encode), unread, operators, phrases, strict=True):
        relation = relation_of(near.attribute, rules)
        if phrase and relation and near.cosine >= LEAST_COSINE and near.margin >= LEAST_MARGIN:
            found.append(Wish(near.attribute, near.value, relation, *part))
        else:
            left.append(part)
    return found, left
