"""How well the graders of kinds, artifacts and samples do: a page with precision, recall and their intervals.

    python studies/graders.py DATA docs/results/graders.md

DATA is the folder with papers-corpus, aspect-pairs, unarxive-sample and real-files; what is absent is left
out and named. The labels are in studies/labels; docs/labelling.md tells how they were made.
"""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

from aspectra.base.decompression import zstd
from aspectra.base.errors import AspectraError
from aspectra.base.values import replace
from aspectra.base.version import __version__
from aspectra.papers.paper import Paper, Section
from aspectra.papers.sources.detection import read_papers
from aspectra.views.lenses.kind import IMPLIED, recorded_kinds
from aspectra.views.lenses.protocol import LENSES

LABELS = Path(__file__).parent / "labels"
_PRESENT = 4  # the first reading of papers that the present rules found
_LARGE = 10
SECONDARY = {"survey", "position", "tutorial", "book", "guideline", "editorial", "letter", "protocol"}
COLLECTIONS = {
    "papers-corpus": ("papers-corpus/papers.jsonl.zst", "id", "abstract"),
    "med": ("aspect-pairs/med/corpus.jsonl.zst", "_id", "text"),
    "unarxive": ("unarxive-sample/papers.jsonl.zst", "paper_id", "abstract"),
}
Row = dict[str, Any]


def rows(path: Path) -> Iterator[Row]:
    """The records of a JSON Lines file."""
    with zstd.open(path, "rt", encoding="utf-8") if path.suffix == ".zst" else path.open() as lines:
        for line in lines:
            yield json.loads(line)


def half(text: str) -> str:
    """``dev`` or ``test``, by a hash."""
    return "dev" if int(hashlib.sha256(f"kinds:{text}".encode()).hexdigest()[-1], 16) % 2 else "test"


def labelled(data: Path, missing: list[str]) -> Iterator[tuple[Paper, Row]]:
    """The labelled papers, each with its row of studies/labels/papers.jsonl."""
    labels = {row["id"]: row for row in rows(LABELS / "papers.jsonl")}
    for name, (file, key, text) in COLLECTIONS.items():
        if not (data / file).is_file():
            missing.append(name)
            continue
        for row in rows(data / file):
            if row[key] in labels:
                sections = tuple(Section(s["heading"], s["text"]) for s in row.get("sections", ()))
                yield Paper(row[key], row["title"], row[text], sections=sections), labels[row[key]]


