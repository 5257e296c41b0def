"""Conditions on access: ``open`` to everybody, or ``fulltext`` in the library.

Open is what the record calls so, what is in arXiv, PubMed Central or the ACL Anthology, and what a host
or a publisher lets everybody read; closed only what the record calls so.
"""

from __future__ import annotations

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record._values import (
    ClassAttribute,
    RecordAttribute,
    by_name,
    stated,
)
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_VALUES = ("open", "fulltext")
_SYNONYMS = {"open access": "open", "full text": "fulltext"}


class AccessAttribute(ClassAttribute, RecordAttribute):
    """See the module."""

    name = "access"
    classes, synonyms = _VALUES, _SYNONYMS

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 or 0, NaN where nothing says whether it is open, or there is no full text at all."""
        if self.named(value) == "open":
            return by_name(index, "accesses", papers, _open)
        if not index.full_text.any():
            return np.full(len(papers), np.nan, np.float32)
        return np.asarray(index.full_text[papers], np.float32)

    def missing(self, value: str, index: Index) -> str:
        """That there is no full text, or no record says what is open."""
        if self.named(value) == "fulltext" and index.keeps_records:
            return "the library holds no full text"
        return super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """What says that it is open or closed."""
        if self.named(value) == "open":
            return stated(index, paper, "accesses")
        held = paper.id in index.positions and bool(index.full_text[index.positions[paper.id]])
        return "the library holds its full text" if held else "the library holds no full text of it"


def _open(text: str) -> float:
    return float(text.startswith("open")) if text else float("nan")


ATTRIBUTES.register("access")(AccessAttribute())
