"""Layered configuration: flag, then environment, then project file, then user file, then default.

Every value knows where it came from. A key nobody knows is an error, and so is a secret written into a file.
What keys there are is said by the caller; this module only knows how layers lie upon one another.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError

__all__ = ["PROJECT_FILE", "Config", "Key", "Value", "find_project_file", "parse_value", "read_file"]

PROJECT_FILE = "aspectra.toml"
_PREFIX = "ASPECTRA_"
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"", "0", "false", "no", "off"}
_SECRET_NAME = re.compile(r"(?:api_?key|access_?key|token|secret|password|passwd)$", re.I)
_SECRET_TEXT = re.compile(r"\b(?:sk|pk|hf|ghp|xox[a-z])[-_][A-Za-z0-9_-]{16,}")


@dataclass(frozen=True, slots=True)
class Key:
    """One setting.

    Attributes:
        name: dotted, as in ``search.limit``; the first part is the table of a TOML file.
        kind: ``str``, ``int``, ``float`` or ``bool``.
        default: its value where no layer sets it.
        help: one line for people.
        path: a text that names a file or folder; relative to the file it is written in.
        check: says what is wrong with a value, or "".
    """

    name: str
    kind: type
    default: Any
    help: str
    path: bool = False
    check: Callable[[Any], str] | None = None

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return _PREFIX + self.name.replace(".", "_").upper()


@dataclass(frozen=True, slots=True)
class Value:
    """A value and the layer it came from: flag, environment ASPECTRA_X, a file's path, or default."""

    value: Any
    origin: str


def find_project_file(start: Path) -> Path | None:
    """The nearest ``aspectra.toml`` in ``start`` or a folder above it."""
    for folder in (start, *start.parents):
        path = folder / PROJECT_FILE
        if path.is_file():
            return path
    return None


def parse_value(key: Key, value: Any, where: str, label: str = "") -> Any:
    """``value`` in the key's kind; texts are read as people write them (``yes``, ``20``).

    Args:
        key: the setting.
        value: as it was found.
        where: the layer, for the message.
        label: what the person wrote in place of the key's name, such as ``--limit``.

    Raises:
        UsageError: it cannot be read as that kind, or the key's check refuses it.
    """
    out = value
    try:
        if key.kind is bool and isinstance(value, str):
            if value.strip().lower() not in _TRUE | _FALSE:
                raise ValueError(value)
            out = value.strip().lower() in _TRUE
        elif isinstance(value, str) and key.kind in (int, float):
            out = key.kind(value.strip())
        elif key.kind is float and isinstance(value, int) and not isinstance(value, bool):
            out = float(value)
        elif type(value) is not key.kind:
            raise ValueError(value)
    except ValueError as error:
        names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        raise UsageError(
            f"{label or key.name} must be {names[key.kind]}, not {value!r}", why=f"set in {where}"
        ) from error
    if key.check and (problem := key.check(out)):
        raise UsageError(f"{label or key.name} {problem}", why=f"set in {where}")
    return out


def read_file(path: Path, keys: Sequence[Key]) -> dict[str, Any]:
    """Name -> value of a TOML file; texts that are paths are made relative to the file's folder.

    Raises:
        UsageError: not TOML, an unknown key, a wrong kind, or a secret.
    """
    try:
        loaded = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration {path} cannot be read", why=str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the configuration {path} is not valid TOML", why=str(error)) from error
    known = {key.name: key for key in keys}
    out = {}
    for name, value in _flatten(loaded):
        _refuse_secret(name, value, path)
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            raise UsageError(
                f"unknown key {name!r} in {path}",
                why="known: " + ", ".join(sorted(known)),
                hint=f"did you mean {near[0]}?" if near else "",
            )
        read = parse_value(known[name], value, str(path))
        if known[name].path and read:
            read = str(path.parent / Path(read).expanduser())
        out[name] = read
    return out


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _refuse_secret(name: str, value: Any, path: Path) -> None:
    texts = [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
    named = _SECRET_NAME.search(name) and any(texts)
    if named or any(_SECRET_TEXT.search(text) for text in texts):
        raise UsageError(
            f"{path} holds a secret under {name!r}",
            why="keys are never read from files, which get copied and committed",
            hint="delete the line, change the key, and put it into the environment, as OPENAI_API_KEY",
        )


class Config:
    """All settings with their origins.

    Args:
        keys: what may be set.
        flags: name -> value given on the command line; None means not given.
        environ: environment variables.
        project: the project's file, or None.
        user: the user's file; it need not exist.

    Raises:
        UsageError: any layer holds something that cannot be used.
    """

    def __init__(
        self,
        keys: Sequence[Key],
        *,
        flags: Mapping[str, Any],
        environ: Mapping[str, str],
        project: Path | None,
        user: Path | None,
    ) -> None:
        self.keys = {key.name: key for key in keys}
        self.project = project
        self.user = user
        self._values = {key.name: Value(key.default, "default") for key in keys}
        for path in (user, project):
            if path is not None:
                for name, value in read_file(path, keys).items():
                    self._values[name] = Value(value, str(path))
        for key in keys:
            if environ.get(key.variable, ""):
                where = f"environment {key.variable}"
                self._values[key.name] = Value(parse_value(key, environ[key.variable], where), where)
        for name, value in flags.items():
            if value is not None:
                flag = f"--{name.rpartition('.')[2]}"
                read = parse_value(self.keys[name], value, "the command line", flag)
                self._values[name] = Value(read, "flag")

    def __getitem__(self, name: str) -> Any:
        return self._values[name].value

    def origin(self, name: str) -> str:
        """Which layer set it."""
        return self._values[name].origin

    def items(self) -> Iterator[tuple[Key, Value]]:
        """Every key with its value, in the order of the keys."""
        for name, key in self.keys.items():
            yield key, self._values[name]
