"""What is kept of a paper: the chances of its words, and one pooled vector for each aspect.

Made in the forward pass that gives the abstract's vector, and stored in ``library.db`` under the hash of the
text, the encoder's fingerprint and the head's hash. Words are those of
:func:`~aspectra.views.text.tokens.word_spans` in the text of
:class:`~aspectra.views.storage.units.EncodedText`; their places are found in the text again, not stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt
from aspectra.papers.library.derived import Arrays, Producer
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.dense.matching import narrowed
from aspectra.views.encoders.pooling import mean_of_spans, unit_rows
from aspectra.views.encoders.protocol import EachText, Encoder, Encoding, TokenEncoder, Vectors
from aspectra.views.storage.units import EncodedText
from aspectra.views.terms.head import ASPECTS, TokenHead, head_of
from aspectra.views.text.tokens import plain_words, word_spans
from aspectra.views.view import Floats

_VERSION = 1  # of the values: raise it when words, chances or vectors are made otherwise
_LEAST = 0.1  # an aspect has a vector where some token has this chance of it


@dataclass(frozen=True)
class PaperTerms:
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
        """From a paper and its stored value.

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
        return cls(text, words, chances.astype(np.float32) / np.float32(255), _widened(vectors))

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
    vectors[chances.max(axis=0, initial=0.0) < _LEAST] = 0.0
    return [np.rint(of_words * 255).astype(np.uint8), (narrowed(vectors) + np.int16(128)).astype(np.uint8)]


def _widened(directions: NDArray[np.uint8]) -> Floats:
    return unit_rows(directions.astype(np.float32) - np.float32(128))


def terms_of_paper(library: Store, version: str, paper_id: str) -> PaperTerms | None:
    """The terms of one paper as it is now, or None where none are stored.

    Args:
        library: that holds it.
        version: of the producer.
        paper_id: id of the paper.
    """
    value = library.derived.of("terms", version, paper_id)
    return None if value is None else PaperTerms.of(library.get(paper_id), value)
