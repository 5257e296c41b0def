"""The view of terms: BM25 on fractional counts, each occurrence of a word counted by its chance.

A paper is one document for each aspect. Both sides count so: the seed's words by their chances of the aspect,
the paper's words too. Words that a person names count 1. Rarity is that of words in whole papers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt
from aspectra.base.files import digest
from aspectra.base.values import Remembered, replace
from aspectra.papers.library.derived import Arrays, Producer
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.dense.matching import narrowed
from aspectra.views.encoders.protocol import (
    EachText,
    Encoder,
    Encoding,
    TokenEncoder,
    Vectors,
    mean_of_spans,
    unit_rows,
)
from aspectra.views.lexical.bm25 import LexicalView
from aspectra.views.lexical.collection import Postings, alphabetical, postings_of, save_postings
from aspectra.views.protocol import Asked, ViewFacts
from aspectra.views.storage.arrays import save_array
from aspectra.views.storage.folder import EncodedText, StoredFolder
from aspectra.views.text.tokens import LexicalSettings, Tokeniser, plain_words, word_spans
from aspectra.views.view import Floats, Probe

# What is kept of a paper: the chances of its words, and one pooled vector for each aspect.
#
# Made in the forward pass that gives the abstract's vector, and stored in ``library.db`` under the hash of
# the text, the encoder's fingerprint and the head's hash. Words are those of
# :func:`~aspectra.views.text.tokens.word_spans` in the text of
# :class:`~aspectra.views.storage.folder.EncodedText`; their places are found in the text again, not stored.

# The token head: per token the chance that it names a problem, a method or an outcome.
#
# A linear layer on an encoder's own token states, so it costs no forward pass of its own. It fits one
# encoder only, named by its fingerprint. How it was trained: ``data/README.md``.

# The aspects that terms have, in the order of all arrays. A word may also belong to none.
ASPECTS = ("background", "method", "result")


class TokenHead(Struct, frozen=True, dict=True):
    """Weights over token states.

    Attributes:
        weights: (dimensions, classes) float32.
        bias: (classes,) float32.
        labels: name of each class; those of :data:`ASPECTS` are among them, each once or several times: an
            aspect may have one class for each kind of text that the head was trained on.
        encoder: fingerprint of the encoder whose states these are.
    """

    weights: Floats
    bias: Floats
    labels: tuple[str, ...]
    encoder: str

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> TokenHead:
        """Make a head from the arrays of its file: ``W``, ``b``, ``labels`` and ``encoder``."""
        return cls(
            np.asarray(arrays["W"], np.float32),
            np.asarray(arrays["b"], np.float32),
            tuple(str(label) for label in arrays["labels"]),
            str(arrays["encoder"]),
        )

    @cached_property
    def hash(self) -> str:
        """Changes with the chances: part of the version of every value that was made with it."""
        return digest([self.weights.tolist(), self.bias.tolist(), list(self.labels)])[:12]

    def chances(self, states: Vectors) -> Floats:
        """(tokens, aspects) chance that a token names each of :data:`ASPECTS`; the rest to 1 is none.

        Args:
            states: (tokens, dimensions) as the encoder gives them.
        """
        return np.asarray(self.shares(states) @ self._classes, dtype=np.float32)

    def shares(self, states: Vectors) -> Floats:
        """(states, classes) chance of each class, in the order of ``labels``."""
        logits = states @ self.weights
        logits += self.bias
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    @cached_property
    def _classes(self) -> Floats:
        """(classes, aspects) 1 where a class is one of an aspect."""
        return np.array([[label == aspect for aspect in ASPECTS] for label in self.labels], np.float32)


@lru_cache(maxsize=1)
def _shipped() -> tuple[TokenHead, ...]:
    """The heads that come with the package."""
    out = []
    for held in (files(__package__) / "data").iterdir():
        if held.name.endswith(".npz"):
            with as_file(held) as path, np.load(path, allow_pickle=False) as arrays:
                out.append(TokenHead.of(arrays))
    return tuple(out)


def head_of(encoder: Encoder) -> TokenHead | None:
    """The head that fits an encoder; None if there is none, or if the encoder gives no token states."""
    if not isinstance(encoder, TokenEncoder):
        return None
    return next((head for head in _shipped() if head.encoder == encoder.fingerprint), None)


_VERSION = 1  # of the values: raise it when words, chances or vectors are made otherwise
_LEAST_CHANCE = 0.1  # an aspect has a vector where some token has this chance of it


class PaperTerms(Struct, frozen=True, dict=True):
    """The words of a paper.

    Attributes:
        text: title and abstract as they were encoded.
        words: of it, in order.
        chances: (words, aspects) float32 from 0 to 1, in steps of 1/255; 0 beyond what the encoder reads.
        vectors: (aspects, dimensions) float32 at length 1; zeros where no word names the aspect.
    """

    text: str
    words: list[str]
    chances: Floats
    vectors: Floats

    @classmethod
    def of(cls, paper: Paper, value: Arrays) -> PaperTerms:
        """Read the words of a paper from its stored value.

        Raises:
            LibraryCorrupt: they do not fit each other.
        """
        text = EncodedText.of(paper).text
        words = plain_words(text)
        chances, vectors = value
        if chances.shape != (len(words), len(ASPECTS)):
            raise LibraryCorrupt(
                f"the stored terms of {paper.id!r} do not fit its text", hint="aspectra index --rebuild"
            )
        directions = unit_rows(vectors.astype(np.float32) - np.float32(128))
        return cls(text, words, chances.astype(np.float32) / np.float32(255), directions)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """(start, end) of each word in the text."""
        return word_spans(self.text)


def term_values(encoder: Encoder) -> Producer | None:
    """Values: (words, aspects) uint8 chances times 255, (aspects, dimensions) uint8 directions.

    None where no head fits the encoder. A direction is a vector whose largest component became 127, plus 128:
    the cosine of two moves by some 1e-3, and they take half the space of float16.
    """
    head = head_of(encoder)
    return None if head is None else Producer("terms", f"{_VERSION}.{head.hash} {encoder.fingerprint}")


def encode_with_terms(
    encoder: Encoder,
    texts: Sequence[str],
    spans: Sequence[Sequence[tuple[int, int]]] | None = None,
    also: EachText | None = None,
) -> tuple[Encoding, list[Arrays]]:
    """Encode texts and make the values of their terms in the same pass; no values without a head.

    Args:
        encoder: any.
        texts: of papers.
        spans: of their units, as in :meth:`~aspectra.views.encoders.protocol.Encoder.encode`.
        also: called with the states of each text too; only for encoders with token states.
    """
    head = head_of(encoder)
    if not isinstance(encoder, TokenEncoder) or (head is None and also is None):
        return encoder.encode(texts, spans=spans), []
    made: dict[int, Arrays] = {}

    def each(index: int, states: Vectors, offsets: NDArray[np.int64]) -> None:
        if head is not None:
            made[index] = _value(head, texts[index], states, offsets)
        if also is not None:
            also(index, states, offsets)

    coded = encoder.encode_tokens(texts, each, spans=spans)
    return coded, [made[index] for index in range(len(texts))] if head is not None else []


def _value(head: TokenHead, text: str, states: Vectors, offsets: NDArray[np.int64]) -> Arrays:
    chances = head.chances(states)
    chances[offsets[:, 0] == offsets[:, 1]] = 0.0  # special tokens
    words = np.array(word_spans(text), np.int64).reshape(-1, 2)
    of_words = mean_of_spans(chances, offsets, words)
    vectors = unit_rows(chances.T @ states)
    vectors[chances.max(axis=0, initial=0.0) < _LEAST_CHANCE] = 0.0
    return [np.rint(of_words * 255).astype(np.uint8), (narrowed(vectors) + np.int16(128)).astype(np.uint8)]


def terms_of_paper(library: Store, version: str, paper_id: str) -> PaperTerms | None:
    """The terms of one paper as it is now, or None where none are stored.

    Args:
        library: that holds it.
        version: of the producer.
        paper_id: id of the paper.
    """
    value = library.derived.of("terms", version, paper_id)
    return None if value is None else PaperTerms.of(library.get(paper_id), value)


# Chances from which on a word makes a phrase, and is part of one beside it. Outcomes are named less surely.
_LIKELY_OF = {"background": 0.4, "method": 0.4, "result": 0.5}
_BESIDE = 0.1
# Chance times rarity, as a share of the rarest word's, from which a word alone says something.
_SAYS = 0.2
_WHOLE = 0.5  # of the weight of a shorter phrase, from which one that holds it takes its place
_ALONE, _TOGETHER = 0.5, 0.3  # of the strongest weight, from which one word, or several, are shown
_SURE_OF = 3  # words that say how sure a paper's terms are
_JOINTS = (" ", "-", "\u2010", "\u2011")
_LONGEST = 5  # words


class TermPhrase(Struct, frozen=True):
    """Words that follow each other and name the same aspect.

    Attributes:
        text: as it first occurs.
        start: of that occurrence, in characters of the encoded text.
        weight: sum over its occurrences of the mean of chance times rarity of its words.
    """

    text: str
    start: int
    weight: float


class Offer(Struct, frozen=True):
    """Phrases of a paper for one aspect.

    Attributes:
        phrases: strongest first.
        sure: mean of the three highest chances of different words, 0 to 1.
    """

    phrases: tuple[TermPhrase, ...] = ()
    sure: float = 0.0


def offers_of(
    terms: PaperTerms, stems: Callable[[str], Sequence[str]], rarity: Callable[[Sequence[str]], float]
) -> dict[str, Offer]:
    """Phrases of a paper for each aspect.

    Args:
        terms: of the paper.
        stems: word -> its stems; () for a stop word.
        rarity: stems of a word -> how rare it is in the library.
    """
    words = terms.words
    stemmed = [tuple(stems(word)) for word in words]
    rare = {stem: rarity(stem) for stem in set(stemmed)}
    leader = terms.chances.argmax(axis=1) if len(words) else np.zeros(0, np.int64)
    out = {}
    for column, aspect in enumerate(ASPECTS):
        chances = terms.chances[:, column]
        highest: dict[tuple[str, ...], float] = {}
        for stem, chance in zip(stemmed, chances.tolist(), strict=True):
            if stem:
                highest[stem] = max(chance, highest.get(stem, 0.0))
        best = sorted(highest.values(), reverse=True)[:_SURE_OF]
        named = leader == column
        likely, beside = named & (chances >= _LIKELY_OF[aspect]), chances >= _BESIDE
        runs = _runs(terms, stemmed, likely.tolist(), beside.tolist())
        out[aspect] = Offer(_phrases(terms, stemmed, runs, chances.tolist(), rare), sum(best) / _SURE_OF)
    return out


def _phrases(
    terms: PaperTerms,
    stemmed: Sequence[tuple[str, ...]],
    runs: Iterable[tuple[int, int]],
    chances: Sequence[float],
    rare: Mapping[tuple[str, ...], float],
) -> tuple[TermPhrase, ...]:
    least = _SAYS * max(rare.values(), default=0.0)
    found: dict[tuple[tuple[str, ...], ...], TermPhrase] = {}
    for first, last in runs:
        key = tuple(stemmed[n] for n in range(first, last) if stemmed[n])
        start, end = terms.spans[first][0], terms.spans[last - 1][1]
        common = len(key) == 1 and max(chances[first:last]) * rare[key[0]] < least
        if common or not any(map(str.isalpha, terms.text[start:end])):
            continue
        weight = sum(chances[n] * rare[stemmed[n]] for n in range(first, last) if stemmed[n]) / len(key)
        held = found.get(key) or TermPhrase(" ".join(terms.text[start:end].split()), start, 0.0)
        found[key] = TermPhrase(held.text, held.start, held.weight + weight)
    order = sorted(found.items(), key=lambda one: (-one[1].weight, one[1].start))
    kept: list[tuple[set[tuple[str, ...]], TermPhrase]] = []
    for key, phrase in order:
        words = set(key)
        if any(words <= known for known, _ in kept):  # said already, in more words
            continue
        fewer = next((n for n, (known, _) in enumerate(kept) if known < words), None)
        if fewer is None or phrase.weight < _WHOLE * kept[fewer][1].weight:
            kept.append((words, phrase))
        else:  # the whole of what was said in part
            kept[fewer] = (words, replace(phrase, weight=kept[fewer][1].weight))
    # Weaker ones are seldom of the aspect: of thirty papers in three fields, read by hand, half were.
    strongest = max((phrase.weight for _, phrase in kept), default=0.0)
    return tuple(
        phrase
        for words, phrase in kept
        if phrase.weight >= strongest * (_ALONE if len(words) == 1 else _TOGETHER)
    )


def _runs(
    terms: PaperTerms, stemmed: Sequence[tuple[str, ...]], likely: Sequence[bool], beside: Sequence[bool]
) -> list[tuple[int, int]]:
    """(first, end) of runs with nothing but a blank or a hyphen between their words.

    Each holds a likely word; words beside it belong to it where they are ``beside``, and the rest of its
    hyphened words always does. Stop words at the ends are left out, and long runs are cut.
    """
    spans, count = terms.spans, len(stemmed)
    joints = [terms.text[end:start] for (_, end), (start, _) in pairwise(spans)]

    def joined(left: int, *, part: bool = False) -> bool:
        return 0 <= left < count - 1 and joints[left] in (_JOINTS[1:] if part else _JOINTS)

    out: list[tuple[int, int]] = []
    taken = 0
    for word in range(count):
        if word < taken or not (likely[word] and stemmed[word]):
            continue
        first, end = word, word + 1
        while first > taken and (
            joined(first - 1, part=True)
            or (joined(first - 1) and beside[first - 1] and end - first < _LONGEST)
        ):
            first -= 1
        while joined(end - 1, part=True) or (joined(end - 1) and beside[end] and end - first < _LONGEST):
            end += 1
        while not (stemmed[end - 1] or joined(end - 2, part=True)):
            end -= 1
        while not (stemmed[first] or joined(first, part=True)):
            first += 1
        out.append((first, end))
        taken = end
    return out


_LEAST = 0.05  # a word that counts less in a paper is left out of it
_SEEDS = 64  # of which terms are kept
_STEMS = 16_384  # whose rarity is kept
_LIKELY = 0.3  # from here on a word is a term to people
_ROLES = {"background": 0, "objective": 0, "method": 1, "result": 2}  # role of a sentence -> its aspect


def aspect_columns(roles: Sequence[str]) -> list[int]:
    """Places in :data:`~aspectra.views.terms.view.ASPECTS` of roles of sentences; all without roles.

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
    return Remembered(lambda word: tuple(tokeniser.words(word)), 1_000_000).__getitem__


