"""The checks of ``doctor``, which report and never raise; repairs; the packages that are needed."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from aspectra.app.library import Library, open_library
from aspectra.base.display import Progress, quiet
from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.base.files import disk, make_folder, state_file, write_durably
from aspectra.base.values import Value
from aspectra.base.version import OURSELVES, __version__
from aspectra.papers.library.copies.backup import REPAIRING, restore, salvage
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.papers.library.generations.folders import Generations
from aspectra.papers.library.row_sums import damaged
from aspectra.papers.library.shards import Collection
from aspectra.papers.library.store import Store

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
            size=installed_size(one),
        )
        for key, one in sorted(found.items())
    ]


def _licence(facts: metadata.PackageMetadata) -> str:
    """The licence expression, else the licence classifiers, else the first line of the licence field."""
    classifiers = [c for c in facts.get_all("Classifier") or [] if c.startswith("License ::")]
    stated = facts.get_all("License-Expression") or [c.rpartition(" :: ")[2] for c in classifiers]
    return ", ".join(stated) or "".join(facts.get_all("License") or []).partition("\n")[0]


def installed_size(one: metadata.Distribution) -> int:
    """Bytes of the files of an installed distribution."""
    files = (Path(str(one.locate_file(file))) for file in one.files or ())
    return sum(file.stat().st_size for file in files if file.is_file())


_PACKAGES = tuple("numpy PyStemmer tokenizers openvino pypdfium2 bibtexparser PyYAML lxml typer rich".split())
_EXTRAS = ("torch", "sentence-transformers", "httpx", "pandas")
_KEY = "OPENAI_API_KEY"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report.

    Attributes:
        name: what was checked.
        state: ``ok``, ``note`` (worth knowing) or ``bad``.
        text: what was found.
        hint: what to do about it, or "".
    """

    name: str
    state: str
    text: str
    hint: str = ""


def examine(path: Path, *, verify: bool) -> list[Check]:
    """All checks.

    Args:
        path: the library, which need not exist.
        verify: read every byte of it.
    """
    system = f"{__version__} on Python {platform.python_version()}, {platform.platform()}"
    extras = [f"{name} {version}" for name in _EXTRAS if (version := _version(name))]
    key = f"{_KEY} set in the environment (hidden)" if os.environ.get(_KEY) else ""
    return [
        Check("aspectra", "ok", system),
        _packages(),
        Check("optional", "ok", ", ".join(extras) or "none (torch, openai, pandas are extras)"),
        _weights(),
        *_library(path, verify),
        Check("keys", "ok", key or "none set, none needed for local search"),
    ]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _packages() -> Check:
    found = {name: _version(name) for name in _PACKAGES}
    lacking = [name for name, version in found.items() if not version]
    text = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    if lacking:
        text = f"missing: {', '.join(lacking)}"
        return Check("packages", "bad", text, "pip install --force-reinstall aspectra")
    return Check("packages", "ok", text)


def _weights() -> Check:
    from aspectra.views.encoders.minilm import MiniLM, find_model

    try:
        encoder = MiniLM(find_model())
        dtype = encoder.runtime.dtype
    except AspectraError as error:
        return Check("encoder", "note", f"minilm: {error.what}", error.hint)
    except Exception as error:  # a broken installation must not break the doctor
        text = f"minilm does not run: {error}"
        return Check("encoder", "bad", text, "pip install --force-reinstall openvino")
    place = f"{encoder.dimensions} dimensions, {encoder.max_tokens} tokens"
    return Check("encoder", "ok", f"minilm: weights found, {place}, computes in {dtype} on this processor")


def _library(path: Path, verify: bool) -> list[Check]:

    if not (path / "library.db").exists():
        return [Check("library", "note", f"none at {path}", "aspectra init"), _hosts([])]
    try:
        with Store(path) as library:
            checks = [_database(library, verify), _writable(path), *_leftovers(library)]
            index, views = _index(library, verify)
            stored: dict[str, set[str]] = {}
            for view in views:
                stored.setdefault(view["encoder"], set()).add(view["fingerprint"])
            fingerprints = [_fingerprint(spec, stored[spec]) for spec in sorted(stored)]
            return [*checks, index, *fingerprints, _hosts(sorted(stored))]
    except AspectraError as error:
        return [_failed("library", error)]
    except Exception as error:  # any other damage
        return [Check("library", "bad", f"{path}: {error}", "restore it from a copy")]


def _database(library: Store, verify: bool) -> Check:
    count = len(library)
    if verify and (problems := library.check()):
        text = f"{library.database}: {'; '.join(problems[:3])}"
        return Check("library", "bad", text, "restore it from a copy")
    how = "verified" if verify else "opens (--verify reads every byte)"
    return Check("library", "ok", f"{library.folder}: {count:,} papers, {how}")


def _writable(path: Path) -> Check:
    fine = os.access(path, os.W_OK) and os.access(path / "library.db", os.W_OK)
    return Check("write", "ok" if fine else "note", "can be written" if fine else f"{path} is read-only")


