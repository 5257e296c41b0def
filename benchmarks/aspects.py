"""How aspects are followed on CSFCube: tables, a trade-off curve and dilution, into docs/results/aspects.md.

    python benchmarks/aspects.py DATA --libraries FOLDER [--large LIBRARY] [--quick]

DATA is a copy of the collection (CC BY-NC 4.0, not part of this project). --large names a library of other
papers (86,638 abstracts in the committed table), which is copied and gets the collection's papers added.
The figure needs matplotlib (extra ``plot``).
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.measures.pmrr import pair_up
from aspectra.lab.reports.tables import Number, Table, render
from aspectra.lab.statistics.significance import bootstrap, paired_t, win_tie_loss
from aspectra.papers.library.store import Store
from aspectra.search.defaults import ASPECT_MATCHINGS, CONTRAST_WEIGHT
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe

POOL, COLLECTION, FOLLOWED = "NDCG%20", "csfcube_ndcg@20", "p-MRR(rel=2)"
Run = dict[str, dict[str, float]]
Values = dict[str, float]


@dataclass
class System:
    """A way to rank: over which library, and what becomes of the default plan."""

    name: str
    searcher: Searcher
    planner: str = "guided"
    edit: Callable[[Plan], Plan] = lambda plan: plan


@dataclass
class Scores:
    """Per-unit values and nested means of one system."""

    pool: Values
    collection: Values
    followed_pool: Values
    followed_collection: Values
    followed_means: tuple[float, float]
    seconds: float


def library(benchmark: Benchmark, folder: Path, sentences: str, vectors: Path | None = None) -> Searcher:
    """The collection's library, indexed; vectors of another one are used again."""
    held = Store.create(folder)
    with held.writing("add") as writer:
        if vectors is not None and not len(held):
            writer.derived.copy(Store(vectors).derived, "abstract", "sentences", "sentences-apart")
        writer.add(benchmark.papers())
    build_index(held, IndexSettings(chunks=(), sentences=sentences))  # type: ignore[arg-type]
    return Searcher(held)


def rank(benchmark: Benchmark, system: System) -> tuple[Run, float]:
    """The whole collection ranked for every topic, and the median seconds of one ranking."""
    index = system.searcher.index
    everything = set(index.ids)
    out: Run = {}
    times = []
    for topic in benchmark.topics:
        query = Query(seeds=(topic.seed,), limit=len(index), evidence=0, versions="all", same=(topic.aspect,))
        plan = system.edit(system.searcher.plan(query, system.planner))
        clock = perf_counter()
        ids = list(system.searcher.result(plan).ids)
        times.append(perf_counter() - clock)
        ids += sorted(everything - set(ids) - {topic.seed}, reverse=True)
        out[topic.id] = {paper: -float(place) for place, paper in enumerate(ids)}
    return out, float(np.median(times))


def score(benchmark: Benchmark, system: System) -> Scores:
    """Everything that is measured of a system."""
    gold = benchmark.qrels["gold"]
    whole, seconds = rank(benchmark, system)
    pooled = {t: {d: s for d, s in run.items() if d in gold[t]} for t, run in whole.items()}
    aspects = {t.id: t.aspect for t in benchmark.topics}
    groups = {t.id: t.seed for t in benchmark.topics}
    followed, means = [], []
    for run in (pooled, whole):
        pairs = pair_up(run, gold, groups, aspects)
        found = evaluate(
            [FOLLOWED],
            pairs.qrels,
            pairs.runs,
            labels=pairs.labels,
            average=("pair", "aspect"),
            incomplete=True,
        )
        followed.append(dict(found.scores[0].values))
        means.append(found.scores[0].mean or 0.0)
    return Scores(
        dict(evaluate([POOL], gold, pooled, excluded=benchmark.excluded)[POOL].values),
        dict(evaluate([COLLECTION], gold, whole, excluded=benchmark.excluded)[COLLECTION].values),
        followed[0],
        followed[1],
        (means[0], means[1]),
        seconds,
    )


def mean(values: Values) -> float:
    """Plain mean."""
    return sum(values.values()) / len(values)


def number(values: Values, middle: float | None = None) -> Number:
    """Mean and its 95 % bootstrap interval, x100."""
    found = bootstrap(values)
    low, high = (None, None) if found is None else (100 * found.low, 100 * found.high)
    return Number(100 * (mean(values) if middle is None else middle), low, high)


def with_probes(plan: Plan, probes: Iterable[Probe]) -> Plan:
    """The plan with other probes in its last search."""
    search = replace(plan.search, probes=tuple(probes))
    return replace(plan, steps=(*plan.steps[:-1], search))


