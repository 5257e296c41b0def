"""The spelling of an encoder's argument, ``place?option=value&option=value``, and leave to read a folder."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl

from aspectra.base.errors import UsageError
from aspectra.base.trust import Permission


def split_argument(argument: str, known: Iterable[str], *, encoder: str) -> tuple[str, dict[str, str]]:
    r"""The place (model, directory) and the options of an encoder's argument.

    Values are percent-decoded (``%20`` is a space, ``%0A`` a line end); ``\n`` is a line end too, because
    prompts often need one and shells make it awkward. A ``+`` stays a plus sign.

    Args:
        argument: what follows the colon of ``name:argument``.
        known: names of the options that the encoder takes.
        encoder: name of the encoder, for messages.

    Raises:
        UsageError: an unknown or repeated option, or one without a value.

    >>> split_argument("some/model?query=query:%20", ["query"], encoder="x")
    ('some/model', {'query': 'query: '})
    """
    names = sorted(known)
    place, _, query = argument.partition("?")
    options: dict[str, str] = {}
    try:
        pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=bool(query))
    except ValueError as error:
        raise UsageError(
            f"cannot read the options {query!r} of encoder {encoder!r}",
            why=str(error),
            hint=f"write {encoder}:place?option=value&option=value",
        ) from error
    for name, value in pairs:
        if name not in names:
            raise UsageError(
                f"encoder {encoder!r} has no option {name!r}", why="known: " + (", ".join(names) or "none")
            )
        if name in options:
            raise UsageError(f"option {name!r} of encoder {encoder!r} is given twice")
        options[name] = value.replace("\\n", "\n")
    return place, options


def folder_permission(place: str, options: dict[str, str]) -> list[Permission]:
    """What an encoder needs that loads the model in the folder ``place``: nothing where none is named."""
    return [Permission.folder(place)] if place else []


def positive_int(options: dict[str, str], name: str, default: int) -> int:
    """The option ``name`` as a whole number of at least 1, or ``default`` where it is not given."""
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UsageError(f"option {name!r} must be a whole number of at least 1, not {text!r}")
    return int(text)


def yes_or_no(options: dict[str, str], name: str, default: bool) -> bool:
    """The option ``name``, ``yes`` or ``no``, or ``default`` where it is not given."""
    text = options.get(name)
    if text is None:
        return default
    if text not in {"yes", "no"}:
        raise UsageError(f"option {name!r} must be yes or no, not {text!r}")
    return text == "yes"
