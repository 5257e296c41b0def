"""How instructions about documents are followed: tables into docs/results/instructions.md.

    python benchmarks/instructions.py DATA --libraries FOLDER [--only attribute-docs ours] [--quick]

DATA is a copy of attribute-docs (open licences, not part of this project). The second set is our own, in
tests/data/obedience. Conditions are read from the words of the instruction, nothing is handed over.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ranking import Runs, rankings

from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark, Topic
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import Evaluation
from aspectra.lab.experiments.experiment import benchmark_library
from aspectra.lab.reports.tables import Table, render
from aspectra.papers.paper import Paper
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher
from aspectra.views.settings import IndexSettings

MODES = ("original", "instructed", "reversed")
MEASURES = ("WISE@20", "SICR", "p-MRR", "nDCG@10")
SETTINGS = IndexSettings(chunks=())
OURS = Path(__file__).parents[1] / "tests" / "data" / "obedience"


def our_benchmark() -> Benchmark:
    """The set in tests/data/obedience, in the lab's form."""

    def rows(name: str) -> list[dict]:
        return [json.loads(line) for line in (OURS / name).read_text("utf-8").splitlines() if line.strip()]

    papers = [
        Paper(row["id"], row["title"], row["text"], year=row["attributes"].get("year"))
        for row in rows("documents.jsonl")
    ]
    topics = tuple(
        Topic(
            q["id"],
            q["text"],
            instructions={"instructed": q["instruction"], "reversed": q["reversed"]},
            labels={"dimension": q["dimension"]},
        )
        for q in rows("queries.jsonl")
    )
    qrels = {}
    for mode in MODES:
        graded: dict[str, dict[str, float]] = {}
        for line in (OURS / f"{mode}.tsv").read_text("utf-8").splitlines()[1:]:
            query, document, grade = line.split("\t")[:3]
            graded.setdefault(query, {})[document] = float(grade)
        qrels[mode] = graded
    return Benchmark(
        name="obedience",
        papers=lambda: iter(papers),
        topics=topics,
        qrels=qrels,
        revision="1",
        licence="CC0 1.0",
        source="this project",
        modes=MODES,
        measures=MEASURES,
    )


def rank(benchmark: Benchmark, searcher: Searcher, recipe: Recipe, modes: tuple[str, ...] = MODES) -> Runs:
    """All documents ranked for every topic and mode, scored by minus their places; filtered ones are absent.

    A mode that is not in ``modes`` gets the original rankings.
    """
    made = rankings(recipe, benchmark, searcher, modes=modes)
    return {
        mode: {topic: {paper: -float(n) for n, paper in enumerate(run)} for topic, run in runs.items()}
        for mode, runs in ((mode, made.get(mode, made["original"])) for mode in MODES)
    }


def ceiling(benchmark: Benchmark, runs: Runs) -> Runs:
    """What perfect detection gives with the same original ranking.

    Of the documents on the subject, those that meet the instruction go before everything else and those that
    do not go behind it, each in their original order. (What other documents are like is not judged.)
    """
    out: Runs = {"original": runs["original"]}
    for mode in MODES[1:]:
        out[mode] = {}
        for topic, run in runs["original"].items():
            wanted = benchmark.qrels[mode].get(topic, {})
            graded = benchmark.qrels["original"].get(topic, {})
            on_subject = {d for d, grade in graded.items() if grade > 0}
            met = {d for d in on_subject if wanted.get(d, 0) > 0}
            far = 1 + max(map(abs, run.values()), default=0.0)
            out[mode][topic] = {
                d: s + far * ((d in met) - (d in on_subject and d not in met)) for d, s in run.items()
            }
    return out


def scored(benchmark: Benchmark, runs: Runs) -> Evaluation:
    """All measures; strict SICR with S = -rank."""
    return evaluate(MEASURES, benchmark.qrels, runs, incomplete=True)


