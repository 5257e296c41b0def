"""An encoder for late interaction: a network, two markers, the layers that each token's state goes through.

What it does with tokens is that of Khattab & Zaharia 2020, "ColBERT", arXiv:2004.12832, section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.prompts import mean_of_tokens, pool_spans, unit_rows
from aspectra.views.encoders.protocol import EachText, Encoding, Kind, Span, Vectors
from aspectra.views.encoders.transformer.encoder import Step, Tokens
from aspectra.views.encoders.transformer.runtime import Runtime


@dataclass(frozen=True)
class Marking:
    """Numbers of tokens with a meaning.

    Attributes:
        query, document: the marker behind the first token.
        mask: what queries are filled up with; None: they are not.
        attend: whether other tokens attend to mask tokens.
        skipped: tokens whose states are left out of documents.
    """

    query: int
    document: int
    mask: int | None
    attend: bool
    skipped: frozenset[int]

    @property
    def key(self) -> Any:
        """What decides the vectors; part of the encoder's fingerprint."""
        return [self.query, self.document, self.mask, self.attend, sorted(self.skipped)]


class LateTransformer:
    """Texts to vectors of their tokens; see :class:`aspectra.views.encoders.protocol.LateEncoder`.

    The vector of a text is the mean of its tokens' vectors, at length 1: a first stage for which it was not
    trained.

    Args:
        name, fingerprint: as in :class:`~aspectra.views.encoders.protocol.Encoder`.
        runtime: what runs the network.
        tokens: tokenizers of queries and of documents, with room for the marker.
        marking: numbers of tokens with a meaning.
        steps: layers, in order.
        dimensions: of the network's states.
        lengths: tokens of a query and of a document, markers included.
    """

    remote = ""
    late_pooling = True

    def __init__(
        self,
        name: str,
        fingerprint: str,
        runtime: Runtime,
        tokens: tuple[Tokens, Tokens],
        marking: Marking,
        steps: Sequence[Step],
        *,
        dimensions: int,
        lengths: tuple[int, int],
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.runtime = runtime
        self._queries, self._documents = tokens
        self._marking = marking
        self._steps = steps
        self.max_tokens = lengths[1]
        self.query_tokens = 0 if marking.mask is None else lengths[0]
        self.dimensions = dimensions
        for step in steps:
            self.dimensions = step.width(self.dimensions)

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """See :class:`aspectra.views.encoders.protocol.Encoder`; the instruction is not used."""
        return self.encode_tokens(texts, lambda *_: None, kind=kind, spans=spans)

    def encode_tokens(
        self,
        texts: Sequence[str],
        each: EachText,
        *,
        kind: Kind = "document",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """See :class:`aspectra.views.encoders.protocol.TokenEncoder`; states are projected, of length 1."""
        if spans is not None and len(spans) != len(texts):
            raise UsageError(f"{len(texts)} texts were given with the spans of {len(spans)}")
        vectors: Vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        pooled: list[Vectors] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        if not texts:
            return Encoding(vectors, pooled if spans is not None else [], np.zeros(0, np.bool_))
        coded = (self._queries if kind == "query" else self._documents).encode(texts)
        rows = [self._marked(one, kind) for one in coded]

        def take(index: int, states: Vectors) -> None:
            _, offsets, kept = rows[index]
            projected = self._project(states[kept])
            vectors[index] = mean_of_tokens(projected)
            if spans is not None:
                pooled[index] = pool_spans(projected, offsets[kept], spans[index])
            each(index, projected, offsets[kept])

        self.runtime.run(
            [ids for ids, _, _ in rows],
            max(self.max_tokens, self.query_tokens),
            take,
            apart=kind == "query",
            attended=None if self._marking.attend else [len(one.ids) + 1 for one in coded],
        )
        truncated = np.array([bool(one.overflowing) for one in coded], dtype=np.bool_)
        return Encoding(unit_rows(vectors), pooled if spans is not None else [], truncated)

    def _marked(self, one: Any, kind: Kind) -> tuple[list[int], NDArray[np.int64], Any]:
        """Token numbers with the marker and, of a query, mask tokens; their characters; which are kept."""
        marking = self._marking
        ids = [*one.ids[:1], marking.query if kind == "query" else marking.document, *one.ids[1:]]
        offsets = np.array([*one.offsets[:1], (0, 0), *one.offsets[1:]], np.int64).reshape(-1, 2)
        if kind != "query":
            return ids, offsets, np.array([number not in marking.skipped for number in ids], np.bool_)
        if marking.mask is not None:
            more = max(0, self.query_tokens - len(ids))
            ids += [marking.mask] * more
            offsets = np.concatenate([offsets, np.zeros((more, 2), np.int64)])
        return ids, offsets, np.ones(len(ids), np.bool_)

    def _project(self, states: Vectors) -> Vectors:
        for step in self._steps:
            states = step(states)
        return unit_rows(np.array(states, np.float32))
