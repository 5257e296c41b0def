"""One ranking against one set of judgements: the rank of every judged document.

Every measure of a ranking is a function of these ranks, so nothing else is stored. The order of equal scores
is decided here and nowhere else in the lab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import BadInput, check_choice
from aspectra.base.values import replace

Order = Literal["id-descending", "id-ascending", "input"]
Precision = Literal["float64", "float32"]
T = TypeVar("T")
_ORDERS: tuple[str, ...] = get_args(Order)
Array = NDArray[Any]
# Judgements: topic -> document -> grade. Runs: topic -> document -> score.
Grades = Mapping[str, Mapping[str, float]]


@dataclass(slots=True, eq=False)
class Judged:
    """The judged documents of one topic with their grades and ranks.

    All arrays are parallel to ``docs``.

    Attributes:
        docs: the judged documents; several modes of one topic share them.
        grades: float64; NaN for a document that this mode does not judge.
        ranks: int64, from 1; ``length + 1`` for a document that is not ranked.
        scores: float64; NaN for a document that is not ranked.
        above, tied: int64; documents with a higher score, and with the same one (itself included).
        length: documents ranked.
    """

    docs: Sequence[str]
    grades: Array
    ranks: Array
    scores: Array
    above: Array
    tied: Array
    length: int
    _made: dict[Any, Any] = field(default_factory=dict, repr=False)

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """What ``make`` gives, computed once for all measures."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    @property
    def ranked(self) -> Array:
        """Which judged documents are in the ranking."""
        return self.ranks <= self.length

    def relevant(self, rel: float = 1.0) -> Array:
        """Which documents have at least this grade; unjudged ones never do."""
        return self._once(("relevant", rel), lambda: self.grades >= rel)

    def count(self, rel: float = 1.0) -> int:
        """How many documents are relevant, ranked or not."""
        return self._once(("count", rel), lambda: int(np.count_nonzero(self.relevant(rel))))

    def hits(self, rel: float = 1.0) -> Array:
        """Ranks of the relevant documents that are ranked, rising."""
        return self._once(("hits", rel), lambda: np.sort(self.ranks[self.relevant(rel) & self.ranked]))

    def gained(self) -> tuple[Array, Array]:
        """(ranks, grades) of the ranked documents with a positive grade, by rank."""
        return self._once("gained", self._gained)

    def _gained(self) -> tuple[Array, Array]:
        positive = (self.grades > 0) & self.ranked
        ranks, grades = self.ranks[positive], self.grades[positive]
        order = np.argsort(ranks)
        return ranks[order], grades[order]

    def ideal(self, *, ranked_only: bool = False) -> Array:
        """Positive grades, falling: of all judged documents, or of the ranked ones."""

        def positive() -> Array:
            grades = self.gained()[1] if ranked_only else self.grades[self.grades > 0]
            return np.sort(grades)[::-1]

        return self._once(("ideal", ranked_only), positive)

    def condensed(self) -> Judged:
        """The same ranking without its unjudged documents."""
        return self._once("condensed", self._condensed)

    def _condensed(self) -> Judged:
        keep = ~np.isnan(self.grades)
        ranked = keep & self.ranked
        length = int(np.count_nonzero(ranked))
        places = np.sort(self.ranks[ranked])
        falling = np.sort(self.scores[ranked])
        left = np.searchsorted(falling, self.scores, "left")
        right = np.searchsorted(falling, self.scores, "right")
        return replace(
            self,
            ranks=np.where(ranked, np.searchsorted(places, self.ranks) + 1, length + 1),
            above=np.where(ranked, length - right, length),
            tied=np.where(ranked, right - left, 1),
            length=length,
            _made={},
        )


def order_ids(
    scores: Mapping[str, float], order: Order = "id-descending", precision: Precision = "float64"
) -> list[str]:
    """Documents best first: score descending, then as ``order`` says; ids compare as strings.

    >>> order_ids({"9": 1.0, "10": 1.0, "2": 1.0, "z": 2.0})
    ['z', '9', '2', '10']
    >>> order_ids({"b": 1.0, "a": 1.0}, "id-ascending"), order_ids({"b": 1.0, "a": 1.0}, "input")
    (['a', 'b'], ['b', 'a'])
    """
    check_choice(order, _ORDERS, "order")
    ids = list(scores) if order == "input" else sorted(scores, reverse=order == "id-descending")
    values = np.fromiter(map(scores.__getitem__, ids), np.float64, len(ids))
    if precision == "float32":
        values = values.astype(np.float32)
    return [ids[i] for i in np.argsort(-values, kind="stable").tolist()]


def judge(
    scores: Mapping[str, float],
    docs: Sequence[str],
    grades: Array,
    *,
    order: Order = "id-descending",
    precision: Precision = "float64",
    excluded: Collection[str] = (),
    topic: str = "",
) -> Judged:
    """Find the places of ``docs`` in a ranking.

    Args:
        scores: document -> score; higher is better.
        docs: the judged documents.
        grades: (len(docs),) their grades, NaN where unjudged.
        order: how equal scores are told apart.
        precision: ``float32`` compares scores as trec_eval does.
        excluded: documents dropped from the ranking first.
        topic: for the message.

    Raises:
        BadInput: a score is NaN or infinite.
    """
    if excluded:
        scores = {doc: score for doc, score in scores.items() if doc not in excluded}
    length = len(scores)
    values: Array = np.fromiter(scores.values(), np.float64, length)
    if not np.isfinite(values).all():
        bad = next(doc for doc, score in scores.items() if not math.isfinite(score))
        raise BadInput(
            f"topic {topic!r} has a score that is not a number for {bad!r}: {scores[bad]}",
            why="a score that is NaN or infinite has no place in an order",
            hint="drop such documents, or give them a score below all others",
        )
    nan = math.nan
    own: Array = np.array([scores.get(doc, nan) for doc in docs], np.float64)
    keys = own
    if precision == "float32":
        values, keys = values.astype(np.float32), own.astype(np.float32)
    rising = np.sort(values)
    ranked = ~np.isnan(own)
    left = np.searchsorted(rising, keys, "left")
    right = np.searchsorted(rising, keys, "right")
    above = np.where(ranked, length - right, length)
    tied = np.where(ranked, right - left, 1)
    if (tied > 1).any():
        place = {doc: i for i, doc in enumerate(order_ids(scores, order, precision), 1)}
        ranks: Array = np.array([place.get(doc, length + 1) for doc in docs], np.int64)
    else:
        ranks = above + 1
    return Judged(docs=docs, grades=grades, ranks=ranks, scores=own, above=above, tied=tied, length=length)
