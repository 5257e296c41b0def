"""A Zotero library read from a copy of its database.

Zotero locks ``zotero.sqlite`` while it runs, and since version 10 keeps what is new in a file beside it
(``-wal``), so all of its files are copied and the copy is read; SQLite never opens Zotero's own files.
Source of the tables: ``resource/schema/userdata.sql`` and ``system.sql`` of zotero/zotero (from format 107),
and "Zotero 10 for Developers" for the files beside it.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import AspectraError, BadInput
from aspectra.base.files import digest_texts, refuse_journal
from aspectra.papers.sources.zotero.mapping import ItemChanges, SyncState, collection_paths

_FILES = ("", "-wal", "-journal")  # SQLite makes the shared memory of a log anew
_OPEN_IT = "start Zotero, wait until it is idle, close it, then: aspectra zotero sync"
_ATTEMPTS = 3
_LINK_MODES = ("imported_file", "imported_url", "linked_file", "linked_url", "embedded_image")
_ANNOTATIONS = {1: "highlight", 2: "note", 3: "image", 4: "ink", 5: "underline", 6: "text"}
_DATE = re.compile(r"\d{4}-\d\d-\d\d (?!\d\d:\d\d)")  # dates are kept twice: "2020-05-00 May 2020"
_TRASHED = "SELECT itemID FROM deletedItems"


class ZoteroDatabase:
    """One library in a Zotero database.

    Args:
        path: ``zotero.sqlite``.
        group: name or number of a group; "" for the person's own library.

    Raises:
        BadInput: the file does not exist.
    """

    def __init__(self, path: Path, group: str = "") -> None:
        if not path.is_file():
            raise BadInput(
                f"there is no Zotero database {path}",
                hint="Zotero shows its folder: Settings, Advanced, Files and Folders",
            )
        self.path = path
        self.place = str(path)
        self.library = "users/0"
        self._group = group

    def signature(self) -> str:
        """Sizes and times of the database's files: while they stay, nothing changed."""
        found = []
        for ending in _FILES:
            with contextlib.suppress(OSError):
                state = self.path.with_name(self.path.name + ending).stat()
                found.append(f"{ending}:{state.st_size}:{state.st_mtime_ns}")
        return " ".join(found)

    def changes(self, known: SyncState, progress: Callable[[str, int, int], None]) -> ItemChanges:
        """See :class:`~aspectra.papers.sources.zotero.mapping.ZoteroSource`.

        Raises:
            BadInput: it is not a Zotero database, is damaged, or does not have the group.
        """
        origin = f"database {self.path.absolute()} {self._group}".rstrip()
        signature = self.signature()
        same = known.origin == origin
        if same and known.signature == signature:
            return ItemChanges(none=True)
        with self._copy() as (connection, signature):
            library = self._library(connection)
            collections = _collections(connection, library)
            rows = _items(connection, library, collections)
            stamps = {key: row["stamp"] for key, row in rows.items()}
            wanted = [k for k, stamp in stamps.items() if not same or known.stamps.get(k) != stamp]
            progress("reading Zotero's database", 0, len(wanted))
            items = _filled(connection, {rows[key]["id"]: rows[key] for key in wanted})
        gone = known.stamps.keys() - stamps.keys()
        none = same and not items and not gone and collections == known.collections
        return ItemChanges(none, items, stamps, 0, signature, origin, collections)

    @contextlib.contextmanager
    def _copy(self) -> Iterator[tuple[sqlite3.Connection, str]]:
        """The copy, opened, and the signature of what was copied."""
        with tempfile.TemporaryDirectory(prefix="aspectra-zotero-", ignore_cleanup_errors=True) as folder:
            target = Path(folder) / "zotero.sqlite"
            for _ in range(_ATTEMPTS):
                before = self.signature()
                refuse_journal(self.path, BadInput, _OPEN_IT)
                for ending in _FILES:
                    source, copy = (p.with_name(p.name + ending) for p in (self.path, target))
                    copy.unlink(missing_ok=True)
                    with contextlib.suppress(FileNotFoundError):
                        shutil.copyfile(source, copy)
                if self.signature() == before:
                    break
            else:
                raise AspectraError(
                    f"{self.path} changes while it is copied",
                    why="Zotero is writing, perhaps synchronising",
                    hint="wait until it is done, then: aspectra zotero sync",
                )
            connection = sqlite3.connect(target)
            try:
                connection.row_factory = sqlite3.Row
                yield connection, before
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise BadInput(
                    f"{self.path} cannot be read as a Zotero database",
                    why=str(error),
                    hint="it must be zotero.sqlite of Zotero 5 or newer; its own backup is zotero.sqlite.bak",
                ) from error
            finally:
                connection.close()

    def _library(self, db: sqlite3.Connection) -> int:
        """The number that the database gives the library; also sets what it is called."""
        if not self._group:
            row = db.execute("SELECT libraryID FROM libraries WHERE type = 'user'").fetchone()
            if row is None:
                raise BadInput(f"{self.path} holds no library of a person")
            return int(row[0])
        stated = db.execute("SELECT groupID, libraryID, name FROM groups")
        groups = [(str(number), int(library), str(name)) for number, library, name in stated]
        for number, library, name in groups:
            if self._group in (number, name):
                self.library = f"groups/{number}"
                return library
        raise BadInput(
            f"there is no group {self._group!r} in {self.path}",
            why="its groups: " + (", ".join(f"{name} ({number})" for number, _, name in groups) or "none"),
        )


