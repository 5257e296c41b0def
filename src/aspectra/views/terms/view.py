"""The view of terms: BM25 on fractional counts, each occurrence of a word counted by its chance.

A paper is one document for each aspect. Both sides count so: the seed's words by their chances of the aspect,
the paper's words too. Words that a person names count 1. Rarity is that of words in whole papers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.values import replace
from aspectra.views.lexical.bm25 import LexicalView
from aspectra.views.lexical.collection import Postings, alphabetical, postings_of, save_postings
from aspectra.views.protocol import Asked, ViewFacts
from aspectra.views.storage.arrays import save_array
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.terms.values import ASPECTS, PaperTerms
from aspectra.views.text.tokens import LexicalSettings, Tokeniser
from aspectra.views.text.weighing import Statistics
from aspectra.views.view import Floats, Probe

_LEAST = 0.05  # a word that counts less in a paper is left out of it
_SEEDS = 64  # of which terms are kept
_LIKELY = 0.3  # from here on a word is a term to people
_ROLES = {"background": 0, "objective": 0, "method": 1, "result": 2}  # role of a sentence -> its aspect


def aspect_columns(roles: Sequence[str]) -> list[int]:
    """Places in :data:`~aspectra.views.terms.values.ASPECTS` of roles of sentences; all without roles.

    >>> aspect_columns(("background", "objective")), aspect_columns(("method", "result"))
    ([0], [1, 2])
    """
    return sorted({_ROLES[role] for role in roles if role in _ROLES}) if roles else list(range(len(ASPECTS)))


@lru_cache(maxsize=8)
def aspect_weights(papers: int, roles: tuple[str, ...]) -> Floats:
    """(papers * aspects,) 1 for the vectors of the aspects of these roles, else 0; not to be written."""
    one = np.zeros(len(ASPECTS), np.float32)
    one[aspect_columns(roles)] = 1.0
    weights = np.tile(one, papers)
    weights.flags.writeable = False
    return weights


def stem_counts(
    terms: PaperTerms, stems: Callable[[str], Sequence[str]]
) -> tuple[list[str], NDArray[np.float64]]:
    """Different stems of a paper in order of their first place, and (stems, aspects) sums of chances."""
    numbers: dict[str, int] = {}
    owners: list[int] = []
    rows: list[int] = []
    for row, word in enumerate(terms.words):
        for stem in stems(word):
            owners.append(numbers.setdefault(stem, len(numbers)))
            rows.append(row)
    chances = terms.chances[rows]
    columns = [
        np.bincount(np.array(owners, np.int64), chances[:, column], len(numbers))
        for column in range(len(ASPECTS))
    ]
    return list(numbers), np.stack(columns, axis=1)


def build_terms(papers: Iterable[PaperTerms], settings: LexicalSettings, folder: Path) -> dict[str, Any]:
    """Index the terms of papers, in order, into ``folder``; returns the view's entry in the manifest.

    Args:
        papers: one of each paper.
        settings: those of all views of words. The variant is always that of Lucene.
        folder: is made; has the view's name.
    """
    stems = word_stems(Tokeniser(settings.tokens))
    vocabulary: dict[str, int] = {}
    numbers: list[NDArray[np.int32]] = []
    counts: list[Floats] = []
    held: list[NDArray[np.int32]] = []  # all stems of each paper, also those that count nothing
    for paper in papers:
        words, table = stem_counts(paper, stems)
        different = np.array([vocabulary.setdefault(word, len(vocabulary)) for word in words], np.int32)
        table[table < _LEAST] = 0.0
        kept = np.flatnonzero(table.any(axis=1))
        held.append(different)
        numbers.append(different[kept])
        counts.append(table[kept].astype(np.float32))
    vocabulary, places = alphabetical(vocabulary)
    held, numbers = [places[one] for one in held], [places[one] for one in numbers]
    often = np.bincount(np.concatenate([np.zeros(0, np.int32), *held]), minlength=len(vocabulary))
    postings, lengths = _postings(numbers, counts, len(vocabulary))
    save_postings(folder, postings, vocabulary, lengths)
    save_array(folder / "frequency.npy", often.astype(np.int32))
    return {"kind": "terms", "folder": folder.name, "words": len(vocabulary)}


def _postings(
    numbers: Sequence[NDArray[np.int32]], counts: Sequence[Floats], vocabulary: int
) -> tuple[Postings, Floats]:
    """The postings, and (papers, aspects) lengths.

    A word is another one in each aspect: number ``aspect * words + word``. The length of a paper in an aspect
    is the sum of its counts, and the mean length is that of the papers that name anything there.
    """
    words = np.concatenate([np.zeros(0, np.int32), *numbers])
    table = np.concatenate([np.zeros((0, len(ASPECTS)), np.float32), *counts])
    papers = np.repeat(np.arange(len(numbers), dtype=np.int32), [len(part) for part in numbers])
    lengths = np.zeros((len(numbers), len(ASPECTS)))
    np.add.at(lengths, papers, table)
    rows, columns = np.nonzero(table)
    numbered = columns * vocabulary + words[rows]
    order = np.argsort(numbered, kind="stable")
    held = postings_of(
        numbered[order], papers[rows][order], table[rows, columns][order], len(ASPECTS) * vocabulary
    )
    return held, lengths.astype(np.float32)


def word_stems(tokeniser: Tokeniser) -> Callable[[str], tuple[str, ...]]:
    """Word -> its stems, remembered: a paper has the same words again and again."""
    known: dict[str, tuple[str, ...]] = {}

    def stems(word: str) -> tuple[str, ...]:
        found = known.get(word)
        if found is None:
            found = known[word] = tuple(tokeniser.words(word))
        return found

    return stems


class TermView(LexicalView):
    """Scores of papers by the terms of the aspects whose roles a probe names; of all without roles.

    Args:
        facts: of the view.
        folder: where :func:`build_terms` wrote.
        positions: gives paper id -> position.
        id_order: rank of each paper's id, for ties.
        settings: those it was built with.
        terms_of: seed id -> its terms, or None where none are stored.
    """

    def __init__(
        self,
        facts: ViewFacts,
        folder: StoredFolder,
        positions: Callable[[], dict[str, int]],
        id_order: NDArray[np.int32],
        settings: LexicalSettings,
        terms_of: Callable[[str], PaperTerms | None],
    ) -> None:
        super().__init__(facts, folder, positions, id_order, replace(settings, method="lucene"), self._text)
        self.terms_of = lru_cache(_SEEDS)(terms_of)  # one search reads those of its seed for each aspect
        self.stems = word_stems(self._tokeniser)
        self._counts = lru_cache(_SEEDS)(self._counted)

    def _counted(self, seed: str) -> tuple[list[str], NDArray[np.float64]] | None:
        found = self.terms_of(seed)
        return None if found is None else stem_counts(found, self.stems)

    def _text(self, seed: str) -> str:
        found = self.terms_of(seed)
        return "" if found is None else found.text

    def rarity_of(self, stems: Sequence[str], given: Statistics | None = None) -> float:
        """Mean rarity of stems; 0 where no paper has one of them. For ``given`` see :meth:`look_up`."""
        known = (given or self.statistics(stems)).rarity(stems)
        return sum(known.values()) / max(len(known), 1)

    def look_up(self, probe: Probe, given: Statistics | None = None) -> Asked:
        """See :class:`~aspectra.views.protocol.View`; each seed's document is its counts of the aspect."""
        if probe.reverse:
            self._reverse_pairs(probe)  # raises
        self._seed_positions(probe)  # raises
        columns = aspect_columns(probe.roles)
        documents = []
        for seed in probe.seeds:
            found = self._counts(seed)
            if found is not None:
                words, counts = found
                documents.append(((tuple(words), counts[:, columns].sum(axis=1).astype(np.float32)),))
        return Asked(probe, tuple(self.words(probe.text)), tuple(documents), statistics=given)

    def _strengths(self, asked: Asked) -> dict[str, float]:
        """Word -> its count in what is asked, the mean over seeds."""
        strengths = {word: float(count) for word, count in Counter(asked.words).items()}
        for ((words, counts),) in asked.documents:
            for word, count in zip(words, counts.tolist(), strict=True):
                if count >= _LEAST:
                    strengths[word] = strengths.get(word, 0.0) + count / len(asked.documents)
        return strengths

    def worth(self, asked: Asked) -> dict[str, float]:
        """Word of the likely terms that are asked, if a paper has it -> its count times its rarity."""
        strengths = {word: count for word, count in self._strengths(asked).items() if count >= _LIKELY}
        rarity = (asked.statistics or self.statistics(strengths)).rarity(strengths)
        return {word: strengths[word] * rare for word, rare in rarity.items()}

    def _documents(self, asked: Asked) -> Floats:
        strengths = self._strengths(asked)
        # Weights as they were first published, that is k1 + 1 times those of Lucene.
        factor = self.settings.k1 + 1.0
        given = [strength * factor for strength in strengths.values()]
        columns = aspect_columns(asked.probe.roles)
        return self._index.scores([*strengths], given, columns, asked.statistics)
