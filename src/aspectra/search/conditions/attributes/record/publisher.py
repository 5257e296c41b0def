"""Conditions on who published a paper: ``ACM``, ``IEEE``, ``Springer`` ...

The record's publisher decides, under any of its names (grade 1), else the prefix of the DOI, for those listed
in ``words/record_words.toml`` (0.9), else a venue that bears the name (*IEEE Access*, 0.7).
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, table_of_words
from aspectra.search.conditions.attributes.record._values import (
    NamedAttribute,
    RecordAttribute,
    by_name,
    has_words,
    origin_parts,
    phrases,
    stated,
)
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_BY_DOI, _BY_VENUE = 0.9, 0.7
_TABLE = table_of_words("record_words")
_NAMES = {name: (name, *phrases(others)) for name, others in _TABLE["publishers"].items()}
_PREFIXES = {prefix: name for name, all_ in _TABLE["doi_prefixes"].items() for prefix in phrases(all_)}
_ACRONYM = re.compile(r"[A-Z]{3,8}")


@lru_cache(maxsize=64)
def _names_of(value: str) -> tuple[frozenset[str], frozenset[str]]:
    """(every name, normalised; names in the table of prefixes) of the publisher that a value means."""
    asked = normalise_title(value)
    groups = [name for name, names in _NAMES.items() if asked in names]
    return frozenset({asked}.union(*(_NAMES[name] for name in groups))), frozenset(groups)


def _by_publisher(value: str, publisher: str) -> float:
    names, text = _names_of(value)[0], normalise_title(publisher)
    return float(any(has_words(text, name) for name in names)) if text else float("nan")


def _by_origin(value: str, origin: str) -> float:
    owner = _PREFIXES.get(origin_parts(origin)[1])
    if owner is None:
        return float("nan")
    return _BY_DOI if owner in _names_of(value)[1] else 0.0


def _by_venue(value: str, venue: str) -> float:
    if _ACRONYM.fullmatch(value) and has_words(normalise_title(venue), normalise_title(value)):
        return _BY_VENUE
    return float("nan")


class PublisherAttribute(NamedAttribute, RecordAttribute):
    """See the module."""

    name = "publisher"
    what, example = "publisher", "publisher=IEEE"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) see the module; 0 where record or DOI name another one, NaN where neither names any."""
        graded = [
            by_name(index, "publishers", papers, lambda text: _by_publisher(value, text)),
            by_name(index, "origins", papers, lambda text: _by_origin(value, text)),
            by_name(index, "venues", papers, lambda text: _by_venue(value, text)),
        ]
        return np.asarray(np.fmax.reduce(graded), np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The publisher as printed, else the prefix of the DOI, else the venue."""
        if publisher := stated(index, paper, "publishers"):
            return f"published by {publisher}"
        doi = paper.identifiers.get("doi", "").partition("/")[0]
        if doi in _PREFIXES:
            return f"its DOI begins with {doi}"
        return f"its venue is {paper.venue}" if paper.venue else ""


ATTRIBUTES.register("publisher")(PublisherAttribute())
