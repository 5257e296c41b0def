"""A loopback stand-in of Zotero's API, version 3, as its documentation describes it.

Built from the pages Basics, Write Requests and Local API of zotero.org/support/dev/web_api/v3: versions of
the library and of objects, ``since``, ``If-Modified-Since-Version``, pages with ``Link`` and
``Total-Results``, writes of several objects with ``successful``, ``unchanged`` and ``failed``, 412, 428, 429
with ``Retry-After``, ``Backoff``; and of the program on a computer since version 10: ``Zotero-Server-ID``,
``/api/local/authorize``, keys for one write.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

_KEYS = "23456789ABCDEFGHIJKLMNPQRSTUVWXYZ"


class ZoteroServer:
    """One library behind ``http://127.0.0.1:PORT/api``; a context manager.

    Args:
        items: the library's items, as ``data`` of the API; a version is added.
        collections: its collections.
        server_id: sent since Zotero 10; "" for a program before that, which takes no writes.
        page: most objects in one answer; 0 for no limit, as the program on a computer has none.
        web: answer as the service does: no server id, keys that were made before, at most 100 objects a page.
        enabled: whether other programs may read.
        grants: what the person answers when a program wants to write: "deny", "once" or "always".

    Attributes:
        requests: (method, path with query) of everything that was asked.
        faults: answers that are given before anything else, one a request: (status, headers).
        refused: key of an item that may not be written -> (code, message).
        before_write: called with the server before each write: somebody else changes something.
    """

    def __init__(
        self,
        items: Iterable[dict[str, Any]],
        collections: Iterable[dict[str, Any]] = (),
        *,
        server_id: str = "sPMHtLD6HHBd",
        page: int = 0,
        grants: str = "always",
        enabled: bool = True,
        web: bool = False,
    ) -> None:
        self.version = 1
        self.items = {i["key"]: {**i, "version": 1} for i in items}
        self.collections = {c["key"]: {**c, "version": 1} for c in collections}
        self.server_id, self.page, self.grants, self.enabled = server_id, page, grants, enabled
        self.web = web
        if web:
            self.server_id, self.page = "", 100
        self.requests: list[tuple[str, str]] = []
        self.faults: list[tuple[int, dict[str, str]]] = []
        self.refused: dict[str, tuple[int, str]] = {}
        self.before_write: list[Any] = []
        self.granted: dict[str, bool] = {}
        self.headers: dict[str, str] = {}
        self._made = 0

    def __enter__(self) -> ZoteroServer:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else b""
                status, headers, out = outer.answer(self.command, self.path, dict(self.headers), body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

            do_GET = do_POST = do_PATCH = do_DELETE = _any  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    # What a person does in Zotero.

    def change(self, key: str, **values: Any) -> None:
        """Change or add an item."""
        self.version += 1
        self.items[key] = {**self.items.get(key, {"key": key}), **values, "version": self.version}

    def delete(self, key: str) -> None:
        """Delete an item."""
        self.version += 1
        del self.items[key]

    def rename(self, key: str, name: str) -> None:
        """Rename a collection; its items keep their versions."""
        self.version += 1
        self.collections[key] = {**self.collections[key], "name": name, "version": self.version}

    # What the API answers.

    def answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body."""
        self.requests.append((method, target))
        given = {name.lower(): value for name, value in headers.items()}
        own = {"Zotero-API-Version": "3", **self.headers}
        if self.server_id:
            own["Zotero-Server-ID"] = self.server_id
        if self.faults:
            status, more = self.faults.pop(0)
            return status, {**own, **more}, b"slow down"
        if not self.enabled:
            return 403, own, b"Local API is not enabled"
        named = given.get("zotero-server-id")
        if named and named != self.server_id:
            return 412, own, b"Another server"
        split = urlsplit(target)
        path = split.path.removeprefix("/api")
        query = {name: values[-1] for name, values in parse_qs(split.query).items()}
        status, more, out = (
            self._read(path, query, given, split)
            if method == "GET"
            else self._write(method, path, query, given, body)
        )
        raw = out if isinstance(out, bytes) else json.dumps(out).encode()
        return (
            status,
            {**own, "Last-Modified-Version": str(self.version), **more},
            b"" if status == 204 else raw,
        )

    def _read(self, path: str, query: dict[str, str], given: dict[str, str], split: Any) -> Any:
        if path == "/":
            return 200, {}, b"Nothing to see here."
        if path == "/keys/current":
            return 200, {}, {"userID": 42, "access": {"user": {"library": True, "write": True}}}
        parts = path.strip("/").split("/")[2:]
        if parts == ["groups"]:
            return 200, {}, [{"id": 77, "data": {"name": "Reading group"}}]
        if given.get("if-modified-since-version", "") == str(self.version):
            return 304, {}, b""
        kind = parts[0]
        table = self.items if kind == "items" else self.collections
        if len(parts) == 2:
            found = table.get(parts[1])
            return (200, {}, _whole(found)) if found else (404, {}, b"Not found")
        rows = [one for one in table.values() if not one.get("deleted")]
        if len(parts) > 2 and kind == "collections":
            rows = [i for i in self.items.values() if parts[1] in i.get("collections", ())]
        elif len(parts) > 2:
            rows = [i for i in self.items.values() if i.get("parentItem") == parts[1]]
        if "since" in query:
            rows = [one for one in rows if one["version"] > int(query["since"])]
        if "itemKey" in query:
            rows = [one for one in rows if one["key"] in query["itemKey"].split(",")]
        if query.get("format") == "versions":
            return 200, {}, {one["key"]: one["version"] for one in rows}
        if query.get("format") == "keys":
            return 200, {}, "\n".join(one["key"] for one in rows).encode()
        start, total = int(query.get("start", "0")), len(rows)
        limit = min(int(query.get("limit", "0")) or self.page or total, self.page or total)
        more = {"Total-Results": str(total)}
        if limit and start + limit < total:
            following = urlencode({**query, "start": start + limit, "limit": limit})
            more["Link"] = f'<http://localhost:{self.port}{split.path}?{following}>; rel="next"'
        return 200, more, [_whole(one) for one in rows[start : start + limit]]

    def _write(
        self, method: str, path: str, query: dict[str, str], given: dict[str, str], body: bytes
    ) -> Any:
        if not self.server_id and not self.web:
            return 400, {}, b"Endpoint does not support method"
        if "zotero-server-id" not in given and not self.web:
            return 428, {}, b"Zotero-Server-ID not provided"
        value = json.loads(body) if body else None
        if path == "/local/authorize":
            if self.grants == "deny":
                return 403, {}, {"denied": True}
            key = f"key{len(self.granted):029d}"
            self.granted[key] = self.grants == "always"
            return 200, {}, {"key": key, "remember": self.grants == "always"}
        key = given.get("zotero-api-key", "")
        if key not in self.granted:
            return (
                401,
                {"WWW-Authenticate": 'Zotero-API-Key realm="Zotero Local API"'},
                b"POST /api/local/authorize",
            )
        if not self.granted[key]:
            del self.granted[key]
        for hook in self.before_write:
            hook(self)
        parts = path.strip("/").split("/")[2:]
        unmodified = given.get("if-unmodified-since-version")
        table = self.items if parts[0] == "items" else self.collections
        if method == "POST":
            return self._posted(table, value, unmodified)
        if method == "DELETE" and "itemKey" in query:
            if unmodified is None:
                return 428, {}, b"If-Unmodified-Since-Version not provided"
            if int(unmodified) < self.version:
                return 412, {}, b"Library has been modified since specified version"
            self.version += 1
            for one in query["itemKey"].split(","):
                table.pop(one, None)
            return 204, {}, b""
        old = table.get(parts[1])
        if old is None:
            return 404, {}, b"Not found"
        if unmodified is None:
            return 428, {}, b"If-Unmodified-Since-Version not provided"
        if int(unmodified) < old["version"]:
            return 412, {}, b"Item has been modified since specified version"
        self.version += 1
        if method == "DELETE":
            del table[parts[1]]
        else:
            table[parts[1]] = {**old, **value, "version": self.version}
        return 204, {}, b""

    def _posted(self, table: dict[str, Any], rows: list[dict[str, Any]], unmodified: str | None) -> Any:
        if len(rows) > 50:
            return 413, {}, b"Too many objects"
        if unmodified is not None and int(unmodified) < self.version:
            return 412, {}, b"Library has been modified since specified version"
        self.version += 1
        out: dict[str, Any] = {"successful": {}, "success": {}, "unchanged": {}, "failed": {}}
        for at, row in enumerate(rows):
            key = row.get("key") or self._key()
            old = table.get(key)
            refused = self.refused.get(row.get("key") or row.get("parentItem") or "")
            if refused is None and old is not None and row.get("version", 0) < old["version"]:
                refused = (412, "Item has been modified since specified version")
            if refused is not None:
                out["failed"][str(at)] = {"key": key, "code": refused[0], "message": refused[1]}
                continue
            table[key] = {**(old or {}), **row, "key": key, "version": self.version}
            out["successful"][str(at)], out["success"][str(at)] = _whole(table[key]), key
        return 200, {}, out

    def _key(self) -> str:
        self._made += 1
        number, name = self._made, ""
        while len(name) < 8:
            number, at = divmod(number, len(_KEYS))
            name = _KEYS[at] + name
        return name


def _whole(data: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in data.items() if name != "deleted"}
    return {
        "key": data["key"],
        "version": data["version"],
        "library": {"type": "user", "id": 0},
        "data": kept,
    }
