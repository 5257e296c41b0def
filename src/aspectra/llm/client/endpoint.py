"""An OpenAI-compatible server as every client of one needs it: its address, its key, and what it may answer.

A key is read from the environment when a request is sent; see :mod:`aspectra.llm.secrets`. With
``ASPECTRA_OFFLINE=1`` nothing is sent.
"""

from __future__ import annotations

import ipaddress
import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aspectra.base.decompression import DAMAGE, Bounds, Decompressor
from aspectra.base.errors import BadInput, MissingExtra, UsageError
from aspectra.base.trust import Permission, origin_of
from aspectra.llm.client.openai_wire import failure
from aspectra.llm.failures import KeyRefused, Malformed, ModelError, Offline
from aspectra.llm.secrets import SHORTEST, read_key, redact

if TYPE_CHECKING:
    import httpx

LARGEST_BODY = 16 * 2**20  # bytes; an answer of some thousand tokens has a few tens of thousands
ACCEPTED = {"Accept-Encoding": "gzip"}
"""What :class:`Body` can undo, as a header of every request."""

_LONGEST_REFUSAL = 2**16  # bytes


def offline() -> bool:
    """Whether ``ASPECTRA_OFFLINE`` forbids every connection."""
    return os.environ.get("ASPECTRA_OFFLINE", "") not in {"", "0"}


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Endpoint:
    """One server.

    Args:
        base_url: address up to and without the path of a request; it usually ends in ``/v1``.
        variable: origin -> the environment variable that holds its key, "" for none.
        wanted: the variable to name in messages where there is none.

    Attributes:
        url: the address, without a slash at its end.
        host: of the address.
        origin: of the address, as permissions spell it.
        local: whether the host is this computer.
        auth: puts the key on a request when it is sent, so that no object and no frame above holds it.

    Raises:
        MissingExtra: httpx is not installed.
        UsageError: the address cannot be used.
    """

    def __init__(self, base_url: str, variable: Callable[[str], str], *, wanted: str) -> None:
        address = urlsplit(base_url)
        self.url = base_url.rstrip("/")
        self.host = address.hostname or ""
        if address.scheme not in {"http", "https"} or not self.host or address.query or address.username:
            # The address is not repeated: it may hold a password.
            raise UsageError(
                "the base URL of the model cannot be used",
                why="it must be http(s)://host/path without a user name, password or query",
            )
        self.origin = origin_of(base_url)
        self.local = _is_loopback(self.host)
        self._secure = address.scheme == "https" or self.local
        self._find = variable
        self._wanted = wanted
        try:
            self.auth = _from_environment(self.key)
        except ImportError as error:
            raise MissingExtra(
                "a connection to a model needs httpx", why=str(error), hint='pip install "aspectra[openai]"'
            ) from error

    def key(self) -> str:
        """The key, or ""; use it at once and keep it nowhere."""
        return read_key(self._find(self.origin))

    def check(self, name: str, hint: str) -> None:
        """Refuse what must not be sent to this server.

        Args:
            name: of the model, for messages.
            hint: what to do when ``ASPECTRA_OFFLINE`` is set.

        Raises:
            Offline: no connection may be opened.
            KeyRefused: there is no key that could be sent.
        """
        if offline():
            raise Offline(
                f"the model {name!r} would be asked at {self.host}", why="ASPECTRA_OFFLINE is set", hint=hint
            )
        variable = self._find(self.origin)
        if not variable:
            if self.local:
                return
            raise KeyRefused(
                f"there is no key for the endpoint at {self.host}",
                why=f"{self._wanted} is {'not for this host' if read_key(self._wanted) else 'not set'}",
                hint=f"if its key is for {self.host}: {Permission.host(self.url, self._wanted).command}"
                if read_key(self._wanted)
                else f"put the key into the environment variable {self._wanted} "
                "(any word where the endpoint needs none)",
            )
        if not self._secure:
            raise KeyRefused(
                f"the key would travel to {self.host} unencrypted", hint="use an https:// address"
            )
        key = read_key(variable)
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise KeyRefused(f"{variable} holds characters that no key has")

    def failure(self, status: int, headers: Mapping[str, str], raw: bytes) -> ModelError:
        """The error for a refusal, see :func:`~aspectra.llm.client.openai_wire.failure`."""
        return failure(status, headers, raw, host=self.host, clean=self.clean, now=time.time())

    def clean(self, text: str) -> str:
        """A text without the key."""
        return redact(text, self.key())

    def scrub(self, status: int, raw: bytes) -> bytes:
        """A body without the key, should the endpoint echo it; of a refusal no more than its start."""
        key = self.key()
        if len(key) >= SHORTEST:
            plain = json.dumps(key)[1:-1]
            for form in {key, plain, plain.replace("/", "\\/")}:  # as it is, and as JSON may write it
                raw = raw.replace(form.encode(), b"***")
        if status == 200:
            return raw
        return self.clean(raw[:_LONGEST_REFUSAL].decode("utf-8", "replace")).encode()


class Body:
    """The body of an answer as it arrives, decompressed here, so that a small answer cannot grow without end.

    Args:
        coding: the header Content-Encoding; send :data:`ACCEPTED` with the request.
        host: who answers, for messages.
    """

    def __init__(self, coding: str, host: str) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._host = host
        self._inner: Decompressor | None = None
        name = coding.strip().lower()
        if name in {"gzip", "x-gzip", "deflate"}:
            bounds = Bounds(LARGEST_BODY)
            self._inner = Decompressor("gzip", bounds, f"the answer of {host}", "check the base URL")
        elif name not in {"", "identity"}:
            raise self._unreadable(f"it is compressed as {name[:40]!r}, which was not asked for")

    def add(self, part: bytes) -> None:
        """Add a part as it came over the connection.

        Raises:
            Malformed: the body is now larger than 16 MiB or its compression is damaged; read no further.
        """
        try:
            for block in self._inner.feed(part) if self._inner else (part,):
                self._parts.append(block)
                self._size += len(block)
                if self._size > LARGEST_BODY:
                    raise self._unreadable(f"it is larger than {LARGEST_BODY // 2**20} MiB")
        except BadInput as error:
            raise self._unreadable(f"it expands to too much: {error.why}") from None
        except DAMAGE:
            raise self._unreadable("it is compressed in a way that cannot be undone") from None

    def whole(self) -> bytes:
        """The parts, joined.

        Raises:
            Malformed: the compressed body was cut off.
        """
        try:
            if self._inner:
                self._inner.finish()
        except EOFError:
            raise self._unreadable("it is compressed and was cut off") from None
        return b"".join(self._parts)

    def _unreadable(self, why: str) -> Malformed:
        return Malformed(f"the answer of {self._host} cannot be read", why=why, billable=True)


def _from_environment(key: Callable[[], str]) -> httpx.Auth:
    import httpx

    class FromEnvironment(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
            if found := key():
                request.headers["Authorization"] = f"Bearer {found}"
            yield request

    return FromEnvironment()
