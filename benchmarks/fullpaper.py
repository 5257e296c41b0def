"""Full papers as queries: directions, PRISM with its ablations, the chain, times.

    python benchmarks/fullpaper.py DATA --library FOLDER [--abstracts LIBRARY]
        [--parts directions prism chain times] [--out FILE]

DATA is the folder of acl-fulltext. The library is made there when it is absent (encoding 1,482 full papers
takes minutes). --abstracts names an indexed library of abstracts, for the times of a large one. Parts
not named are taken from the last time they were measured. Settings were chosen on the inner dev
half of the visible queries; claims are made on the inner test half.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from fullpaper_kit import MEASURES, WAYS, Bench, Matrix, Values, gain, greedy, half_of, mean

from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.experiments.experiment import benchmark_library
from aspectra.lab.reports.tables import Table, render
from aspectra.papers.library.store import Store
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.readers._sections import ASPECTS, sections_of
from aspectra.views.readers.protocol import READERS
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe

PARTS = ("directions", "prism", "chain", "times")
CHUNKS, ENCODER = "chunks-250w", "minilm"
DENSE = f"{CHUNKS}@{ENCODER}"
DIRECTION = {"cited": "builds-on", "citing": "built-on-by"}
FLOORS = {"cited": {"nDCG@10": 33.5, "R@50": 64.0}, "citing": {"nDCG@10": 46.5, "R@50": 71.0}}
GOALS = {"cited": {"nDCG@10": 36.0, "R@50": 68.0}, "citing": {"nDCG@10": 49.0, "R@50": 73.5}}
Scores = dict[str, Values]  # direction -> measure -> query -> value


def seed_probe(view: str, **how: object) -> Callable[[str], Probe]:
    return lambda query: Probe(view, seeds=(query,), **how)  # type: ignore[arg-type]


FORWARD: dict[str, Callable[[str], Probe]] = {
    "BM25 A2A": seed_probe("abstract@bm25"),
    "BM25 A2F": seed_probe("full@bm25", asking="abstract@bm25"),
    "BM25 F2F, 100 words": seed_probe("full@bm25"),
    "BM25 A2C, max": seed_probe(f"{CHUNKS}@bm25"),
    "dense A2A": seed_probe(f"abstract@{ENCODER}"),
    "dense F2F": seed_probe(f"full@{ENCODER}"),
    "dense A2C, max": seed_probe(DENSE, asking=f"abstract@{ENCODER}"),
    "dense A2C, mean of top 3": seed_probe(DENSE, asking=f"abstract@{ENCODER}", pooling="mean3"),
    "dense F2C, max": seed_probe(DENSE, asking=f"full@{ENCODER}"),
    "dense F2C, mean of top 3": seed_probe(DENSE, asking=f"full@{ENCODER}", pooling="mean3"),
    "dense C2C": seed_probe(DENSE, matching="maxsim"),
    "dense S2S": seed_probe(f"sentences@{ENCODER}", matching="maxsim"),
}
REVERSE: dict[str, Callable[[str], Probe]] = {
    "reverse BM25 F2F": seed_probe("full@bm25", reverse=True),
    "reverse BM25 A2C, max": seed_probe(f"{CHUNKS}@bm25", reverse=True, asking="abstract@bm25"),
    "reverse BM25 A2A": seed_probe("abstract@bm25", reverse=True),
    "reverse dense C2C": seed_probe(DENSE, reverse=True),
    "reverse dense A2A": seed_probe(f"abstract@{ENCODER}", reverse=True),
}
PLAIN_DENSE = ("dense A2A", "dense F2F", "dense A2C, max", "dense F2C, max")
BASELINES = (*PLAIN_DENSE, "dense A2C, mean of top 3", "dense F2C, mean of top 3")


def planned(bench: Bench, make: Callable[[str, str], Plan]) -> Scores:
    """A plan of the product for each query: what the user gets, through the same door."""
    out: Scores = {}
    for way in WAYS:
        matrix = np.full((len(bench.queries), len(bench.ids)), -np.inf)
        for query in bench.qrels[way]:
            found = bench.searcher.result(make(query, way))
            matrix[bench.row[query], bench.searcher.engine.positions(found.ids)] = found.scores
        out[way] = bench.values(matrix)[way]
    return out


def plan_of(bench: Bench, query: str, planner: str, direction: str = "") -> Plan:
    asked_for = Query(seeds=(query,), limit=300, evidence=0, versions="all", direction=direction)
    return replace(bench.searcher.plan(asked_for, planner), conditions=())  # no year filter


def level_row(name: str, scores: Scores, half: str) -> tuple[object, ...]:
    return name, *(mean(scores[way][m], half) for way in WAYS for m in MEASURES)


def levels(title: str, rows: Mapping[str, Scores], half: str, notes: tuple[str, ...] = ()) -> Table:
    columns = ("system", *(f"{way} {m}" for way in WAYS for m in MEASURES))
    count = "all visible queries" if not half else f"inner {half} half"
    return Table(title, columns, tuple(level_row(n, s, half) for n, s in rows.items()), (count, *notes))


def said(value: tuple[float, float, float]) -> str:
    return f"{value[0]:+.1f} % [{value[1]:+.1f}, {value[2]:+.1f}]"


def verdict(value: tuple[float, float, float], least: float) -> str:
    return "holds" if value[0] >= least and value[1] > 0 else "does not hold"


def best_on_dev(rows: Mapping[str, Scores], way: str, measure: str = "nDCG@10") -> str:
    return max(rows, key=lambda name: mean(rows[name][way][measure], "dev"))


def centred(bench: Bench) -> Matrix:
    """Means of chunks from which the corpus's mean was taken: a rival, and no view of the product."""
    view = bench.index.view(DENSE)
    rows, offsets = view.vectors.whole().astype(np.float32), np.asarray(view.units.offsets)
    rows -= rows.mean(axis=0)
    full = np.flatnonzero(np.diff(offsets))
    table = np.zeros((len(bench.ids), rows.shape[1]), dtype=np.float32)
    table[full] = np.add.reduceat(rows, offsets[:-1][full], axis=0)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    return table[bench.at] @ table.T