class TermView(LexicalView):
    """Scores of papers by the terms of the aspects whose roles a probe names; of all without roles.

    Args:
        facts, positions, id_order, settings: see :class:`~aspectra.views.lexical.bm25.LexicalView`.
        folder: where :func:`build_terms` wrote.
        terms_of: seed id -> its terms, or None where none are stored.
    """

    def __init__(
        self,
        facts: ViewFacts,
        positions: Callable[[], Mapping[str, int]],
        id_order: NDArray[np.int32],
        settings: LexicalSettings,
        folder: StoredFolder,
        terms_of: Callable[[str], PaperTerms | None],
    ) -> None:
        super().__init__(facts, positions, id_order, replace(settings, method="lucene"), self._text, folder)
        self.terms_of = lru_cache(_SEEDS)(terms_of)  # one search reads those of its seed for each aspect
        self.stems = word_stems(self._tokeniser)
        self._counts = lru_cache(_SEEDS)(self._counted)
        self.rarity_of = lru_cache(_STEMS)(self._rarity_of)

    def _counted(self, seed: str) -> tuple[list[str], NDArray[np.float64]] | None:
        found = self.terms_of(seed)
        return None if found is None else stem_counts(found, self.stems)

    def _text(self, seed: str) -> str:
        found = self.terms_of(seed)
        return "" if found is None else found.text

    def _rarity_of(self, stems: tuple[str, ...]) -> float:
        """Mean rarity of stems; 0 where no paper has one of them."""
        known = self._index.statistics(stems).rarity(stems)
        return sum(known.values()) / max(len(known), 1)

    def look_up(self, probe: Probe) -> Asked:
        """See :class:`~aspectra.views.protocol.View`; each seed's document is its counts of the aspect."""
        if probe.reverse:
            self._reverse_pairs(probe)  # raises
        columns = aspect_columns(probe.roles)
        documents = []
        for seed in probe.seeds:
            self.position(seed)  # raises
            if (found := self._counts(seed)) is not None:
                words, counts = found
                documents.append(((tuple(words), counts[:, columns].sum(axis=1).astype(np.float32)),))
        return Asked(probe, tuple(self.words(probe.text)), tuple(documents))

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
