"""Prompted lenses, *simulated*: how a better one closes the gap, and what a pass over a library costs.

    python benchmarks/lens_gap.py DATA --libraries FOLDER [--only gap pass]

Tables and a figure into docs/results/lens-gap.md. DATA holds style-authorship and theorem-analogue (not part
of this project). An oracle or a script answers: it shows what the machinery does, and nothing about any
language model. This is no study file, because it changes what a lens says and kills the run. The figure needs
matplotlib (extra ``plot``).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from aspectra.lab.benchmarks.protocol import BENCHMARKS, Benchmark
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.experiment import benchmark_library
from aspectra.lab.figures.drawing import write_drawing
from aspectra.lab.figures.lines import Axis, Panel, line_figure
from aspectra.lab.measures.rankings import Pools
from aspectra.lab.reports.tables import Number, Table, render
from aspectra.lab.simulation.oracle import LensOracle, Oracle
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.chat import Reply, Request
from aspectra.llm.journal import JournalFile
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.query import Query
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.searcher import Searcher
from aspectra.search.stages.rerank import Method, rerank
from aspectra.views.build.run import build_index
from aspectra.views.lenses.protocol import default_lenses
from aspectra.views.prompted.definition import PromptedLens, builtin_text, tally
from aspectra.views.prompted.running import bound_to, estimate_lens, run_lens
from aspectra.views.settings import IndexSettings

NOISES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
SETS = ("theorem-analogue", "style-authorship")
RETRIEVERS = {
    "theorem-analogue": ("bm25", "dense", "hybrid"),
    "style-authorship": ("bm25", "dense", "hybrid", "hand"),
}
POOL, VERIFIER_ERROR = 100, 0.1
PAPERS, PILOT, LANES = 10_000, 60, 8
SETTINGS = IndexSettings(chunks=(), sentences="late", lenses=(*default_lenses(), "style"))
Run = dict[str, dict[str, float]]


def run_topics(searcher: Searcher, benchmark: Benchmark, planner: str, lens: str = "") -> Run:
    """The best hundred of each topic; with a lens, asked with what that saw of the topic's own passage."""
    out: Run = {}
    for topic in benchmark.topics:
        dropped = benchmark.excluded.get(topic.id, frozenset())
        query = Query(topic.text, limit=100 + len(dropped), evidence=0, versions="all", literal=True)
        if lens:
            seed = topic.id.removeprefix("q-")
            query = Query(seeds=(seed,), lenses=(lens,), limit=query.limit, evidence=0, versions="all")
        found = searcher.result(searcher.plan(query, planner))
        out[topic.id] = {i: s for i, s in zip(found.ids, found.scores, strict=True) if i not in dropped}
    return out


def truth_of(data: Path, name: str) -> dict[str, str]:
    """Paper id -> what a perfect lens would see; papers outside the judged half have their own values."""
    from aspectra.lab.benchmarks._files import Folder

    folder = Folder(data / name, "")
    truth: dict[str, str] = {}
    if name == "theorem-analogue":
        for row in folder.rows(folder.need("groups.jsonl")):
            truth |= dict.fromkeys(row["ids"], f"rests on: {row['theorem']}")
    else:
        for row in folder.rows(folder.need("authors.jsonl")):
            for passages in row["novels"].values():
                truth |= dict.fromkeys(passages, f"written by {row['author']}")
    for row in folder.rows(folder.need("corpus.jsonl")):
        truth.setdefault(row["_id"], f"unjudged {int(row['_id'][-6:], 16) % 83}")
    return truth


async def verify(benchmark: Benchmark, texts: dict[str, str], first: Run) -> Run:
    """A simulated verifier on the pool: a first stage's best, with the missing relevant papers put in."""
    out: Run = {}
    method = Method.parse("listwise+tournament")
    for topic in benchmark.topics:
        graded = benchmark.qrels["gold"].get(topic.id, {})
        pool = list(first[topic.id])[:POOL]
        pool += [doc for doc in sorted(graded) if doc not in pool]
        random.Random(topic.id).shuffle(pool)
        model = Oracle(graded, error=VERIFIER_ERROR)
        found = await rerank(
            Question(topic.text), [Candidate(doc, texts[doc]) for doc in pool], method, model
        )
        out[topic.id] = {doc: float(-place) for place, doc in enumerate(found.order)}
    return out


