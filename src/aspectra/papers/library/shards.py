"""A collection: a library whose papers lie in several shards, each an ordinary library.

A folder with ``COLLECTION.json`` names the shards. Its own ``library.db`` holds what one searcher says about
papers; papers, their texts and references are read from the shards. These are attached to each connection,
and views of its own (temporary ones) join a table of all shards under the table's name, so that the same
statements read a library and a collection.

The places of papers (``pos``) of one shard lie in a range of its own. A paper belongs to the shard that the
hash of its id names.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from aspectra.base.errors import LibraryCorrupt, UsageError
from aspectra.base.files import write_durably
from aspectra.base.values import converted

MANIFEST = "COLLECTION.json"
FORMAT = 1
SPAN = 1 << 40  # places of a shard
NO_SHARDS: Mapping[int, Path] = MappingProxyType({})
MOST = 10  # databases that SQLite attaches to one connection
_NUMBERS = range(1, MOST + 1)

# What a table of the collection is read from, of each shard. Numbers that one shard gives rows are moved into
# the range of its places; works and citations that reach over shards are in tables of the collection.
_ARMS: dict[str, tuple[str, ...]] = {
    **{
        name: (f"* FROM {{shard}}.{name}",)
        for name in ("sections", "identifiers", "authors", "citation_keys", "origins", "edits")
    },
    "papers": (
        "pos, id, content_hash, text_hash, full_hash, title, abstract, year, venue, language, title_key, "
        "nullif(coalesce((SELECT w.version_group FROM main.works w WHERE w.pos = p.pos), "
        "p.version_group + {first}), 0) AS version_group, record FROM {shard}.papers p",
    ),
    "citations": (
        "pos, ordinal, record, target FROM {shard}.citations WHERE target IS NOT NULL",
        "c.pos, c.ordinal, c.record, l.target FROM {shard}.citations c "
        "LEFT JOIN main.links l ON l.pos = c.pos AND l.ordinal = c.ordinal WHERE c.target IS NULL",
    ),
    "additions": ("id + {first} AS id, path, source, at, added, updated, unchanged FROM {shard}.additions",),
    "remarks": ("addition + {first} AS addition, place, reason, skipped FROM {shard}.remarks",),
}
# In `works`: the group of each paper whose group is not that of its shard, and 0 where it is in none.
TABLES = """
CREATE TABLE IF NOT EXISTS works (pos INTEGER PRIMARY KEY, version_group INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS works_group ON works(version_group);
CREATE TABLE IF NOT EXISTS links (
  pos INTEGER NOT NULL, ordinal INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (pos, ordinal)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_target ON links(target);
"""


class Collection(Struct, frozen=True):
    """The shards of a collection.

    Attributes:
        format: of the file.
        shards: folder of each below that of the collection, by number: ``shards/0`` ...
    """

    format: int
    shards: tuple[str, ...]

    @classmethod
    def of(cls, folder: Path) -> Collection | None:
        """The shards of a folder; None if it is an ordinary library.

        Raises:
            LibraryCorrupt: ``COLLECTION.json`` is damaged, or of a newer version.
        """
        path = folder / MANIFEST
        try:
            found = converted(json.loads(path.read_bytes()), cls)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, msgspec.ValidationError) as error:
            raise LibraryCorrupt(f"{path} is damaged", why=str(error), hint="restore a copy of it") from error
        # A library is read inside its own folder only, whatever its file says.
        if (
            found.format != FORMAT
            or found != cls.named(len(found.shards))
            or len(found.shards) not in _NUMBERS
        ):
            raise LibraryCorrupt(
                f"{path} cannot be read",
                why=f"its format is {found.format}, and it names {len(found.shards)} shards; this version "
                f"reads format {FORMAT} with up to {MOST} of them, each in a folder below shards/",
                hint="pip install --upgrade aspectra",
            )
        return found

    @classmethod
    def named(cls, shards: int) -> Collection:
        """Shards in folders below ``shards/``."""
        return cls(FORMAT, tuple(f"shards/{number}" for number in range(shards)))

    def save(self, folder: Path) -> None:
        """Write ``COLLECTION.json``."""
        content = {"format": self.format, "shards": list(self.shards)}
        write_durably(folder / MANIFEST, json.dumps(content, indent=1) + "\n")

    def databases(self, folder: Path) -> dict[int, Path]:
        """The database of each shard, by number.

        Args:
            folder: of the collection.
        """
        return {number: folder / name / "library.db" for number, name in enumerate(self.shards)}


def shard_of(paper_id: str, shards: int) -> int:
    """Number of the shard that a paper belongs to.

    Papers that share an id (``X``, ``X~2``) are told apart where they are stored, so that they stay together.

    Args:
        paper_id: id of the paper, as its source gives it.
        shards: how many there are.
    """
    root = paper_id.partition("~")[0]
    digest = hashlib.blake2b(root.encode("utf-8", "replace"), digest_size=8, person=b"shard").digest()
    return int.from_bytes(digest, "big") % shards


def first_place(shard: int) -> int:
    """The place before the first one of a shard."""
    return shard * SPAN


def check_number(shards: int) -> None:
    """Check how many shards are asked for.

    Raises:
        UsageError: fewer than 1, or more than one process can read.
    """
    if shards not in _NUMBERS:
        raise UsageError(
            f"a collection cannot have {shards} shards",
            why=f"one process reads from 1 to {MOST} at once",
            hint=f"--shards {max(1, min(shards, MOST))}",
        )


def attach(connection: sqlite3.Connection, databases: Mapping[int, Path]) -> None:
    """Attach the shards to a connection to the collection's own database.

    Args:
        connection: the connection.
        databases: number of a shard -> its database.

    Raises:
        sqlite3.Error: one cannot be read.
        LibraryCorrupt: one is missing.
    """
    for number, path in databases.items():
        if not path.is_file():
            raise LibraryCorrupt(
                f"the shard {path.parent} is missing",
                why=f"it is one of {len(databases)} that hold the papers of this collection",
                hint="bring its folder back; to search the others: aspectra search --partial",
            )
        connection.execute(f"ATTACH ? AS shard{number}", (str(path),))
    (reads_only,) = connection.execute("PRAGMA query_only").fetchone()
    connection.execute("PRAGMA query_only = OFF")  # it also forbids views that are this connection's own
    for table, sources in _ARMS.items():
        arms = [
            f"SELECT {source.format(shard=f'shard{number}', first=first_place(number))}"
            for number in databases
            for source in sources
        ]
        connection.execute(f"CREATE TEMP VIEW {table} AS {' UNION ALL '.join(arms)}")
    connection.execute(f"PRAGMA query_only = {reads_only}")
