"""Simulated models that answer from judgements, or with the truth about each paper, as exactly as told.

:class:`Oracle` judges without reading a text. With all rates 0 it is the perfect judge, which shows what a
sorter guarantees; with rates above 0 it shows how much of that is left when the judge errs. It cannot write:
where a query is to be written from a paper, it repeats the beginning of what it was shown, so that a pipeline
runs to its end. Whatever it answers is *simulated*.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.files import digest
from aspectra.base.values import replace
from aspectra.llm.budget import estimate_tokens, prompt_tokens
from aspectra.llm.chat import Reply, Request, Usage

_BEGINNING = 1500  # characters: some 250 words


@dataclass(frozen=True)
class Rates:
    """An oracle's rates, before there is a topic; see :class:`Oracle`."""

    error: float = 0.0
    bias: float = 0.0
    malformed: float = 0.0
    seed: int = 0

    @property
    def oracle(self) -> Oracle:
        """The oracle, without judgements."""
        return Oracle({}, self.error, self.bias, self.malformed, self.seed)


@dataclass(frozen=True)
class Oracle:
    """A model that knows the grades of one topic.

    Each answer is drawn from the seed and the request alone, so neither the order of calls nor their
    concurrency changes a result. What the rates mean:

    - ``error``: the chance that two neighbours in the right order come out the wrong way round. Pairs are
      swapped with it; lists are drawn from the Mallows model with dispersion error / (1 - error), so that
      papers far apart are confused far more rarely, and 0.5 is any order at all. A probability of yes becomes
      that of no; a grade or points become others.
    - ``bias``: the chance that a pair or list is answered in the order in which it was shown.
    - ``malformed``: the chance that the reply is malformed: empty, a refusal, prose, cut off, a
      thought without an end, labels repeated, missing or never given out.

    Attributes:
        grades: paper id -> grade; papers that are not judged have the lowest of 0 and all grades. Papers of
            equal grade stay in the order in which they are shown.
        error: 0 to 0.5.
        bias, malformed: 0 to 1.
        seed: of all chances.
    """

    grades: Mapping[str, float] = field(repr=False)
    error: float = 0.0
    bias: float = 0.0
    malformed: float = 0.0
    seed: int = 0
    simulated: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if not (0 <= self.error <= 0.5 and 0 <= self.bias <= 1 and 0 <= self.malformed <= 1):
            raise UsageError("an oracle errs at a rate of 0 to 0.5; its other rates are from 0 to 1")
        if any(not math.isfinite(grade) for grade in self.grades.values()):
            raise UsageError("an oracle needs grades that are numbers")

    @property
    def name(self) -> str:
        """With all rates: ``oracle(error=0.1,bias=0,malformed=0,seed=0)``."""
        rates = f"error={self.error:g},bias={self.bias:g},malformed={self.malformed:g}"
        return f"oracle({rates},seed={self.seed})"

    def about(self, grades: Mapping[str, float]) -> Oracle:
        """The same oracle for another topic."""
        return replace(self, grades=grades)

    async def complete(self, request: Request) -> Reply:
        """The answer to a judge's question.

        Raises:
            UsageError: the request comes from no judge that it knows.
        """
        judge = request.prompt.partition("/")[0]
        if judge not in _ANSWERS:
            raise UsageError(
                f"the oracle cannot answer the prompt {request.prompt!r}",
                why="it knows " + ", ".join(_ANSWERS),
            )
        draw = random.Random(f"{self.seed}:{request.key}")  # noqa: S311 (no secret)
        text, logprobs = _ANSWERS[judge](self, request, draw)
        if draw.random() < self.malformed:
            text, logprobs = _spoil(text, draw), ()
        usage = Usage(prompt_tokens(request), estimate_tokens(text))
        return Reply(text, self.name, usage, logprobs=logprobs, simulated=True)

    def _grade(self, paper: str) -> float:
        return self.grades.get(paper, self._range[0])

    @cached_property
    def _range(self) -> tuple[float, float]:
        lowest = min(0.0, *self.grades.values()) if self.grades else 0.0
        return lowest, max(lowest + 1.0, *self.grades.values()) if self.grades else 1.0

    def _share(self, paper: str) -> float:
        """The paper's grade from 0 (lowest) to 1 (highest)."""
        low, high = self._range
        return (self._grade(paper) - low) / (high - low)

    def _ordered(self, papers: Sequence[str], draw: random.Random) -> list[int]:
        """Numbers of the papers, from 0, best first."""
        if draw.random() < self.bias:
            return list(range(len(papers)))
        right = sorted(range(len(papers)), key=lambda n: (-self._grade(papers[n]), n))
        if self.error == 0:
            return right
        # Repeated insertion: the i-th paper goes j places before the end with a chance in proportion to
        # dispersion to the power of j, which makes the Mallows model.
        dispersion = self.error / (1 - self.error)
        out: list[int] = []
        for paper in right:
            weights = [dispersion**back for back in range(len(out) + 1)]
            back = draw.choices(range(len(weights)), weights)[0]
            out.insert(len(out) - back, paper)
        return out