def gap_rows(data: Path, libraries: Path) -> list[tuple[str, float, float, float, float]]:
    """(set, noise, lensed nDCG@10, verifier's, gap) with an oracle behind the lens: *simulated*."""
    rows = []
    for name in SETS:
        benchmark = BENCHMARKS.get("obliq")(data / name)
        searcher = benchmark_library(benchmark, libraries / name, SETTINGS)
        plain = {one: run_topics(searcher, benchmark, one) for one in RETRIEVERS[name]}
        texts = {paper.id: paper.abstract for paper in benchmark.papers()}
        verified = asyncio.run(verify(benchmark, texts, plain["hybrid"]))
        truth = truth_of(data, name)
        library = searcher.library
        names = {noise: f"oracle_{round(100 * noise):03}" for noise in NOISES}
        for noise in NOISES:
            lens = PromptedLens(names[noise], builtin_text("proof_technique"))
            settings = ModelSettings(
                journal=libraries / f"{name}-{names[noise]}.db", prices=libraries / "none"
            )
            with wrap_model(LensOracle(truth, noise=noise), settings) as model:
                run_lens(library, bound_to(lens, model.name, switch=True), model)
        build_index(library, SETTINGS)
        searcher.refresh()
        for noise in NOISES:
            lensed = run_topics(searcher, benchmark, "lensed", lens=names[noise])
            pools = Pools({**plain, "lensed": lensed}, {"verifier": verified})
            gap = evaluate(["Gap"], benchmark.qrels["gold"], pools=pools)["Gap"].mean
            qrels = benchmark.qrels["gold"]
            own = evaluate(["nDCG@10"], qrels, lensed)["nDCG@10"].mean
            best = evaluate(["nDCG@10"], qrels, verified)["nDCG@10"].mean
            rows.append((name, noise, own or 0.0, best or 0.0, gap or 0.0))
            print(rows[-1], flush=True)
    return rows


def figure(rows: list[tuple[str, float, float, float, float]], folder: Path) -> None:
    """Gap against noise, one line for each set."""
    axis = Axis("share of papers of which the lens says something wrong", NOISES)
    lines = {name: [Number(100 * row[4]) for row in rows if row[0] == name] for name in SETS}
    drawing = line_figure(
        "gap",
        "A better lens closes the gap [simulated]",
        [Panel("", lines)],
        axis,
        "verification minus retrieval, nDCG@10, x100",
        notes=[
            "Simulated: an oracle behind the lens, and one as the verifier; no language model was called."
        ],
        floor=("no gap", 0.0),
    )
    write_drawing(drawing, folder)


def made_up_papers(count: int) -> Iterator[Paper]:
    """Papers of made-up words, 40 to 260 of them."""
    draw = random.Random(11)
    words = ["".join(draw.choices("abdeghiklmnoprstu", k=draw.randint(2, 11))) for _ in range(4000)]
    for number in range(count):
        body = [draw.choice(words) for _ in range(draw.randint(40, 260))]
        yield Paper(f"p{number:05}", " ".join(body[:7]), " ".join(body).capitalize() + ".")


def script(log: Path) -> Callable[[Request], Reply]:
    """Replies by hash, 4 in 100 unreadable; each call leaves a sign in a file before it is answered."""
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def answer(request: Request) -> Reply:
        draw = random.Random(request.key)
        bad = draw.random() < 0.04
        os.write(handle, b"m" if bad else b".")
        text = " ".join("abcde"[: draw.randint(1, 5)] for _ in range(draw.randint(20, 110)))
        return Reply("I would rather not say." if bad else json.dumps({"value": text}))

    return answer


def one_run(folder: Path, most: int | None = None, spread: bool = False) -> None:
    """One run over the made-up library; what a killed child does."""
    with Store(folder / "library") as library:
        lens = PromptedLens("stance", builtin_text("stance"))
        settings = ModelSettings(journal=folder / "journal.db", prices=folder / "none", lanes=LANES)
        model_ = Scripted(script(folder / "calls"), delay=0.002)
        with wrap_model(model_, settings) as model:
            run_lens(library, bound_to(lens, model.name), model, most=most, spread=spread)


def estimated(folder: Path) -> int:
    """Tokens that are still to be spent, as estimated."""
    with Store(folder / "library") as library:
        lens = PromptedLens("stance", builtin_text("stance"))
        settings = ModelSettings(journal=folder / "journal.db", prices=folder / "none")
        with wrap_model(Scripted([]), settings) as model:
            return estimate_lens(library, bound_to(lens, model.name), model).cost.tokens


