"""Vectors from any OpenAI-compatible embeddings endpoint (extra ``openai``).

Argument: ``openai:MODEL?option=value&...``. Options: ``base_url`` (else ``ASPECTRA_EMBEDDINGS_URL``, else
``OPENAI_BASE_URL``, else OpenAI's own), ``dimensions`` (asked of the server), ``query`` and ``document``
(prompts put before a text), ``max_tokens``, ``batch``, ``timeout`` (seconds).

Texts leave this computer: ``remote`` names the host. With ``ASPECTRA_OFFLINE=1`` nothing is sent. The key
comes from ``OPENAI_API_KEY`` alone, is read at each request and never kept, shown or logged.
"""

from __future__ import annotations

import email.utils
import ipaddress
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np

from aspectra.base.errors import AspectraError, MissingExtra, UsageError
from aspectra.base.hashing import digest
from aspectra.views.encoders.arguments import positive_int, split_argument
from aspectra.views.encoders.pooling import unit_rows
from aspectra.views.encoders.protocol import ENCODERS, Encoding, Kind, Span, Vectors

__all__ = [
    "BadRequest",
    "KeyRefused",
    "MissingKey",
    "OfflineRefused",
    "OpenAIEmbeddings",
    "QuotaSpent",
    "Unavailable",
    "make",
]

_DEFAULT_URL = "https://api.openai.com/v1"
_ATTEMPTS = 5
_LONGEST_WAIT = 60.0  # seconds; a server that asks for more is reported, not waited for
_REQUEST_CHARACTERS = 400_000  # OpenAI refuses requests above 300,000 tokens
# Without the server's tokenizer we cut by characters: English has some 4 a token, so 3 errs on the safe side.
_CHARACTERS_PER_TOKEN = 3
_TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504}
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class Unavailable(AspectraError):
    """The endpoint cannot be reached, is overloaded, or answers with something else than vectors."""

    code = "upstream-unavailable"
    exit_code = 7
    retryable: ClassVar[bool] = True


class QuotaSpent(AspectraError):
    """The account has no credit left; waiting does not help."""

    code = "quota"
    exit_code = 5


class MissingKey(AspectraError):
    """No key in the environment, and the endpoint is not on this computer."""

    code = "missing-key"
    exit_code = 2


class KeyRefused(AspectraError):
    """The endpoint refuses the key."""

    code = "key-refused"
    exit_code = 2


class BadRequest(UsageError):
    """The endpoint refuses the request itself: an unknown model, a text too long, a wrong option."""

    code = "bad-request"


