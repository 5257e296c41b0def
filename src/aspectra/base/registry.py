"""Registries: one per family of plug-ins, filled by the family's package or by entry points."""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aspectra.base.errors import UsageError, unknown_name

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
        for module in [module for module, last in self._waiting.items() if last == alike]:
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
