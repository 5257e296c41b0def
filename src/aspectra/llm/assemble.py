"""A model as a program uses it: a client with everything around it, in the one order that is right.

From the outside in, each layer is where it is because of the one below it:

1. **journal**: a recorded answer needs no budget and no connection, and equal requests under way together are
   one call. It also bounds how many calls are under way, since a call is so until its reply is on disk; and
   outside of retries, so that a call that waits for its next attempt keeps its place and an overloaded
   endpoint is asked less by all;
2. **retries**: each attempt goes anew through everything below;
3. **budget**: inside of retries, because every attempt that may be charged for must be counted;
4. **rate**: inside of the budget, so that what will not be sent takes no share of the minute;
5. the **client**: one call is one attempt.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.trust import Permission, require
from aspectra.llm.budget import Account, Budget, Cost, Limits, Price, Prices, default_prices, estimate
from aspectra.llm.chat import ChatModel, ModelError, Offline, Reply, Request, Wrapper
from aspectra.llm.client.openai_compatible import OpenAICompatible, journal_name, offline
from aspectra.llm.journal import Journal, JournalFile
from aspectra.llm.retry import Lanes, RateLimit, Retry

_FIRST = 2  # calls at once of a server on this computer, until it has answered some


@dataclass(frozen=True)
class ModelSettings:
    """Settings of a language model and of calls to it.

    Attributes:
        model: its name at the endpoint; without a default.
        base_url: address up to and without ``/chat/completions``; "" takes ``OPENAI_BASE_URL``.
        key_variable: environment variable with the key; "" for the defaults, see :mod:`aspectra.base.trust`.
        named_by: the file that named address or variable, where it is not the user's own; then the user must
            have permitted both, see :mod:`aspectra.base.trust`.
        revision: any word; another one makes the journal ask anew.
        timeout: seconds for one attempt.
        lanes: calls under way at once, see :class:`aspectra.llm.journal.Journal`; at most so many
            of a server on this computer, see :class:`aspectra.llm.retry.Lanes`.
        requests_per_minute: 0 for no limit.
        tokens_per_minute: 0 for no limit.
        tries: attempts for one call.
        seconds: for all attempts of one call, see :class:`aspectra.llm.retry.Retry`.
        limits: what the run may cost.
        prices: the price file; None for the user's own.
        journal: the journal's file; None for the user's own.
        journal_text: keep the words of questions in it too, not their hashes alone.
        offline: answer from the journal alone and open no connection.
        extra: request fields added as they are.
        omit: request fields left out.
    """

    model: str = ""
    base_url: str = ""
    key_variable: str = ""
    named_by: str = ""
    revision: str = ""
    timeout: float = 60.0
    lanes: int = 8
    requests_per_minute: float = 0.0
    tokens_per_minute: float = 0.0
    tries: int = 5
    seconds: float = 120.0
    limits: Limits = field(default_factory=Limits)
    prices: Path | None = None
    journal: Path | None = None
    journal_text: bool = False
    offline: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()


def _default_journal() -> Path:
    """Path of the user's journal."""
    import platformdirs

    return Path(platformdirs.user_data_dir("aspectra", appauthor=False)) / "model-calls.db"


