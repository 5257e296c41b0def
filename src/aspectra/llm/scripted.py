"""A model that says what a script says: for tests and examples. What it answers is *simulated*."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.llm.budget import estimate_tokens, prompt_tokens
from aspectra.llm.chat import Reply, Request, Usage

Step = str | Reply | Exception


class Scripted:
    """A scripted model.

    Args:
        script: what to answer: the steps in order, or a function of the request, which may be asynchronous. A
            step is a text, a whole reply, or an error, which is raised.
        name: the model's name.
        delay: seconds before each step.
        cut: whether answers longer than the request allows are cut, as models do; their ``finish`` is then
            ``length``.

    Attributes:
        asked: every request so far.
    """

    simulated = True

    def __init__(
        self,
        script: Sequence[Step] | Callable[[Request], Step | Awaitable[Step]],
        *,
        name: str = "scripted",
        delay: float = 0.0,
        cut: bool = True,
    ) -> None:
        self.name = name
        self.asked: list[Request] = []
        self._script = script
        self._delay = delay
        self._cut = cut

    async def complete(self, request: Request) -> Reply:
        """The next step; its usage is estimated where the step says none.

        Raises:
            UsageError: the script has ended.
            Exception: where the step is one.
        """
        number = len(self.asked)
        self.asked.append(request)
        if self._delay:
            await asyncio.sleep(self._delay)
        if callable(self._script):
            step = self._script(request)
            if inspect.isawaitable(step):
                step = await step
        elif number < len(self._script):
            step = self._script[number]
        else:
            raise UsageError(f"the script of {self.name!r} has only {len(self._script)} replies")
        if isinstance(step, Exception):
            raise step
        reply = Reply(step) if isinstance(step, str) else step
        text, finish = reply.text, reply.finish
        if self._cut and estimate_tokens(text) > request.max_tokens:
            # So many tokens by the rule of thumb.
            text = text.encode("utf-8", "surrogatepass")[: 4 * request.max_tokens].decode("utf-8", "ignore")
            finish = "length"
        usage = reply.usage
        if usage == Usage():
            usage = Usage(prompt_tokens(request), estimate_tokens(text))
        return replace(
            reply, text=text, finish=finish, usage=usage, model=reply.model or self.name, simulated=True
        )
