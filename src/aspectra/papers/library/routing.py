"""Writes papers into the shards of a collection."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from tempfile import SpooledTemporaryFile

import msgspec

from aspectra.base.errors import NoSuchPaper
from aspectra.papers.library.mutations import AddReport, Writer
from aspectra.papers.library.shards import shard_of
from aspectra.papers.paper import Paper, Remark

_IN_MEMORY = 1 << 24  # bytes of the records of one file for one shard, before they go to the disk


class ShardsWriter(Writer):
    """Writer of a collection: papers go to the shard that their id names.

    Each file is read once. Interrupted, a shard may have its papers of a file and another may not: adding the
    file again completes it.

    Args:
        connection: a writing connection to the collection's own database.
        writers: of the shards, by number.
    """

    def __init__(self, connection: sqlite3.Connection, writers: Sequence[Writer]) -> None:
        super().__init__(connection)
        self._writers = writers

    def add(
        self,
        records: Iterable[Paper | Remark],
        *,
        path: str = "",
        source: str = "",
        whole: bool = True,
        report: AddReport | None = None,
        same: Collection[str] = (),
    ) -> AddReport:
        """See :meth:`Writer.add`; remarks are kept by the first shard."""
        report = AddReport() if report is None else report
        failures: list[BaseException] = []
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY)) for _ in self._writers]
            try:
                for record in records:
                    number = shard_of(record.id, len(files)) if isinstance(record, Paper) else 0
                    files[number].write(_line(record))
            except BaseException as error:  # what was read before the failure is kept
                failures.append(error)
            for writer, file in zip(self._writers, files, strict=True):
                file.seek(0)
                writer.add(
                    _records(file),
                    path=path,
                    source=source,
                    whole=whole and not failures,
                    report=report,
                    same=same,
                )
        if failures:
            raise failures[0]
        return report

    def remove(self, ids: Sequence[str]) -> int:
        """See :meth:`Writer.remove`; what is removed from a shard can be undone there."""
        found = list(dict.fromkeys(ids))
        for one in found:
            if not self._db.execute("SELECT 1 FROM papers WHERE id = ?", (one,)).fetchone():
                raise NoSuchPaper(
                    f"there is no paper {one!r}", why="nothing was removed", hint="aspectra list"
                )
        for number, writer in enumerate(self._writers):
            if mine := [one for one in found if shard_of(one, len(self._writers)) == number]:
                writer.remove(mine)
        return len(found)

    def link(self) -> None:
        """Nothing: shards link their own citations, and the index those between them."""

    def checkpoint(self) -> None:
        """Move the write-ahead logs into the databases."""
        super().checkpoint()
        for writer in self._writers:
            writer.checkpoint()


class _Record(msgspec.Struct):
    """One record between reading and writing."""

    paper: Paper | None = None
    remark: tuple[str, str, bool] | None = None


def _line(record: Paper | Remark) -> bytes:
    if isinstance(record, Paper):
        return msgspec.json.encode(_Record(record)) + b"\n"
    return msgspec.json.encode(_Record(None, (record.place, record.reason, record.skipped))) + b"\n"


def _records(lines: Iterable[bytes]) -> Iterator[Paper | Remark]:
    decoder = msgspec.json.Decoder(_Record)
    for line in lines:
        stored = decoder.decode(line)
        if stored.paper is not None:
            yield stored.paper
        elif stored.remark is not None:
            yield Remark(*stored.remark)
