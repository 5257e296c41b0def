"""Registries: one per family of plug-ins, filled by decorator or by entry point."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Generic, TypeVar

from aspectra.base.errors import UsageError

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Named members of a family (sources, encoders, planners ...).

    Members inside the package are named with the module that holds them, so that a registry can list
    every name without importing heavy modules. Third parties add members by the decorator, or by an
    entry point in the group ``aspectra.<family>``.

    Args:
        family: singular noun used in messages and in the entry point group, such as ``"source"``.
        builtin: name -> module whose import registers that name.
    """

    def __init__(self, family: str, builtin: dict[str, str] | None = None) -> None:
        self.family = family
        self._builtin = dict(builtin or {})
        self._members: dict[str, T] = {}
        self._entry_points: dict[str, metadata.EntryPoint] | None = None

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that adds a member under ``name``; a second, different one is an error."""

        def add(member: T) -> T:
            known = self._members.get(name)
            if known is not None and known is not member:
                raise UsageError(f"two {self.family}s are called {name!r}")
            self._members[name] = member
            return member

        return add

    def _plugged(self) -> dict[str, metadata.EntryPoint]:
        if self._entry_points is None:
            group = f"aspectra.{self.family}"
            self._entry_points = {point.name: point for point in metadata.entry_points(group=group)}
        return self._entry_points

    def names(self) -> list[str]:
        """All names, sorted, without importing any member."""
        return sorted({*self._builtin, *self._members, *self._plugged()})

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self._members or name in self._builtin or name in self._plugged()

    def get(self, name: str) -> T:
        """The member called ``name``.

        Raises:
            UsageError: no such member; the message suggests the nearest names.
        """
        if name not in self._members:
            if name in self._builtin:
                importlib.import_module(self._builtin[name])
            elif name in self._plugged():
                loaded = self._plugged()[name].load()
                self._members.setdefault(name, loaded)
        if name not in self._members:
            near = difflib.get_close_matches(name, self.names(), n=3)
            hint = "did you mean " + " or ".join(near) + "?" if near else ""
            raise UsageError(
                f"there is no {self.family} called {name!r}",
                why="known: " + ", ".join(self.names()),
                hint=hint,
            )
        return self._members[name]
