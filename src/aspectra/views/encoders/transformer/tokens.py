"""The tokenizer of a model's folder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.prompts import encodable
from aspectra.views.encoders.remembering import content_hash
from aspectra.views.encoders.transformer.weights import needs_torch


@dataclass(frozen=True)
class Spelling:
    """How texts are prepared, where configuration files say more than ``tokenizer.json``.

    Attributes:
        lower_first: put texts into lower case before everything else.
        left: cut texts at the beginning, not at the end.
        lower_case: put words into lower case, or do not; None: as ``tokenizer.json`` has it, and so the
            next two.
        strip_accents: take accents off, or do not; None: with lower case only.
        apart: make each Chinese character a word.
    """

    lower_first: bool = False
    left: bool = False
    lower_case: bool | None = None
    strip_accents: bool | None = None
    apart: bool = True


class Tokens:
    """The tokenizer in ``tokenizer.json``, read when it is first needed. Safe to use from several threads.

    Args:
        folder: of the model.
        limit: tokens of a text, special ones included; the rest is cut.
        spelling: how texts are prepared.

    Raises:
        UsageError: there is no ``tokenizer.json``.
    """

    def __init__(self, folder: Path, limit: int, spelling: Spelling | None = None) -> None:
        self._path = folder / "tokenizer.json"
        if not self._path.is_file():
            raise needs_torch(folder, "there is no tokenizer.json")
        self.limit = limit
        self._spelling = spelling or Spelling()
        self._lock = threading.Lock()

    @property
    def key(self) -> Any:
        """What decides the tokens; part of an encoder's fingerprint."""
        return [content_hash(self._path), self.limit, list(astuple(self._spelling))]

    def encode(self, texts: Sequence[str], prompt: str = "") -> list[Any]:
        """The ``Encoding`` (of the library ``tokenizers``) of each text, the prompt before it.

        One whose text was cut has ``overflowing`` parts.
        """
        with self._lock:  # cached_property alone could read it twice
            tokenizer = self.tokenizer
        found: list[Any] = tokenizer.encode_batch([prompt + encodable(text) for text in texts])
        return found

    def offsets(self, encoded: Any, prompt: str = "") -> NDArray[np.int64]:
        """(tokens, 2): characters of the text itself, an empty range for special and for prompt tokens."""
        offsets = np.array(encoded.offsets, dtype=np.int64).reshape(-1, 2)
        if not prompt:
            return offsets
        # A token that straddles the prompt's end keeps the part inside the text.
        return np.maximum(offsets - len(prompt), 0)

    def length(self, prompt: str) -> int:
        """How many tokens at the beginning of a text are the prompt's, special ones before it included."""
        if not prompt:
            return 0
        alone = self.encode([prompt])[0]
        return len(alone.ids) - int(bool(alone.ids) and bool(alone.special_tokens_mask[-1]))

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of the library ``tokenizers``."""
        from tokenizers import Tokenizer, normalizers

        try:
            tokenizer: Any = Tokenizer.from_file(str(self._path))
        except Exception as error:  # the library raises nothing narrower
            raise UsageError(
                f"cannot read {self._path}", why=str(error), hint="download the model again"
            ) from error
        how = self._spelling
        if how.lower_case is not None and isinstance(tokenizer.normalizer, normalizers.BertNormalizer):
            tokenizer.normalizer = normalizers.BertNormalizer(
                clean_text=tokenizer.normalizer.clean_text,
                handle_chinese_chars=how.apart,
                strip_accents=how.strip_accents,
                lowercase=how.lower_case,
            )
        if how.lower_first:
            steps = [normalizers.Lowercase(), *([tokenizer.normalizer] if tokenizer.normalizer else [])]
            tokenizer.normalizer = normalizers.Sequence(steps)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.limit, direction="left" if how.left else "right")
        return tokenizer