def directions(bench: Bench, singles: dict[str, Scores], raw: dict[str, Matrix]) -> list[Table]:
    ours = planned(bench, lambda q, way: plan_of(bench, q, "directional", DIRECTION[way]))
    both = planned(bench, lambda q, _: plan_of(bench, q, "directional", "both"))
    hybrid = planned(bench, lambda q, _: plan_of(bench, q, "hybrid"))
    rows: list[tuple[object, ...]] = []
    forward = {n: s for n, s in singles.items() if not n.startswith("reverse")}
    for way in WAYS:
        for title, pool, measure, least in (
            ("best forward single view", forward, "nDCG@10", 20.0 if way == "cited" else 5.0),
            ("best single view, reverse ones too", singles, "nDCG@10", 5.0),
        ):
            name = best_on_dev(pool, way)
            found = gain(ours[way][measure], pool[name][way][measure])
            claim = f">= +{least:g} %"
            rows.append((way, f"{title} ({name})", measure, claim, said(found), verdict(found, least)))
            found = gain(ours[way]["R@50"], pool[name][way]["R@50"])
            rows.append((way, f"{title} ({name})", "R@50", "", said(found), ""))
        for measure, floor in FLOORS[way].items():
            for half in ("test", ""):
                value = mean(ours[way][measure], half)
                label = f"floor, {'inner test half' if half else 'all visible queries'}"
                goal = f"{floor:g} (goal {GOALS[way][measure]:g})"
                rows.append(
                    (way, label, measure, goal, f"{value:.1f}", "holds" if value >= floor else "missed")
                )
    gates = Table(
        "Directions: gates",
        ("direction", "against", "measure", "goal", "measured", "verdict"),
        tuple(rows),
        ("gains on the inner test half with paired 95 % t-intervals; the rival was chosen on dev",),
    )
    standard = {n: bench.standard(m) for n, m in raw.items()}
    chosen = []
    for way in WAYS:
        for label, pool in (("forward only", forward), ("forward and reverse", singles)):
            picked = greedy(bench, {n: standard[n] for n in pool}, way)
            total = sum(w * standard[n] for n, w in picked)
            scores = bench.values(total)
            views = ", ".join(f"{w:g} {n}" for n, w in picked)
            value = [mean(scores[way][m], h) for h in ("dev", "test") for m in ("nDCG@10", "R@50")]
            chosen.append((way, label, views, *value))
    later = {
        "directional, no year filter": ours,
        "directional, years in order": years_apart(bench),
    }
    return [
        gates,
        levels(
            "Directions: levels",
            {
                "hybrid (abstracts)": hybrid,
                **{n: singles[n] for n in ("dense A2A", "dense F2F", "BM25 F2F, 100 words", "dense C2C")},
                **{n: s for n, s in singles.items() if n.startswith("reverse")},
                "--direction both": both,
                "--direction (the one asked for)": ours,
            },
            "test",
        ),
        levels("All single views and the plans", {**singles, "directional": ours, "both": both}, ""),
        Table(
            "What greedy selection picks on the inner dev half",
            ("direction", "views offered", "picked", "dev nDCG@10", "dev R@50", "test nDCG@10", "test R@50"),
            tuple(chosen),
        ),
        levels("What a year filter adds (apart from all comparisons)", later, "test"),
    ]


