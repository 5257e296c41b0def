"""What a few new papers cost in a large library: seconds, processor time and bytes written, by command.

    python benchmarks/bench_delta.py --library DIR [--json FILE]

The library is copied first and not changed. Each command is a process of its own, as a person starts it.
Beside it is what this machine needs to write and flush as many bytes in one file, in the same run. The paper
that was added has to be the first answer of the search that follows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from aspectra.papers.library.generations.folders import Generations
from aspectra.papers.library.store import Store
from aspectra.views.build.run import build_index, merge_segments

WORDS = (
    "sparse lattice prompts forecast coral reefs frozen encoders read reports error oceans method graph "
    "planner robots grasp soil samples kelp forests sensors learn policies from noisy sonar tracks of whales"
).split()


def bib(numbers: range, version: int = 0) -> str:
    """Made-up papers, each with a word of its own."""
    out = []
    for number in numbers:
        turned = WORDS[number % len(WORDS) :] + WORDS[: number % len(WORDS)]
        title = f"Zyq{number} {' '.join(turned[:8])}"
        abstract = (
            f"We study {' '.join(turned[4:20])}. The method is zyq{number}. Version {version} is better."
        )
        out.append(
            f"@article{{zyq{number}, title={{{title}}}, author={{Doe, Jane}}, year={{2024}}, "
            f"abstract={{{abstract}}}}}"
        )
    return "\n".join(out)


def timed(command: list[str]) -> tuple[dict[str, float], str]:
    """Run a command; its seconds, processor seconds and megabytes written, and its output."""
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    seconds, after = perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    written = (after.ru_oublock - before.ru_oublock) * 512 / 1e6
    return {"seconds": seconds, "processor": processor, "megabytes": written}, done.stdout


def limit(folder: Path, megabytes: float) -> float:
    """Seconds that writing and flushing so much takes, the best of three."""
    content, best = os.urandom(1 << 20), float("inf")
    for _ in range(3):
        clock = perf_counter()
        with (folder / "limit").open("wb") as stream:
            left = int(megabytes * 1e6)
            while left > 0:
                left -= stream.write(content[:left])
            stream.flush()
            os.fsync(stream.fileno())
        best = min(best, perf_counter() - clock)
    (folder / "limit").unlink()
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--place", type=Path, help="folder to copy the library to; default: the system's own")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.place) as temporary:
        place = Path(temporary)
        library = place / "library"
        subprocess.run(["cp", "-r", "--reflink=auto", str(options.library), str(library)], check=True)
        with Store(library) as store:
            build_index(store)  # of this version's format
            merge_segments(store)
        program = [sys.executable, "-m", "aspectra", "--library", str(library)]
        generations = Generations(library)
        rows: list[dict[str, Any]] = []

        def tell(row: dict[str, Any]) -> None:
            rows.append(row)
            print(
                json.dumps({k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}),
                flush=True,
            )

        def step(name: str, change: Callable[[], list[str]], query: str, first: str) -> None:
            changing, _ = timed([*program, *change()])
            index, _ = timed([*program, "index"])
            search, output = timed([*program, "search", query, "--limit", "1", "--json"])
            hit = json.loads(output)["hits"][0]["id"]
            if hit != first:
                raise SystemExit(f"{name}: {hit} was found, not {first}")
            parts = (("change", changing), ("index", index), ("search", search))
            figures = {f"{part}_{key}": value for part, found in parts for key, value in found.items()}
            sleep(2)  # until a merge in the background has begun
            while generations.building():
                sleep(1)
            sleep(5)  # it collects what nobody needs any more
            tell({"step": name, **figures, "limit_seconds": limit(place, index["megabytes"])})

        def adding(numbers: range, version: int = 0) -> Callable[[], list[str]]:
            def change() -> list[str]:
                (place / "new.bib").write_text(bib(numbers, version), encoding="utf-8")
                return ["add", str(place / "new.bib")]

            return change

        step("one paper", adding(range(1)), "zyq0", "zyq0")
        step("one paper more", adding(range(1, 2)), "zyq1", "zyq1")
        step("100 papers", adding(range(2, 102)), "zyq77", "zyq77")
        step("edit one", adding(range(1), version=1), "zyq0", "zyq0")
        step("remove one", lambda: ["remove", "zyq1", "--yes"], "zyq0", "zyq0")
        merged, _ = timed([*program, "index", "--merge"])
        tell({"step": "merge", **merged, "limit_seconds": limit(place, merged["megabytes"])})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
