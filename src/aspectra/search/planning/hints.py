"""Words that may ask for something and were not applied, told by a small head on a text's token states.

It changes no search: such words are searched for, as before, and reported as *perhaps a request*. The head
is a linear layer on the state of a token and on the mean of its two neighbours', of the encoder that its file
names; ``data/README.md`` says how it was trained and what it gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError
from aspectra.search.instructions.understanding import Hints
from aspectra.search.planning.wordings import encoder_of
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.index.opened import Index
from aspectra.views.terms.view import TokenHead
from aspectra.views.view import Floats

LABELS = ("subject", "request")
PERHAPS = 0.8  # chance from which a word is reported
_WORD = re.compile(r"[\w'’-]+")


def beside(states: Floats) -> Floats:
    """(tokens, 2 x dimensions) each token's state, and the mean of those before and behind it.

    Args:
        states: (tokens, dimensions) of a whole text, its special tokens included.
    """
    around = (np.vstack([states[:1], states[:-1]]) + np.vstack([states[1:], states[-1:]])) / 2
    return np.hstack([states, around])


def hints(
    text: str, tokens: tuple[Floats, NDArray[np.int64]], head: TokenHead, least: float = PERHAPS
) -> list[tuple[int, int]]:
    """(start, end) of each word that may belong to a request, by the mean probability of its tokens.

    Args:
        text: that was encoded.
        tokens: (tokens, dimensions) states, and (tokens, 2) the characters of each.
        head: with the labels :data:`LABELS`.
        least: probability from which a word is reported.
    """
    states, places = tokens
    chances = head.shares(beside(states))[:, LABELS.index("request")]
    out = []
    for word in _WORD.finditer(text):
        inside = (places[:, 0] < word.end()) & (places[:, 1] > word.start())
        if inside.any() and chances[inside].mean() >= least:
            out.append(word.span())
    return out


def hints_of(index: Index) -> Hints:
    """Find such words with the encoder of an index; none if it is not the head's."""

    def read(text: str) -> Iterable[tuple[int, int]]:
        with suppress(AspectraError):  # the search itself reports what it needs and lacks
            if (encoder := encoder_of(index, _head())) is not None:
                return hints_by(encoder)(text)
        return []

    return read


def hints_by(encoder: QueryEncoder) -> Hints:
    """Find such words with an encoder; none if it is not the head's."""

    def read(text: str) -> list[tuple[int, int]]:
        fits = encoder.encoder.fingerprint == _head().encoder
        return hints(text, tokens, _head()) if fits and (tokens := encoder.states(text)) is not None else []

    return read


@cache
def _head() -> TokenHead:
    with as_file(files(__package__) / "data" / "hints-minilm.npz") as path, np.load(path) as arrays:
        return TokenHead.of(arrays)
