"""An encoder made of a network, a tokenizer and a head; the heads; and one for late interaction."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import (
    EachText,
    Encoding,
    Kind,
    Prompts,
    Span,
    Vectors,
    cannot_pool,
    empty_encoding,
    encodable,
    mean_of_tokens,
    pool_spans,
    unit_rows,
)
from aspectra.views.encoders.query_encoder import content_hash
from aspectra.views.encoders.transformer.network import Runtime
from aspectra.views.encoders.transformer.weights import needs_torch

_ERF = np.vectorize(math.erf, otypes=[np.float32])
_FUNCTIONS: dict[str, Callable[[Vectors], Any]] = {
    "Identity": lambda x: x,
    "Tanh": np.tanh,
    "ReLU": lambda x: np.maximum(x, 0),
    "GELU": lambda x: 0.5 * x * (1 + _ERF(x / math.sqrt(2))),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "SiLU": lambda x: x / (1 + np.exp(-x)),
}


class TokenPooling(Struct, frozen=True):
    """Pooling of token states into one vector.

    Attributes:
        modes: of ``aspectra.views.encoders.protocol.POOLINGS``; the vectors of several are joined.
        include_prompt: whether the tokens of the prompt take part.
    """

    modes: tuple[str, ...] = ("mean",)
    include_prompt: bool = True

    def __call__(self, states: Vectors, prompt: int = 0) -> Vectors:
        """The vector of one text.

        Args:
            states: (tokens, dimensions), special tokens included; at least one token.
            prompt: how many tokens at the beginning are the prompt's.

        Returns:
            (dimensions of all modes,) float32; zeros where only the prompt was read, and it does not count.
        """
        first = 0 if self.include_prompt else prompt
        kept = states[first:]
        if not len(kept):
            return np.zeros(states.shape[1] * len(self.modes), dtype=np.float32)
        vectors = [_pooled(kept, mode, first) for mode in self.modes]
        return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)


def _pooled(states: Vectors, mode: str, first: int) -> Vectors:
    if mode == "mean":
        return mean_of_tokens(states)
    if mode == "mean_sqrt_len_tokens":
        return mean_of_tokens(states) * np.float32(math.sqrt(len(states)))
    if mode == "weightedmean":  # later tokens count more; weights are places in the whole text
        weights = np.arange(first + 1, first + len(states) + 1, dtype=np.float32)
        mean: Vectors = (weights / weights.sum()) @ states
        return mean
    if mode == "max":
        largest: Vectors = states.max(axis=0)
        return largest
    return np.array(states[0 if mode == "cls" else -1])


class HeadStep(Protocol):
    """A layer after the pooling, or after each token's state."""

    def __call__(self, vectors: Vectors) -> Vectors:
        """(..., dimensions) to (..., dimensions of the result)."""
        ...

    def width(self, dimensions: int) -> int:
        """Dimensions of the result."""
        ...

    @property
    def key(self) -> Any:
        """Values that determine the result; part of the encoder's fingerprint."""
        ...


class UnitLength(Struct, frozen=True):
    """Length 1; zeros stay zeros."""

    def __call__(self, vectors: Vectors) -> Vectors:
        unit: Vectors = vectors / np.maximum(
            np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32(1e-12)
        )
        return unit

    def width(self, dimensions: int) -> int:
        return dimensions

    @property
    def key(self) -> Any:
        return "unit"


class Norm(Struct, frozen=True):
    """Layer norm.

    Attributes:
        file: of its weights.
        weight: (dimensions,) float32.
        bias: likewise.
    """

    file: Path
    weight: Vectors
    bias: Vectors

    def __call__(self, vectors: Vectors) -> Vectors:
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        variance = np.mean(centred * centred, axis=-1, keepdims=True)
        scaled: Vectors = centred / np.sqrt(variance + np.float32(1e-5))
        return scaled * self.weight + self.bias

    def width(self, dimensions: int) -> int:
        return dimensions

    @property
    def key(self) -> Any:
        return ["norm", content_hash(self.file)]


