"""Calls to a model for a judge: bounded, counted, and never the end of a reranking.

Whatever a model does (refuses, fails, answers nonsense), a judge gets a reply or None, and the sorter goes on
with what is known. After an error that no other call can mend (quota, key, budget) no more calls are made.

A journal keeps exactly the replies that are used, so a finished run can be repeated from it: nothing is paid
for again, and nothing changes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.llm.budget import Cost, Price, call_cost
from aspectra.llm.chat import ChatModel, ContextExceeded, ModelError, Offline, Refused, Reply, Request
from aspectra.search.plan import Tally
from aspectra.search.rerank.shown_texts import ShownTexts

T = TypeVar("T")
S = TypeVar("S")
_LEAST_SHARE = 0.2  # of the text budget, below which a context counts as too small for the question


class Asker:
    """The calls of one reranking to its model, with everything counted.

    Args:
        model: the one to call; None for judges that need none.
        shown: the texts.
        concurrency: calls in flight at most.
        again: how often a question is asked anew when nothing can be read from its answer.

    Attributes:
        questions, unanswered, simulated: as in :class:`~aspectra.search.plan.Tally`.
        bad: questions whose answer had to be repaired, or that got none.
        defects: kind -> count, see ``docs/reranking.md``.
        cost: of all calls, at the model's price; those from a journal apart.
        stopped: the error after which no more calls were made, or None.
        last_error: of the last call that failed, or None.
    """

    def __init__(
        self, model: ChatModel | None, shown: ShownTexts, *, concurrency: int = 16, again: int = 1
    ) -> None:
        if concurrency < 1 or again < 0:
            raise UsageError(f"cannot ask {concurrency} at a time, {again} times anew")
        self.shown = shown
        self.concurrency = concurrency
        self.questions = self.bad = self.unanswered = 0
        self.defects: Counter[str] = Counter()
        self.cost = Cost()
        self.simulated = False
        self.stopped: ModelError | None = None
        self.last_error: ModelError | None = None
        self._model = model
        self._again = again
        self._price: Price | None = getattr(model, "price", None)
        self._holds: Callable[[Request], bool] | None = getattr(model, "holds", None)
        self._free = asyncio.Semaphore(concurrency)

    def tally(self, *, degraded: bool = False) -> Tally:
        """The counts so far.

        Args:
            degraded: whether the result is worth less than promised; it is where the asking was stopped.
        """
        return Tally(
            self.questions,
            self.bad,
            self.unanswered,
            int(degraded or self.stopped is not None),
            self.simulated,
            self.cost,
            {kind: count for kind, count in sorted(self.defects.items()) if count},
            len(self.shown.cut) + self.shown.query_cut,
        )

    @property
    def model(self) -> str:
        """Name of the model, or ""."""
        return self._model.name if self._model else ""

    async def ask(self, build: Callable[[float], Request], usable: Callable[[Reply], bool]) -> Reply | None:
        """The answer to one question, or None where none can be used; that is counted.

        Args:
            build: the request, given the share of the text budget that it may use (1, less where a model's
                context turns out too small).
            usable: whether anything can be read from an answer; must not raise. It is the request's
                ``accept`` too.
        """
        if self._model is None:
            raise UsageError(
                "this judge asks a model, and none was named",
                hint="aspectra config set llm.model NAME, then llm.base_url URL (docs/models.md)",
            )
        self.questions += 1
        async with self._free:
            reply = await self._tries(self._model, build, usable)
        if reply is None:
            self.bad += 1
            self.unanswered += 1
        elif reply.finish == "length":
            self.defects["cut-off"] += 1
        return reply

    async def _tries(
        self, model: ChatModel, build: Callable[[float], Request], usable: Callable[[Reply], bool]
    ) -> Reply | None:
        share, repeat, missing = 1.0, 0, 0
        while True:
            if self.stopped is not None:
                self.defects["not-asked"] += 1
                return None
            request = replace(build(share), accept=usable)
            if not repeat:
                repeat = self._recorded_repeat(request)
                self.defects += Counter({"asked-anew": repeat})
            try:
                reply = await self._call(model, _repeated(request, repeat))
            except (ContextExceeded, Offline) as error:
                # Offline, what is not recorded may be so for less text.
                if isinstance(error, Offline):
                    missing += 1
                else:
                    self.defects["context"] += 1
                share /= 2
                if share < _LEAST_SHARE:
                    self._failed(error)
                    return None
                continue
            except ModelError as error:
                self._failed(error)
                return None
            self.defects += Counter(context=missing)
            missing = 0
            if reply.finish == "content_filter":
                self.defects["refused"] += 1
                return None
            if usable(reply):
                return reply
            if repeat >= self._again:
                self.defects["unreadable"] += 1
                if reply.finish == "length":
                    self.defects["cut-off"] += 1
                elif not reply.text.strip():
                    self.defects["only-reasoning" if reply.facts.get("reasoning") else "empty"] += 1
                return None
            repeat += 1
            self.defects["asked-anew"] += 1

    def _recorded_repeat(self, request: Request) -> int:
        """The first repeat whose answer is recorded; 0 where that is the request itself, or none is."""
        if self._holds is None or self._holds(request):
            return 0
        numbers = range(1, self._again + 1)
        return next((n for n in numbers if self._holds(_repeated(request, n))), 0)

    async def _call(self, model: ChatModel, request: Request) -> Reply:
        try:
            reply = await model.complete(request)
        except ModelError as error:
            self.cost += call_cost(request, error, self._price)
            raise
        self.cost += call_cost(request, reply, self._price)
        self.simulated |= reply.simulated or model.simulated
        return reply

    def _failed(self, error: ModelError) -> None:
        self.defects["refused" if isinstance(error, Refused) else "failed"] += 1
        self.last_error = error
        if error.fatal and self.stopped is None:
            self.stopped = error


def _repeated(request: Request, number: int) -> Request:
    return replace(request, repeat=request.repeat + number) if number else request


async def in_parallel(function: Callable[[T], Awaitable[S]], items: Iterable[T], workers: int) -> list[S]:
    """Results of ``function`` for the items, in their order, with ``workers`` calls at a time.

    Workers take from one iterator, so that a million items do not need a million tasks. If one raises, the
    others are cancelled and its error is raised.
    """
    waiting = enumerate(items)
    done: dict[int, S] = {}

    async def work() -> None:
        for place, item in waiting:
            done[place] = await function(item)

    tasks = [asyncio.create_task(work()) for _ in range(workers)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [done[place] for place in range(len(done))]
