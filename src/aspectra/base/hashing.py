"""Content hashes: one canonical JSON spelling, one hash function."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value: sorted keys, no spaces, real Unicode, no NaN.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Hash of a JSON value: 32 hexadecimal digits (BLAKE2b, 128 bits)."""
    return digest_texts([canonical_json(value)])


def digest_texts(texts: Iterable[str]) -> str:
    """Hash of a sequence of texts; the boundaries count, so ["ab"] and ["a", "b"] differ.

    Lone surrogates (from damaged input) are kept distinct rather than refused.
    """
    state = hashlib.blake2b(digest_size=16)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        state.update(len(raw).to_bytes(8, "little") + raw)
    return state.hexdigest()