def _leftovers(library: Store) -> list[Check]:
    left = [path.name for path in library.generations.leftovers()]
    text = f"left by a run that was stopped: {', '.join(left)}"
    return [Check("index", "note", text, "aspectra index")] if left else []


def _index(library: Store, verify: bool) -> tuple[Check, list[Mapping[str, Any]]]:
    """Check the index; also returns its views that have an encoder."""
    folder = library.generations.current()
    if folder is None:
        return Check("index", "note", "none yet", "aspectra index"), []
    manifest = library.generations.manifest(folder)
    problems = library.generations.verify(folder, content=verify)
    if problems:
        text = f"generation {folder.name}: {'; '.join(problems[:3])}"
        return Check("index", "bad", text, "aspectra index --rebuild"), []
    how = "checksums verified" if verify else "files complete"
    text = f"generation {folder.name}, {manifest.get('papers', 0):,} papers, {how}"
    return Check("index", "ok", text), [v for v in manifest.get("views", {}).values() if v.get("encoder")]


def _fingerprint(spec: str, stored: set[str]) -> Check:
    """Compare an encoder with the fingerprints of the views that it made."""
    from aspectra.base.trust import allows
    from aspectra.views.encoders.protocol import load_encoder, needs_of

    try:
        if lacking := [needed for needed in needs_of(spec) if not allows(needed)]:
            text = f"{spec} is not loaded: {lacking[0].deed}, which you have not permitted"
            return Check("views", "note", text, f"if you trust it: {lacking[0].command}")
        installed = load_encoder(spec).fingerprint
    except AspectraError as error:
        return Check("views", "bad", f"{spec}: {error.what}", error.hint)
    if stored != {installed}:
        versions = f"index {min(stored)[:12]}, installed {installed[:12]}"
        return Check("views", "bad", f"built by another version of {spec} ({versions})", "aspectra index")
    return Check("views", "ok", f"{spec}: fingerprint {installed[:12]} matches the index")


def _hosts(specs: list[str]) -> Check:
    from aspectra.base.trust import allows
    from aspectra.views.encoders.protocol import load_encoder, needs_of

    hosts = set()
    for spec in specs:
        with contextlib.suppress(AspectraError):
            if all(map(allows, needs_of(spec))):
                hosts.add(load_encoder(spec).remote)
    contacted = sorted(host for host in hosts if host)
    if not contacted:
        return Check("network", "ok", "no host would be contacted")
    offline = os.environ.get("ASPECTRA_OFFLINE", "") not in ("", "0")
    refused = " (refused: offline)" if offline else ""
    return Check("network", "note", f"texts are sent to {', '.join(contacted)}{refused}")


def _failed(name: str, error: AspectraError) -> Check:
    return Check(name, "bad", f"{error.what}{': ' + error.why if error.why else ''}", error.hint)


# Making again what can be: ``doctor --repair``, a library out of a backup, indexing beside other work.


def restore_library(
    file: Path | str, folder: Path | str, *, replace: bool = False, progress: Progress = quiet
) -> Library:
    """Restore a library and its index from a backup; nothing is encoded again.

    Args:
        file: a backup by :meth:`Library.backup`, or a copy of a ``library.db``.
        folder: of the library; made where it does not exist.
        replace: also where there is a library with papers. Its database is kept in the folder, as
            ``library.db.replaced-1``.
        progress: called with (step, done, total).

    Returns:
        The library, opened.

    Raises:
        BadInput: ``file`` is not a backup, or is damaged.
        UsageError: the folder has a library with papers and ``replace`` is False.
        LibraryBusy: another process is writing to the library.
        AspectraError: the index could not be built, as an encoder is not installed; the papers are there.
    """
    from aspectra.views.build.work import SETTINGS_KEY

    path = Path(folder).expanduser()
    restore(Path(file), path, replace=replace)
    library = open_library(path)
    if library.store.meta(SETTINGS_KEY):  # else it was never indexed
        try:
            library.index(rebuild=True, progress=progress)
        except BaseException:
            library.close()
            raise
    return library


_NICE = 10


def index_later(library: Path, *words: str) -> subprocess.Popen[bytes] | None:
    """Start ``aspectra index`` on a library and go on; returns the process, None where none can be started.

    It takes the processor when nobody else does, ends by itself, and writes nothing to the terminal.

    Args:
        library: its folder.
        words: options of the command, as ``--merge``.
    """
    command = [sys.executable, *OURSELVES, "--library", os.path.abspath(library), "index", *words]
    flags = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
    try:
        return subprocess.Popen(  # noqa: S603 - this program itself
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=flags,
        )
    except OSError:
        return None