_Answer = tuple[str, tuple[tuple[str, float], ...]]


def _yes_no(oracle: Oracle, request: Request, draw: random.Random) -> _Answer:
    # Kept off 0 and 1, whose logarithms are not finite.
    chance = 0.01 + 0.98 * oracle._share(request.subjects[0])
    if draw.random() < oracle.error:
        chance = 1 - chance
    # It does not read the prompt, so it answers with both pairs of words that judges use.
    pairs = (("yes", chance), ("no", 1 - chance), ("true", chance), ("false", 1 - chance))
    logprobs = tuple((word, math.log(part / 2)) for word, part in sorted(pairs, key=lambda p: -p[1]))
    return ("yes" if chance >= 0.5 else "no"), (logprobs if request.top_logprobs else ())


def _grade(oracle: Oracle, request: Request, draw: random.Random) -> _Answer:
    grade = round(3 * oracle._share(request.subjects[0]))
    if draw.random() < oracle.error:
        grade = draw.choice([other for other in range(4) if other != grade])
    return str(grade), ((str(grade), 0.0),) if request.top_logprobs else ()


def _points(oracle: Oracle, request: Request, draw: random.Random) -> _Answer:
    points = round(100 * oracle._share(request.subjects[0]))
    if draw.random() < oracle.error:
        points = draw.randrange(101)
    return json.dumps({"points": points}), ()


def _pair(oracle: Oracle, request: Request, draw: random.Random) -> _Answer:
    return json.dumps({"better": "AB"[oracle._ordered(request.subjects, draw)[0]]}), ()


def _list(oracle: Oracle, request: Request, draw: random.Random) -> _Answer:
    labels, entry = _labels(request)
    order = [labels[number] for number in oracle._ordered(request.subjects, draw)]
    if entry:
        return json.dumps({"order": [{"label": label, "reason": "as judged"} for label in order]}), ()
    if request.prompt.startswith("think-first/"):
        thoughts = [{"label": label, "thought": "as judged"} for label in labels[: len(order)]]
        return json.dumps({"query_thought": "as judged", "thoughts": thoughts, "order": order}), ()
    return json.dumps({"order": order}), ()


def _labels(request: Request) -> tuple[list[str], bool]:
    """The labels given out, and whether each comes with a reason; numbers without a schema."""
    items: dict[str, Any] = ((request.schema or {}).get("properties") or {}).get("order", {}).get("items", {})
    if "properties" in items:
        return list(items["properties"]["label"]["enum"]), True
    return list(items.get("enum") or (str(n + 1) for n in range(len(request.subjects)))), False


