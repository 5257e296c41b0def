"""Requests to Zotero: to its program on this computer, or to api.zotero.org. No other host is contacted.

Source: "Zotero Web API v3", pages Basics, Write Requests and Local API (zotero.org/support/dev/web_api/v3):
conditional requests, ``Backoff``, ``Retry-After``, and since Zotero 10 ``Zotero-Server-ID``. A redirection is
never followed, so that a key goes nowhere else.
"""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from aspectra.base.errors import AspectraError, BadInput, UsageError
from aspectra.base.files import digest
from aspectra.base.trust import is_loopback
from aspectra.base.version import __version__
from aspectra.papers.sources.zotero.mapping import ItemChanges, SyncState, collection_paths

LOCAL_PORT = 23119
WEB = "https://api.zotero.org"
_LARGEST = 1 << 30  # bytes; a library of 100,000 items has some hundred million
_TIMEOUT = 60.0  # seconds
_MOST_WAITS = 5
_LONGEST_WAIT = 120.0  # seconds, in all


class ZoteroError(AspectraError, code="zotero", http_status=502, exit_code=7, retryable=True):
    """Zotero cannot be reached, or refuses a request."""


def local_address(port: int = LOCAL_PORT) -> str:
    """The address of the API of the program on this computer."""
    return f"http://127.0.0.1:{port}/api"


@dataclass
class ZoteroReply:
    """An answer: its status, its headers in lower case, its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ZoteroError: it is not JSON.
        """
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ZoteroError("Zotero's answer cannot be read", why=str(error)) from error

    @property
    def version(self) -> int:
        """The library's version, or 0 where it is not stated."""
        stated = self.headers.get("last-modified-version", "")
        return int(stated) if stated.isdecimal() else 0

    @property
    def next(self) -> str:
        """The address of the next page, or ""."""
        for link in self.headers.get("link", "").split(","):
            address, _, relation = link.partition(";")
            if relation.strip() in ('rel="next"', "rel=next"):
                return address.strip(" <>")
        return ""


