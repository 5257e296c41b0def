"""Verdict on a set, without an index or a model: what it can show, and what gives its answers away."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict

from aspectra.lab.construction.export import as_texts
from aspectra.lab.construction.made import Made
from aspectra.lab.construction.protocol import Workbench
from aspectra.lab.statistics.significance import SMALL
from aspectra.papers.text.cleaning import folded

_REACH = 1.96 + 0.84  # standard errors that a two-sided test at 5 % finds with a power of 80 %
_SPREAD = 0.15  # deviation over queries of the difference of two systems; assumed: none has ranked the set
_RARE = 20  # a name is in at most so many documents, and in at most one of so many
_NEAR = 0.8  # the share of all words of two near duplicates that both have
_WORD = re.compile(r"[^\W_][\w'’-]*")
_NAME = re.compile(r"(?<=[^\s.!?\"'“”‘’]\s)(?!I\b)[A-Z][\w'’-]+")  # capitalised inside a sentence


def verdict_of(made: Made, bench: Workbench) -> tuple[str, ...]:
    """Sentences on power, on names that queries share with their answers, and on near duplicates."""
    points = 100 * _REACH * _SPREAD / math.sqrt(len(made.drafts))
    power = (
        f"power: a difference of {points:.1f} points between two systems is found in 80 % of cases (at the "
        f"5 % level; its deviation over queries is assumed to be {100 * _SPREAD:.0f} points, not measured)"
    )
    few = (
        f"power: fewer than {SMALL} queries, which show large differences only"
        if len(made.drafts) < SMALL
        else ""
    )
    return tuple(filter(None, (power, few, _names(made, bench), _near(made, bench))))


def _names(made: Made, bench: Workbench) -> str:
    """How many queries hold a name that is in few documents, a relevant one among them."""
    asked = {draft.id: set(_NAME.findall(draft.text)) for draft in made.drafts if draft.text}
    wanted = set[str]().union(*asked.values())
    lower = {word.lower() for word in wanted}
    held: dict[str, set[str]] = defaultdict(set)
    common: set[str] = set()  # words in small letters, which are not names
    for one in bench.documents(made):
        words = set(_WORD.findall(f"{one.title} {one.text}"))
        common |= words & lower
        for word in words & wanted:
            held[word].add(one.id)
    most = max(2, min(_RARE, len(made.corpus) // _RARE))
    rare = {word: ids for word, ids in held.items() if len(ids) <= most and word.lower() not in common}
    relevant = made.relevant()
    leaks = 0
    for query, own in asked.items():
        there = set[str]().union(*(rare[word] for word in own & rare.keys()))
        leaks += not there.isdisjoint(relevant.get(query, ()))
    told = f"names: {leaks:,} of {len(asked):,} queries share a name with a relevant document"
    return f"{told} (capitalised in a sentence, in at most {most} documents)" if asked else ""


def _near(made: Made, bench: Workbench) -> str:
    """How many queries nearly repeat another; one question under several conditions is one query."""
    units = {one.id: one.seed or (one.text if one.instructions else one.id) for one in made.drafts}
    texts = {units[row["_id"]]: {*_WORD.findall(folded(row["text"]))} for row in as_texts(made, bench)}
    times = Counter(word for own in texts.values() for word in own)
    held: dict[str, list[str]] = defaultdict(list)
    near: set[str] = set()
    for unit, own in texts.items():
        # Two sets that share _NEAR of their words share one of the rarest 1 - _NEAR of each.
        rarest = sorted(own, key=lambda word: (times[word], word))[: int((1 - _NEAR) * len(own) + 1e-9) + 1]
        for other in {other for word in rarest for other in held[word]}:
            if len(own & texts[other]) >= _NEAR * len(own | texts[other]):
                near |= {unit, other}
        for word in rarest:
            held[word].append(unit)
    return f"near duplicates: {len(near):,} of {len(texts):,} queries share {_NEAR:.0%} of words with another"
