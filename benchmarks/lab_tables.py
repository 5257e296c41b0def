"""The plain retrievers on every benchmark at hand, as tables in docs/results.

    python benchmarks/lab_tables.py DATA --libraries FOLDER [--vectors LIBRARY] [--only csfcube ...]

DATA holds one folder per collection (csfcube, attribute-docs, acl-fulltext, litquery, theorem-analogue,
style-authorship, birco, papers-corpus); what is absent is left out and said. Rankings are recorded below
--libraries, so an interrupted run goes on where it was. --vectors names a library whose cached vectors are
used again (the large corpus then needs no second encoding).
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from pathlib import Path

from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.experiment import Cell, benchmark_library, library_state, run_cells
from aspectra.lab.experiments.manifest import manifest, write_json
from aspectra.lab.experiments.recipe_tables import breakdown_table, main_table
from aspectra.lab.experiments.records import Records
from aspectra.lab.experiments.scoring import Outcome, score_cell
from aspectra.lab.reports.tables import Table, render
from aspectra.papers.library.store import Store
from aspectra.search.recipe import Recipe
from aspectra.views.settings import IndexSettings

RECIPES = ("bm25", "dense", "hybrid")
SETTINGS = IndexSettings(chunks=())  # title and abstract: what all these sets share


def reuse_vectors(source: Path, folder: Path) -> None:
    """Copy cached vectors into a new library before its papers are indexed."""
    if (folder / "library.db").exists():
        return
    made = Store.create(folder)
    with made.writing("bench") as writer:
        writer.derived.copy(Store(source).derived, "abstract", "sentences", "sentences-apart")


def run(
    benchmark: Benchmark,
    protocols: tuple[str, ...],
    options: argparse.Namespace,
    measures: dict[str, tuple[str, ...]],
) -> dict[str, list[Outcome]]:
    """Outcomes by protocol."""
    slug = benchmark.name.replace("/", "-") + "-" + benchmark.revision.partition(":")[2][:12]
    folder = options.libraries / slug
    if options.vectors and benchmark.audit.documents > 50_000:
        reuse_vectors(options.vectors, folder)
    searcher = benchmark_library(benchmark, folder, SETTINGS)
    state = library_state(searcher)
    out: dict[str, list[Outcome]] = {}
    with Records(options.libraries / f"{slug}.records.jsonl") as records:
        cells = [Cell(Recipe.parse(r), benchmark, p, 1000, state) for p in protocols for r in RECIPES]
        run_cells(cells, {benchmark.name: searcher}, records)
        for cell in cells:
            scored = score_cell(cell, records, measures=measures.get(cell.protocol, ()))
            out.setdefault(cell.protocol, []).append(scored)
        everything = [o for group in out.values() for o in group]
        write_json(
            options.libraries / f"{slug}.manifest.json",
            manifest(everything, records, {benchmark.name: searcher}),
        )
    return out


def specter(data: Path, benchmark: Benchmark) -> Table:
    """The ranking that the data set ships, scored by its own rule."""
    ranking: dict[str, dict[str, float]] = {}
    by_seed = {(t.seed, t.aspect): t.id for t in benchmark.topics}
    for (seed, facet), topic in by_seed.items():
        path = data / f"test-pid2pool-csfcube-specter-{facet}-ranked.json.gz"
        with gzip.open(path) as stream:
            pairs = json.load(stream)[seed]
        ranking[topic] = {doc: -float(rank) for rank, (doc, _) in enumerate(pairs)}
    found = evaluate(["NDCG%20", "AP(rel=2)"], benchmark.qrels["gold"], ranking, excluded=benchmark.excluded)
    labels = {t.id: {"facet": t.aspect} for t in benchmark.topics}
    rows = []
    for score in found.scores:
        parts = score.by(labels, "facet")
        rows.append((str(score.measure), 100 * (score.mean or 0.0), *(100 * v for v, _ in parts.values())))
    return Table(
        "SPECTER's shipped ranking",
        ("measure", "all", *parts),
        tuple(rows),
        (
            f"{len(ranking)} query-facet pairs of the development half; over both folds the shipped ranking "
            "gives 53.28, which needs the whole data set",
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    options = parser.parse_args()
    data = options.data
    options.libraries.mkdir(parents=True, exist_ok=True)

    def wanted(name: str, *needs: Path) -> bool:
        if options.only and name not in options.only:
            return False
        absent = [n for n in needs if not n.exists()]
        if absent:
            print(f"left out: {name}, {absent[0]} is not there")
        return not absent

    def write(name: str, intro: str, tables: list[Table]) -> None:
        command = "`python benchmarks/lab_tables.py DATA --libraries FOLDER`"
        text = f"# {name}\n\n{intro}\n\nMade by {command}.\n\n"
        text += "\n".join(render(t, "markdown") for t in tables)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{name}.md").write_text(text, "utf-8")
        print(text)

    if wanted("csfcube", data / "csfcube"):
        benchmark = BENCHMARKS.get("csfcube")(data / "csfcube")
        measures = {
            "pool": ("NDCG%20", "nDCG@20", "AP(rel=2)", "p-MRR(rel=2)"),
            "collection": ("nDCG@20", "R(rel=2)@100", "p-MRR(rel=2)"),
        }
        found = run(benchmark, ("pool", "collection"), options, measures)
        tables = [
            main_table("Pools re-ranked", found["pool"], baseline="hybrid"),
            breakdown_table("NDCG%20 by facet, pools", found["pool"], "NDCG%20", "aspect"),
            main_table("Whole collection", found["collection"], baseline="hybrid"),
            specter(data / "csfcube", benchmark),
        ]
        intro = (
            "Development half of CSFCube: 24 query-facet pairs, 1,946 papers. These recipes do not look at "
            "the facet, so p-MRR is 0 by construction. Not comparable with the exploration study's table "
            "(800,000 papers, first stage SciNCL, all 50 pairs)."
        )
        write("csfcube", intro, tables)
    if wanted("attribute-docs", data / "attribute-docs"):
        benchmark = BENCHMARKS.get("infosearch")(data / "attribute-docs")
        found = run(benchmark, ("collection",), options, {})
        tables = [main_table("All dimensions", found["collection"], baseline="hybrid", intervals=False)]
        for measure in ("WISE@20", "SICR", "p-MRR", "nDCG@10 [original]", "nDCG@10 [instructed]"):
            tables.append(
                breakdown_table(f"{measure} by dimension", found["collection"], measure, "dimension")
            )
        intro = (
            "Development half of attribute-docs (InfoSearch's layout): five dimensions, three modes. The "
            "instruction is concatenated to the query: the plain baseline of every retriever. SICR and WISE "
            "follow equations 1 to 6 of InfoSearch. Not comparable with its tables (other documents and "
            "instructions, six dimensions)."
        )
        write("attribute-docs", intro, tables)
    simple: list[tuple[str, str, Callable[[], list[tuple[str, Benchmark]]], tuple[Path, ...], str]] = [
        (
            "acl-fulltext",
            "Papers as queries (title and abstract), 1,482 papers: what they cite, and what cites them.",
            lambda: [
                (f"{way} papers", BENCHMARKS.get("beir")(data / "acl-fulltext", qrels=way))
                for way in ("cited", "citing")
            ],
            (data / "acl-fulltext",),
            "collection",
        ),
        (
            "litquery",
            "Questions in words: SPARBench's half over its 523 answers; AutoScholarQuery's half over 86,638 "
            "papers. Answer lists are incomplete, the second's by far.",
            lambda: [
                ("SPARBench", BENCHMARKS.get("beir")(data / "litquery" / "spar")),
                (
                    "AutoScholarQuery over papers-corpus",
                    BENCHMARKS.get("beir")(
                        data / "litquery" / "autoscholarquery",
                        corpus=str(data / "papers-corpus" / "papers.jsonl.zst"),
                    ),
                ),
            ],
            (data / "litquery", data / "papers-corpus"),
            "collection",
        ),
        (
            "theorem-analogue",
            "Problems that need the same theorem: an oblique query in OBLIQ-Bench's layout, 747 problems.",
            lambda: [("theorem-analogue", BENCHMARKS.get("obliq")(data / "theorem-analogue"))],
            (data / "theorem-analogue",),
            "collection",
        ),
        (
            "style-authorship",
            "Passages by the same author from another novel: an oblique query, 1,293 passages.",
            lambda: [("style-authorship", BENCHMARKS.get("obliq")(data / "style-authorship"))],
            (data / "style-authorship",),
            "collection",
        ),
        (
            "birco",
            "BIRCO's development sets: long queries with a written objective. Candidate pools are ranked, "
            "for WhatsThatBook the whole corpus.",
            lambda: [
                (name, BENCHMARKS.get("beir")(data / "birco" / name / "dev"))
                for name in ("doris-mae", "clinical-trial", "wtb")
            ],
            (data / "birco",),
            "auto",
        ),
    ]
    for name, intro, load, needs, protocol in simple:
        if not wanted(name, *needs):
            continue
        tables = []
        for title, benchmark in load():
            chosen = ("pool" if benchmark.pools else "collection") if protocol == "auto" else protocol
            found = run(benchmark, (chosen,), options, {})
            tables.append(main_table(title, found[chosen], baseline="hybrid"))
        write(name, intro, tables)


if __name__ == "__main__":
    main()
