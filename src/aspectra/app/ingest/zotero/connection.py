"""Requests to Zotero: to its program on this computer, or to api.zotero.org. No other host is contacted.

Source: "Zotero Web API v3", pages Basics, Write Requests and Local API (zotero.org/support/dev/web_api/v3):
conditional requests, ``Backoff``, ``Retry-After``, and since Zotero 10 ``Zotero-Server-ID``. A redirection is
never followed, so that a key goes nowhere else.
"""

from __future__ import annotations

import http.client
import ipaddress
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from aspectra.base.errors import AspectraError, UsageError
from aspectra.base.version import __version__

LOCAL_PORT = 23119
WEB = "https://api.zotero.org"
_LARGEST = 1 << 30  # bytes; a library of 100,000 items has some hundred million
_TIMEOUT = 60.0  # seconds
_MOST_WAITS = 5
_LONGEST_WAIT = 120.0  # seconds, in all


class ZoteroError(AspectraError):
    """Zotero cannot be reached, or refuses a request."""

    code = "zotero"
    http_status = 502
    exit_code = 7
    retryable = True


def local_address(port: int = LOCAL_PORT) -> str:
    """The address of the API of the program on this computer."""
    return f"http://127.0.0.1:{port}/api"


@dataclass
class Reply:
    """An answer: its status, its headers in lower case, its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ZoteroError: it is none.
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
        self.local = _loopback(address.hostname or "")
        if not (self.local and address.scheme == "http") and self.base != WEB:
            raise UsageError(
                f"{address.hostname} is not Zotero", why="only this computer and api.zotero.org are contacted"
            )
        # A proxy is for the network, and would learn what is asked of this computer.
        proxies = [urllib.request.ProxyHandler({})] if self.local else []
        self._opener = urllib.request.build_opener(_Stay, *proxies)

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: str | int) -> Reply:
        """The answer to a reading request; 304 where nothing changed.

        Raises:
            ZoteroError: Zotero cannot be reached, or refuses.
        """
        return self._checked("GET", path, headers or {}, None, query)

    def pages(self, path: str, **query: str | int) -> list[Reply]:
        """The answers of all pages of a list.

        Raises:
            ZoteroError: as :meth:`get`.
        """
        replies, asked = [self._checked("GET", path, {}, None, query)], set[str]()
        while address := replies[-1].next:
            there, here = urlsplit(address), urlsplit(self.base)
            # The program on this computer may give itself another name; the same server is asked.
            local = _loopback(here.hostname or "") and _loopback(there.hostname or "")
            same = local or there.netloc in ("", here.netloc)
            if not (same and there.path.startswith(f"{here.path}/")):  # else the path could become a host
                raise ZoteroError("Zotero's answer cannot be read", why="its next page is elsewhere")
            if address in asked:
                raise ZoteroError("Zotero's answer cannot be read", why="a page comes after itself")
            asked.add(address)
            step = f"{there.path.removeprefix(here.path)}?{there.query}"
            replies.append(self._checked("GET", step, {}, None, {}))
        return replies

    def send(
        self, method: str, path: str, value: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """The answer to a writing request, whatever its status; the caller reads it.

        Raises:
            ZoteroError: Zotero cannot be reached, or asks to wait for too long.
        """
        return self._request(method, path, headers or {}, value, {}, timeout=180.0)

    def _checked(
        self, method: str, path: str, headers: Mapping[str, str], value: Any, query: Mapping[str, Any]
    ) -> Reply:
        reply = self._request(method, path, headers, value, query)
        if reply.status in (200, 304):
            return reply
        raise self.refusal(reply)

    def refusal(self, reply: Reply) -> ZoteroError:
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
    ) -> Reply:
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
    ) -> Reply:
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


def _reply(status: int, headers: Any, stream: Any) -> Reply:
    body = stream.read(_LARGEST + 1)
    if len(body) > _LARGEST:
        raise ZoteroError("Zotero's answer is too large", why=f"more than {_LARGEST >> 20} MiB")
    return Reply(status, {name.lower(): value for name, value in headers.items()}, body)


def _seconds(reply: Reply, name: str) -> float:
    try:
        return max(0.0, float(reply.headers.get(name, "0")))
    except ValueError:
        return 0.0


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
