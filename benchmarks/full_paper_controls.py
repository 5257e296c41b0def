"""Controls of docs/results/full-papers.md that are no recipes, and times: full-paper-controls.md.

    python benchmarks/full_paper_controls.py DATA --library FOLDER [--abstracts LIBRARY]
        [--parts selection prism times] [--out FILE]

Whole score matrices are combined: views picked greedily, similarities summed, chunks made coarser, labels of
sections shuffled. What a search can do is in studies/full-papers.toml. DATA is the folder of acl-fulltext.
The library is made there when it is absent (encoding 1,482 full papers takes minutes). --abstracts names an
indexed library of abstracts, for the times of a large one. Parts not named are taken from the last time they
were measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.directory import corpus_hash
from aspectra.lab.experiments.experiment import benchmark_library
from aspectra.lab.reports.scores import half_of
from aspectra.lab.reports.tables import Table, render
from aspectra.lab.statistics.significance import paired_t
from aspectra.papers.library.store import Store
from aspectra.search.query import Query
from aspectra.search.scoring.chain import highest, reciprocal_ranks, scale
from aspectra.search.searcher import Searcher
from aspectra.views.readers.aspects import ASPECTS, sections_of
from aspectra.views.readers.protocol import READERS
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe, top_positions

PARTS = ("selection", "prism", "times")
WAYS = ("cited", "citing")
MEASURES = ("MRR@50", "nDCG@10", "R@50", "R@100")
DEPTH = 200  # places of a ranking that are scored
CHUNKS, ENCODER = "chunks-250w", "minilm"
DENSE = f"{CHUNKS}@{ENCODER}"
Values = dict[str, dict[str, float]]  # measure -> query -> value
Scores = dict[str, Values]  # direction -> measure -> query -> value
Matrix = np.ndarray  # (queries, papers) scores


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


class Bench:
    """Both directions of acl-fulltext over one library.

    Args:
        data: the collection's folder.
        searcher: over its papers.
    """

    def __init__(self, data: Path, searcher: Searcher) -> None:
        self.searcher = searcher
        self.index = searcher.index
        self.ids = self.index.ids
        self.qrels = {}
        for way in WAYS:
            benchmark = BENCHMARKS.get("beir")(data, qrels=way)
            judged = benchmark.qrels["gold"]
            self.qrels[way] = {t.id: dict(judged[t.id]) for t in benchmark.topics if t.id in judged}
        self.queries = sorted({q for grades in self.qrels.values() for q in grades})
        self.row = {q: n for n, q in enumerate(self.queries)}
        self.at = np.array([self.index.positions[q] for q in self.queries])

    def raw(self, ask: Callable[[str], Probe]) -> Matrix:
        """Scores of all papers for each query, NaN where nothing is known."""
        out = np.empty((len(self.queries), len(self.ids)), dtype=np.float32)
        for n, query in enumerate(self.queries):
            probe = ask(query)
            out[n] = self.index.view(probe.view).score(probe).scores
        return out

    def standard(self, matrix: Matrix) -> Matrix:
        """As the product's fusion standardises."""
        out = np.empty(matrix.shape, dtype=np.float64)
        for n, at in enumerate(self.at):
            allowed = np.ones(len(self.ids), dtype=bool)
            allowed[at] = False
            sample = matrix[n][self.index.sample]
            out[n] = scale(sample, highest(matrix[n], allowed)).apply(matrix[n])
        return out

    def rrf(self, matrices: Sequence[Matrix], k: int = 60, depth: int = 300) -> Matrix:
        """Reciprocal rank fusion of the best ``depth`` papers of each."""
        out = np.zeros(matrices[0].shape)
        for n, at in enumerate(self.at):
            allowed = np.ones(len(self.ids), dtype=bool)
            allowed[at] = False
            lists = []
            for matrix in matrices:
                scores = np.where(np.isnan(matrix[n]), -np.inf, matrix[n])
                lists.append((top_positions(scores, depth, self.index.id_order, allowed), 1.0))
            out[n] = reciprocal_ranks(lists, len(self.ids), k)
        return out

    def values(self, matrix: Matrix) -> dict[str, Values]:
        """Per direction, measure and query, over all visible queries."""
        out = {}
        for way in WAYS:
            run = {}
            for query in self.qrels[way]:
                n = self.row[query]
                allowed = np.ones(len(self.ids), dtype=bool)
                allowed[self.at[n]] = False
                scores = np.where(np.isnan(matrix[n]), -np.inf, matrix[n])
                best = top_positions(scores, DEPTH, self.index.id_order, allowed)
                run[query] = {self.ids[p]: float(DEPTH - place) for place, p in enumerate(best)}
            found = evaluate(list(MEASURES), self.qrels[way], run)
            scores_by = zip(MEASURES, found.scores, strict=True)
            out[way] = {name: dict(score.values) for name, score in scores_by}
        return out