class Dense(Struct, frozen=True):
    """A linear layer with an activation.

    Attributes:
        file: of its weights.
        weight: (dimensions of the result, dimensions) float32.
        bias: (dimensions of the result,) float32, or None.
        activation: name of a class of torch.
        adds: whether the input is added to the result.
        residual: (dimensions of the result, dimensions): what the input is multiplied by before; or None.
    """

    file: Path
    weight: Vectors
    bias: Vectors | None = None
    activation: str = "Tanh"
    adds: bool = False
    residual: Vectors | None = None

    def __call__(self, vectors: Vectors) -> Vectors:
        product = vectors @ self.weight.T
        out: Vectors = _FUNCTIONS[self.activation](product if self.bias is None else product + self.bias)
        if not self.adds:
            return out
        return out + (vectors if self.residual is None else vectors @ self.residual.T)

    @property
    def known(self) -> bool:
        """True if the activation is implemented."""
        return self.activation in _FUNCTIONS

    def width(self, dimensions: int) -> int:
        return len(self.weight)

    @property
    def key(self) -> Any:
        return ["dense", content_hash(self.file), self.activation, self.adds]


class Head(Struct, frozen=True):
    """Pooling and what follows it.

    Attributes:
        pooling: of the token states.
        steps: layers, in order.
    """

    pooling: TokenPooling = TokenPooling()
    steps: tuple[HeadStep, ...] = ()

    def __call__(self, states: Vectors, prompt: int = 0) -> Vectors:
        """The vector of one text; see :class:`TokenPooling`.

        Each text is computed alone, so that its vector does not depend on the texts beside it.
        """
        vector = self.pooling(states, prompt)
        for step in self.steps:
            vector = step(vector)
        return vector

    def without_unit(self) -> Head:
        """The same head without the scaling to length 1 at its end."""
        steps = self.steps
        while steps and isinstance(steps[-1], UnitLength):
            steps = steps[:-1]
        return Head(self.pooling, steps)

    def width(self, dimensions: int) -> int:
        """Dimensions of the vector for states of these dimensions."""
        width = dimensions * len(self.pooling.modes)
        for step in self.steps:
            width = step.width(width)
        return width

    @property
    def late(self) -> bool:
        """True if the mean of some token states lies in the space of the vectors of texts."""
        return self.pooling.modes == ("mean",) and all(isinstance(step, UnitLength) for step in self.steps)

    @property
    def key(self) -> Any:
        """Values that determine the vectors; part of the encoder's fingerprint."""
        steps = [step.key for step in self.steps]
        return [list(self.pooling.modes), self.pooling.include_prompt, steps]


@dataclass(frozen=True)
class Spelling:
    """Preparation of texts, where configuration files state more than ``tokenizer.json``.

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


class ModelTokenizer:
    """The tokenizer in ``tokenizer.json``, read when it is first needed. Safe to use from several threads.

    Args:
        folder: of the model.
        limit: tokens of a text, special ones included; the rest is cut.
        spelling: how texts are prepared.

    Raises:
        UsageError: ``tokenizer.json`` is missing.
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
        """Values that determine the tokens; part of an encoder's fingerprint."""
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
        # A token that straddles the prompt's end keeps the part inside the text.
        return np.maximum(offsets - len(prompt), 0)

    def length(self, prompt: str) -> int:
        """Number of tokens of the prompt at the beginning of a text, including special tokens before it."""
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


@dataclass(eq=False)
class TransformerEncoder:
    """Texts to vectors, on the processor and without torch.

    Attributes:
        name: see :class:`aspectra.views.encoders.protocol.Encoder`.
        fingerprint: likewise.
        runtime: what runs the network.
        tokens: the tokenizer, with the maximum length.
        head: token states to a text's vector.
        width: of a token's state.
        prompts: what is put before a text.
        unit: whether vectors are scaled to length 1.
    """

    name: str
    fingerprint: str
    runtime: Runtime
    tokens: ModelTokenizer
    head: Head
    width: int
    prompts: Prompts = Prompts()
    unit: bool = True

    remote = ""

    def __post_init__(self) -> None:
        self.max_tokens = self.tokens.limit
        self.dimensions = self.head.width(self.width)
        self.late_pooling = self.head.late

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
            raise cannot_pool(self, "it does not pool by the mean, or has layers behind it")
        coded = empty_encoding(texts, spans, self.dimensions)
        prompt = self.prompts.of(kind, instruction)
        tokens = self.tokens.encode(texts, prompt)
        before = self.tokens.length(prompt)
        coded.truncated[:] = [bool(one.overflowing) for one in tokens]
        some = [index for index, one in enumerate(tokens) if one.ids]  # a text may have no token at all

        def take(row: int, states: Vectors) -> None:
            index = some[row]
            coded.vectors[index] = self.head(states, before)
            asked = spans[index] if spans is not None else ()
            if not len(asked) and each is None:
                return
            offsets = self.tokens.offsets(tokens[index], prompt)
            if len(asked):
                coded.spans[index] = pool_spans(states, offsets, asked)
            if each is not None:
                each(index, states, offsets)

        if some:
            ids = [tokens[index].ids for index in some]
            self.runtime.run(ids, self.max_tokens, take, apart=kind == "query")
        for index in set(range(len(texts))) - set(some):
            if spans is not None:
                coded.spans[index] = np.zeros((len(spans[index]), self.dimensions), dtype=np.float32)
            if each is not None:
                each(index, np.zeros((0, self.dimensions), np.float32), np.zeros((0, 2), np.int64))
        if self.unit:
            unit_rows(coded.vectors)
        return coded


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


