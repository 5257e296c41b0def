r"""What is put before a text: a model's prompts, its instructions, and what a specification says of them.

Without the options ``query`` and ``document`` the prompts that a model declares are used (``query``;
``document``, ``passage`` or ``corpus``; its default prompt). A model whose own query prompt reads ``Instruct:
...\nQuery:`` takes free instructions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import Encoder, Kind, Span, Vectors

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
    """What is put before a text.

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
        """What decides the vectors; part of the encoder's fingerprint."""
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
        """Whether a query is encoded with another prompt than a document of the same text.

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
        UsageError: there is no such template, or an instruction has no place in its prompt.
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
