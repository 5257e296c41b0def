"""The append-only record of an experiment: every finished (cell, topic, mode, repeat), once."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from aspectra.base.errors import AspectraError, BadInput
from aspectra.base.files import disk, make_folder
from aspectra.base.values import Value
from aspectra.search.plan import Tally


class Record(Value, frozen=True):
    """One ranking.

    Attributes:
        cell: hash of recipe, benchmark revision, library state and protocol: what the ranking depends on.
        topic, mode, repeat: which one.
        ids, scores: best first, tie-free order.
        seconds: time of this ranking.
        tally: the calls of its stages to a model, and what they cost.
        missing: documents of the pool that the recipe did not rank, which follow behind.
        version: of the program that made it.
        error: of its last call that failed, in the endpoint's words; or "".
    """

    cell: str
    topic: str
    mode: str
    repeat: int
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    seconds: float
    tally: Tally = Tally()
    missing: int = 0
    version: str = ""
    error: str = ""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes a record unique."""
        return self.cell, self.topic, self.mode, self.repeat

    @property
    def failed(self) -> bool:
        """Whether calls to a model failed, so that the next run makes this ranking again."""
        return self.tally.defects.get("failed", 0) > 0


class Records:
    """A JSON Lines file of records, flushed to disk one by one.

    A line cut off by a kill is dropped when the file is opened, and made again by the run.

    Args:
        path: the file; made when it does not exist.
        write: False reads what is there and touches nothing.

    Raises:
        BadInput: a whole line is damaged, so that the file was changed by something else.
    """

    def __init__(self, path: Path, *, write: bool = True) -> None:
        self.path = path
        self._records: dict[tuple[str, str, str, int], Record] = {}
        self._cells: dict[str, list[Record]] = {}
        self._stream: BinaryIO | None = None
        if not write:
            self._read()
            return
        whole = self._read()
        try:
            make_folder(path.parent)
            self._stream = disk().create(path, "ab")
            self._stream.truncate(whole)
            disk().sync_folder(path.parent)
        except OSError as error:
            raise self._unwritten(error) from error

    def _read(self) -> int:
        """Load finished records; returns the length of the undamaged part in bytes."""
        if not self.path.exists():
            return 0
        whole = 0
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    break  # cut off by a kill, as only the last line can be
                try:
                    record = msgspec.json.decode(line, type=Record)
                except ValueError as error:
                    raise BadInput(
                        f"line {number} of {self.path} is damaged",
                        why=str(error),
                        hint="remove that line; its ranking will be made again",
                    ) from error
                self._keep(record)
                whole += len(line)
        return whole

    def _keep(self, record: Record) -> None:
        held = self._records.get(record.key)
        if held is None or held.failed:  # what was made again counts
            if held is not None:
                self._cells[record.cell].remove(held)
            self._records[record.key] = record
            self._cells.setdefault(record.cell, []).append(record)

    def __len__(self) -> int:
        return len(self._records)

    def get(self, cell: str, topic: str, mode: str, repeat: int) -> Record | None:
        """The finished record, or None."""
        return self._records.get((cell, topic, mode, repeat))

    def of(self, cell: str) -> list[Record]:
        """All records of one cell."""
        return list(self._cells.get(cell, ()))

    def add(self, record: Record) -> None:
        """Keep a record; it is on disk when this returns."""
        if self._stream is None:
            raise AspectraError(f"{self.path} is not open for writing")
        try:
            self._stream.write(msgspec.json.encode(record) + b"\n")
            disk().sync_stream(self._stream)
        except OSError as error:
            with contextlib.suppress(OSError):  # it tries once more to write
                self._stream.close()
            self._stream = None  # a line may be cut off: nothing may follow it
            raise self._unwritten(error) from error
        self._keep(record)

    def _unwritten(self, error: OSError) -> AspectraError:
        return AspectraError(
            f"cannot write {self.path}",
            why=error.strerror or str(error),
            hint="make room or allow writing there, then run the command again: finished rankings are reused",
        )

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Records:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
