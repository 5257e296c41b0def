"""An encoder made of a network, a tokenizer and a head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.base.errors import UsageError
from aspectra.views.encoders.pooling import pool_spans, unit_rows
from aspectra.views.encoders.prompts import Prompts
from aspectra.views.encoders.protocol import EachText, Encoding, Kind, Span, Vectors
from aspectra.views.encoders.transformer.head import Head
from aspectra.views.encoders.transformer.runtime import Runtime
from aspectra.views.encoders.transformer.tokens import Tokens


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