def years_apart(bench: Bench) -> Scores:
    """The directional plan among papers not younger (cited) or not older (citing) than the seed."""
    out: Scores = {}
    for way in WAYS:
        matrix = np.full((len(bench.queries), len(bench.ids)), -np.inf)
        for query in bench.qrels[way]:
            plan = plan_of(bench, query, "directional", DIRECTION[way])
            found = bench.searcher.result(plan.with_limit(2000))
            matrix[bench.row[query], bench.searcher.engine.positions(found.ids)] = found.scores
        out[way] = bench.values(matrix, years=True)[way]
    return out


def classes(bench: Bench) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Offsets of chunks by paper, each chunk's aspect (3 for none), and their vectors."""
    view = bench.index.view(DENSE)
    labels = []
    for n, paper_id in enumerate(bench.ids):
        dealt = sections_of(bench.searcher.library.get(paper_id))
        of = {section: number for number, a in enumerate(ASPECTS) for section in dealt[a]}
        low, high = view.units.offsets[n], view.units.offsets[n + 1]
        labels.append(np.array([of.get(int(s), 3) for s, _, _ in view.units.spans[low:high]], dtype=int))
    return np.asarray(view.units.offsets), labels, view.vectors.whole().astype(np.float32)


def mean_views(
    bench: Bench, offsets: np.ndarray, labels: list[np.ndarray], rows: np.ndarray
) -> list[np.ndarray]:
    """Per aspect (papers, dimensions): the mean of its chunks, of all chunks where it has none."""
    whole = np.asarray(bench.index.view(f"full@{ENCODER}").vectors)
    out = [whole.copy() for _ in ASPECTS]
    for n, held in enumerate(labels):
        part = rows[offsets[n] : offsets[n + 1]]
        for number in range(3):
            if (held == number).any():
                total = part[held == number].sum(axis=0)
                out[number][n] = total / max(float(np.linalg.norm(total)), 1e-6)
    return out


def pooled(bench: Bench, queries: np.ndarray, rows: np.ndarray, offsets: np.ndarray) -> Matrix:
    """(queries, papers) best cosine over a paper's rows."""
    out = np.full((len(queries), len(bench.ids)), np.nan, dtype=np.float32)
    full = np.flatnonzero(np.diff(offsets))
    for low in range(0, len(queries), 128):
        product = queries[low : low + 128] @ rows.T
        out[low : low + 128, full] = np.maximum.reduceat(product, offsets[:-1][full], axis=1)
    return out


