"""What a library of papers should answer: a dictionary, and BM25 written out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from aspectra.papers.paper import Paper

_K1, _B = 1.5, 0.75


@dataclass(frozen=True)
class Limit:
    """A filter that a dictionary can apply.

    Attributes:
        since, until: bounds of the year, both included; papers without a year do not pass one.
        venue: the only venue, or "".

    A bound of which no paper states anything is not applied: see :meth:`applied`.
    """

    since: int | None = None
    until: int | None = None
    venue: str = ""

    def applied(self, papers: Iterable[Paper]) -> Limit:
        """The limit without what none of the papers states: no year, or no venue."""
        known = list(papers)
        dated, placed = any(p.year is not None for p in known), any(p.venue for p in known)
        return Limit(*((self.since, self.until) if dated else (None, None)), self.venue if placed else "")

    def passes(self, paper: Paper) -> bool:
        """Whether a search with this limit may show a paper."""
        if self.since is not None and (paper.year is None or paper.year < self.since):
            return False
        if self.until is not None and (paper.year is None or paper.year > self.until):
            return False
        return not self.venue or paper.venue == self.venue


def after_adding(held: Mapping[str, Paper], new: Paper) -> Paper:
    """The paper that a library holds once ``new`` was added: a record without abstract takes none away."""
    old = held.get(new.id)
    if old is not None and old.abstract.strip() and not new.abstract.strip():
        return replace(new, abstract=old.abstract)
    return new


def bm25_scores(query: str, papers: Mapping[str, Paper]) -> dict[str, float]:
    """Id -> BM25 of titles and abstracts, for papers that share a word with the query.

    The variant is that of Lucene as Kamphuis et al. give it ("Which BM25 Do You Mean?", 2020, table 1), with
    k1 = 1.5 and b = 0.75. Words are what spaces separate: texts must be of words that no stemmer changes.

    >>> papers = {"a": Paper("a", "owl"), "b": Paper("b", "fox")}
    >>> {paper: round(score, 4) for paper, score in bm25_scores("owl", papers).items()}
    {'a': 0.2773}
    """
    documents = {i: f"{paper.title} {paper.abstract}".split() for i, paper in papers.items()}
    mean = sum(map(len, documents.values())) / max(len(documents), 1)
    scores: dict[str, float] = {}
    for word in query.split():
        holding = {i: words.count(word) for i, words in documents.items() if word in words}
        rarity = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for paper_id, count in holding.items():
            length = len(documents[paper_id]) / mean
            gain = rarity * count / (count + _K1 * (1 - _B + _B * length))
            scores[paper_id] = scores.get(paper_id, 0.0) + gain
    return scores
