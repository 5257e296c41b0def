"""Conditions on what a paper cites: a paper by its title, id, DOI or arXiv id, or as references print it.

A paper of the library is met by those whose references were linked to it, or to another version of it. Any
other name is compared with the references themselves: identifiers, titles, or words of the printed entries.
A paper that lists no references is unknown.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import NoSuchPaper, UsageError
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record._values import NamedAttribute, RecordAttribute, has_words
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\%_"})


def _citing(value: str, index: Index) -> NDArray[np.int64]:
    """Positions of the papers that cite what a value names."""
    library = index.library
    try:
        found = library.resolve(value)
    except (NoSuchPaper, UsageError):
        return _printing(value, index)
    meant = [
        index.positions[i] for i in (found, *library.versions([found]).get(found, ())) if i in index.positions
    ]
    rows, targets = index.citations
    links = np.flatnonzero(np.isin(targets, np.array(meant, np.int32)))
    return np.unique(np.searchsorted(rows, links, side="right") - 1)


def _printing(value: str, index: Index) -> NDArray[np.int64]:
    """Positions of the papers with a reference that prints a value, or that has it as an identifier."""
    named = parse_identifier(value)
    asked = named[1] if named else max(value.split(), key=len)
    rows = index.library.rows(
        "SELECT p.id, c.record FROM citations c JOIN papers p USING (pos) WHERE c.record LIKE ? ESCAPE '\\'",
        [f"%{json.dumps(asked, ensure_ascii=False)[1:-1].translate(_SIGNS)}%"],
    )
    words = normalise_title(value)
    out = set()
    for paper_id, text in rows:
        record = json.loads(text)
        printed = f"{record.get('raw', '')} {record.get('title', '')}"
        stated = named is not None and record.get("identifiers", {}).get(named[0]) == named[1]
        if (stated or has_words(normalise_title(printed), words)) and paper_id in index.positions:
            out.add(index.positions[paper_id])
    return np.array(sorted(out), np.int64)


class CitesAttribute(NamedAttribute, RecordAttribute):
    """See the module."""

    name = "cites"
    noun = "list of references"
    what, example = "paper", "cites=Attention is all you need"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 or 0; NaN where a paper lists no references, and for all where nobody cites it."""
        out = np.where(index.references > 0, np.float32(0), np.float32(np.nan))
        citing = _citing(value, index) if index.references.any() else np.zeros(0, np.int64)
        if not len(citing):
            return np.full(len(papers), np.nan, np.float32)
        out[citing] = 1.0
        return np.asarray(out[papers], np.float32)

    def missing(self, value: str, index: Index) -> str:
        """That no paper lists references, or none of them is this one."""
        if index.references.any():
            return f"no paper of this library cites “{value}”, as far as their references were read"
        return super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """How many references it lists."""
        at = index.positions.get(paper.id)
        count = 0 if at is None else int(index.references[at])
        return f"by its {count} references" if count else ""


ATTRIBUTES.register("cites")(CitesAttribute())
