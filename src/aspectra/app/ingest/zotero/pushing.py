"""Writing to Zotero, and taking it back.

Nothing is overwritten: tags and collections are added to those that an item has when it is sent, and a note
is a new child item. An item that changes meanwhile is read again once; if it changes again it is reported and
left.

Source: "Zotero Web API Write Requests" and, for the program on a computer, "Zotero Local API".
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aspectra.app.ingest.zotero.connection import Connection, ZoteroApi, ZoteroError, ZoteroReply
from aspectra.base.files import digest_texts
from aspectra.base.values import replace
from aspectra.papers.bibliography import names_in, shared_list, shared_text
from aspectra.papers.names import name_parts, stated_names
from aspectra.papers.paper import Paper
from aspectra.papers.sources.zotero.mapping import note_html

_NAMES = names_in("zotero")
# CSL type -> Zotero's; of several the one that comes first in the table.
_TYPES = {csl: own for own, csl in reversed(_NAMES.types.items())}
# Fields that a type has, beside title, abstractNote, date, url, language and extra. Zotero refuses others.
_FIELDS: dict[str, tuple[str, ...]] = {
    "journalArticle": ("publicationTitle", "volume", "issue", "pages", "ISSN", "DOI"),
    "magazineArticle": ("publicationTitle", "volume", "issue", "pages", "ISSN"),
    "newspaperArticle": ("publicationTitle", "place", "edition", "pages", "ISSN"),
    "conferencePaper": ("proceedingsTitle", "volume", "pages", "publisher", "place", "series", "ISBN", "DOI"),
    "preprint": ("repository", "archiveID", "DOI"),
    "book": ("volume", "publisher", "place", "edition", "series", "ISBN"),
    "bookSection": ("bookTitle", "volume", "pages", "publisher", "place", "edition", "series", "ISBN"),
    "thesis": ("university", "place"),
    "report": ("institution", "place", "pages"),
    "document": ("publisher",),
}

_PLAIN = ("volume", "issue", "pages", "place", "edition", "series")  # called so by Zotero too
_SHARED = (*_PLAIN, "publisher", "issn", "date", "editors")


@dataclass(frozen=True, slots=True)
class SentQuote:
    """A sentence that supports a paper's place in a search, and where it stands: a heading, or ""."""

    text: str
    where: str = ""


@dataclass(frozen=True)
class Outgoing:
    """One paper on its way.

    Attributes:
        paper: it.
        key: of its item in Zotero; "" where it becomes a new one.
        quotes: for its note; no note without any.
        query: what was searched for, for the note.
    """

    paper: Paper
    key: str = ""
    quotes: tuple[SentQuote, ...] = ()
    query: str = ""

    def note(self) -> str:
        """The note as HTML, or ""."""
        if not self.quotes:
            return ""
        parts = [("h1", f"Aspectra: {self.query}" if self.query else "Aspectra")]
        for quote in self.quotes:
            parts.append(("blockquote", quote.text))
            if quote.where:
                parts.append(("p", quote.where))
        return note_html(parts)


def _creators(paper: Paper, names: Iterable[str], kind: str) -> list[dict[str, str]]:
    found, stated = [], stated_names(paper.metadata)
    for name in names:
        if parts := name_parts(name, stated):
            given, particle, family, suffix = parts
            last = " ".join(filter(None, (particle, family)))
            first = " ".join(filter(None, (given, suffix)))
            found.append({"creatorType": kind, "firstName": first, "lastName": last})
        else:
            found.append({"creatorType": kind, "name": name})
    return found


