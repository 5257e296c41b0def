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
from typing import TYPE_CHECKING, Any

from aspectra.base.errors import AspectraError, NoSuchPaper, UsageError
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.library import schema
from aspectra.papers.library.generations import Generations
from aspectra.papers.library.lock import WriterLock
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.rows import Parts, author_keys, paper_columns, paper_from_row
from aspectra.papers.paper import Paper, normalise_title

if TYPE_CHECKING:
    from aspectra.papers.library.derived import Derived

__all__ = ["Store"]

_LISTED = "(SELECT value FROM json_each(?))"  # the values of one JSON array
# A file added again replaces what was said about it before.
_NEWEST = "SELECT max(id) FROM additions GROUP BY path"

# The snapshot that the code under way reads from, and whose it is.
_SNAPSHOT: ContextVar[tuple[Store, sqlite3.Connection] | None] = ContextVar("snapshot", default=None)


class Store:
    """A library opened for reading; :meth:`writing` opens it for the single writer.

    Args:
        folder: the library's directory.

    Raises:
        LibraryNotFound: there is no library there.
        LibraryCorrupt: it is damaged or was written by a newer version.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder).expanduser()
        self.database = self.folder / "library.db"
        self._connection = schema.connect(self.database, write=False)
        self.generations = Generations(self.folder)

    @classmethod
    def create(cls, folder: Path | str) -> Store:
        """A new, empty library; opening one that exists is not an error.

        Raises:
            UsageError: the folder holds other things.
        """
        path = Path(folder).expanduser()
        database = path / "library.db"
        if not database.exists():
            if path.is_file():
                raise UsageError(f"{path} is a file", why="a library is a folder")
            if path.is_dir() and any(p.name != "writer.lock" for p in path.iterdir()):
                raise UsageError(
                    f"{path} is not empty and holds no library",
                    why="a library needs a folder of its own",
                    hint=f"aspectra init --library {path / 'library'}",
                )
            try:
                path.mkdir(parents=True, exist_ok=True)
                with WriterLock(path, "init"):
                    schema.create(database).close()
            except OSError as error:
                raise AspectraError(
                    f"cannot make a library at {path}", why=error.strerror or str(error)
                ) from error
            except sqlite3.Error as error:
                raise schema.translate(error, database) from error
        return cls(path)

    def close(self) -> None:
        """Release the database; the object cannot be used afterwards."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def writing(self, purpose: str) -> Iterator[Writer]:
        """The single writer, under the lock.

        A library of an older format is brought to the present one first. At the end, citations of what was
        added are linked.

        Args:
            purpose: shown in the error that a second writer gets.

        Raises:
            LibraryBusy: another process is writing.
        """
        with WriterLock(self.folder, purpose):
            connection = schema.connect(self.database, write=True)
            try:
                if int(self.meta("format")) < schema.FORMAT:
                    from aspectra.papers.library.migrations import upgrade

                    upgrade(connection)
                writer = Writer(connection)
                yield writer
                writer.link()
            except sqlite3.Error as error:
                raise schema.translate(error, self.database) from error
            finally:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()

    @cached_property
    def derived(self) -> Derived:
        """What was derived from the papers: vectors, lens values, readings.

        Raises:
            AspectraError: the library has an older format and cannot be upgraded, see :meth:`writing`.
        """
        from aspectra.papers.library.derived import Derived  # loads numpy

        if int(self.meta("format")) < schema.FORMAT:
            with self.writing("upgrade"):
                pass
        return Derived(self.rows)

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """All rows of a reading statement; for few of them, as they are loaded at once."""
        connection = self._snapshot() or self._connection
        try:
            return connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise schema.translate(error, self.database) from error

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a reading statement, streaming, on a new connection or that of the snapshot."""
        held = self._snapshot()
        connection = held or schema.connect(self.database, write=False)
        try:
            yield from connection.execute(statement, values)
        except sqlite3.Error as error:
            raise schema.translate(error, self.database) from error
        finally:
            if connection is not held:
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
        connection = schema.connect(self.database, write=False)
        try:
            connection.execute("BEGIN")  # the first reading statement takes the snapshot
            connection.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
            token = _SNAPSHOT.set((self, connection))
            try:
                yield
            finally:
                _SNAPSHOT.reset(token)
        except sqlite3.Error as error:
            raise schema.translate(error, self.database) from error
        finally:
            connection.close()

    def _snapshot(self) -> sqlite3.Connection | None:
        held = _SNAPSHOT.get()
        return held[1] if held is not None and held[0] is self else None

    def __len__(self) -> int:
        return int(self.fetch("SELECT count(*) FROM papers")[0][0])

    def __contains__(self, paper_id: object) -> bool:
        return bool(self.fetch("SELECT 1 FROM papers WHERE id = ?", (paper_id,)))

    @property
    def revision(self) -> int:
        """Counts committed changes of papers."""
        return int(self.meta("revision", "0"))

    def meta(self, key: str, default: str = "") -> str:
        """A value of the library's own small key-value table."""
        found = self.fetch("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else default

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
        statement = f"SELECT {paper_columns('all' if full else 'none')} FROM papers WHERE id IN {_LISTED}"
        found = {row[1]: paper_from_row(row) for row in self.fetch(statement, [json.dumps(wanted)])}
        return {i: found[i] for i in wanted if i in found}

    def papers(self, parts: Parts = "all") -> Iterator[Paper]:
        """Every paper in the order in which they were added; streaming.

        Args:
            parts: what is read beside the record, see :func:`~aspectra.papers.library.rows.paper_columns`.
        """
        for row in self.rows(f"SELECT {paper_columns(parts)} FROM papers ORDER BY pos"):
            yield paper_from_row(row)

    def papers_at(self, positions: Sequence[int], parts: Parts = "lead") -> dict[int, Paper]:
        """Position -> paper, for those positions that are taken, in ascending order.

        Args:
            positions: of the papers table.
            parts: what is read beside the record, see :func:`~aspectra.papers.library.rows.paper_columns`.
        """
        statement = f"SELECT {paper_columns(parts)} FROM papers WHERE pos IN {_LISTED} ORDER BY pos"
        return {row[0]: paper_from_row(row) for row in self.rows(statement, [json.dumps([*positions])])}

    def ids(self) -> list[str]:
        """Every id, in the order in which they were added."""
        return [row[0] for row in self.fetch("SELECT id FROM papers ORDER BY pos")]

    def resolve(self, seed: str) -> str:
        """The id of the paper that ``seed`` names: an id, DOI, arXiv id, another identifier or exact title.

        Raises:
            NoSuchPaper: nothing matches; near titles are suggested.
            UsageError: several different papers match.
        """
        seed = seed.strip()
        if not seed:
            raise UsageError("the seed is empty", hint="give an id, a DOI, an arXiv id or an exact title")
        if seed in self:
            return seed
        key = normalise_title(seed)
        if parsed := parse_identifier(seed):
            found = self.fetch(
                "SELECT p.id, p.version_group, p.pos FROM identifiers i JOIN papers p USING (pos) "
                "WHERE i.scheme = ? AND i.value = ? ORDER BY p.pos",
                parsed,
            )
        else:
            found = self.fetch(
                "SELECT id, version_group, pos FROM papers WHERE title_key = ? ORDER BY pos LIMIT 20", (key,)
            )
        groups = {("group", row[1]) if row[1] is not None else ("paper", row[2]) for row in found}
        if len(groups) == 1:
            return str(found[0][0])
        if found:
            raise UsageError(
                f"{seed!r} names {len(found)} papers",
                why="their ids: " + ", ".join(row[0] for row in found),
                hint="give one of these ids",
            )
        raise NoSuchPaper(
            f"no paper in the library is called {seed!r}",
            why="no id, DOI, arXiv or other identifier and no exact title is the same",
            hint=self._suggest(seed, key),
        )

    def _suggest(self, seed: str, key: str) -> str:
        words = sorted(set(key.split()), key=len, reverse=True)[:3]
        if words and len(words[0]) > 3:
            where = " AND ".join("title_key LIKE ?" for _ in words)
            rows = self.fetch(
                f"SELECT id, title FROM papers WHERE {where} LIMIT 3",
                [f"%{word}%" for word in words],
            )
            if rows:
                return "did you mean " + " or ".join(f"{i} ({t[:60]})" for i, t in rows) + "?"
        return f'aspectra search "{seed}"'

    def versions(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """Id -> ids of its other versions (preprint, journal), for those that have any."""
        rows = self.fetch(
            "SELECT a.id, b.id FROM papers a JOIN papers b ON a.version_group = b.version_group "
            f"AND a.pos != b.pos WHERE a.id IN {_LISTED} ORDER BY a.pos, b.pos",
            [json.dumps(list(ids))],
        )
        return {one: [other for _, other in pairs] for one, pairs in groupby(rows, itemgetter(0))}

    def cited_by(self, paper_id: str) -> list[str]:
        """Ids of papers in the library that cite this one."""
        return self._linked("target", "pos", paper_id)

    def cites(self, paper_id: str) -> list[str]:
        """Ids of papers in the library that this one cites."""
        return self._linked("pos", "target", paper_id)

    def _linked(self, here: str, there: str, paper_id: str) -> list[str]:
        statement = (
            f"SELECT DISTINCT other.id FROM citations c JOIN papers other ON other.pos = c.{there} "
            f"JOIN papers p ON p.pos = c.{here} WHERE p.id = ? ORDER BY other.id"
        )
        return [row[0] for row in self.fetch(statement, (paper_id,))]

    def ids_by_author(self, name: str) -> set[str]:
        """Ids of papers with an author of this family name, or whole name when given more than one word."""
        last, comma, given = name.partition(",")
        if comma and given.strip():  # as bibliographies have it: "Lovelace, Ada"
            name = f"{given} {last}"
        key, family = author_keys(name)
        first, several, _ = key.partition(" ")
        rows = self.fetch(
            "SELECT p.id, a.name FROM authors a JOIN papers p USING (pos) WHERE a.family = ?", (family,)
        )
        # "A. Lovelace" and "Ada Lovelace" are taken as one person; "van der Berg" is a family name whole.
        return {
            i
            for i, n in rows
            if not several or n == key or n.endswith(f" {key}") or _same_given(n.split(" ", 1)[0], first)
        }

    def summary(self) -> dict[str, Any]:
        """Counts of what the database holds."""
        papers, abstracts, full, texts = self.fetch(
            "SELECT count(*), coalesce(sum(abstract != ''), 0), coalesce(sum(full_hash != ''), 0), "
            "coalesce(sum(abstract = '' AND full_hash = ''), 0) FROM papers"
        )[0]
        groups, members = self.fetch(
            "SELECT count(DISTINCT version_group), count(*) FROM papers WHERE version_group IS NOT NULL"
        )[0]
        citations, resolved = self.fetch("SELECT count(*), count(target) FROM citations")[0]
        skipped, noted = self.fetch(
            "SELECT coalesce(sum(skipped), 0), coalesce(sum(1 - skipped), 0) FROM remarks "
            f"WHERE addition IN ({_NEWEST})"
        )[0]
        return {
            "folder": str(self.folder),
            "revision": self.revision,
            "papers": papers,
            "with_abstract": abstracts,
            "with_full_text": full,
            "title_only": texts,
            "version_groups": groups,
            "papers_in_groups": members,
            "citations": citations,
            "citations_resolved": resolved,
            "records_skipped": skipped,
            "records_noted": noted,
        }

    def remarks(self, limit: int = 100) -> list[dict[str, Any]]:
        """What was skipped or noted while adding, newest file first."""
        rows = self.fetch(
            "SELECT a.path, a.source, r.place, r.reason, r.skipped FROM remarks r "
            f"JOIN additions a ON a.id = r.addition WHERE a.id IN ({_NEWEST}) "
            "ORDER BY a.id DESC, r.rowid LIMIT ?",
            (limit,),
        )
        names = ("file", "source", "place", "reason", "skipped")
        return [dict(zip(names, (*row[:4], bool(row[4])), strict=True)) for row in rows]

    def check(self) -> list[str]:
        """Problems that SQLite finds in the database; empty when all is well."""
        found = [row[0] for row in self.fetch("PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found


def _same_given(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) == 1 and long.startswith(short)