def closed(kinds: Iterable[str]) -> set[str]:
    """Kinds with those that they imply, as docs/labelling.md has them."""
    out = set(kinds)
    while wider := {w for kind in out for w in IMPLIED.get(kind, ())} - out:
        out |= wider
    if not out & SECONDARY:
        out.add("primary")
    return out | {"quantitative"} if "empirical" in out else out


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share: Wilson, "Probable inference, the law of succession" (1927), equation 5.

    Unlike the normal one it stays within [0, 1] and is of use at 0, at 1 and for few trials.
    """
    z = NormalDist().inv_cdf(0.975)
    part, square = hits / trials, z * z / trials
    middle = (part + square / 2) / (1 + square)
    around = z / (1 + square) * math.sqrt(part * (1 - part) / trials + square / (4 * trials))
    return max(0.0, middle - around), min(1.0, middle + around)


def share(hits: int, trials: int) -> str:
    """A share in per cent with its 95 % interval."""
    if not trials:
        return "-"
    low, high = wilson(hits, trials)
    return f"{100 * hits / trials:.0f} ({100 * low:.0f}-{100 * high:.0f})"


def table(head: list[str], body: Iterable[list[object]]) -> list[str]:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in body), ""]


def counted(pairs: Iterable[tuple[set[str], set[str]]]) -> dict[str, list[int]]:
    """Label -> [true, false alarms, missed] of (given, found) pairs."""
    out: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for given, found in pairs:
        for label in given | found:
            out[label][0 if label in given and label in found else 1 if label in found else 2] += 1
    return out


def found_by(lens: str) -> Callable[[Paper], set[str]]:
    """What a lens finds in a paper: its labels from 0.5 on."""
    member = LENSES.get(lens)
    return lambda paper: {
        label for label, grade in zip(member.labels, member.apply([paper])[0][0], strict=True) if grade >= 0.5
    }


def rates(counts: dict[str, list[int]], names: Iterable[str]) -> list[list[object]]:
    """Rows of a table: label, how many there are, precision, recall."""
    body: list[list[object]] = []
    for name in names:
        true, false, missed = counts.get(name, [0, 0, 0])
        if true + false + missed:
            body.append([name, true + missed, share(true, true + false), share(true, true + missed)])
    true, false, missed = (sum(counts.get(n, [0, 0, 0])[i] for n in names) for i in range(3))
    return [*body, ["*together*", true + missed, share(true, true + false), share(true, true + missed)]]


def pages(data: Path) -> tuple[list[str], Row]:
    """The page's lines and the facts of the manifest."""
    missing: list[str] = []
    papers = list(labelled(data, missing))
    kinds, artifacts = found_by("kind"), found_by("artifacts")
    names = [k for k in LENSES.get("kind").labels if k not in ("primary", "quantitative")]
    lines: list[str] = []
    for part in ("test", "dev"):
        some = [(p, row) for p, row in papers if row["half"] == part]
        lines += [f"## Kinds, {part} half: {len(some)} papers", ""]
        found = [(closed(row["kinds"]), kinds(p), row["stratum"]) for p, row in some]
        counts = counted((given, got) for given, got, _ in found)
        head = ["kind", "papers", "precision", "recall"]
        lines += table(head, rates(counts, [*names, "primary", "quantitative"]))
        by = [
            [name, *rates(counted((g, f) for g, f, s in found if s == name), names)[-1][1:]]
            for name in ("plain", "words")
        ]
        lines += table(["stratum, all kinds together", *head[1:]], by)
        lines += [f"## Artifacts and samples, {part} half", ""]
        offered = counted((set(row["artifacts"]), artifacts(p)) for p, row in some)
        lines += table(head, rates(offered, LENSES.get("artifacts").labels))
        right = told = stated = 0
        for p, row in some:
            count = float(LENSES.get("sample").apply([p])[0][0, 0])
            told += not math.isnan(count)
            stated += row["sample"] is not None
            right += count == row["sample"]
        exact = (
            f"{share(right, told)} of the {told} read, {share(right, stated)} of the {stated} that state one"
        )
        lines += [f"Sample size exactly right: {exact}.", ""]
    lines += alarms()
    lines += records(data, missing)
    lines += tracks(data)
    return lines, {"missing": missing, "papers": len(papers)}


def readings_of(path: Path) -> dict[str, dict[int, list[int]]]:
    """Kind -> reading -> [right, read] of the papers found that were read afterwards."""
    counts: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in rows(path):
        for kind in (row["kind"], "*together*"):
            counts[kind][row["reading"]][0] += row["right"]
            counts[kind][row["reading"]][1] += 1
    return counts


def decisive(path: Path) -> dict[str, tuple[int, int]]:
    """Kind -> (right, read) of the reading that decides whether it filters.

    It is the last one of at least ten papers, else all since the fourth together: rules of before are gone.
    """
    out = {}
    for kind, by in readings_of(path).items():
        late = {n: found for n, found in by.items() if n >= _PRESENT}
        large = [n for n, (_, read) in late.items() if read >= _LARGE]
        chosen = [late[max(large)]] if large else list(late.values())
        if late and kind != "*together*":
            out[kind] = (sum(right for right, _ in chosen), sum(read for _, read in chosen))
    return out


