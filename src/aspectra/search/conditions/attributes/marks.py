"""Conditions on what the searcher says about papers: decisions and tags.

``decided`` is ``include``, ``exclude``, ``maybe``, ``any`` of them, or ``none``; ``tag`` one that the
searcher gave, or that came from another program. Both are read when a search runs: they need no new index.
"""

from __future__ import annotations

from aspectra.papers.library.marks.values import DECISIONS
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, meeting, places
from aspectra.search.conditions.attributes.record.facts import ClassAttribute, MarkAttribute, MeantAttribute
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
        named, decided = self.named(value), index.library.marks.decisions()
        if named == "none":
            return 1 - meeting(index, papers, places(index, decided), 0.0)
        met = (one for one, d in decided.items() if named in ("any", d.decision))
        return meeting(index, papers, places(index, met), 0.0)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The decision and its reason."""
        found = index.library.marks.decisions([paper.id]).get(paper.id)
        if found is None:
            return "not decided"
        return f"{found.decision}{f' ({found.reason})' if found.reason else ''}"


ATTRIBUTES.register("decided")(DecidedAttribute())


class TagAttribute(MarkAttribute, MeantAttribute):
    """A tag that the searcher gave, or that came from another program."""

    name = "tag"
    every = True
    longest = 200
    what, example = "tag", "tag=to read"

    def meant(self, value: str, index: Index) -> list[int]:
        """Positions of the papers with the tag, whatever its case."""
        return places(index, index.library.marks.tagged(value))

    def missing(self, value: str, index: Index) -> str:
        """That no paper has it."""
        return f"no paper has the tag {value!r}"

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The paper's tags."""
        tags = index.library.marks.tags([paper.id]).get(paper.id, [])
        return f"tagged {', '.join(tags)}" if tags else ""


ATTRIBUTES.register("tag")(TagAttribute())