def _beginning(oracle: Oracle, request: Request, draw: random.Random) -> _Answer:
    """For whatever is to be written: the paper's first characters."""
    lines = request.messages[-1].content.splitlines()
    shown: dict[str, Any] = next((json.loads(line) for line in lines if line.startswith("{")), {})
    text = str(shown.get("text", ""))[:_BEGINNING]
    return json.dumps(dict.fromkeys((request.schema or {}).get("properties", ()), text)), ()


_ANSWERS: dict[str, Callable[[Oracle, Request, random.Random], _Answer]] = {
    "yes-no": _yes_no,
    "grade": _grade,
    "points": _points,
    "pairwise": _pair,
    "listwise": _list,
    "think-first": _list,
    **dict.fromkeys(("write_all", "research_question", "method", "experiment", "overview"), _beginning),
}


def _spoil(text: str, draw: random.Random) -> str:
    """A malformed reply, of a kind that models give; it may still hold part of the answer."""
    kind = draw.randrange(7)
    if kind == 0:
        return ""
    if kind == 1:
        return "I am sorry, this is not something that can be compared."
    if kind == 2:
        return "All of these look interesting, and much depends on what is meant."
    if kind == 3:
        return text[: draw.randrange(1, max(2, len(text)))]
    if kind == 4:
        return "<think>" + text
    try:
        order = json.loads(text)["order"]
    except (ValueError, TypeError, KeyError):
        return text.strip('{}"') + " " + str(draw.randrange(1000, 10_000))
    if kind == 5:
        kept = [label for label in order if draw.random() < 0.6]
        return json.dumps({"order": kept + draw.choices(order, k=len(order) - len(kept))})
    return json.dumps({"order": [label if draw.random() < 0.7 else "Q99" for label in order]})


# A simulated model for a prompted lens: answers with the truth about each paper, with a given noise.
#
# It never reads a text. Without noise it shows what a lens is worth whose model never errs; with noise, how
# much of that is left. Its answers are marked as *simulated*.


@dataclass(frozen=True)
class LensOracle:
    """A model that knows the true values of a lens.

    Its answer about a paper is drawn from the seed and the paper alone, so neither the order nor the number
    of calls changes it. The papers that are wrong at one noise are wrong at every greater one.

    Attributes:
        truth: paper id -> the lens's true value, "" for papers that are not in it.
        noise: the chance that it answers with another value than the true one, 0 to 1.
        malformed: the chance that a reply cannot be read, 0 to 1; drawn anew for each reply.
        seed: of all chances.
    """

    truth: Mapping[str, str] = field(repr=False)
    noise: float = 0.0
    malformed: float = 0.0
    seed: int = 0
    simulated: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        if not (0 <= self.noise <= 1 and 0 <= self.malformed <= 1):
            raise UsageError("the rates of a lens oracle are from 0 to 1")

    @property
    def name(self) -> str:
        """With all rates: ``lens-oracle(noise=0.1,malformed=0,seed=0)``."""
        return f"lens-oracle(noise={self.noise:g},malformed={self.malformed:g},seed={self.seed})"

    @cached_property
    def _values(self) -> list[str]:
        return sorted(set(self.truth.values()))

    def value_of(self, paper: str) -> str:
        """Its answer about a paper, before the reply is made unreadable."""
        draw = random.Random(digest([self.seed, paper]))  # noqa: S311 (no secret)
        right = self.truth.get(paper, "")
        wrong = draw.random() < self.noise
        others = [value for value in self._values if value != right]
        return draw.choice(others) if wrong and others else right

    async def complete(self, request: Request) -> Reply:
        """The answer to a lens's question about one paper.

        Raises:
            UsageError: it is not about one paper.
        """
        if len(request.subjects) != 1:
            raise UsageError("a lens oracle answers about one paper at a time")
        text = json.dumps({"value": self.value_of(request.subjects[0])}, ensure_ascii=False)
        form = random.Random(digest([self.seed, "form", request.key]))  # noqa: S311 (no secret)
        if form.random() < self.malformed:
            text = text[: len(text) // 2]
        return Reply(text, self.name, Usage(prompt_tokens(request), estimate_tokens(text)), simulated=True)
