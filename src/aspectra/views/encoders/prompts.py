r"""What is put before a text: a model's prompts, its instructions, and what a specification says of them.

Without the options ``query`` and ``document`` the prompts that a model declares are used (``query``;
``document``, ``passage`` or ``corpus``; its default prompt). A model whose own query prompt reads ``Instruct:
...\nQuery:`` takes free instructions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import Encoder, Kind

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


@dataclass(frozen=True)
class Prompts:
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