def pass_table(libraries: Path) -> Table:
    """10,000 papers, a kill half-way, and what it cost: *simulated*."""
    folder = libraries / "pass"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    calls = folder / "calls"
    with Store.create(folder / "library") as library, library.writing("add") as writer:
        writer.add(made_up_papers(PAPERS))
    by_thumb = estimated(folder)
    one_run(folder, PILOT, spread=True)
    lens = PromptedLens("stance", builtin_text("stance"), model="scripted")
    with Store(folder / "library") as library:
        known = tally(library, lens)
    measured = known.asked + known.answered + estimated(folder)
    words = [sys.executable, __file__, str(folder), "--child", "--libraries", str(libraries)]
    child = subprocess.Popen(words)
    while calls.stat().st_size < PAPERS // 2 and child.poll() is None:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    killed = child.wait() == -signal.SIGKILL
    begun = calls.stat().st_size
    journal = JournalFile(folder / "journal.db")
    lost = begun - sum(journal.counts().values())
    journal.close()
    one_run(folder)
    total = calls.read_bytes()
    with Store(folder / "library") as library:
        done = tally(library, lens)
        with library.writing("add") as writer:
            writer.add([Paper("new", "New", "One more paper, which nobody has seen.")])
    before = calls.stat().st_size
    one_run(folder)
    spent = done.asked + done.answered
    rows = (
        ("papers", f"{PAPERS:,}"),
        ("killed (SIGKILL) after so many calls", f"{begun:,}{'' if killed else ' (not killed!)'}"),
        ("papers with a value at the end", f"{done.values:,}"),
        ("papers given up (three replies unreadable)", f"{done.failed:,}"),
        ("calls begun in all", f"{len(total):,}"),
        ("calls whose reply the kill lost, asked again", f"{lost:,} (under way at once: {LANES})"),
        ("calls more than the values took", f"{len(total) - done.calls:,}"),
        ("unreadable replies sent / counted", f"{total.count(b'm'):,} / {done.malformed:,}"),
        ("tokens spent", f"{spent:,}"),
        ("estimate by rule of thumb", f"{by_thumb:,} ({100 * by_thumb / spent - 100:+.1f} %)"),
        (f"estimate after a pilot of {PILOT}", f"{measured:,} ({100 * measured / spent - 100:+.1f} %)"),
        ("calls for one new paper", f"{calls.stat().st_size - before:,}"),
    )
    notes = ("*simulated*: replies are made up by hash, 4 in 100 unreadable, 2 ms each; no model was asked",)
    return Table("One pass over a library, killed half-way (*simulated*)", ("what", "number"), rows, notes)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--libraries", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", nargs="*", default=["gap", "pass"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "results")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        one_run(options.data)
        return
    options.libraries.mkdir(parents=True, exist_ok=True)
    parts = options.libraries / "lens-gap-parts"
    parts.mkdir(exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)

    def keep(name: str, table: Table) -> None:
        (parts / f"{name}.md").write_text(render(table, "markdown"), "utf-8")

    if "gap" in options.only:
        rows = gap_rows(options.data, options.libraries)
        figure(rows, options.out / "figures")
        cells = tuple((n, f"{x:g}", *(100 * value for value in values)) for n, x, *values in rows)
        notes = (
            "*simulated*: what the lens says of a paper is the truth, or with the noise as chance what would "
            "be true of another; papers outside the judged half have one of 83 values of their own",
            "the query is the passage that it was made from, asked with what the lens saw of that",
            f"verifier: a listwise tournament by an oracle that errs on {VERIFIER_ERROR:.0%} of neighbours, "
            f"on the hybrid's best {POOL} with the missing relevant ones put in (*simulated*)",
            "gap: the verifier minus the best of "
            + " and ".join(f"{', '.join(RETRIEVERS[one])} ({one})" for one in SETS)
            + " and the lensed plan; below 0 the lens finds better than the verifier orders",
        )
        columns = ("set", "noise", "lensed nDCG@10", "verifier nDCG@10", "gap")
        keep(
            "gap",
            Table(
                "The retrieval-verification gap as a lens gets better (*simulated*)", columns, cells, notes
            ),
        )
    if "pass" in options.only:
        keep("pass", pass_table(options.libraries))
    found = {name: (parts / f"{name}.md") for name in ("gap", "pass")}
    text = "# Prompted lenses (*simulated*)\n\n"
    text += "No language model was asked. Retrieval without a lens: [oblique](oblique.md).\n\n"
    text += "Made by `python benchmarks/lens_gap.py DATA --libraries FOLDER`.\n\n"
    for name, path in found.items():
        if path.is_file():
            text += path.read_text("utf-8").rstrip() + "\n\n"
            if name == "gap":
                text += "![the gap against the lens's noise, simulated](figures/gap.svg)\n\n"
    (options.out / "lens-gap.md").write_text(text.rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()
