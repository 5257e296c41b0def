"""Conversations: the turns of a prompt file, and the form in which it wants its reply.

A prompt file has two texts, ``system`` and ``user``, or turns. A turn with ``each = "paper"`` is said once
for every paper; neighbours that have it are said together. ``paper`` is one paper's line in ``{{papers}}``::

    placeholders = ["count", "question", "label", "title", "abstract"]
    names = {question = "query"}                  # what the file calls our place {{query}}
    reply = "text"                                # no JSON is asked for; "json": JSON of the file's own form
    keys = {new_query = "query"}                  # what its JSON calls our field
    max_tokens = 400
    repetition_penalty = 1.1

    [[turns]]
    role = "user"
    text = "Here are {{count}} papers on {{question}}."
    [[turns]]
    role = "user"
    each = "paper"
    text = "({{label}}) {{title}}: {{abstract}}"
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from aspectra.base.checking import check_choice, check_number, refuse_unknown
from aspectra.base.errors import UsageError
from aspectra.llm.chat import Message, Request, Role

LARGEST_PROMPT = 2**16  # bytes of a prompt; a key of many parts takes quadratic time to read
_PLACE = re.compile(r"\{\{(\w+)\}\}")
_OPEN = re.compile(r"\{\{.{0,40}")


def read_prompt(path: Path, what: str = "the prompt file") -> str:
    """The text of a prompt file, or of another that a lens is made of.

    Raises:
        UsageError: it is no plain file of at most 64 KiB in UTF-8, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe or a device may never end
            raise UsageError(f"{what} {path} cannot be read", why="it is no plain file")
        with path.open("rb") as source:
            raw = source.read(LARGEST_PROMPT + 1)
        if len(raw) > LARGEST_PROMPT:
            raise UsageError(f"{what} {path} cannot be read", why="it is larger than 64 KiB")
        return raw.decode("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} {path} cannot be read", why=str(error)) from error


