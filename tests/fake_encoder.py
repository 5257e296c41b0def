"""A tiny encoder for tests: words hashed to directions, with late pooling; instant and deterministic."""

from __future__ import annotations

import hashlib
import re

import numpy as np

from aspectra.views.encoders.protocol import Encoding, Prompts

_WORD = re.compile(r"\w+")


class FakeEncoder:
    """See the module."""

    remote = ""

    def __init__(
        self,
        name: str = "fake",
        dimensions: int = 32,
        late_pooling: bool = True,
        max_tokens: int = 200,
        prompts: Prompts = Prompts(),
    ) -> None:
        self.prompts = prompts
        self.name = name
        self.dimensions = dimensions
        self.max_tokens = max_tokens
        self.late_pooling = late_pooling
        self.fingerprint = "-".join(["fake", name, str(dimensions), *filter(None, prompts.key)])
        self.encoded: list[str] = []

    def _word(self, word: str) -> np.ndarray:
        seed = int.from_bytes(hashlib.blake2b(word.lower().encode(), digest_size=8).digest(), "little")
        return np.random.default_rng(seed).standard_normal(self.dimensions)

    def _mean(self, words: list[str]) -> np.ndarray:
        total = sum((self._word(w) for w in words), np.zeros(self.dimensions))
        norm = np.linalg.norm(total)
        return (total / norm if norm else total).astype(np.float32)

    def encode(self, texts, *, kind="document", instruction="", spans=None) -> Encoding:
        self.encoded.extend(self.prompts.of(kind, instruction) + text for text in texts)
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        pooled = []
        before = _WORD.findall(self.prompts.of(kind, instruction))
        cut = np.zeros(len(texts), dtype=np.bool_)
        for number, text in enumerate(texts):
            found = list(_WORD.finditer(text))
            cut[number] = len(found) > self.max_tokens
            found = found[: self.max_tokens]
            vectors[number] = self._mean([*before, *(m.group() for m in found)])
            if spans is not None:
                rows = [
                    self._mean([m.group() for m in found if a <= m.start() and m.end() <= b])
                    for a, b in spans[number]
                ]
                pooled.append(np.array(rows, dtype=np.float32).reshape(-1, self.dimensions))
        return Encoding(vectors, pooled, cut)
