"""Statistics of a collection, by which BM25 weighs the words of its documents.

Those of a view's own documents by default. Where the documents are one part of a larger collection (a shard),
those of the whole can be given, so that every part weighs words alike: :meth:`Statistics.of` reads each
part's own, :meth:`Statistics.merged` adds them up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.views.storage.arrays import StoredFolder, save_array, save_json

__all__ = ["Statistics", "weigh_by"]


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
    def mean_length(self) -> np.float64:
        """Mean length in words. (A Python float would make bm25s compute in float32: other last bits.)"""
        return np.float64(self.words / max(self.documents, 1))

    @classmethod
    def of(cls, folder: StoredFolder) -> Statistics:
        """Of the documents of a lexical view, from its folder."""
        lengths = folder.whole("lengths")
        counts = np.diff(folder.whole("indptr.csc.index"))
        vocabulary: dict[str, int] = folder.json("vocab.index.json")
        held = {word: int(counts[n]) for word, n in vocabulary.items() if n < len(counts) and word}
        return cls(len(lengths), int(lengths.sum()), held)

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

    def save(self, folder: Path, vocabulary: Mapping[str, int]) -> None:
        """Keep what rarity needs beside a view whose documents are a part of the collection."""
        counts = np.zeros(len(vocabulary), np.int64)
        for word, number in vocabulary.items():
            counts[number] = self.frequency.get(word, 0)
        save_array(folder / "frequency.npy", counts)
        save_json(folder / "statistics.json", {"documents": self.documents})


def weigh_by(
    statistics: Statistics,
    engine: Any,
    unique_token_ids: Sequence[int],
    corpus_token_ids: Sequence[Sequence[int]],
    words: Sequence[str],
) -> dict[str, Any]:
    """BM25 weights as ``bm25s.BM25.build_index_from_ids`` makes them, with statistics that are given.

    Args:
        statistics: of the collection that the documents are a part of.
        engine: the ``bm25s.BM25``.
        unique_token_ids: numbers of all words.
        corpus_token_ids: numbers of each document's words.
        words: number -> word.
    """
    from bm25s import scoring

    quiet = {"show_progress": False, "leave_progress": False}
    own = scoring._calculate_doc_freqs(corpus_token_ids, unique_token_ids, **quiet)
    frequency = {number: statistics.frequency.get(words[number], count) for number, count in own.items()}
    form = {"k1": engine.k1, "b": engine.b, "delta": engine.delta, "dtype": engine.dtype}
    rarity = scoring._select_idf_scorer(engine.idf_method)
    engine.nonoccurrence_array = None
    if engine.method in engine.methods_requiring_nonoccurrence:
        engine.nonoccurrence_array = scoring._build_nonoccurrence_array(
            frequency,
            statistics.documents,
            rarity,
            scoring._select_tfc_scorer(engine.method),
            l_d=statistics.mean_length,
            l_avg=statistics.mean_length,
            **form,
        )
    values, rows, columns = scoring._build_scores_and_indices_for_matrix(
        corpus_token_ids,
        scoring._build_idf_array(frequency, statistics.documents, rarity, engine.dtype),
        statistics.mean_length,
        own,
        method=engine.method,
        int_dtype=engine.int_dtype,
        nonoccurrence_array=engine.nonoccurrence_array,
        **form,
        **quiet,
    )
    shape = (len(corpus_token_ids), len(unique_token_ids))
    data, indices, pointers = engine._np_csc(data=values, rows=rows, cols=columns, shape=shape)
    weights: NDArray[Any] = data.astype(engine.dtype)
    return {"data": weights, "indices": indices, "indptr": pointers, "num_docs": len(corpus_token_ids)}