def part(values: Mapping[str, float], half: str) -> dict[str, float]:
    """The queries of one half ("" for all)."""
    return {q: v for q, v in values.items() if not half or half_of(q) == half}


def mean(values: Mapping[str, float], half: str = "") -> float:
    """100 times the mean over one half."""
    held = part(values, half)
    return 100 * sum(held.values()) / max(len(held), 1)


def gain(
    ours: Mapping[str, float], theirs: Mapping[str, float], half: str = "test"
) -> tuple[float, float, float]:
    """Relative gain of the means in percent, with the bounds of its paired 95 % t-interval."""
    a, b = part(ours, half), part(theirs, half)
    base = sum(b.values()) / len(b)
    interval = paired_t(a, b).interval
    assert interval is not None
    total = sum(a.values()) / len(a) - base
    return 100 * total / base, 100 * interval.low / base, 100 * interval.high / base


def greedy(
    bench: Bench, pool: Mapping[str, Matrix], way: str, steps: int = 5, weights: Iterable[float] = (0.5, 1.0)
) -> list[tuple[str, float]]:
    """Views chosen one by one on the inner dev half by nDCG@10 plus R@50, until nothing gains 0.2 points.

    Args:
        bench: the collection.
        pool: name -> standardised scores.
        way: the direction.
        steps: at most so many views.
        weights: that a view may get.
    """
    queries = [q for q in bench.qrels[way] if half_of(q) == "dev"]
    rows = np.array([bench.row[q] for q in queries])
    own = bench.at[rows]
    relevant = np.zeros((len(queries), len(bench.ids)), dtype=bool)
    for n, q in enumerate(queries):
        relevant[n, [bench.index.positions[d] for d, g in bench.qrels[way][q].items() if g > 0]] = True
    counts = relevant.sum(axis=1)
    discount = 1 / np.log2(np.arange(2, 12))
    ideal = np.array([discount[: min(10, c)].sum() for c in counts])

    def quality(total: Matrix) -> float:
        scores = total.copy()
        scores[np.arange(len(rows)), own] = -np.inf
        best = np.argpartition(-scores, 50, axis=1)[:, :50]
        hits = np.take_along_axis(relevant, best, axis=1)
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)[:, :10]
        gained = (np.take_along_axis(hits, order, axis=1) * discount).sum(axis=1) / ideal
        return float(100 * (gained.mean() + (hits.sum(axis=1) / counts).mean()))

    held = {name: matrix[rows] for name, matrix in pool.items()}
    chosen: list[tuple[str, float]] = []
    total, best = np.zeros((len(rows), len(bench.ids))), -1.0
    for _ in range(steps):
        tried = [
            (quality(total + w * matrix), name, w)
            for name, matrix in held.items()
            if name not in [c for c, _ in chosen]
            for w in (weights if chosen else (1.0,))
        ]
        value, name, weight = max(tried)
        if value < best + 0.2:
            break
        total, best = total + weight * held[name], value
        chosen.append((name, weight))
    return chosen


def levels(title: str, rows: Mapping[str, Scores], half: str, notes: tuple[str, ...] = ()) -> Table:
    columns = ("system", *(f"{way} {m}" for way in WAYS for m in MEASURES))
    cells = tuple(
        (name, *(mean(scores[way][m], half) for way in WAYS for m in MEASURES))
        for name, scores in rows.items()
    )
    return Table(title, columns, cells, (f"inner {half} half" if half else "all visible queries", *notes))


def said(value: tuple[float, float, float]) -> str:
    return f"{value[0]:+.1f} % [{value[1]:+.1f}, {value[2]:+.1f}]"


def centred(bench: Bench) -> Matrix:
    """Means of chunks from which the corpus's mean was taken: a rival, and no view of the product."""
    view = bench.index.view(DENSE)
    rows, offsets = view.vectors.astype(np.float32), np.asarray(view.units.offsets)
    rows -= rows.mean(axis=0)
    full = np.flatnonzero(np.diff(offsets))
    table = np.zeros((len(bench.ids), rows.shape[1]), dtype=np.float32)
    table[full] = np.add.reduceat(rows, offsets[:-1][full], axis=0)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    return table[bench.at] @ table.T


