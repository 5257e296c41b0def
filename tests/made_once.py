"""Folders that are dear to make: made once a run, or once for many runs, and copied by tests that write."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".venv" / "kept"  # outside git, lost without harm


def _made(folder: Path, make: Callable[[Path], object]) -> Path:
    """The folder, made by the first of the processes that ask for it while the others wait."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        if os.name == "posix":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            make(part)
            part.rename(folder)
    return folder


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that ``make(folder)`` makes once a run, for all its workers."""
    base = factory.getbasetemp()
    return _made((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name, make)


def kept(
    name: str, code: Iterable[str], data: Iterable[Path], make: Callable[[Path], object] | None
) -> Path | None:
    """A folder that is made again only when what makes it changed: modules of rooms of src, or files of data.

    Args:
        name: of the folder; what was kept under it for other code or data is removed.
        code: folders of ``src/aspectra``.
        data: files that are read; their names, sizes and times count.
        make: makes the folder; without it, the answer is None where there is none.
    """
    sources = sorted(path for room in code for path in (ROOT / "src" / "aspectra" / room).rglob("*.py"))
    facts = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sources]
    facts += [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sorted(data)]
    folder = KEPT / f"{name}-{hashlib.sha256(' '.join(facts).encode()).hexdigest()[:16]}"
    for old in KEPT.glob(f"{name}-*"):
        if not old.name.startswith(folder.name):
            shutil.rmtree(old, ignore_errors=True)
    return _made(folder, make) if make or folder.exists() else None


def copy_of(library: Path, place: Path) -> Path:
    """A copy of a library that was made once, whatever other processes that read it write beside it."""
    return Path(shutil.copytree(library, place, ignore=shutil.ignore_patterns("*.db-shm", "*.db-wal")))
