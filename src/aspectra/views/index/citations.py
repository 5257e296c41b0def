"""Papers by their citation links to the seeds: what both cite, what cites both, and direct links.

The view ``citations@graph`` scores a paper by the mean, over the seeds, of three likenesses from 0 to 1:

- *bibliographic coupling* (Kessler, American Documentation 1963): the cosine of the two lists of references;
- *co-citation* (Small, JASIS 1973): the cosine of the two sets of papers that cite them;
- a direct link: 1 where one of the two cites the other.

Only citations between papers of the library count. A paper without any is unknown (NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import NoSuchPaper, ViewMismatch
from aspectra.views.protocol import Asked, View, ViewFacts
from aspectra.views.text.weighing import Statistics
from aspectra.views.view import Floats, Positions, Probe, Scored

GRAPH_VIEW = "citations@graph"
Links = tuple[NDArray[np.int64], NDArray[np.int32]]


class CitationView(View):
    """The view of the citation graph; see the module.

    Args:
        facts: from the manifest.
        citations: (rows, targets) of a generation.
        positions: gives id -> position.
        id_order: (papers,) rank of each id.
    """

    cheap = True
    units = None

    def __init__(
        self,
        facts: ViewFacts,
        citations: Links,
        positions: Callable[[], Mapping[str, int]],
        id_order: NDArray[np.int32],
    ) -> None:
        self.facts = facts
        self.name = facts.name
        self._positions = positions
        self._id_order = id_order
        self._cites = citations
        self._cited = _turned(citations)
        self._counts = [np.diff(links[0]).astype(np.float64) for links in (self._cites, self._cited)]

    def look_up(self, probe: Probe, given: Statistics | None = None) -> Asked:
        """The probe, whose seeds are in the generation.

        Raises:
            NoSuchPaper: a seed is not.
            ViewMismatch: the probe has no seeds, or more than seeds.
        """
        if not probe.seeds or probe.reverse or probe.matching or probe.asking:
            raise ViewMismatch(f"{self.name} compares papers by their citations", why="it takes seeds alone")
        for seed in probe.seeds:
            if seed not in self._positions():
                raise NoSuchPaper(f"{seed!r} is not in the index", hint="aspectra index")
        return Asked(probe)

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """Scores, see the module."""
        at = np.arange(len(self._id_order)) if papers is None else papers
        return [Scored(at, self._scores(one.probe.seeds)[at]) for one in asked]

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """The k best of all papers that have any citation."""
        return scored.best(k, self._id_order, allowed, drop_unknown=True)

    def _scores(self, seeds: Sequence[str]) -> Floats:
        """(all papers,) scores, NaN for papers without citations."""
        out = np.zeros(len(self._id_order))
        for seed in seeds:
            at = self._positions()[seed]
            direct = np.zeros(len(out))
            for number, (links, turned) in enumerate(
                ((self._cites, self._cited), (self._cited, self._cites))
            ):
                neighbours = _row(links, at)
                direct[neighbours] = 1.0
                shared = np.zeros(len(out))
                for neighbour in neighbours:
                    shared[_row(turned, int(neighbour))] += 1.0
                counts = self._counts[number]
                out += shared / np.sqrt(np.maximum(counts * counts[at], 1.0))
            out += direct
        out /= max(1, len(seeds))
        out[(self._counts[0] + self._counts[1]) == 0] = np.nan
        return out.astype(np.float32)


def _row(links: Links, at: int) -> NDArray[np.int32]:
    rows, targets = links
    return targets[rows[at] : rows[at + 1]]


def _turned(links: Links) -> Links:
    """The same links from the other end."""
    rows, targets = links
    sources = np.repeat(np.arange(len(rows) - 1, dtype=np.int32), np.diff(rows))
    order = np.argsort(targets, kind="stable")
    offsets = np.zeros(len(rows), np.int64)
    np.cumsum(np.bincount(targets, minlength=len(rows) - 1), out=offsets[1:])
    return offsets, sources[order]
