"""The prompted lenses of a library: which there are, and what their values depend on.

A definition is kept inside the library with the whole text of its prompt, so that a lens means the same for
as long as the library says so, whatever becomes of the file it was read from. Values belong to a
*fingerprint* of prompt, schema and model; where one of them changes, the old values stay in the database
and are not looked at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from aspectra.base.errors import LibraryCorrupt, UsageError
from aspectra.base.hashing import digest_texts
from aspectra.base.values import converted
from aspectra.llm.prompts.conversation import read_prompt
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.views.lenses.protocol import LENSES, optional_lenses
from aspectra.views.prompted.prompt import BUILTIN_PROMPTS, LensPrompt, builtin_text
from aspectra.views.prompted.schema import LENSES_KEY

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
# What conditions of other kinds are called; a lens of that name could not be told from them.
_TAKEN = frozenset({"author", "keyword", "venue", "year"})


def check_name(name: str) -> str:
    """A lens name as it is kept: hyphens become underscores, so that it can stand in a condition.

    Raises:
        UsageError: it is no such name, or something else is called so.

    >>> check_name("failure-mode")
    'failure_mode'
    """
    plain = name.strip().replace("-", "_")
    if not _NAME.fullmatch(plain):
        raise UsageError(
            f"a lens cannot be called {name!r}",
            why="names begin with a small letter and go on with small letters, digits and _, 40 at most",
        )
    if plain in LENSES or plain in _TAKEN:
        raise UsageError(
            f"a lens cannot be called {plain!r}",
            why="something else is called so",
            hint="choose another name",
        )
    return plain


@dataclass(frozen=True)
class PromptedLens:
    """One lens of a library.

    Attributes:
        name: of the lens.
        text: of its prompt file.
        schema: JSON schema of the value from a file of its own, or None where the prompt holds it.
        path: of the file it was read from, "" for a prompt of ours.
        model: the journal's name of the model that computes it; "" before the first run.
        thinking: tokens that a reasoning model may spend before it answers; values do not depend on it.
    """

    name: str
    text: str
    schema: Mapping[str, Any] | None = None
    path: str = ""
    model: str = ""
    thinking: int = 0

    @cached_property
    def prompt(self) -> LensPrompt:
        """The prompt, parsed.

        Raises:
            UsageError: it cannot be used.
        """
        return replace(LensPrompt.parse(self.name, self.text, self.schema), thinking=self.thinking)

    @property
    def fingerprint(self) -> str:
        """What values depend on: prompt, schema and model."""
        return digest_texts([self.prompt.hash, self.model])[:16]

    def with_model(self, model: str) -> PromptedLens:
        """The same lens computed by another model: with other values."""
        return replace(self, model=model)

    @property
    def drift(self) -> str:
        """How the file that the prompt came from differs by now, or "" where it does not."""
        try:
            now = read_prompt(Path(self.path)) if self.path else _ours(self.name)
        except UsageError:
            return f"its prompt file {self.path} is gone; the library keeps what it said"
        if now is None or now == self.text:
            return ""
        where = f"its prompt file {self.path}" if self.path else "the prompt that comes with Aspectra"
        return f"{where} says something else by now; the library keeps what it said"


def _ours(name: str) -> str | None:
    return builtin_text(name) if name in BUILTIN_PROMPTS else None


def definitions(library: Store) -> dict[str, PromptedLens]:
    """Name -> lens, in the order in which they were added.

    Only the fields of a lens are read: a library cannot name a model's address or key.

    Raises:
        LibraryCorrupt: what the library holds is no list of lenses, or one has an impossible name.
    """
    raw = library.meta(LENSES_KEY)
    if not raw:
        return {}
    try:
        lenses = converted(json.loads(raw), list[PromptedLens])
    except (ValueError, RecursionError) as error:
        raise LibraryCorrupt("the library's list of lenses cannot be read", why=str(error)) from error
    for lens in lenses:
        if not _NAME.fullmatch(lens.name):  # names of files are made of it
            raise LibraryCorrupt(
                "the library's list of lenses cannot be read", why=f"{lens.name!r} is no name"
            )
    return {lens.name: lens for lens in lenses}


def usable(library: Store) -> dict[str, PromptedLens]:
    """The lenses whose prompt can be used; of the others ``aspectra lens status`` says what is wrong."""
    out = {}
    for name, lens in definitions(library).items():
        try:
            lens.prompt  # noqa: B018 (parsing is the question)
        except UsageError:
            continue
        out[name] = lens
    return out


def definition(library: Store, name: str) -> PromptedLens:
    """One lens.

    Raises:
        UsageError: the library has none of that name.
    """
    known = definitions(library)
    plain = name.strip().replace("-", "_")
    if plain in LENSES:
        raise UsageError(
            f"the lens {plain} is local",
            why="it needs no model, and is applied by aspectra index",
            hint=f"aspectra lens add {plain}, then aspectra index"
            if plain in optional_lenses()
            else "aspectra index",
        )
    if plain not in known:
        ours = f"; built in: {', '.join(BUILTIN_PROMPTS)}"
        raise UsageError(
            f"the library has no prompted lens {name!r}",
            why=("it has " + ", ".join(known) if known else "it has none") + ours,
            hint=f"aspectra lens add {plain}",
        )
    return known[plain]


def define(library: Store, writer: Writer, lens: PromptedLens) -> None:
    """Add a lens, or put it in the place of the one of the same name."""
    held = definitions(library)
    _keep(writer, {**held, lens.name: lens})


def undefine(library: Store, writer: Writer, name: str) -> None:
    """Take a lens out of the library's list; its values stay until they are removed."""
    _keep(writer, {key: lens for key, lens in definitions(library).items() if key != name})


def _keep(writer: Writer, lenses: Mapping[str, PromptedLens]) -> None:
    writer.set_meta(LENSES_KEY, json.dumps([asdict(lens) for lens in lenses.values()], ensure_ascii=False))
