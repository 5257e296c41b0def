"""What is kept of a paper for late interaction: its stored token vectors and their places in its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.library.derived import Arrays, Producer
from aspectra.views.dense.late.tokens import TOKENS_VERSION, TokenType, TokenVectors, narrow
from aspectra.views.encoders.protocol import Encoder, TokenEncoder, Vectors


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
