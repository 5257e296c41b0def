"""Whether two versions of the program rank the same papers, by every recipe of docs/results.

    python benchmarks/same_ids.py DATA --old OLD/bin/aspectra --new NEW/bin/aspectra --work FOLDER

The old version makes the libraries and ranks; the new one gets a copy of them, upgrades it and ranks again.
Both are asked through their command line. Prints one row per benchmark and recipe: rankings that are equal
in ids and order, and those that are not. The exit code is 1 if any differs. What is finished in FOLDER is
used again; delete FOLDER/new to rank again with another new version.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """One experiment: a benchmark and the recipes that are run on it."""

    name: str
    benchmark: str
    folder: str
    recipes: tuple[str, ...]
    options: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ("collection",)
    modes: tuple[str, ...] = ("original",)
    words: tuple[str, ...] = ()


PLAIN = ("bm25", "dense", "hybrid")
CASES = (
    Case("csfcube", "csfcube", "csfcube", (*PLAIN, "guided"), protocols=("pool", "collection")),
    Case(
        "attribute-docs",
        "infosearch",
        "attribute-docs",
        (*PLAIN, "guided"),
        modes=("original", "instructed", "reversed"),
    ),
    Case("theorem-analogue", "obliq", "theorem-analogue", (*PLAIN, "guided")),
    Case("style-authorship", "obliq", "style-authorship", ("bm25", "hybrid", "hand")),
    Case("doris-mae", "beir", "birco/doris-mae/dev", (*PLAIN, "guided"), protocols=("pool",)),
    Case(
        "spar",
        "beir",
        "litquery/spar",
        (
            *PLAIN,
            "guided",
            "bm25 | top(100) | dense",
            "hybrid | feedback(papers=3)",
            "bm25 | citations(seeds=10)",
        ),
    ),
    Case(
        "cited",
        "beir",
        "acl-fulltext",
        (
            "hybrid",
            "fulltext",
            "prism",
            "prism | chain",
            "directional(direction=builds-on)",
            "directional(direction=built-on-by)",
        ),
        ("qrels=cited",),
    ),
    Case(
        "judged",
        "csfcube",
        "csfcube",
        (
            "bm25 | rerank(method=listwise+tournament,depth=40)",
            "bm25 | rerank(method=pairwise+heapsort,depth=20)",
        ),
        words=("--oracle", "error=0.1"),
    ),
)
# How a recipe is spelled by versions before the one notation for steps.
BEFORE = {
    "bm25 | top(100) | dense": "bm25>100>dense",
    "prism | chain": "chain",
    "directional(direction=builds-on)": "directional:builds-on",
    "directional(direction=built-on-by)": "directional:built-on-by",
}


def spelled(recipe: str, old: bool) -> str:
    """The recipe as one of the versions spells it."""
    return BEFORE.get(recipe, recipe.replace(" | ", "|")) if old else recipe


def rank(program: Path, case: Case, data: Path, work: Path, *, old: bool) -> dict[tuple[str, str], Path]:
    """(recipe, protocol and mode) -> file with the rankings, made by one version of the program."""
    out = work / case.name
    libraries = ("--libraries", str(work / "libraries"))
    runs = {}
    words = ["bench", "run", f"{case.benchmark}={data / case.folder}", *libraries, *case.words]
    words += [w for recipe in case.recipes for w in ("-r", spelled(recipe, old))]
    words += [w for option in case.options for w in ("--option", option)]
    words += ["--incomplete", "--protocol", "both" if len(case.protocols) > 1 else case.protocols[0]]
    where = "--out" if old else "--output"
    if not (out / "results.json").exists():
        call(program, *words, where, str(out))
    for recipe in case.recipes:
        for protocol in case.protocols:
            for mode in case.modes:
                number = case.recipes.index(recipe)
                file = work / "runs" / f"{case.name}-{number}-{protocol}-{mode}.trec"
                file.parent.mkdir(parents=True, exist_ok=True)
                if not file.exists():
                    chosen = ("--recipe", spelled(recipe, old), "--protocol", protocol, "--mode", mode)
                    call(program, "bench", "export-run", str(out), *chosen, "--output", str(file))
                runs[recipe, f"{protocol}, {mode}"] = file
    return runs


def call(program: Path, *words: str) -> None:
    """Run the program; what it says on its error stream is shown."""
    subprocess.run([str(program), *words], check=True, stdout=subprocess.DEVNULL)


def rankings(file: Path) -> dict[str, list[str]]:
    """Topic -> ids, best first."""
    out: dict[str, list[str]] = {}
    for line in file.read_text("utf-8").splitlines():
        topic, _, paper, *_ = line.split()
        out.setdefault(topic, []).append(paper)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--new", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[case.name for case in CASES])
    options = parser.parse_args()
    cases = [case for case in CASES if case.name in options.only]
    before = {c.name: rank(options.old, c, options.data, options.work / "old", old=True) for c in cases}
    if options.new is None:
        return
    libraries = options.work / "new" / "libraries"
    if not libraries.exists():
        shutil.copytree(options.work / "old" / "libraries", libraries)
    different = 0
    print("| benchmark | recipe | protocol, mode | rankings | same ids and order |\n|:--|:--|:--|--:|--:|")
    for case in cases:
        after = rank(options.new, case, options.data, options.work / "new", old=False)
        for key, file in after.items():
            old, new = rankings(before[case.name][key]), rankings(file)
            same = sum(old[topic] == new.get(topic) for topic in old)
            different += max(len(old), len(new)) - same
            print(f"| {case.name} | `{key[0]}` | {key[1]} | {len(old)} | {same} |", flush=True)
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
