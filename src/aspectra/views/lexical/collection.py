"""A collection of documents in one or several segments, and the statistics by which BM25 weighs its words.

The statistics are those of the documents there are. Where the documents are one part of a larger collection
(a shard), those of the whole can be given, so that every part weighs words alike: :meth:`Statistics.of` reads
each part's own, :meth:`Statistics.merged` adds them up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.views.lexical.postings import Segment, Weighing
from aspectra.views.storage.arrays import save_array, save_json
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.storage.units import Units
from aspectra.views.text.tokens import LexicalSettings
from aspectra.views.view import Floats, Positions

_GIVEN = "statistics.json"
# A few words make up most postings that queries read: the weights of those are kept, up to 16 MB.
_MANY, _ROOM = 1000, 1 << 22


@dataclass(frozen=True)
class Statistics:
    """Of a collection of documents.

    Attributes:
        documents: how many there are.
        words: sum of their lengths.
        frequency: word -> documents that hold it.
    """

    documents: int
    words: int
    frequency: Mapping[str, int]

    @property
    def mean_length(self) -> float:
        """Mean length in words."""
        return self.words / max(self.documents, 1)

    @classmethod
    def of(cls, folder: StoredFolder, units: Units | None = None) -> Statistics:
        """Of the documents of a lexical view, from its folder; ``units`` where a paper is several."""
        index = WordIndex(folder, LexicalSettings(), folder.order if units is None else units.order)
        counts = index.frequency
        held = {word: int(counts[n]) for word, n in index.vocabulary.items() if counts[n]}
        return cls(index.documents, int(index.lengths.sum()), held)

    @classmethod
    def merged(cls, parts: Iterable[Statistics]) -> Statistics:
        """Of all parts together."""
        documents = words = 0
        frequency: Counter[str] = Counter()
        for part in parts:
            documents += part.documents
            words += part.words
            frequency.update(part.frequency)
        return cls(documents, words, dict(frequency))

    def save(self, folder: Path, vocabulary: Iterable[str]) -> None:
        """Keep them beside a view whose documents are a part of the collection."""
        counts = [self.frequency.get(word, 0) for word in vocabulary]
        save_array(folder / "frequency.npy", np.array(counts, np.int32))
        save_json(folder / _GIVEN, {"documents": self.documents, "words": self.words})


def merged_vocabulary(vocabularies: Sequence[Sequence[str]]) -> dict[str, int]:
    """Word -> number in all segments together: those of the first segment keep theirs, new ones follow."""
    numbers = {word: number for number, word in enumerate(vocabularies[0])}
    for words in vocabularies[1:]:
        for word in words:
            numbers.setdefault(word, len(numbers))
    return numbers


class WordIndex:
    """The documents of a view of words, weighed as one collection.

    Args:
        folder: of the view.
        settings: the variant of BM25.
        order: (documents,) the stored row of each document; None where they are in order.
    """

    def __init__(
        self, folder: StoredFolder, settings: LexicalSettings, order: Positions | None = None
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.segments = [Segment(part) for part in folder.segments]
        self.vocabulary = merged_vocabulary([one.vocabulary for one in self.segments])
        self._order = order
        # Of each segment but the first: number of a word in the collection -> its number there.
        self._local = [
            {self.vocabulary[word]: number for number, word in enumerate(one.vocabulary)}
            for one in self.segments[1:]
        ]
        self.given = _GIVEN in folder
        self._kept: dict[tuple[int, int], Floats] = {}
        self._room = _ROOM

    def _keep(self, key: tuple[int, int], weights: Floats) -> None:
        """Keep the weights of a word that many documents hold, while there is room."""
        if len(weights) >= _MANY and self._room >= len(weights):
            self._room -= len(weights)
            self._kept[key] = weights

    @cached_property
    def words(self) -> list[str]:
        """Number -> word."""
        return list(self.vocabulary)

    def number(self, word: str) -> int:
        """The number of a word that a document holds; -1: none does, or those that did were removed."""
        found = self.vocabulary.get(word, -1)
        return found if found < 0 or self.frequency[found] else -1

    @property
    def numbers(self) -> list[Positions | None]:
        """Of each segment, the number of each of its words in the collection; None: the same."""
        return [None, *(np.array([*one], np.int64) for one in self._local)]

    @cached_property
    def _stored_lengths(self) -> NDArray[Any]:
        parts = [one.lengths for one in self.segments]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def lengths(self) -> NDArray[Any]:
        """A row for each document: its length; or its lengths by column."""
        return self._stored_lengths if self._order is None else self._stored_lengths[self._order]

    @property
    def documents(self) -> int:
        """How many there are."""
        return len(self._stored_lengths if self._order is None else self._order)

    @cached_property
    def frequency(self) -> NDArray[np.integer]:
        """(words,) documents that hold each; of the whole collection where the view is a part of one."""
        if "frequency.npy" in self.folder:
            return self.folder.whole("frequency")
        return self.segments[0].held

    @cached_property
    def total(self) -> int:
        """Documents of the collection."""
        return int(self.folder.json(_GIVEN)["documents"]) if self.given else self.documents

    @cached_property
    def _weighing(self) -> list[Weighing]:
        """Of each column of lengths."""
        if self.given:
            words = int(self.folder.json(_GIVEN)["words"])
            return [Weighing(self.settings, self.total, words / max(self.total, 1))]
        lengths = self.lengths
        if lengths.ndim == 1:
            mean = int(lengths.sum()) / max(self.total, 1)
            return [Weighing(self.settings, self.total, mean, self.frequency)]
        sums, some = lengths.sum(axis=0, dtype=np.float64), (lengths > 0).sum(axis=0)
        means = (sums / np.maximum(some, 1)).tolist()
        return [Weighing(self.settings, self.total, mean or 1.0, self.frequency) for mean in means]

    @cached_property
    def _damping(self) -> list[Floats]:
        """Of each column, for all stored rows."""
        lengths = self._stored_lengths
        columns = [lengths] if lengths.ndim == 1 else [*lengths.T]
        return [one.damping(column) for one, column in zip(self._weighing, columns, strict=True)]

    def scores(
        self, terms: Sequence[int], strengths: Sequence[float] | None = None, columns: Sequence[int] = (0,)
    ) -> Floats:
        """(documents,) sum of the weights of these words, each times its strength where those are given.

        Args:
            terms: numbers of words, repeats kept.
            strengths: of each of them.
            columns: of the lengths; each has words of its own.
        """
        out = np.zeros(len(self._stored_lengths), np.float32)
        rarity = [self._weighing[0].rarity(int(self.frequency[term])) for term in terms]
        start = 0
        for number, segment in enumerate(self.segments):
            postings, width = segment.postings, len(segment.vocabulary)
            end = start + len(segment.lengths)
            into = out[start:end]
            local = range(width) if number == 0 else self._local[number - 1]
            for column in columns:
                weighing, damping = self._weighing[column], self._damping[column][start:end]
                for place, term in enumerate(terms):
                    if term not in local:
                        continue
                    at = column * width + local[term]
                    some = slice(postings.pointers[at], postings.pointers[at + 1])
                    documents = postings.documents[some]
                    weights = self._kept.get((number, at))
                    if weights is None:
                        weights = weighing.weights(postings.counts[some], damping[documents], rarity[place])
                        self._keep((number, at), weights)
                    if strengths is not None:
                        weights = weights * np.float32(strengths[place])
                    # Much faster than indexed addition; a document has one weight of a word.
                    np.add.at(into, documents, weights)
            start = end
        if absent := self._weighing[0].absent(int(self.frequency[term]) for term in terms):
            out += np.float32(absent)
        return out if self._order is None else out[self._order]
