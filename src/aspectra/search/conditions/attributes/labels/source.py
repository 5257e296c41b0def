"""Conditions on where a text comes from: a kind of place (``blog``), or one by its name (``name:Le Monde``).

Kinds are graded as the lens ``source`` graded them. A name is looked for:

- in the record (address, venue, identifiers, metadata): grade 1;
- in the text: 0.6, or 0.3 where the record states another place, for then it is only mentioned;
- nowhere: what the name itself suggests still orders the papers, without meeting the condition. Something
  called a handbook has the form of one, and a *Chinese* site is in Chinese: up to 0.45, as lenses grade it.

A paper of which nothing is known has NaN.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.labels.lensed import LensAttribute
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, table_of_words
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.lenses.source import SourceLens
from aspectra.views.view import Floats, Positions

_NAMED = "name:"
_WORD = re.compile(r"[^\W_]+")
_IN_RECORD, _IN_TEXT, _MENTIONED, _STYLE = 1.0, 0.6, 0.3, 0.45

# Words in names, and the (lens, label) that they promise.
_PROMISES = [
    (re.compile(f"(?:{one['words']})"), (one["lens"], one["label"]))
    for one in table_of_words("source_names")["promise"]
]
# Scripts whose words are not set apart.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


def _promises(name: str) -> list[tuple[str, str]]:
    """What the telling words of a name promise."""
    out: list[tuple[str, str]] = []
    for word in _WORD.findall(name.casefold()):
        out += [promise for pattern, promise in _PROMISES if pattern.fullmatch(word)]
    return list(dict.fromkeys(out))


@lru_cache(maxsize=64)
def _pattern(name: str) -> re.Pattern[str]:
    """The name as texts may spell it: in any case, its words apart or joined, but not inside others."""
    words = _WORD.findall(name)
    left = "" if _UNSPACED.match(words[0][0]) else r"(?<![^\W_])"
    right = "" if _UNSPACED.match(words[-1][-1]) else r"(?![^\W_])"
    return re.compile(left + r"[\W_]{0,3}".join(map(re.escape, words)) + right, re.IGNORECASE)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _grade(name: str, title: str, abstract: str, venue: str, record: str) -> float:
    """The grade from record and text, NaN where neither tells anything."""
    rest: dict[str, Any] = json.loads(record)
    pattern = _pattern(name)
    squeezed = "".join(_WORD.findall(name.casefold()))
    url = str(rest.get("url", ""))
    stated = bool(url or venue)
    if squeezed in re.sub(r"[\W_]", "", url.casefold()) or squeezed in rest.get("identifiers", {}):
        return _IN_RECORD
    # Long metadata are texts themselves, not names of places.
    if any(pattern.search(s) for s in (venue, *_strings(rest.get("metadata", {}))) if len(s) < 200):
        return _IN_RECORD
    if pattern.search(title) or pattern.search(abstract):
        return _MENTIONED if stated else _IN_TEXT
    return 0.0 if stated else float("nan")


class SourceAttribute(LensAttribute):
    """See the module."""

    def __init__(self) -> None:
        super().__init__("source", SourceLens.labels)

    def check(self, value: str) -> None:
        """Refuse what is neither a kind nor a name.

        Raises:
            UsageError: with the values there are.
        """
        if value not in self.values and not (value.startswith(_NAMED) and _WORD.search(value[len(_NAMED) :])):
            raise UsageError(
                f"{value!r} is no source",
                why="known: " + ", ".join(self.values) + ", and name: with the name of a site or project",
                hint="source=name:Stack Overflow",
            )

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, NaN where nothing is known."""
        if not value.startswith(_NAMED):
            return super().grades(value, index, papers)
        name = value[len(_NAMED) :].strip()
        found = self._named(name, index)[papers]
        if promises := _promises(name):
            columns = [index.lens(lens).column(label)[papers] for lens, label in promises]
            style = np.mean(np.nan_to_num(np.stack(columns)), axis=0)
            found = np.fmax(found, np.float32(_STYLE) * style)
        return np.asarray(found, np.float32)

    def _named(self, name: str, index: Index) -> Floats:
        """(all papers,) grades from records and texts."""
        out = np.full(len(index), np.nan, np.float32)
        codes, names = index.coded("venues")
        if names:  # who appeared elsewhere is not from there, unless the name is found after all
            out[np.array([bool(n) for n in names])[codes]] = 0.0
        words = _WORD.findall(name)
        like = f"%{max(words, key=len)}%"
        sound = index.library.checksums.sound("papers")
        statement = (
            f"SELECT id, title, abstract, venue, record FROM papers WHERE CASE WHEN {sound} THEN "
            "title LIKE ?1 OR abstract LIKE ?1 OR venue LIKE ?1 OR record LIKE ?1 END"
        )
        for paper_id, *fields in index.library.rows(statement, [like]):
            if (at := index.positions.get(paper_id)) is not None:
                out[at] = _grade(name, *fields)
        return out

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """Where the name stands, or what has the style that it promises."""
        if not value.startswith(_NAMED):
            return super().span(value, paper, index)
        name = value[len(_NAMED) :].strip()
        for field, text in (("title", paper.title), ("abstract", paper.abstract)):
            if match := _pattern(name).search(text):
                return TextSpan(field, *match.span())
        for lens, label in _promises(name):
            if span := LENSES.get(lens).span(paper, label):
                return span
        return None


ATTRIBUTES.register("source")(SourceAttribute())
