"""Costs of calls, and limits that concurrent calls cannot exceed.

Before a call is sent, its worst case is reserved; when it has ended, the real cost replaces the reservation.
A request that would exceed a limit only because of calls under way waits for them. A request that would
exceed the limit without them is not sent.

Tokens before a call are a rule of thumb, one for every four bytes of UTF-8 (four letters of English, or one
and a third Chinese characters), and the worst case is twice that plus the longest answer allowed. A text that
is denser still (random letters, say) can pass a limit on tokens by what was under way; a limit on calls is
exact.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from aspectra.base.errors import UsageError
from aspectra.base.files import canonical_json
from aspectra.base.values import Value
from aspectra.llm.chat import BudgetReached, ChatModel, ModelError, Reply, Request, Usage, Wrapper

_Money = Annotated[float, Meta(ge=0, le=1e12)]


class Price(Value, frozen=True):
    """Money for a million tokens, of questions and of answers."""

    input: _Money
    output: _Money

    def of(self, asked: int, answered: int) -> float:
        """Money for one call.

        >>> Price(input=2.0, output=10.0).of(500_000, 100_000)
        2.0
        """
        return (self.input * asked + self.output * answered) / 1e6


class Prices(Value, frozen=True):
    """All prices of a file.

    Attributes:
        currency: as people write it, such as ``USD``.
        models: model name, as the endpoint calls it -> its price.
    """

    currency: str = ""
    models: dict[str, Price] = {}  # noqa: RUF012 - msgspec copies it for each value

    def of(self, model: str) -> Price | None:
        """The model's price, or None where nobody stated one."""
        return self.models.get(model)

    @classmethod
    def read(cls, path: Path) -> Prices:
        """Read a price file; one that does not exist holds no prices.

        Raises:
            UsageError: it cannot be read, or holds something else than prices.
        """
        if not path.exists():
            return cls()
        try:
            return cls.load(path)
        except UsageError as error:
            raise UsageError(
                f"the price file {path} cannot be used",
                why=error.why or error.what,
                hint="write [models.NAME] with input = 0.5 and output = 2, money for a million tokens",
            ) from error


def default_prices() -> Path:
    """Default path of the user's price file."""
    import platformdirs

    return Path(platformdirs.user_config_dir("aspectra", appauthor=False)) / "prices.toml"


_DENSEST = 2  # the worst case is this many times the rule of thumb
_LOOK = 0.01  # seconds between two looks whether calls under way have ended
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of calls; costs add up with ``+``.

    Attributes:
        calls: answered, or perhaps answered and lost on the way; attempts that were refused do not count.
        prompt_tokens: as the endpoint counts them, else estimated.
        completion_tokens: likewise.
        money: of the calls that have a price, in the price file's currency.
        unpriced: calls without a price; where there are any, ``money`` is not the whole sum.
        recorded: answers that came from a journal and cost nothing now.
        recorded_tokens: the tokens of those when they were first asked, questions and answers.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    unpriced: int = 0
    recorded: int = 0
    recorded_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Questions and answers."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(operator.add, _PARTS(self), _PARTS(other)))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*map(operator.sub, _PARTS(self), _PARTS(other)))


# Many times as fast as dataclasses.astuple, which copies what it finds; each question adds costs.
_PARTS = operator.attrgetter(*(field.name for field in fields(Cost)))


class Limits(Struct, frozen=True):
    """Hard limits; None sets none.

    Attributes:
        calls: number of calls.
        tokens: questions and answers together.
        money: in the price file's currency.
        call_tokens: of any one call, by its worst case.
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    call_tokens: int | None = None

    def passed(self, cost: Cost) -> str:
        """Limit that a cost would exceed, in words; "" for none."""
        if self.calls is not None and cost.calls > self.calls:
            return f"{self.calls} calls"
        if self.tokens is not None and cost.tokens > self.tokens:
            return f"{self.tokens} tokens"
        if self.money is not None and cost.money > self.money:
            return f"{self.money:g} of money"
        return ""


_NO_LIMITS = Limits()


class Account:
    """Spending under one set of limits; safe to share between threads.

    Args:
        limits: what must not be passed.
        purpose: for messages: ``run``, ``query``.
    """

    def __init__(self, limits: Limits | None = None, purpose: str = "run") -> None:
        self.limits = limits or Limits()
        self.purpose = purpose
        self._spent = Cost()
        self._reserved = Cost()

    @property
    def cost(self) -> Cost:
        """Spending so far, without calls under way."""
        with _lock:
            return self._spent


_open: ContextVar[tuple[Account, ...]] = ContextVar("aspectra-accounts", default=())


@contextmanager
def spending(limits: Limits | None = None, purpose: str = "query") -> Iterator[Account]:
    """An account for all calls made inside the ``with``, also by tasks started there; accounts nest.

    >>> with spending(Limits(calls=20)) as account:
    ...     account.cost.calls
    0
    """
    account = Account(limits, purpose)
    token = _open.set((*_open.get(), account))
    try:
        yield account
    finally:
        _open.reset(token)


def note_recorded(usage: Usage, account: Account | None = None) -> None:
    """Count an answer that came from a journal."""
    cost = _recorded(usage)
    with _lock:
        for one in _accounts(account):
            one._spent += cost


def _recorded(usage: Usage) -> Cost:
    return Cost(recorded=1, recorded_tokens=usage.prompt_tokens + usage.completion_tokens)


def _accounts(account: Account | None) -> tuple[Account, ...]:
    opened = _open.get()
    return opened if account is None or account in opened else (account, *opened)


def estimate_tokens(text: str) -> int:
    """Tokens of a text by the rule of thumb, rounded up.

    >>> estimate_tokens("four"), estimate_tokens("fifth"), estimate_tokens("检索")
    (1, 2, 2)
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


