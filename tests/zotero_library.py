"""A made Zotero library: items in the JSON of Zotero's API, and the database that Zotero keeps of them.

Of the tables of ``userdata.sql`` and ``system.sql`` of zotero/zotero those that are read, with their columns.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE libraries (libraryID INTEGER PRIMARY KEY, type TEXT NOT NULL, editable INT NOT NULL,
  filesEditable INT NOT NULL, version INT NOT NULL DEFAULT 0);
CREATE TABLE groups (groupID INTEGER PRIMARY KEY, libraryID INT NOT NULL UNIQUE, name TEXT NOT NULL,
  description TEXT NOT NULL, version INT NOT NULL);
CREATE TABLE itemTypes (itemTypeID INTEGER PRIMARY KEY, typeName TEXT);
CREATE TABLE fields (fieldID INTEGER PRIMARY KEY, fieldName TEXT);
CREATE TABLE fieldsCombined (fieldID INT NOT NULL PRIMARY KEY, fieldName TEXT NOT NULL);
CREATE TABLE items (itemID INTEGER PRIMARY KEY, itemTypeID INT NOT NULL, dateAdded TIMESTAMP NOT NULL,
  dateModified TIMESTAMP NOT NULL, clientDateModified TIMESTAMP NOT NULL, libraryID INT NOT NULL,
  key TEXT NOT NULL, version INT NOT NULL DEFAULT 0, synced INT NOT NULL DEFAULT 0, UNIQUE (libraryID, key));
CREATE TABLE itemDataValues (valueID INTEGER PRIMARY KEY, value UNIQUE);
CREATE TABLE itemData (itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID));
CREATE TABLE itemNotes (itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT, title TEXT);
CREATE TABLE itemAttachments (itemID INTEGER PRIMARY KEY, parentItemID INT, linkMode INT, contentType TEXT,
  charsetID INT, path TEXT, syncState INT DEFAULT 0, storageModTime INT, storageHash TEXT);
CREATE TABLE itemAnnotations (itemID INTEGER PRIMARY KEY, parentItemID INT NOT NULL, type INTEGER NOT NULL,
  authorName TEXT, text TEXT, comment TEXT, color TEXT, pageLabel TEXT, sortIndex TEXT NOT NULL,
  position TEXT NOT NULL, isExternal INT NOT NULL);
CREATE TABLE tags (tagID INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE itemTags (itemID INT NOT NULL, tagID INT NOT NULL, type INT NOT NULL,
  PRIMARY KEY (itemID, tagID));
CREATE TABLE creators (creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT,
  UNIQUE (lastName, firstName, fieldMode));
CREATE TABLE creatorTypes (creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT);
CREATE TABLE itemCreators (itemID INT NOT NULL, creatorID INT NOT NULL, creatorTypeID INT NOT NULL DEFAULT 1,
  orderIndex INT NOT NULL DEFAULT 0, PRIMARY KEY (itemID, creatorID, creatorTypeID, orderIndex));
CREATE TABLE collections (collectionID INTEGER PRIMARY KEY, collectionName TEXT NOT NULL,
  parentCollectionID INT DEFAULT NULL, clientDateModified TIMESTAMP NOT NULL, libraryID INT NOT NULL,
  key TEXT NOT NULL, version INT NOT NULL DEFAULT 0, synced INT NOT NULL DEFAULT 0,
  UNIQUE (libraryID, key));
CREATE TABLE collectionItems (collectionID INT NOT NULL, itemID INT NOT NULL,
  orderIndex INT NOT NULL DEFAULT 0, PRIMARY KEY (collectionID, itemID));
CREATE TABLE deletedItems (itemID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP NOT NULL);
CREATE TABLE deletedCollections (collectionID INTEGER PRIMARY KEY, dateDeleted DEFAULT CURRENT_TIMESTAMP);
INSERT INTO libraries VALUES (1, 'user', 1, 1, 0);
"""
_LINK_MODES = ("imported_file", "imported_url", "linked_file", "linked_url", "embedded_image")
_ANNOTATIONS = ("", "highlight", "note", "image", "ink", "underline", "text")
# Properties of an item that are no fields.
_APART = {
    *("key", "version", "itemType", "parentItem", "creators", "tags", "collections", "note", "linkMode"),
    *("contentType", "filename", "path", "dateAdded", "dateModified", "relations", "deleted"),
    *("annotationType", "annotationText", "annotationComment", "annotationColor", "annotationPageLabel"),
}
_WORDS = (
    "graph molecule owl search ranking neural learning kernel protein image sparse dense query citation "
    "reader method theory result sample night forest river cell field agent model corpus token layer score"
).split()

