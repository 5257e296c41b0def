"""The files of a benchmark's folder: found by name whether compressed or not, hashed, read strictly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.lab.runs.files import DUPLICATES, QRELS, read_table
from aspectra.lab.runs.rows import Row, bad_line, read_rows
from aspectra.papers.sources.files import InputFile, read_text

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
        for name in names:
            for packed in _PACKED:
                path = self.root / (name + packed)
                if path.is_file():
                    return path
        return None

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
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.name

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
