"""Values derived from papers, kept in ``library.db``: vectors, lens values, readings, prompted values.

A :class:`Producer` declares which parts of a paper it reads. Its values are stored under a hash of exactly
those parts: a change of anything else recomputes nothing, and papers with the same text share one value.

A value is a list of arrays, stored as one blob: a byte with the number of arrays; for each array the two
letters of its type (``f4``, ``f2``, ``i4``, ``u4``, ``u1``), a byte with its number of dimensions, and each
dimension as four bytes; then the numbers of all arrays in the same order, row by row. All little-endian.
"""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt, UsageError
from aspectra.papers.library.row_sums import RowSums, row_hash
from aspectra.papers.library.rows import part_sql, transaction
from aspectra.papers.library.shards import SPAN

Arrays = list[NDArray[Any]]
Value = Sequence[NDArray[Any]] | bytes  # arrays, or these as :func:`pack` gives them
Rows = Iterable[tuple[str, Value]]  # keys and their values
_KINDS = {kind.encode(): np.dtype(f"<{kind}") for kind in ("f4", "f2", "i4", "u4", "u1")}
_SHAPES = ("<", "<I", "<II", "<III")
KEY_LENGTH = 32  # a key may go on after it with what else the value depends on
# What `_sound` reads of a row of `derived d`.
_VALUE = "d.checksum, d.producer, d.data"
_PUT = "INSERT OR REPLACE INTO derived (producer, key, data, checksum) VALUES (?, ?, ?, ?)"
_PRODUCER = "(SELECT id FROM producers WHERE name = ? AND version = ? AND reads = ?)"


def pack(*arrays: NDArray[Any]) -> bytes:
    """Arrays as one blob, see the module's text.

    Raises:
        ValueError: an array has a type that is not stored.
    """
    head = bytes([len(arrays)]) + b"".join(_head(array.dtype, array.shape) for array in arrays)
    return head + b"".join(
        array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes() for array in arrays
    )


