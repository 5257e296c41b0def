"""Registries, one per family of plug-ins; and the one spelling of their members.

A registry is filled by the family's package or by entry points. On a line a member is
``name(option=value,...)``, which prints as it parses.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aspectra.base.errors import UsageError, refuse_unknown, unknown_name

if TYPE_CHECKING:
    from importlib import metadata

T = TypeVar("T")


class Registry(Generic[T]):
    """Named members of a family (sources, encoders, planners ...).

    A member is one module in the family's package (or in a sub-package of it) that registers itself; nothing
    else names it. Modules whose names begin with ``_`` are never members. Third parties register members with
    the decorator, and name the module (or the member) in an entry point of the group ``aspectra.<family>``.

    Args:
        family: singular noun used in messages and in the entry point group, such as ``"source"``.
        package: dotted name of the package that holds the members; "" for a family without one.
    """

    def __init__(self, family: str, package: str | None = "") -> None:
        self.family = family
        self.package = package or ""
        self._members: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that adds a member under ``name``; a second, different one is an error."""

        def add(member: T) -> T:
            known = self._members.get(name)
            if known is not None and known is not member:
                raise UsageError(f"two {self.family}s are called {name!r}")
            self._members[name] = member
            return member

        return add

    @cached_property
    def _plugged(self) -> dict[str, metadata.EntryPoint]:
        return {point.name: point for point in _entry_points(f"aspectra.{self.family}")}

    @cached_property
    def _waiting(self) -> dict[str, str]:
        """Modules of the package that were not imported yet: dotted name -> last part."""
        return dict(_modules_of(self.package)) if self.package else {}

    def _import(self, module: str) -> None:
        importlib.import_module(module)
        self._waiting.pop(module, None)

    def _find(self, name: str) -> bool:
        """True if there is a member of this name; imports its module."""
        if name in self._members:
            return True
        # The module named like the member first: one import instead of a whole family's.
        alike = name.replace("-", "_")
        for module, last in self._waiting.copy().items():  # another thread may import one meanwhile
            if last == alike:
                self._import(module)
        if name not in self._members and name in self._plugged:
            try:
                self._members.setdefault(name, self._plugged[name].load())
            except Exception as error:
                raise UsageError(
                    f"the {self.family} {name} cannot be loaded",
                    why=f"it comes from {self._plugged[name].value}: {type(error).__name__}: {error}",
                    hint="update or uninstall the package that brings it",
                ) from error
        if name not in self._members:
            self._import_all()
        return name in self._members

    def _import_all(self) -> None:
        for module in list(self._waiting):
            self._import(module)

    def names(self) -> list[str]:
        """All names, sorted. Imports the family's modules, not those of third parties."""
        self._import_all()
        return sorted({*self._members, *self._plugged})

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._plugged or self._find(name))

    def get(self, name: str) -> T:
        """The member called ``name``.

        Raises:
            UsageError: no such member; the message suggests the nearest names.
        """
        if not self._find(name):
            raise unknown_name(f"there is no {self.family} called {name!r}", name, self.names())
        return self._members[name]

    def read(self, text: str) -> Any:
        """The member that a spelling names, made with its options; see :func:`read_member`."""
        return read_member(self.get, text, self.family)


@cache
def _may_plug_in() -> bool:
    """True if an installed package may have an entry point of ours; ``metadata`` would take 40 ms."""
    if sum(hasattr(finder, "find_distributions") for finder in sys.meta_path) > 1:
        return True  # packages lie elsewhere too
    for folder in dict.fromkeys(sys.path):
        try:
            with os.scandir(folder or ".") as entries:
                names = [
                    entry.path
                    for entry in entries
                    if entry.name.endswith((".dist-info", ".egg-info", ".egg"))
                ]
        except FileNotFoundError:
            continue
        except OSError:
            return True  # an archive
        for name in names:
            if name.endswith(".egg"):
                return True
            with contextlib.suppress(OSError), open(f"{name}/entry_points.txt", "rb") as file:
                if b"[aspectra." in file.read():
                    return True
    return False


@cache
def _all_entry_points() -> Any:  # of another class before Python 3.12
    from importlib import metadata

    return metadata.entry_points()  # reads a file of every installed package: once for all families


def _entry_points(group: str) -> Iterable[metadata.EntryPoint]:
    found: Iterable[metadata.EntryPoint] = _all_entry_points().select(group=group) if _may_plug_in() else ()
    return found


def _modules_of(package: str) -> Iterator[tuple[str, str]]:
    """(dotted name, last part) of a package's modules, sub-packages included."""
    for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = f"{package}.{info.name}"
        if info.name.startswith("_"):
            continue
        if info.ispkg:
            yield from _modules_of(module)
        elif info.name != "protocol":
            yield module, info.name


# Members on a line.

_PART = re.compile(r"\s*+([\w-]++)\s*+(?:\((.*)\))?\s*+", re.DOTALL)
_BARE = re.compile(r"\s*+(\w++)\s*+(?:,|$)")
_OPTION = re.compile(r"""\s*+(\w++)\s*+=\s*+("[^"]*"|'[^']*'|[^,"'\s]*+(?:\s++[^,"'\s]++)*+)\s*+(?:,|$)""")


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


def read_member(get: Callable[[str], Any], text: str, family: str) -> Any:
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