def yield_to_others() -> None:
    """Lower this process's priority, where the system has such a call."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(_NICE)


_LEFT = (".library.db.new*", REPAIRING)  # beside unfinished generations


def repair(path: Path, *, progress: Progress = quiet) -> list[Check]:
    """Repair a library; returns what was done, and what could not be.

    Removed: what killed commands left, and derived values of papers that are gone. Made again: a damaged
    database whose papers are sound, from them; an index that is missing or damaged. Papers are never dropped.

    Args:
        path: of the library.
        progress: called with (step, done, total).

    Raises:
        LibraryNotFound: there is none.
        LibraryBusy: another process is writing.
    """
    done = _remove_leftovers(path)
    changed = False
    try:
        collection = Collection.of(path)
        for folder in [path] if collection is None else [path / name for name in collection.shards]:
            if folder != path:
                done += _remove_leftovers(folder)
            changed |= _repair_database(folder, done)
        with Store(path) as library:
            if library.shards and (problems := library.check()):
                raise damaged(problems[0])
            done += _indexed(library, progress, changed=changed)
    except LibraryCorrupt as error:
        done.append(_failed("repair", error))
    return done or [Check("repair", "ok", "nothing to repair")]


def _repair_database(path: Path, done: list[Check]) -> bool:
    """Repair the database of a library, or of one shard; returns whether it was damaged.

    Raises:
        LibraryCorrupt: papers in it are damaged.
    """
    with Store(path) as library:
        problems = library.check()
        if problems:
            kept, left_out, marks = salvage(library)
            text = f"made again from its papers ({problems[0]}); the damaged one is {kept}"
            if left_out:
                text += f"; {left_out} derived values were left out, the next index makes them again"
            done.append(Check("repair", "ok", text))
            if marks:
                named = ", ".join(marks[:5]) + (" and others" if len(marks) > 5 else "")
                hint = "aspectra restore FILE brings back a backup; else add them again"
                done.append(Check("repair", "bad", f"damaged and left out: {named}", hint))
    with Store(path) as library, library.writing("repair") as writer:
        if gone := writer.derived.collect():
            done.append(Check("repair", "ok", f"removed {gone} derived values of no paper"))
        writer.checkpoint()
    return bool(problems)


def _remove_leftovers(path: Path) -> list[Check]:
    done = []
    with WriterLock(path, "repair"):
        for left in (*Generations(path).leftovers(), *(p for one in _LEFT for p in path.glob(one))):
            disk().remove(left)
            done.append(Check("repair", "ok", f"removed {left.relative_to(path)}, left by a killed command"))
        pointer = path / "generations" / "CURRENT"
        if pointer.is_dir() and not pointer.is_symlink():  # nothing of ours makes one
            pointer.rename(pointer.with_name("CURRENT.not-a-file"))
            text = "moved the folder generations/CURRENT away: a file belongs there"
            done.append(Check("repair", "ok", text))
    return done


def _indexed(library: Store, progress: Progress, *, changed: bool) -> list[Check]:
    """Build the index again where it is damaged, or where it is missing although there was one."""
    from aspectra.views.build.collection import index_shards
    from aspectra.views.build.run import build_index
    from aspectra.views.build.work import SETTINGS_KEY

    whole, faults = True, list[str]()
    for one in (library, *(shard for shard in library.shards.values() if len(shard))):
        try:
            folder = one.generations.current()
            faults += [] if folder is None else one.generations.verify(folder)
        except (LibraryCorrupt, OSError, ValueError) as error:
            folder = None
            faults.append(str(error).splitlines()[0])
        whole &= folder is not None
    if whole and not faults and not changed:
        return []
    indexed = library.meta(SETTINGS_KEY) or library.generations.root.exists()
    if not indexed or not len(library):
        return []
    try:
        build = index_shards if library.shards else build_index
        report = build(library, progress=progress, rebuild=True)
    except LibraryCorrupt:
        raise
    except AspectraError as error:
        return [Check("repair", "bad", f"the index was not built: {error.what}", error.hint)]
    reason = f" ({faults[0]})" if faults else ""
    return [Check("repair", "ok", f"built the index again{reason}: generation {report.generation}")]


# A check of the database once a week, before a command that writes for a while anyway.

_CHECKED = "checked.json"
_WEEK = 7 * 24 * 3600  # seconds
_MOST = 1000  # libraries remembered


def check_if_due(library: Store) -> bool:
    """Check the database if that was a week ago, or never done; returns whether it was checked.

    When is kept in the user's own state, since a library may be on a medium that is only read. A clock that
    was set back only means another check.

    Raises:
        LibraryCorrupt: the database is damaged.
    """
    path, name = state_file(_CHECKED), os.path.abspath(library.folder)
    known = _known(path)
    if abs(time.time() - known.get(name, 0.0)) < _WEEK:
        return False
    if problems := library.check(quick=True):
        raise damaged(problems[0])
    known.pop(name, None)
    kept = dict(list(known.items())[-_MOST + 1 :]) | {name: time.time()}
    with contextlib.suppress(OSError):  # then it is checked again the next time
        make_folder(path.parent)
        write_durably(path, json.dumps(kept))
    return True


def _known(path: Path) -> dict[str, float]:
    """Library -> when it was checked, in seconds of the clock."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(at) for name, at in held.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
