"""Settings of an index: encoders, BM25 parameters, chunk sizes. A value, kept in the library."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

import msgspec

from aspectra.base.errors import UsageError, refuse_unknown
from aspectra.base.values import converted
from aspectra.views.dense.late.view import TokenType
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.lenses.protocol import LENSES, default_lenses
from aspectra.views.readers.protocol import ASPECT_READERS, READERS
from aspectra.views.text.tokens import ChunkSize, LexicalSettings, TokenSettings


@dataclass(frozen=True)
class IndexSettings:
    """Settings of what ``aspectra index`` builds.

    Attributes:
        encoders: specifications, the first is the default; empty for lexical views only.
        lexical: BM25 parameters and tokenisation, for all lexical views.
        chunks: chunk sizes of the full-text views; empty for none.
        dense_chunks: whether chunks are encoded too (the slow part for full texts).
        sentences: how sentence vectors are made: ``apart`` (each sentence encoded by itself: about as much
            work again as the abstracts, and much better for aspects) or ``late`` (pooled from the
            abstract's own pass, free). An encoder without token states knows only ``apart``.
        lenses: names of the lenses applied to every paper.
        batch: papers encoded between two commits: what a kill can undo.
        citations: whether views of full text see in-text citations. ``strip``: they do not, so that what
            papers are about is compared and not whom they name; stored texts and quotes keep them.
        readers: names of the readers that make a view of every aspect of full texts.
        late: what the components of token vectors are kept as, for late interaction: ``bits`` (their signs)
            or ``int8``; "" keeps none.
    """

    encoders: tuple[str, ...] = ("minilm",)
    lexical: LexicalSettings = field(default_factory=LexicalSettings)
    chunks: tuple[str, ...] = ("250w",)
    dense_chunks: bool = True
    sentences: Literal["apart", "late"] = "apart"
    lenses: tuple[str, ...] = field(default_factory=default_lenses)
    batch: int = 256
    citations: Literal["strip", "keep"] = "strip"
    readers: tuple[str, ...] = ASPECT_READERS
    late: TokenType | Literal[""] = ""

    def __post_init__(self) -> None:
        for size in self.chunks:
            ChunkSize.parse(size)
        if self.sentences not in ("apart", "late"):
            raise UsageError(f"index.sentences is {self.sentences!r}", why="it must be apart or late")
        if self.citations not in ("strip", "keep"):
            raise UsageError(f"index.citations is {self.citations!r}", why="it must be strip or keep")
        if self.late not in ("", *get_args(TokenType)):
            raise UsageError(f"index.late is {self.late!r}", why="it must be bits, int8 or empty")
        for name in self.lenses:
            if name not in LENSES:
                LENSES.get(name)  # raises with suggestions
        for name in self.readers:
            if name not in READERS:
                READERS.get(name)  # raises with suggestions
        if not 1 <= self.batch <= 100_000:
            raise UsageError("index.batch must be from 1 to 100000")

    @property
    def applied_lenses(self) -> tuple[str, ...]:
        """The lenses that something will look at: roles of sentences are for comparing their vectors."""
        return tuple(name for name in self.lenses if self.encoders or name != "roles")

    def sentences_apart(self, encoder: Encoder) -> bool:
        """True if sentences take a separate pass; without token states the abstracts' pass encodes them."""
        return self.sentences == "apart" and encoder.late_pooling

    def changed(self, **given: Any) -> IndexSettings:
        """These settings with some changed: own fields, or those of ``lexical`` and its ``tokens``.

        Raises:
            UsageError: a name is unknown or a value impossible.
        """
        new: dict[str, Any] = msgspec.to_builtins(self)
        lexical = new["lexical"]
        for name, value in given.items():
            table = next((t for t in (lexical["tokens"], lexical) if name in t), new)
            table[name] = list(value) if isinstance(value, tuple) else value
        return IndexSettings.from_dict(new)

    def to_dict(self) -> dict[str, Any]:
        """JSON form, as it is read from a manifest: with lists in place of tuples."""
        data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        if not self.late:  # so that an index without them stays as it was before there were any
            data.pop("late", None)
        if self.lexical.tokens.split == TokenSettings().split:
            data["lexical"]["tokens"].pop("split")  # likewise
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> IndexSettings:
        """Inverse of :meth:`to_dict`; absent fields take their defaults.

        Raises:
            UsageError: an unknown field or a value of the wrong kind.
        """
        lexical = data.get("lexical", {})
        tokens = lexical.get("tokens", {}) if isinstance(lexical, dict) else {}
        for given, kind in ((data, cls), (lexical, LexicalSettings), (tokens, TokenSettings)):
            if isinstance(given, dict):
                refuse_unknown(given, (f.name for f in fields(kind)), "index setting")
        try:
            return converted(data, cls)
        except msgspec.ValidationError as error:
            raise UsageError("the index settings cannot be read", why=str(error)) from error

    def dumps(self) -> str:
        """One line of JSON, as kept in the library."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def loads(cls, text: str) -> IndexSettings:
        """Inverse of :meth:`dumps`; "" gives the defaults."""
        return cls.from_dict(json.loads(text)) if text else cls()