SMALL: list[dict[str, Any]] = [
    {
        "key": "OWLS2019",
        "itemType": "journalArticle",
        "title": "Owls hunt at night",
        "abstractNote": "Owls listen for mice in the dark. They strike within a second.",
        "creators": [
            {"creatorType": "author", "firstName": "Ada", "lastName": "Lovelace"},
            {"creatorType": "editor", "firstName": "Ed", "lastName": "Itor"},
        ],
        "publicationTitle": "Birds",
        "date": "May 2019",
        "accessDate": "2021-03-04 12:34:56",
        "DOI": "10.1000/owl",
        "extra": "Citation Key: lovelace2019owls\nPMID: 12345",
        "tags": [{"tag": "to read"}, {"tag": "Birds", "type": 1}],
        "collections": ["COLLSUB2"],
        "dateAdded": "2024-01-01T00:00:00Z",
    },
    {
        "key": "OWLSPDF1",
        "itemType": "attachment",
        "parentItem": "OWLS2019",
        "title": "Full Text PDF",
        "linkMode": "imported_file",
        "contentType": "application/pdf",
        "filename": "owls.pdf",
        "dateAdded": "2024-01-01T00:00:01Z",
    },
    {
        "key": "OWLSANN1",
        "itemType": "annotation",
        "parentItem": "OWLSPDF1",
        "annotationType": "highlight",
        "annotationText": "They strike within a second.",
        "annotationComment": "compare with kestrels",
        "annotationColor": "#ffd400",
        "annotationPageLabel": "12",
        "dateAdded": "2024-01-02T00:00:00Z",
    },
    {
        "key": "OWLSNOTE",
        "itemType": "note",
        "parentItem": "OWLS2019",
        "note": "<h1>Summary</h1><p>Hearing matters more than sight.</p>",
        "dateAdded": "2024-01-02T00:00:00Z",
    },
    {
        "key": "CHAPTER2",
        "itemType": "bookSection",
        "title": "Hearing in birds",
        "bookTitle": "Handbook of hearing",
        "creators": [{"creatorType": "author", "name": "Society of Hearing, University of X"}],
        "date": "2021",
        "collections": ["COLLTOP2"],
        "dateAdded": "2024-01-03T00:00:00Z",
    },
]
COLLECTIONS = [
    {"key": "COLLTOP2", "name": "Reviews", "parentCollection": False},
    {"key": "COLLSUB2", "name": "Birds", "parentCollection": "COLLTOP2"},
]