def item_of_paper(paper: Paper) -> dict[str, Any]:
    """A new item in the JSON of Zotero's API; what its type has no field for is in ``extra``."""
    csl = str(paper.metadata.get("type") or "article-journal")
    kind = _TYPES.get(csl, "document")
    kind = kind if kind in _FIELDS else "document"
    fields = _FIELDS[kind]
    venue = next((f for f in fields if f in _NAMES.attributes["venue"]), "")
    publisher = next((f for f in fields if f in _NAMES.shared["publisher"]), "")
    arxiv = paper.identifiers.get("arxiv", "")
    known = {
        "DOI": paper.identifiers.get("doi", ""),
        "ISBN": paper.identifiers.get("isbn", ""),
        "ISSN": shared_text(paper.metadata, "issn"),
        "archiveID": f"arXiv:{arxiv}" if arxiv else "",
        publisher: shared_text(paper.metadata, "publisher"),
        venue: paper.venue,
        **{name: shared_text(paper.metadata, name) for name in _PLAIN},
    }
    rest = [
        f"{name}: {value}"
        for name, value in (
            ("Citation Key", paper.id if ":" not in paper.id else ""),
            ("DOI", "" if "DOI" in fields else known["DOI"]),
            ("arXiv", "" if "archiveID" in fields else arxiv),
            ("PMID", paper.identifiers.get("pmid", "")),
            ("PMCID", paper.identifiers.get("pmcid", "")),
        )
        if value
    ]
    editors = paper.metadata.get("editors")
    item: dict[str, Any] = {
        "itemType": kind,
        "title": paper.title,
        "abstractNote": paper.abstract,
        "creators": _creators(paper, paper.authors, "author"),
        "date": shared_text(paper.metadata, "date") or (str(paper.year) if paper.year else ""),
        "url": paper.url,
        "language": paper.language,
        "extra": "\n".join(rest),
        **{name: known[name] for name in fields if known.get(name)},
    }
    if kind in ("book", "bookSection", "conferencePaper", "journalArticle") and isinstance(editors, list):
        item["creators"] += _creators(paper, map(str, editors), "editor")
    return {name: value for name, value in item.items() if value}


def import_file(papers: Sequence[Outgoing], tags: Sequence[str], form: str) -> str:
    """The papers with their tags and notes as a file that Zotero imports.

    Args:
        papers: what would be sent.
        tags: for all of them.
        form: name of a writer, as ``ris``.
    """
    from aspectra.papers.export.protocol import WRITERS

    changed = []
    for one in papers:
        # Built anew from the paper: a record kept as it was read would be written as it was read.
        metadata = {k: v for k, v in one.paper.metadata.items() if k in ("type", *_SHARED)}
        metadata["keywords"] = list(dict.fromkeys([*shared_list(one.paper.metadata, "keywords"), *tags]))
        if one.quotes:
            told = [q.text + (f" ({q.where})" if q.where else "") for q in one.quotes]
            metadata["note"] = "\n".join([f"Aspectra: {one.query}" if one.query else "Aspectra", *told])
        changed.append(replace(one.paper, metadata=metadata))
    return WRITERS.get(form).write(changed)


# The key with which Zotero's program lets us write, since version 10.
#
# Source: "Zotero Local API", Authorizing Writes. The person gives it in a dialogue of Zotero's, for one
# request or for good. One for good is kept in the user's own configuration folder, readable by nobody else,
# and never in a library.


def keys_file() -> Path:
    """The file of the stored keys; it need not exist."""
    from aspectra.app.settings import user_file

    return user_file().with_name("zotero-keys.json")


