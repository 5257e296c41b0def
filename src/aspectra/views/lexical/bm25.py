"""Lexical views: BM25 over abstracts or chunks, and over notes and annotations."""

from __future__ import annotations

import threading
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.papers.library.marks.values import Note
from aspectra.papers.library.store import Store
from aspectra.papers.text.cleaning import unspelt
from aspectra.views.lexical.collection import Postings, WordIndex, alphabetical, count_words, save_postings
from aspectra.views.lexical.reverse import WordPairs, build_pairs
from aspectra.views.protocol import Asked, GenerationView, ViewFacts
from aspectra.views.storage.folder import StoredFolder, Units
from aspectra.views.text.tokens import (
    LexicalSettings,
    Statistics,
    Tokeniser,
    TokenSettings,
    Weighing,
    least_rarity,
)
from aspectra.views.view import Floats, Positions, Probe, Scored, top_positions

_ABSTRACTS = ViewFacts.words_of("abstract").name


class Counted(Struct, frozen=True):
    """The words of some texts, told by numbers that are theirs alone.

    Attributes:
        words: each once.
        numbers: of the words of all texts in order, repeats kept.
        lengths: of the texts, in words.
    """

    words: list[str]
    numbers: NDArray[np.int32]
    lengths: list[int]

    @classmethod
    def of(cls, texts: Iterable[str], settings: TokenSettings) -> Counted:
        """Count the words of texts."""
        tokeniser = _tokeniser(settings)
        vocabulary: defaultdict[str, int] = defaultdict()
        vocabulary.default_factory = vocabulary.__len__  # a new word has the next number
        numbers, lengths = array("i"), []
        for text in texts:
            words = tokeniser.words(text)
            numbers.extend(map(vocabulary.__getitem__, words))
            lengths.append(len(words))
        return cls([*vocabulary], np.array(numbers, np.int32), lengths)


@lru_cache(maxsize=4)
def _tokeniser(settings: TokenSettings) -> Tokeniser:
    return Tokeniser(settings)  # which keeps the stems that it has met


def build_lexical(
    texts: Iterable[str | Counted],
    settings: LexicalSettings,
    folder: Path,
    *,
    pairs: bool = False,
    damped: bool = False,
    asking: Iterable[str] | None = None,
    standard: Callable[[Iterable[str]], Statistics] | None = None,
) -> dict[str, Any]:
    """Index texts in order into ``folder``; returns the view's entry in the manifest.

    Args:
        texts: one for each paper or unit, or some of them counted.
        settings: see :class:`~aspectra.views.text.tokens.LexicalSettings`.
        folder: is made; has the view's name.
        pairs: store each paper's words and documents, for reverse probes.
        damped: reverse probes use root frequencies, see
            :func:`~aspectra.views.lexical.reverse.build_pairs`.
        asking: the text whose words a paper uses in reverse probes; default: ``texts``, one for each paper.
        standard: gives statistics by which reverse probes weigh words; default: those of the texts.
    """
    vocabulary: dict[str, int] = {}
    documents: list[NDArray[np.int32]] = []  # four bytes a word, of all words of the library
    for one in texts:
        counted = one if isinstance(one, Counted) else Counted.of([one], settings.tokens)
        known = [vocabulary.setdefault(word, len(vocabulary)) for word in counted.words]
        flat = np.array(known, np.int32)[counted.numbers]
        documents += np.split(flat, np.cumsum(counted.lengths)[:-1])
    vocabulary, places = alphabetical(vocabulary)
    for document in documents:
        document[:] = places[document]
    lengths = np.array([len(d) for d in documents], np.int32)
    save_postings(folder, count_words(documents, len(vocabulary)), vocabulary, lengths)
    documents.clear()  # gigabytes of a million papers
    facts: dict[str, Any] = {"kind": "lexical", "folder": folder.name, "words": len(vocabulary)}
    if pairs:
        used: Iterable[list[int]] | None = None
        if asking is not None:
            words, number = _tokeniser(settings.tokens).words, vocabulary.get
            used = ([w for w in map(number, words(t)) if w is not None] for t in asking)
        build_pairs(used, settings, folder, damped, standard)
        facts["pairs"] = True
    return facts


@dataclass(eq=False)
class _Words(GenerationView):
    """Scores of papers by words of texts.

    Attributes:
        settings: of the words.
        text_of: seed id -> its text in this view.
    """

    settings: LexicalSettings
    text_of: Callable[[str], str]

    cheap = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._tokeniser = Tokeniser(self.settings.tokens)

    def query_text(self, probe: Probe) -> str:
        """The probe's text and that of its seeds."""
        return "\n".join([probe.text, *(self.text_of(seed) for seed in probe.seeds)]).strip()

    def words(self, text: str) -> list[str]:
        """See :class:`~aspectra.views.protocol.WordView`."""
        return self._tokeniser.words(text)

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """See :class:`~aspectra.views.protocol.View`."""
        return [self._score(one, papers) for one in asked]

    def _score(self, asked: Asked, papers: Positions | None) -> Scored:
        """Scores for one probe."""
        raise NotImplementedError

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """See :class:`~aspectra.views.protocol.View`; papers that share no word are left out."""
        if asked.probe.reverse:  # a score below a candidate's own mean is below 0, and still a match
            return super().best(asked, scored, k, allowed)
        scores = scored.scores if allowed is None else scored.scores * allowed
        return scored.at(top_positions(scores, min(k, int(np.count_nonzero(scores > 0))), self.id_order))


