"""Immutable index generations beside ``library.db``, switched by one atomic rename.

A generation is a folder of plain arrays and JSON that can be rebuilt from the database at any time. It is
written under a temporary name, every file is flushed, the folder is renamed, and then the file ``CURRENT``
is replaced: a reader sees the old generation or the new one, never a mixture, and keeps the one it opened.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aspectra.base.errors import LibraryCorrupt

__all__ = ["Generations"]

_KEEP = 2  # the current one and its predecessor, for readers that are about to open it
_CHUNK = 1 << 20


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            value = zlib.crc32(block, value)
    return value


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, *, shared: bool) -> bool:
    """Whether the file could be locked; True also where the system has no such locks."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _in_use(path: Path) -> bool:
    """Whether a reader holds the generation, see :meth:`Generations.hold`."""
    try:
        descriptor = os.open(path / "manifest.json", os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _lock(descriptor, shared=False)
    finally:
        os.close(descriptor)


class Generations:
    """The generations of one library.

    Args:
        folder: the library's directory; ``generations/`` below it is made when needed.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "generations"

    def current(self) -> Path | None:
        """Folder of the current generation, or None before the first ``index``."""
        try:
            name = (self.root / "CURRENT").read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        path = self.root / name
        if not name or "/" in name or "\\" in name or not (path / "manifest.json").is_file():
            raise LibraryCorrupt(
                f"the index generation {name!r} is missing",
                why=f"{self.root / 'CURRENT'} names it",
                hint="aspectra index --rebuild",
            )
        return path

    def manifest(self, path: Path) -> dict[str, Any]:
        """The manifest of a generation."""
        try:
            loaded = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LibraryCorrupt(
                f"the manifest of the index generation {path.name} is damaged",
                why=str(error),
                hint="aspectra index --rebuild",
            ) from error
        if not isinstance(loaded, dict):
            raise LibraryCorrupt(f"the manifest of {path.name} is damaged", hint="aspectra index --rebuild")
        return loaded

    def hold(self, path: Path) -> int:
        """Keep a generation on disk while a reader uses it; returns a descriptor, to be closed at the end.

        The system frees the hold when the reader's process ends, however it ends.

        Raises:
            LibraryCorrupt: the generation is gone.
        """
        try:
            descriptor = os.open(path / "manifest.json", os.O_RDONLY)
        except OSError as error:
            raise LibraryCorrupt(
                f"the index generation {path.name} cannot be opened",
                why=error.strerror or str(error),
                hint="aspectra index --rebuild",
            ) from error
        _lock(descriptor, shared=True)
        return descriptor

    @contextlib.contextmanager
    def build(self) -> Iterator[Path]:
        """A temporary folder to write into; readers do not see it before :meth:`publish`."""
        self.root.mkdir(parents=True, exist_ok=True)
        for left in self.root.glob(".building-*"):  # of a writer that was killed; we hold its lock now
            shutil.rmtree(left, ignore_errors=True)
        path = self.root / f".building-{os.getpid()}"
        path.mkdir()
        try:
            yield path
        finally:
            if path.exists():
                shutil.rmtree(path, ignore_errors=True)

    def publish(self, building: Path, manifest: dict[str, Any]) -> Path:
        """Checksum, flush and switch to the generation in ``building``; returns its final folder."""
        files = sorted(p for p in building.rglob("*") if p.is_file())
        sums = {}
        for path in files:
            sums[path.relative_to(building).as_posix()] = [path.stat().st_size, _checksum(path)]
            _flush(path)
        number = 1 + max((int(p.name) for p in self.root.iterdir() if p.name.isdigit()), default=0)
        target = self.root / f"{number:06d}"
        full = {"generation": number, **manifest, "files": sums}
        manifest_path = building / "manifest.json"
        manifest_path.write_text(json.dumps(full, indent=1, ensure_ascii=False), encoding="utf-8")
        _flush(manifest_path)
        building.rename(target)
        pointer = self.root / ".CURRENT.new"
        pointer.write_text(target.name + "\n", encoding="utf-8")
        _flush(pointer)
        pointer.replace(self.root / "CURRENT")
        if os.name == "posix":
            _flush(self.root)
        self._prune(target)
        return target

    def _prune(self, current: Path) -> None:
        numbered = sorted((p for p in self.root.iterdir() if p.name.isdigit()), reverse=True)
        for old in [p for p in numbered if p != current][_KEEP - 1 :]:
            if not _in_use(old):
                shutil.rmtree(old, ignore_errors=True)

    def verify(self, path: Path) -> list[str]:
        """Problems of a generation: missing, resized or changed files; empty when all is well."""
        problems = []
        for name, (size, crc) in self.manifest(path).get("files", {}).items():
            file = path / name
            if not file.is_file():
                problems.append(f"{name} is missing")
            elif file.stat().st_size != size:
                problems.append(f"{name} has {file.stat().st_size:,} bytes, {size:,} were written")
            elif _checksum(file) != crc:
                problems.append(f"{name} has changed since it was written")
        return problems
