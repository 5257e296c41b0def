"""Artifacts that a paper makes available: its code, its data, its trained weights.

Sentences about availability count, of the abstract and the full text, where they name and offer one of these
("the code is available at ...", "we release ... a data set") and the words before it do not make it somebody
else's ("using the code of ...").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.papers.text.structure import lead_field, trimmed
from aspectra.views.lenses.protocol import LENSES, Lens, TextSpan, load_data
from aspectra.views.view import Floats

_OFFERED, _ANNOUNCED, _SILENT = 0.95, 0.8, 0.05
_AROUND = 250  # characters of a sentence read before and behind a word of availability
_NEAR = 100  # characters between a thing and its offer
_BEHIND = 70  # characters before a thing that may say whose it is
_MOST_SENTENCES = 400  # of a text
_END = re.compile(r"[.!?](?=\s[A-Z\[(])|\n")
_THINGS = ("code", "data", "weights")
_NO_RELEASE = frozenset({"provide", "make", "making", "share"})  # who provides something may not give it away


@cache
def _data() -> dict[str, Any]:
    return load_data("artifacts")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """The patterns of the data file, things among them; compiled at the first use."""
    parts = {**_data(), **_data()["things"]}
    del parts["things"], parts["needs"]
    return {name: re.compile("|".join(some), re.IGNORECASE) for name, some in parts.items()}


@cache
def _small() -> re.Pattern[str]:
    """Words of availability in small letters."""
    return re.compile("|".join(_data()["trigger"]))


class ArtifactsLens(Lens):
    """Grades of ``code``, ``data`` and ``weights``: 0.95 where offered, 0.8 where announced.

    A paper whose stored full text offers nothing has 0.05, one with an abstract only NaN.
    """

    name = "artifacts"
    description = "what a paper makes available: code, data, trained weights"
    labels: tuple[str, ...] = _THINGS
    reads: tuple[str, ...] = ("text", "sections")

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 3) grades of each paper, or NaN."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        row = np.full((1, len(self.labels)), _SILENT if paper.has_full_text else np.nan, np.float32)
        for label, grade, _ in _offers(paper):
            at = self.labels.index(label)
            row[0, at] = np.fmax(row[0, at], grade)
        return row

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The first sentence that offers it."""
        return next((span for found, _, span in _offers(paper) if found == label), None)


def _offers(paper: Paper) -> Iterator[tuple[str, float, TextSpan]]:
    """(label, grade, sentence) of everything that is offered, in the order of the text."""
    later = _patterns()["later"]
    for name, text in _texts(paper):
        for start, end in _sentences(text):
            sentence = text[start:end]
            offered = _offered(sentence)
            for label in _THINGS:
                named = label == "code" and not name.startswith("section") and _names_repository(sentence)
                if named or label in offered:
                    grade = _ANNOUNCED if later.search(sentence) else _OFFERED
                    yield label, grade, TextSpan(name, start, end)


def _texts(paper: Paper) -> Iterator[tuple[str, str]]:
    name, lead = lead_field(paper)
    yield name, lead
    for number, section in enumerate(paper.sections):
        if f"section:{number}" != name:
            yield f"section:{number}", section.text


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """The sentences with a word of availability."""
    folded = text.casefold()
    if not any(need in folded for need in _data()["needs"]):
        return
    free = 0
    # Small letters of ASCII are looked through three times as fast as letters of any size.
    places = _small().finditer(folded) if text.isascii() else _patterns()["trigger"].finditer(text)
    for count, found in enumerate(places):
        if found.start() < free or count > _MOST_SENTENCES:
            continue
        start = max(free, found.start() - _AROUND)
        for before in _END.finditer(text, start, found.start()):
            start = before.end()
        stop = _END.search(text, found.end(), found.end() + _AROUND)
        free = stop.end() if stop else min(len(text), found.end() + _AROUND)
        start, end = trimmed(text, start, free)
        if start < end:
            yield start, end


def _is_others(sentence: str, at: int) -> bool:
    """True if the words before a place show that what follows is somebody else's, or missing."""
    return _patterns()["others"].search(sentence, max(0, at - _BEHIND), at) is not None


def _offered(sentence: str) -> list[str]:
    """The things that a sentence offers as the paper's own."""
    patterns = _patterns()
    offers = [m.start() for m in patterns["offer"].finditer(sentence)]
    given = [*patterns["gives"].finditer(sentence)]
    if not offers and not given:
        return []
    things = _THINGS if patterns["handed"].search(sentence) else ("code",)
    return [label for label in things if _is_offered(sentence, patterns[label], offers, given)]


def _is_offered(
    sentence: str, thing: re.Pattern[str], offers: Sequence[int], given: Sequence[re.Match[str]]
) -> bool:
    for found in thing.finditer(sentence) if offers else ():
        near = any(found.end() <= at <= found.end() + _NEAR for at in offers)
        if near and not _is_others(sentence, found.start()):
            return True
    for gives in given:
        first = thing.search(sentence, gives.start(), gives.end() + 40)
        if first is None or _patterns()["others"].search(sentence, gives.end(1), first.start()):
            continue
        if gives[1].lower() not in _NO_RELEASE or any(at >= first.start() for at in offers):
            return True
    return False


def _names_repository(sentence: str) -> bool:
    """True if a sentence names a repository of code and says nothing about it but that it exists."""
    patterns = _patterns()
    found = patterns["repository"].search(sentence)
    return (
        found is not None
        and not patterns["code"].search(sentence)
        and not patterns["data"].search(sentence)
        and not patterns["elsewise"].search(sentence)
        and not _is_others(sentence, max(0, found.start() - len("https://")))
    )


LENSES.register("artifacts")(ArtifactsLens())
