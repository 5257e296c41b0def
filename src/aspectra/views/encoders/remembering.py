"""Small facts remembered between processes in the user's cache folder.

Everything here may be lost at any time: a missing, damaged or unwritable cache only costs the time to
find the fact again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from aspectra.base.hashing import digest


def cache_dir() -> Path:
    """``ASPECTRA_CACHE_DIR``, or the platform's cache folder for this user."""
    named = os.environ.get("ASPECTRA_CACHE_DIR")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_cache_dir("aspectra", appauthor=False))


def recall(key: dict[str, Any]) -> dict[str, Any] | None:
    """The fact remembered under ``key``, or None where there is none that can be read."""
    try:
        entry = json.loads((cache_dir() / f"{digest(key)}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: no home directory can be found
        return None
    # The key is stored beside its value, so that a file copied or cut by accident is not believed.
    if not isinstance(entry, dict) or entry.get("key") != key or not isinstance(entry.get("value"), dict):
        return None
    value: dict[str, Any] = entry["value"]
    return value


def remember(key: dict[str, Any], value: dict[str, Any]) -> None:
    """Remember ``value`` under ``key``; written whole or not at all, and never an error."""
    temporary = ""
    try:
        folder = cache_dir()
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump({"key": key, "value": value}, out)
        Path(temporary).replace(folder / f"{digest(key)}.json")
    except (OSError, RuntimeError):
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def content_hash(path: Path) -> str:
    """BLAKE2b (128 bits) of a file's content, computed once per (path, size, time of change).

    Raises:
        OSError: the file cannot be read.
    """
    stat = path.stat()
    key = {"hash of": str(path.resolve()), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    known = recall(key)
    if known is not None and isinstance(known.get("blake2b"), str):
        return str(known["blake2b"])
    with path.open("rb") as source:
        found = hashlib.file_digest(source, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    remember(key, {"blake2b": found})
    return found
