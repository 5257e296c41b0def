"""Prompts are files: TOML with declared placeholders, named with a hash wherever they were used.

A prompt file says::

    placeholders = ["question", "papers"]
    system = "..."
    user = "... {{question}} ... {{papers}} ..."

or holds a conversation, see :mod:`aspectra.llm.prompts.conversation`. Besides our places there are plain
texts on one line: ``query`` (with those of ``about``, ``instruction`` and ``conditions`` behind it that have
no place), ``plain_notes``, and for each paper ``label``, ``text``, ``title`` and ``abstract``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest_texts
from aspectra.llm.chat import Message, Request
from aspectra.llm.prompts.conversation import CONVERSATION_KEYS, Conversation, parse_prompt, read_prompt
from aspectra.llm.prompts.data import refuse_marks
from aspectra.llm.prompts.plain_text import without_hidden

_HERE = "aspectra.search.rerank"
# A plain place -> what it stands for.
_INSTEAD = {"query": "question", "plain_notes": "notes", "text": "paper"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    Attributes:
        name: of the judge that it belongs to.
        talk: its turns, and how it wants its reply.
    """

    name: str
    talk: Conversation

    @property
    def placeholders(self) -> tuple[str, ...]:
        """All of them, sorted."""
        return self.talk.places

    @property
    def stamp(self) -> str:
        """Name and hash, as in ``listwise/3f2a90c1``: another wording is another stamp."""
        said = [*(turn.text for turn in self.talk.turns), rules(""), *filter(None, [self.talk.own])]
        return f"{self.name}/{digest_texts(said)[:8]}"

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The turns with values put in; values without a placeholder are left out.

        Args:
            values: of the placeholders; those of each paper are called ``each``.

        Raises:
            UsageError: a placeholder has no value.
        """
        if "query" in values:
            loose = [name for name in ("about", "instruction", "conditions") if name not in self.placeholders]
            values = {**values, "query": " ".join(filter(None, map(values.get, ("query", *loose))))}
        papers = values.get("each", ())
        if missing := sorted(set(self.placeholders) - set(values) - {name for one in papers for name in one}):
            raise UsageError(f"prompt {self.name!r} lacks {', '.join(missing)}")
        return self.talk.messages(values, papers)

    def request(self, values: Mapping[str, Any], **more: Any) -> Request:
        """The request that the prompt makes of the values.

        Args:
            values: see :meth:`messages`.
            more: what is usual for it; the length and the form of its reply are the file's where it says so.
        """
        return self.talk.request(Request(self.messages(values), prompt=self.stamp, **more))

    @classmethod
    def parse(cls, name: str, text: str) -> Prompt:
        """From the text of a prompt file.

        Raises:
            UsageError: not TOML, unknown keys, or placeholders that differ from the declared ones.
        """
        what = f"the prompt {name!r}"
        return cls(name, Conversation.parse(what, parse_prompt(what, text, CONVERSATION_KEYS)))

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
    # Ours says what must be told; how, and what is told beside it, is free. The rules are about fences.
    used = set(prompt.placeholders)
    fenced = used & ({"question", "paper"} if prompt.talk.plain else {"question", "paper", "papers"})
    used |= {_INSTEAD[one] for one in used & set(_INSTEAD)} | ({"papers"} if prompt.talk.plain else set())
    told = {"papers", "paper", "question", "notes", *(["rules"] if fenced else [])}
    if missing := sorted(told & set(_ours(name, package).placeholders) - used):
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
