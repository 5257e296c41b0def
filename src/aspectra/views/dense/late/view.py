"""The view of tokens: papers scored by MaxSim of stored token vectors.

The score of a paper is the weighted mean, over the vectors of the query, of the cosine of the paper's nearest
vector. Source: Khattab & Zaharia 2020, "ColBERT", equation 3, whose sum is this mean times the number of
vectors. For an encoder trained for late interaction every vector has the weight 1. Words of another encoder
weigh as much as they are rare in the library: ``ln(1 + papers / papers with the word)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.papers.library.derived import Arrays, Producer
from aspectra.views.dense.matching import narrowed, similarities
from aspectra.views.encoders.protocol import (
    Encoder,
    LateEncoder,
    TokenEncoder,
    Vectors,
    mean_of_spans,
    unit_rows,
)
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.protocol import Asked, GenerationView
from aspectra.views.storage.folder import StoredFolder, Units
from aspectra.views.text.tokens import Tokeniser, TokenSettings, word_spans
from aspectra.views.view import Floats, Positions, Probe, Scored

# The vectors that late interaction compares, and how they are stored.
#
# An encoder trained for late interaction decides by itself which tokens take part, and every state that it
# passes on is a vector (Khattab & Zaharia 2020, "ColBERT", arXiv:2004.12832, section 3.2). For any other
# encoder with token states a vector is a word: the mean of the states of its tokens. Stop words and
# punctuation have none. Vectors have length 1.
#
# Stored as ``bits``, a vector is the signs of its components (48 bytes for 384 dimensions); as ``int8`` it
# has a byte for each component. ColBERTv2 (Santhanam et al. 2022, arXiv:2112.01488) stores one or two bits a
# component as well, of what a centroid leaves over; signs need no centroids, so that a paper's value depends
# on nothing but its text. What both cost in quality: ``docs/late-interaction.md``.

TokenType = Literal["bits", "int8"]
TOKENS_VERSION = 1  # of stored tokens: raise it when words, vectors or their form change
_MOST_CHARACTERS = 0xFFFF  # ends of spans are stored in two bytes
# Scripts without spaces between words: each character is a word. From hiragana on.
_UNSPACED = "\u3040"
_SIGNS = np.where(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) > 0, 1.0, -1.0)


class TokenVectors(Struct, frozen=True):
    """The vectors of a text.

    Attributes:
        vectors: (n, dimensions) float32, length 1.
        spans: (n, 2) int64 start and end of each in characters of the text; equal where it is not of the
            text, as a mask token of a query is.
    """

    vectors: Vectors
    spans: NDArray[np.int64]

    @classmethod
    def of(cls, encoder: Encoder, text: str, states: Vectors, offsets: NDArray[np.int64]) -> TokenVectors:
        """Copy the values that an encoder passes on, see :meth:`TokenEncoder.encode_tokens`."""
        offsets = np.minimum(offsets, _MOST_CHARACTERS)
        if isinstance(encoder, LateEncoder):
            return cls(np.array(states, np.float32), offsets)
        words = word_units(text)
        vectors = mean_of_spans(states, offsets, words)
        kept = vectors.any(axis=1)  # others were cut off
        return cls(unit_rows(vectors[kept]), words[kept])


@lru_cache(maxsize=1)
def _tokeniser() -> Tokeniser:
    return Tokeniser(TokenSettings(stemmer=""))


def word_units(text: str) -> NDArray[np.int64]:
    """(n, 2) start and end of each word that gets a vector: those but stop words, if there are any."""
    spans: list[tuple[int, int]] = []
    for start, end in word_spans(text[:_MOST_CHARACTERS]):
        if text[start] >= _UNSPACED:
            spans.extend((at, at + 1) for at in range(start, end))
        else:
            spans.append((start, end))
    telling = [(a, b) for a, b in spans if text[a] >= _UNSPACED or _tokeniser().words(text[a:b])]
    return np.array(telling or spans, np.int64).reshape(-1, 2)


def row_bytes(dimensions: int, kind: TokenType) -> int:
    """Bytes of one stored vector."""
    return -(-dimensions // 8) if kind == "bits" else dimensions


def narrow(vectors: Vectors, kind: TokenType) -> NDArray[np.uint8]:
    """(n, :func:`row_bytes`) vectors as they are stored."""
    if kind == "bits":
        return np.packbits(vectors > 0, axis=1)
    return (narrowed(vectors) + np.int16(128)).astype(np.uint8)


def wide(rows: NDArray[np.uint8], dimensions: int, kind: TokenType) -> Vectors:
    """(n, dimensions) float32 stored vectors at length 1.

    >>> wide(narrow(np.array([[0.6, -0.8]], np.float32), "bits"), 2, "bits").round(3).tolist()
    [[0.7070000171661377, -0.7070000171661377]]
    """
    if kind == "bits":
        table = (_SIGNS / np.sqrt(dimensions)).astype(np.float32)
        vectors: Vectors = np.take(table, rows, axis=0).reshape(len(rows), -1)[:, :dimensions]
        return vectors
    return unit_rows(rows.astype(np.float32) - np.float32(128))


def token_values(encoder: Encoder, kind: TokenType | Literal[""]) -> Producer | None:
    """Values: (n, bytes) uint8 stored vectors, (n,) uint32 start + 65,536 x end of each in characters.

    Args:
        encoder: that makes them.
        kind: what they are stored as; "" for none: the function then returns None.

    Raises:
        UsageError: they are wanted, and the encoder has no token states.
    """
    if not kind:
        return None
    if not isinstance(encoder, TokenEncoder):
        raise UsageError(
            f"the encoder {encoder.name} has no token states for late interaction",
            hint="aspectra index --no-late, or another --encoder",
        )
    return Producer(f"tokens-{kind}", f"{TOKENS_VERSION} {encoder.fingerprint}")


class TokenTaker:
    """Takes the states of texts that are encoded, and makes their values.

    Args:
        encoder: that encodes them.
        texts: those texts.
        kind: what vectors are stored as.
    """

    def __init__(self, encoder: Encoder, texts: Sequence[str], kind: TokenType) -> None:
        self._encoder, self._texts, self._kind = encoder, texts, kind
        self._made: dict[int, Arrays] = {}

    def __call__(self, index: int, states: Vectors, offsets: NDArray[np.int64]) -> None:
        """See :data:`~aspectra.views.encoders.protocol.EachText`."""
        found = TokenVectors.of(self._encoder, self._texts[index], states, offsets)
        spans = (found.spans[:, 0] | found.spans[:, 1] << 16).astype(np.uint32)
        self._made[index] = [narrow(found.vectors, self._kind), spans]

    @property
    def values(self) -> list[Arrays]:
        """One of each text."""
        return [self._made[index] for index in range(len(self._texts))]


# MaxSim of many papers' tokens, whose stored vectors are widened block by block.
#
# :func:`~aspectra.views.dense.matching.max_sim` does the same for a few units of each paper, whose vectors
# are held widened. Here a paper has a hundred vectors: widening those of all candidates at once, and
# products of a few query rows at a time, took twice as long.

_PAPERS = 16  # widened at a time: some 2.5 MB at 384 dimensions
# Multiplications of one product. OpenBLAS wakes its other threads for more, which costs more than the work.
_PRODUCT = 256 * 384 * 4


def token_max_sim(
    queries: Sequence[tuple[Vectors, Floats]],
    offsets: NDArray[np.int64],
    vectors: Callable[[int, int], Vectors],
) -> list[Floats]:
    """Weighted mean, over the vectors of each query, of the cosine of a paper's nearest vector.

    Args:
        queries: of each (m, dimensions) vectors of length 1 and (m,) weights.
        offsets: (papers + 1,) where each paper's vectors begin.
        vectors: (first, end) -> (end - first, dimensions) vectors of length 1.

    Returns:
        For each query (papers,) scores from -1 to 1; NaN for a paper without vectors, and of a query without
        weight.
    """
    papers = len(offsets) - 1
    out = [np.full(papers, np.nan, np.float32) for _ in queries]
    turned = [np.ascontiguousarray(query.T) for query, _ in queries]
    for start in range(0, papers, _PAPERS):
        bounds = offsets[start : start + _PAPERS + 1]
        some = np.flatnonzero(np.diff(bounds))
        if not len(some):
            continue
        rows = vectors(int(bounds[0]), int(bounds[-1]))
        for scores, query, (_, weights) in zip(out, turned, queries, strict=True):
            total = float(weights.sum())
            if total <= 0:
                continue
            cells = _products(rows, query)
            nearest = np.maximum.reduceat(cells, (bounds[:-1] - bounds[0])[some], axis=0)
            scores[start + some] = np.einsum("ij,j->i", nearest, weights) / np.float32(total)
    return out


def _products(rows: Vectors, query: Vectors) -> Floats:
    """(n, m) inner products, as many small ones."""
    dimensions, count = query.shape
    step = max(1, _PRODUCT // max(dimensions * count, 1))  # of whatever rows: the bits follow from it
    whole = len(rows) // step * step
    cells: Floats = np.empty((len(rows), count), np.float32)
    blocks = rows[:whole].reshape(-1, step, dimensions)
    np.matmul(blocks, query, out=cells[:whole].reshape(-1, step, count))
    if whole < len(rows):
        rest = np.zeros((step, dimensions), np.float32)
        rest[: len(rows) - whole] = rows[whole:]
        cells[whole:] = (rest @ query)[: len(rows) - whole]
    return cells


Rarity = Callable[[Sequence[str]], Floats]
# Of the sample that scores are standardised against, so many papers are compared: MaxSim costs as much for
# each of them as for a candidate.
_REFERENCE = 128
# The rarest words of a seed take part. With all of them the planner `late` was no better on four sets of
# seeds (nDCG within 0.7 either way) and took twice as long; MaxSim alone gained 1 to 2 on three of them.
_SEED_WORDS = 64


class _Part(NamedTuple):
    """Vectors of a text (owner -1) or of a seed, each with its weight, its word and its row in the view."""

    owner: int
    vectors: Floats
    weights: Floats
    words: list[str]
    rows: Positions

    def rarest(self, count: int) -> _Part:
        """The vectors that weigh most, in order; all where they weigh alike."""
        if len(self.rows) <= count or self.weights.min() == self.weights.max():
            return self
        kept = np.sort(np.argsort(-self.weights, kind="stable")[:count])
        words = [self.words[number] for number in kept.tolist()]
        return _Part(self.owner, self.vectors[kept], self.weights[kept], words, self.rows[kept])


@dataclass(eq=False)
class LateView(GenerationView):
    """Exact MaxSim over stored tokens.

    Attributes:
        folder: holds ``codes.npy`` (tokens, bytes) and ``spans.npy`` (tokens, 2), grouped by paper by
            ``offsets.npy``.
        query: encodes query texts, with their tokens.
        rarity: words -> (n,) how rare each is, by statistics of the index's abstracts.
        text: seed id -> its text as it was encoded, or None where that changed.
        sample: gives the positions of the papers that scores are standardised against.
    """

    folder: StoredFolder
    query: QueryEncoder
    rarity: Rarity
    text: Callable[[str], str | None]
    sample: Callable[[], Positions]

    cheap = False
    units = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._held = Units.load(self.folder)
        self._codes = self.folder.array("codes", self._held.order)

    def look_up(self, probe: Probe) -> Asked:
        """See :class:`~aspectra.views.protocol.View`.

        Raises:
            ViewMismatch: the probe has fields that MaxSim of tokens has no meaning for.
        """
        self._check(probe)
        parts: list[_Part] = []
        truncated = ""
        if probe.text.strip():
            encoded, encoder = self.query(probe.text), self.query.encoder
            if encoded.tokens is None:
                raise ViewMismatch(
                    f"{self.name} cannot encode a query", why=f"{encoder.name} has no token states"
                )
            tokens = TokenVectors.of(encoder, probe.text, *encoded.tokens)
            truncated = encoder.name if encoded.truncated else ""
            parts.append(self._part(-1, probe.text, tokens, np.full(len(tokens.spans), -1)))
        for number, seed in enumerate(probe.seeds):
            rows = self._rows(seed)
            held = TokenVectors(self._wide(rows), self.spans(rows))
            parts.append(self._part(number, self.text(seed), held, rows).rarest(_SEED_WORDS))
        return Asked(
            probe,
            words=tuple(word for part in parts for word in part.words),
            vectors=np.concatenate([part.vectors for part in parts]),
            # Text and seeds count alike, however many words they have.
            weights=np.concatenate([part.weights / max(part.weights.sum(), 1.0) for part in parts]),
            owners=np.repeat([part.owner for part in parts], [len(part.rows) for part in parts]),
            units=np.concatenate([part.rows for part in parts]),
            truncated=truncated,
        )

    def _part(
        self,
        owner: int,
        text: str | None,
        tokens: TokenVectors,
        rows: Positions,
    ) -> _Part:
        """Vectors of a text or a seed; without the text the words are unknown and get equal weights."""
        words = [""] * len(rows) if text is None else [text[a:b] for a, b in tokens.spans.tolist()]
        weights = np.ones(len(rows), np.float32)
        if text is not None and len(rows) and not self.facts.stored.get("trained"):
            rare = self.rarity(words)
            weights = rare / rare.max()
        return _Part(owner, tokens.vectors, weights, words, rows)

    def _check(self, probe: Probe) -> None:
        wrong = {
            "a metric": probe.metric != "cosine",
            "a pooling": probe.pooling != "max",
            "roles": bool(probe.roles),
            "a focus": bool(probe.focus),
            "sentences": bool(probe.sentences),
            "vectors of another view": probe.asking not in ("", self.name),
            "an instruction": bool(probe.instruction.strip()),
            "the reverse direction": probe.reverse,
        }
        if given := [name for name, is_given in wrong.items() if is_given]:
            raise ViewMismatch(
                f"the view {self.name} compares tokens by MaxSim alone",
                why=f"the probe has {', '.join(given)}",
                hint=f'view = "{self.name}", and a text or seeds',
            )

    def _rows(self, seed: str) -> Positions:
        at = self.position(seed)
        return np.arange(self._held.offsets[at], self._held.offsets[at + 1])

    def spans(self, rows: Positions) -> NDArray[np.int64]:
        """(n, 2) start and end of stored vectors in the text that was encoded."""
        return np.asarray(self._held.spans[rows]).astype(np.int64)

    def _wide(self, rows: Positions) -> Floats:
        stored = self.facts.stored
        return wide(self._codes[rows], int(stored["dimensions"]), stored["tokens"])

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """See :class:`~aspectra.views.protocol.View`; NaN for a paper without tokens.

        Of the sample that scores are standardised against, only some papers are scored; the others get NaN.
        """
        queries = [(one.vectors, one.weights) for one in asked]
        if papers is not None and papers is self.sample():
            chosen, vectors, offsets = self._reference
            out = []
            for some in token_max_sim(queries, offsets, lambda first, end: vectors[first:end]):
                scores = np.full(len(papers), np.nan, np.float32)
                scores[chosen] = some
                out.append(Scored(papers, scores))
            return out
        pool = self.chosen(papers)
        rows, offsets = self._held.rows(pool)
        found = token_max_sim(queries, offsets, lambda first, end: self._wide(rows[first:end]))
        return [Scored(pool, scores) for scores in found]

    @cached_property
    def _reference(self) -> tuple[Positions, Floats, NDArray[np.int64]]:
        """Places in the sample of those papers that are scored, their vectors, and where each one's begin."""
        sample = self.sample()
        chosen = np.arange(0, len(sample), max(1, len(sample) // _REFERENCE))
        rows, offsets = self._held.rows(sample[chosen])
        return chosen, self._wide(rows), offsets

    def nearest(self, asked: Asked, paper: int, first: int = 0) -> tuple[Positions, Floats]:
        """Per vector of ``asked`` a paper's nearest row, and its cosine; both empty where it has no rows.

        Args:
            asked: the query.
            paper: position.
            first: character from which on rows count: what stands before it is shown anyway.
        """
        rows = np.arange(self._held.offsets[paper], self._held.offsets[paper + 1])
        rows = rows[self.spans(rows)[:, 0] >= first] if len(rows) else rows
        if not len(rows):
            return rows, np.zeros(0, np.float32)
        cells = similarities(asked.vectors, self._wide(rows))
        best = cells.argmax(axis=1)
        return rows[best], cells[np.arange(len(best)), best]
