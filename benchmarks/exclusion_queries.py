"""Queries that exclude a subject, made from labels: papers with label X and without label Y.

From the three collections of aspect-pairs (``labels.jsonl``: the background and method labels of each paper;
a label of level 0 is neither a main topic nor in the text, and counts as unjudged). For each ordered pair of
labels (X, Y) of a collection:

- *wanted*: papers labelled X and not Y;
- *violations*: papers labelled X and Y;
- *mentions*: wanted papers whose title or abstract has the words of Y all the same. *Narrow*: neither in the
  title nor in a sentence whose predicted role is objective or method.

A pair is used where at least 2 papers have both labels, at least 8 are wanted, and the words of neither
label are among the other's. The 100 pairs of a collection in which most papers of X have Y are taken, with
each X at most six and each Y at most three times, as far as that gives 100. The queries are split by the
label of Y.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aspectra.lab.benchmarks._audit import paper_of
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.reports.scores import half_of
from aspectra.papers.paper import Paper
from aspectra.views.text.tokens import Tokeniser

COLLECTIONS = ("med", "tdm", "kw")
ASPECTS = ("background", "method")
BOTH, WANTED = 2, 8  # papers that a pair needs
QUERIES = 100  # of a collection
_X_TIMES, _Y_TIMES = 6, 3
_NOT_A_SUBJECT = "as Topic"  # headings such as "Patient Education as Topic"


@dataclass(frozen=True)
class Pair:
    """A query: X, but not Y.

    Attributes:
        x, y: phrases.
        wanted: ids of papers with X and without Y.
        both: with both.
        half: of the label Y, ``dev`` or ``test``.
    """

    x: str
    y: str
    wanted: frozenset[str]
    both: frozenset[str]

    @property
    def half(self) -> str:
        return half_of(self.y)


@dataclass(frozen=True)
class Collection:
    """Papers and labels of one collection.

    Attributes:
        name: ``med``, ``tdm`` or ``kw``.
        labelled: phrase -> ids of its papers.
        unjudged: phrase -> ids of papers with the label at level 0.
        pairs: all that can be used, those in which most papers of X have Y first.
        queries: those chosen.
        checksums: file -> SHA-256.
    """

    name: str
    labelled: dict[str, frozenset[str]]
    unjudged: dict[str, frozenset[str]]
    pairs: list[Pair]
    queries: list[Pair]
    checksums: dict[str, str]


def phrase(label: str) -> str:
    """A label as one writes it: headings with commas are turned round.

    >>> phrase("Diabetes Mellitus, Type 2")
    'type 2 diabetes mellitus'
    """
    head, *rest = (part.strip() for part in label.split(","))
    return " ".join([*rest, head]).lower()


def papers_of(data: Path, name: str) -> Iterator[Paper]:
    """The papers of a collection."""
    folder = Folder(data / "aspect-pairs" / name)
    return (paper_of(row) for row in folder.rows(folder.need("corpus.jsonl")))


def read_collection(data: Path, name: str) -> Collection:
    """A collection with its pairs."""
    folder = Folder(data / "aspect-pairs" / name)
    labelled: dict[str, set[str]] = {}
    unjudged: dict[str, set[str]] = {}
    for row in folder.rows(folder.need("labels.jsonl")):
        for aspect in ASPECTS:
            for label, level in row[aspect].items():
                if not label.endswith(_NOT_A_SUBJECT):
                    (labelled if level else unjudged).setdefault(phrase(label), set()).add(str(row["_id"]))
    held = {label: frozenset(ids) for label, ids in labelled.items()}
    loose = {label: frozenset(ids) for label, ids in unjudged.items()}
    pairs = sorted(_pairs(held, loose), key=lambda p: (-len(p.both) / len(p.both | p.wanted), p.x, p.y))
    return Collection(name, held, loose, pairs, _chosen(pairs), dict(folder.checksums))


def _pairs(labelled: dict[str, frozenset[str]], unjudged: dict[str, frozenset[str]]) -> Iterator[Pair]:
    words = {label: set(Tokeniser().words(re.sub(r"\W", " ", label))) for label in labelled}
    for x, with_x in labelled.items():
        if len(with_x) < BOTH + WANTED:
            continue
        for y, with_y in labelled.items():
            both = with_x & with_y
            wanted = with_x - with_y - unjudged.get(y, frozenset())
            akin = words[x] <= words[y] or words[y] <= words[x]
            if not akin and len(both) >= BOTH and len(wanted) >= WANTED:
                yield Pair(x, y, wanted, both)


def _chosen(pairs: list[Pair]) -> list[Pair]:
    out: list[Pair] = []
    of_x: Counter[str] = Counter()
    of_y: Counter[str] = Counter()
    for most in (1, QUERIES):
        for pair in pairs:
            room = of_x[pair.x] < most * _X_TIMES and of_y[pair.y] < most * _Y_TIMES
            if len(out) < QUERIES and room and pair not in out:
                out.append(pair)
                of_x[pair.x] += 1
                of_y[pair.y] += 1
    return out
