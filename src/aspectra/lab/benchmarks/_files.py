"""The files of a benchmark's folder: found by name whether compressed or not, hashed, read strictly.

A source reads what it can and remarks on the rest; a benchmark must not, because a line that is missing
changes a number. Here a damaged file, a line that is no JSON or a judgement without a grade is an error that
names the file and the line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.hashing import digest
from aspectra.lab.benchmarks._tables import array_items, parquet_rows
from aspectra.papers.sources.files import DAMAGE, InputFile, read_lines, read_text
from aspectra.papers.text.cleaning import clean

__all__ = ["Folder", "Row", "options_of", "text_of"]

Row = Mapping[str, Any]

_PACKED = ("", ".zst", ".gz")
_BLOCK = 1 << 20
_QUERY = ("query-id", "query_id", "qid", "query", "topic")
_DOCUMENT = ("corpus-id", "corpus_id", "pid", "docid", "doc_id", "document")
_GRADE = ("score", "grade", "relevance", "rel", "label")


def text_of(value: object) -> str:
    """An id or text field as clean text; whole numbers that became floats on the way lose their ``.0``.

    >>> text_of(12.0), text_of(" a "), text_of(None)
    ('12', 'a', '')
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return clean(value)


def options_of(name: str, given: Mapping[str, str], allowed: Iterable[str]) -> dict[str, str]:
    """The options of a loader, checked; ``checksums`` and ``revision`` are known to all.

    Raises:
        UsageError: an option that the benchmark does not have.
    """
    known = {*allowed, "checksums", "revision"}
    if unknown := sorted(set(given) - known):
        raise UsageError(
            f"the benchmark {name} has no option {unknown[0]!r}", why="known: " + ", ".join(sorted(known))
        )
    return dict(given)


class Folder:
    """A benchmark's folder.

    Args:
        root: the folder.
        checksums: pinned SHA-256 of files: a mapping from name to hash, a file with such a JSON object or
            in the layout of ``sha256sum``, or "".

    Attributes:
        checksums: name -> SHA-256 of the files read so far, as they lie on disk.
        notes: remarks on what was read, each one sentence.

    Raises:
        BadInput: there is no such folder, or the checksums cannot be read.
    """

    def __init__(self, root: Path, checksums: object = "") -> None:
        if not root.is_dir():
            raise BadInput(f"{root} is no folder", hint="name the folder that holds the benchmark's files")
        self.root = root
        self.checksums: dict[str, str] = {}
        self.notes: list[str] = []
        self._pins = _pins(checksums)

    def find(self, *names: str) -> Path | None:
        """The first of the files ``names`` that exists, plain, ``.zst`` or ``.gz``; None without any."""
        for name in names:
            for packed in _PACKED:
                path = self.root / (name + packed)
                if path.is_file():
                    return path
        return None

    def need(self, *names: str) -> Path:
        """As :meth:`find`.

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
        """Hash a file, once, and compare it with its pinned checksum; ``path`` again.

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

    @property
    def revision(self) -> str:
        """What was read, in one short text: a hash over all checksums."""
        return f"files:{digest(self.checksums)[:16]}"

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
        """As :meth:`json`, for a file that holds one JSON object.

        Raises:
            BadInput: as there, or it is another kind of value.
        """
        value = self.json(path)
        if not isinstance(value, dict):
            raise BadInput(f"{path} holds no JSON object", hint="check that it is the file its name says")
        return value

    def rows(self, path: Path) -> Iterator[Row]:
        """Records of JSON Lines, of a JSON array, of Parquet or of a TSV with a header, streaming.

        Raises:
            BadInput: the file is empty or damaged, or a line is no record; line and reason are named.
        """
        self.check(path)
        name = path.name.removesuffix(".zst").removesuffix(".gz")
        if name.endswith(".parquet"):
            yield from parquet_rows(path)
        elif name.endswith(".tsv"):
            lines = _lines(path)
            _, first = next(lines)
            names = first.split("\t")
            for number, line in lines:
                cells = line.split("\t")
                if len(cells) != len(names):
                    raise _bad(path, number, f"{len(cells)} columns instead of {len(names)}")
                yield dict(zip(names, cells, strict=True))
        elif name.endswith(".json"):
            yield from array_items(path)
        else:
            yield from _json_lines(path)

    def table(self, config: str, splits: Iterable[str] = ("test", "full", "train")) -> list[Path]:
        """Files of one config of a data set as hubs lay it out: ``CONFIG.jsonl``, ``CONFIG/SPLIT.jsonl`` ...

        Returns:
            One file, or the parts of a Parquet table in order; empty when there is none.
        """
        kinds = (".jsonl", ".tsv", ".json", ".parquet")
        names = [f"{config}{kind}" for kind in kinds]
        names += [f"{config}/{split}{kind}" for split in (*splits, Path(config).name) for kind in kinds]
        if path := self.find(*names):
            return [path]
        for split in (*splits, ""):
            if parts := sorted((self.root / config).glob(f"{split}*.parquet")):
                return parts
        return []

    def qrels(self, path: Path) -> dict[str, dict[str, float]]:
        """Judgements: three columns with or without a header, TREC's four columns, JSON Lines or Parquet.

        A pair that is judged twice keeps the last grade and is noted.

        Raises:
            BadInput: the file is empty or damaged, or a line holds no judgement.
        """
        self.check(path)
        out: dict[str, dict[str, float]] = {}
        again = 0
        for query, document, grade in _judgements(self, path):
            of_query = out.setdefault(query, {})
            again += document in of_query
            of_query[document] = grade
        if not out:
            raise BadInput(f"{path} holds no judgement", hint="check that the download finished")
        if again:
            self.notes.append(f"{self._name(path)}: {again} pairs judged more than once, the last counts")
        return out


