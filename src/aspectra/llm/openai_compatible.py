"""A client for any OpenAI-compatible chat endpoint (extra ``openai``): OpenAI, vLLM, Ollama, llama.cpp ...

Texts leave this computer unless the endpoint is on it: ``remote`` names the host. With ``ASPECTRA_OFFLINE=1``
nothing is sent. Where the key comes from and goes to: :mod:`aspectra.llm.secrets`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import time
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.base.hashing import digest
from aspectra.llm.chat import Reply, Request
from aspectra.llm.failures import KeyRefused, Malformed, ModelError, Offline, Transient
from aspectra.llm.loops import PerLoop
from aspectra.llm.openai_wire import context_in_card, failure, read_reply, request_body, wants_other_limit
from aspectra.llm.secrets import DEFAULT_VARIABLE, key_variable, read_key, redact

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["OpenAICompatible", "journal_name", "offline"]

_LONGEST_REFUSAL = 2**16  # bytes
_SECRET = 8  # characters; what is shorter is a word put there because something had to be
_LARGEST_BODY = 16 * 2**20  # bytes; an answer of some thousand tokens has a few tens of thousands


def offline() -> bool:
    """Whether ``ASPECTRA_OFFLINE`` forbids every connection."""
    return os.environ.get("ASPECTRA_OFFLINE", "") not in {"", "0"}


def journal_name(
    model: str, *, revision: str = "", extra: Mapping[str, Any] | None = None, omit: Sequence[str] = ()
) -> str:
    """What a journal calls the model: its name, and what else an answer depends on that no request says."""
    name = f"{model}@{revision}" if revision else model
    return name + "#" + digest([dict(extra or {}), sorted(omit)])[:8] if extra or omit else name


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class OpenAICompatible:
    """A chat endpoint.

    One call is one attempt: waiting, repeating and counting are done by the wrappers around it.

    Args:
        model: the endpoint's name of the model.
        base_url: address up to and without ``/chat/completions``; it usually ends in ``/v1``.
        key_variable: environment variable with the key; "" for the defaults.
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
        revision: str = "",
        timeout: float = 60.0,
        extra: Mapping[str, Any] | None = None,
        omit: Sequence[str] = (),
    ) -> None:
        if not model:
            raise UsageError("a model must be named", hint="give the endpoint's name of it")
        address = urlsplit(base_url)
        host = address.hostname or ""
        if address.scheme not in {"http", "https"} or not host or address.query or address.username:
            # The address is not repeated: it may hold a password.
            raise UsageError(
                "the base URL of the model cannot be used",
                why="it must be http(s)://host/path without a user name, password or query",
            )
        try:
            self._auth = _from_environment(host, key_variable)
        except ImportError as error:
            raise MissingExtra(
                "asking a language model needs httpx", why=str(error), hint='pip install "aspectra[openai]"'
            ) from error
        self.model = model
        self.remote = host
        self.base_url = base_url.rstrip("/")
        self.name = journal_name(model, revision=revision, extra=extra, omit=omit)
        self._named = key_variable
        self._timeout = timeout
        self._extra = dict(extra or {})
        self._omit = tuple(omit)
        self._local = _is_loopback(host)
        self._secure = address.scheme == "https" or self._local
        self._limit_field = "max_tokens"
        self._idle: PerLoop[list[httpx.AsyncClient]] = PerLoop(list)
        self._ssl: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r} at {self.remote})"

    async def complete(self, request: Request) -> Reply:
        """One attempt at an answer.

        Raises:
            ModelError: see :mod:`aspectra.llm.failures`.
        """
        self._check()
        for _ in range(2):
            limit = self._limit_field
            body = request_body(request, self.model, limit_field=limit, extra=self._extra, omit=self._omit)
            clock = time.perf_counter()
            status, headers, raw = await self._exchange("POST", "/chat/completions", body)
            if status == 200:
                break
            if limit == "max_tokens" and wants_other_limit(status, raw):
                # Some models bound the answer by another name. The endpoint says so; no list is kept here.
                self._limit_field = "max_completion_tokens"
                continue
            raise self._failure(status, headers, raw)
        reply = read_reply(raw, host=self.remote, seconds=time.perf_counter() - clock, clean=self._clean)
        self.simulated = self.simulated or reply.simulated
        return reply

    async def context(self) -> int | None:
        """Tokens that the model reads, question and answer, as the endpoint says; None where it does not."""
        self._check()
        status, headers, raw = await self._exchange("GET", "/models", None)
        if status in {404, 405, 501}:
            return None
        if status != 200:
            raise self._failure(status, headers, raw)
        try:
            cards = [card for card in json.loads(raw)["data"] if card["id"] == self.model]
        except (ValueError, KeyError, TypeError):
            return None
        return context_in_card(cards[0]) if cards and isinstance(cards[0], dict) else None

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        idle = self._idle.get()
        while idle:
            await idle.pop().aclose()

    def _check(self) -> None:
        """Refuse what must not be sent."""
        if offline():
            raise Offline(
                f"the model {self.name!r} would be asked at {self.remote}",
                why="ASPECTRA_OFFLINE is set",
                hint="unset ASPECTRA_OFFLINE; recorded answers work without a connection",
            )
        variable = key_variable(self.remote, self._named)
        if not variable:
            if self._local:
                return
            raise KeyRefused(
                f"there is no key for the endpoint at {self.remote}",
                why=f"{self._named or DEFAULT_VARIABLE} is not set",
                hint=f"put the key into the environment variable {self._named or DEFAULT_VARIABLE} "
                "(any word where the endpoint needs none)",
            )
        if not self._secure:
            raise KeyRefused(
                f"the key would travel to {self.remote} unencrypted", hint="use an https:// address"
            )
        if not _sendable(variable):
            raise KeyRefused(f"{variable} holds characters that no key has")

    def _failure(self, status: int, headers: Mapping[str, str], raw: bytes) -> ModelError:
        return failure(status, headers, raw, host=self.remote, clean=self._clean, now=time.time())

    def _clean(self, text: str) -> str:
        return redact(text, read_key(key_variable(self.remote, self._named)))

    async def _exchange(self, verb: str, path: str, body: bytes | None) -> tuple[int, dict[str, str], bytes]:
        """(status, headers with names in lower case, body) of one request."""
        import httpx

        idle = self._idle.get()
        client = idle.pop() if idle else self._connection()
        trouble, sent, unreadable = "", True, ""
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._transfer(client, verb, path, body)
            if answer is not None:
                return answer
            unreadable = f"it is larger than {_LARGEST_BODY // 2**20} MiB"
        except TimeoutError:
            trouble = f"no answer within {self._timeout:g} s"
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            trouble, sent = type(error).__name__, False
        except httpx.DecodingError:
            unreadable = "it is compressed in a way that cannot be undone"
        except (httpx.TransportError, httpx.InvalidURL) as error:
            trouble = type(error).__name__
        finally:
            idle.append(client)
        # Raised here, not above: the transport's error holds the request, and the request holds the key.
        if unreadable:
            raise Malformed(f"the answer of {self.remote} cannot be read", why=unreadable, billable=True)
        raise Transient(
            f"the endpoint at {self.remote} cannot be reached"
            if not sent
            else f"the endpoint at {self.remote} did not answer",
            why=trouble,
            hint="check that it runs and that the base URL is right; what was answered is kept",
            billable=sent,
        )

    async def _transfer(
        self, client: httpx.AsyncClient, verb: str, path: str, body: bytes | None
    ) -> tuple[int, dict[str, str], bytes] | None:
        """One exchange, or None where the answer is too large.

        A function of its own, because its variables may hold the key as a careless endpoint echoes it, and a
        traceback that shows variables shows those of every frame that is left.
        """
        headers = {"Content-Type": "application/json"} if body is not None else {}
        request = client.build_request(verb, self.base_url + path, content=body, headers=headers)
        response = await client.send(request, auth=self._auth, stream=True)
        parts, size = [], 0
        try:
            async for part in response.aiter_bytes():
                parts.append(part)
                size += len(part)
                if size > _LARGEST_BODY:
                    return None
        finally:
            await response.aclose()
        raw = self._scrub(response.status_code, b"".join(parts))
        return response.status_code, dict(response.headers), raw

    def _scrub(self, status: int, raw: bytes) -> bytes:
        """A body without the key, should the endpoint echo it; of a refusal no more than its start."""
        key = read_key(key_variable(self.remote, self._named))
        if len(key) >= _SECRET:
            plain = json.dumps(key)[1:-1]
            for form in {key, plain, plain.replace("/", "\\/")}:  # as it is, and as JSON may write it
                raw = raw.replace(form.encode(), b"***")
        if status == 200:
            return raw
        return self._clean(raw[:_LONGEST_REFUSAL].decode("utf-8", "replace")).encode()

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
            trust_env=not self._local,
            follow_redirects=False,
        )


def _sendable(variable: str) -> bool:
    key = read_key(variable)
    return key.isascii() and key.isprintable() and " " not in key


def _from_environment(host: str, named: str) -> httpx.Auth:
    """Puts the key on a request when it is sent, so that no object and no frame above holds it."""
    import httpx

    class FromEnvironment(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
            if variable := key_variable(host, named):
                request.headers["Authorization"] = f"Bearer {read_key(variable)}"
            yield request

    return FromEnvironment()
