"""Prompts are files: TOML with declared placeholders, named with a hash wherever they were used.

A prompt file says::

    placeholders = ["question", "papers"]
    system = "..."
    user = "... {{question}} ... {{papers}} ..."

Values are put in in one pass, so a value that looks like a placeholder stays what it is.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest_texts
from aspectra.llm.chat import Message

__all__ = ["Prompt", "criteria", "criterion", "rules"]

_PLACE = re.compile(r"\{\{(\w+)\}\}")
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
            Message("system", _PLACE.sub(lambda found: values[found[1]], self.system)),
            Message("user", _PLACE.sub(lambda found: values[found[1]], self.user)),
        )

    @classmethod
    def parse(cls, name: str, text: str) -> Prompt:
        """From the text of a prompt file.

        Raises:
            UsageError: not TOML, unknown keys, or placeholders that differ from the declared ones.
        """
        try:
            data = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UsageError(f"the prompt {name!r} is not valid TOML", why=str(error)) from error
        refuse_unknown(data, ("placeholders", "system", "user"), f"key in prompt {name!r}")
        declared = data.get("placeholders", [])
        system, user = data.get("system"), data.get("user")
        if not isinstance(system, str) or not isinstance(user, str) or not isinstance(declared, list):
            raise UsageError(
                f"the prompt {name!r} needs the texts system and user, and a list of placeholders"
            )
        used = set(_PLACE.findall(system)) | set(_PLACE.findall(user))
        if used != set(declared):
            odd = ", ".join(sorted(used ^ set(declared)))
            raise UsageError(f"prompt {name!r} uses other placeholders than it declares", why=odd)
        return cls(name, system.strip(), user.strip(), tuple(sorted(used)))

    @classmethod
    def load(cls, name: str, path: str = "", *, package: str = _HERE) -> Prompt:
        """The prompt called ``name``: of a package's folder ``prompts``, or the file at ``path``.

        Raises:
            UsageError: it cannot be read, or leaves out what every judge must be told.
        """
        return _from_file(name, path, package) if path else _ours(name, package)


@cache
def _from_file(name: str, path: str, package: str) -> Prompt:
    try:
        prompt = Prompt.parse(name, Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the prompt file {path} cannot be read", why=str(error)) from error
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
        UsageError: one word that names none.
    """
    known = criteria()
    if name in known:
        return known[name]
    if len(name.split()) > 1:
        return name
    raise UsageError(
        f"there is no criterion called {name!r}",
        why="known: " + ", ".join(sorted(known)),
        hint="or write a sentence",
    )
