"""The protocol of an encoder: texts in, vectors out.

To add an encoder, write one module in ``views/encoders`` that registers an :class:`EncoderFactory` with
``ENCODERS.register(name)``; ``name`` or ``name:argument`` (``sentence-transformers:intfloat/e5-base``) then
loads it. A third party names the module in an entry point of the group ``aspectra.encoder``. A specification
may come with somebody else's library: ``needs`` declares what must be permitted before it is loaded.
``tests/unit/views/test_encoder_conformance.py`` tests every member, made as its table says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable
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
    """What an encoder needs that loads the model in the folder ``place``: nothing where none is named."""
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
    """What one call to an encoder returns.

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
                :class:`~aspectra.views.encoders.prompts.PromptedEncoder`; ignored by others.
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
    """What must be permitted before an encoder is loaded that a library, a plan or a study names.

    Raises:
        UsageError: there is no such encoder or option.
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
    """Why an encoder that a library, plan or study names is not loaded; None where the user permits it.

    Where somebody can be asked, the user is, once. It may also be that there is no such encoder or option.
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
