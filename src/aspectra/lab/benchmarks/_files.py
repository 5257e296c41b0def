"""The files of a benchmark: where they are published, and how those of its folder are read.

Published are hub sets or repositories, with revisions, sizes and digests. Files of a folder are found by name
whether compressed or not, hashed, and read strictly.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, unknown_name
from aspectra.base.values import Value
from aspectra.lab.runs.files import DUPLICATES, QRELS, read_table
from aspectra.lab.runs.rows import Row, bad_line, read_rows
from aspectra.papers.sources.files import InputFile, read_text


@dataclass(frozen=True)
class HubSet:
    """One data set on a hub, or the files of one part of it.

    Attributes:
        repo: owner and name.
        revision: the pinned revision, all 40 digits (the hub's client takes no fewer); "" takes the newest,
            because none could be pinned.
        folder: where it goes below the benchmark's folder, "" for the folder itself.
        only: patterns of the files wanted, empty for all.
        part: the part of the benchmark that it is, "" for all of it.
    """

    repo: str
    revision: str
    folder: str = ""
    only: tuple[str, ...] = ()
    part: str = ""


class Publication(Value, frozen=True):
    """A place where a benchmark is published.

    Attributes:
        files: its files, in words.
        sets: data sets on a hub; empty where it is in a repository.
        git: address of the repository, or "".
        revision: of the repository.
        licence: "" takes the one that the loader declares.
        note: what else a reader must know, one sentence or clause.
        option: the loader's option that names a part, or "".
        listing: file -> (bytes, digest) as the publisher lists them at the pinned revision.
    """

    files: str
    sets: tuple[HubSet, ...] = ()
    git: str = ""
    revision: str = ""
    licence: str = ""
    note: str = ""
    option: str = ""
    listing: dict[str, tuple[int, str]] = {}  # noqa: RUF012 - msgspec copies it for each value


def place(name: str) -> Publication | None:
    """Place of publication by the name of a benchmark or a part (``obliq/math``); None if unpublished."""
    found = read_data("published.toml").get(name.partition("/")[0])
    return Publication.from_dict(found) if found else None


def hub_sets(name: str, sets: tuple[HubSet, ...] | None = None) -> tuple[HubSet, ...]:
    """The hub sets of a benchmark or of one part of it (``infosearch/keyword``); empty if it is not on a hub.

    Args:
        name: of the benchmark, or of a part: also as the data set is called (``infosearch/Clarity-v1``).
        sets: of the whole benchmark; None takes those of ``data/published.toml``.

    Raises:
        UsageError: it has no such part.
    """
    if sets is None:
        held = place(name)
        sets = held.sets if held else ()
    whole, _, part = name.partition("/")
    parts = [one.part for one in sets if one.part]
    if not part or not parts:
        return sets
    wanted = part.casefold()
    found = tuple(
        one for one in sets if wanted in (one.part, one.folder, one.repo.rpartition("/")[2].casefold())
    )
    if not found:
        raise unknown_name(f"{whole} has no part {part!r}", part, parts)
    return found


def where(name: str, folder: str, licence: str = "") -> str:
    """One line: the files, where they are published and under what licence, and where they are looked for.

    Args:
        name: of the benchmark or of a part: ``litsearch``, ``infosearch/language``, ``scifullbench/ICLR``.
        folder: where its files were looked for.
        licence: what the loader declares.

    >>> print(where("obliq/math", "data/obliq", "CC BY 4.0").partition(", revision")[0].partition(" of ")[2])
    the hub's data set dianetc/OBLIQ-Bench
    """
    held = place(name)
    if held is None:
        made_of = {one.name: one for one in collections()}.get(name.partition("/")[0])
        known = (
            f"not published in this form; made of {made_of.source}" if made_of else "nowhere that is known"
        )
        return f"{name}, looked for in {folder}: {known}"
    sets = hub_sets(name)
    on_hub = dict.fromkeys(
        f"{one.repo}, revision {one.revision or 'not known, so the newest'}" for one in sets
    )
    kind = "data set" if len(on_hub) == 1 else "data sets"
    source = f"the hub's {kind} {'; '.join(on_hub)}" if sets else f"{held.git}, revision {held.revision}"
    size = sum(held.listing[file][0] for file in held.listing if _wanted(file, sets))
    parts = [f"{held.files} of {source}", f"{size:,} bytes" if size else "size not known"]
    parts += [f"licence: {held.licence or licence or 'as its card states'}", held.note]
    return f"{name}, looked for in {folder}: {'; '.join(filter(None, parts))}"


def next_command(name: str, folder: str) -> str:
    """The command that gets its files, or "" where nothing can be downloaded."""
    held = place(name)
    if held is None:
        return ""
    if held.sets:
        return f"aspectra bench fetch {name} {folder}"
    return f"git clone {held.git} {folder} && git -C {folder} checkout {held.revision}"


def audit_command(name: str, folder: Path) -> str:
    """The command that counts what was downloaded.

    >>> audit_command("obliq/math", Path("data"))
    'aspectra bench audit obliq data --option task=math'
    """
    whole, _, part = name.partition("/")
    held = place(name)
    option = f" --option {held.option}={part}" if part and held and held.option else ""
    return f"aspectra bench audit {whole} {folder}{option}"


def compared(name: str, checksums: Mapping[str, str], root: Path) -> tuple[str, list[str]]:
    """The files read beside the publisher's listing of the pinned revision.

    Args:
        name: of the part.
        checksums: name -> SHA-256 of what was read; a name that is compressed is none of the listing's.
        root: the benchmark's folder, or that of the part.

    Returns:
        The revision where all files read are listed so, else ""; and the names of those with other content.
    """
    held = place(name)
    one = next((one for one in held.sets if name.endswith(f"/{one.part}")), None) if held else None
    if held is None or one is None or not held.listing:
        return "", []
    under = one.only[0].removesuffix("*")
    same, other = 0, []
    for file, checksum in checksums.items():
        if listed := held.listing.get(under + file):
            path = next(path for path in (root / under / file, root / file) if path.is_file())
            if listed[1] in (f"sha256:{checksum}", _git_digest(path, listed)):
                same += 1
            else:
                other.append(file)
    return one.revision if same == len(checksums) else "", other


def _git_digest(path: Path, listed: tuple[int, str]) -> str:
    """``git:`` and the id of git's blob; "" for a file that is listed otherwise or has another size."""
    if not listed[1].startswith("git:") or path.stat().st_size != listed[0]:
        return ""
    raw = path.read_bytes()
    return "git:" + hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def _wanted(file: str, sets: tuple[HubSet, ...]) -> bool:
    return any(file.startswith(pattern.removesuffix("*")) for one in sets for pattern in one.only)


class CollectionCard(Value, frozen=True):
    """Facts about a collection in the layout of a benchmark that its files do not state.

    Attributes:
        name: as tables call it.
        licence, source: what its owners allow, where it comes from and whom to cite.
        measures: canonical names of the measures reported; empty takes those of the benchmark.
        file: a file that only this collection has, or "".
        folder: name of the folder that it is recognised by, one of the last three of the path, or "".
        qrels: names of judgements that it is recognised by.
        seed: whether a query whose id is a document's is that paper.
    """

    name: str
    licence: str
    source: str
    measures: tuple[str, ...] = ()
    file: str = ""
    folder: str = ""
    qrels: tuple[str, ...] = ()
    seed: bool = False


def collections() -> list[CollectionCard]:
    """All of ``data/collections.toml``, in its order."""
    return [collection(name) for name in read_data("collections.toml")]


def collection(name: str) -> CollectionCard:
    """The collection of this name in ``data/collections.toml``."""
    return CollectionCard.from_dict({"name": name, **read_data("collections.toml")[name]})


def collection_at(path: Path) -> str:
    """The name of the collection whose folder this is by its name, or a folder of which it is, or ""."""
    parts = path.absolute().parts[-3:]
    return next((one.name for one in collections() if one.name in parts), "")


@cache
def read_data(name: str) -> dict[str, Any]:
    """Content of a TOML file in ``data``."""
    return tomllib.loads((resources.files("aspectra.lab.benchmarks") / "data" / name).read_text("utf-8"))


_PACKED = ("", ".zst", ".gz")
_BLOCK = 1 << 20


class Folder:
    """A benchmark's folder.

    Args:
        root: the folder.
        checksums: pinned SHA-256 of files: a mapping from name to hash, a file with such a JSON object or
            in the layout of ``sha256sum``, or "".
        duplicates: which grade counts where a pair is judged twice, see :data:`DUPLICATES`.

    Attributes:
        checksums: name -> SHA-256 of the files read so far, as they lie on disk.
        notes: remarks on what was read, each one sentence.

    Raises:
        BadInput: the folder does not exist, or the checksums cannot be read.
    """

    def __init__(self, root: Path, checksums: object = "", duplicates: str = DUPLICATES[0]) -> None:
        if not root.is_dir():
            raise BadInput(f"{root} is not a folder", hint="name the folder that holds the benchmark's files")
        self.root = root
        self.checksums: dict[str, str] = {}
        self.notes: list[str] = []
        self._pins = _pins(checksums)
        self._duplicates = duplicates

    def at(self, root: Path) -> Folder:
        """Another folder under the same checksums and the same policy for duplicates."""
        return Folder(root, self._pins, self._duplicates)

    def find(self, *names: str) -> Path | None:
        """The first of the files ``names`` that exists, plain, ``.zst`` or ``.gz``; None without any."""
        paths = (self.root / (name + packed) for name in names for packed in _PACKED)
        return next((path for path in paths if path.is_file()), None)

    def need(self, *names: str) -> Path:
        """The first of the files ``names`` that exists, as :meth:`find` returns it.

        Raises:
            BadInput: none of them is there.
        """
        path = self.find(*names)
        if path is None:
            raise BadInput(
                f"{self.root} has no {names[0]}",
                why="looked for " + ", ".join(names) + ", plain, .gz and .zst" if len(names) > 1 else "",
                hint="check that the folder is complete and is the one the benchmark expects",
            )
        return path

    def check(self, path: Path) -> Path:
        """``path`` itself, after its hash (computed once) was compared with its pinned checksum.

        Raises:
            BadInput: it cannot be read, was cut short, or is not the pinned one.
        """
        name = self._name(path)
        if name in self.checksums:
            return path
        found = _sha256(path)
        pinned = self._pins.get(name, "")
        if pinned and pinned != found:
            raise BadInput(
                f"{path} is not the file that was pinned",
                why=f"its SHA-256 is {found}, the pinned one {pinned}",
                hint="fetch the pinned file again, or leave the option checksums out to use this one",
            )
        if self._pins and not pinned:
            self.notes.append(f"{name} has no pinned checksum")
        self.checksums[name] = found
        return path

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name

    def json(self, path: Path) -> Any:
        """The JSON value of a whole file.

        Raises:
            BadInput: the file cannot be read, is damaged, or is not JSON.
        """
        text, notes = read_text(self.check(path))
        self.notes += [f"{self._name(path)}: {note.reason}" for note in notes]
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path} is not valid JSON", why=str(error), hint="fetch it again") from error

    def object(self, path: Path) -> dict[str, Any]:
        """The JSON object of a whole file; see :meth:`json`.

        Raises:
            BadInput: as there, or it is another kind of value.
        """
        value = self.json(path)
        if not isinstance(value, dict):
            raise BadInput(
                f"{path} does not hold a JSON object", hint="check that it is the file its name says"
            )
        return value

    def rows(self, *paths: Path) -> Iterator[Row]:
        """Records of files, one after another, streaming; see :func:`aspectra.lab.runs.rows.read_rows`.

        Raises:
            BadInput: a file is empty or damaged, or a line is not a record; line and reason are named.
        """
        for path in paths:
            for _, row in read_rows(self.check(path)):
                yield row

    def table(self, config: str, splits: Iterable[str] = ("test", "full", "train")) -> list[Path]:
        """Files of one config of a data set as hubs lay it out.

        ``CONFIG.jsonl``, ``CONFIG/SPLIT.jsonl``, ``CONFIG/SPLIT-00000-of-00002.parquet``, and
        ``CONFIG/SPLIT/0000.parquet``, as a hub's own conversion has it.

        Returns:
            One file, or the parts of a Parquet table in order; empty without any.
        """
        kinds = (".jsonl", ".tsv", ".json", ".parquet")
        names = [f"{config}{kind}" for kind in kinds]
        names += [f"{config}/{split}{kind}" for split in (*splits, Path(config).name) for kind in kinds]
        if path := self.find(*names):
            return [path]
        for pattern in (*(f"{split}{rest}" for split in splits for rest in ("*", "/*")), "*", "*/*"):
            if parts := sorted((self.root / config).glob(f"{pattern}.parquet")):
                return parts
        return []

    def qrels(self, *paths: Path) -> dict[str, dict[str, float]]:
        """Judgements in one or several parts; see :func:`aspectra.lab.runs.files.read_table`.

        Raises:
            BadInput: a file is empty or damaged, a line holds no judgement, or a pair is judged twice with
                two grades.
        """
        out: dict[str, dict[str, float]] = {}
        for path in paths:
            _, checks = read_table(self.check(path), QRELS, self._duplicates, out)
            self.notes += [f"{self._name(path)}: {line}" for line in checks.lines()]
        return out


def _pins(given: object) -> dict[str, str]:
    if isinstance(given, Mapping):
        return {str(name): str(value).lower() for name, value in given.items()}
    if not given:
        return {}
    path = Path(str(given))
    text, _ = read_text(path)
    if text.lstrip().startswith("{"):
        try:
            return _pins(json.loads(text))
        except ValueError as error:
            raise BadInput(f"the checksums {path} are not valid JSON", why=str(error)) from error
    out = {}
    for number, line in enumerate(text.splitlines(), 1):
        value, _, name = line.strip().partition(" ")
        if len(value) != 64 or not name.strip():
            raise bad_line(path, number, "not of the form SHA256  NAME")
        out[name.strip().removeprefix("*").removeprefix("./")] = value.lower()
    return out


def _sha256(path: Path) -> str:
    """SHA-256 of the bytes on disk; the file is unpacked, because only that shows whether it is whole."""
    with InputFile(path) as file, file.damage():
        stream = file.stream()
        while stream.read(_BLOCK):
            pass
        return file.digest()