def contrast(weight: float) -> Callable[[Plan], Plan]:
    """The default plan with another weight for the roles that were not asked for."""

    def edit(plan: Plan) -> Plan:
        probes = tuple(
            replace(p, weight=-weight) if p.matching and p.weight < 0 else p for p in plan.search.probes
        )
        return with_probes(plan, [p for p in probes if p.weight])

    return edit


def matching(name: str) -> Callable[[Plan], Plan]:
    """The default plan with another scorer."""

    def edit(plan: Plan) -> Plan:
        first = ASPECT_MATCHINGS[0]
        kept = (p for p in plan.search.probes if p.matching in ("", first))
        share = len(ASPECT_MATCHINGS)
        probes = (
            replace(p, matching=name, weight=share * p.weight) if p.matching else p  # type: ignore[arg-type]
            for p in kept
        )
        return with_probes(plan, probes)

    return edit


def main_table(title: str, scores: dict[str, Scores], notes: tuple[str, ...] = ()) -> Table:
    """One row a system."""
    rows = [
        (
            name,
            number(s.pool),
            number(s.collection),
            number(s.followed_pool, s.followed_means[0]),
            number(s.followed_collection, s.followed_means[1]),
            1000 * s.seconds,
        )
        for name, s in scores.items()
    ]
    header = ("recipe", "NDCG%20 pools", "NDCG@20 collection", "p-MRR pools", "p-MRR collection", "ms/query")
    return Table(title, header, tuple(rows), notes)


def paired_table(scores: dict[str, Scores], ours: str) -> Table:
    """The default against the plain retrievers."""
    rows = []
    for other in ("bm25", "dense", "hybrid"):
        for label, measure in (("NDCG%20 pools", "pool"), ("NDCG@20 collection", "collection")):
            a, b = getattr(scores[ours], measure), getattr(scores[other], measure)
            test, wins = paired_t(a, b), win_tie_loss(a, b)
            gap = bootstrap(a, b)
            low, high = (None, None) if gap is None else (100 * gap.low, 100 * gap.high)
            rows.append(
                (
                    other,
                    label,
                    Number(100 * test.difference, low, high),
                    "–" if test.p is None else f"{test.p:.4f}",
                    f"{wins.wins}/{wins.ties}/{wins.losses}",
                )
            )
    header = ("against", "measure", "gain", "p (paired t)", "wins/ties/losses")
    return Table(f"{ours}: paired gains", header, tuple(rows), (f"{len(scores[ours].pool)} pairs",))


def facets_table(benchmark: Benchmark, scores: dict[str, Scores]) -> Table:
    """NDCG%20 by facet."""
    facets = sorted({t.aspect for t in benchmark.topics})
    of = {t.id: t.aspect for t in benchmark.topics}
    rows = []
    for name, s in scores.items():
        parts = [mean({t: v for t, v in s.pool.items() if of[t] == facet}) for facet in facets]
        rows.append((name, *(100 * p for p in parts)))
    return Table("NDCG%20 by facet, pools", ("recipe", *facets), tuple(rows))


def curve(benchmark: Benchmark, searchers: dict[str, Searcher], folder: Path) -> Table:
    """NDCG against p-MRR as the contrast weight moves, and a figure of it."""
    weights = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5)
    rows, lines = [], {}
    for roles, searcher in searchers.items():
        points = []
        for weight in weights:
            s = score(benchmark, System("", searcher, edit=contrast(weight)))
            point = [100 * v for v in (mean(s.pool), mean(s.collection), *s.followed_means)]
            points.append(point)
            rows.append((roles, weight, *point))
        lines[roles] = points
    _figure(weights, lines, folder / "contrast.svg")
    header = ("roles", "contrast", "NDCG%20 pools", "NDCG@20 collection", "p-MRR pools", "p-MRR collection")
    return Table("What contrast buys and costs", header, tuple(rows))