class WriteKey:
    """The key for one Zotero database; calling it gives the key, or "".

    Args:
        connection: to the program; its requests carry the key from now on.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._key = _kept().get(connection.server, "")
        connection.key = self

    def __call__(self) -> str:
        return self._key

    def renew(self) -> None:
        """Request permission to write from the user, in Zotero, and wait for the answer.

        Raises:
            ZoteroError: permission is refused, or this version of Zotero does not accept writes.
        """
        self._key = ""
        reply = self._connection.send("POST", "/local/authorize", {"appName": "Aspectra"})
        if reply.status == 403:
            raise ZoteroError(
                "Zotero does not let us write", why="the answer in its window was no", hint="nothing was sent"
            )
        if reply.status != 200:
            raise self._connection.refusal(reply)
        answer = reply.json()
        self._key = str(answer.get("key", ""))
        if answer.get("remember"):
            _keep({**_kept(), self._connection.server: self._key})


def _kept() -> dict[str, str]:
    try:
        found = json.loads(keys_file().read_text("utf-8"))
        return {str(k): str(v) for k, v in found.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _keep(keys: dict[str, str]) -> None:
    path = keys_file()
    with contextlib.suppress(OSError):  # the dialogue comes again then
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(json.dumps(keys, indent=1) + "\n", "utf-8")
        part.replace(path)


_AT_ONCE = 50  # objects in one writing request
_LETTERS = "23456789ABCDEFGHIJKLMNPQRSTUVWXYZ"
_TRIES = 2


@dataclass
class Pushed:
    """The record of one push, which can be taken back; it is stored as JSON.

    Attributes:
        origin: where it went: the library, and the id of the Zotero database.
        at: when.
        collection: key and name of the collection that was made, or none.
        created: key -> version of each new record and note.
        tags: key -> tags that were added to an item.
        joined: key -> keys of the collections that an item was put into.
        notes: what notes say, as hashes, so that the same one is not sent twice.
        papers: key of a new record -> id of its paper here.
        failed: id of a paper, or key -> why it was not sent. Not stored.
    """

    origin: str = ""
    at: str = ""
    collection: tuple[str, str] | None = None
    created: dict[str, int] = field(default_factory=dict)
    tags: dict[str, list[str]] = field(default_factory=dict)
    joined: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    papers: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """True if nothing was sent."""
        return not (self.collection or self.created or self.tags or self.joined)


def _new_key() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(8))


class Pushing:
    """Sends papers to one Zotero library.

    Args:
        api: the library; Zotero 10 or newer, or zotero.org.

    Raises:
        ZoteroError: it takes no writes.
    """

    def __init__(self, api: ZoteroApi) -> None:
        if not api.counts:
            raise ZoteroError(
                "this Zotero takes no changes from other programs",
                why="versions before 10 do not",
                hint="update Zotero, or add --web, or -o picks.ris for a file that Zotero imports",
            )
        self._api = api
        self._key = WriteKey(api.connection) if api.connection.local else None

    @property
    def origin(self) -> str:
        """The library and the database that it is in."""
        return f"{self._api.connection.server or 'web'} {self._api.library}"

    def collections(self) -> dict[str, str]:
        """Name -> key of the collections that there are; of those with one name the first."""
        found: dict[str, str] = {}
        for reply in self._api.connection.pages(f"{self._api.prefix}/collections"):
            for one in reply.json():
                found.setdefault(str(one.get("data", {}).get("name", "")), str(one.get("key", "")))
        return found

    def send(
        self,
        papers: Sequence[Outgoing],
        done: Pushed,
        *,
        collection: str,
        tags: Sequence[str],
        known: Sequence[str] = (),
    ) -> None:
        """Send papers; what failed is reported paper by paper.

        Args:
            papers: what is sent.
            done: what was sent is added to it, also where an error ends the sending.
            collection: name of the collection they are put into, made if missing; "" for none.
            tags: added to each.
            known: hashes of notes that were sent before and are not sent again.

        Raises:
            ZoteroError: a request failed as a whole.
        """
        done.origin = self.origin
        into = []
        if collection:
            into = [self.collections().get(collection) or self._make_collection(collection, done)]
        waiting = [(one, one.key) for one in papers]
        for attempt in range(_TRIES):
            again = []
            for some in _some(waiting, _AT_ONCE // 2):  # a paper and its note
                again += self._send(some, into, tags, set(known), done, last=attempt == _TRIES - 1)
            waiting = again
            if not waiting:
                break

    def _make_collection(self, name: str, done: Pushed) -> str:
        key = _new_key()
        reply = self._write("POST", "/collections", [{"key": key, "version": 0, "name": name}])
        result = reply.json()
        if failed := result.get("failed"):
            raise ZoteroError(
                f"Zotero does not make the collection {name!r}", why=str(failed["0"].get("message"))
            )
        done.collection = (key, name)
        return key

    def _send(
        self,
        some: Sequence[tuple[Outgoing, str]],
        into: Sequence[str],
        tags: Sequence[str],
        known: set[str],
        done: Pushed,
        *,
        last: bool,
    ) -> list[tuple[Outgoing, str]]:
        """Send some papers in one request; returns those to try again."""
        now = self._now([key for _, key in some if key])
        rows: list[dict[str, Any]] = []
        about: list[tuple[Outgoing, str, str]] = []  # of each row: the paper, its key there, what the row is
        for one, given in some:
            key = given
            if key and key not in now:
                done.failed[one.paper.id] = "its item is no longer in Zotero"
                continue
            if key:
                held, (new_tags, more) = now[key], _lacking(now[key], tags, into)
                row: dict[str, Any] = {}
                if new_tags:
                    row["tags"] = [*held.get("tags", ()), *({"tag": tag} for tag in new_tags)]
                if more:
                    row["collections"] = [*held.get("collections", ()), *more]
                if row:
                    rows.append({"key": key, "version": int(held.get("version", 0)), **row})
                    about.append((one, key, "item"))
            else:
                key = _new_key()
                new = item_of_paper(one.paper)
                new |= {"tags": [{"tag": tag} for tag in tags], "collections": list(into), "relations": {}}
                rows.append({"key": key, "version": 0, **new})
                about.append((one, key, "new"))
            note = one.note()
            if note and digest_texts([key, note]) not in {*known, *done.notes}:
                child = {"key": _new_key(), "version": 0, "itemType": "note", "parentItem": key, "note": note}
                rows.append({**child, "tags": [], "relations": {}})
                about.append((one, key, "note"))
        if not rows:
            return []
        reply = self._write("POST", "/items", rows)
        result = reply.json()
        again = []
        failed = {int(at): why for at, why in result.get("failed", {}).items()}
        refused = {about[at][1] for at in failed if about[at][2] == "new"}
        for at, row in enumerate(rows):
            one, key, what = about[at]
            if at in failed:
                why = failed[at]
                if why.get("code") == 412 and what == "item" and not last:
                    again.append((one, key))
                elif what == "note" and key in refused:
                    continue
                else:
                    done.failed[one.paper.id] = _reason(why)
            elif what == "item":
                new_tags, more = _lacking(now[key], tags, into)
                done.tags |= {key: new_tags} if new_tags else {}
                done.joined |= {key: more} if more else {}
            else:
                saved = result.get("successful", {}).get(str(at), {})
                version = saved.get("version") if isinstance(saved, Mapping) else None
                done.created[row["key"]] = int(version or reply.version)
                if what == "new":
                    done.papers[key] = one.paper.id
                if what == "note":
                    done.notes.append(digest_texts([key, row["note"]]))
        return again

    def _now(self, keys: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Key -> data of these items as they are now, those in the trash left out."""
        found: dict[str, Mapping[str, Any]] = {}
        for some in _some(list(keys), _AT_ONCE):
            path = f"{self._api.prefix}/items"
            for reply in self._api.connection.pages(path, itemKey=",".join(some), limit=_AT_ONCE):
                found |= {str(one["key"]): {**one["data"], "version": one["version"]} for one in reply.json()}
        return found

    def undo(self, pushed: Pushed) -> Pushed:
        """Take back what was sent, where nobody changed it since; ``failed`` says what stays, and why.

        Raises:
            ZoteroError: it was sent to another Zotero, or a request failed.
        """
        if pushed.origin != self.origin:
            raise ZoteroError(
                "it was sent to another Zotero library",
                why=f"to {pushed.origin}, and this one is {self.origin}",
                hint="add --web, or --group, as when it was sent",
            )
        left = Pushed(origin=pushed.origin)
        self._take_out(pushed, left)
        self._delete(pushed, left)
        if pushed.collection:
            self._drop_collection(pushed.collection, left)
        return left

    def _take_out(self, pushed: Pushed, left: Pushed) -> None:
        """Take tags and collections from items again."""
        for keys in _some(sorted({*pushed.tags, *pushed.joined}), _AT_ONCE):
            rows = []
            for key, data in self._now(keys).items():
                ours, into = set(pushed.tags.get(key, ())), set(pushed.joined.get(key, ()))
                tags = [t for t in data.get("tags", ()) if t.get("tag") not in ours]
                collections = [c for c in data.get("collections", ()) if c not in into]
                rows.append(
                    {"key": key, "version": data["version"], "tags": tags, "collections": collections}
                )
            if not rows:
                continue
            result = self._write("POST", "/items", rows).json()
            for at, why in result.get("failed", {}).items():
                left.failed[rows[int(at)]["key"]] = _reason(why)

    def _delete(self, pushed: Pushed, left: Pushed) -> None:
        """Delete new records and notes that are still as they were sent."""
        children = self._children(pushed.created)
        for keys in _some(sorted(pushed.created), _AT_ONCE):
            path = f"{self._api.prefix}/items"
            reply = self._api.connection.get(path, itemKey=",".join(keys), limit=_AT_ONCE)
            now = {str(one["key"]): int(one["version"]) for one in reply.json()}
            same = [key for key in keys if key in now and now[key] == pushed.created[key]]
            for key in now.keys() - same:
                left.failed[key] = "changed in Zotero since: kept"
            for key in [key for key in same if children.get(key, set()) - pushed.created.keys()]:
                same.remove(key)
                left.failed[key] = "has notes or files of yours now: kept"
            if same:
                unmodified = {"If-Unmodified-Since-Version": str(reply.version)}
                answer = self._write("DELETE", f"/items?itemKey={','.join(same)}", None, unmodified)
                if answer.status == 412:
                    left.failed |= dict.fromkeys(same, "Zotero's library changed meanwhile: try again")

    def _children(self, keys: Mapping[str, int]) -> dict[str, set[str]]:
        """Key of a record -> keys of its notes and files."""
        found: dict[str, set[str]] = {}
        for key, data in self._now(list(keys)).items():
            if data.get("itemType") != "note":
                path = f"{self._api.prefix}/items/{key}/children"
                rows = [one for reply in self._api.connection.pages(path) for one in reply.json()]
                found[key] = {str(one["key"]) for one in rows}
        return found

    def _drop_collection(self, made: tuple[str, str], left: Pushed) -> None:
        """Delete the collection that was made, if nothing is in it."""
        key, name = made
        path = f"{self._api.prefix}/collections/{key}"
        if self._api.connection.get(f"{path}/items/top", format="keys").body.strip():
            left.failed[key] = f"the collection {name!r} is not empty: kept"
            return
        version = int(self._api.connection.get(path).json().get("version", 0))
        answer = self._write(
            "DELETE", f"/collections/{key}", None, {"If-Unmodified-Since-Version": str(version)}
        )
        if answer.status == 412:
            left.failed[key] = f"the collection {name!r} changed in Zotero since: kept"

    def _write(
        self, method: str, path: str, value: Any, headers: Mapping[str, str] | None = None
    ) -> ZoteroReply:
        """The answer to a writing request, with a new key if the present one is missing or refused.

        Raises:
            ZoteroError: it is refused as a whole; 412 is returned, not raised.
        """
        connection, where = self._api.connection, f"{self._api.prefix}{path}"
        if self._key is not None and not self._key():
            self._key.renew()
        reply = connection.send(method, where, value, headers)
        if reply.status == 401 and self._key is not None:  # used up, or withdrawn in Zotero's settings
            self._key.renew()
            reply = connection.send(method, where, value, headers)
        if reply.status in (200, 204, 412):
            return reply
        raise connection.refusal(reply)


def _some(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (values[at : at + size] for at in range(0, len(values), size))


def _lacking(
    data: Mapping[str, Any], tags: Sequence[str], into: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The tags that an item lacks, and the collections that it is not in."""
    held = {tag.get("tag") for tag in data.get("tags", ())}
    there = data.get("collections", ())
    return [tag for tag in tags if tag not in held], [key for key in into if key not in there]


def _reason(why: Mapping[str, Any]) -> str:
    code, said = why.get("code", ""), " ".join(str(why.get("message", "")).split())[:200]
    return "changed in Zotero meanwhile" if code == 412 else f"{said or 'refused'} ({code})"
