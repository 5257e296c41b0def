"""Vectors from any OpenAI-compatible embeddings endpoint (extra ``openai``).

Argument: ``openai:MODEL?option=value&...``; the options are those of :data:`make`.

Texts leave this computer: ``remote`` names the host. With ``ASPECTRA_OFFLINE=1`` nothing is sent. The key
comes from ``OPENAI_API_KEY``, or from the variable that the user gave to the host; it is read at each request
and never kept, shown or logged. ``OPENAI_API_KEY`` is sent to OpenAI, to the hosts of the two variables
of :data:`~aspectra.base.trust.ADDRESSES`, and to a host that the user gave it to.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from aspectra.base.errors import AspectraError, UsageError
from aspectra.base.files import digest
from aspectra.base.trust import (
    ADDRESSES,
    OPENAI_ORIGIN,
    OPENAI_VARIABLE,
    Permission,
    key_for,
    key_variable,
    origin_of,
)
from aspectra.llm import chat as failures
from aspectra.llm.client.openai_compatible import ACCEPTED, Body, Endpoint
from aspectra.llm.client.openai_wire import inner_status
from aspectra.views.encoders.protocol import (
    ENCODERS,
    EncoderFactory,
    Encoding,
    Kind,
    Prompts,
    Span,
    Vectors,
    cannot_pool,
    encodable,
    positive_int,
    unit_rows,
)

_LOG = logging.getLogger(__name__)
_DEFAULT_URL = f"{OPENAI_ORIGIN}/v1"
_ATTEMPTS = 5
_LONGEST_WAIT = 60.0  # seconds; a server that asks for more is reported, not waited for
_REQUEST_CHARACTERS = 400_000  # OpenAI refuses requests above 300,000 tokens
# Without the server's tokenizer we cut by characters: English has some 4 a token, so 3 errs on the safe side.
_CHARACTERS_PER_TOKEN = 3
_SHORTEST = 40  # characters; a text that is too long is not cut below
_LARGEST_ERROR = 2**16  # bytes of an error under status 200; vectors are not parsed twice


class Unavailable(AspectraError):
    """The endpoint cannot be reached, is overloaded, or answers with something else than vectors."""

    code = "upstream-unavailable"
    http_status = 502
    exit_code = 7
    retryable: ClassVar[bool] = True


class Unauthorized(UsageError):
    """There is no key, the endpoint refuses it, or it must not be sent there."""

    code = "key-refused"
    http_status = 502


class RequestRejected(UsageError):
    """The endpoint refuses the request itself: an unknown model, a text too long, a wrong option."""

    code = "bad-request"
    http_status = 502


class OfflineRefused(UsageError):
    """``ASPECTRA_OFFLINE`` forbids sending texts."""

    code = "offline"
    http_status = 503


# What a failure of any model is for an encoder; the first class that fits.
_KINDS: tuple[tuple[type[failures.ModelError], type[AspectraError]], ...] = (
    (failures.Transient, Unavailable),
    (failures.Malformed, Unavailable),
    (failures.QuotaSpent, failures.QuotaSpent),
    (failures.KeyRefused, Unauthorized),
    (failures.Offline, OfflineRefused),
    (failures.ModelError, RequestRejected),
)


def _for_encoders(error: failures.ModelError, why: str = "") -> AspectraError:
    kind = next(kind for model_error, kind in _KINDS if isinstance(error, model_error))
    return kind(error.what, why=why or error.why, hint=error.hint)


class OpenAIEmbeddings:
    """An embeddings endpoint.

    The server's weights cannot be seen, so the fingerprint is made of the address, the model's name and
    the options; a server that silently changes its model goes unnoticed unless its dimensions change.

    Args:
        model: the model's name.
        options: as in :data:`make`; without ``dimensions`` their number is left to the server. Texts longer
            than ``max_tokens`` are cut at 3 characters a token.

    Raises:
        MissingExtra: httpx is not installed.
        UsageError: the address cannot be used, or an option has no meaning.
    """

    late_pooling = False

    def __init__(self, model: str, options: dict[str, str]) -> None:
        base_url = _url(options)
        self._asked = positive_int(options, "dimensions", 1) if "dimensions" in options else None
        self.max_tokens = positive_int(options, "max_tokens", 8191)
        self._batch = positive_int(options, "batch", 128)
        self._timeout = float(positive_int(options, "timeout", 60))
        if not model:
            raise UsageError("the encoder 'openai' needs a model", hint="write openai:MODEL")
        named = key_for(origin_of(base_url))
        find = partial(key_variable, named=named, default="", addresses=ADDRESSES)
        self._endpoint = Endpoint(base_url, find, wanted=named or OPENAI_VARIABLE)
        self._url = self._endpoint.url + "/embeddings"
        self._model = model
        self.prompts = Prompts(options.get("query", ""), options.get("document", ""))
        self._client: Any = None
        self._lock = threading.Lock()
        self._dimensions = self._asked or 0
        self.remote = self._endpoint.host
        self.name = re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-.").lower() or "openai"
        self.fingerprint = digest(
            {
                "encoder": "openai",
                "url": self._url,
                "model": model,
                "dimensions": self._asked,
                "prompts": [self.prompts.query, self.prompts.document],
                "max_tokens": self.max_tokens,
            }
        )

    @property
    def dimensions(self) -> int:
        """Length of a vector; where it was not asked for, the first use sends one word to find out."""
        if not self._dimensions:
            self._request(["dimensions"], set())
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
        A text that the endpoint finds too long is halved until it is taken. ``instruction`` is ignored.

        Raises:
            UsageError: spans were asked for, or the endpoint refuses the request.
            Unauthorized, Unavailable: see the classes.
            QuotaSpent: see :class:`aspectra.llm.chat.QuotaSpent`.
        """
        if spans is not None:
            raise cannot_pool(self, "an embeddings endpoint gives no token states")
        self._check()
        prompt = self.prompts.of(kind, instruction)
        limit = max(1, self.max_tokens * _CHARACTERS_PER_TOKEN - len(prompt))
        truncated = np.array([len(text) > limit for text in texts], dtype=np.bool_)
        full = [index for index, text in enumerate(texts) if text.strip()]
        ready = [prompt + encodable(texts[index][:limit]) for index in full]
        cut: set[str] = set()
        parts = [self._request(ready[part], cut) for part in self._parts(ready)]
        for index, text in zip(full, ready, strict=True):
            if text in cut:
                truncated[index] = True
                begins = " ".join(texts[index].split())[:80]
                _LOG.warning(
                    "%s reads less than this text, and only its start is encoded; max_tokens= cuts all: %r",
                    self.remote,
                    begins,
                )
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

    def _check(self) -> None:
        """Refuse what must not be sent."""
        try:
            self._endpoint.check(
                self.name, hint="unset ASPECTRA_OFFLINE, or use a local encoder such as minilm"
            )
        except failures.ModelError as error:
            raise _for_encoders(error) from None

    def _request(self, texts: list[str], cut: set[str]) -> Vectors:
        """One request, tried up to five times; (texts, dimensions). What was too long is added to ``cut``."""
        self._check()
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asked is not None:
            body["dimensions"] = self._asked
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                raw = self._answer(body)
            except failures.ModelError as error:
                refused = isinstance(error, failures.BadRequest) and not isinstance(
                    error, failures.NoSuchModel
                )
                if refused and len(texts) > 1:  # perhaps too many texts, or too long ones together
                    half = (len(texts) + 1) // 2
                    known = len(cut)
                    halves = [self._request(part, cut) for part in (texts[:half], texts[half:])]
                    if len(cut) == known:
                        self._batch = min(self._batch, half)
                    return np.concatenate(halves)
                if isinstance(error, failures.ContextExceeded) and len(texts[0]) > _SHORTEST:
                    cut.add(texts[0])
                    return self._request([texts[0][: len(texts[0]) // 2]], cut)
                asked = error.retry_after
                trouble = error.why + (f" (asks to wait {asked:.0f} s)" if asked is not None else "")
                last = attempt == _ATTEMPTS or (asked or 0) > _LONGEST_WAIT
                if last or not isinstance(error, failures.Transient):
                    raise _for_encoders(
                        error, f"{trouble}, after {attempt} attempts" if error.retryable else error.why
                    ) from None
                wait = random.uniform(0, min(20.0, 0.5 * 2**attempt))  # noqa: S311 (jitter, not a secret)
                time.sleep(wait if asked is None else asked * random.uniform(1, 1.1))  # noqa: S311
            else:
                return self._read(raw, texts)
        raise AssertionError("the last attempt returns or raises")

    def _answer(self, body: dict[str, Any]) -> bytes:
        """The body of an answer with status 200.

        Raises:
            ModelError: there is none; see :mod:`aspectra.llm.chat`.
        """
        import httpx

        with self._lock:
            if self._client is None:
                self._client = httpx.Client(timeout=self._timeout, trust_env=not self._endpoint.local)
        try:
            with self._client.stream(
                "POST", self._url, json=body, headers=ACCEPTED, auth=self._endpoint.auth
            ) as response:
                status, headers = response.status_code, dict(response.headers)
                read = Body(headers.get("content-encoding", ""), self.remote)
                for part in response.iter_raw():
                    read.add(part)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            # Its text and the request in it are left out: they hold the key.
            raise failures.Transient(
                f"the embeddings endpoint at {self.remote} is not available",
                why=type(error).__name__,
                hint="try again later; what was encoded before is kept",
            ) from None
        raw = self._endpoint.scrub(status, read.whole())
        if len(raw) < _LARGEST_ERROR:
            status = inner_status(status, raw)
        if status != 200:
            raise self._endpoint.failure(status, headers, raw)
        return raw

    def _read(self, raw: bytes, texts: list[str]) -> Vectors:
        count = len(texts)
        try:
            rows = json.loads(raw)["data"]
            if not any("index" in row for row in rows):  # the order of the answer counts
                rows = [{**row, "index": place} for place, row in enumerate(rows)]
            rows = sorted(rows, key=lambda row: int(row["index"]))
            places = [int(row["index"]) for row in rows]
            given = [row["embedding"] or [None] for row in rows]
            width = max(map(len, given), default=0)
            given = [[0.0] * width if None in row else row for row in given]
            vectors: Vectors = np.array(given, dtype=np.float32)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
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
        if not vectors.any():
            raise Unavailable(f"the answer of {self.remote} holds no vector", why="all are empty or zeros")
        for place in np.flatnonzero(~vectors.any(axis=1)):
            begins = " ".join(texts[place].split())[:80]
            _LOG.warning("%s gave no vector for a text, which vectors will not find: %r", self.remote, begins)
        self._dimensions = vectors.shape[1]
        return vectors


def _url(options: dict[str, str]) -> str:
    """The address in use: the option, else the first of the environment, else OpenAI's own."""
    urls = [options.get("base_url"), *map(os.environ.get, ADDRESSES), _DEFAULT_URL]
    return next(filter(None, urls))


def _needs(model: str, options: dict[str, str]) -> list[Permission]:
    origin = origin_of(_url(options))
    return [Permission.host(origin, OPENAI_VARIABLE if origin == OPENAI_ORIGIN else key_for(origin))]


make = EncoderFactory(
    "openai",
    "any OpenAI-compatible embeddings endpoint (extra openai); texts leave this computer",
    {
        "base_url": f"address; else {' or '.join(ADDRESSES)}, else OpenAI's own",
        "dimensions": "length of a vector, where the server offers several",
        "query": "prompt put before a query",
        "document": "prompt put before a document",
        "max_tokens": "tokens read of a text",
        "batch": "texts per request",
        "timeout": "seconds for one request",
    },
    OpenAIEmbeddings,
    _needs,
)
ENCODERS.register(make.name)(make)