def _figure(weights: tuple[float, ...], lines: dict[str, list[list[float]]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "aspectra"  # the same file from the same numbers
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
    for axis, place, label in ((axes[0], 0, "NDCG%20, pools"), (axes[1], 1, "NDCG@20, collection")):
        for (roles, points), marker in zip(lines.items(), "os^", strict=False):
            axis.plot(
                [p[2 + place] for p in points],
                [p[place] for p in points],
                marker + "-",
                label=f"{roles} roles",
                ms=4,
            )
            for weight, p in zip(weights, points, strict=True):
                if weight in (0.0, 0.4, 1.0, 1.5):
                    axis.annotate(
                        f"{weight:g}",
                        (p[2 + place], p[place]),
                        textcoords="offset points",
                        xytext=(4, 4),
                        fontsize=7,
                    )
        axis.set_xlabel("p-MRR (x100): how far a changed aspect changes the ranking")
        axis.set_ylabel(label + " (x100)")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    figure.suptitle(
        "Relevance against obedience as the contrast weight moves (numbers: the weight)", fontsize=9
    )
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def dilution(benchmark: Benchmark, source: Path, folder: Path) -> tuple[dict[str, Scores], int]:
    """The same recipe with many other papers in the library."""
    if not folder.exists():
        print(f"copying {source} to {folder}")
        folder.mkdir(parents=True)
        shutil.copy(source / "library.db", folder / "library.db")
        (folder / "generations").mkdir()
    held = Store(folder)
    with held.writing("add") as writer:
        writer.add(benchmark.papers())
    build_index(held, IndexSettings(chunks=()))
    searcher = Searcher(held)
    found = {
        name: score(benchmark, System(name, searcher, planner))
        for name, planner in (("hybrid", "hybrid"), ("guided (default)", "guided"))
    }
    return found, len(searcher.index)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--quick", action="store_true", help="print the first table and stop")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    options = parser.parse_args()
    load = BENCHMARKS.get("csfcube")
    kinds = {roles: load(options.data, roles=roles) for roles in ("predicted", "released")}
    benchmark = kinds["predicted"]
    held: dict[tuple[str, str], Searcher] = {}
    first: Path | None = None
    for roles in ("predicted", "released"):
        for sentences in ("apart", "late"):
            folder = options.libraries / f"csfcube-{roles}-{sentences}"
            held[roles, sentences] = library(kinds[roles], folder, sentences, first)
            first = first or folder
    ours, theirs = held["predicted", "apart"], held["released", "apart"]
    systems = [
        System("bm25", ours, "bm25"),
        System("dense", ours, "dense"),
        System("hybrid", ours, "hybrid"),
        System("guided (default)", ours),
        System("guided, no contrast", ours, edit=contrast(0.0)),
        *(
            System(f"guided, {m}", ours, edit=matching(m))
            for m in ("single", "maxsim", "transport", "centroid")
        ),
        System("guided, late-pooled sentences", held["predicted", "late"]),
        System("guided, released roles", theirs),
        *(
            System(f"guided, released roles, {m}", theirs, edit=matching(m))
            for m in ("single", "maxsim", "transport", "centroid")
        ),
        System("guided, released roles, late-pooled sentences", held["released", "late"]),
    ]
    scores = {system.name: score(benchmark, system) for system in systems}
    count = len(ours.index)
    tables = [
        main_table(
            "Recipes",
            scores,
            (
                f"{len(benchmark.topics)} query-aspect pairs, {count:,} papers; p-MRR over "
                f"{len(scores['hybrid'].followed_pool)} ordered pairs of aspects of one paper",
                "95 % bootstrap intervals over those",
                "pools: the judged candidates of each pair; collection: all papers, unjudged ones count 0",
            ),
        ),
        paired_table(scores, "guided (default)"),
        facets_table(
            benchmark,
            {n: scores[n] for n in ("bm25", "dense", "hybrid", "guided (default)", "guided, released roles")},
        ),
    ]
    for table in tables:
        print(render(table, "markdown"))
    if options.quick:
        return
    tables.append(curve(benchmark, {"predicted": ours, "released": theirs}, options.out / "figures"))
    text = _INTRO.format(weight=CONTRAST_WEIGHT)
    if options.large:
        found, size = dilution(benchmark, options.large, options.libraries / "csfcube-diluted")
        tables.append(
            main_table(
                f"Diluted: the same papers among {size:,}",
                found,
                ("all roles are predicted; only papers of the pools are judged, every other one counts 0",),
            )
        )
    text += "\n".join(render(t, "markdown") for t in tables)
    text += "\n![relevance against obedience](figures/contrast.svg)\n"
    (options.out / "aspects.md").write_text(text, "utf-8")


_INTRO = """# Aspects: similar in what was asked, and only there

Development half of CSFCube (24 query-aspect pairs). `guided` is the default recipe: the hybrid, plus how well
the sentences of the wanted role are matched (sentences encoded apart, MaxSim and centroid in equal parts),
less {weight} of how well the other roles are. Roles are predicted by the library's own lens, as for any paper
of a user, unless a row says *released*: those come with the data, made by a larger model and corrected by
hand for the query papers.
p-MRR is 0 for a recipe that does not look at the aspect. Not comparable with the exploration study's tables
(800,000 papers, first stage SciNCL, all 50 pairs), where retrievers reach +2.0 to +3.9 and people +25.3.

Made by `python benchmarks/aspects.py DATA --libraries FOLDER --large LIBRARY`.

"""


if __name__ == "__main__":
    main()
