"""The view of notes and annotations: BM25 over what was written and marked, a document for each note.

It is made when it is first used, from the notes as they are then, and again when a note changes: no index is
behind a note. Twenty thousand notes take about a second; a search that does not read the view pays nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.library.marks.values import Note
from aspectra.papers.library.store import Store
from aspectra.views.lexical.collection import Postings, count_words
from aspectra.views.protocol import Asked, View, ViewFacts
from aspectra.views.text.tokens import LexicalSettings, Tokeniser
from aspectra.views.text.weighing import Statistics, Weighing, least_rarity
from aspectra.views.view import Floats, Positions, Probe, Scored, top_positions


def note_text(note: Note) -> str:
    """What is searched of a note: the searcher's words, then the passage they are about."""
    return "\n".join(part for part in (note.text, note.quote) if part.strip())


class _Notes(Struct, frozen=True):
    """The notes of one revision.

    Attributes:
        revision: of the notes.
        notes: (id of the paper, note), those on papers of the index.
        owners: (notes,) position of each one's paper.
        vocabulary: word -> number.
        postings: which notes hold each word.
        weighing: what its words weigh there.
        words: how many there are.
        damping: (notes,) how much their lengths damp them.
    """

    revision: int
    notes: Sequence[tuple[str, Note]]
    owners: Positions
    vocabulary: dict[str, int]
    postings: Postings
    weighing: Weighing
    words: int
    damping: Floats

    def frequency(self, term: int) -> int:
        """In how many notes a word is."""
        pointers = self.postings.pointers
        return int(pointers[term + 1] - pointers[term])

    def scores(self, terms: Sequence[int]) -> Floats:
        """(notes,) sum of the weights of these words."""
        out = np.zeros(len(self.notes), np.float32)
        pointers, documents, counts = self.postings.pointers, self.postings.documents, self.postings.counts
        for term in terms:
            some = slice(pointers[term], pointers[term + 1])
            rarity = self.weighing.rarity(self.frequency(term))
            at = documents[some]
            np.add.at(out, at, self.weighing.weights(counts[some], self.damping[at], rarity))
        return out + np.float32(self.weighing.absent(map(self.frequency, terms)))


class NotesView(View):
    """BM25 scores of papers by their best note; a paper without notes has the score 0.

    Args:
        facts: of the view.
        library: whose notes are read.
        positions: gives paper id -> position.
        id_order: rank of each paper's id, for ties.
        settings: of the views of words.
        text_of: seed id -> its text.
    """

    cheap = True
    units = None

    def __init__(
        self,
        facts: ViewFacts,
        library: Store,
        positions: Callable[[], dict[str, int]],
        id_order: NDArray[np.int32],
        settings: LexicalSettings,
        text_of: Callable[[str], str],
    ) -> None:
        self.name, self.facts = facts.name, facts
        self._library, self._positions, self._id_order = library, positions, id_order
        self._settings, self._text_of = settings, text_of
        self._tokeniser = Tokeniser(settings.tokens)
        self._lock = threading.Lock()
        self._made: _Notes | None = None

    @property
    def _held(self) -> _Notes:
        """The notes as they are now."""
        with self._lock:
            revision = self._library.marks.notes_revision
            if self._made is None or self._made.revision != revision:
                self._made = self._make(revision)
            return self._made

    def _make(self, revision: int) -> _Notes:
        known = self._positions()
        notes = [(paper, note) for paper, note in self._library.marks.notes() if paper in known]
        vocabulary: dict[str, int] = {}
        documents = [
            [vocabulary.setdefault(word, len(vocabulary)) for word in self._tokeniser.words(note_text(note))]
            for _, note in notes
        ]
        owners = np.array([known[paper] for paper, _ in notes], np.int64)
        lengths = np.array([len(one) for one in documents], np.int32)
        postings = count_words(documents, len(vocabulary))
        words = int(lengths.sum())
        least = least_rarity(len(notes), np.diff(postings.pointers))
        weighing = Weighing(self._settings, len(notes), words / max(len(notes), 1), least)
        return _Notes(
            revision, notes, owners, vocabulary, postings, weighing, words, weighing.damping(lengths)
        )

    def query_text(self, probe: Probe) -> str:
        """The probe's text and that of its seeds."""
        return "\n".join([probe.text, *(self._text_of(seed) for seed in probe.seeds)]).strip()

    def words(self, text: str) -> list[str]:
        """See :class:`~aspectra.views.protocol.WordView`."""
        return self._tokeniser.words(text)

    def statistics(self, words: Iterable[str]) -> Statistics:
        """Of the notes, see :class:`~aspectra.views.protocol.WordView`."""
        held, known = self._held, self._held.vocabulary
        frequency = {word: held.frequency(known[word]) if word in known else 0 for word in words}
        return Statistics(len(held.notes), ((held.words, len(held.notes)),), frequency)

    def look_up(self, probe: Probe, given: Statistics | None = None) -> Asked:
        """See :class:`~aspectra.views.protocol.View`.

        Raises:
            UsageError: the probe is a reverse one, or takes its words from another view.
        """
        if probe.reverse or probe.asking not in ("", self.name):
            raise UsageError(f"{self.name} is searched with words of its own", why="notes find no papers")
        return Asked(probe, tuple(self.words(self.query_text(probe))))

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """See :class:`~aspectra.views.protocol.View`."""
        return [self._score(one, papers) for one in asked]

    def _score(self, asked: Asked, papers: Positions | None) -> Scored:
        held = self._held
        values = np.zeros(len(self._id_order), np.float32)
        np.maximum.at(values, held.owners, self._of_notes(held, asked))
        at = np.arange(len(values)) if papers is None else papers
        return Scored(at, values[at])

    @staticmethod
    def _of_notes(held: _Notes, asked: Asked) -> Floats:
        return held.scores([held.vocabulary[word] for word in asked.words if word in held.vocabulary])

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """See :class:`~aspectra.views.protocol.View`; papers whose notes share no word are left out."""
        scores = scored.scores if allowed is None else scored.scores * allowed
        return scored.at(top_positions(scores, min(k, int(np.count_nonzero(scores > 0))), self._id_order))

    def best_notes(self, asked: Asked, papers: Sequence[str]) -> dict[str, tuple[Note, float]]:
        """Id -> the note of the paper that matches best, and its score; for papers that have such a note."""
        held, wanted = self._held, set(papers)
        found: dict[str, tuple[Note, float]] = {}
        for (paper, note), score in zip(held.notes, self._of_notes(held, asked).tolist(), strict=True):
            if paper in wanted and score > found.get(paper, (note, 0.0))[1]:
                found[paper] = (note, score)
        return found
