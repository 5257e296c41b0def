"""Lexical views: BM25 over abstracts or chunks, computed by bm25s."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import NoSuchPaper, UsageError, ViewMismatch
from aspectra.views.lexical.collection import Statistics, weigh_by
from aspectra.views.lexical.reverse import WordPairs, build_pairs
from aspectra.views.protocol import Asked, View, ViewFacts
from aspectra.views.storage.arrays import StoredArray, StoredFolder, save_array
from aspectra.views.storage.units import Units
from aspectra.views.text.tokens import LexicalSettings, Tokeniser
from aspectra.views.view import Floats, Positions, Probe, Scored, top_positions

__all__ = ["LexicalView", "build_lexical"]

_ABSENT = "nonoccurrence_array.index"
_ABSTRACTS = ViewFacts.words_of("abstract").name


def build_lexical(
    texts: Iterable[str],
    settings: LexicalSettings,
    folder: Path,
    *,
    pairs: bool = False,
    damped: bool = False,
    asking: Iterable[str] | None = None,
    statistics: Statistics | None = None,
) -> dict[str, Any]:
    """Index texts in order into ``folder``; returns the view's entry in the manifest.

    Args:
        texts: one for each paper or unit.
        settings: see :class:`~aspectra.views.text.tokens.LexicalSettings`.
        folder: is made; has the view's name.
        pairs: store each paper's words and documents, for reverse probes.
        damped: reverse probes use root frequencies, see
            :func:`~aspectra.views.lexical.reverse.build_pairs`.
        asking: the text whose words a paper uses in reverse probes; default: ``texts``, one for each paper.
        statistics: of the collection that the texts are a part of; default: their own.
    """
    import bm25s

    tokeniser = Tokeniser(settings.tokens)
    vocabulary: dict[str, int] = {}
    documents: list[Sequence[int]] = []
    for text in texts:
        numbers = (vocabulary.setdefault(word, len(vocabulary)) for word in tokeniser.words(text))
        documents.append(array("i", numbers))  # four bytes a word, of all words of the library
    folder.mkdir(parents=True, exist_ok=True)
    save_array(folder / "lengths.npy", np.array([len(d) for d in documents], np.int32))
    if not vocabulary:
        vocabulary[""] = 0
        documents = [d or [0] for d in documents] or [[0]]
    engine = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method, backend="numpy")
    if statistics is not None:
        words = list(vocabulary)
        engine.build_index_from_ids = lambda unique_token_ids, corpus_token_ids, **_: weigh_by(
            statistics, engine, unique_token_ids, corpus_token_ids, words
        )
        statistics.save(folder, vocabulary)
    engine.index((documents, vocabulary), show_progress=False)
    engine.save(folder, show_progress=False)
    facts: dict[str, Any] = {"kind": "lexical", "folder": folder.name, "words": len(vocabulary)}
    if pairs:
        used: Iterable[Sequence[int]] = documents
        if asking is not None:
            known = vocabulary.get
            used = ([w for w in map(known, tokeniser.words(t)) if w is not None] for t in asking)
        build_pairs(used, len(documents), engine.scores, folder, damped=damped)
        facts["pairs"] = True
    return facts


@dataclass(frozen=True)
class _Weights:
    """The BM25 weights that bm25s stored, by word. Importing bm25s takes longer than a search does.

    Attributes:
        data: weights of all words in all documents.
        indices: the document of each.
        indptr: (words + 1,) where each word's begin.
        absent: (words,) what a document without the word gets, for variants that have such weights, or None.
        documents: how many there are.
        vocabulary: word -> its number.
    """

    data: StoredArray
    indices: StoredArray
    indptr: NDArray[np.integer]
    absent: Floats | None
    documents: int
    vocabulary: dict[str, int]

    @classmethod
    def load(cls, folder: StoredFolder) -> _Weights:
        """From a view's folder.

        Raises:
            LibraryCorrupt: a file is missing or damaged.
        """
        data, indices = (folder.array(f"{name}.csc.index") for name in ("data", "indices"))
        count = int(folder.json("params.index.json")["num_docs"])
        absent = folder.whole(_ABSENT) if f"{_ABSENT}.npy" in folder else None
        return cls(
            data, indices, folder.whole("indptr.csc.index"), absent, count, folder.json("vocab.index.json")
        )

    def scores(self, terms: Sequence[int], strengths: Sequence[float] | None = None) -> Floats:
        """(documents,) sum of the weights of these words, each times its strength where those are given."""
        out = np.zeros(self.documents, np.float32)
        for number, term in enumerate(terms):
            some = slice(self.indptr[term], self.indptr[term + 1])
            weights = self.data[some]
            if strengths is not None:
                weights = weights * np.float32(strengths[number])
            # Much faster than indexed addition; a document has one weight of a word.
            np.add.at(out, self.indices[some], weights)
        return out if self.absent is None else out + self.absent[list(terms)].sum()


class LexicalView(View):
    """BM25 scores of papers, or of units pooled into papers.

    Args:
        facts: of the view.
        folder: where :func:`build_lexical` wrote.
        positions: gives paper id -> position.
        id_order: rank of each paper's id, for ties.
        settings: those it was built with.
        text_of: seed id -> its text in this view.
        units: units where a paper is more than one document, else None.
    """

    cheap = True

    def __init__(
        self,
        facts: ViewFacts,
        folder: StoredFolder,
        positions: Callable[[], dict[str, int]],
        id_order: NDArray[np.int32],
        settings: LexicalSettings,
        text_of: Callable[[str], str],
        units: Units | None = None,
    ) -> None:
        self.name = facts.name
        self.facts = facts
        self.settings = settings
        self.units = units
        self._positions = positions
        self._papers = len(id_order)
        self._id_order = id_order
        self._text_of = text_of
        self._tokeniser = Tokeniser(settings.tokens)
        self._weights = _Weights.load(folder)
        self._vocabulary = self._weights.vocabulary
        self._folder = folder
        if "statistics.json" in folder:  # the view is a part of a larger collection
            self._total = int(folder.json("statistics.json")["documents"])
            self._frequency = folder.whole("frequency")
        else:
            self._total = self._papers
            self._frequency = np.diff(self._weights.indptr)

    @cached_property
    def _pairs(self) -> WordPairs | None:
        """What searches from papers read; those from words do not open it."""
        offsets = None if self.units is None else self.units.offsets
        return WordPairs(self._folder, offsets) if self.facts.stored.get("pairs") else None

    @cached_property
    def _words(self) -> list[str]:
        """Number -> word; numbers were given in the order of the vocabulary."""
        return list(self._vocabulary)

    def query_text(self, probe: Probe) -> str:
        """The probe's text and that of its seeds."""
        return "\n".join([probe.text, *(self._text_of(seed) for seed in probe.seeds)]).strip()

    def terms(self, text: str) -> list[int]:
        """Numbers of the words of ``text`` that the view knows, repeats kept."""
        return self._known(self._tokeniser.words(text))

    def _known(self, words: Iterable[str]) -> list[int]:
        known = self._vocabulary
        return [known[word] for word in words if word in known]

    def rarity(self, terms: Iterable[int]) -> dict[int, float]:
        """Term -> inverse document frequency, ln(1 + N / df): what evidence is weighed with."""
        total = max(self._total, 1)
        return {t: float(np.log1p(total / max(int(self._frequency[t]), 1))) for t in terms}

    def look_up(self, probe: Probe) -> Asked:
        """See :class:`~aspectra.views.protocol.View`."""
        if probe.reverse:
            pairs = self._reverse_pairs(probe)
            held = [pairs.documents(at) for at in self._seed_positions(probe)]
            return Asked(
                probe,
                documents=tuple(
                    tuple((tuple(self._words[n] for n in numbers), weights) for numbers, weights in documents)
                    for documents in held
                ),
            )
        if probe.asking not in ("", self.name, _ABSTRACTS):
            raise UsageError(
                f"{self.name} cannot be searched with the words of {probe.asking}",
                why=f"its words are those of {_ABSTRACTS}",
            )
        facts = self.facts.stored
        if not (facts.get("pairs") and facts.get("own_words")) or probe.asking == _ABSTRACTS:
            return Asked(probe, words=tuple(self._tokeniser.words(self.query_text(probe))))
        own = self._pairs if probe.seeds else None
        stored = [own.words_of(at) for at in self._seed_positions(probe)] if own is not None else []
        words = [*self._tokeniser.words(probe.text), *(self._words[n] for part in stored for n in part)]
        return Asked(probe, words=tuple(words))

    def _seed_positions(self, probe: Probe) -> list[int]:
        known = self._positions()
        if absent := [seed for seed in probe.seeds if seed not in known]:
            raise NoSuchPaper(f"{absent[0]!r} is not in the index", hint="aspectra index")
        return [known[seed] for seed in probe.seeds]

    def _reverse_pairs(self, probe: Probe) -> WordPairs:
        if self._pairs is None:
            raise ViewMismatch(
                f"the view {self.name} cannot be searched in reverse",
                why="it stores no words of each paper: it was built before there were any",
                hint="aspectra index --rebuild",
            )
        source = self.name if self.units is None else _ABSTRACTS
        if probe.asking not in ("", source):
            raise UsageError(f"a reverse probe on {self.name} takes words of {source}, not of {probe.asking}")
        return self._pairs

    def _reversed(self, asked: Asked) -> Floats:
        """(papers,) mean over the seeds of how well each candidate's words find them; NaN: it has none."""
        pairs = self._reverse_pairs(asked.probe)
        scores = []
        for documents in asked.documents:
            known = []
            for words, weights in documents:
                here = np.array([self._vocabulary.get(word, -1) for word in words], np.int64)
                known.append((here[here >= 0], weights[here >= 0]))
            scores.append(pairs.reverse(known))
        return scores[0] if len(scores) == 1 else np.mean(scores, axis=0, dtype=np.float32)

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """See :class:`~aspectra.views.protocol.View`."""
        return [self._score(one, papers) for one in asked]

    def _score(self, asked: Asked, papers: Positions | None) -> Scored:
        best: Positions | None = None
        if asked.probe.reverse:
            values = self._reversed(asked)
        else:
            values = self._documents(asked)
            if self.units is not None:
                values, best = Units.pool(values, self.units.offsets, asked.probe.pooling)
                values = np.maximum(values, 0.0)  # a paper without units matches no word
        if papers is None:
            return Scored(np.arange(self._papers), values, best)
        return Scored(papers, values[papers], None if best is None else best[papers])

    def _documents(self, asked: Asked) -> Floats:
        terms = self._known(asked.words)
        count = self._papers if self.units is None else len(self.units.spans)
        if not terms:
            return np.zeros(count, dtype=np.float32)
        return self._weights.scores(terms)[:count]

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """See :class:`~aspectra.views.protocol.View`; papers that share no word are left out."""
        if asked.probe.reverse:  # a score below a candidate's own mean is below 0, and still a match
            return scored.best(k, self._id_order, allowed, drop_unknown=True)
        scores = scored.scores if allowed is None else scored.scores * allowed
        return scored.at(top_positions(scores, min(k, int(np.count_nonzero(scores > 0))), self._id_order))