def _has(db: sqlite3.Connection, table: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _collections(db: sqlite3.Connection, library: int) -> dict[str, str]:
    trashed = " AND c.collectionID NOT IN (SELECT collectionID FROM deletedCollections)"
    rows = db.execute(
        "SELECT c.key, c.collectionName, coalesce(p.key, '') FROM collections c LEFT JOIN collections p "
        "ON p.collectionID = c.parentCollectionID WHERE c.libraryID = ?"
        + (trashed if _has(db, "deletedCollections") else ""),
        (library,),
    )
    return collection_paths((str(r[0]), str(r[1]), str(r[2])) for r in rows)


def _items(db: sqlite3.Connection, library: int, paths: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Key -> what an item's row says, and its stamp; not of the trash, nor of what hangs on items in it."""
    members: dict[int, list[str]] = defaultdict(list)
    for item, key in db.execute(
        "SELECT ci.itemID, c.key FROM collectionItems ci JOIN collections c USING (collectionID) "
        "WHERE c.libraryID = ? ORDER BY ci.itemID, c.key",
        (library,),
    ):
        if key in paths:
            members[item].append(key)
    parents: dict[int, int] = {}
    tables = ("itemNotes", "itemAttachments", *(("itemAnnotations",) if _has(db, "itemAnnotations") else ()))
    for table in tables:
        statement = f"SELECT itemID, parentItemID FROM {table} WHERE parentItemID IS NOT NULL"
        parents.update((int(r[0]), int(r[1])) for r in db.execute(statement))
    rows = {
        int(r["itemID"]): r
        for r in db.execute(
            "SELECT itemID, key, typeName, dateAdded, dateModified, clientDateModified, version FROM items "
            f"JOIN itemTypes USING (itemTypeID) WHERE libraryID = ? AND itemID NOT IN ({_TRASHED}) "
            "ORDER BY itemID",
            (library,),
        )
    }
    marked = db.execute("SELECT * FROM retractedItems") if _has(db, "retractedItems") else ()
    retracted = {row[0] for row in marked if tuple(row)[2:] != (1,)}  # 1: the person hid the mark
    found: dict[str, dict[str, Any]] = {}
    for number, row in rows.items():
        parent, above = parents.get(number), parents.get(parents.get(number, -1))
        if any(p is not None and p not in rows for p in (parent, above)):
            continue  # what hangs on an item in the trash
        keys = members.get(number, [])
        names = [paths[key] for key in keys]
        moved = [str(row[c]) for c in ("version", "dateModified", "clientDateModified")]
        moved += ["retracted"] * (number in retracted)
        found[str(row["key"])] = {
            "id": number,
            "key": str(row["key"]),
            "itemType": str(row["typeName"]),
            "dateAdded": str(row["dateAdded"]),
            "parentItem": str(rows[parent]["key"]) if parent is not None else "",
            "collections": keys,
            "is_retracted": number in retracted,
            "stamp": digest_texts([*moved, str(parent), *names])[:12],
        }
    return found


def _filled(db: sqlite3.Connection, rows: Mapping[int, dict[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Key -> item in the JSON of Zotero's API, for the items with these numbers."""
    db.execute("CREATE TEMP TABLE wanted (itemID INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO wanted VALUES (?)", [(number,) for number in rows])
    always = ("key", "itemType", "dateAdded")
    named = (*always, "parentItem", "collections", "is_retracted")
    items = {
        number: {name: row[name] for name in named if row[name] or name in always}
        for number, row in rows.items()
    }
    fields = "fieldsCombined" if _has(db, "fieldsCombined") else "fields"
    for number, name, value in db.execute(
        "SELECT itemID, f.fieldName, v.value FROM itemData JOIN wanted USING (itemID) "
        f"JOIN {fields} f USING (fieldID) JOIN itemDataValues v USING (valueID)"
    ):
        text = str(value)
        items[number][name] = text[11:] if "date" in name.casefold() and _DATE.match(text) else text
    for number, kind, first, last, mode in db.execute(
        "SELECT itemID, creatorType, firstName, lastName, fieldMode FROM itemCreators "
        "JOIN wanted USING (itemID) JOIN creators USING (creatorID) JOIN creatorTypes USING (creatorTypeID) "
        "ORDER BY itemID, orderIndex"
    ):
        name = {"name": last or ""} if mode == 1 else {"firstName": first or "", "lastName": last or ""}
        items[number].setdefault("creators", []).append({"creatorType": kind, **name})
    for number, tag, kind in db.execute(
        "SELECT itemID, t.name, it.type FROM itemTags it JOIN wanted USING (itemID) "
        "JOIN tags t USING (tagID) ORDER BY itemID, tagID"
    ):
        items[number].setdefault("tags", []).append({"tag": tag, **({"type": kind} if kind else {})})
    for number, note in db.execute("SELECT itemID, note FROM itemNotes JOIN wanted USING (itemID)"):
        items[number]["note"] = note or ""
    for number, mode, kind, path in db.execute(
        "SELECT itemID, linkMode, contentType, path FROM itemAttachments JOIN wanted USING (itemID)"
    ):
        known = isinstance(mode, int) and 0 <= mode < len(_LINK_MODES)
        items[number] |= {"linkMode": _LINK_MODES[mode] if known else "", "contentType": kind or ""}
        stored = (path or "").startswith("storage:")
        items[number]["filename" if stored else "path"] = (path or "").removeprefix("storage:")
    if _has(db, "itemAnnotations"):
        names = ("annotationText", "annotationComment", "annotationColor", "annotationPageLabel")
        for number, kind, *texts in db.execute(
            "SELECT itemID, type, text, comment, color, pageLabel FROM itemAnnotations "
            "JOIN wanted USING (itemID)"
        ):
            items[number] |= {name: text or "" for name, text in zip(names, texts, strict=True)}
            items[number]["annotationType"] = _ANNOTATIONS.get(kind, "")
    return {str(item["key"]): item for item in items.values()}
