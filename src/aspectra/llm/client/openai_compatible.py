"""A client for any OpenAI-compatible chat endpoint (extra ``openai``): OpenAI, vLLM, Ollama, llama.cpp ...

Texts leave this computer unless the endpoint is on it: ``remote`` names the host. With ``ASPECTRA_OFFLINE=1``
nothing is sent. Where the key comes from and goes to: :mod:`aspectra.base.trust`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aspectra.base.decompression import DAMAGE, Bounds, Decompressor
from aspectra.base.errors import BadInput, UsageError, needs_extra
from aspectra.base.files import digest
from aspectra.base.trust import (
    DEFAULT_VARIABLE,
    SHORTEST_KEY,
    Permission,
    is_loopback,
    key_for,
    origin_of,
    read_key,
    redact,
)
from aspectra.base.trust import key_variable as variable_of
from aspectra.llm.chat import KeyRefused, Late, Malformed, ModelError, Offline, Reply, Request, Transient
from aspectra.llm.client.openai_wire import (
    context_in_card,
    failure,
    inner_status,
    read_reply,
    refused_option,
    request_body,
)
from aspectra.llm.loops import PerLoop

if TYPE_CHECKING:
    import ssl

    import httpx


# An OpenAI-compatible server as every client of one needs it: its address, its key, and what it may answer.
#
# A key is read from the environment when a request is sent; see :mod:`aspectra.base.trust`. With
# ``ASPECTRA_OFFLINE=1`` nothing is sent.

LARGEST_BODY = 16 * 2**20  # bytes; an answer of some thousand tokens has a few tens of thousands
ACCEPTED = {"Accept-Encoding": "gzip"}
"""What :class:`Body` can undo, as a header of every request."""

_LONGEST_REFUSAL = 2**16  # bytes


def offline() -> bool:
    """True if ``ASPECTRA_OFFLINE`` forbids every connection."""
    return os.environ.get("ASPECTRA_OFFLINE", "") not in {"", "0"}


class Endpoint:
    """One server.

    Args:
        base_url: address up to and without the path of a request; it usually ends in ``/v1``.
        variable: origin -> the environment variable that holds its key, "" for none.
        wanted: the variable to name in messages if no key is found.

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
        self.local = is_loopback(self.host)
        self._secure = address.scheme == "https" or self.local
        self._find = variable
        self._wanted = wanted
        with needs_extra("a connection to a model needs httpx", "openai"):
            self.auth = _from_environment(self.key)

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
            KeyRefused: no key for this server is set.
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
        if len(key) >= SHORTEST_KEY:
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


_LOG = logging.getLogger(__name__)
_SOON = 5.0  # seconds for a fact that can be done without


def journal_name(
    model: str, *, revision: str = "", extra: Mapping[str, Any] | None = None, omit: Sequence[str] = ()
) -> str:
    """Name of a model in journals: its own, and everything outside the request that an answer depends on."""
    name = f"{model}@{revision}" if revision else model
    return name + "#" + digest([dict(extra or {}), sorted(omit)])[:8] if extra or omit else name