def windows(offsets: np.ndarray, rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Coarser chunks: means of ``size`` consecutive ones of a paper (a stand-in for encoding them)."""
    cuts, vectors = [0], []
    for low, high in pairwise(offsets.tolist()):
        parts = [rows[at : min(at + size, high)].sum(axis=0) for at in range(low, high, size)]
        vectors += [p / max(float(np.linalg.norm(p)), 1e-6) for p in parts]
        cuts.append(len(vectors))
    return np.array(cuts), np.array(vectors, dtype=np.float32)


def prism_tables(bench: Bench, singles: dict[str, Scores], raw: dict[str, Matrix]) -> list[Table]:
    aspect = {a: bench.raw(seed_probe(DENSE, asking=f"{a}@{ENCODER}")) for a in (*ASPECTS, "base")}
    three = [aspect[a] for a in ASPECTS]
    abstract = raw["dense A2A"]

    def fuse(*lists: Matrix) -> Scores:
        return bench.values(bench.rrf(list(lists)))

    rows: dict[str, Scores] = {n: singles[n] for n in BASELINES}
    ours = planned(bench, lambda q, _: plan_of(bench, q, "prism"))
    rows["PRISM (the plan `prism`)"] = ours
    rows["one reader: question"] = fuse(abstract, aspect["question"])
    rows["one reader: method"] = fuse(abstract, aspect["method"])
    rows["one reader: experiment"] = fuse(abstract, aspect["experiment"])
    rows["two readers: question, method"] = fuse(abstract, three[0], three[1])
    rows["two readers: question, experiment"] = fuse(abstract, three[0], three[2])
    rows["two readers: method, experiment"] = fuse(abstract, three[1], three[2])
    rows["base reader (one for all)"] = fuse(abstract, aspect["base"])
    rows["without the abstract"] = fuse(*three)
    stack = np.stack([abstract, *three])
    rows["sum of similarities, not ranks"] = bench.values(np.nansum(stack, axis=0))
    rows["largest similarity, not ranks"] = bench.values(np.nanmax(stack, axis=0))
    offsets, labels, vectors = classes(bench)
    own = {a: np.asarray(bench.index.view(f"{a}@{ENCODER}").vectors)[bench.at] for a in ASPECTS}
    for words, size in (("750 words", 3), ("2,000 words", 8), ("the whole paper", 10_000)):
        cuts, coarse = windows(offsets, vectors, size)
        rows[f"candidates in chunks of {words}"] = fuse(
            abstract, *(pooled(bench, own[a], coarse, cuts) for a in ASPECTS)
        )
    rows["control: A2A + F2F + A2C + F2C"] = fuse(*(raw[n] for n in PLAIN_DENSE))
    rows["control: A2A + A2C + F2C + C2C"] = fuse(
        *(raw[n] for n in ("dense A2A", "dense A2C, max", "dense F2C, max", "dense C2C"))
    )
    means = mean_views(bench, offsets, labels, vectors)
    real = [pooled(bench, m[bench.at], vectors, offsets) for m in means]
    rows["aspects as means of sections' chunks"] = fuse(abstract, *real)
    rows["means of sections' chunks, aspect to aspect"] = real_to_real = bench.values(
        sum(m[bench.at] @ m.T for m in means)
    )
    shuffled: list[Scores] = []
    matched: list[Scores] = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        mixed = mean_views(bench, offsets, [rng.permutation(held) for held in labels], vectors)
        shuffled.append(fuse(abstract, *(pooled(bench, m[bench.at], vectors, offsets) for m in mixed)))
        matched.append(bench.values(sum(m[bench.at] @ m.T for m in mixed)))
    rows["control: the same, labels shuffled (5 seeds)"] = averaged(shuffled)
    rows["control: aspect to aspect, labels shuffled (5 seeds)"] = averaged(matched)
    claims: list[tuple[object, ...]] = []
    for way in WAYS:
        name = best_on_dev({n: singles[n] for n in BASELINES}, way, "R@50")
        for half in ("test", ""):
            found = gain(ours[way]["R@50"], singles[name][way]["R@50"], half)
            shown = "inner test half" if half else "all visible queries"
            claims.append((way, f"best of A2A/F2F/A2C/F2C ({name})", shown, said(found), verdict(found, 4.0)))
        for other in ("control: A2A + F2F + A2C + F2C", "control: A2A + A2C + F2C + C2C"):
            found = gain(ours[way]["R@50"], rows[other][way]["R@50"], "")
            claims.append((way, other, "all visible queries", said(found), ""))
        pairs = (
            ("labels shuffled, fused with A2A", rows["aspects as means of sections' chunks"], shuffled),
            ("labels shuffled, aspect to aspect", real_to_real, matched),
        )
        for label, real_scores, mixed_scores in pairs:
            found = gain(real_scores[way]["nDCG@10"], averaged(mixed_scores)[way]["nDCG@10"], "")
            claims.append((way, f"{label} (nDCG@10)", "all visible queries", said(found), ""))
    return [
        Table(
            "PRISM without a model: claims",
            ("direction", "against", "queries", "gain in R@50", ">= +4 %, interval above 0"),
            tuple(claims),
        ),
        levels("PRISM: baselines, ablations, controls", rows, "", stood_in(bench)),
    ]


def averaged(runs: list[Scores]) -> Scores:
    return {
        way: {m: {q: float(np.mean([r[way][m][q] for r in runs])) for q in runs[0][way][m]} for m in MEASURES}
        for way in WAYS
    }


def stood_in(bench: Bench) -> tuple[str, ...]:
    views = bench.index.manifest["views"]
    counts = ", ".join(f"{a} {views[f'{a}@{ENCODER}']['stood_in']['whole_paper']}" for a in ASPECTS)
    return (f"papers whose whole text stands for a missing aspect: {counts} of {len(bench.ids):,}",)


def _planned_by(bench: Bench, recipe: str, query: str, way: str) -> Plan:
    return plan_of(bench, query, recipe)


def chain_tables(bench: Bench) -> list[Table]:
    base = planned(bench, lambda q, _: plan_of(bench, q, "prism"))
    rows = {"one round (prism)": base}
    for label, options in (
        ("2 rounds", "depth=2,parent=1"),
        ("3 rounds", "parent=1"),
        ("3 rounds, parent x3", "parent=3"),
        ("3 rounds, parent x10", "parent=10"),
    ):
        recipe = f"prism | chain({options})"
        rows[label] = planned(bench, partial(_planned_by, bench, recipe))
    gains = []
    for label, scores in rows.items():
        if scores is not base:
            cells = [
                said(gain(scores[way][m], base[way][m], "")) for way in WAYS for m in ("nDCG@10", "R@100")
            ]
            gains.append((label, *cells))
    return [
        levels("Chain-of-Retrieval: levels", rows, ""),
        Table(
            "Chain-of-Retrieval against one round",
            ("variant", *(f"{way} {m}" for way in WAYS for m in ("nDCG@10", "R@100"))),
            tuple(gains),
            ("all visible queries; on by default only if R@100 gained 1 % for at most 1 % of nDCG@10",),
        ),
    ]


def timed(
    searcher: Searcher, queries: list[str], planner: str, direction: str = ""
) -> tuple[float, float, float]:
    """Milliseconds to plan and rank one query: median, 95th percentile, median of processor time."""
    spent, worked = [], []
    warm = len(queries[:5])
    for query in [*queries[:warm], *queries]:
        clock, work = perf_counter(), process_time()
        plan = searcher.plan(Query(seeds=(query,), limit=50, evidence=0, direction=direction), planner)
        searcher.result(plan)
        spent.append(1000 * (perf_counter() - clock))
        worked.append(1000 * (process_time() - work))
    return (
        float(np.median(spent[warm:])),
        float(np.quantile(spent[warm:], 0.95)),
        float(np.median(worked[warm:])),
    )


def times(bench: Bench, abstracts: Path | None) -> Table:
    rows: list[tuple[object, ...]] = []
    queries = bench.queries[::8]
    for label, planner, direction, most in (
        ("prism", "prism", "", 30),
        ("directional, builds-on", "directional", "builds-on", 60),
        ("directional, built-on-by", "directional", "built-on-by", 60),
        ("directional, both", "directional", "both", 60),
        ("chain, 3 rounds", "prism | chain", "", 150),
    ):
        median, high, work = timed(bench.searcher, queries, planner, direction)
        verdict_ = "holds" if median <= most else "missed"
        rows.append((f"{len(bench.ids):,} full papers", label, median, high, work, most, verdict_))
    if abstracts:
        searcher = Searcher(Store(abstracts))
        ids = searcher.index.ids
        some = [ids[n] for n in np.random.default_rng(0).choice(len(ids), 40, replace=False)]
        for direction in ("builds-on", "built-on-by", "both"):
            median, high, work = timed(searcher, some, "directional", direction)
            verdict_ = "holds" if median <= 150 else "missed"
            rows.append(
                (f"{len(ids):,} abstracts", f"directional, {direction}", median, high, work, 150, verdict_)
            )
    columns = ("library", "plan", "median ms", "95 % ms", "CPU ms", "goal, ms", "verdict")
    return Table(
        "Times per query, views precomputed",
        columns,
        tuple(rows),
        ("two cores; CPU: processor time of all threads, median",),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--abstracts", type=Path)
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results" / "full-papers.md"
    )
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS, help="what to measure anew")
    options = parser.parse_args()
    benchmark = BENCHMARKS.get("beir")(options.data, qrels="cited")
    searcher = benchmark_library(benchmark, options.library, IndexSettings(readers=tuple(READERS.names())))
    bench = Bench(options.data, searcher)
    measured = options.library.with_suffix(".parts")
    measured.mkdir(exist_ok=True)
    raw, singles = {}, {}
    if {"directions", "prism"} & set(options.parts):
        raw = {name: bench.raw(ask) for name, ask in {**FORWARD, **REVERSE}.items()}
        raw["dense F2F, corpus mean subtracted"] = centred(bench)
        singles = {name: bench.values(matrix) for name, matrix in raw.items()}
    makers: dict[str, Callable[[], list[Table]]] = {
        "times": lambda: [times(bench, options.abstracts)],
        "directions": lambda: directions(bench, singles, raw),
        "prism": lambda: prism_tables(bench, singles, raw),
        "chain": lambda: chain_tables(bench),
    }
    for part_ in options.parts:
        made = "\n".join(render(table, "markdown") for table in makers[part_]())
        (measured / f"{part_}.md").write_text(made, "utf-8")
        print(made, flush=True)
    halves = ", ".join(
        f"{way} {sum(half_of(q) == 'dev' for q in bench.qrels[way])} dev and "
        f"{sum(half_of(q) == 'test' for q in bench.qrels[way])} test"
        for way in WAYS
    )
    intro = (
        "# Full papers\n\nWhole papers as queries on the development half of acl-fulltext: 1,482 full papers "
        "of the ACL Anthology; what a paper cites (487 queries) and what cites it (320). No language model; "
        "in-text citations are stripped in the views; no year filter unless said. The visible queries are "
        f"halved again by hash ({halves}): settings and rivals are chosen on dev, claims are made on test. "
        "One encoder (all-MiniLM-L6-v2), chunks of up to 250 words. Measures x100. What the words mean: "
        "[full papers](../full-papers.md).\n\n"
        "Made by `python benchmarks/fullpaper.py DATA --library FOLDER [--abstracts LIBRARY]`.\n\n"
    )
    files = [measured / f"{part_}.md" for part_ in PARTS]
    text = intro + "\n".join(file.read_text("utf-8") for file in files if file.exists())
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
