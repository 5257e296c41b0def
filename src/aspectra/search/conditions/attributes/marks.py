"""Conditions on what the searcher says about papers: decisions and tags.

``decided`` is ``include``, ``exclude``, ``maybe``, ``any`` of them, or ``none``; ``tag`` one that the
searcher gave, or that came from another program. Both are read when a search runs: they need no new index.
"""

from __future__ import annotations

import numpy as np

from aspectra.papers.library.marks.values import DECISIONS
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record.facts import ClassAttribute, MarkAttribute, NamedAttribute
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_SYNONYMS = {"included": "include", "excluded": "exclude", "yes": "any", "undecided": "none", "no": "none"}


class DecidedAttribute(MarkAttribute, ClassAttribute):
    """What the searcher decided."""

    name = "decided"
    noun = "decision"
    classes, synonyms = (*DECISIONS, "any", "none"), _SYNONYMS

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 where the decision that counts is this one, else 0."""
        named, known = self.named(value), index.positions
        decided = index.library.marks.decisions()
        met = [known[i] for i, d in decided.items() if i in known and named in ("any", "none", d.decision)]
        out = np.full(len(index), float(named == "none"), np.float32)
        out[met] = float(named != "none")
        return np.asarray(out[papers], np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The decision and its reason."""
        found = index.library.marks.decisions([paper.id]).get(paper.id)
        if found is None:
            return "not decided"
        return f"{found.decision}{f' ({found.reason})' if found.reason else ''}"


ATTRIBUTES.register("decided")(DecidedAttribute())


def _tagged(tag: str, index: Index) -> list[int]:
    """Positions of the papers with a tag."""
    return [index.positions[one] for one in index.library.marks.tagged(tag) if one in index.positions]


class TagAttribute(MarkAttribute, NamedAttribute):
    """A tag that the searcher gave, or that came from another program."""

    name = "tag"
    every = True
    longest = 200
    what, example = "tag", "tag=to read"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 for papers with the tag, whatever its case; else 0; NaN where no paper has it."""
        out = np.full(len(index), 0.0 if self.told(value, index) else np.nan, np.float32)
        out[_tagged(value, index)] = 1.0
        return np.asarray(out[papers], np.float32)

    def measure(self, value: str, index: Index, papers: Positions) -> bool:
        """Whether any of the papers has it."""
        return bool(np.isin(_tagged(value, index), papers).any())

    def missing(self, value: str, index: Index) -> str:
        """That no paper has it."""
        return f"no paper has the tag {value!r}"

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The paper's tags."""
        tags = index.library.marks.tags([paper.id]).get(paper.id, [])
        return f"tagged {', '.join(tags)}" if tags else ""


ATTRIBUTES.register("tag")(TagAttribute())
