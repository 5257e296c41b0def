"""The retrieval-verification gap: how much better documents are judged than found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aspectra.base.errors import UsageError
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure, parse

Runs = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class Pools:
    """Runs of the two sides, each by the name of its system; after scoring, their means.

    Attributes:
        retrievers: single-stage retrievers.
        verifiers: rankings of the pool with missing gold documents put in (the upper bound).
        lower: rankings of the pool as it was found (the lower bound).
        agents: systems that search in several steps.
    """

    retrievers: Runs
    verifiers: Runs = field(default_factory=dict)
    lower: Runs = field(default_factory=dict)
    agents: Runs = field(default_factory=dict)


def _of(measure: Measure) -> tuple[Measure, ...]:
    return (parse(measure["of"]),)


def _inner(text: str) -> str:
    inner = parse(text)
    if inner.arity is not Arity.RANKING:
        raise UsageError(f"Gap cannot be taken of {inner}", why=f"it needs {inner.arity.value}")
    return str(inner)


@measure(
    "Gap",
    Arity.POOLS,
    params=(
        Param(
            "of", "nDCG@10", "the measure that both sides are scored with", check=_inner, example="R(rel=2)@5"
        ),
        Param("bound", "upper", "missing gold put into the pool, or the pool as found", ("upper", "lower")),
        Param("agents", False, "let systems that search in several steps count as retrievers"),
    ),
    missing=None,
    bounds=(-1.0, 1.0),
    of=_of,
)
def gap(measure: Measure, means: Mapping[str, Mapping[str, float]]) -> float | None:
    """Best verifier minus best retriever, in one measure and under one set of judgements.

    Given: role (as in :class:`Pools`) -> system -> mean. Range [-1, 1]; undefined where a side is empty.
    Source: OBLIQ-Bench, section 3.

    >>> round(gap().score({"retrievers": {"a": 0.068}, "verifiers": {"v": 0.331}}), 3)
    0.263
    """
    verifiers = means.get("verifiers" if measure["bound"] == "upper" else "lower", {})
    retrievers = {**means.get("retrievers", {}), **(means.get("agents", {}) if measure["agents"] else {})}
    if not verifiers or not retrievers:
        return None
    return max(verifiers.values()) - max(retrievers.values())
