"""A tiny encoder that hands out token states, and a made-up head for it; instant and deterministic.

The state of a word is its direction in :class:`FakeEncoder`. The head knows a few words: whatever text they
stand in, ``spectrograms`` names a method, ``whales`` a problem.
"""

from __future__ import annotations

import re

import numpy as np

from aspectra.views.terms.view import TokenHead
from fake_encoder import FakeEncoder

_WORD = re.compile(r"\w+")
NAMES = {
    "background": ("birds", "whales", "bees", "owls"),
    "method": ("convolutional", "network", "spectrograms", "volunteers", "lists"),
    "result": ("accuracy", "fewer", "song"),
}


class TokenEncoder(FakeEncoder):
    """See the module."""

    def __init__(self, name: str = "token", max_tokens: int = 200) -> None:
        super().__init__(name, 256, max_tokens=max_tokens)

    def encode_tokens(self, texts, each, *, kind="document", spans=None):
        coded = self.encode(texts, kind=kind, spans=spans)
        for number, text in enumerate(texts):
            found = list(_WORD.finditer(text))[: self.max_tokens]
            offsets = np.array([(0, 0), *(m.span() for m in found), (0, 0)], np.int64)
            mark = self._word("network")  # special tokens may look like anything
            states = np.array([mark, *(self._word(m.group()) for m in found), mark], np.float32)
            each(number, states, offsets)
        return coded


def made_up_head(encoder: TokenEncoder, strength: float = 1.0) -> TokenHead:
    """A head that knows the words of :data:`NAMES`, by least squares on their states."""
    words = [(word, column) for column, aspect in enumerate(NAMES) for word in NAMES[aspect]]
    others = "we train a on in the autumn winter write and along by ten points rises came than before".split()
    rows = [encoder._word(word) for word, _ in words] + [encoder._word(word) for word in others]
    wanted = np.zeros((len(rows), 4))
    for row, (_, column) in enumerate(words):
        wanted[row, column] = 8.0 * strength
    bias = np.array([-5.0, -5.0, -5.0, 0.0])
    weights = np.linalg.lstsq(np.array(rows), wanted, rcond=None)[0]
    return TokenHead(
        weights.astype(np.float32), bias.astype(np.float32), (*NAMES, "none"), encoder.fingerprint
    )
