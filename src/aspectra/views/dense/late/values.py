"""What is kept of a paper for late interaction: its stored token vectors and their places in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.library.derived import Arrays, Producer
from aspectra.views.dense.matching import narrowed
from aspectra.views.encoders.pooling import mean_of_spans, unit_rows
from aspectra.views.encoders.protocol import Encoder, LateEncoder, TokenEncoder, Vectors
from aspectra.views.text.tokens import Tokeniser, TokenSettings, word_spans

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


@dataclass(frozen=True, slots=True)
class TokenVectors:
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
        """From what an encoder passes on, see :meth:`TokenEncoder.encode_tokens`; copied."""
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
        kind: what they are stored as; "" where none are wanted: there is no producer then.

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
