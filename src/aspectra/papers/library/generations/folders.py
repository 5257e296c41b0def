"""Immutable index generations beside ``library.db``, switched by one atomic rename.

A generation is a folder of plain arrays and JSON that can be rebuilt from the database at any time. It is
written under a temporary name, every file is flushed, the folder is renamed, and then the file ``CURRENT``
is replaced: a reader sees the old generation or the new one, never a mixture, and keeps the one it opened.
``CURRENT`` holds the generation's name and the checksum of its manifest; the manifest holds those of all
other files.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from xxhash import xxh3_64, xxh3_64_hexdigest

from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.base.files import digest, disk, make_folder, state_file, write_durably
from aspectra.base.values import converted
from aspectra.papers.library.folder.lock import locked, try_lock

# Checksums of a generation's files: one each, in the manifest, whose sum is in ``CURRENT``. One changed bit
# anywhere breaks the chain. The sums are xxh3 (64 bits), which finds damage and runs at the speed of memory;
# they do not withstand somebody who makes a file to match.

FileSum = tuple[int, str]  # size of a file in bytes, and its checksum


def checksum(content: bytes) -> str:
    """Sum of a small file: 16 hexadecimal digits."""
    return xxh3_64_hexdigest(content)


def file_sum(path: Path) -> FileSum:
    """Size and sum of a file; reads all of it."""
    with path.open("rb") as stream:
        content = hashlib.file_digest(stream, xxh3_64).hexdigest()
        return stream.tell(), content


# Of generations; 1 had no checksums that a reader could use, 2 finished weights of words and no segments, 3
# checksums of blocks.
FORMAT = 4
_REBUILD = "aspectra index --rebuild"
_MANIFEST = "manifest.json"
_BUILDING, _REMOVING, _POINTING = ".building-", ".removing-", ".CURRENT."
_POINTER = re.compile(r"([0-9]{6,}) ([0-9a-f]{16})\n")
_OLD_POINTER = re.compile(r"[0-9]{6,}\n?")  # of format 1
_PLAIN = re.compile(r"[^/\\\0]+(/[^/\\\0]+)*")  # a file's name below its folder
# Errors of the machine or of permissions, which say nothing about the file.
_NOT_DAMAGE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EPERM}


class _Format(msgspec.Struct):
    format: int


class _Manifest(_Format):
    """The fields of a manifest of this format, with their types."""

    papers: int
    revision: int
    settings: dict[str, Any]
    views: dict[str, dict[str, Any]]
    lenses: dict[str, dict[str, Any]]
    files: dict[str, FileSum]


def damaged(what: str, error: Exception | str) -> AspectraError:
    """The error for a file of a generation that cannot be used, and how to make it again.

    Args:
        what: the failure without its reason: ``years.npy of the index cannot be read``.
        error: the reason. Too many open files and missing permissions are not damage.
    """
    if isinstance(error, OSError) and error.errno in _NOT_DAMAGE:
        reason = error.strerror or str(error)
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return AspectraError("too many open files", why=what, hint="raise the limit: ulimit -n 1024")
        return AspectraError(what, why=reason, hint="check who owns the folder, and free memory")
    why = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return LibraryCorrupt(what, why=why, hint=_REBUILD)


class Generations:
    """The generations of one library.

    Args:
        folder: the library's directory; ``generations/`` below it is made when needed.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "generations"
        self._expected: dict[str, str] = {}  # generation -> checksum of its manifest, as CURRENT had it

    def current(self) -> Path | None:
        """Folder of the current generation, or None before the first ``index``.

        Raises:
            LibraryCorrupt: ``CURRENT`` is damaged or names a generation that is not there, or one of an
                older format.
        """
        pointer = self.root / "CURRENT"
        try:
            text = pointer.read_bytes().decode("ascii")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise damaged(f"{pointer} cannot be read", error) from error
        found = _POINTER.fullmatch(text)
        if found is None:
            if _OLD_POINTER.fullmatch(text):
                raise LibraryCorrupt(
                    "the index was built by an older Aspectra",
                    why="it has no checksums to verify what is read",
                    hint="aspectra index",
                )
            raise damaged(f"{pointer} is damaged", "it holds no name and checksum of a generation")
        path = self.root / found[1]
        if not (path / _MANIFEST).is_file():
            raise damaged(f"the index generation {path.name!r} is missing", f"{pointer} names it")
        self._expected[path.name] = found[2]
        return path

    def manifest(self, path: Path) -> dict[str, Any]:
        """The manifest of a generation that :meth:`current` gave, verified.

        Raises:
            LibraryCorrupt: it is damaged or was written by a newer version.
        """
        what = f"the manifest of the index generation {path.name} is damaged"
        if path.name not in self._expected:
            self.current()
        try:
            content = (path / _MANIFEST).read_bytes()
        except OSError as error:
            raise damaged(what, error) from error
        if checksum(content) != self._expected.get(path.name):
            raise damaged(what, "it is not what was written")
        try:
            loaded: dict[str, Any] = json.loads(content)
            found = converted(loaded, _Format).format
            if found > FORMAT:
                raise LibraryCorrupt(
                    "the index was built by a newer Aspectra", hint="pip install --upgrade aspectra"
                )
            if found < FORMAT:
                raise LibraryCorrupt(
                    "the index was built by an older Aspectra",
                    why=f"its format is {found}, this version reads {FORMAT}; papers and vectors are kept",
                    hint="aspectra index",
                )
            facts = converted(loaded, _Manifest)
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise damaged(what, error) from error
        if not all(_PLAIN.fullmatch(name) and ".." not in name.split("/") for name in facts.files):
            raise damaged(what, "it names files outside its folder")
        return loaded

    def check(self, path: Path, manifest: dict[str, Any]) -> dict[str, FileSum]:
        """Check that the files of a generation are as they were written; returns name -> size and sum.

        A file is read once on a machine, and again where it was replaced or written since. Which ones were
        read is kept in the user's own state, since a library may be on a medium that is only read.

        Raises:
            LibraryCorrupt: a file is missing, or has changed since it was written.
        """
        files = {name: (size, content) for name, (size, content) in manifest["files"].items()}
        memory = state_file(f"index-{digest(os.path.abspath(self.root))[:16]}.json")
        known, checked = _known(memory), {}
        for name, written in files.items():
            what = f"{path.name}/{name} of the index cannot be read"
            try:
                found = (path / name).stat()
                stamp = f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"
                if found.st_size != written[0]:
                    raise damaged(what, f"it has {found.st_size:,} bytes, {written[0]:,} were written")
                if known.get(stamp) != written[1] and file_sum(path / name) != written:
                    raise damaged(what, "it has changed since it was written")
            except OSError as error:
                raise damaged(what, error) from error
            checked[stamp] = written[1]
        if checked.items() - known.items():
            with contextlib.suppress(OSError):  # then they are read again the next time
                make_folder(memory.parent)
                write_durably(memory, json.dumps(checked))
        return files

    def hold(self, path: Path) -> int:
        """Keep a generation on disk while a reader uses it; returns a descriptor, to be closed at the end.

        The system frees the hold when the reader's process ends, however it ends.

        Raises:
            LibraryCorrupt: the generation is gone, or is being removed.
        """
        what = f"the index generation {path.name} cannot be opened"
        try:
            descriptor = os.open(path / _MANIFEST, os.O_RDONLY)
        except OSError as error:
            raise damaged(what, error) from error
        # A file without a name was removed between the two calls.
        if not try_lock(descriptor, shared=True) or not os.fstat(descriptor).st_nlink:
            os.close(descriptor)
            raise damaged(what, "another process is removing it")
        return descriptor

    @contextlib.contextmanager
    def build(self) -> Iterator[Path]:
        """A temporary folder to write into; readers do not see it before :meth:`publish`."""
        make_folder(self.root)
        self._clean()
        path = self.root / f"{_BUILDING}{os.getpid()}"
        disk().make_folder(path)
        try:
            with locked(path):  # so that it is told from what a killed process left
                yield path
        finally:
            if path.exists():
                with contextlib.suppress(OSError):  # of the same cause as the error under way
                    disk().remove(path)

    def building(self) -> bool:
        """True if another process is building a generation."""
        for path in self.root.glob(f"{_BUILDING}*") if self.root.is_dir() else ():
            with locked(path) as free:
                if not free:
                    return True
        return False

    def leftovers(self) -> list[Path]:
        """Unfinished generations, half removed ones, and pointers to none, of processes that were killed."""
        out = []
        for path in sorted(self.root.glob(".*")) if self.root.is_dir() else ():
            if path.name.startswith((_BUILDING, _REMOVING, _POINTING)):
                with locked(path) as free:
                    out += [path] if free else []
        return out

    def _clean(self) -> None:
        for left in self.leftovers():
            with contextlib.suppress(FileNotFoundError):  # another process is removing it, too
                disk().remove(left)

    def share(
        self,
        path: Path,
        manifest: dict[str, Any],
        building: Path,
        leave_out: str = "",
        only: Collection[str] | None = None,
    ) -> dict[str, FileSum]:
        """Give a new generation the files of another one, by hard links; returns their sums.

        Where the file system has no hard links they are copied: a copy has the sums of what was written, so
        that damage is found in it as in the other one.

        Args:
            path: of the other generation.
            manifest: of it.
            building: folder of the new one.
            leave_out: how the names of files begin that are not taken.
            only: names of the files that are taken; default: all others.
        """
        linked = {}
        for name, (size, content) in manifest["files"].items():
            if (leave_out and name.startswith(leave_out)) or (only is not None and name not in only):
                continue
            target = building / name
            target.parent.mkdir(parents=True, exist_ok=True)
            linked[name] = (size, content)
            if not disk().link(path / name, target):
                with (path / name).open("rb") as source, disk().create(target) as stream:
                    shutil.copyfileobj(source, stream)
                disk().sync(target)
        return linked

    def flush(
        self, building: Path, linked: Mapping[str, FileSum] = MappingProxyType({})
    ) -> dict[str, FileSum]:
        """Sum and flush the files in ``building``: what takes long, and needs no lock.

        Args:
            building: the folder.
            linked: sums of the files of :meth:`share`: those are on the disk already.
        """
        files = sorted(p for p in building.rglob("*") if p.is_file())
        names = {path: path.relative_to(building).as_posix() for path in files}
        sums = {name: linked.get(name) or file_sum(path) for path, name in names.items()}
        for path, name in names.items():
            if name not in linked:
                disk().sync(path)
        for folder in sorted({p.parent for p in files} - {building}, reverse=True):
            disk().sync_folder(folder)
        return sums

    def switch(
        self, building: Path, manifest: dict[str, Any], sums: Mapping[str, FileSum]
    ) -> tuple[Path, list[Path]]:
        """Switch to the generation in ``building``; only for the writer of the library.

        Returns its final folder, and what :meth:`retire` put away then.

        Args:
            building: the folder, after :meth:`flush`.
            manifest: what :class:`_Manifest` names, but for the files and their sums.
            sums: of the files.
        """
        try:
            before = self.current()
        except LibraryCorrupt:
            before = None
        numbers = (int(p.name) for p in self.root.iterdir() if p.name.isdecimal())
        number = 1 + max(numbers, default=0)
        full = {"generation": number, **manifest, "files": sums}
        content = json.dumps(full, indent=1, ensure_ascii=False).encode("utf-8")
        with disk().create(building / _MANIFEST) as stream:
            stream.write(content)
        disk().sync(building / _MANIFEST)
        disk().sync_folder(building)
        target = self.root / f"{number:06d}"
        disk().replace(building, target)
        disk().sync_folder(self.root)
        pointer = self.root / "CURRENT"
        if pointer.is_dir():  # nothing that was written here, and a file cannot replace it
            disk().remove(pointer)
        try:
            write_durably(pointer, f"{target.name} {checksum(content)}\n")
        except OSError:
            with contextlib.suppress(OSError, AspectraError):
                if self.current() != target:  # the disk may have failed after the switch
                    disk().remove(target)
            raise
        self._expected[target.name] = checksum(content)
        return target, self.retire(keep=() if before is None else (before.name,))

    def publish(
        self, building: Path, manifest: dict[str, Any], linked: Mapping[str, FileSum] = MappingProxyType({})
    ) -> Path:
        """:meth:`flush` and :meth:`switch`, one after the other; returns the final folder."""
        target, retired = self.switch(building, manifest, self.flush(building, linked))
        self.remove(retired)
        return target

    def prune(self) -> None:
        """Remove generations that nobody holds, and leftovers; only for the writer of the library."""
        self._clean()
        self.remove(self.retire())

    def retire(self, keep: Collection[str] = ()) -> list[Path]:
        """Put away the generations that nobody holds; returns what can be removed without the writer's lock.

        Args:
            keep: names of those that stay beside the current one: its predecessor, which readers may be
                about to open. Empty: the newest of the others stays.
        """
        current = self.current()
        others = sorted((p for p in self.root.iterdir() if p.name.isdecimal() and p != current), key=_number)
        kept = keep or [p.name for p in others if current and _number(p) < _number(current)][-1:]
        out = []
        for old in others:
            if old.name in kept:
                continue
            with locked(old / _MANIFEST) as free, contextlib.suppress(OSError):
                if free:  # and no reader can take hold of it before it is gone
                    gone = old.with_name(f"{_REMOVING}{old.name}")
                    disk().replace(old, gone)
                    out.append(gone)
        return out

    @staticmethod
    def remove(retired: Iterable[Path]) -> None:
        """Remove what :meth:`retire` put away; what cannot be removed is a leftover."""
        for gone in retired:
            with contextlib.suppress(OSError):
                disk().remove(gone)

    def verify(self, path: Path, *, content: bool = True) -> list[str]:
        """Problems of a generation: missing, resized or changed files; empty when all is well.

        Args:
            path: of the generation.
            content: read all files; only their sizes are compared without.
        """
        problems = []
        for name, (size, content_sum) in self.manifest(path)["files"].items():
            file = path / name
            try:
                found = file.stat().st_size if file.is_file() else -1
                if found < 0:
                    problems.append(f"{name} is missing")
                elif found != size:
                    problems.append(f"{name} has {found:,} bytes, {size:,} were written")
                elif content and file_sum(file) != (size, content_sum):
                    problems.append(f"{name} has changed since it was written")
            except OSError as error:
                problems.append(f"{name} cannot be read: {error.strerror or error}")
        return problems


def _known(memory: Path) -> dict[str, str]:
    """Stamp of a file -> its sum when it was read last."""
    try:
        return {**json.loads(memory.read_bytes())}
    except (OSError, ValueError, TypeError):
        return {}


def _number(path: Path) -> int:
    return int(path.name)