def prompt_tokens(request: Request) -> int:
    """Tokens of a question by the rule of thumb; each turn brings four of its own."""
    count = sum(estimate_tokens(message.content) + 4 for message in request.messages)
    return count + (estimate_tokens(canonical_json(dict(request.schema))) if request.schema else 0)


def estimate(requests: Iterable[Request], price: Price | None = None) -> Cost:
    """Highest cost of requests, with each answer as long as it may be: an estimate before a run.

    Leave out what a journal holds, see :meth:`aspectra.llm.journal.Journal.missing`.
    """
    return sum((_cost(prompt_tokens(one), one.max_tokens, price) for one in requests), Cost())


def call_cost(request: Request, ended: Reply | ModelError, price: Price | None) -> Cost:
    """Cost of one call with all its attempts; for an answer from a journal, its tokens when first asked.

    Tokens are estimated if the endpoint does not count them.

    Args:
        request: what was sent.
        ended: the answer, or the error that came instead.
        price: per token, or None where it is not known.
    """
    total = _recorded(ended.usage) if isinstance(ended, Reply) and ended.recorded else Cost()
    attempts = charged(request, ended)
    return sum((_cost(one.prompt_tokens, one.completion_tokens, price) for one in attempts), total)


def charged(request: Request, ended: Reply | ModelError) -> tuple[Usage, ...]:
    """Tokens of each attempt of a call that was, or may have been, charged for; estimated where not known.

    Args:
        request: what was sent.
        ended: the answer, or the error that came instead.
    """
    usage = ended.usage
    if isinstance(ended, Reply):
        if ended.recorded:
            return ended.lost
        if usage == Usage():
            usage = Usage(prompt_tokens(request), estimate_tokens(ended.text))
    elif usage == Usage():
        if not ended.billable:
            return ended.lost
        # Whatever ends a call without saying what it cost may have cost all of it.
        usage = Usage(_DENSEST * prompt_tokens(request), request.max_tokens)
    return (*ended.lost, usage)


def _cost(asked: int, answered: int, price: Price | None) -> Cost:
    money = price.of(asked, answered) if price else 0.0
    return Cost(1, asked, answered, money, 0 if price else 1)


class Budget(Wrapper):
    """A model that is not asked past a limit.

    Belongs inside of retries, so that every attempt that may be charged for is counted.

    Args:
        inner: the model.
        account: of the run. The accounts of :func:`spending` around a call count and limit it as well.
        price: per token, or None where it is not known: then money is not known either.

    Raises:
        UsageError: money is limited and the price is unknown.
    """

    def __init__(self, inner: ChatModel, account: Account | None = None, price: Price | None = None) -> None:
        super().__init__(inner)
        self.account = account or Account()
        self.price = price
        if self.account.limits.money is not None and price is None:
            raise _no_price(inner.name)

    async def complete(self, request: Request) -> Reply:
        """The inner model's answer.

        Raises:
            BudgetReached: it was not asked, because a limit might have been passed.
            ModelError: as the inner model.
        """
        from asyncio import sleep  # a search that asks no model is spared its import

        asked = prompt_tokens(request)
        worst = _cost(_DENSEST * asked, request.max_tokens, self.price)
        accounts = _accounts(self.account)
        while not self._reserve(accounts, worst):
            await sleep(_LOOK)
        spent = worst  # a call that was interrupted may have cost all of it
        try:
            reply = await self.inner.complete(request)
            spent = call_cost(request, reply, self.price)
        except ModelError as error:
            spent = call_cost(request, error, self.price)
            raise
        finally:
            with _lock:
                for account in accounts:
                    account._spent += spent
                    account._reserved -= worst
                    if not account._reserved.calls:  # sums of money do not subtract exactly
                        account._reserved = Cost()
        return reply

    def _reserve(self, accounts: tuple[Account, ...], worst: Cost) -> bool:
        """Reserve the worst case and return True; return False if calls under way must end first."""
        with _lock:
            for account in accounts:
                limits = account.limits
                if limits == _NO_LIMITS:
                    continue
                if limits.money is not None and self.price is None:
                    raise _no_price(self.name)
                if limits.call_tokens is not None and worst.tokens > limits.call_tokens:
                    raise _reached(account, f"{limits.call_tokens} tokens for one call", worst)
                after = account._spent + worst
                if limits.passed(after + account._reserved):
                    if passed := limits.passed(after):
                        raise _reached(account, passed, worst)
                    return False
            for account in accounts:
                account._reserved += worst
            return True


def _no_price(name: str) -> UsageError:
    return UsageError(
        f"money is limited, and the model {name!r} has no price",
        hint="add it to the price file (docs/models.md), or limit calls or tokens",
    )


def _reached(account: Account, passed: str, worst: Cost) -> BudgetReached:
    spent = account._spent
    return BudgetReached(
        f"the limit of this {account.purpose} is reached: {passed}",
        why=f"{spent.calls} calls and {spent.tokens} tokens were spent, and the next call may take "
        f"{worst.tokens} tokens",
        hint="raise the limit and run the same command again; what was answered is kept",
    )