def _judgements(folder: Folder, path: Path) -> Iterator[tuple[str, str, float]]:
    if path.suffix in (".jsonl", ".parquet") or ".jsonl." in path.name:
        for number, row in enumerate(folder.rows(path), 1):
            picked = [next((row[n] for n in names if n in row), None) for names in (_QUERY, _DOCUMENT)]
            grade = next((row[n] for n in _GRADE if n in row), 1)
            yield _judgement(path, number, picked[0], picked[1], grade)
        return
    for number, line in _lines(path):
        cells = line.split("\t") if "\t" in line else line.split()
        if len(cells) == 4:
            cells = [cells[0], cells[2], cells[3]]
        if number == 1 and cells[0] in _QUERY:
            continue
        if len(cells) != 3:
            raise _bad(path, number, f"{len(cells)} columns instead of 3 (query, document, grade)")
        yield _judgement(path, number, *cells)


def _judgement(
    path: Path, number: int, query: object, document: object, grade: Any
) -> tuple[str, str, float]:
    ids = text_of(query), text_of(document)
    if not all(ids):
        raise _bad(path, number, "no query or no document")
    try:
        value = float(grade)
    except (TypeError, ValueError) as error:
        raise _bad(path, number, f"the grade {grade!r} is no number") from error
    if not math.isfinite(value):
        raise _bad(path, number, f"the grade {grade!r} is not finite")
    return *ids, value


def _bad(path: Path, number: int, why: str) -> BadInput:
    return BadInput(f"{path}, line {number}: cannot be used", why=why, hint="fetch the file again")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank.

    Raises:
        BadInput: the file is damaged or empty.
    """
    empty = True
    for number, line, note in read_lines(path):
        if note is not None:
            raise _bad(path, number, note.reason)
        if line.strip():
            empty = False
            yield number, line.removeprefix("\ufeff")
    if empty:
        raise BadInput(f"{path} is empty", hint="check that the download finished")


def _json_lines(path: Path) -> Iterator[Row]:
    for number, line in _lines(path):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _bad(path, number, f"not valid JSON: {error}") from error
        if not isinstance(value, dict):
            raise _bad(path, number, "not a JSON object")
        yield value


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
            raise _bad(path, number, "not of the form SHA256  NAME")
        out[name.strip().removeprefix("*").removeprefix("./")] = value.lower()
    return out


def _sha256(path: Path) -> str:
    """SHA-256 of the bytes on disk; the file is unpacked, to see that it is whole."""
    with InputFile(path) as file:
        try:
            stream = file.stream()
            while stream.read(_BLOCK):
                pass
            return file.digest()
        except EOFError as error:
            raise BadInput(f"{path} was cut short", why=str(error), hint="fetch it again") from error
        except DAMAGE as error:
            raise BadInput(f"{path} is damaged", why=str(error), hint="fetch it again") from error