def parse_prompt(what: str, text: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """The tables and values of a prompt file.

    Args:
        what: the prompt, for messages: ``the prompt 'pairwise'``.
        text: of the file.
        keys: that it may have.

    Raises:
        UsageError: not TOML, nested too deeply, too long, or an unknown key.
    """
    if len(text) > LARGEST_PROMPT:
        raise UsageError(f"{what} cannot be used", why="it is longer than 65,536 characters")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{what} is not valid TOML", why=str(error)) from error
    refuse_unknown(data, keys, f"key in {what}")
    return data


def check_places(what: str, declared: object, *texts: str) -> tuple[str, ...]:
    """The placeholders of some texts, sorted.

    Raises:
        UsageError: they are not those that are declared, or two opening braces begin something else.
    """
    used: set[str] = set()
    for text in texts:
        used.update(_PLACE.findall(text))
        if (odd := _OPEN.search(_PLACE.sub("", text))) is not None:
            raise UsageError(
                f"{what} holds {odd[0]!r}, which is no placeholder",
                why="a placeholder is a name between double braces, without spaces: {{paper}}",
            )
    names = {str(one) for one in declared} if isinstance(declared, list) else None
    if names is None:
        raise UsageError(f"{what} declares no list of placeholders", hint='placeholders = ["paper"]')
    if used != names:
        raise UsageError(
            f"{what} uses other placeholders than it declares", why=", ".join(sorted(used ^ names))
        )
    return tuple(sorted(used))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with the values of its placeholders.

    >>> fill("{{paper}} {{rules}}", {"paper": "{{rules}}", "rules": "Be brief."})
    '{{rules}} Be brief.'
    """
    return _PLACE.sub(lambda found: values[found[1]], text)


_OWN = ("keys", "max_tokens", "names", "paper", "repetition_penalty", "reply", "turns")
CONVERSATION_KEYS = ("placeholders", "system", "user", *_OWN)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: who says it, what, and whether it is said for each paper."""

    role: Role
    text: str
    each: bool = False


@dataclass(frozen=True)
class Conversation:
    """What a prompt file says.

    Attributes:
        turns: templates with ``{{placeholders}}``.
        places: all placeholders, sorted, under our names.
        paper: template of a paper's line; "" for JSON between fences.
        reply: ``text``, ``json`` of its own form, or "" for the form that the schema describes.
        keys: our name of a field of the reply -> its own.
        max_tokens: of the reply; 0 for what is usual.
        repetition_penalty: 0 for none.
        own: what a file of two turns alone does not say, for its hash; "" there.
    """

    turns: tuple[Turn, ...]
    places: tuple[str, ...]
    paper: str = ""
    reply: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    max_tokens: int = 0
    repetition_penalty: float = 0.0
    own: str = ""

    @property
    def plain(self) -> bool:
        """Whether papers are shown one a turn or one a line, without fences."""
        return any(turn.each for turn in self.turns) or (bool(self.paper) and "papers" in self.places)

    def repeats(self, text: str) -> bool:
        """Whether a text of a reply only repeats a placeholder: dots, or what the prompt has in quotes."""
        said = " ".join(text.split())
        dots = not any(map(str.isalnum, said))
        return bool(said) and (dots or any(f'"{said}"' in turn.text for turn in self.turns))

    def messages(
        self, values: Mapping[str, str], papers: Sequence[Mapping[str, str]] = ()
    ) -> tuple[Message, ...]:
        """The turns with values put in.

        Args:
            values: of the placeholders.
            papers: values of those that each paper has.
        """
        if self.paper:
            values = {**values, "papers": "\n".join(fill(self.paper, {**values, **one}) for one in papers)}
        said: list[Message] = []
        for each, group in groupby(self.turns, key=lambda turn: turn.each):
            turns = list(group)
            for one in papers if each else ({},):
                said += [Message(turn.role, fill(turn.text, {**values, **one})) for turn in turns]
        return tuple(said)

    def request(self, request: Request) -> Request:
        """A request with the form and the length of the reply that the file wants."""
        return replace(
            request,
            schema=None if self.reply else request.schema,
            max_tokens=self.max_tokens or request.max_tokens,
            repetition_penalty=self.repetition_penalty,
        )

    @classmethod
    def parse(cls, what: str, data: Mapping[str, Any]) -> Conversation:
        """From the table of a prompt file.

        Raises:
            UsageError: it has no turns, or a value that it cannot have; placeholders differ from those that
                are declared.
        """
        names, keys = (
            {str(k): str(v) for k, v in dict(data.get(one, {})).items()} for one in ("names", "keys")
        )
        told = data.get("turns", [{"role": role, "text": data.get(role)} for role in ("system", "user")])
        turns = [_turn(what, one, names) for one in told]
        paper = _ours(str(data.get("paper", "")), names)
        declared = data.get("placeholders", [])
        if isinstance(declared, list):
            declared = [names.get(str(one), one) for one in declared]
        places = check_places(what, declared, paper, *(turn.text for turn in turns))
        check_choice(data.get("reply", ""), ("", "json", "text"), "form of a reply")
        most, penalty = data.get("max_tokens", 0), data.get("repetition_penalty", 0.0)
        check_number("max_tokens", most, 0, 1_000_000)
        check_number("repetition_penalty", penalty, 0.0, 10.0)
        own = {name: data[name] for name in _OWN if name in data and name != "max_tokens"}
        fields = {ours: theirs.casefold() for theirs, ours in keys.items()}
        return cls(
            tuple(turns),
            places,
            paper,
            data.get("reply", ""),
            fields,
            most,
            penalty,
            repr(own) if own else "",
        )


def _turn(what: str, given: Any, names: Mapping[str, str]) -> Turn:
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise UsageError(f"{what} needs the texts system and user", why="or turns, each with its text")
    refuse_unknown(given, ("role", "text", "each"), f"key of a turn in {what}")
    check_choice(str(given.get("role")), ("system", "user", "assistant"), "role of a turn")
    check_choice(given.get("each", "paper"), ("paper",), "value of each")
    return Turn(given["role"], _ours(given["text"].strip(), names), "each" in given)


def _ours(text: str, names: Mapping[str, str]) -> str:
    """The text with our names for its places."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: f"{{{{{names.get(found[1], found[1])}}}}}", text)
