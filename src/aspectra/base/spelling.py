"""One spelling for members of families on a line: ``name(option=value,...)``. It prints as it parses."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from aspectra.base.errors import UsageError, refuse_unknown

_PART = re.compile(r"\s*+([\w-]++)\s*+(?:\((.*)\))?\s*+", re.DOTALL)
_BARE = re.compile(r"\s*+(\w++)\s*+(?:,|$)")
_OPTION = re.compile(r"""\s*+(\w++)\s*+=\s*+("[^"]*"|'[^']*'|[^,"'\s]*+(?:\s++[^,"'\s]++)*+)\s*+(?:,|$)""")


def file_name(text: str) -> str:
    """A name for a file: letters and digits stay, all else becomes ``-``.

    >>> file_name("csfcube/method (pools)")
    'csfcube-method--pools-'
    """
    return "".join(c if c.isalnum() else "-" for c in text)


def split_line(text: str, sign: str) -> list[str]:
    """Parts of a line between signs that stand outside of brackets and quotes.

    >>> split_line('a(b="x|y")|c', "|")
    ['a(b="x|y")', 'c']
    """
    parts, depth, quote, start = [], 0, "", 0
    for at, here in enumerate(text):
        if quote:
            quote = "" if here == quote else quote
        elif here in "\"'":
            quote = here
        elif here == sign and depth == 0:
            parts.append(text[start:at])
            start = at + 1
        else:
            depth += (here == "(") - (here == ")")
    return [*parts, text[start:]]


def read_call(text: str, family: str) -> tuple[str, dict[str, str]]:
    """Name and options of ``name`` or ``name(option=value,...)``; a first one without a name is called "".

    Args:
        text: values with commas or brackets stand in quotes.
        family: what messages call it.

    >>> read_call("top(200)", "stage"), read_call('rerank(method="a(b=1)+c", depth=5)', "stage")
    (('top', {'': '200'}), ('rerank', {'method': 'a(b=1)+c', 'depth': '5'}))

    Raises:
        UsageError: it is not of that form.
    """
    found = _PART.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text!r} is no {family}", hint=f"write NAME or NAME(option=value), for the {family}"
        )
    name, inner = found[1], found[2] or ""
    bare = _BARE.match(inner)
    if bare is not None:
        return name, {"": bare[1], **_options(inner[bare.end() :], name)}
    return name, _options(inner, name)


def read_member(get: Callable[[str], Callable[..., Any]], text: str, family: str) -> Any:
    """The member that a spelling names, made with its options.

    Args:
        get: from a name to what makes the member; raises for names that are unknown.
        text: see :func:`read_call`; an option without a name is the one that the member declares as bare.
        family: what messages call it.

    Raises:
        UsageError: a name or an option is unknown, or a value of the wrong kind.
    """
    name, options = read_call(text, family)
    make = get(name)
    known = {f.name: f for f in dataclasses.fields(make) if f.init} if dataclasses.is_dataclass(make) else {}
    if "" in options and (bare := next((f for f in known if _is_bare(known[f])), None)):
        value = options.pop("")
        if bare in options:
            raise UsageError(f"the option {bare} of {family} {name!r} is given twice", hint="name it once")
        options = {bare: value, **options}
    refuse_unknown(options, known, f"option of {family} {name!r}")
    read = {key: _value(value, known[key].default, f"{name}({key}=...)") for key, value in options.items()}
    try:
        return make(**read)
    except TypeError as error:
        raise UsageError(f"{family} {name!r} cannot be named on a line", why=str(error)) from error


def _is_bare(field: Any) -> bool:
    """True if an option is written without its name, as in ``top(200)``."""
    return bool(field.metadata.get("bare"))


def _options(text: str, where: str) -> dict[str, str]:
    out: dict[str, str] = {}
    at = 0
    while text[at:].strip():
        found = _OPTION.match(text, at)
        if found is None or found.end() == at or found[1] in out:
            raise UsageError(
                f"cannot read the options ({text}) of {where!r}", hint=f"write {where}(name=value,...)"
            )
        value = found[2]
        out[found[1]] = value[1:-1] if value[:1] in ("'", '"') else value
        at = found.end()
    return out


def _value(text: str, default: Any, where: str) -> Any:
    """A text in the kind of an option's default."""
    if isinstance(default, bool):
        if text not in ("yes", "no"):
            raise UsageError(f"{where} must be yes or no, not {text!r}")
        return text == "yes"
    if isinstance(default, int | float):
        try:
            return type(default)(text)
        except ValueError as error:
            raise UsageError(f"{where} must be a number, not {text!r}") from error
    return text


def spell(member: Any) -> str:
    """The spelling of a member: its name, and the options that differ from their defaults."""
    parts = []
    for field in dataclasses.fields(member) if dataclasses.is_dataclass(member) else ():
        value = getattr(member, field.name)
        if not field.init or field.name == "name" or callable(value):
            continue
        if value == field.default and not _is_bare(field):
            continue
        if isinstance(value, bool):
            value = "yes" if value else "no"
        text = str(value)
        if re.search(r"""[,()+|"'\s]""", text):  # an inner spelling may have quotes of its own
            text = f"'{text}'" if '"' in text else f'"{text}"'
        parts.append(text if _is_bare(field) else f"{field.name}={text}")
    return f"{member.name}({','.join(parts)})" if parts else str(member.name)
