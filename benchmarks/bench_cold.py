"""What a search in a new process takes, beside what Python and numpy take, in turn and in one run.

    python benchmarks/bench_cold.py --library FOLDER [--runs 15] [--query WORDS]

Files are in the page cache and modules compiled, as from the second search on: bytecode is written to a
temporary folder, and the first round is not counted. Prints a Markdown table of medians with the range of the
middle half, and the processor time of all threads.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

_LIMITS = ((1000, 0.6), (float("inf"), 1.0))  # papers, seconds
_QUERY = "reranking with language models"


def once(command: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """(seconds, seconds of processor time) of a process."""
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)
    seconds, after = perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def papers_in(library: Path) -> int:
    """How many papers a library holds."""
    from aspectra.papers.library.store import Store

    with Store(library) as opened:
        return len(opened)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--query", default=_QUERY)
    options = parser.parse_args()
    aspectra, place = [sys.executable, "-m", "aspectra"], ["--library", str(options.library)]
    papers = papers_in(options.library)
    limit = next(seconds for most, seconds in _LIMITS if papers < most)
    commands = {
        "`python -c pass`": [sys.executable, "-c", "pass"],
        "`import numpy`": [sys.executable, "-c", "import numpy"],
        "`import aspectra`": [sys.executable, "-c", "import aspectra"],
        "`aspectra --help`": [*aspectra, "--help"],
        f"`aspectra search`, words only, {papers:,} papers": [
            *aspectra, "search", options.query, "--recipe", "bm25", *place,
        ],
        f"`aspectra search`, {papers:,} papers": [*aspectra, "search", options.query, *place],
    }  # fmt: skip
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as bytecode:
        environ = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(options.runs + 1):
            for name, command in commands.items():
                taken = once(command, environ)
                if turn:
                    found[name].append(taken)
    print("| what | median | middle half | processor time | asked | met |\n|---|---|---|---|---|---|")
    for number, (name, rows) in enumerate(found.items()):
        walls = [wall for wall, _ in rows]
        low, middle, high = statistics.quantiles(walls, n=4) if len(walls) > 1 else walls * 3
        cpu = statistics.median(cpu for _, cpu in rows)
        last = number == len(found) - 1
        asked = f"<= {limit} s | {'yes' if middle <= limit else 'no'}" if last else " | "
        print(f"| {name} | {middle:.3f} s | {low:.3f} to {high:.3f} | {cpu:.3f} s | {asked} |")


if __name__ == "__main__":
    main()
