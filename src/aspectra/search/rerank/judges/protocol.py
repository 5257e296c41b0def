"""The protocol of a judge: it answers one kind of question about papers, and decides nothing else.

A judge gives scores to papers one by one, says which of two fits better, or puts up to ``width`` papers in
order. To add one, write a module in ``search/rerank/judges`` with a frozen dataclass decorated by
``@JUDGES.register(name)``, its fields being its options; third parties use the entry point group
``aspectra.judge``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

from aspectra.base.registry import Registry
from aspectra.search.rerank.asker import Asker
from aspectra.search.rerank.question import Candidate

# Kinds of answers: a score for each paper, the better of two, an order of several.
Answers = Literal["scores", "pairs", "lists"]


class Judge(Protocol):
    """Any judge.

    Attributes:
        name: as in :data:`JUDGES`.
        answers: which kind of question it answers.
        width: papers in one question, at most.
        needs_model: whether it asks a language model.
    """

    @property
    def name(self) -> str: ...

    @property
    def answers(self) -> Answers: ...

    @property
    def width(self) -> int: ...

    @property
    def needs_model(self) -> bool: ...


@runtime_checkable
class ScoreJudge(Protocol):
    """A judge that scores papers one by one (pointwise)."""

    async def score(self, papers: Sequence[Candidate], asker: Asker) -> list[float | None]:
        """A score for each paper, higher is better; None where no answer could be had."""
        ...


@runtime_checkable
class PairJudge(Protocol):
    """A judge that compares two papers (pairwise). Callers ask it in both orders."""

    async def first_wins(self, first: Candidate, second: Candidate, asker: Asker) -> bool | None:
        """True if the first fits better; None without an answer."""
        ...


@runtime_checkable
class ListJudge(Protocol):
    """A judge that puts several papers in order (listwise)."""

    async def order(self, papers: Sequence[Candidate], asker: Asker) -> list[str] | None:
        """Ids as the answer gives them, best first; None where no answer could be had.

        Ids may be repeated, missing or unknown: the caller repairs and counts them.
        """
        ...


JUDGES: Registry[Callable[..., Judge]] = Registry("judge", __package__)