@dataclass
class Connection:
    """A connection to one of the two APIs.

    Args:
        base: :func:`local_address`, or :data:`WEB`.
        key: gives the key when a request is sent, or "".
        sleep: waits that many seconds.

    Attributes:
        server: id of the Zotero database that answers, "" before the first answer and before Zotero 10.

    Raises:
        UsageError: the address is neither this computer's nor Zotero's.
    """

    base: str
    key: Callable[[], str] = lambda: ""
    sleep: Callable[[float], None] = time.sleep
    server: str = field(default="", init=False)
    _backoff: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        address = urlsplit(self.base)
        self.local = is_loopback(address.hostname or "")
        if not (self.local and address.scheme == "http") and self.base != WEB:
            raise UsageError(
                f"{address.hostname} is not Zotero", why="only this computer and api.zotero.org are contacted"
            )
        # A proxy is for the network, and would learn what is asked of this computer.
        proxies = [urllib.request.ProxyHandler({})] if self.local else []
        self._opener = urllib.request.build_opener(_Stay, *proxies)

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: str | int) -> ZoteroReply:
        """The answer to a reading request; 304 where nothing changed.

        Raises:
            ZoteroError: Zotero cannot be reached, or refuses.
        """
        reply = self._request("GET", path, headers or {}, None, query)
        if reply.status in (200, 304):
            return reply
        raise self.refusal(reply)

    def pages(self, path: str, **query: str | int) -> list[ZoteroReply]:
        """The answers of all pages of a list.

        Raises:
            ZoteroError: as :meth:`get`.
        """
        replies, asked = [self.get(path, None, **query)], set[str]()
        while address := replies[-1].next:
            there, here = urlsplit(address), urlsplit(self.base)
            # The program on this computer may give itself another name; the same server is asked.
            local = is_loopback(here.hostname or "") and is_loopback(there.hostname or "")
            same = local or there.netloc in ("", here.netloc)
            if not (same and there.path.startswith(f"{here.path}/")):  # else the path could become a host
                raise ZoteroError("Zotero's answer cannot be read", why="its next page is elsewhere")
            if address in asked:
                raise ZoteroError("Zotero's answer cannot be read", why="a page comes after itself")
            asked.add(address)
            replies.append(self.get(f"{there.path.removeprefix(here.path)}?{there.query}"))
        return replies

    def send(
        self, method: str, path: str, value: Any = None, headers: Mapping[str, str] | None = None
    ) -> ZoteroReply:
        """The answer to a writing request, whatever its status; the caller reads it.

        Raises:
            ZoteroError: Zotero cannot be reached, or asks to wait for too long.
        """
        return self._request(method, path, headers or {}, value, {}, timeout=180.0)

    def refusal(self, reply: ZoteroReply) -> ZoteroError:
        """The error for an answer that is a refusal."""
        said = " ".join(reply.body[:300].decode("utf-8", "replace").split())
        if key := self.key():
            said = said.replace(key, "***")
        if self.local and reply.status == 403:
            return ZoteroError(
                "Zotero does not let other programs read its library",
                why=said,
                hint='in Zotero: Settings, Advanced, tick "Allow other applications on this computer to '
                'communicate with Zotero"; or: aspectra zotero sync --database FILE',
            )
        if reply.status in (401, 403):
            return ZoteroError(
                "Zotero refuses the key",
                why=said,
                hint="make one at zotero.org/settings/keys and put it into the variable ZOTERO_API_KEY",
            )
        return ZoteroError(f"Zotero answers {reply.status}", why=said)

    def _request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        value: Any,
        query: Mapping[str, Any],
        timeout: float = _TIMEOUT,
    ) -> ZoteroReply:
        if os.environ.get("ASPECTRA_OFFLINE", "") not in ("", "0"):
            raise ZoteroError(
                f"{urlsplit(self.base).hostname} would be contacted",
                why="connections are refused (offline)",
                hint="aspectra zotero sync --database FILE reads Zotero's own files",
            )
        address = f"{self.base}{path}{'?' + urlencode(query) if query else ''}"
        body = None if value is None else msgspec.json.encode(value)
        sent = {"Zotero-API-Version": "3", "User-Agent": f"aspectra/{__version__}", **headers}
        if self.server:
            sent["Zotero-Server-ID"] = self.server
        if body is not None:
            sent["Content-Type"] = "application/json"
        waited = 0.0
        for _ in range(_MOST_WAITS):
            if self._backoff:
                self.sleep(self._backoff)
                self._backoff = 0.0
            reply = self._once(method, address, sent, body, timeout)
            self._backoff = min(_seconds(reply, "backoff"), _LONGEST_WAIT)
            if reply.status not in (429, 503):
                self.server = self.server or reply.headers.get("zotero-server-id", "")
                return reply
            pause = _seconds(reply, "retry-after") or 2.0
            waited += pause
            if waited > _LONGEST_WAIT:
                break
            self.sleep(pause)
        raise ZoteroError(
            "Zotero has too many requests",
            why=f"it answers {reply.status} again and again",
            hint="try again later",
        )

    def _once(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> ZoteroReply:
        request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)  # noqa: S310
        if key := self.key():
            request.add_unredirected_header("Zotero-API-Key", key)
        try:
            with self._opener.open(request, timeout=timeout) as answer:
                return _reply(answer.status, answer.headers, answer)
        except urllib.error.HTTPError as answer:
            with answer:
                return _reply(answer.code, answer.headers, answer)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            where = "on this computer" if self.local else "at api.zotero.org"
            raise ZoteroError(
                f"Zotero cannot be reached {where}",
                why=str(reason),
                hint="start Zotero, or: aspectra zotero sync --database FILE"
                if self.local
                else "try again later",
            ) from error


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _reply(status: int, headers: Any, stream: Any) -> ZoteroReply:
    body = stream.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise ZoteroError("Zotero's answer is too large", why=f"more than {_LARGEST >> 20} MiB")
    return ZoteroReply(status, {name.lower(): value for name, value in headers.items()}, body)


def _seconds(reply: ZoteroReply, name: str) -> float:
    try:
        return max(0.0, float(reply.headers.get(name, "0")))
    except ValueError:
        return 0.0


# A Zotero library read from its API: the program's on this computer, or the service's.
#
# Source: "Zotero Web API v3", pages Basics and Local API. Since Zotero 10 the program counts versions of
# its own, under the id of its database (``Zotero-Server-ID``). Programs before that report the versions of
# the last synchronisation, which do not change when an item does: their libraries are read whole and
# compared.

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
        counts: True if its versions change with its items.

    Raises:
        ZoteroError: it cannot be reached, or does not answer.
        BadInput: the group does not exist.
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

    def changes(self, known: SyncState, progress: Callable[[str, int, int], None]) -> ItemChanges:
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
                return ItemChanges(none=True)
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
        return ItemChanges(none, found, stamps, reply.version, "", origin, paths)

    def _compared(
        self, known: SyncState, origin: str, paths: dict[str, str], progress: Callable[[str, int, int], None]
    ) -> ItemChanges:
        """The changes where versions say nothing: every item is read, and those that differ are given."""
        items = dict(self._items(progress))
        stamps = {
            key: digest([item, [paths.get(c, "") for c in item.get("collections") or ()]])[:12]
            for key, item in items.items()
        }
        same = known.origin == origin
        changed = {k: item for k, item in items.items() if not same or known.stamps.get(k) != stamps[k]}
        none = same and not changed and stamps.keys() >= known.stamps.keys()
        return ItemChanges(none, changed, stamps, 0, "", origin, paths)

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
