"""Vectors of query texts, from an encoder that is loaded when it is first needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

from aspectra.views.encoders.protocol import Encoder
from aspectra.views.view import Floats

__all__ = ["EncodedQuery", "QueryEncoder"]

_RECENT = 256  # texts whose vectors are remembered


class EncodedQuery(NamedTuple):
    """A query text as a vector.

    Attributes:
        vector: (dimensions,) float32.
        truncated: whether the encoder did not read the end of the text.
    """

    vector: Floats
    truncated: bool


class QueryEncoder:
    """Encodes query texts and remembers recent ones; safe to use from several threads.

    Args:
        load: makes the encoder.
    """

    def __init__(self, load: Callable[[], Encoder]) -> None:
        self._load = load
        self._encoder: Encoder | None = None
        self._recent: OrderedDict[tuple[str, str], EncodedQuery] = OrderedDict()
        self._lock = Lock()

    @property
    def encoder(self) -> Encoder:
        """The encoder, loaded."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            return self._encoder

    def __call__(self, text: str, instruction: str = "") -> EncodedQuery:
        """The vector of a text, and whether the text was cut."""
        key = (text, instruction)
        encoder = self.encoder
        with self._lock:
            if (known := self._recent.get(key)) is not None:
                self._recent.move_to_end(key)
                return known
        coded = encoder.encode([text], kind="query", instruction=instruction)
        encoded = EncodedQuery(coded.vectors[0], bool(coded.truncated.any()))
        with self._lock:
            self._recent[key] = encoded
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return encoded
