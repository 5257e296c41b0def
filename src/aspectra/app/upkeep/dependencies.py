"""What the installed package depends on: versions, licences, sizes."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from aspectra.base.values import Value

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"\bextra\b")


class Dependency(Value, frozen=True):
    """An installed distribution.

    Attributes:
        name: as its own metadata write it.
        version: installed.
        licence: as its metadata state it, "" where they do not.
        needed_by: the distributions that require it, sorted.
        size: bytes of its files.
    """

    name: str
    version: str
    licence: str
    needed_by: tuple[str, ...]
    size: int


def dependencies(root: str = "aspectra") -> list[Dependency]:
    """Everything that an installed distribution requires, directly or not, by name; extras left out.

    Args:
        root: a distribution; it is not in the list.

    Raises:
        importlib.metadata.PackageNotFoundError: ``root`` is not installed.
    """
    found: dict[str, metadata.Distribution] = {}
    needed_by: dict[str, set[str]] = {}
    waiting = [metadata.distribution(root)]
    while waiting:
        one = waiting.pop()
        for requirement in one.requires or ():
            named, _, marker = requirement.partition(";")
            match = _NAME.match(named)
            if match is None or _EXTRA.search(marker):
                continue
            key = re.sub(r"[-_.]+", "-", match[0]).lower()
            if key not in found:
                try:
                    found[key] = metadata.distribution(match[0])
                except metadata.PackageNotFoundError:  # needed on other systems or other Pythons
                    continue
                waiting.append(found[key])
            needed_by.setdefault(key, set()).add(one.metadata["Name"])
    return [
        Dependency(
            name=one.metadata["Name"],
            version=one.version,
            licence=_licence(one.metadata),
            needed_by=tuple(sorted(needed_by[key])),
            size=_bytes(one),
        )
        for key, one in sorted(found.items())
    ]


def _licence(facts: metadata.PackageMetadata) -> str:
    """The licence expression, else the licence classifiers, else the first line of the licence field."""
    classifiers = [c for c in facts.get_all("Classifier") or [] if c.startswith("License ::")]
    stated = facts.get_all("License-Expression") or [c.rpartition(" :: ")[2] for c in classifiers]
    return ", ".join(stated) or "".join(facts.get_all("License") or []).partition("\n")[0]


def installed_size(name: str) -> int:
    """Bytes of the files of an installed distribution.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed.
    """
    return _bytes(metadata.distribution(name))


def _bytes(one: metadata.Distribution) -> int:
    files = (Path(str(one.locate_file(file))) for file in one.files or ())
    return sum(file.stat().st_size for file in files if file.is_file())