@lru_cache(maxsize=256)
def _head(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The description of an array in a blob."""
    kind, dimensions = dtype.str[1:].encode(), len(shape)
    if kind not in _KINDS or dimensions >= len(_SHAPES):
        raise ValueError(f"{dimensions}-dimensional arrays of {dtype} are not stored")
    return kind + struct.pack(f"<B{dimensions}I", dimensions, *shape)


def unpack(data: bytes) -> Arrays:
    """Inverse of :func:`pack`; the arrays cannot be written to.

    Raises:
        LibraryCorrupt: the blob is damaged.
    """
    try:
        at, specs = 1, []
        for _ in range(data[0]):
            kind, dimensions = _KINDS[data[at : at + 2]], data[at + 2]
            specs.append((kind, struct.unpack_from(_SHAPES[dimensions], data, at + 3)))
            at += 3 + 4 * dimensions
        out = []
        for kind, shape in specs:
            array = np.frombuffer(data, kind, math.prod(shape), at)
            out.append(array.reshape(shape))
            at += array.nbytes
    except (ValueError, LookupError, struct.error) as error:
        raise LibraryCorrupt("a derived value is damaged", why=str(error)) from error
    return out


def pack_rows(rows: Sequence[NDArray[Any]]) -> list[bytes]:
    """Arrays of one shape as float32, each as by :func:`pack`."""
    together = np.ascontiguousarray(np.stack(rows), "<f4")
    head = bytes([1]) + _head(together.dtype, together.shape[1:])
    return [head + one.tobytes() for one in together]


def unpack_rows(values: Iterable[bytes], width: int) -> NDArray[np.float32] | None:
    """The (1, width) float32 arrays of blobs as one array; None where one of them is something else."""
    head = bytes([1]) + _head(np.dtype(np.float32), (1, width))
    parts, size = [*values], len(head) + 4 * width
    if any(len(one) != size or not one.startswith(head) for one in parts):
        return None
    return np.frombuffer(b"".join(one[len(head) :] for one in parts), "<f4").reshape(-1, width)


def _row(producer: int, key: str, data: bytes) -> tuple[int, str, bytes, int]:
    """The values of :data:`_PUT`."""
    return producer, key, data, row_hash(producer, key, data)


def _sound(key: str, checksum: int | None, producer: int, data: bytes) -> bytes:
    """The value of a row of ``derived``, packed.

    Raises:
        LibraryCorrupt: it is not what was stored.
    """
    if row_hash(producer, key, data) != checksum:
        raise LibraryCorrupt(
            "a derived value in library.db is damaged",
            why="its checksum does not fit: it is not as it was written",
            hint="aspectra doctor --repair removes it, and the next `aspectra index` makes it again",
        )
    return data


@dataclass(frozen=True, slots=True)
class Producer:
    """The origin of derived values: an encoder, a lens or another computation.

    Attributes:
        name: of the producer, as in ``abstract`` or ``lens:language``.
        version: an encoder's fingerprint, a lens's number; each version has separate values.
        reads: parts of a paper that values depend on, see
            :func:`~aspectra.papers.library.rows.part_sql`. Papers without full text have no values of a
            producer that reads ``sections`` alone.
    """

    name: str
    version: str
    reads: tuple[str, ...] = ("text",)

    @property
    def identity(self) -> tuple[str, str, str]:
        """The row of the producer in the database."""
        return self.name, self.version, " ".join(self.reads)

    @property
    def key_sql(self) -> str:
        """SQL of the key of a row of ``papers p``."""
        parts = [part_sql(name) for name in self.reads]
        return parts[0] if parts[0].endswith("_hash") and len(parts) == 1 else f"digest({', '.join(parts)})"

    @property
    def where_sql(self) -> str:
        """SQL that holds for those rows of ``papers p`` that have a value."""
        return "p.full_hash != ''" if self.reads == ("sections",) else "1"


def _orphans(reads: str) -> str:
    """SQL of the values, of producers that read the same, that belong to no paper."""
    key = Producer("", "", tuple(reads.split())).key_sql
    return (
        "FROM derived WHERE producer IN (SELECT id FROM producers WHERE reads = ?) "
        f"AND substr(key, 1, {KEY_LENGTH}) NOT IN (SELECT {key} FROM papers p)"
    )


class Missing(NamedTuple):
    """A paper that a producer has no value of.

    Attributes:
        pos: position in the library; the first, where several papers share the value.
        key: under which the value is to be stored.
        size: characters of title and abstract.
    """

    pos: int
    key: str
    size: int


class Stored(NamedTuple):
    """A paper, and its value or None.

    Attributes:
        pos: position in the library.
        id: of the paper.
        key: under which the value is stored.
        value: the arrays, or None.
    """

    pos: int
    id: str
    key: str
    value: Arrays | None


class Derived:
    """Reads derived values.

    Args:
        rows: runs a reading statement, see :meth:`~aspectra.papers.library.store.Store.rows`.
        fetch: the same for few rows, without a connection of its own.
        checksums: of the library.
        among: SQL that holds for those rows of ``papers p`` that are looked at.
    """

    def __init__(
        self,
        rows: Callable[..., Iterable[tuple[Any, ...]]],
        fetch: Callable[..., Iterable[tuple[Any, ...]]],
        checksums: RowSums,
        among: str = "1",
    ) -> None:
        self.rows = rows
        self._fetch = fetch
        self._checksums = checksums
        self._among = among

    def missing(self, *producers: Producer) -> list[Missing]:
        """The papers that lack a value of one of these producers, which read the same parts; by position."""
        first = producers[0]
        lacking = " OR ".join(
            f"NOT EXISTS (SELECT 1 FROM derived d WHERE d.producer IS {_PRODUCER} AND d.key = x.k)"
            for _ in producers
        )
        statement = (
            f"SELECT x.pos, x.k, x.size FROM (SELECT p.pos AS pos, {first.key_sql} AS k, "
            f"length(p.abstract) + length(p.title) AS size FROM papers p "
            f"WHERE {first.where_sql} AND {self._among}) x WHERE {lacking} ORDER BY x.pos"
        )
        values = [part for one in producers for part in one.identity]
        found: dict[str, Missing] = {}  # not grouped by SQLite, which would work out each key twice more
        for row in self.rows(statement, values):
            found.setdefault(row[1], Missing(*row))
        return [*found.values()]

    def lacking(self, producers: Sequence[Producer]) -> Iterator[tuple[int, list[str | None]]]:
        """Positions of papers that lack values, in order; per producer the key to store one under, or None.

        Each paper is read once for all producers, and a key is worked out once for those that read the same
        parts. Of papers that share a value, the first is given.
        """
        alike = {one.reads: one for one in producers}
        of = [[*alike].index(one.reads) for one in producers]
        keys = ", ".join(
            f"CASE WHEN {one.where_sql} THEN {one.key_sql} END AS k{n}"
            for n, one in enumerate(alike.values())
        )
        lacks = ", ".join(
            "CASE WHEN NOT EXISTS (SELECT 1 FROM derived d "
            f"WHERE d.producer IS {_PRODUCER} AND d.key = x.k{n}) THEN x.k{n} END"
            for n in of
        )
        # Without a limit, SQLite may work out the keys of the inner statement again for each use.
        inner = f"SELECT p.pos AS pos, {keys} FROM papers p WHERE {self._among} ORDER BY p.pos LIMIT -1"
        values = [part for one in producers for part in one.identity]
        given: list[set[str | None]] = [{None} for _ in alike]
        for pos, *found in self.rows(f"SELECT x.pos, {lacks} FROM ({inner}) x", values):
            lacking = [None if key in given[n] else key for n, key in zip(of, found, strict=True)]
            if any(lacking):
                yield pos, lacking
                for n, key in zip(of, lacking, strict=True):
                    given[n].add(key)

    def stream(self, producer: Producer) -> Iterator[Stored]:
        """Every paper with its value, in the library's order."""
        for pos, paper_id, key, value in self._stream(producer, "1"):
            yield Stored(pos, paper_id, key, None if value is None else unpack(value))

    def required(self, producer: Producer) -> Iterator[Arrays]:
        """The value of every paper that has to have one, in the library's order.

        Raises:
            LibraryCorrupt: a value is missing.
        """
        return map(unpack, self.packed(producer))

    def packed(self, producer: Producer) -> Iterator[bytes]:
        """The same as they are stored, see :func:`pack`; raises as :meth:`required`."""
        for _, paper_id, _, value in self._stream(producer, producer.where_sql):
            if value is None:
                raise LibraryCorrupt(
                    f"the library has no value of {producer.name} for {paper_id!r}",
                    hint="aspectra index --rebuild",
                )
            yield value

    def _stream(self, producer: Producer, where: str) -> Iterator[tuple[int, str, str, bytes | None]]:
        self._checksums.check_all("producers")
        statement = (
            f"SELECT x.pos, x.id, coalesce(d.key, x.k), {_VALUE} FROM (SELECT p.pos AS pos, p.id AS id, "
            f"{producer.key_sql} AS k FROM papers p WHERE {where} AND {self._among}) x LEFT JOIN derived d "
            f"ON d.producer IS {_PRODUCER} AND d.key = x.k ORDER BY x.pos"
        )
        for pos, paper_id, key, *value in self.rows(statement, producer.identity):
            yield pos, paper_id, key, None if value[-1] is None else _sound(key, *value)

    def of(self, name: str, version: str, paper_id: str) -> Arrays | None:
        """The value of one paper, or None; ``name`` and ``version`` are those of the producer."""
        self._checksums.check_all("producers")
        for (reads,) in self._fetch(
            "SELECT reads FROM producers WHERE name = ? AND version = ?", (name, version)
        ):
            producer = Producer(name, version, tuple(reads.split()))
            statement = (
                f"SELECT {producer.key_sql}, {_VALUE} FROM papers p JOIN derived d "
                f"ON d.producer = {_PRODUCER} AND d.key = {producer.key_sql} "
                f"WHERE p.id = ? AND {self._checksums.sound('papers', 'p')}"
            )
            for key, *value in self._fetch(statement, (*producer.identity, paper_id)):
                return unpack(_sound(key, *value))
        return None

    def items(self, producer: Producer) -> Iterator[tuple[str, Arrays]]:
        """(key, value) of everything that is stored of a producer."""
        self._checksums.check_all("producers")
        statement = f"SELECT key, {_VALUE} FROM derived d WHERE producer = {_PRODUCER}"
        for key, *value in self.rows(statement, producer.identity):
            yield key, unpack(_sound(key, *value))

    def state(self, producer: Producer) -> str:
        """Changes whenever a value of the producer is stored or removed."""
        statement = f"SELECT count(*), max(rowid), total(rowid) FROM derived WHERE producer = {_PRODUCER}"
        (row,) = self.rows(statement, producer.identity)
        return f"{row[0]}/{row[1]}/{row[2]:.0f}"

    @property
    def empty(self) -> bool:
        """True if no value is stored."""
        return not list(self.rows("SELECT 1 FROM derived LIMIT 1"))

    def orphans(self) -> list[tuple[int, str]]:
        """(producer, key) of the values that belong to no paper of the library any more."""
        out: list[tuple[int, str]] = []
        for (reads,) in list(self.rows("SELECT DISTINCT reads FROM producers")):
            out += self.rows(f"SELECT producer, key {_orphans(reads)}", (reads,))
        return out

    def superseded(self, producer: Producer) -> int:
        """Number of values that other versions of the producer left."""
        others = "SELECT id FROM producers WHERE name = ? AND version != ?"
        statement = f"SELECT count(*) FROM derived WHERE producer IN ({others})"
        (row,) = self.rows(statement, (producer.name, producer.version))
        return int(row[0])


class DerivedOfShards(Derived):
    """Values of the papers of a collection, each read from the shard that holds the paper.

    Args:
        place: id -> the paper's place in the collection, or None.
        shards: gives the values of each shard's papers, by number of the shard.
        checksums: of the collection.
    """

    def __init__(
        self,
        place: Callable[[str], int | None],
        shards: Callable[[], Mapping[int, Derived]],
        checksums: RowSums,
    ) -> None:
        super().__init__(_refused, _refused, checksums)
        self._place, self._shards = place, shards

    def of(self, name: str, version: str, paper_id: str) -> Arrays | None:
        """See :meth:`Derived.of`."""
        place = self._place(paper_id)
        return None if place is None else self._shards()[place // SPAN].of(name, version, paper_id)

    def stream(self, producer: Producer) -> Iterator[Stored]:
        """See :meth:`Derived.stream`."""
        return chain.from_iterable(shard.stream(producer) for shard in self._shards().values())

    def items(self, producer: Producer) -> Iterator[tuple[str, Arrays]]:
        """See :meth:`Derived.items`; a value that several shards store is given for each."""
        return chain.from_iterable(shard.items(producer) for shard in self._shards().values())

    def superseded(self, producer: Producer) -> int:
        """See :meth:`Derived.superseded`."""
        return sum(shard.superseded(producer) for shard in self._shards().values())


def _refused(*_: object) -> list[tuple[Any, ...]]:
    raise UsageError(
        "values of the papers of a collection are made and counted in its shards",
        why="each shard is a library of its own",
        hint="aspectra status",
    )


class Overtaken(Exception):
    """The papers were changed while something was made of them."""


class PutsValues(Protocol):
    """Stores derived values; raises :class:`Overtaken` where those of papers that changed are not wanted."""

    def put(self, producer: Producer, rows: Rows, /) -> None:
        """Store (key, value) rows of one producer."""
        ...

    def put_all(self, batches: Iterable[tuple[Producer, Rows]], /) -> None:
        """Store rows of several producers, all or none."""
        ...


class TakesValues(Protocol):
    """Has a place for derived values: a writer of the library, or what stands in for one."""

    @property
    def derived(self) -> PutsValues:
        """Stores them."""
        ...


class DerivedWriter:
    """Writes derived values; part of :class:`~aspectra.papers.library.mutations.Writer`.

    Args:
        db: a writing connection in autocommit mode.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def put(self, producer: Producer, rows: Rows) -> None:
        """Store (key, value) rows of one producer in one transaction."""
        self.put_all([(producer, rows)])

    def put_all(self, batches: Iterable[tuple[Producer, Rows]]) -> None:
        """Store rows of several producers in one transaction."""
        with transaction(self._db):
            for producer, rows in batches:
                number = self._number(*producer.identity)
                packed = ((key, one if isinstance(one, bytes) else pack(*one)) for key, one in rows)
                self._db.executemany(_PUT, [_row(number, *one) for one in packed])

    def drop(self, name: str) -> int:
        """Remove every value of every version of a producer; returns how many."""
        with transaction(self._db):
            of = "(SELECT id FROM producers WHERE name = ?)"
            gone = self._db.execute(f"DELETE FROM derived WHERE producer IN {of}", (name,)).rowcount
            self._db.execute("DELETE FROM producers WHERE name = ?", (name,))
        return gone

    def collect(self) -> int:
        """Remove the values that belong to no paper of the library any more; returns how many."""
        gone = 0
        with transaction(self._db):
            for (reads,) in self._db.execute("SELECT DISTINCT reads FROM producers").fetchall():
                gone += self._db.execute(f"DELETE {_orphans(reads)}", (reads,)).rowcount
        return gone

    def remove(self, values: Sequence[tuple[int, str]]) -> None:
        """Remove values, given by (producer, key), in one transaction."""
        with transaction(self._db):
            self._db.executemany("DELETE FROM derived WHERE producer = ? AND key = ?", values)

    def copy(self, source: Derived, *names: str) -> None:
        """Copy the values of these producers (without names: of all) from another library.

        So they are not computed again.
        """
        marks = ",".join("?" * len(names))
        found = "SELECT id, name, version, reads FROM producers"
        found += f" WHERE name IN ({marks})" if names else ""
        for number, *identity in list(source.rows(found, names)):
            with transaction(self._db):
                mine = self._number(*identity)
                rows = source.rows("SELECT key, data FROM derived WHERE producer = ?", (number,))
                self._db.executemany(_PUT, (_row(mine, *one) for one in rows))

    def copy_sound(self, source: Derived) -> int:
        """Copy all values from a damaged library but those that changed; returns how many were left out."""
        left_out = 0
        found = "SELECT id, name, version, reads FROM producers"
        values = f"SELECT key, {_VALUE} FROM derived d WHERE producer = ?"
        for number, *identity in list(source.rows(found)):
            with transaction(self._db):
                mine = self._number(*identity)
                rows = source.rows(values, (number,))
                while True:
                    try:
                        key, *value = next(rows)  # type: ignore[call-overload]
                        unpack(_sound(key, *value))
                    except StopIteration:
                        break
                    except LibraryCorrupt:
                        left_out += 1
                        continue
                    self._db.execute(_PUT, _row(mine, key, value[-1]))
        return left_out

    def _number(self, name: str, version: str, reads: str) -> int:
        identity = name, version, reads
        (number,) = self._db.execute(f"SELECT {_PRODUCER}", identity).fetchone()
        if number is None:
            (number,) = self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM producers").fetchone()
            row = (number, *identity)
            self._db.execute("INSERT INTO producers VALUES (?, ?, ?, ?, ?)", (*row, row_hash(*row)))
        return int(number)
