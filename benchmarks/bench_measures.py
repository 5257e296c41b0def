"""How quick is scoring, beside pytrec_eval?

    python benchmarks/bench_measures.py --queries 1000 --depth 1000

Both score the same run in a process of its own, in turns; of each the quickest turn counts. *whole* is the
process from start to end, reading the TREC files included; *scoring* is the call alone, the first in its
process. ``--ties`` rounds the scores so that many are equal.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = """
import json, sys, time
began = time.perf_counter()
from pathlib import Path
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.runs.run import Qrels, Run
run, qrels = Run.read(Path(sys.argv[1])), Qrels.read(Path(sys.argv[2]))
read = time.perf_counter()
done = evaluate(["nDCG@10", "nDCG", "R@100", "AP", "MRR", "P@20"], qrels, run, preset="trec")
end = time.perf_counter()
print(json.dumps({"reading": read - began, "scoring": end - read, "means": list(done.means.values())}))
"""
THEIRS = """
import json, sys, time
began = time.perf_counter()
import pytrec_eval
with open(sys.argv[1]) as file:
    run = pytrec_eval.parse_run(file)
with open(sys.argv[2]) as file:
    qrels = pytrec_eval.parse_qrel(file)
read = time.perf_counter()
names = {"ndcg_cut.10", "ndcg", "recall.100", "map", "recip_rank", "P.20"}
found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
order = ["ndcg_cut_10", "ndcg", "recall_100", "map", "recip_rank", "P_20"]
means = [sum(values[name] for values in found.values()) / len(found) for name in order]
end = time.perf_counter()
print(json.dumps({"reading": read - began, "scoring": end - read, "means": means}))
"""


def write_data(folder: Path, queries: int, depth: int, judged: int, ties: bool) -> tuple[Path, Path]:
    rng = random.Random(7)
    run, qrels = folder / "run.trec", folder / "qrels.trec"
    with run.open("w") as out, qrels.open("w") as grades:
        for q in range(queries):
            docs = rng.sample(range(depth * 20), depth)
            for rank, doc in enumerate(docs, 1):
                score = round(rng.random(), 2) if ties else 100.0 - rank + rng.random()
                out.write(f"q{q} Q0 d{doc} {rank} {score} bench\n")
            outside = rng.sample(range(depth * 20, depth * 21), judged // 3)
            for doc in [*rng.sample(docs, min(depth, judged - len(outside))), *outside]:
                grades.write(f"q{q} 0 d{doc} {rng.choice([0, 0, 1, 2])}\n")
    return run, qrels


def turn(code: str, files: tuple[Path, Path]) -> dict[str, float]:
    start = time.perf_counter()
    out = subprocess.run(
        [sys.executable, "-c", code, *map(str, files)], capture_output=True, text=True, check=True
    ).stdout
    return {**json.loads(out), "whole": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--judged", type=int, default=60, help="judged documents a query")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--ties", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_data(Path(folder), given.queries, given.depth, given.judged, given.ties)
        taken: dict[str, list[dict[str, float]]] = {"aspectra": [], "pytrec_eval": []}
        for _ in range(given.turns):
            taken["aspectra"].append(turn(OURS, files))
            taken["pytrec_eval"].append(turn(THEIRS, files))
    ours, theirs = taken["aspectra"][0]["means"], taken["pytrec_eval"][0]["means"]
    far = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))  # type: ignore[call-overload]
    print(
        f"{given.queries:,} queries x {given.depth:,} documents, {given.judged} judged, 6 measures, seconds\n"
    )
    print(f"{'':12} {'reading':>9} {'scoring':>9} {'whole':>9}")
    best = {
        name: {part: min(t[part] for t in ts) for part in ("reading", "scoring", "whole")}
        for name, ts in taken.items()
    }
    for name, parts in best.items():
        print(f"{name:12} " + " ".join(f"{parts[part]:9.3f}" for part in ("reading", "scoring", "whole")))
    ratio = {part: best["aspectra"][part] / best["pytrec_eval"][part] for part in best["aspectra"]}
    print(f"{'ratio':12} " + " ".join(f"{ratio[part]:9.2f}" for part in ("reading", "scoring", "whole")))
    print(f"\nlargest difference of a mean: {far:.1e}")


if __name__ == "__main__":
    main()
