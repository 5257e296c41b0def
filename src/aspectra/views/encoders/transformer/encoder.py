"""An encoder made of a network, a tokenizer and a head."""

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
from aspectra.views.encoders.pooling import pool_spans, unit_rows
from aspectra.views.encoders.prompts import Prompts, encodable
from aspectra.views.encoders.protocol import EachText, Encoding, Kind, Span, Vectors
from aspectra.views.encoders.query_encoder import content_hash
from aspectra.views.encoders.transformer.head import Head
from aspectra.views.encoders.transformer.runtime import Runtime
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


class TransformerEncoder:
    """Texts to vectors, on the processor and without torch.

    Args:
        name: see :class:`aspectra.views.encoders.protocol.Encoder`.
        fingerprint: likewise.
        runtime: what runs the network.
        tokens: the tokenizer, with the maximum length.
        head: token states to a text's vector.
        dimensions: of a token's state.
        prompts: what is put before a text.
        unit: whether vectors are scaled to length 1.
    """

    remote = ""

    def __init__(
        self,
        name: str,
        fingerprint: str,
        runtime: Runtime,
        tokens: Tokens,
        head: Head,
        *,
        dimensions: int,
        prompts: Prompts | None = None,
        unit: bool = True,
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.runtime = runtime
        self.tokens = tokens
        self.max_tokens = tokens.limit
        self.dimensions = head.width(dimensions)
        self.late_pooling = head.late
        self.prompts = prompts or Prompts()
        self._head = head
        self._unit = unit

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """Encode texts, in order; see :class:`aspectra.views.encoders.protocol.Encoder`.

        The instruction is used where the prompts have a place for it. Queries are encoded one by one, which
        is quicker where there is one. An empty text has the vector of its special tokens. A token belongs
        to a span when their ranges overlap; those of the prompt never do. A text has the same vector, to the
        last bit, whatever is encoded with it. May be called from several threads.

        Raises:
            UsageError: spans asked of a model that does not mean-pool token states.
        """
        return self._encode(texts, kind, instruction, spans, None)

    def _encode(
        self,
        texts: Sequence[str],
        kind: Kind,
        instruction: str,
        spans: Sequence[Sequence[Span]] | None,
        each: EachText | None,
    ) -> Encoding:
        if spans is not None and not self.late_pooling:
            raise UsageError(
                f"the encoder {self.name!r} cannot pool spans",
                why="it does not pool by the mean, or has layers behind it",
                hint="encode the sentences as texts of their own",
            )
        if spans is not None and len(spans) != len(texts):
            raise UsageError(f"{len(texts)} texts were given with the spans of {len(spans)}")
        vectors: Vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        pooled: list[Vectors] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        prompt = self.prompts.of(kind, instruction)
        tokens = self.tokens.encode(texts, prompt)
        before = self.tokens.length(prompt)
        truncated = np.array([bool(one.overflowing) for one in tokens], dtype=np.bool_)
        some = [index for index, one in enumerate(tokens) if one.ids]  # a text may have no token at all

        def take(row: int, states: Vectors) -> None:
            index = some[row]
            vectors[index] = self._head(states, before)
            asked = spans[index] if spans is not None else ()
            if not len(asked) and each is None:
                return
            offsets = self.tokens.offsets(tokens[index], prompt)
            if len(asked):
                pooled[index] = pool_spans(states, offsets, asked)
            if each is not None:
                each(index, states, offsets)

        if some:
            ids = [tokens[index].ids for index in some]
            self.runtime.run(ids, self.max_tokens, take, apart=kind == "query")
        for index in set(range(len(texts))) - set(some):
            if spans is not None:
                pooled[index] = np.zeros((len(spans[index]), self.dimensions), dtype=np.float32)
            if each is not None:
                each(index, np.zeros((0, self.dimensions), np.float32), np.zeros((0, 2), np.int64))
        return Encoding(
            unit_rows(vectors) if self._unit else vectors, pooled if spans is not None else [], truncated
        )


class TokenStateEncoder(TransformerEncoder):
    """One whose texts are the mean of their tokens, and which hands out the tokens' states."""

    def encode_tokens(
        self,
        texts: Sequence[str],
        each: EachText,
        *,
        kind: Kind = "document",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """See :class:`aspectra.views.encoders.protocol.TokenEncoder`."""
        return self._encode(texts, kind, "", spans, each)
