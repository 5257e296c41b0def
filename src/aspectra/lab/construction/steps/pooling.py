"""``pool`` and ``favour``: what several systems make of a set, of which it knows nothing itself.

``pool`` keeps documents that systems find and nobody has judged, for a judge or for people to grade.

A set whose judgements are those of its construction counts as irrelevant what nobody looked at; the first
documents of several systems are looked at too (OBLIQ-Bench, section 4: pool and expand). Who is scored on a
set to which it gave documents has an advantage over who did not: each system is scored with and without
what it alone found. ``favour`` says which systems place texts that a language model wrote above others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import Made, Workbench, step
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.gap.verification import Pooling, recorded_systems
from aspectra.lab.runs.run import Run
from aspectra.lab.statistics.significance import bootstrap_interval

_FACT = "pool"


class FavourOptions(Value, frozen=True):
    """Options of ``favour``.

    Attributes:
        runs: directories of experiments (``aspectra bench run``) on this set as it is without the step, and
            run files; none leaves the step out.
        benchmark: the set's name in the experiments; "" where each has one alone.
    """

    runs: tuple[str, ...] = ()
    benchmark: str = ""


class PoolOptions(FavourOptions, frozen=True):
    """Options of ``pool``, beside those of :class:`FavourOptions`.

    Attributes:
        depth: first documents of each system.
    """

    depth: int = 10

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise UsageError("a pool has documents", hint="--option pool.depth=10")


def files_of(runs: Sequence[str]) -> list[Path]:
    """The files that rankings are read from."""
    return [Path(one) / "records.jsonl" if Path(one).is_dir() else Path(one) for one in runs]


def _runs(folder: Path, options: FavourOptions) -> list[Path]:
    return files_of(options.runs)


@step(PoolOptions, sheets=_runs)
def pool(made: Made, bench: Workbench, options: PoolOptions) -> Made:
    """The first documents of several systems, for a judge or people.

    They are the fact ``pool``.

    Raises:
        BadInput, UsageError: rankings cannot be read, or are of another set.
    """
    if not options.runs:
        bench.found["pool"] = "*not pooled*"
        return made
    found = first_found(made, options.runs, options.benchmark, options.depth)
    made = replace(made, facts={**made.facts, _FACT: found})
    bench.found |= {"systems": ", ".join(sorted(found)), "depth": options.depth}
    bench.found["documents without a grade"] = sum(map(len, unjudged(made).values()))
    return made


def first_found(
    made: Made, runs: Sequence[str], benchmark: str, depth: int
) -> dict[str, dict[str, list[str]]]:
    """System -> query -> the first documents that it finds, but for those that the query leaves out.

    Args:
        made: the set.
        runs: directories of experiments and run files.
        benchmark: as in :class:`PoolOptions`.
        depth: documents of each system.

    Raises:
        BadInput, UsageError: rankings cannot be read, or are of another set.
    """
    queries = {draft.id: draft for draft in made.drafts}
    there, found = set(made.corpus), {}
    for system in recorded_systems(benchmark, queries, Pooling(runs=tuple(runs))):
        run, firsts = Run(system.run), {}
        for query, draft in queries.items():
            hidden = {draft.seed, *made.excluded.get(query, ())}
            ranked = [doc for doc in run.ranking(query) if doc not in hidden]
            firsts[query] = [doc for doc in ranked if doc in there][:depth]
        found[system.name] = firsts
    return found


def unjudged(made: Made) -> dict[str, list[str]]:
    """Query -> documents of its pool that have no grade."""
    systems: Mapping[str, Any] = made.facts.get(_FACT, {})
    gold = made.qrels.get("gold", {})
    return {
        one.id: sorted(
            {doc for firsts in systems.values() for doc in firsts[one.id]}.difference(gold.get(one.id, ()))
        )
        for one in made.drafts
    }


def left_out(made: Made, grades: Mapping[str, Mapping[str, int]]) -> dict[str, str]:
    """Each system's nDCG at the depth of the pools, with and without the relevant documents it alone found.

    Documents of the construction itself (``gold`` judgements) are nobody's. Source: Zobel, How Reliable Are
    the Results of Large-Scale Information Retrieval Experiments?, 1998.

    Args:
        made: a set whose step ``pool`` is done.
        grades: query -> document -> grade, of the pools too.
    """
    systems: Mapping[str, Any] = made.facts[_FACT]
    gold = made.qrels["gold"]
    depth = max((len(ids) for firsts in systems.values() for ids in firsts.values()), default=1)
    told = {}
    for name, firsts in sorted(systems.items()):
        others = {
            query: {doc for other, held in systems.items() if other != name for doc in held[query]}
            for query in grades
        }
        kept = {
            query: {doc: grade for doc, grade in own.items() if doc in gold[query] or doc in others[query]}
            for query, own in grades.items()
        }
        run = {query: {doc: -float(place) for place, doc in enumerate(ids)} for query, ids in firsts.items()}
        measure = f"nDCG@{depth}"
        full, alone = (evaluate([measure], dict(one), run)[measure].mean or 0.0 for one in (grades, kept))
        lost = sum(own[doc] > 0 for query, own in grades.items() for doc in own.keys() - kept[query].keys())
        told[f"{name}, {measure}"] = (
            f"{100 * full:.1f}, {100 * alone:.1f} without {lost:,} that it alone found"
        )
    return told


@step(
    FavourOptions,
    about="Whether a system, such as a judge, favours texts that a language model wrote.",
    sheets=_runs,
)
def favour(made: Made, bench: Workbench, options: FavourOptions) -> Made:
    """Report how often each system places a written text above another of the same grade; change nothing.

    Kinds of text differ by who wrote them, so that a share says little by itself; what differs between two
    systems over the same pairs is theirs.

    Raises:
        BadInput, UsageError: rankings cannot be read, or are of another set.
    """
    written = {one.id: one.origin for one in made.texts.values() if one.written}
    if not options.runs or not written:
        bench.found["favour"] = "*not looked at*" if written else "no language model wrote a document"
        return made
    pairs = {
        query: [(a, b) for a in own.keys() & written for b in own.keys() - written if own[a] == own[b]]
        for query, own in made.plainly.items()
    }
    shares: dict[str, dict[str, float]] = {}
    for name, firsts in first_found(made, options.runs, options.benchmark, len(made.corpus)).items():
        shares[name] = {}
        for query, own in pairs.items():
            place = {doc: at for at, doc in enumerate(firsts[query])}
            found = [(place.get(a, len(place)), place.get(b, len(place))) for a, b in own]
            above = [float(a < b) for a, b in found if a != b]
            if above:
                shares[name][query] = 100 * sum(above) / len(above)
    bench.found["written by"] = ", ".join(sorted(set(written.values())))
    for name, own_shares in sorted(shares.items()):
        others = [held for other, held in shares.items() if other != name]
        both = [query for query in own_shares if others and all(query in held for held in others)]
        differs = {q: own_shares[q] - sum(held[q] for held in others) / len(others) for q in both}
        told = f"{_mean(own_shares):.1f} % of pairs of equal grade have the written text first"
        if not own_shares:
            told = "ranks no pair of equal grade"
        if interval := bootstrap_interval(differs):
            span = f"[{interval.low:+.1f}, {interval.high:+.1f}]"
            told += f", {_mean(differs):+.1f} {span} from the other systems over {len(both):,} queries"
        bench.found[name] = told
    return made


def _mean(held: Mapping[str, float]) -> float:
    return sum(held.values()) / max(1, len(held))
