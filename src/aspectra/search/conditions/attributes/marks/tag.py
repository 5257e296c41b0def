"""Conditions on the tags that the searcher gave papers, or that came with them from another program.

Tags are read when a search runs: a tag needs no new index.
"""

from __future__ import annotations

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record._values import MarkAttribute, NamedAttribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions


class TagAttribute(MarkAttribute, NamedAttribute):
    """See the module."""

    name = "tag"
    every = True
    longest = 200
    what, example = "tag", "tag=to read"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 for papers with the tag, whatever its case; else 0; NaN where no paper has it."""
        at = [index.positions[one] for one in index.library.marks.tagged(value) if one in index.positions]
        out = np.full(len(index), 0.0 if at else np.nan, np.float32)
        out[at] = 1.0
        return np.asarray(out[papers], np.float32)

    def missing(self, value: str, index: Index) -> str:
        """That no paper has it."""
        return f"no paper has the tag {value!r}"

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The paper's tags."""
        tags = index.library.marks.tags([paper.id]).get(paper.id, [])
        return f"tagged {', '.join(tags)}" if tags else ""


ATTRIBUTES.register("tag")(TagAttribute())