class Model(Wrapper):
    """A whole model: ask it, see what it cost, close it.

    Attributes:
        account: what was spent since it was built, under the run's limits.
        journal: recorded answers, and counts of them.
        price: per token, or None where it is not known.
        remote: host that texts are sent to; "" where none is.
    """

    def __init__(self, journal: Journal, account: Account, price: Price | None, client: ChatModel) -> None:
        super().__init__(journal)
        self.journal = journal
        self.account = account
        self.price = price
        self.remote = client.remote if isinstance(client, OpenAICompatible) else ""
        self._client = client

    async def complete(self, request: Request) -> Reply:
        """The recorded answer, or a new one.

        Raises:
            ModelError: see :mod:`aspectra.llm.chat`.
            JournalFailed, JournalBroken: the journal cannot be used.
        """
        return await self.journal.complete(request)

    def holds(self, request: Request) -> bool:
        """True if an answer is recorded, so that the request costs nothing."""
        return self.journal.holds(request)

    async def context(self) -> int | None:
        """Tokens that the model reads, as the endpoint says: asked once and recorded; None if it does not."""
        where = self._client.base_url if isinstance(self._client, OpenAICompatible) else ""
        name = f"context/{self.name}/{where}"
        found = self.journal.file.note(name)
        if found is None and isinstance(self._client, OpenAICompatible):
            try:
                found = {"tokens": await self._client.context()}
            except ModelError:
                return None  # the first question meets the same failure, and says it
            self.journal.file.keep_note(name, found)
            self.journal.file.keep_note(f"context/{self.name}/", found)
        return found["tokens"] if found else None

    def estimate(self, requests: Iterable[Request]) -> Cost:
        """Highest cost of the requests without a recorded answer; ``recorded`` counts the others."""
        asked = list(requests)
        missing = self.journal.missing(asked)
        return estimate(missing, self.price) + Cost(recorded=len(asked) - len(missing))

    def close(self) -> None:
        """Close the journal; everything answered is on disk already. It can be called twice."""
        self.journal.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _NotAsked:
    """Stands where the client would, when nothing may be sent."""

    simulated = False

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, request: Request) -> Reply:
        raise Offline(
            f"an answer of the model {self.name!r} is not in the journal",
            why="offline: no connection may be opened",
            hint="run once without --offline; answers are kept",
        )


def build_model(settings: ModelSettings) -> Model:
    """The model that settings describe. Nothing is sent before it is asked something.

    Raises:
        UsageError: no model or address is named, a setting makes no sense, or money is limited and the model
            has no price.
        NotTrusted: a file that is not the user's own named the address or the key's variable.
        MissingExtra: httpx is not installed.
        JournalFailed, JournalBroken: the journal cannot be used.
    """
    if not settings.model:
        raise UsageError(
            "no language model is named",
            hint="aspectra config set llm.model NAME; see docs/models.md for examples",
        )
    client: ChatModel
    if settings.offline or offline():
        # The same name as the client's would be, so that its recorded answers are found.
        client = _NotAsked(
            journal_name(settings.model, revision=settings.revision, extra=settings.extra, omit=settings.omit)
        )
    else:
        base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL", "")
        if not base_url:
            raise UsageError(
                f"the model {settings.model!r} has no address",
                hint="aspectra config set llm.base_url URL (it usually ends in /v1), or set OPENAI_BASE_URL",
            )
        if settings.named_by:
            require(Permission.host(base_url, settings.key_variable), settings.named_by)
        client = OpenAICompatible(
            settings.model,
            base_url,
            key_variable=settings.key_variable,
            own=not settings.named_by,
            revision=settings.revision,
            timeout=settings.timeout,
            extra=settings.extra,
            omit=settings.omit,
        )
    return wrap_model(client, settings)


def wrap_model(client: ChatModel, settings: ModelSettings) -> Model:
    """Any model with the layers around it; the order and its reasons are this module's text.

    Args:
        client: what is asked in the end, such as a scripted model.
        settings: of the layers; the model's name and address in it are not looked at, but for its price.
    """
    price = Prices.read(settings.prices or default_prices()).of(settings.model)
    account = Account(settings.limits)
    asked = client
    local = isinstance(client, OpenAICompatible) and client.local
    if not isinstance(client, _NotAsked):
        if settings.requests_per_minute or settings.tokens_per_minute:
            asked = RateLimit(
                asked,
                requests_per_minute=settings.requests_per_minute,
                tokens_per_minute=settings.tokens_per_minute,
            )
        asked = Budget(asked, account, price)
        asked = Retry(asked, tries=settings.tries, seconds=settings.seconds, queues=local)
    file = JournalFile(settings.journal or _default_journal())
    lanes: int | Callable[[], Lanes] = settings.lanes
    if isinstance(client, OpenAICompatible) and local:
        lanes = partial(Lanes, settings.lanes, start=_FIRST, seconds=settings.timeout, slots=client.slots)
    journal = Journal(asked, file, account, lanes, keep_text=settings.journal_text)
    return Model(journal, account, price, client)
