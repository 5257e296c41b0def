"""The library: a directory whose ``library.db`` is the only source of truth."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from aspectra.base.errors import NoSuchPaper, SeveralPapers, UsageError
from aspectra.papers.identifiers import normalise, parse_identifier
from aspectra.papers.library import schema
from aspectra.papers.library.folder.lock import WriterLock, noting, refuse_links, taking_turns, turn_of
from aspectra.papers.library.generations.folders import Generations
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.row_sums import SUMMED, RowSums, damaged
from aspectra.papers.library.rows import Parts, author_keys, paper_columns, paper_from_row, same_given
from aspectra.papers.library.shards import NO_SHARDS, SPAN, Collection, check_number, first_place
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.text.cleaning import unspelt

if TYPE_CHECKING:
    from aspectra.papers.library.derived import Derived
    from aspectra.papers.library.marks.reader import Marks

_SPELT_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
# What is written into a collection's shards too, and what into its own database alone.
_IN_SHARDS = ("add", "remove", "edit", "undo", "redo")
_BESIDE_SHARDS = ("tag", "note", "decide", "merge", "split", "save", "news", "aspect", "lens", "index")
_LISTED = "(SELECT value FROM json_each(?))"  # the values of one JSON array


class _Snapshot(NamedTuple):
    """The snapshot that the code under way reads from.

    Attributes:
        store: whose it is.
        reader: of it.
        meta: key -> value in the table ``meta``, None where there is none; of those read so far.
    """

    store: Store
    reader: schema.ReadConnection
    meta: dict[str, str | None]


_SNAPSHOT: ContextVar[_Snapshot | None] = ContextVar("snapshot", default=None)


class Store:
    """A library opened for reading; :meth:`writing` opens it for the single writer.

    Args:
        folder: the library's directory.
        partial: read a collection without those of its shards that are not there, see :attr:`missing`.

    Raises:
        LibraryNotFound: the folder has no library.
        LibraryCorrupt: it is damaged or was written by a newer version.
    """

    def __init__(self, folder: Path | str, *, partial: bool = False) -> None:
        self.folder = Path(folder).expanduser()
        self.database = self.folder / "library.db"
        self.collection = Collection.of(self.folder)
        held = NO_SHARDS if self.collection is None else self.collection.databases(self.folder)
        refuse_links(self.folder, (path.parent for path in held.values()))
        self._shards = {n: path for n, path in held.items() if not partial or path.is_file()}
        self.missing = [self.collection.shards[n] for n in held.keys() - self._shards if self.collection]
        self._reader = schema.ReadConnection(self.database, self._shards)
        # Of earlier snapshots: opening one takes half a millisecond.
        self._idle: list[schema.ReadConnection] = []
        self._turn = turn_of(self.folder)
        self.generations = Generations(self.folder)
        self.checksums = RowSums(self.fetch, kept=self.format >= SUMMED and not self._shards)
        try:
            self.checksums.check_schema()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, folder: Path | str, *, shards: int = 0) -> Store:
        """A new, empty library; opening one that exists is not an error.

        Args:
            folder: of the library.
            shards: number of libraries that share its papers, see :mod:`~aspectra.papers.library.shards`; 0
                for one that holds them itself.

        Raises:
            UsageError: the folder holds other things, or a library with another number of shards.
        """
        path = Path(folder).expanduser()
        if shards:
            check_number(shards)
        schema.create(path)
        held = Collection.of(path)
        if shards and held is None:
            schema.create_shards(path, Collection.named(shards))
        elif shards and held is not None and len(held.shards) != shards:
            raise UsageError(
                f"{path} is a collection of {len(held.shards)} shards",
                why="papers lie in them by the hash of their ids, so that their number stays",
                hint="leave --shards out, or make another collection",
            )
        return cls(path)

    def close(self) -> None:
        """Release the database; the object cannot be used afterwards."""
        for reader in (self._reader, *self._idle):
            reader.connection.close()
        self._idle.clear()
        for shard in self.__dict__.pop("shards", {}).values():
            shard.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def writing(self, purpose: str, *, brief: bool = False) -> Iterator[Writer]:
        """The single writer, under the lock.

        A library of an older format is brought to the present one first; at the end, citations are linked.

        Args:
            purpose: shown in the error that a second writer gets.
            brief: it takes less than a second, and a second writer waits.

        Raises:
            LibraryBusy: another process is writing, or another thread is for more than ten seconds.
            UsageError: the library is a collection, and what is to be done is done in its shards.
        """
        if self.collection is not None:
            with self._writing_shards(purpose) as writer:
                yield writer
            return
        if schema.at_rest(self._reader.connection):  # the disk was full, perhaps it is no longer
            self.close()
            self._reader = schema.ReadConnection(self.database, self._shards)
            schema.writable(self._reader.connection, self.database)
        with taking_turns(self._turn), WriterLock(self.folder, purpose, brief=brief), noting():
            connection = schema.connect(self.database, write=True)
            try:
                if older := self.format < schema.FORMAT:
                    schema.upgrade(connection)
                    self.checksums.kept = True
                writer = Writer(connection, regroup=older)
                yield writer
                writer.link()
            except (sqlite3.Error, UnicodeEncodeError) as error:
                raise schema.translate(error, self.database) from error
            finally:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()

    @contextlib.contextmanager
    def _writing_shards(self, purpose: str) -> Iterator[Writer]:
        from aspectra.papers.library.routing import ShardsWriter, copy_marked, drop_marks

        papers = purpose in _IN_SHARDS
        if not papers and purpose not in _BESIDE_SHARDS:
            self.check_one(purpose)
        if self.missing:
            raise UsageError(
                f"{self.folder} cannot be changed while {', '.join(self.missing)} is missing",
                why="papers of a collection lie in the shard that their ids name",
                hint="bring it back",
            )
        with contextlib.ExitStack() as stack:
            stack.enter_context(taking_turns(self._turn))
            stack.enter_context(WriterLock(self.folder, purpose))
            shards = self.shards.values() if papers else ()
            writers = [stack.enter_context(shard.writing(purpose)) for shard in shards]
            db = stack.enter_context(self._connect_shards())
            try:
                yield ShardsWriter(db, writers)
                if papers:
                    drop_marks(db)
                copy_marked(db, self._shards)
            except (sqlite3.Error, UnicodeEncodeError) as error:
                raise schema.translate(error, self.database) from error

    @contextlib.contextmanager
    def _connect_shards(self) -> Iterator[sqlite3.Connection]:
        """A writing connection to a collection; what marks refer to is copied after they are written."""
        with contextlib.closing(schema.connect(self.database, write=True, shards=self._shards)) as db:
            db.execute("PRAGMA foreign_keys = OFF")
            yield db

    @cached_property
    def derived(self) -> Derived:
        """Values derived from the papers: vectors, lens values, readings.

        Raises:
            AspectraError: the library has an older format and cannot be upgraded, see :meth:`writing`.
        """
        from aspectra.papers.library.derived import Derived, DerivedOfShards  # loads numpy

        if self.collection is not None:
            return DerivedOfShards(
                self._place, lambda: {n: one.derived for n, one in self.shards.items()}, self.checksums
            )
        if self.format < schema.FORMAT:
            with self.writing("upgrade"):
                pass
        return Derived(self.rows, self.fetch, self.checksums)

    def check_one(self, purpose: str) -> None:
        """Check that the library is no collection, for what is done to one library.

        Args:
            purpose: the command.

        Raises:
            UsageError: it is a collection.
        """
        if self.collection is not None:
            raise UsageError(
                f"`{purpose}` works on one library, and {self.folder} is a collection",
                why=f"its papers are in {len(self.collection.shards)} shards, each a library of its own",
                hint=f"do it in a shard, with {self.folder / self.collection.shards[0]} as the library",
            )

    def _place(self, paper_id: str) -> int | None:
        found = self.fetch("SELECT pos FROM papers WHERE id = ?", (paper_id,))
        return found[0][0] if found else None

    def link_shards(self) -> None:
        """Group works and link citations over the shards of a collection; only for who holds its lock."""
        from aspectra.papers.library.routing import copy_marked, drop_marks, link_shards

        with self._connect_shards() as db:
            try:
                link_shards(db)
                drop_marks(db)
                copy_marked(db, self._shards, anew=True)
            except sqlite3.Error as error:
                raise schema.translate(error, self.database) from error

    @cached_property
    def shards(self) -> dict[int, Store]:
        """The libraries that hold the papers of a collection, by number; none of an ordinary library."""
        return {number: Store(path.parent) for number, path in self._shards.items()}

    @property
    def first_places(self) -> list[int]:
        """The place before the first paper; in a collection, one for each shard."""
        return [first_place(n) for n in range(1 if self.collection is None else len(self.collection.shards))]

    def holder(self, place: int) -> Store:
        """The library that holds the paper at a place: a shard, or the library itself."""
        return self.shards.get(place // SPAN, self)

    @cached_property
    def marks(self) -> Marks:
        """The searcher's marks on papers (tags, notes, decisions), and the origins of their records."""
        from aspectra.papers.library.marks.reader import Marks

        return Marks(self)

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a reading statement; for few of them, as they are loaded at once."""
        try:
            held = self._snapshot()
            return (self._reader if held is None else held.reader).fetch(statement, values)
        except schema.FAULTS as error:
            raise schema.translate(error, self.database) from error

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a reading statement, streaming on a new connection; of a snapshot, all at once."""
        if self._snapshot() is not None:
            yield from self.fetch(statement, values)
            return
        connection = schema.connect(self.database, write=False, shards=self._shards)
        try:
            with noting():
                yield from connection.execute(statement, values)
        except schema.FAULTS as error:
            raise schema.translate(error, self.database) from error
        finally:
            connection.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one revision of the library within it, whatever is written meanwhile; may be nested.

        It holds for the code that is run within it, on this thread or in tasks started there. Writers go on,
        but the write-ahead log grows until the snapshot ends: not for hours.
        """
        if self._snapshot() is not None:
            yield
            return
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = schema.ReadConnection(self.database, self._shards)
        try:
            reader.fetch("BEGIN")  # the first statement that reads a database takes the snapshot of it
            reader.fetch(self._revisions)
            token = _SNAPSHOT.set(_Snapshot(self, reader, {}))
            try:
                yield
            finally:
                _SNAPSHOT.reset(token)
                reader.fetch("ROLLBACK")
        except BaseException as error:
            reader.connection.close()
            if isinstance(error, sqlite3.Error):
                raise schema.translate(error, self.database) from error
            raise
        self._idle.append(reader)

    def _snapshot(self) -> _Snapshot | None:
        held = _SNAPSHOT.get()
        return held if held is not None and held.store is self else None

    def __len__(self) -> int:
        tables = [f"shard{number}.papers" for number in self._shards] or ["papers"]
        counts = " + ".join(f"(SELECT count(*) FROM {table})" for table in tables)
        return int(self.fetch(f"SELECT {counts}")[0][0])

    def __contains__(self, paper_id: object) -> bool:
        if self.fetch("SELECT 1 FROM papers WHERE id = ?", (paper_id,)):
            return True
        self.checksums.absent([str(paper_id)])
        return False

    @property
    def format(self) -> int:
        """The number of the newest migration that the library went through."""
        return int(self.fetch("SELECT value FROM meta WHERE key = 'format'")[0][0])

    @property
    def revision(self) -> int:
        """Counts committed changes of papers."""
        return int(self.meta("revision", "0"))

    @property
    def _revisions(self) -> str:
        """SQL of the revision of the database, and of each shard's."""
        names = ["main", *(f"shard{number}" for number in self._shards)]
        return " UNION ALL ".join(f"SELECT value FROM {name}.meta WHERE key = 'revision'" for name in names)

    def meta(self, key: str, default: str = "") -> str:
        """A value of the library's own small key-value table; of a snapshot it is read once."""
        held = self._snapshot()
        known: dict[str, str | None] = {} if held is None else held.meta
        if key not in known:
            known[key] = self._setting(key)
        value = known[key]
        return default if value is None else value

    def _setting(self, key: str) -> str | None:
        if key == "revision" and self._shards:
            return str(sum(int(row[0]) for row in self.fetch(self._revisions)))
        sound = self.checksums.sound("meta")
        found = self.fetch(f"SELECT value FROM meta WHERE key = ? AND {sound}", (key,))
        if not found:
            self.checksums.check_all("meta")
        return str(found[0][0]) if found else None

    def get(self, paper_id: str) -> Paper:
        """The paper with this id, whole.

        Raises:
            NoSuchPaper: there is none.
        """
        found = self.get_many([paper_id])
        if not found:
            raise NoSuchPaper(f"there is no paper {paper_id!r} in {self.folder}", hint="aspectra status")
        return found[paper_id]

    def get_many(self, ids: Iterable[str], *, full: bool = True) -> dict[str, Paper]:
        """Id -> paper for those ids that exist.

        Args:
            ids: ids of the library.
            full: with sections and references; without, both are empty (quicker).
        """
        wanted = list(dict.fromkeys(ids))
        columns = paper_columns("all" if full else "none", checked=self.checksums.kept)
        statement = f"SELECT {columns} FROM papers WHERE id IN {_LISTED}"
        found = {row[1]: paper_from_row(row) for row in self.fetch(statement, [json.dumps(wanted)])}
        self.checksums.absent([i for i in wanted if i not in found])
        return {i: found[i] for i in wanted if i in found}

    def papers(self, parts: Parts = "all") -> Iterator[Paper]:
        """Every paper in the order in which they were added; streaming.

        Args:
            parts: what is read beside the record, see :func:`~aspectra.papers.library.rows.paper_columns`.
        """
        columns = paper_columns(parts, checked=self.checksums.kept)
        for row in self.rows(f"SELECT {columns} FROM papers ORDER BY pos"):
            yield paper_from_row(row)

    def papers_at(self, positions: Sequence[int], parts: Parts = "lead") -> dict[int, Paper]:
        """Position -> paper, for those positions that are taken, in ascending order.

        Args:
            positions: of the papers table.
            parts: what is read beside the record, see :func:`~aspectra.papers.library.rows.paper_columns`.
        """
        columns = paper_columns(parts, checked=self.checksums.kept)
        statement = f"SELECT {columns} FROM papers WHERE pos IN {_LISTED} ORDER BY pos"
        return {row[0]: paper_from_row(row) for row in self.rows(statement, [json.dumps([*positions])])}

    def ids(self) -> list[str]:
        """Every id, in the order in which they were added."""
        sound = self.checksums.sound("papers", "p")
        return [row[0] for row in self.fetch(f"SELECT id FROM papers p WHERE {sound} ORDER BY pos")]

    def resolve(self, seed: str) -> str:
        """The id of the paper that ``seed`` names: an id, DOI, arXiv id, another identifier or exact title.

        Raises:
            NoSuchPaper: nothing matches; near titles are suggested.
            SeveralPapers: several different papers match.
        """
        seed = seed.strip()
        if not seed:
            raise UsageError("the seed is empty", hint="give an id, a DOI, an arXiv id or an exact title")
        found = self.called(seed)
        if len(found) == 1:
            return found[0]
        if found:
            raise SeveralPapers(seed, found)
        raise NoSuchPaper(
            f"no paper in the library is called {seed!r}",
            why="no id, DOI, arXiv or other identifier and no exact title is the same",
            hint=self._suggest(seed, normalise_title(seed)),
        )

    def called(self, name: str) -> list[str]:
        """Ids of the papers of this id, identifier or exact title; the first alone where all are one work."""
        if self.fetch("SELECT 1 FROM papers WHERE id = ?", (name,)):
            return [name]
        paper = "SELECT p.id, p.version_group, p.pos FROM papers p"
        sound = self.checksums.sound("papers", "p")
        if parsed := parse_identifier(name):
            named = f"JOIN identifiers i USING (pos) WHERE i.scheme = ? AND i.value = ? AND {sound}"
            found = self.fetch(f"{paper} {named} ORDER BY p.pos", parsed)
            held = self.get_many([row[0] for row in found], full=False).values()
            if any(normalise(parsed[0], one.identifiers.get(parsed[0])) != parsed[1] for one in held):
                raise damaged("the table identifiers")
        else:
            key = normalise_title(name)
            found = self.fetch(f"{paper} WHERE title_key = ? AND {sound} ORDER BY p.pos LIMIT 20", (key,))
        if not found:  # the id of a record in its file, which another's completed; X~2 and X are two papers
            read = f"WHERE p.pos IN (SELECT pos FROM origins WHERE place = ?) AND {sound}"
            found = [
                row for row in self.fetch(f"{paper} {read} LIMIT 20", (name,)) if "~" not in row[0] + name
            ]
        if not found:
            self.checksums.absent([name])
        groups = {("group", row[1]) if row[1] is not None else ("paper", row[2]) for row in found}
        return [str(row[0]) for row in (found[:1] if len(groups) == 1 else found)]

    def _suggest(self, seed: str, key: str) -> str:
        words = sorted(set(key.split()), key=len, reverse=True)[:3]
        if words and len(words[0]) > 3:
            where = " AND ".join("title_key LIKE ?" for _ in words)
            held = [f"%{word}%" for word in words]
            rows = self.fetch(f"SELECT id, title FROM papers WHERE {where} LIMIT 3", held)
            if rows:
                return "did you mean " + " or ".join(f"{i} ({t[:60]})" for i, t in rows) + "?"
        return f'aspectra search "{seed}"'

    def versions(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """Id -> ids of its other versions (preprint, journal), for those that have any."""
        wanted = list(dict.fromkeys(ids))
        listed = f"IN {_LISTED} AND {self.checksums.sound('papers', 'p')}"
        # Sorted here: to sort papers of several shards SQLite reads all of them.
        statement = f"SELECT p.pos, p.id, p.version_group FROM papers p WHERE p.id {listed}"
        held = {one: group for _, one, group in sorted(self.fetch(statement, [json.dumps(wanted)]))}
        self.checksums.absent(set(wanted).difference(held))
        numbers = set(held.values()) - {None}
        # Each group is read once, however many of its records are wanted.
        statement = f"SELECT version_group, id FROM papers p WHERE version_group {listed} ORDER BY 1, pos"
        rows = (
            self._of_groups(numbers) if self._shards else self.fetch(statement, [json.dumps(sorted(numbers))])
        )
        groups = {number: [one for _, one in pairs] for number, pairs in groupby(rows, itemgetter(0))}
        found = {one: [x for x in groups.get(number, ()) if x != one] for one, number in held.items()}
        return {one: others for one, others in found.items() if others}

    def _of_groups(self, numbers: Iterable[int]) -> list[Any]:
        """(group, id) of the papers of a collection's groups of versions, by group and place."""
        inside = "version_group IN (SELECT value{less} FROM json_each(?1))"
        arms = [f"SELECT pos FROM main.works WHERE {inside.format(less='')}"]
        for number in self._shards:
            own = inside.format(less=f" - {first_place(number)}")
            arms.append(f"SELECT pos FROM shard{number}.papers WHERE {own}")
        where = f"pos IN ({' UNION '.join(arms)}) AND {inside.format(less='')}"
        statement = f"SELECT version_group, pos, id FROM papers WHERE {where}"
        rows = sorted(self.fetch(statement, [json.dumps(sorted(numbers))]))
        return [(group, one) for group, _, one in rows]

    def cited_by(self, paper_id: str) -> list[str]:
        """Ids of papers in the library that cite this one."""
        return self._linked("target", "pos", paper_id)

    def cites(self, paper_id: str) -> list[str]:
        """Ids of papers in the library that this one cites."""
        return self._linked("pos", "target", paper_id)

    def _linked(self, here: str, there: str, paper_id: str) -> list[str]:
        sound, link = self.checksums.sound("papers", "p"), self.checksums.sound("citations")
        own = self.fetch(f"SELECT p.pos FROM papers p WHERE p.id = ? AND {sound}", (paper_id,))
        if not own:
            self.checksums.absent([paper_id])
            return []
        found = self.fetch(f"SELECT {there} FROM citations WHERE {here} = ? AND {link}", own[0])
        statement = f"SELECT p.id FROM papers p WHERE p.pos IN {_LISTED} AND {sound} ORDER BY p.id"
        return [row[0] for row in self.fetch(statement, [json.dumps([row[0] for row in found])])]

    def ids_by_author(self, name: str) -> set[str]:
        """Ids of papers with an author of this family name, or whole name when given more than one word.

        *Müller* is *Mueller* too; the other way round only where nobody is called *Mueller*.
        """
        low = name.casefold()
        found = self._ids_by_author(name)
        if (spelt := low.translate(_SPELT_OUT)) != low:
            found |= self._ids_by_author(spelt)
        if not found and (plain := unspelt(low)) != low:
            found = self._ids_by_author(plain)
        return found

    def _ids_by_author(self, name: str) -> set[str]:
        last, comma, given = name.partition(",")
        if comma and given.strip():  # as bibliographies have it: "Lovelace, Ada"
            name = f"{given} {last}"
        key, family = author_keys(name)
        first, several, _ = key.partition(" ")
        families = family, normalise_title(name).rsplit(" ", 1)[-1]  # the second in older libraries
        statement = (
            "SELECT p.id, a.name FROM authors a JOIN papers p USING (pos) WHERE a.family IN (?, ?) AND "
        )
        rows = self.fetch(statement + self.checksums.sound("papers", "p"), families)
        # "A. Lovelace" and "Ada Lovelace" are taken as one person; "van der Berg" is a family name whole.
        return {
            i
            for i, n in rows
            if not several or n == key or n.endswith(f" {key}") or same_given(n.split(" ", 1)[0], first)
        }

    def ids_without_authors(self) -> list[str]:
        """Ids of papers of which no author is known."""
        statement = "SELECT p.id FROM papers p WHERE pos NOT IN (SELECT pos FROM authors) AND "
        return [row[0] for row in self.rows(statement + self.checksums.sound("papers", "p"))]

    def check(self, *, quick: bool = False) -> list[str]:
        """Problems of the database; empty when all is well.

        Args:
            quick: leave out what takes longest, as in :func:`~aspectra.papers.library.schema.problems`.
        """
        found = schema.problems(self.database, quick=quick)
        for path in self._shards.values():
            found += [f"{path.parent}: {one}" for one in schema.problems(path, quick=quick)]
        return found
