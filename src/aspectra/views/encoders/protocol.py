"""The protocol of an encoder: texts in, vectors out.

To add an encoder, write one module in ``views/encoders`` that registers an :class:`EncoderFactory` with
``ENCODERS.register(name)``; ``name`` or ``name:argument`` (``sentence-transformers:intfloat/e5-base``) then
loads it. A third party names the module in an entry point of the group ``aspectra.encoder``. A specification
may come with somebody else's library: ``needs`` declares what must be permitted before it is loaded.
``tests/unit/views/test_encoder_conformance.py`` tests every member, made as its table says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable
from urllib.parse import parse_qsl

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError, UsageError
from aspectra.base.registry import Registry
from aspectra.base.trust import Permission, allow, require
from aspectra.views.encoders.early import loaded_early


def split_argument(argument: str, known: Iterable[str], *, encoder: str) -> tuple[str, dict[str, str]]:
    r"""The place (model, directory) and the options of an encoder's argument.

    Values are percent-decoded (``%20`` is a space, ``%0A`` a line end); ``\n`` is a line end too, because
    prompts often need one and shells make it awkward. A ``+`` stays a plus sign.

    Args:
        argument: what follows the colon of ``name:argument``.
        known: names of the options that the encoder takes.
        encoder: name of the encoder, for messages.

    Raises:
        UsageError: an unknown or repeated option, or one without a value.

    >>> split_argument("some/model?query=query:%20", ["query"], encoder="x")
    ('some/model', {'query': 'query: '})
    """
    names = sorted(known)
    place, _, query = argument.partition("?")
    options: dict[str, str] = {}
    try:
        pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise UsageError(
            f"cannot read the options {query!r} of encoder {encoder!r}",
            why=str(error),
            hint=f"write {encoder}:place?option=value&option=value",
        ) from error
    for name, value in pairs:
        if name not in names:
            raise UsageError(
                f"encoder {encoder!r} has no option {name!r}", why="known: " + (", ".join(names) or "none")
            )
        if name in options:
            raise UsageError(f"option {name!r} of encoder {encoder!r} is given twice")
        options[name] = value.replace("\\n", "\n")
    return place, options


def folder_permission(place: str, options: dict[str, str]) -> list[Permission]:
    """Permissions needed to load the model in the folder ``place``; none where no folder is named."""
    return [Permission.folder(place)] if place else []


def positive_int(options: dict[str, str], name: str, default: int) -> int:
    """The option ``name`` as a whole number of at least 1, or ``default`` where it is not given."""
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(f"option {name!r} must be a whole number of at least 1, not {text!r}")
    return int(text)


def yes_or_no(options: dict[str, str], name: str, default: bool) -> bool:
    """The option ``name``, ``yes`` or ``no``, or ``default`` where it is not given."""
    text = options.get(name)
    if text is None:
        return default
    if text not in {"yes", "no"}:
        raise UsageError(f"option {name!r} must be yes or no, not {text!r}")
    return text == "yes"


Kind = Literal["query", "document"]
Vectors = NDArray[np.float32]
Span = tuple[int, int]
# Number of a text, its token states (tokens, dimensions), and each token's (start, end) in characters.
EachText = Callable[[int, Vectors, NDArray[np.int64]], None]


@dataclass(frozen=True)
class Encoding:
    """Result of one call to an encoder.

    Attributes:
        vectors: (texts, dimensions) float32, unit length where the encoder normalises.
        spans: per text, (spans, dimensions) float32: the mean of the contextual token vectors inside each
            asked span (late pooling), unit length. A span with no token left (beyond the maximum
            length) is a row of zeros. Empty when no spans were asked for.
        truncated: per text, whether tokens beyond the maximum length were cut.
    """

    vectors: Vectors
    spans: list[Vectors] = field(default_factory=list)
    truncated: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))


class Encoder(Protocol):
    """Texts to vectors.

    Attributes:
        name: short name used in view names (``abstract@minilm``); letters, digits, dots and dashes.
        fingerprint: changes whenever vectors may differ: weights, pooling, normalisation, prompts,
            maximum length. (Not the machine's dtype or batch size: those move a vector by less than 1e-3.)
        dimensions: length of a vector.
        max_tokens: tokens read of a text; longer texts are cut and counted.
        late_pooling: whether ``spans`` can be asked for.
        remote: host that texts are sent to, or "" for a local encoder.
    """

    name: str
    fingerprint: str
    dimensions: int
    max_tokens: int
    late_pooling: bool
    remote: str

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """Encode texts, in order.

        Args:
            texts: may be empty, and may hold empty texts.
            kind: query or document, for encoders trained with different prompts for each.
            instruction: free instruction for encoders that take one, see
                :class:`~aspectra.views.encoders.protocol.PromptedEncoder`; ignored by others.
            spans: per text, (start, end) in characters; only where ``late_pooling`` is True.

        Raises:
            UsageError: spans asked of an encoder without token states.
        """
        ...


@runtime_checkable
class TokenEncoder(Encoder, Protocol):
    """An encoder that hands out the states of its tokens."""

    def encode_tokens(
        self,
        texts: Sequence[str],
        each: EachText,
        *,
        kind: Kind = "document",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """Encode texts, in order, and pass each one's token states to ``each``.

        Args:
            texts: as in :meth:`encode`, which gives the same vectors for them.
            each: called once for a text, in no particular order. The states are only valid during the call.
                Special tokens, and those that are not of the text (a prompt's), have an empty range of
                characters.
            kind: as in :meth:`encode`.
            spans: as in :meth:`encode`.
        """
        ...


@runtime_checkable
class LateEncoder(TokenEncoder, Protocol):
    """An encoder trained for late interaction: every state that it passes on takes part in MaxSim.

    Of other encoders only the states of the text's own tokens do. Source: Khattab & Zaharia 2020, "ColBERT",
    arXiv:2004.12832.

    Attributes:
        query_tokens: tokens that a query is filled up to with mask tokens (query expansion); 0: it is not.
    """

    query_tokens: int


class EncoderFactory(Struct, frozen=True):
    """Loads encoders of one family.

    Attributes:
        name: of the family, before the colon of a specification.
        description: one line for help texts, in lower case and without a stop.
        options: name -> what it does, for ``name:place?option=value&option=value``.
        load: the encoder of a place (a model, a folder; may be "") with these options.
        needs: what a user must have permitted before a specification that the user did not write is loaded;
            it opens no file and no connection. None: the specification as a whole.
    """

    name: str
    description: str
    options: Mapping[str, str]
    load: Callable[[str, dict[str, str]], Encoder]
    needs: Callable[[str, dict[str, str]], Sequence[Permission]] | None = None

    def __call__(self, argument: str) -> Encoder:
        """The encoder for ``name:argument``.

        Raises:
            UsageError: an option is unknown, repeated or without a value, or the place cannot be used.
        """
        return self.load(*split_argument(argument, self.options, encoder=self.name))


ENCODERS: Registry[Callable[[str], Encoder]] = Registry("encoder", __package__)


def needs_of(spec: str) -> list[Permission]:
    """Permissions needed before an encoder that a library, a plan or a study names is loaded.

    Raises:
        UsageError: the encoder or the option is unknown.
    """
    name, _, argument = spec.partition(":")
    factory = ENCODERS.get(name)
    if not isinstance(factory, EncoderFactory) or factory.needs is None:
        return [Permission("model", spec)]
    return list(factory.needs(*split_argument(argument, factory.options, encoder=name)))


def permit_encoder(spec: str) -> None:
    """Permit for good what an encoder needs: the user wrote its specification."""
    for needed in needs_of(spec):
        allow(needed)


def refusal(spec: str) -> AspectraError | None:
    """The error that keeps an encoder of a library, plan or study from being loaded; None if it is permitted.

    The user is asked once, where that is possible. An unknown encoder or option is such an error too.
    """
    try:
        for needed in needs_of(spec):
            require(needed, f"the encoder {spec} of a library, plan or study")
    except AspectraError as error:
        return error
    return None


def load_encoder(spec: str) -> Encoder:
    """The encoder of a specification, ``name`` or ``name:argument``.

    Raises:
        NotTrusted: it needs something that the user has not permitted, see :mod:`aspectra.base.trust`.
        UsageError: it cannot be loaded.
    """
    if (refused := refusal(spec)) is not None:
        raise refused
    early: Encoder | None = loaded_early(spec)
    return load_named(spec) if early is None else early


def load_named(spec: str) -> Encoder:
    """The encoder of a specification that may be loaded."""
    name, _, argument = spec.partition(":")
    return ENCODERS.get(name)(argument)


# What is put before a text: a model's prompts, its instructions, and what a specification says of them.
#
# Without the options ``query`` and ``document`` the prompts that a model declares are used (``query``;
# ``document``, ``passage`` or ``corpus``; its default prompt). A model whose own query prompt reads
# ``Instruct: ...\nQuery:`` takes free instructions.

# Names of sentence-transformers, in the order in which it joins the vectors of several.
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def unit_rows(vectors: Vectors) -> Vectors:
    """Rows scaled to length 1, in place; rows of zeros stay zeros.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return vectors


def empty_encoding(texts: Sequence[str], spans: Sequence[Sequence[Span]] | None, dimensions: int) -> Encoding:
    """Zeros for each text, to be filled in place, and no vectors yet of the spans that were asked for.

    Raises:
        UsageError: there are spans of another number of texts.
    """
    if spans is not None and len(spans) != len(texts):
        raise UsageError(f"{len(texts)} texts were given with the spans of {len(spans)}")
    vectors: Vectors = np.zeros((len(texts), dimensions), dtype=np.float32)
    pooled = [vectors[:0]] * len(texts) if spans is not None else []
    return Encoding(vectors, pooled, np.zeros(len(texts), dtype=np.bool_))


def cannot_pool(encoder: Encoder, why: str) -> UsageError:
    """The error of an encoder without token states that lie in the space of its vectors."""
    return UsageError(
        f"the encoder {encoder.name!r} cannot pool spans",
        why=why,
        hint="encode the sentences as texts of their own",
    )


def check_token_limit(name: str, limit: int, least: int, most: int) -> None:
    """Refuse a number of tokens that a text may have.

    Raises:
        UsageError: it is out of the model's range.
    """
    if not least <= limit <= most:
        raise UsageError(f"{name} must be between {least} and {most} for this model, not {limit}")


def mean_of_tokens(states: Vectors) -> Vectors:
    """Mean over all tokens, [CLS] and [SEP] included, as sentence-transformers pools (not normalised).

    Args:
        states: (tokens, dimensions) without padding; at least one token.

    Returns:
        (dimensions,) float32.
    """
    total: Vectors = np.add.reduce(states, axis=0)
    total /= np.float32(len(states))
    return total


def pool_spans(states: Vectors, offsets: NDArray[np.int64], spans: Sequence[Span]) -> Vectors:
    """Late pooling: mean of the contextual states of the tokens that overlap each span.

    The text is encoded once; a sentence's vector is the mean of its tokens' states, which have seen the
    whole text (Günther et al. 2024, "Late Chunking", arXiv:2409.04701).

    Args:
        states: (tokens, dimensions) float32.
        offsets: (tokens, 2): each token's (start, end) in characters, both non-decreasing along the text.
            Special tokens have an empty range and never count.
        spans: (start, end) in characters, end excluded; in any order, overlapping or not.

    Returns:
        (spans, dimensions) float32, unit length; zeros where no token overlaps the span.
    """
    return unit_rows(mean_of_spans(states, offsets, np.asarray(spans, dtype=np.int64).reshape(-1, 2)))


def mean_of_spans(states: Vectors, offsets: NDArray[np.int64], asked: NDArray[np.int64]) -> Vectors:
    """Mean of the values of the tokens that overlap each span.

    Args:
        states: (tokens, columns) float32: states, or any other values of tokens.
        offsets: as in :func:`pool_spans`.
        asked: (spans, 2) start and end in characters, likewise.

    Returns:
        (spans, columns) float32; zeros where no token overlaps the span.
    """
    out = np.zeros((len(asked), states.shape[1]), dtype=np.float32)
    keep = np.flatnonzero(offsets[:, 1] > offsets[:, 0])
    if not len(asked) or not len(keep):
        return out
    starts, ends = offsets[keep].T
    # Tokens come in text order, so the tokens of a span are one run [first, last).
    first = np.searchsorted(ends, asked[:, 0], side="right")
    last = np.searchsorted(starts, asked[:, 1], side="left")
    some = np.flatnonzero((last > first) & (asked[:, 1] > asked[:, 0]))
    if not len(some):
        return out
    first, last = first[some], last[some]
    if keep[-1] - keep[0] + 1 == len(keep):  # special tokens stand only at the ends: no copy needed
        first, last = first + keep[0], last + keep[0]
    else:
        states = states[keep]
    # reduceat sums [index i, index i + 1): interleaving the bounds gives the runs at even places. The
    # odd places sum what lies between two runs and are thrown away; that costs one more pass at most.
    # A bound may not reach past the end, so a run that ends there is summed by leaving its end out.
    bounds = np.stack([first, last], axis=1).ravel()
    if bounds.max() >= len(states):
        states = np.concatenate([states, np.zeros((1, states.shape[1]), dtype=states.dtype)])
    sums = np.add.reduceat(states, bounds, axis=0)[::2]
    out[some] = np.divide(sums, (last - first)[:, None], dtype=np.float32)
    return out


# Lone surrogates (from damaged input) cannot be written as UTF-8. One character for one keeps offsets.
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_DECLARED_INSTRUCTION = re.compile(r"Instruct: .*\n(Query: ?)", re.DOTALL)


def encodable(text: str) -> str:
    """The text without lone surrogates, of the same length."""
    return text if text.isascii() else text.translate(_SURROGATES)


def name_of(place: str) -> str:
    """The short name of an encoder in a folder or on a hub.

    >>> name_of("intfloat/e5-base_v2")
    'e5-base-v2'
    """
    return re.sub(r"[^A-Za-z0-9.]+", "-", Path(place).name).strip("-.").lower() or "model"


class Prompts(Struct, frozen=True):
    """Prompts that are put before texts.

    Attributes:
        query: before a query without an instruction.
        document: before a document.
        query_instruction: before a query with one; holds ``{instruction}``, or "" to ignore instructions.
        document_instruction: the same for documents.
    """

    query: str = ""
    document: str = ""
    query_instruction: str = ""
    document_instruction: str = ""

    @property
    def key(self) -> list[str]:
        """Values that determine the vectors; part of the encoder's fingerprint."""
        return [self.query, self.document, self.query_instruction, self.document_instruction]

    def of(self, kind: Kind, instruction: str) -> str:
        r"""The prompt of one call.

        >>> TEMPLATES["e5-instruct"].of("query", "Find surveys")
        'Instruct: Find surveys\nQuery: '
        >>> TEMPLATES["e5-instruct"].of("document", "Find surveys")
        ''
        """
        plain, template = (
            (self.query, self.query_instruction)
            if kind == "query"
            else (self.document, self.document_instruction)
        )
        if instruction and template:
            return template.replace("{instruction}", instruction)
        return plain

    def tells_queries(self, instruction: str = "") -> bool:
        """True if a query is encoded with a different prompt from a document of the same text.

        >>> TEMPLATES["gritlm"].tells_queries(), TEMPLATES["gritlm"].tells_queries("Find surveys")
        (False, True)
        """
        return self.of("query", instruction) != self.of("document", "")


@runtime_checkable
class PromptedEncoder(Encoder, Protocol):
    """An encoder with prompts or instructions; it encodes query papers, others take their stored vectors."""

    prompts: Prompts


def prompt_facts(encoder: Encoder) -> dict[str, list[str]]:
    """The prompts of an encoder, for the manifest's entry of a view: ``prompts``, or {} where it has none."""
    key = encoder.prompts.key if isinstance(encoder, PromptedEncoder) else []
    return {"prompts": key} if any(key) else {}


def dense_facts(folder: str, spec: str, encoder: Encoder, truncated: int) -> dict[str, Any]:
    """The manifest's entry of a dense view: its folder, its encoder and number of cut texts."""
    return {
        "kind": "dense",
        "folder": folder,
        "encoder": spec,
        "fingerprint": encoder.fingerprint,
        "dimensions": encoder.dimensions,
        "truncated": truncated,
        **prompt_facts(encoder),
    }


# As their model cards spell them. They are asked for by name (``template=``): a model's name says
# nothing reliable about the prompts it was trained with.
TEMPLATES = {
    "bge": Prompts("Represent this sentence for searching relevant passages: "),
    "e5": Prompts("query: ", "passage: "),
    "e5-instruct": Prompts(query_instruction="Instruct: {instruction}\nQuery: "),
    "qwen3": Prompts(query_instruction="Instruct: {instruction}\nQuery:"),
    "gritlm": Prompts("<|embed|>\n", "<|embed|>\n", query_instruction="<|user|>\n{instruction}\n<|embed|>\n"),
    "instructor": Prompts(query_instruction="{instruction}", document_instruction="{instruction}"),
}


def resolve_prompts(options: Mapping[str, str], declared: Mapping[str, str], default: str | None) -> Prompts:
    """The prompts of an encoder: options first, then the named template, then what the model declares.

    Args:
        options: those of :data:`PROMPT_OPTIONS` that are given; others are not read.
        declared: the model's prompts by name.
        default: the name of the one that is used where no other fits.

    Raises:
        UsageError: the template is unknown, or a prompt has no place for the instruction.
    """
    template = options.get("template")
    if template is not None and template not in TEMPLATES:
        raise UsageError(
            f"there is no prompt template {template!r}", why="known: " + ", ".join(sorted(TEMPLATES))
        )
    for name in ("instruction", "document_instruction"):
        if options.get(name) and "{instruction}" not in options[name]:
            raise UsageError(f"option {name!r} must hold {{instruction}} where the instruction goes")
    base = TEMPLATES[template] if template is not None else Prompts()
    fallback = declared.get(default or "", "")
    query = base.query or declared.get("query") or fallback
    document = base.document or next(
        (declared[name] for name in ("document", "passage", "corpus") if declared.get(name)), fallback
    )
    asked = base.query_instruction
    own = _DECLARED_INSTRUCTION.fullmatch(declared.get("query") or "")
    if not asked and own is not None:
        asked = "Instruct: {instruction}\n" + own.group(1)
    return Prompts(
        query=options.get("query", query),
        document=options.get("document", document),
        query_instruction=options.get("instruction", asked),
        document_instruction=options.get("document_instruction", base.document_instruction),
    )


PROMPT_OPTIONS = {
    "query": "prompt put before a query; else the model's own",
    "document": "prompt put before a document; else the model's own",
    "instruction": "prompt of a query with a free instruction, with {instruction} where it goes",
    "document_instruction": "the same for documents",
    "template": "known prompts: " + ", ".join(TEMPLATES),
}