@dataclass(eq=False)
class LexicalView(_Words):
    """BM25 scores of papers, or of units pooled into papers.

    Attributes:
        settings: those it was built with.
        folder: where :func:`build_lexical` wrote.
        units: units where a paper is more than one document, else None.
    """

    folder: StoredFolder
    units: Units | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        order = self.folder.order if self.units is None else self.units.order
        self._index = WordIndex(self.folder, self.settings, order)

    @cached_property
    def _pairs(self) -> WordPairs | None:
        """Pairs of words for searches from papers; searches from words do not open them."""
        if not self.facts.stored.get("pairs"):
            return None
        offsets = None if self.units is None else self.units.segments or (self.units.offsets,)
        return WordPairs(self.folder, offsets, self._index.numbers)

    def statistics(self, words: Iterable[str]) -> Statistics:
        """See :class:`~aspectra.views.protocol.WordView`."""
        named = set(words)
        return self._index.statistics(named.union(map(unspelt, named)) if self._by_letters else named)

    @property
    def _by_letters(self) -> bool:
        return self.settings.tokens.split == "letters"

    def _spelt(self, text: str) -> list[str]:
        """The words of a query: ``dusseldorf`` for ``duesseldorf`` where documents have that alone."""
        words = self._tokeniser.words(text)
        if not self._by_letters:
            return words
        held = self._index.held
        return [plain if not held(word) and held(plain := unspelt(word)) else word for word in words]

    def look_up(self, probe: Probe) -> Asked:
        """See :class:`~aspectra.views.protocol.View`."""
        if probe.reverse:
            pairs = self._reverse_pairs(probe)
            held = [pairs.documents(self.position(seed)) for seed in probe.seeds]
            words = self._index.words
            return Asked(
                probe,
                documents=tuple(
                    tuple((tuple(words[n] for n in numbers), weights) for numbers, weights in documents)
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
            return Asked(probe, tuple(self._spelt(self.query_text(probe))))
        own = self._pairs if probe.seeds else None
        stored = [own.words_of(self.position(seed)) for seed in probe.seeds] if own is not None else []
        words = [*self._tokeniser.words(probe.text), *(self._index.words[n] for part in stored for n in part)]
        return Asked(probe, tuple(words))

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
                here = np.array([self._index.number(word) for word in words], np.int64)
                known.append((here[here >= 0], weights[here >= 0]))
            scores.append(pairs.reverse(known))
        return scores[0] if len(scores) == 1 else np.mean(scores, axis=0, dtype=np.float32)

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
            return Scored(self.chosen(None), values, best)
        return Scored(papers, values[papers], None if best is None else best[papers])

    def _documents(self, asked: Asked) -> Floats:
        return self._index.scores(asked.words, given=asked.statistics)


# The view of notes and annotations: BM25 over what was written and marked, a document for each note.
#
# It is made when it is first used, from the notes as they are then, and again when a note changes: no index
# is behind a note. Twenty thousand notes take about a second; a search that does not read the view pays
# nothing.


def note_text(note: Note) -> str:
    """Searchable text of a note: the user's words, then the passage they are about."""
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
        """Number of notes that hold a word."""
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


@dataclass(eq=False)
class NotesView(_Words):
    """BM25 scores of papers by their best note; a paper without notes has the score 0.

    Attributes:
        library: whose notes are read.
    """

    library: Store

    units = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._lock = threading.Lock()
        self._made: _Notes | None = None

    @property
    def _held(self) -> _Notes:
        """The notes as they are now."""
        with self._lock:
            revision = self.library.marks.notes_revision
            if self._made is None or self._made.revision != revision:
                self._made = self._make(revision)
            return self._made

    def _make(self, revision: int) -> _Notes:
        known = self.positions()
        notes = [(paper, note) for paper, note in self.library.marks.notes() if paper in known]
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
        weighing = Weighing(self.settings, len(notes), words / max(len(notes), 1), least)
        return _Notes(
            revision, notes, owners, vocabulary, postings, weighing, words, weighing.damping(lengths)
        )

    def statistics(self, words: Iterable[str]) -> Statistics:
        """Statistics of the notes, see :class:`~aspectra.views.protocol.WordView`."""
        held, known = self._held, self._held.vocabulary
        frequency = {word: held.frequency(known[word]) if word in known else 0 for word in words}
        return Statistics(len(held.notes), ((held.words, len(held.notes)),), frequency)

    def look_up(self, probe: Probe) -> Asked:
        """See :class:`~aspectra.views.protocol.View`.

        Raises:
            UsageError: the probe is a reverse one, or takes its words from another view.
        """
        if probe.reverse or probe.asking not in ("", self.name):
            raise UsageError(f"{self.name} is searched with words of its own", why="notes find no papers")
        return Asked(probe, tuple(self.words(self.query_text(probe))))

    def _score(self, asked: Asked, papers: Positions | None) -> Scored:
        held = self._held
        values = np.zeros(len(self.id_order), np.float32)
        np.maximum.at(values, held.owners, self._of_notes(held, asked))
        at = self.chosen(papers)
        return Scored(at, values[at])

    @staticmethod
    def _of_notes(held: _Notes, asked: Asked) -> Floats:
        return held.scores([held.vocabulary[word] for word in asked.words if word in held.vocabulary])

    def best_notes(self, asked: Asked, papers: Sequence[str]) -> dict[str, tuple[Note, float]]:
        """Id -> the note of the paper that matches best, and its score; for papers that have such a note."""
        held, wanted = self._held, set(papers)
        found: dict[str, tuple[Note, float]] = {}
        for (paper, note), score in zip(held.notes, self._of_notes(held, asked).tolist(), strict=True):
            if paper in wanted and score > found.get(paper, (note, 0.0))[1]:
                found[paper] = (note, score)
        return found