def made_items(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """So many records of made text, each with an attachment, a note, an annotation and three tags."""
    chance = random.Random(seed)

    def words(number: int) -> str:
        return " ".join(chance.choices(_WORDS, k=number))

    items: list[dict[str, Any]] = []
    for n in range(count):
        key, added = f"{n:08d}".translate(str.maketrans("01", "AB")), "2024-01-01T00:00:00Z"
        pdf = "P" + key[1:]
        items += [
            {
                "key": key,
                "itemType": "journalArticle",
                "title": f"{words(8).capitalize()} {n}",
                "abstractNote": ". ".join(words(18).capitalize() for _ in range(8)) + ".",
                "creators": [
                    {"creatorType": "author", "firstName": words(1).title(), "lastName": words(1).title()}
                    for _ in range(4)
                ],
                "publicationTitle": words(3).title(),
                "date": str(1990 + n % 35),
                "DOI": f"10.1000/made.{n}",
                "volume": str(n % 90),
                "pages": f"{n % 300}-{n % 300 + 9}",
                "tags": [{"tag": words(1)}, {"tag": f"{words(1)} {words(1)}", "type": 1}],
                "collections": ["COLLTOP2"] if n % 3 == 0 else [],
                "dateAdded": added,
            },
            {
                "key": pdf,
                "itemType": "attachment",
                "parentItem": key,
                "title": "PDF",
                "linkMode": "imported_file",
                "contentType": "application/pdf",
                "filename": "paper.pdf",
                "dateAdded": added,
            },
            {
                "key": "N" + key[1:],
                "itemType": "note",
                "parentItem": key,
                "note": f"<p>{words(20)}</p>",
                "dateAdded": added,
            },
            {
                "key": "Q" + key[1:],
                "itemType": "annotation",
                "parentItem": pdf,
                "annotationType": "highlight",
                "annotationText": words(15),
                "annotationComment": words(5),
                "annotationColor": "#ffd400",
                "annotationPageLabel": str(n % 20),
                "dateAdded": added,
            },
        ]
    return items


def write_database(
    path: Path, items: Iterable[dict[str, Any]], collections: Iterable[dict[str, Any]] = COLLECTIONS
) -> Path:
    """``zotero.sqlite`` with these items; an item with ``deleted`` is in the trash."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.executescript(_SCHEMA)
    numbers: dict[tuple[str, str], int] = {}

    def number(table: str, name: str) -> int:
        column = {"itemTypes": "typeName", "creatorTypes": "creatorType", "tags": "name"}.get(table, "value")
        if (table, name) not in numbers:
            row = db.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (name,))
            numbers[table, name] = int(row.lastrowid or 0)
        return numbers[table, name]

    def field(name: str) -> int:
        if ("fields", name) not in numbers:
            numbers["fields", name] = len(numbers) + 1
            for table in ("fields", "fieldsCombined"):
                db.execute(f"INSERT INTO {table} VALUES (?, ?)", (numbers["fields", name], name))
        return numbers["fields", name]

    places: dict[str, int] = {}
    for place, one in enumerate(collections, 1):
        places[one["key"]] = place
        above = places.get(one.get("parentCollection") or "")
        row = (place, one["name"], above, "2024-01-01 00:00:00", 1, one["key"])
        db.execute("INSERT INTO collections VALUES (?, ?, ?, ?, ?, ?, 0, 0)", row)
    all_items = list(items)
    ids = {item["key"]: at for at, item in enumerate(all_items, 1)}
    for item in all_items:
        at, kind = ids[item["key"]], item["itemType"]
        parent = ids.get(item.get("parentItem", ""))
        added = item.get("dateAdded", "2024-01-01T00:00:00Z").replace("T", " ").rstrip("Z")
        moved = item.get("dateModified", added)
        row = (at, number("itemTypes", kind), added, moved, moved, 1, item["key"], item.get("version", 0), 0)
        db.execute("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for name, value in item.items():
            if name in _APART or not value:
                continue
            # Zotero keeps a date twice: as it sorts, and as it was written.
            shown = f"{str(value)[-4:]}-00-00 {value}" if name == "date" else value
            db.execute(
                "INSERT INTO itemData VALUES (?, ?, ?)", (at, field(name), number("itemDataValues", shown))
            )
        for order, creator in enumerate(item.get("creators", ())):
            whole = creator.get("name")
            name_row = ("" if whole else creator["firstName"], whole or creator["lastName"], int(bool(whole)))
            if ("creator", str(name_row)) not in numbers:
                made = db.execute(
                    "INSERT INTO creators (firstName, lastName, fieldMode) VALUES (?, ?, ?)", name_row
                )
                numbers["creator", str(name_row)] = int(made.lastrowid or 0)
            who = (
                at,
                numbers["creator", str(name_row)],
                number("creatorTypes", creator["creatorType"]),
                order,
            )
            db.execute("INSERT INTO itemCreators VALUES (?, ?, ?, ?)", who)
        for tag in item.get("tags", ()):
            kinds = (at, number("tags", tag["tag"]), tag.get("type", 0))
            db.execute("INSERT OR IGNORE INTO itemTags VALUES (?, ?, ?)", kinds)
        for key in item.get("collections", ()):
            db.execute("INSERT INTO collectionItems (collectionID, itemID) VALUES (?, ?)", (places[key], at))
        if kind == "note":
            db.execute("INSERT INTO itemNotes VALUES (?, ?, ?, '')", (at, parent, item["note"]))
        elif kind == "attachment":
            path_ = f"storage:{item['filename']}" if "filename" in item else item.get("path", "")
            mode = _LINK_MODES.index(item["linkMode"])
            db.execute(
                "INSERT INTO itemAttachments (itemID, parentItemID, linkMode, contentType, path) "
                "VALUES (?, ?, ?, ?, ?)",
                (at, parent, mode, item.get("contentType"), path_),
            )
        elif kind == "annotation":
            told = [item.get(f"annotation{name}") for name in ("Text", "Comment", "Color", "PageLabel")]
            mark = _ANNOTATIONS.index(item["annotationType"])
            db.execute(
                "INSERT INTO itemAnnotations VALUES (?, ?, ?, '', ?, ?, ?, ?, '', '{}', 0)",
                (at, parent, mark, *told),
            )
        if item.get("deleted"):
            db.execute("INSERT INTO deletedItems (itemID) VALUES (?)", (at,))
    db.commit()
    db.close()
    return path