def selection(bench: Bench) -> list[Table]:
    raw = {name: bench.raw(ask) for name, ask in {**FORWARD, **REVERSE}.items()}
    raw["dense F2F, corpus mean subtracted"] = centred(bench)
    forward = {name for name in raw if not name.startswith("reverse")}
    standard = {n: bench.standard(m) for n, m in raw.items()}
    chosen = []
    for way in WAYS:
        for label, pool in (("forward only", forward), ("forward and reverse", set(raw))):
            picked = greedy(bench, {n: standard[n] for n in pool}, way)
            total = sum(w * standard[n] for n, w in picked)
            scores = bench.values(total)
            views = ", ".join(f"{w:g} {n}" for n, w in picked)
            value = [mean(scores[way][m], h) for h in ("dev", "test") for m in ("nDCG@10", "R@50")]
            chosen.append((way, label, views, *value))
    extra = {"dense F2F, corpus mean subtracted": bench.values(raw["dense F2F, corpus mean subtracted"])}
    return [
        Table(
            "What greedy selection picks on the inner dev half",
            ("direction", "views offered", "picked", "dev nDCG@10", "dev R@50", "test nDCG@10", "test R@50"),
            tuple(chosen),
        ),
        levels("A rival that is no view", extra, ""),
    ]


def classes(bench: Bench) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Offsets of chunks by paper, each chunk's aspect (3 for none), and their vectors."""
    view = bench.index.view(DENSE)
    labels = []
    for n, paper_id in enumerate(bench.ids):
        dealt = sections_of(bench.searcher.library.get(paper_id))
        of = {section: number for number, a in enumerate(ASPECTS) for section in dealt[a]}
        low, high = view.units.offsets[n], view.units.offsets[n + 1]
        labels.append(np.array([of.get(int(s), 3) for s, _, _ in view.units.spans[low:high]], dtype=int))
    return np.asarray(view.units.offsets), labels, view.vectors.astype(np.float32)


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


def prism_controls(bench: Bench) -> list[Table]:
    three = [bench.raw(seed_probe(DENSE, asking=f"{a}@{ENCODER}")) for a in ASPECTS]
    abstract = bench.raw(FORWARD["dense A2A"])

    def fuse(*lists: Matrix) -> Scores:
        return bench.values(bench.rrf(list(lists)))

    rows: dict[str, Scores] = {}
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
        pairs = (
            ("labels shuffled, fused with A2A", rows["aspects as means of sections' chunks"], shuffled),
            ("labels shuffled, aspect to aspect", real_to_real, matched),
        )
        for label, real_scores, mixed_scores in pairs:
            found = gain(real_scores[way]["nDCG@10"], averaged(mixed_scores)[way]["nDCG@10"], "")
            claims.append((way, label, "all visible queries", said(found)))
    return [
        Table(
            "Labels of sections against shuffled ones",
            ("direction", "against", "queries", "gain in nDCG@10"),
            tuple(claims),
        ),
        levels("PRISM: controls that are no recipes", rows, "", stood_in(bench)),
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
        "--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results" / "full-paper-controls.md"
    )
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS, help="what to measure anew")
    options = parser.parse_args()
    benchmark = BENCHMARKS.get("beir")(options.data, qrels="cited")
    settings = IndexSettings(readers=tuple(READERS.names()))
    searcher = benchmark_library(benchmark, options.library, settings, corpus=corpus_hash(benchmark))
    bench = Bench(options.data, searcher)
    measured = options.library.with_suffix(".parts")
    measured.mkdir(exist_ok=True)
    makers: dict[str, Callable[[], list[Table]]] = {
        "times": lambda: [times(bench, options.abstracts)],
        "selection": lambda: selection(bench),
        "prism": lambda: prism_controls(bench),
    }
    for part_ in options.parts:
        made = "\n".join(render(table, "markdown") for table in makers[part_]())
        (measured / f"{part_}.md").write_text(made, "utf-8")
        print(made, flush=True)
    intro = (
        "# Full papers: controls and times\n\nWhat is no recipe, beside [full papers](full-papers.md), on "
        "the same queries and library: views picked greedily on the inner dev half, similarities summed, "
        "chunks made coarser, labels of sections shuffled.\n\n"
        "Made by `python benchmarks/full_paper_controls.py DATA --library FOLDER [--abstracts LIBRARY]`.\n\n"
    )
    files = [measured / f"{part_}.md" for part_ in PARTS]
    text = intro + "\n".join(file.read_text("utf-8") for file in files if file.exists())
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