class OfflineRefused(UsageError):
    """``ASPECTRA_OFFLINE`` forbids sending texts."""

    code = "offline"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class OpenAIEmbeddings:
    """An embeddings endpoint.

    The server's weights cannot be seen, so the fingerprint is made of the address, the model's name and
    the options; a server that silently changes its model goes unnoticed unless its dimensions change.

    Args:
        model: the model's name.
        base_url: address up to and without ``/embeddings``.
        dimensions: dimensions to ask for; None leaves it to the server.
        prompts: put before a query and before a document.
        max_tokens: tokens the model reads; longer texts are cut at 3 characters a token.
        batch: texts per request.
        timeout: seconds for one request.

    Raises:
        MissingExtra: httpx is not installed.
        UsageError: the address cannot be used.
    """

    late_pooling = False

    def __init__(
        self,
        model: str,
        *,
        base_url: str = _DEFAULT_URL,
        dimensions: int | None = None,
        prompts: tuple[str, str] = ("", ""),
        max_tokens: int = 8191,
        batch: int = 128,
        timeout: float = 60.0,
    ) -> None:
        if not model:
            raise UsageError("the encoder 'openai' needs a model", hint="write openai:MODEL")
        address = urlsplit(base_url)
        host = address.hostname or ""
        if address.scheme not in {"http", "https"} or not host or address.query or address.username:
            # The address is not repeated: it may hold a password.
            raise UsageError(
                "the address of the embeddings endpoint cannot be used",
                why="it must be http(s)://host/path without a user name, password or query",
            )
        try:
            import httpx
        except ImportError as error:
            raise MissingExtra(
                "the encoder 'openai' needs httpx", why=str(error), hint='pip install "aspectra[openai]"'
            ) from error
        self._httpx: Any = httpx
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._asked = dimensions
        self._prompts = prompts
        self._batch = batch
        self._timeout = timeout
        self._local = _is_loopback(host)
        self._secure = address.scheme == "https" or self._local
        self._client: Any = None
        self._lock = threading.Lock()
        self._dimensions = dimensions or 0
        self.max_tokens = max_tokens
        self.remote = host
        self.name = re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-.").lower() or "openai"
        self.fingerprint = digest(
            {
                "encoder": "openai",
                "url": self._url,
                "model": model,
                "dimensions": dimensions,
                "prompts": list(prompts),
                "max_tokens": max_tokens,
            }
        )

    @property
    def dimensions(self) -> int:
        """Length of a vector; where it was not asked for, the first look sends one word to find out."""
        if not self._dimensions:
            self._request(["dimensions"])
        return self._dimensions

    @dimensions.setter
    def dimensions(self, value: int) -> None:
        self._dimensions = value

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """Encode texts, in order; see :class:`aspectra.views.encoders.protocol.Encoder`.

        Texts without any visible character are not sent (endpoints refuse them): their vectors are zeros.
        ``instruction`` is ignored.

        Raises:
            UsageError: spans were asked for, or the endpoint refuses the request.
            MissingKey, KeyRefused, QuotaSpent, Unavailable: see the classes.
        """
        if spans is not None:
            raise UsageError(
                f"the encoder {self.name!r} cannot pool spans",
                why="an embeddings endpoint gives no token states",
                hint="encode the sentences as texts of their own",
            )
        self._refuse_offline()
        prompt = self._prompts[0] if kind == "query" else self._prompts[1]
        limit = max(1, self.max_tokens * _CHARACTERS_PER_TOKEN - len(prompt))
        truncated = np.array([len(text) > limit for text in texts], dtype=np.bool_)
        full = [index for index, text in enumerate(texts) if text.strip()]
        ready = [prompt + texts[index][:limit].translate(_SURROGATES) for index in full]
        parts = [self._request(ready[part]) for part in self._parts(ready)]
        vectors = np.zeros((len(texts), self.dimensions if not parts else parts[0].shape[1]), np.float32)
        if parts:
            vectors[full] = np.concatenate(parts)
        return Encoding(unit_rows(vectors), [], truncated)

    def _parts(self, texts: list[str]) -> Iterator[slice]:
        start = size = 0
        for index, text in enumerate(texts):
            if index > start and (index - start == self._batch or size + len(text) > _REQUEST_CHARACTERS):
                yield slice(start, index)
                start, size = index, 0
            size += len(text)
        if start < len(texts):
            yield slice(start, len(texts))

    def _refuse_offline(self) -> None:
        if os.environ.get("ASPECTRA_OFFLINE", "") not in {"", "0"}:
            raise OfflineRefused(
                f"the encoder {self.name!r} would send texts to {self.remote}",
                why="ASPECTRA_OFFLINE is set",
                hint="unset ASPECTRA_OFFLINE, or use a local encoder such as minilm",
            )

    def _headers(self) -> dict[str, str]:
        key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not key:
            if self._local:
                return {}
            raise MissingKey(
                f"no key for the embeddings endpoint at {self.remote}",
                hint="set the environment variable OPENAI_API_KEY (to any word where the server needs none)",
            )
        if not self._secure:
            raise UsageError(
                f"the key would travel to {self.remote} unencrypted", hint="use an https:// address"
            )
        if not key.isascii() or not key.isprintable():
            raise UsageError("OPENAI_API_KEY holds characters that no key has")
        return {"Authorization": f"Bearer {key}"}

    def _request(self, texts: list[str]) -> Vectors:
        """One request, tried up to five times; (texts, dimensions)."""
        self._refuse_offline()
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asked is not None:
            body["dimensions"] = self._asked
        headers = self._headers()
        with self._lock:
            if self._client is None:
                self._client = self._httpx.Client(timeout=self._timeout, trust_env=not self._local)
        trouble = ""
        for attempt in range(1, _ATTEMPTS + 1):
            wait = random.uniform(0, min(20.0, 0.5 * 2**attempt))  # noqa: S311 (jitter, not a secret)
            try:
                response = self._client.post(self._url, json=body, headers=headers)
            except self._httpx.TransportError as error:
                trouble = type(error).__name__
            else:
                if response.status_code == 200:
                    return self._read(response, len(texts))
                said = _said(response, headers)
                self._refuse_final(response, said)
                trouble = f"status {response.status_code}" + (f": {said}" if said else "")
                asked = _retry_after(response.headers.get("retry-after", ""))
                if asked is not None:
                    if asked > _LONGEST_WAIT:
                        trouble += f" (asks to wait {asked:.0f} s)"
                        break
                    wait = asked + random.uniform(0, 0.1 * asked)  # noqa: S311
            if attempt < _ATTEMPTS:
                time.sleep(wait)
        raise Unavailable(
            f"the embeddings endpoint at {self.remote} is not available",
            why=f"{trouble}, after {attempt} attempts",
            hint="try again later; what was encoded before is kept",
        )

    def _refuse_final(self, response: Any, said: str) -> None:
        """Raise what no second attempt can cure."""
        status = response.status_code
        if status in {401, 403}:
            raise KeyRefused(
                f"the embeddings endpoint at {self.remote} refuses the key",
                why=f"status {status}",  # its words may repeat part of the key
                hint="check OPENAI_API_KEY",
            )
        if status == 402 or (status == 429 and "insufficient_quota" in response.text):
            raise QuotaSpent(
                f"the account at {self.remote} has no credit left",
                why=said or f"status {status}",
                hint="add credit, or use a local encoder such as minilm",
            )
        if status not in _TRANSIENT and status < 500:
            raise BadRequest(
                f"the embeddings endpoint at {self.remote} refuses the request",
                why=f"status {status}" + (f": {said}" if said else ""),
                hint=f"check the model's name ({self._model}), the options and the address",
            )

    def _read(self, response: Any, count: int) -> Vectors:
        try:
            rows = sorted(response.json()["data"], key=lambda row: int(row["index"]))
            vectors: Vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
            places = [int(row["index"]) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise Unavailable(
                f"the answer of {self.remote} cannot be read", why=f"no list of vectors ({error})"
            ) from error
        if places != list(range(count)) or vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise Unavailable(
                f"the answer of {self.remote} does not fit the request",
                why=f"{count} texts were sent, {len(rows)} vectors came back, or they hold no numbers",
            )
        if self._dimensions and vectors.shape[1] != self._dimensions:
            raise Unavailable(
                f"the vectors of {self.remote} have {vectors.shape[1]} dimensions, not {self._dimensions}",
                why="the server's model has changed, or does not offer the dimensions asked for",
            )
        self._dimensions = vectors.shape[1]
        return vectors


def _said(response: Any, headers: dict[str, str]) -> str:
    """The server's own words: one line, at most 200 characters, without the key."""
    try:
        error = response.json()["error"]
        words = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError):
        return ""
    for value in headers.values():
        words = words.replace(value.removeprefix("Bearer "), "***")
    return " ".join(words.split())[:200]


def _retry_after(value: str) -> float | None:
    """Seconds that a Retry-After header asks to wait (RFC 9110, 10.2.3), or None."""
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


@ENCODERS.register("openai")
def make(argument: str) -> OpenAIEmbeddings:
    """The encoder for ``openai:argument``; see the module's text."""
    known = ("base_url", "dimensions", "query", "document", "max_tokens", "batch", "timeout")
    model, options = split_argument(argument, known, encoder="openai")
    url = (
        options.get("base_url")
        or os.environ.get("ASPECTRA_EMBEDDINGS_URL")
        or os.environ.get("OPENAI_BASE_URL")
        or _DEFAULT_URL
    )
    return OpenAIEmbeddings(
        model,
        base_url=url,
        dimensions=positive_int(options, "dimensions", 1) if "dimensions" in options else None,
        prompts=(options.get("query", ""), options.get("document", "")),
        max_tokens=positive_int(options, "max_tokens", 8191),
        batch=positive_int(options, "batch", 128),
        timeout=float(positive_int(options, "timeout", 60)),
    )
