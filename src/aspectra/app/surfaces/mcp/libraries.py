"""The libraries that are served, each by its name; one is opened when it is first used."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aspectra.app.surfaces.service.answering import Service
from aspectra.app.terminal.screen import safe
from aspectra.base.errors import NoSuchThing, UsageError
from aspectra.base.trust import Permission, require

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.app.settings import Settings
    from aspectra.base.config import Config

_LONGEST_NAME = 64
_MOST = 50


class Libraries:
    """Services by name.

    Args:
        folders: name -> folder of a library.
        opening: opens the library of a folder.
        held: services that are there already, by name; they are not closed here.
    """

    def __init__(
        self,
        folders: Mapping[str, Path],
        opening: Callable[[Path], Library],
        held: Mapping[str, Service] | None = None,
    ) -> None:
        self._folders, self._opening = dict(folders), opening
        self._held = dict(held or {})
        self._opened: dict[str, Service] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of the settings."""
        return tuple(dict.fromkeys((*self._folders, *self._held)))

    def get(self, name: str) -> Service:
        """The service of a library.

        Raises:
            NoSuchThing: none has that name.
            LibraryNotFound: its folder holds none.
            LibraryCorrupt: it is damaged.
        """
        if name in self._held:
            return self._held[name]
        if name not in self._folders:
            raise NoSuchThing(
                f"no library is called {name[:_LONGEST_NAME]!r}", hint=f"library: {', '.join(self.names)}"
            )
        with self._lock:
            if name not in self._opened:
                self._opened[name] = Service(self._opening(self._folders[name]))
            return self._opened[name]

    def close(self) -> None:
        """Close the libraries that were opened here."""
        with self._lock:
            for service in self._opened.values():
                service.close()
            self._opened.clear()


def listed_libraries(config: Config[Settings], library: Path) -> dict[str, Path]:
    """Name -> folder of what is served: the setting ``libraries``, or else the one library in use.

    Args:
        config: the settings with their origins.
        library: folder of the library in use.

    Raises:
        UsageError: a name cannot be used, or two are of one library.
        NotTrusted: a project's file names a library outside of its folder, and the user permits it not.
    """
    named = config.settings.libraries
    found = {name: Path(folder).expanduser() for name, folder in named.items()}
    if not named:
        found = {safe(library.name, one_line=True)[:_LONGEST_NAME] or "library": library}
    if len(found) > _MOST:
        raise UsageError(f"{len(found)} libraries are listed", why=f"at most {_MOST} are served together")
    places: dict[str, str] = {}
    for name, folder in found.items():
        if not name.strip() or name != safe(name, one_line=True) or len(name) > _LONGEST_NAME:
            raise UsageError(
                "a library's name cannot be used",
                why=f"{name[:200]!r} must be 1 to {_LONGEST_NAME} characters on one line",
                hint="correct the setting libraries",
            )
        place = os.path.realpath(folder)
        if other := places.get(place):
            raise UsageError(f"{other} and {name} are the same library", hint="list it once")
        places[place] = name
    if config.project is not None and config.claimed("libraries" if named else "library"):
        inside = os.path.realpath(config.project.parent)
        for place in places:
            if not Path(place).is_relative_to(inside):
                require(Permission.folder(place, "library"), f"the project's {config.project}")
    return {name: Path(os.path.abspath(folder)) for name, folder in found.items()}
