"""Where Zotero keeps its database, its files and its preferences on this computer.

Source: "Zotero Data Directory" and "Profile Directory" of Zotero's documentation: the data folder is
``~/Zotero`` unless the profile's ``prefs.js`` names another.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PREFERENCE = re.compile(r'^user_pref\("extensions\.zotero\.([A-Za-z.]+)", (.+)\);\s*$', re.M)
_LARGEST = 4 << 20  # bytes of a file of preferences


@dataclass(frozen=True)
class Places:
    """What was found; None for what was not.

    Attributes:
        database: ``zotero.sqlite``.
        data: the data folder, which has ``storage`` in it.
        base: the folder that linked files are relative to.
    """

    database: Path | None = None
    data: Path | None = None
    base: Path | None = None


def _profiles() -> Iterator[Path]:
    home = Path.home()
    roots = (
        home / ".zotero" / "zotero",
        home / "Library" / "Application Support" / "Zotero" / "Profiles",
        Path(os.environ.get("APPDATA", "")) / "Zotero" / "Zotero" / "Profiles",
    )
    for root in roots:
        if root.is_absolute():
            yield from sorted(root.glob("*/prefs.js"))


def _preferences() -> dict[str, str]:
    """The texts among Zotero's preferences; of several profiles the one that was used last."""
    found: dict[str, str] = {}
    for path in sorted(_profiles(), key=lambda p: p.stat().st_mtime):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_LARGEST)
        except OSError:
            continue
        for name, raw in _PREFERENCE.findall(text):
            try:
                value = json.loads(raw)
            except ValueError:
                continue
            if isinstance(value, str | bool):
                found[name] = value if isinstance(value, str) else str(value).lower()
    return found


def find_places(database: Path | None = None) -> Places:
    """The places of Zotero's files: those named by the user, by Zotero's preferences, or the usual ones.

    Args:
        database: ``zotero.sqlite``, or the folder it is in; searched for where None.
    """
    preferences = _preferences()
    based = Path(preferences.get("baseAttachmentPath", ""))
    base = based if based.is_absolute() and based.is_dir() else None
    if database is not None:
        file = database / "zotero.sqlite" if database.is_dir() else database
        return Places(file, file.parent, base)
    named = preferences.get("dataDir", "") if preferences.get("useDataDir", "true") == "true" else ""
    for folder in (Path(named), Path.home() / "Zotero"):
        if folder.is_absolute() and (folder / "zotero.sqlite").is_file():
            return Places(folder / "zotero.sqlite", folder, base)
    return Places(base=base)