# An encoder for late interaction: a network, two markers, the layers that each token's state goes through.
#
# What it does with tokens is that of Khattab & Zaharia 2020, "ColBERT", arXiv:2004.12832, section 3.2.


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
        """Values that determine the vectors; part of the encoder's fingerprint."""
        return [self.query, self.document, self.mask, self.attend, sorted(self.skipped)]


@dataclass(eq=False)
class LateTransformer:
    """Texts to vectors of their tokens; see :class:`aspectra.views.encoders.protocol.LateEncoder`.

    The vector of a text is the mean of its tokens' vectors, at length 1: a first stage for which it was not
    trained.

    Attributes:
        name, fingerprint: as in :class:`~aspectra.views.encoders.protocol.Encoder`.
        runtime: what runs the network.
        tokens: tokenizers of queries and of documents, with room for the marker.
        marking: numbers of tokens with a meaning.
        steps: layers, in order.
        width: of the network's states.
        lengths: tokens of a query and of a document, markers included.
    """

    name: str
    fingerprint: str
    runtime: Runtime
    tokens: tuple[ModelTokenizer, ModelTokenizer]
    marking: Marking
    steps: tuple[HeadStep, ...]
    width: int
    lengths: tuple[int, int]

    remote = ""
    late_pooling = True

    def __post_init__(self) -> None:
        self.max_tokens = self.lengths[1]
        self.query_tokens = 0 if self.marking.mask is None else self.lengths[0]
        self.dimensions = Head(steps=self.steps).width(self.width)

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
        coded = empty_encoding(texts, spans, self.dimensions)
        if not texts:
            return coded
        queries, documents = self.tokens
        tokens = (queries if kind == "query" else documents).encode(texts)
        rows = [self._marked(one, kind) for one in tokens]

        def take(index: int, states: Vectors) -> None:
            _, offsets, kept = rows[index]
            projected = states[kept]
            for step in self.steps:
                projected = step(projected)
            projected = unit_rows(np.array(projected, np.float32))
            coded.vectors[index] = mean_of_tokens(projected)
            if spans is not None:
                coded.spans[index] = pool_spans(projected, offsets[kept], spans[index])
            each(index, projected, offsets[kept])

        self.runtime.run(
            [ids for ids, _, _ in rows],
            max(self.max_tokens, self.query_tokens),
            take,
            apart=kind == "query",
            attended=None if self.marking.attend else [len(one.ids) + 1 for one in tokens],
        )
        coded.truncated[:] = [bool(one.overflowing) for one in tokens]
        unit_rows(coded.vectors)
        return coded

    def _marked(self, one: Any, kind: Kind) -> tuple[list[int], NDArray[np.int64], Any]:
        """Token numbers with the marker and, of a query, mask tokens; their characters; which are kept."""
        marking = self.marking
        ids = [*one.ids[:1], marking.query if kind == "query" else marking.document, *one.ids[1:]]
        offsets = np.array([*one.offsets[:1], (0, 0), *one.offsets[1:]], np.int64).reshape(-1, 2)
        if kind != "query":
            return ids, offsets, np.array([number not in marking.skipped for number in ids], np.bool_)
        if marking.mask is not None:
            more = max(0, self.query_tokens - len(ids))
            ids += [marking.mask] * more
            offsets = np.concatenate([offsets, np.zeros((more, 2), np.int64)])
        return ids, offsets, np.ones(len(ids), np.bool_)
