"""The checks of ``doctor``, which return what they find and never raise, and what the package depends on."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aspectra.base.errors import AspectraError
from aspectra.base.values import Value
from aspectra.base.version import __version__

if TYPE_CHECKING:
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


_PACKAGES = tuple("numpy PyStemmer tokenizers openvino pypdfium2 bibtexparser PyYAML lxml typer rich".split())
_EXTRAS = {"torch": "torch", "sentence-transformers": "torch", "httpx": "openai", "pandas": "pandas"}
_KEYS = ("OPENAI_API_KEY",)


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
    checks = [
        Check(
            "aspectra", "ok", f"{__version__} on Python {platform.python_version()}, {platform.platform()}"
        ),
        _packages(),
        _extras(),
        _weights(),
    ]
    checks += _library(path, verify)
    checks.append(_keys())
    return checks


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
        return Check(
            "packages", "bad", f"missing: {', '.join(lacking)}", "pip install --force-reinstall aspectra"
        )
    return Check("packages", "ok", text)


def _extras() -> Check:
    there = [f"{name} {version}" for name in _EXTRAS if (version := _version(name))]
    return Check("optional", "ok", ", ".join(there) or "none (torch, openai, pandas are extras)")


def _weights() -> Check:
    from aspectra.views.encoders.minilm import MiniLM, find_model

    try:
        encoder = MiniLM(find_model())
        dtype = encoder.runtime.dtype
    except AspectraError as error:
        return Check("encoder", "note", f"minilm: {error.what}", error.hint)
    except Exception as error:  # a broken installation must not break the doctor
        return Check(
            "encoder", "bad", f"minilm does not run: {error}", "pip install --force-reinstall openvino"
        )
    place = f"{encoder.dimensions} dimensions, {encoder.max_tokens} tokens"
    return Check("encoder", "ok", f"minilm: weights found, {place}, computes in {dtype} on this processor")


def _library(path: Path, verify: bool) -> list[Check]:
    from aspectra.papers.library.store import Store

    if not (path / "library.db").exists():
        return [Check("library", "note", f"none at {path}", "aspectra init"), _hosts([])]
    try:
        with Store(path) as library:
            checks = [_database(library, verify), _writable(path)]
            checks += _leftovers(library)
            index, views = _index(library, verify)
            return [*checks, *index, *_fingerprints(views), _hosts([v["encoder"] for v in views.values()])]
    except AspectraError as error:
        return [Check("library", "bad", f"{error.what}{': ' + error.why if error.why else ''}", error.hint)]
    except Exception as error:  # any other damage
        return [Check("library", "bad", f"{path}: {error}", "restore it from a copy")]


def _database(library: Store, verify: bool) -> Check:
    count = len(library)
    if verify and (problems := library.check()):
        return Check(
            "library", "bad", f"{library.database}: {'; '.join(problems[:3])}", "restore it from a copy"
        )
    how = "verified" if verify else "opens (--verify reads every byte)"
    return Check("library", "ok", f"{library.folder}: {count:,} papers, {how}")


def _writable(path: Path) -> Check:
    fine = os.access(path, os.W_OK) and os.access(path / "library.db", os.W_OK)
    return Check("write", "ok" if fine else "note", "can be written" if fine else f"{path} is read-only")


def _leftovers(library: Store) -> list[Check]:
    left = [path.name for path in library.generations.leftovers()]
    text = f"left by a run that was stopped: {', '.join(left)}"
    return [Check("index", "note", text, "aspectra index")] if left else []


def _index(library: Store, verify: bool) -> tuple[list[Check], dict[str, Any]]:
    folder = library.generations.current()
    if folder is None:
        return [Check("index", "note", "none yet", "aspectra index")], {}
    manifest = library.generations.manifest(folder)
    problems = library.generations.verify(folder, content=verify)
    if problems:
        text = f"generation {folder.name}: {'; '.join(problems[:3])}"
        return [Check("index", "bad", text, "aspectra index --rebuild")], {}
    views = {name: view for name, view in manifest.get("views", {}).items() if view.get("encoder")}
    how = "checksums verified" if verify else "files complete"
    return [
        Check("index", "ok", f"generation {folder.name}, {manifest.get('papers', 0):,} papers, {how}")
    ], views


def _fingerprints(views: dict[str, Any]) -> list[Check]:
    from aspectra.base.trust import allows
    from aspectra.views.encoders.protocol import load_encoder, needs_of

    out = []
    for spec in sorted({view["encoder"] for view in views.values()}):
        stored = {view["fingerprint"] for view in views.values() if view["encoder"] == spec}
        try:
            if lacking := [needed for needed in needs_of(spec) if not allows(needed)]:
                text = f"{spec} is not loaded: {lacking[0].deed}, which you have not permitted"
                out.append(Check("views", "note", text, f"if you trust it: {lacking[0].command}"))
                continue
            installed = load_encoder(spec).fingerprint
        except AspectraError as error:
            out.append(Check("views", "bad", f"{spec}: {error.what}", error.hint))
            continue
        if stored != {installed}:
            text = (
                f"built by another version of {spec} (index {min(stored)[:12]}, installed {installed[:12]})"
            )
            out.append(Check("views", "bad", text, "aspectra index"))
        else:
            out.append(Check("views", "ok", f"{spec}: fingerprint {installed[:12]} matches the index"))
    return out


def _hosts(specs: list[str]) -> Check:
    from aspectra.base.trust import allows
    from aspectra.views.encoders.protocol import load_encoder, needs_of

    hosts = set()
    for spec in sorted(set(specs)):
        try:
            if all(map(allows, needs_of(spec))):
                hosts.add(load_encoder(spec).remote)
        except AspectraError:
            continue
    contacted = sorted(host for host in hosts if host)
    if not contacted:
        return Check("network", "ok", "no host would be contacted")
    offline = os.environ.get("ASPECTRA_OFFLINE", "") not in ("", "0")
    refused = " (refused: offline)" if offline else ""
    return Check("network", "note", f"texts are sent to {', '.join(contacted)}{refused}")


def _keys() -> Check:
    there = [f"{name} set in the environment (hidden)" for name in _KEYS if os.environ.get(name)]
    return Check("keys", "ok", ", ".join(there) or "none set, none needed for local search")
