"""Vectors of query texts, from an encoder that is loaded when it is first needed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aspectra.base.files import digest
from aspectra.base.values import LRUCache
from aspectra.views.encoders.protocol import Encoder, TokenEncoder
from aspectra.views.view import Floats

# Small facts remembered between processes in the user's cache folder.
#
# Everything here may be lost at any time: a missing, damaged or unwritable cache only costs the time to
# find the fact again.


def cache_dir() -> Path:
    """``ASPECTRA_CACHE_DIR``, or the platform's cache folder for this user."""
    named = os.environ.get("ASPECTRA_CACHE_DIR")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("aspectra", appauthor=False))


def recall(key: dict[str, Any]) -> dict[str, Any] | None:
    """The fact remembered under ``key``, or None if none can be read."""
    try:
        entry = json.loads((cache_dir() / f"{digest(key)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: no home directory can be found
        return None
    # The key is stored beside its value, so that a file copied or cut by accident is not believed.
    if not isinstance(entry, dict) or entry.get("key") != key or not isinstance(entry.get("value"), dict):
        return None
    value: dict[str, Any] = entry["value"]
    return value


def remember(key: dict[str, Any], value: dict[str, Any]) -> None:
    """Remember ``value`` under ``key``; written whole or not at all, and never an error."""
    temporary = ""
    try:
        folder = cache_dir()
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump({"key": key, "value": value}, out)
        Path(temporary).replace(folder / f"{digest(key)}.json")
    except (OSError, RuntimeError):
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def content_hash(path: Path) -> str:
    """BLAKE2b (128 bits) of a file's content, computed once per (path, size, time of change).

    Raises:
        OSError: the file cannot be read.
    """
    stat = path.stat()
    key = {"hash of": str(path.resolve()), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    known = recall(key)
    if known is not None and isinstance(known.get("blake2b"), str):
        return str(known["blake2b"])
    with path.open("rb") as source:
        found = hashlib.file_digest(source, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    remember(key, {"blake2b": found})
    return found


_RECENT = 256  # texts whose vectors are remembered
_RECENT_TOKENS = 32  # the same with the states of their tokens, of which a long text has a megabyte


class EncodedQuery(NamedTuple):
    """A query text as a vector.

    Attributes:
        vector: (dimensions,) float32.
        truncated: whether the encoder did not read the end of the text.
        tokens: states of its tokens and the characters of each, see
            :class:`~aspectra.views.encoders.protocol.TokenEncoder`; None where they are not kept.
    """

    vector: Floats
    truncated: bool
    tokens: tuple[Floats, NDArray[np.int64]] | None = None


class QueryEncoder:
    """Encodes query texts and remembers recent ones; safe to use from several threads.

    Args:
        load: makes the encoder.
        tokens: whether token states are wanted too: the same pass gives both.
    """

    def __init__(self, load: Callable[[], Encoder], *, tokens: bool = False) -> None:
        self._load = load
        self._tokens = tokens
        self._encoder: Encoder | None = None
        kept = _RECENT_TOKENS if tokens else _RECENT
        self._recent: LRUCache[tuple[str, str], EncodedQuery] = LRUCache(kept)
        self._lock = Lock()
        self.several = lru_cache(maxsize=_RECENT_TOKENS)(self._several)
        self.states = lru_cache(maxsize=_RECENT_TOKENS)(self._states)

    @property
    def encoder(self) -> Encoder:
        """The encoder, loaded."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            return self._encoder

    def __call__(self, text: str, instruction: str = "") -> EncodedQuery:
        """The vector of a text, and whether the text was cut."""
        return self._recent.get((text, instruction), lambda: self._encoded(text, instruction))

    def _encoded(self, text: str, instruction: str) -> EncodedQuery:
        encoder = self.encoder
        if self._tokens and isinstance(encoder, TokenEncoder) and not instruction:
            return _with_tokens(encoder, text)
        coded = encoder.encode([text], kind="query", instruction=instruction)
        return EncodedQuery(coded.vectors[0], bool(coded.truncated.any()))

    def _several(self, texts: tuple[str, ...]) -> Floats:
        """(texts, dimensions) vectors of texts that are read together, from one call."""
        return self.encoder.encode(texts, kind="query").vectors

    def _states(self, text: str) -> tuple[Floats, NDArray[np.int64]] | None:
        """States of the tokens of a text and the characters of each; None where the encoder gives none."""
        encoder = self.encoder
        if not isinstance(encoder, TokenEncoder):
            return None
        if self._tokens:
            return self(text).tokens
        encoded = _with_tokens(encoder, text)
        # The search that follows asks for the vector of the same text, which the same pass gives.
        self._recent.get((text, ""), lambda: encoded._replace(tokens=None))
        return encoded.tokens


def _with_tokens(encoder: TokenEncoder, text: str) -> EncodedQuery:
    held: list[tuple[Floats, NDArray[np.int64]]] = []
    coded = encoder.encode_tokens(
        [text], lambda _, states, places: held.append((states.copy(), places)), kind="query"
    )
    return EncodedQuery(coded.vectors[0], bool(coded.truncated.any()), held[0] if held else None)