def earned(right: int, read: int) -> bool:
    """Whether a kind filters: at least 90 % right, and Wilson's interval begins above two thirds."""
    return read > 0 and right / read >= 0.9 and wilson(right, read)[0] > 2 / 3


def alarms() -> list[str]:
    """Papers found that were read afterwards: how many were right, by reading."""
    counts = readings_of(LABELS / "alarms.jsonl")
    readings = {n for by in counts.values() for n in by}
    names = [*(kind for kind in counts if kind != "*together*"), "*together*"]
    body = [
        [name, *(f"{share(*counts[name][n])} of {counts[name][n][1]}" for n in sorted(readings))]
        for name in names
    ]
    head = ["kind", *(f"reading {n}" for n in sorted(readings))]
    lines = ["## Papers found, read by hand", "", *table(head, body)]
    found = sorted(decisive(LABELS / "alarms.jsonl").items(), key=lambda f: (not earned(*f[1]), f[0]))
    body = [
        [kind, read, share(right, read), "yes" if earned(right, read) else "no"]
        for kind, (right, read) in found
    ]
    return [*lines, "## Which of them filter", "", *table(["kind", "read", "right", "filters"], body)]


def records(data: Path, missing: list[str]) -> list[str]:
    """Publication types of records, hidden from the lens."""
    folder = data / "real-files"
    if not folder.is_dir():
        missing.append("real-files")
        return []
    lens = found_by("kind")
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    seen: set[str] = set()
    for path in sorted([*folder.glob("ris/*"), *folder.glob("nbib/*")]):
        try:
            items = list(read_papers(path, as_="nbib" if path.parent.name == "nbib" else None))
        except AspectraError:
            continue
        for paper in items:
            if not isinstance(paper, Paper) or len(paper.abstract) < 100 or paper.title in seen:
                continue
            seen.add(paper.title)
            stated = closed(recorded_kinds(paper)) & set(recorded_kinds(paper))
            if stated and half(paper.title) == "test":
                got = lens(replace(paper, metadata={}))
                for kind in stated:
                    counts[kind][0] += kind in got
                    counts[kind][1] += 1
    body = [[kind, n, share(hit, n)] for kind, (hit, n) in sorted(counts.items(), key=lambda c: -c[1][1])]
    return ["## Publication types of records, hidden", "", *table(["kind", "records", "recall"], body)]


def tracks(data: Path) -> list[str]:
    """Tracks of a conference, hidden from the lens."""
    path = data / COLLECTIONS["papers-corpus"][0]
    if not path.is_file():
        return []
    lens = found_by("kind")
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows(path):
        if row.get("track") and half(row["title"]) == "test":
            got = lens(Paper(row["id"], row["title"], row["abstract"]))
            for kind, word in (("survey", "survey"), ("software", "demo")):
                inside = word in row["track"].casefold()
                counts[kind][0 if inside else 2] += kind in got
                counts[kind][1 if inside else 3] += 1
    body = [[kind, n, share(hit, n), m, share(other, m)] for kind, (hit, n, other, m) in counts.items()]
    head = ["kind", "papers of its track", "found", "papers of others", "found there"]
    return ["## Tracks of IJCAI, hidden", "", *table(head, body)]


def main() -> None:
    """Write the page and its manifest."""
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    started = time.process_time()
    lines, facts = pages(data)
    text = (Path(__file__).with_suffix(".md")).read_text("utf-8").rstrip()
    if facts["missing"]:
        lines += [f"Left out, for their data were absent: {', '.join(facts['missing'])}.", ""]
    out.write_text("\n".join([text, "", *lines]).rstrip() + "\n", "utf-8")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(LABELS.glob("*.jsonl"))}
    manifest = {
        "aspectra": __version__,
        "commit": commit.stdout.strip(),
        "lenses": {n: LENSES.get(n).version for n in ("kind", "artifacts", "sample")},
        "labels": sums,
        **facts,
        "seconds": round(time.process_time() - started, 1),
    }
    out.with_suffix(".json").write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
