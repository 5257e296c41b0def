"""Prompt files: TOML texts with declared placeholders ``{{name}}``, and nothing else that is replaced.

A prompt file may come from somebody else. It is data: values are put in by one pass over the text, so that a
value that looks like a placeholder stays what it is, and a placeholder is a bare name: there is no
expression, attribute, index or format in it.
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError

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
