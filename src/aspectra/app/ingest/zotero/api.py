"""A Zotero library read from its API: the program's on this computer, or the service's.

Source: "Zotero Web API v3", pages Basics and Local API. Since Zotero 10 the program counts versions of its
own, under the id of its database (``Zotero-Server-ID``). Programs before that report the versions of the last
synchronisation, which do not change when an item does: their libraries are read whole and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from aspectra.app.ingest.zotero.connection import Connection, ZoteroError
from aspectra.base.errors import BadInput
from aspectra.base.hashing import digest
from aspectra.papers.sources.zotero.mapping import Changes, Remembered, collection_paths

_AT_ONCE = 50  # keys in one request, items in one writing request
_PAGE = 100  # items, of the service; the program on this computer gives all at once


class ZoteroApi:
    """One library behind an API.

    Args:
        connection: to the API.
        group: name or number of a group; "" for the person's own library.

    Attributes:
        library, place: see :class:`~aspectra.papers.sources.zotero.mapping.ZoteroSource`.
        prefix: of the library's addresses.
        counts: whether its versions change with its items.

    Raises:
        ZoteroError: it cannot be reached, or does not answer.
        BadInput: there is no such group.
    """

    def __init__(self, connection: Connection, group: str = "") -> None:
        self.connection = connection
        self.place = "Zotero on this computer" if connection.local else "zotero.org"
        if connection.local:
            connection.get("/")
            own = "users/0"
        else:
            own = f"users/{connection.get('/keys/current').json().get('userID', 0)}"
        self.counts = bool(connection.server) or not connection.local
        self.library, self.prefix = ("users/0", f"/{own}") if not group else self._group(own, group)

    def _group(self, own: str, group: str) -> tuple[str, str]:
        found = {str(g["id"]): str(g.get("data", {}).get("name", "")) for g in self._list(f"/{own}/groups")}
        for number, name in found.items():
            if group in (number, name):
                return f"groups/{number}", f"/groups/{number}"
        raise BadInput(
            f"there is no group {group!r} in Zotero",
            why="its groups: "
            + (", ".join(f"{name} ({number})" for number, name in found.items()) or "none"),
        )

    def changes(self, known: Remembered, progress: Callable[[str, int, int], None]) -> Changes:
        """See :class:`~aspectra.papers.sources.zotero.mapping.ZoteroSource`.

        Raises:
            ZoteroError: a request failed.
        """
        origin = (
            f"api {self.connection.server or ('local' if self.connection.local else 'web')} {self.library}"
        )
        same = known.origin == origin and self.counts
        if same and known.version:
            since = {"If-Modified-Since-Version": str(known.version)}
            if self.connection.get(f"{self.prefix}/items", since, format="keys", limit=1).status == 304:
                return Changes(none=True)
        rows = self._list(f"{self.prefix}/collections")
        data = [one.get("data", {}) for one in rows]
        paths = collection_paths(
            (str(d.get("key")), str(d.get("name", "")), str(d.get("parentCollection") or "")) for d in data
        )
        if not self.counts:
            return self._compared(known, origin, paths, progress)
        reply = self.connection.get(f"{self.prefix}/items", format="versions")
        stamps = {str(key): str(version) for key, version in reply.json().items()}
        asked = {"since": known.version} if same else {}
        items = dict(self._items(progress, **asked))
        if same:
            wanted = {key for key, stamp in stamps.items() if known.stamps.get(key) != stamp}
            wanted |= self._moved(known.collections, paths)
            items |= dict(self._named(sorted(wanted - items.keys())))
        found = {key: item for key, item in items.items() if key in stamps}
        none = same and not found and stamps.keys() >= known.stamps.keys() and paths == known.collections
        return Changes(none, found, stamps, reply.version, "", origin, paths)

    def _compared(
        self, known: Remembered, origin: str, paths: dict[str, str], progress: Callable[[str, int, int], None]
    ) -> Changes:
        """The changes where versions say nothing: every item is read, and those that differ are given."""
        items = dict(self._items(progress))
        stamps = {
            key: digest([item, [paths.get(c, "") for c in item.get("collections") or ()]])[:12]
            for key, item in items.items()
        }
        same = known.origin == origin
        changed = {k: item for k, item in items.items() if not same or known.stamps.get(k) != stamps[k]}
        none = same and not changed and stamps.keys() >= known.stamps.keys()
        return Changes(none, changed, stamps, 0, "", origin, paths)

    def _moved(self, before: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
        """Keys of the items in collections that have another path now."""
        found: set[str] = set()
        for key in [key for key, path in now.items() if before.get(key, path) != path]:
            replies = self.connection.pages(f"{self.prefix}/collections/{key}/items/top", format="keys")
            found.update(line for reply in replies for line in reply.body.decode().split())
        return found

    def _items(
        self, progress: Callable[[str, int, int], None], **query: str | int
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        if not self.connection.local:
            query["limit"] = _PAGE
        read = 0
        for reply in self.connection.pages(f"{self.prefix}/items", **query):
            total = reply.headers.get("total-results", "")
            found = list(_data(reply.json()))
            read += len(found)
            progress("reading Zotero", read, int(total) if total.isdecimal() else 0)
            yield from found

    def _named(self, keys: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for at in range(0, len(keys), _AT_ONCE):
            some = ",".join(keys[at : at + _AT_ONCE])
            reply = self.connection.get(f"{self.prefix}/items", itemKey=some, limit=_PAGE)
            yield from _data(reply.json())

    def _list(self, path: str) -> list[dict[str, Any]]:
        query: dict[str, int] = {} if self.connection.local else {"limit": _PAGE}
        found: list[dict[str, Any]] = []
        for reply in self.connection.pages(path, **query):
            rows = reply.json()
            if not isinstance(rows, list):
                raise ZoteroError("Zotero's answer cannot be read", why=f"{path} is no list")
            found += [row for row in rows if isinstance(row, dict)]
        return found


def _data(rows: Iterable[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("data"), dict):
            key = str(row.get("key") or row["data"].get("key") or "")
            yield key, {**row["data"], "key": key}