class OpenAICompatible:
    """A chat endpoint.

    One call is one attempt: waiting, repeating and counting are done by the wrappers around it.

    Args:
        model: the endpoint's name of the model.
        base_url: address up to and without ``/chat/completions``; it usually ends in ``/v1``.
        key_variable: environment variable with the key; "" for the defaults.
        own: whether the user named the address. If not, only a key that the user gave to this host is sent.
        revision: any word; another one makes a journal ask anew, for an endpoint that changed its model and
            kept the model's name.
        timeout: seconds for one attempt, from sending to the last byte.
        extra: request fields added as they are, such as ``{"reasoning_effort": "low"}``.
        omit: request fields left out, such as ``("temperature",)``.

    Raises:
        MissingExtra: httpx is not installed.
        UsageError: the address or the model cannot be used.
    """

    simulated = False

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        key_variable: str = "",
        own: bool = True,
        revision: str = "",
        timeout: float = 60.0,
        extra: Mapping[str, Any] | None = None,
        omit: Sequence[str] = (),
    ) -> None:
        if not model:
            raise UsageError("a model must be named", hint="give the endpoint's name of it")
        named = key_variable or key_for(origin_of(base_url))
        find = partial(variable_of, named=named, default=DEFAULT_VARIABLE if own else "")
        self._endpoint = Endpoint(base_url, find, wanted=named or DEFAULT_VARIABLE)
        self.model = model
        self.remote = self._endpoint.host
        self.base_url = self._endpoint.url
        self.local = self._endpoint.local
        self.name = journal_name(model, revision=revision, extra=extra, omit=omit)
        self._timeout = timeout
        self._extra = dict(extra or {})
        self._omit = tuple(omit)
        self._changed: dict[str, Any] = {}  # options that the endpoint refuses, and what is sent instead
        self._tried: set[tuple[bool, ...]] = set()  # forms of requests whose refused options are known
        self._first: PerLoop[asyncio.Lock] = PerLoop(asyncio.Lock)
        self._idle: PerLoop[list[httpx.AsyncClient]] = PerLoop(list)
        self._ssl: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r} at {self.remote})"

    async def complete(self, request: Request) -> Reply:
        """One attempt at an answer.

        Raises:
            ModelError: see :mod:`aspectra.llm.chat`.
        """
        self._check()
        form = (request.seed is None, request.schema is None, not request.top_logprobs)
        if form not in self._tried:
            async with self._first.get():  # one call finds out what is refused; the others wait for it
                if form not in self._tried:
                    try:
                        return await self._answer(request)
                    finally:
                        self._tried.add(form)
        return await self._answer(request)

    async def _answer(self, request: Request) -> Reply:
        while True:
            clock = asyncio.get_running_loop().time()
            body = request_body(
                request, self.model, changed=self._changed, extra=self._extra, omit=self._omit
            )
            status, headers, raw = await self._exchange("POST", self.base_url + "/chat/completions", body)
            inner = inner_status(status, raw)
            refused = None if inner == 200 else refused_option(inner, raw, json.loads(body))
            if refused is None:
                break
            option, other = refused
            if {option, f"top_{option}"} & set(self._extra):  # it would be added again, without end
                break
            if self._changed.get(option, "") != other:
                self._changed[option] = other
                instead = f"{other} is sent instead" if other else "it is left out"
                _LOG.warning("The endpoint at %s refuses %s: %s.", self.remote, option, instead)
        if status != 200:
            raise self._endpoint.failure(status, headers, raw)
        seconds = asyncio.get_running_loop().time() - clock
        reply = read_reply(raw, host=self.remote, seconds=seconds, clean=self._endpoint.clean)
        self.simulated = self.simulated or reply.simulated
        return reply

    async def context(self) -> int | None:
        """Tokens that the model reads, question and answer, as the endpoint says; None where it does not."""
        self._check()
        status, headers, raw = await self._exchange("GET", self.base_url + "/models", None)
        if status in {404, 405, 501}:
            return None
        if status != 200:
            raise self._endpoint.failure(status, headers, raw)
        try:
            cards = [card for card in json.loads(raw)["data"] if card["id"] == self.model]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return context_in_card(cards[0]) if cards and isinstance(cards[0], dict) else None

    async def slots(self) -> int | None:
        """Calls that the server answers at once, as llama.cpp's says; None where it does not."""
        with contextlib.suppress(ModelError, TimeoutError, ValueError, KeyError, TypeError, RecursionError):
            self._check()
            async with asyncio.timeout(_SOON):
                status, _, raw = await self._exchange(
                    "GET", self.base_url.removesuffix("/v1") + "/props", None
                )
            slots = json.loads(raw)["total_slots"] if status == 200 else None
            return slots if type(slots) is int and slots > 0 else None
        return None

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        idle = self._idle.get()
        while idle:
            await idle.pop().aclose()

    def _check(self) -> None:
        self._endpoint.check(
            self.name, hint="unset ASPECTRA_OFFLINE; recorded answers work without a connection"
        )

    async def _exchange(self, verb: str, url: str, body: bytes | None) -> tuple[int, dict[str, str], bytes]:
        """(status, headers with names in lower case, body) of one request."""
        import httpx

        idle = self._idle.get()
        client = idle.pop() if idle else self._connection()
        kind: type[Transient] = Transient
        trouble, sent = "", True
        try:
            async with asyncio.timeout(self._timeout):
                return await self._transfer(client, verb, url, body)
        except TimeoutError:
            kind, trouble = Late if self.local else Transient, f"no answer within {self._timeout:g} s"
            trouble += "; the setting llm.timeout gives it more"
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            trouble, sent = type(error).__name__, False
        except (httpx.TransportError, httpx.InvalidURL) as error:
            trouble = type(error).__name__
        finally:
            idle.append(client)
        # Raised here, not above: the transport's error holds the request, and the request holds the key.
        raise kind(
            f"the endpoint at {self.remote} cannot be reached"
            if not sent
            else f"the endpoint at {self.remote} did not answer",
            why=trouble,
            hint="check that it runs and that the base URL is right; what was answered is kept",
            billable=sent,
        )

    async def _transfer(
        self, client: httpx.AsyncClient, verb: str, url: str, body: bytes | None
    ) -> tuple[int, dict[str, str], bytes]:
        """One exchange.

        A function of its own, because its variables may hold the key as a careless endpoint echoes it, and a
        traceback that shows variables shows those of every frame that is left.
        """
        headers = {**ACCEPTED, **({"Content-Type": "application/json"} if body is not None else {})}
        request = client.build_request(verb, url, content=body, headers=headers)
        response = await client.send(request, auth=self._endpoint.auth, stream=True)
        try:
            read = Body(response.headers.get("content-encoding", ""), self.remote)
            async for part in response.aiter_raw():
                read.add(part)
        finally:
            await response.aclose()
        raw = self._endpoint.scrub(response.status_code, read.whole())
        return response.status_code, dict(response.headers), raw

    def _connection(self) -> httpx.AsyncClient:
        """A client that holds one connection.

        One for each call under way: a pool shared by all is searched from end to end for every request, which
        with 64 at once costs more than everything else.
        """
        import httpx

        if self._ssl is None:
            self._ssl = httpx.create_ssl_context()  # reading the certificates takes long; once is enough
        return httpx.AsyncClient(
            verify=self._ssl,
            timeout=None,  # noqa: S113 (the whole attempt has one)
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0),
            trust_env=not self._endpoint.local,
            follow_redirects=False,
        )