def tables(benchmark: Benchmark, searcher: Searcher, title: str) -> list[Table]:
    """One row a recipe over all, then WISE, SICR and nDCG by dimension."""
    guided = Recipe.parse("guided")
    concat = replace(Recipe.parse("hybrid"), instruction="concat")
    plain = rank(benchmark, searcher, replace(guided, instruction="ignore"), ("original",))
    systems = {
        "hybrid, instruction ignored": plain,
        "hybrid, instruction concatenated": rank(benchmark, searcher, concat),
        "guided (default)": rank(benchmark, searcher, guided),
    }
    systems["ceiling: perfect detection"] = ceiling(benchmark, plain)
    found = {name: scored(benchmark, runs) for name, runs in systems.items()}
    labels = {t.id: dict(t.labels) for t in benchmark.topics}
    dimensions = sorted({t.labels["dimension"] for t in benchmark.topics})
    counts = {d: sum(t.labels["dimension"] == d for t in benchmark.topics) for d in dimensions}
    units = ", ".join(f"{d} {n}" for d, n in counts.items())
    out = []
    columns = [(m, mode) for m in MEASURES for mode in (MODES if m.startswith("nDCG") else ("",))]
    header = ("recipe", *(f"{m} {mode[:3]}".strip() for m, mode in columns))
    rows = []
    for name, evaluation in found.items():
        rows.append((name, *(100 * (evaluation.get(m, mode or None).mean or 0.0) for m, mode in columns)))
    out.append(Table(f"{title}: all", header, tuple(rows), (f"units: {units}",)))
    for measure, mode in (("WISE@20", ""), ("SICR", ""), ("nDCG@10", "instructed"), ("nDCG@10", "reversed")):
        rows = []
        for name, evaluation in found.items():
            parts = evaluation.get(measure, mode or None).by(labels, "dimension")
            values = [100 * parts[d][0] if d in parts else None for d in dimensions]
            held = [v for v in values if v is not None]
            rows.append((name, *values, sum(held) / len(held)))
        if measure == "nDCG@10":
            parts = found["guided (default)"].get("nDCG@10", "original").by(labels, "dimension")
            values = [100 * parts[d][0] for d in dimensions]
            rows.append(("hybrid's original mode", *values, sum(values) / len(values)))
        label = f"{measure} {mode}".strip()
        out.append(
            Table(
                f"{title}: {label} by dimension", ("recipe", *dimensions, "mean of dimensions"), tuple(rows)
            )
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=["attribute-docs", "ours"])
    parser.add_argument("--quick", action="store_true", help="print, write nothing")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    options = parser.parse_args()
    made: list[Table] = []
    if "attribute-docs" in options.only:
        benchmark = BENCHMARKS.get("infosearch")(options.data)
        made += tables(
            benchmark,
            benchmark_library(benchmark, options.libraries / "attribute-docs", SETTINGS),
            "attribute-docs",
        )
    if "ours" in options.only:
        benchmark = our_benchmark()
        made += tables(
            benchmark, benchmark_library(benchmark, options.libraries / "ours", SETTINGS), "our set"
        )
    text = _INTRO + "\n".join(render(t, "markdown") for t in made)
    print(text)
    if not options.quick:
        (options.out / "instructions.md").write_text(text, "utf-8")


_INTRO = """# Instructions about the documents themselves

Three modes as in InfoSearch: the plain question, with an instruction, with its opposite. `guided` is the
default recipe: it reads conditions out of the instruction's words and grades documents by their text; nothing
is handed over. *Ceiling* is what perfect detection would give with the same original ranking: of the
documents on the subject those that comply go first and the others last, each in their original order. SICR is
strict and takes S = -rank, so a document that is first already can never pass it, whatever is done: its
ceiling is low by construction.

attribute-docs: the development half, real pages of four projects in two languages; the source is rarely named
in a page. Our set: 112 documents and 60 instructions of our own, written before the rules. Not comparable
with InfoSearch's tables (other documents and instructions); its best reranker reaches WISE 33.5.

Made by `python benchmarks/instructions.py DATA --libraries FOLDER`.

"""


if __name__ == "__main__":
    main()
