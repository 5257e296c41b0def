"""What a paper is measured by that is a fact of the whole library, where only some papers are written.

Scores of words and vectors follow from a paper and the statistics of all papers, which are read at query
time. Three more things say what is usual in the library: what a candidate scores on average in reverse, the
mean that terms of aspects are centred by, and the mean and deviation of each habit of style. They move little
with a few papers and cost minutes to compute: those of the base hold for the segments that follow it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aspectra.views.lexical.collection import Statistics
from aspectra.views.lexical.postings import Segment
from aspectra.views.lexical.reverse import Document, WordPairs
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.storage.units import Units
from aspectra.views.view import Floats, Positions


class Background:
    """The base of a generation, as what later segments are measured by.

    Args:
        base: the first segment, by itself.
        views: names of its views.
    """

    def __init__(self, base: StoredFolder, views: Sequence[str]) -> None:
        self.base = base
        self.views = frozenset(views)
        self.sample: Positions = base.whole("sample")

    def statistics(self, view: str) -> Statistics:
        """Of the words of a view."""
        return Statistics.of(self.base.folder(view))

    def documents(self, view: str, units: str, vocabulary: Sequence[str]) -> list[list[Document]]:
        """The documents of the sample's papers in a view of words, by other numbers of the words.

        Args:
            view: name of the view.
            units: name of its units, "" where each paper is one.
            vocabulary: the words by their new numbers.
        """
        folder = self.base.folder(view)
        offsets = [Units.load(self.base.folder(units)).offsets] if units else None
        pairs, known = WordPairs(folder, offsets), {word: at for at, word in enumerate(vocabulary)}
        numbers = np.array([known.get(word, -1) for word in Segment(folder).vocabulary], np.int64)
        out: list[list[Document]] = []
        for paper in self.sample.tolist():
            held = [(numbers[words], weights) for words, weights in pairs.documents(paper)]
            out.append([(words[words >= 0], weights[words >= 0]) for words, weights in held])
        return out

    def vectors(self, view: str, units: str) -> list[NDArray[np.floating]]:
        """The vectors of the sample's papers in a view."""
        array = self.base.folder(view).array("vectors")
        if not units:
            return [array[at : at + 1] for at in self.sample.tolist()]
        offsets = Units.load(self.base.folder(units)).offsets
        return [array[offsets[at] : offsets[at + 1]] for at in self.sample.tolist()]

    def array(self, view: str, name: str) -> Floats:
        """A stored array of a view."""
        return np.array(self.base.folder(view).whole(name))
