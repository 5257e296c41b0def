"""Prompts are files: TOML with declared placeholders, named with a hash wherever they were used.

A prompt file says::

    placeholders = ["question", "papers"]
    system = "..."
    user = "... {{question}} ... {{papers}} ..."

See :mod:`aspectra.llm.prompts.template`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest_texts
from aspectra.llm.chat import Message
from aspectra.llm.prompts.data import refuse_marks
from aspectra.llm.prompts.plain_text import without_hidden
from aspectra.llm.prompts.template import check_places, fill, parse_prompt, read_prompt

__all__ = ["Prompt", "criteria", "criterion", "rules"]

_HERE = "aspectra.search.rerank"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt of two turns.

    Attributes:
        name: of the judge that it belongs to.
        system, user: templates with ``{{placeholders}}``.
        placeholders: all of them, sorted.
    """

    name: str
    system: str
    user: str
    placeholders: tuple[str, ...]

    @property
    def stamp(self) -> str:
        """Name and hash, as in ``listwise/3f2a90c1``: another wording is another stamp."""
        return f"{self.name}/{digest_texts([self.system, self.user, rules('')])[:8]}"

    def messages(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The two turns with values put in; values without a placeholder are left out.

        Raises:
            UsageError: a placeholder has no value.
        """
        if missing := sorted(set(self.placeholders) - set(values)):
            raise UsageError(f"prompt {self.name!r} lacks {', '.join(missing)}")
        return (
            Message("system", fill(self.system, values)),
            Message("user", fill(self.user, values)),
        )

    @classmethod
    def parse(cls, name: str, text: str) -> Prompt:
        """From the text of a prompt file.

        Raises:
            UsageError: not TOML, unknown keys, or placeholders that differ from the declared ones.
        """
        what = f"the prompt {name!r}"
        data = parse_prompt(what, text, ("placeholders", "system", "user"))
        system, user = data.get("system"), data.get("user")
        if not isinstance(system, str) or not isinstance(user, str):
            raise UsageError(f"{what} needs the texts system and user")
        used = check_places(what, data.get("placeholders", []), system, user)
        return cls(name, system.strip(), user.strip(), used)

    @classmethod
    def load(cls, name: str, path: str = "", *, package: str = _HERE) -> Prompt:
        """The prompt called ``name``: of a package's folder ``prompts``, or the file at ``path``.

        Raises:
            UsageError: it cannot be read, or leaves out what every judge must be told.
        """
        return _from_file(name, path, package) if path else _ours(name, package)


@cache
def _from_file(name: str, path: str, package: str) -> Prompt:
    prompt = Prompt.parse(name, read_prompt(Path(path)))
    # Ours says what must be told; how, and what is told beside it, is free.
    told = {"papers", "question", "rules", "notes"} & set(_ours(name, package).placeholders)
    if missing := sorted(told - set(prompt.placeholders)):
        raise UsageError(f"the prompt file {path} has no place for {', '.join(missing)}")
    return prompt


@cache
def _ours(name: str, package: str = _HERE) -> Prompt:
    return Prompt.parse(name, (files(package) / "prompts" / f"{name}.toml").read_text("utf-8"))


def rules(fence: str) -> str:
    """What every judge is told about texts behind a fence."""
    return " ".join(_ours("rules").messages({"fence": fence})[1].content.split())


@cache
def criteria() -> Mapping[str, str]:
    """Name -> sentence of every criterion that we know by name."""
    return {
        name: " ".join(text.split())
        for name, text in tomllib.loads(
            (files(_HERE) / "prompts" / "criteria.toml").read_text("utf-8")
        ).items()
    }


def criterion(name: str) -> str:
    """The sentence of a named criterion; a text of more than one word is its own.

    Raises:
        UsageError: one word that names none, or a text with a mark of a chat template.
    """
    known = criteria()
    if name in known:
        return known[name]
    if len(name.split()) > 1:
        refuse_marks(name, "the criterion")
        return without_hidden(name)[0]
    raise UsageError(
        f"there is no criterion called {name!r}",
        why="known: " + ", ".join(sorted(known)),
        hint="or write a sentence",
    )
