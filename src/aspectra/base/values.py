"""Values that cross a border (files, command line, JSON): frozen, checked when read."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import msgspec
from msgspec import Struct, structs
from msgspec.structs import force_setattr as force_setattr

from aspectra.base.errors import UsageError
from aspectra.base.files import digest

K = TypeVar("K")
T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import replace as replace  # what checks the names and kinds of fields
else:

    def replace(value: T, /, **changes: Any) -> T:
        """A copy of a struct or of a dataclass with other values in some fields."""
        return (structs if isinstance(value, Struct) else dataclasses).replace(value, **changes)


# TOML keys of so many parts take the parser the square of their number.
_DEEP_KEY = re.compile(r"""(?:[\w"'-]{1,60}[ \t]*\.[ \t]*){100}""")
_PREPARED: set[Any] = set()  # types that msgspec has seen
_PREPARING = threading.Lock()


def converted(data: Any, kind: type[T], *, strict: bool = True) -> T:
    """``msgspec.convert`` for any thread.

    msgspec analyses a type on first use; a second thread that uses it meanwhile reads memory that is not
    filled yet, and the process dies (msgspec 0.22).

    Raises:
        msgspec.ValidationError: the data do not fit the type.
    """
    if kind not in _PREPARED:
        with _PREPARING:
            msgspec.json.Decoder(kind)
        _PREPARED.add(kind)
    return msgspec.convert(data, kind, strict=strict)


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of plans, recipes, queries and the like.

    A subclass declares typed fields and, where a type does not say enough, checks them in ``__post_init__``.
    Build changed copies with :func:`replace`; within ``__post_init__`` normalise a field with
    :func:`force_setattr`.
    """

    def to_dict(self) -> dict[str, Any]:
        """JSON form; fields that have their default value are left out."""
        held: dict[str, Any] = _plain(self)
        return held

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`.

        Raises:
            UsageError: a field is unknown or has the wrong type; the message names the field.
        """
        try:
            return converted(data, cls)
        except (msgspec.ValidationError, UnicodeError, RecursionError) as error:
            raise UsageError(
                f"the {cls.__name__.lower()} cannot be read",
                why=str(error),
                hint="correct that field; `$.a.b` means the field b inside the field a",
            ) from error

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read JSON (if the first character is ``{``) or TOML.

        Raises:
            UsageError: as :meth:`from_dict`, or the text is neither.
        """
        try:
            if text.lstrip()[:1] == "{":
                loaded = json.loads(text)
            elif _DEEP_KEY.search(text):
                raise ValueError("a key has 100 parts or more")
            else:
                loaded = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                f"the {cls.__name__.lower()} is neither JSON nor TOML",
                why=str(error),
                hint="JSON begins with {, anything else is read as TOML",
            ) from error
        return cls.from_dict(loaded)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file, see :meth:`loads`."""
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the {cls.__name__.lower()} {path} cannot be read", why=str(error)) from error
        return cls.loads(text)

    def to_json(self) -> str:
        """:meth:`to_dict` as indented JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_toml(self) -> str:
        """:meth:`to_dict` as TOML."""
        import tomlkit  # slow to import, and only needed to write

        return tomlkit.dumps(self.to_dict())

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that change with any field."""
        return digest(self.to_dict())[:12]


def _plain(value: Any) -> Any:
    """A value as dicts, lists and scalars. (msgspec omits a default only where it is the same object.)"""
    if isinstance(value, msgspec.Struct):
        kind = type(value)
        first = len(kind.__struct_fields__) - len(kind.__struct_defaults__)
        plain = (*([msgspec.NODEFAULT] * first), *kind.__struct_defaults__)
        omit = kind.__struct_config__.omit_defaults
        held = [(name, getattr(value, name)) for name in kind.__struct_fields__]
        kept = zip(held, plain, strict=True)
        return {name: _plain(v) for (name, v), default in kept if not omit or v != default}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return msgspec.to_builtins(value)


def now() -> str:
    """This moment as it is written down: ISO 8601, UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Remembered(dict[str, T]):
    """Key -> ``compute(key)``; the first ``limit`` keys are kept.

    A key that is kept costs a dictionary's look-up, a third of what ``functools.lru_cache`` takes.
    """

    def __init__(self, compute: Callable[[str], T], limit: int = 100_000) -> None:
        super().__init__()
        self._compute = compute
        self._limit = limit

    def __missing__(self, key: str) -> T:
        value = self._compute(key)
        if len(self) < self._limit:
            self[key] = value
        return value


class LRUCache(Generic[K, T]):
    """Key -> what was computed for it, of the keys that were used last; for any thread.

    Nobody waits while a value is computed: two threads may compute the same one.
    """

    def __init__(self, limit: int) -> None:
        self._held: OrderedDict[K, T] = OrderedDict()
        self._limit, self._lock = limit, threading.Lock()

    def get(self, key: K, compute: Callable[[], T]) -> T:
        """The value of a key, computed where it is not held."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        value = compute()
        with self._lock:
            self._held[key] = value
            if len(self._held) > self._limit:
                self._held.popitem(last=False)
        return value
