"""What is usual in a library, kept while papers are added and until its index is written anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.views.lexical.collection import Segment, WordIndex
from aspectra.views.lexical.reverse import Document, WordPairs
from aspectra.views.storage.arrays import save_array, save_json
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.storage.units import Units
from aspectra.views.text.tokens import LexicalSettings
from aspectra.views.text.weighing import Statistics
from aspectra.views.view import Floats, Positions

STANDARD = "standard"  # name of the folder in a generation
_MEANS = ("centres", "standard")  # arrays of views that are taken as they are


class Standard:
    """What papers are measured by, whichever part of an index they are written in.

    Scores of words and vectors follow from a paper and the statistics of all papers, which are read at query
    time. Three more things say what is usual in the library: what a candidate scores on average in reverse,
    the mean that terms of aspects are centred by, and the mean and deviation of each habit of style. They
    move little with a few papers and cost minutes to compute. Those of the papers that were there when the
    index was written anew hold for papers that are added, and go on to hold when segments become one: how
    an index is cut changes no answer.

    Args:
        folder: where :func:`write_standard` wrote.
    """

    def __init__(self, folder: StoredFolder) -> None:
        self._folder = folder
        facts = folder.json("facts.json")
        self.papers = int(facts["papers"])
        self.views = frozenset(facts["views"])
        self._sample = facts["sample"]

    def places(self, ids: Sequence[str]) -> Positions:
        """(sample,) position of each document's paper among some papers, -1 where it is none of them."""
        known = {one: at for at, one in enumerate(ids)}
        return np.array([known.get(one, -1) for one in self._sample], np.int64)

    def statistics(self, view: str) -> Statistics:
        """Of the words of a view."""
        folder = self._folder.folder(view)
        saved, counts = folder.json("statistics.json"), folder.whole("frequency").tolist()
        held = dict(zip(folder.json("vocabulary.json"), counts, strict=True))
        return Statistics(saved["documents"], ((saved["words"], saved["documents"]),), held, complete=True)

    def documents(self, view: str, vocabulary: Sequence[str]) -> list[list[Document]]:
        """The documents of the sample's papers in a view of words, by other numbers of the words.

        Args:
            view: name of the view.
            vocabulary: the words by their new numbers.
        """
        folder, known = self._folder.folder(view), {word: at for at, word in enumerate(vocabulary)}
        numbers = np.array([known.get(word, -1) for word in folder.json("vocabulary.json")], np.int64)
        papers, offsets = folder.whole("papers"), folder.whole("offsets")
        words, weights = numbers[folder.whole("words")], folder.whole("weights")
        documents = []
        for low, high in pairwise(offsets):
            there = words[low:high] >= 0
            documents.append((words[low:high][there], weights[low:high][there]))
        return [documents[low:high] for low, high in pairwise(papers)]

    def vectors(self, view: str) -> list[NDArray[np.floating]]:
        """The vectors of the sample's papers in a view."""
        folder = self._folder.folder(view)
        rows, papers = folder.whole("vectors"), folder.whole("papers")
        return [rows[low:high] for low, high in pairwise(papers)]

    def array(self, view: str, name: str) -> Floats:
        """A mean of a view: ``centres`` of terms, ``standard`` of a lens with vectors."""
        return np.array(self._folder.folder(view).whole(name))


def write_standard(
    folder: Path, ids: Sequence[str], sample: Positions, views: Mapping[str, Mapping[str, Any]]
) -> None:
    """Keep what the papers of a generation of one segment are measured by.

    Args:
        folder: of the generation, in which all else is written.
        ids: of its papers.
        sample: positions of the papers that are the documents of reverse scores.
        views: the manifest's parts of its views.
    """
    held, target = StoredFolder(folder), folder / STANDARD
    target.mkdir()
    chosen = sample.tolist()
    save_json(
        target / "facts.json", {"papers": len(ids), "sample": [ids[at] for at in chosen], "views": [*views]}
    )
    for view, facts in views.items():
        part, place = held.folder(view), target / view
        units = facts.get("units")
        offsets = Units.load(held.folder(units)).offsets if units else np.arange(len(ids) + 1)
        means = [name for name in _MEANS if f"{name}.npy" in part]
        words, vectors = "asking_offsets.npy" in part, "reverse_mean.npy" in part
        if words or vectors or means:
            place.mkdir()
        for name in means:
            save_array(place / f"{name}.npy", part.whole(name))
        if words:
            _write_words(place, part, offsets if units else None, chosen)
        elif vectors:
            rows = part.array("vectors")
            kept = [np.asarray(rows[int(offsets[at]) : int(offsets[at + 1])]) for at in chosen]
            save_array(place / "vectors.npy", np.concatenate(kept))
            save_array(place / "papers.npy", np.cumsum([0, *map(len, kept)]))
    held.close()


def _write_words(
    place: Path, part: StoredFolder, offsets: NDArray[np.integer] | None, sample: Sequence[int]
) -> None:
    """Statistics of a view of words, and the documents of the sample."""
    vocabulary = Segment(part).vocabulary
    save_json(place / "vocabulary.json", vocabulary)
    index = WordIndex(part, LexicalSettings())
    save_array(place / "frequency.npy", index.frequency.astype(np.int32))
    save_json(place / "statistics.json", {"documents": index.documents, "words": int(index.lengths.sum())})
    pairs = WordPairs(part, None if offsets is None else [offsets])
    papers = [pairs.documents(at) for at in sample]
    documents = [one for held in papers for one in held]
    save_array(place / "papers.npy", np.cumsum([0, *map(len, papers)]))
    save_array(place / "offsets.npy", np.cumsum([0, *(len(words) for words, _ in documents)]))
    words = [np.asarray(words, np.int32) for words, _ in documents]
    save_array(place / "words.npy", np.concatenate([np.zeros(0, np.int32), *words]))
    weights = [np.asarray(weights) for _, weights in documents]
    save_array(place / "weights.npy", np.concatenate([np.zeros(0, np.float32), *weights]))
