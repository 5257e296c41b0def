"""p-MRR: how far documents fall when an instruction makes them irrelevant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from aspectra.lab.measures._common import DOCUMENT_MISSING, REL
from aspectra.lab.measures.protocol import Arity, Measure, Param, measure
from aspectra.lab.runs.judged import Array, Judged


def rank_change(original: Array, new: Array) -> Array:
    """Scores of documents that should fall from their places in ``original`` to those in ``new``.

    Range (-1, 1): 1 - original/new when it falls, new/original - 1 when it rises, 0 when it stays. Swapping
    the places changes the sign only. Source: FollowIR (Weller et al. 2024), equation 1; InfoSearch,
    equation 9.

    >>> rank_change(np.array([5, 10, 3]), np.array([10, 5, 3])).tolist()
    [0.5, -0.5, 0.0]
    """
    return np.where(original > new, new / original - 1.0, 1.0 - original / new)


@measure(
    "p-MRR",
    Arity.MODES,
    aliases=("pMRR",),
    params=(
        REL,
        Param(
            "documents", "changed", "those that cease to be relevant, or the gold ones", ("changed", "gold")
        ),
        DOCUMENT_MISSING,
    ),
    bounds=(-1.0, 1.0),
    modes=("original", "instructed"),
)
def p_mrr(measure: Measure, topic: Mapping[str, Judged]) -> float | None:
    """Mean over changed documents of the relative change of rank that an instruction brings; 0 for no change.

    Documents: relevant in the original mode and not in the instructed one; they should fall. With
    ``documents=gold``: relevant in the instructed mode; they should rise. Open range (-1, 1), positive where
    the instruction is followed; undefined for a topic without such a document. A document that is not ranked
    has the rank length + 1. Sources: FollowIR (Weller et al. 2024), equation 1; InfoSearch, equation 9 (here
    on its instruction negatives); the exploration study's equation 1 prints the second branch upside down.
    """
    original, instructed = topic["original"], topic["instructed"]
    rel = measure["rel"]
    gold = measure["documents"] == "gold"
    if gold:
        chosen, first, second = instructed.relevant(rel), instructed, original
    else:
        chosen, first, second = original.relevant(rel) & ~instructed.relevant(rel), original, instructed
    if measure["missing"] == "skip":
        chosen = chosen & original.ranked & instructed.ranked
    changes = rank_change(first.ranks[chosen], second.ranks[chosen])
    return math.fsum(changes.tolist()) / len(changes) if len(changes) else None


class Pairs(NamedTuple):
    """What ``evaluate`` needs to score one run with p-MRR over pairs of aspects.

    Attributes:
        qrels, runs: mode -> unit -> documents; a unit is ``topic>other``.
        labels: unit -> ``pair`` (the topic) and ``aspect`` (its aspect): the steps of averaging.
    """

    qrels: dict[str, dict[str, Mapping[str, float]]]
    runs: dict[str, dict[str, Mapping[str, float]]]
    labels: dict[str, dict[str, str]]


def pair_up(
    run: Mapping[str, Mapping[str, float]],
    qrels: Mapping[str, Mapping[str, float]],
    groups: Mapping[str, str],
    aspects: Mapping[str, str],
) -> Pairs:
    """All ordered pairs of topics of one group, as original and instructed mode.

    For CSFCube: topics are query-aspect pairs, groups are query papers. The mean over a topic's pairs comes
    first, then the mean of an aspect's topics, then the plain mean of aspects: average over
    ``("pair", "aspect")``.

    Args:
        run: topic -> document -> score.
        qrels: topic -> document -> grade.
        groups: topic -> group; topics that are alone in theirs give no pair.
        aspects: topic -> aspect.
    """
    members: dict[str, list[str]] = {}
    for topic in sorted(qrels):
        if topic in groups:
            members.setdefault(groups[topic], []).append(topic)
    out = Pairs({"original": {}, "instructed": {}}, {"original": {}, "instructed": {}}, {})
    for topics in members.values():
        for one in topics:
            for other in topics:
                if one == other:
                    continue
                unit = f"{one}>{other}"
                for mode, topic in (("original", one), ("instructed", other)):
                    out.qrels[mode][unit] = qrels[topic]
                    if topic in run:
                        out.runs[mode][unit] = run[topic]
                out.labels[unit] = {"pair": one, "aspect": aspects.get(one, "")}
    return out
