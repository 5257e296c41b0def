"""The journal around a model: an answer that was paid for once is never paid for again.

A reply is on disk before its caller sees it. Replies that come at about the same time are written together,
so that many calls share one wait for the disk. Only replies that the request's ``accept`` agreed to are given
again; the others are kept for reading, counted, and asked anew.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from aspectra.base.hashing import digest_texts
from aspectra.llm.budget import Account, charged, note_recorded
from aspectra.llm.chat import ChatModel, Reply, Request, Wrapper
from aspectra.llm.failures import Late, ModelError
from aspectra.llm.journal_file import JournalFile, Record
from aspectra.llm.loops import PerLoop
from aspectra.llm.rate import Lanes

_GATHER = 0.001  # seconds that a write waits for company


def acceptable(request: Request, reply: Reply) -> bool:
    """Whether a reply may be given again: what ``request.accept`` says.

    Without one: whether it is not blank and, where a schema was asked for, is JSON.
    """
    if request.accept is not None:
        return bool(request.accept(reply))
    if request.schema is not None:
        try:
            json.loads(reply.text)
        except (ValueError, RecursionError):
            return False
    return bool(reply.text.strip() or reply.logprobs)


@dataclass
class _Flight:
    """A call under way and how many wait for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0


@dataclass
class _Here:
    """What belongs to one event loop."""

    lanes: Lanes
    flights: dict[str, _Flight] = field(default_factory=dict)
    pending: list[tuple[Record, asyncio.Future[Reply | None]]] = field(default_factory=list)
    busy: bool = False


class Journal(Wrapper):
    """A model whose accepted answers are kept.

    Identical requests that are under way together are asked once. When two processes ask the same, the answer
    that reached the disk first counts for both.

    Args:
        inner: asked when there is no accepted answer.
        file: where answers are kept. Several journals may share one.
        account: where recorded answers are counted, beside the accounts open around the call.
        lanes: calls under way at once, 1 or more, in the order in which they came. A call is under way until
            its reply is on disk, so a program that dies loses no more replies than this. Waits between
            attempts count too: an endpoint that asks for patience is asked less by all. Or what makes them
            for an event loop; then a call whose answer came too late waits for a lane again.
        keep_text: keep the words of questions too, so that an answer can be read beside what was asked.

    Attributes:
        hits: answers given from the file, or shared with a call under way.
        rejected: replies that ``accept`` did not agree to.
    """

    def __init__(
        self,
        inner: ChatModel,
        file: JournalFile,
        account: Account | None = None,
        lanes: int | Callable[[], Lanes] = 8,
        *,
        keep_text: bool = False,
    ) -> None:
        if not callable(lanes):
            Lanes(lanes)  # refuses what is none
        super().__init__(inner)
        self.file = file
        self.hits = 0
        self.rejected = 0
        self._account = account
        self._keep_text = keep_text
        self._simulated = False
        self._loops = PerLoop(lambda: _Here(lanes() if callable(lanes) else Lanes(lanes)))
        self._executor = ThreadPoolExecutor(1, "aspectra-journal")

    @property
    def simulated(self) -> bool:
        """Whether any answer so far came from something that is no language model."""
        return self._simulated or self.inner.simulated

    def key(self, request: Request) -> str:
        """The request's key in the file: a hash over the model's name and all that an answer depends on."""
        return digest_texts([self.name, request.key])

    def holds(self, request: Request) -> bool:
        """Whether an accepted answer is there, so that asking costs nothing."""
        return self.file.find(self.key(request)) is not None

    def missing(self, requests: Iterable[Request]) -> list[Request]:
        """Those of the requests that would be asked; of equal ones the first."""
        first: dict[str, Request] = {}
        for request in requests:
            first.setdefault(self.key(request), request)
        return [request for key, request in first.items() if self.file.find(key) is None]

    async def complete(self, request: Request) -> Reply:
        """The recorded answer, or a new one, which is recorded first.

        Raises:
            ModelError: there is no recorded answer, and none could be had.
            JournalFailed, JournalBroken: the file cannot be used.
        """
        key = self.key(request)
        here = self._loops.get()
        flight = here.flights.get(key)
        if flight is None:
            reply = self.file.find(key)
            if reply is not None:
                return self._recorded(reply)
            flight = _Flight(asyncio.get_running_loop().create_task(self._ask(key, request, here)))
            here.flights[key] = flight
            flight.task.add_done_callback(lambda task: _landed(here, key, task))
        joined = flight.waiting > 0
        flight.waiting += 1
        try:
            reply = await asyncio.shield(flight.task)
        except ModelError as error:
            if joined:  # what the call cost is counted where it was made
                raise error.again() from None
            raise
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                flight.task.cancel()  # has no effect unless all callers left before the end
                if here.flights.get(key) is flight:  # whoever asks next asks anew
                    del here.flights[key]
        return self._recorded(replace(reply, recorded=True, seconds=0.0, lost=())) if joined else reply

    def _recorded(self, reply: Reply) -> Reply:
        self.hits += 1
        self._simulated = self._simulated or reply.simulated
        note_recorded(reply.usage, self._account)
        return reply

    async def _ask(self, key: str, request: Request, here: _Here) -> Reply:
        queued = here.lanes.full
        while True:
            async with here.lanes as allowed:
                # Meanwhile another process may have asked.
                if queued and (reply := self.file.find(key)) is not None:
                    return self._recorded(reply)
                try:
                    return await self._ask_and_keep(key, request, here)
                except Late:
                    if not here.lanes.late(allowed):
                        raise

    async def _ask_and_keep(self, key: str, request: Request, here: _Here) -> Reply:
        reply = await self.inner.complete(request)
        here.lanes.answered(reply.seconds)
        self._simulated = self._simulated or reply.simulated
        accepted = False
        try:
            accepted = acceptable(request, reply)
        finally:  # what was paid for is kept, even where the check itself fails
            self.rejected += not accepted
            turns = tuple((m.role, m.content) for m in request.messages) if self._keep_text else ()
            record = Record(key, self.name, request.prompt, accepted, reply, turns)
            future: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
            here.pending.append((record, future))
            self._start(here)
            earlier = await future
        if earlier is None:
            return reply
        return replace(earlier, recorded=True, seconds=0.0, lost=charged(request, reply))

    def _start(self, here: _Here) -> None:
        if here.pending and not here.busy:
            here.busy = True
            asyncio.get_running_loop().call_later(_GATHER, self._write, here)

    def _write(self, here: _Here) -> None:
        group, here.pending = here.pending, []
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._executor, self.file.add, [record for record, _ in group])
        writing.add_done_callback(lambda done: self._written(here, group, done))

    def _written(
        self,
        here: _Here,
        group: list[tuple[Record, asyncio.Future[Reply | None]]],
        done: asyncio.Future[list[Reply | None]],
    ) -> None:
        here.busy = False
        error = done.exception()
        for number, (_, future) in enumerate(group):
            if future.done():  # its caller was cancelled; the reply is on disk all the same
                continue
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result()[number])
        self._start(here)

    def close(self) -> None:
        """Write what an ended event loop left behind, then close the file; it can be called twice."""
        self._executor.shutdown()
        for here in self._loops.values():
            group, here.pending = here.pending, []
            if group:
                self.file.add([record for record, _ in group])
        self.file.close()


def _landed(here: _Here, key: str, task: asyncio.Task[Reply]) -> None:
    flight = here.flights.get(key)
    if flight is not None and flight.task is task:
        del here.flights[key]
    if not task.cancelled():
        task.exception()  # looked at, so that one whose callers have all left is not reported as lost
