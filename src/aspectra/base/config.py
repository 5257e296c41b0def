"""Layered settings: flag, then environment, then project file, then user file, then default.

A settings class declares every setting once, with its type, limits, description and default (see
:func:`setting`). Each value keeps its origin. An unknown key is an error, and so is a secret in a file. A
project's file may come with somebody else's work: what it names is used like the rest, but
:meth:`Config.claimed` tells it from what the user set.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct

from aspectra.base.errors import UsageError, did_you_mean, unknown_name
from aspectra.base.values import Value

PROJECT_FILE = "aspectra.toml"
_PREFIX = "ASPECTRA_"
_WORDS = {"yes": "true", "on": "true", "no": "false", "off": "false", "": "false"}
_SECRET_NAME = re.compile(r"(?:api_?key|access_?key|token|secret|password|passwd)$", re.I)
_SECRET_TEXT = re.compile(r"\b(?:sk|pk|hf|ghp|xox[a-z])[-_][A-Za-z0-9_-]{16,}")

S = TypeVar("S", bound=Value)


def setting(about: str, *, path: bool = False, guard: bool = False, **limits: float) -> Any:
    """Describe a field of a settings class, as an annotation of its type.

    Args:
        about: one line for people.
        path: the text names a file or folder; one in a file is relative to that file's folder.
        guard: where the user's own file says true, a project's file cannot say false.
        limits: ``ge``, ``gt``, ``le`` or ``lt``, for numbers.
    """
    make: Any = msgspec.Meta
    return make(description=about, extra={"path": path, "guard": guard}, **limits)


class Key(Struct, frozen=True):
    """One setting, as its class declares it.

    Attributes:
        name: dotted, as in ``search.limit``; the first part is the table of a TOML file.
        kind: its type, with limits.
        default: its value where no layer sets it.
        help: one line for people.
        path: whether it names a file or folder.
        guard: see :func:`setting`.
    """

    name: str
    kind: Any
    default: Any
    help: str
    path: bool
    guard: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return _PREFIX + self.name.replace(".", "_").upper()

    @property
    def lists(self) -> bool:
        """True if it is a table that the user fills: name -> names, or name -> folder."""
        return get_origin(get_args(self.kind)[0]) is dict

    def placed(self, value: Any, folder: Path) -> Any:
        """A value that is a path, or a table of paths, relative to a folder; an empty one stays empty."""
        if isinstance(value, dict):
            return {name: self.placed(one, folder) for name, one in value.items()}
        return str(folder / Path(value).expanduser()) if value else value

    @property
    def in_words(self) -> str:
        """Allowed values in words: ``a whole number, 0 or more``."""
        kind, meta = get_args(self.kind)
        if self.lists and self.path:
            return 'a table of folders, as { mine = "~/papers/mine.lib" }'
        if self.lists:
            return 'a table of lists, as { ml = ["NeurIPS", "ICML"] }'
        if get_origin(kind) is Literal:
            return "one of " + ", ".join(get_args(kind))
        named = {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, "text")
        limits = (("", meta.ge, " or more"), ("more than ", meta.gt, ""), ("at most ", meta.le, ""))
        return ", ".join([named, *(f"{a}{limit}{b}" for a, limit, b in limits if limit is not None)])


def keys_of(kind: type[Value], prefix: str = "") -> Iterator[Key]:
    """The settings of a class and of the classes inside it, in the order of their declaration."""
    for field in msgspec.structs.fields(kind):
        if isinstance(field.default, Value):
            yield from keys_of(field.type, f"{prefix}{field.encode_name}.")
        else:
            meta = get_args(field.type)[1]
            extra: dict[str, bool] = meta.extra
            default = {} if field.default is msgspec.NODEFAULT else field.default
            yield Key(f"{prefix}{field.encode_name}", field.type, default, meta.description, **extra)


def find_key(keys: Mapping[str, Key], name: str, where: str = "") -> Key:
    """The setting called ``name``.

    Raises:
        UsageError: no setting has this name; the message suggests the nearest.
    """
    if name not in keys:
        what = f"unknown key {name!r} in {where}" if where else f"there is no setting {name!r}"
        # The last part alone counts too: "limit" means "search.limit".
        last = {full.rpartition(".")[2]: full for full in keys}
        raise unknown_name(what, name, keys, last)
    return keys[name]


def find_project_file(start: Path) -> Path | None:
    """The nearest ``aspectra.toml`` in ``start`` or a folder above it."""
    return next((f / PROJECT_FILE for f in (start, *start.parents) if (f / PROJECT_FILE).is_file()), None)


def parse_value(key: Key, value: Any, where: str, label: str = "") -> Any:
    """``value`` in the key's type; text is read as people write it (``yes``, ``20``).

    Args:
        key: the setting.
        value: as it was found.
        where: the layer, for the message.
        label: what the person wrote in place of the key's name, such as ``--limit``.

    Raises:
        UsageError: it is not of that type, or out of its limits.
    """
    given = value
    if isinstance(value, str) and key.lists:
        with contextlib.suppress(tomllib.TOMLDecodeError):
            value = given = tomllib.loads(f"given = {value}")["given"]
    elif isinstance(value, str) and get_args(key.kind)[0] is not str:
        given = value.strip()
        given = _WORDS.get(given.lower(), given) if get_args(key.kind)[0] is bool else given
    try:
        return msgspec.convert(given, key.kind, strict=not isinstance(value, str))
    except msgspec.ValidationError as error:
        what = f"{label or key.name} must be {key.in_words}, not {value!r}"
        choices = () if key.lists else get_args(get_args(key.kind)[0])
        raise UsageError(what, why=f"set in {where}", hint=did_you_mean(str(value), choices)) from error


def read_file(path: Path, keys: Mapping[str, Key]) -> dict[str, Any]:
    """Name -> value of a TOML file; texts that are paths are made relative to the file's folder.

    Raises:
        UsageError: not TOML, an unknown key, a wrong type, or a secret.
    """
    try:
        loaded = list(_flatten(tomllib.loads(path.read_text(encoding="utf-8-sig")), keys))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the configuration {path} cannot be read", why=str(error)) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"the configuration {path} is not valid TOML", why=str(error)) from error
    out = {}
    for name, value in loaded:
        _refuse_secret(name, value, path)
        key = find_key(keys, name, str(path))
        read = parse_value(key, value, str(path))
        out[name] = key.placed(read, path.parent) if key.path else read
    return out


def _flatten(
    table: Mapping[str, Any], keys: Mapping[str, Key], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        known = keys.get(f"{prefix}{name}")
        if isinstance(value, dict) and not (known and known.lists):
            yield from _flatten(value, keys, f"{prefix}{name}.")
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


class Config(Generic[S]):
    """All settings with their origins.

    Args:
        kind: the settings class.
        flags: name -> value given on the command line; None means not given.
        environ: environment variables.
        project: the project's file, or None.
        user: the user's file; it need not exist.
        named: whether the user named the project's file in this call, and it was not found in a folder.

    Attributes:
        settings: the values, as an instance of the class.
        keys: name -> what is declared about it.

    Raises:
        UsageError: a layer holds something that cannot be used.
    """

    def __init__(
        self,
        kind: type[S],
        *,
        flags: Mapping[str, Any],
        environ: Mapping[str, str],
        project: Path | None,
        user: Path | None,
        named: bool = False,
    ) -> None:
        self.keys = {key.name: key for key in keys_of(kind)}
        self.project = project
        self.user = user
        values = {name: (key.default, "default") for name, key in self.keys.items()}
        for path in (user, project):
            if path is None:
                continue
            for name, read in read_file(path, self.keys).items():
                if not (self.keys[name].guard and path is project and not named and values[name][0]):
                    values[name] = (read, str(path))
        for name, key in self.keys.items():
            if text := environ.get(key.variable, ""):
                where = f"environment {key.variable}"
                values[name] = (parse_value(key, text, where), where)
        for name, value in flags.items():
            if value is not None:
                key = find_key(self.keys, name)
                flag = f"--{name.rpartition('.')[2]}"
                values[name] = (parse_value(key, value, "the command line", flag), "flag")
        self._values = values
        self._named = named
        nested: dict[str, Any] = {}
        for name, (value, _) in values.items():
            table, _, last = name.rpartition(".")
            (nested.setdefault(table, {}) if table else nested)[last] = value
        self.settings = kind.from_dict(nested)

    def origin(self, name: str) -> str:
        """Layer that set it: ``flag``, ``environment ASPECTRA_X``, a file's path, or ``default``."""
        return self._values[name][1]

    def claimed(self, name: str) -> bool:
        """True if a project's file set it that the user did not name and that may be somebody else's."""
        return not self._named and self.origin(name) == str(self.project)

    def items(self) -> Iterator[tuple[Key, Any]]:
        """Every key with its value, in the order of declaration."""
        for name, key in self.keys.items():
            yield key, self._values[name][0]
