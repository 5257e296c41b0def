"""Calibration of the weak match: docs/results/weak-match.md, and the constants it ends with.

    python benchmarks/weak_match.py DATA --libraries FOLDER [--rows FILE] [--out FILE]

Questions that a library answers against the same questions put to libraries of another field. DATA is the
folder of litquery, birco, aspect-pairs, papers-corpus and theorem-analogue. FOLDER holds one indexed
library a collection, by the names of HOMES; those that are absent are made (86,638 papers take an hour).
Signals are read off rankings of the recipe `hybrid`, ten papers each, and kept in --rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from aspectra.app.library import create_library, open_library
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.reports.tables import Table, render

# Library -> its field, and the file of its papers below DATA.
HOMES = {
    "med": ("medicine", "aspect-pairs/med/corpus.jsonl.zst"),
    "trial": ("medicine", "birco/clinical-trial/dev/corpus.jsonl.zst"),
    "tdm": ("computing", "aspect-pairs/tdm/corpus.jsonl.zst"),
    "kw": ("computing", "aspect-pairs/kw/corpus.jsonl.zst"),
    "spar": ("computing", "litquery/spar/corpus.jsonl.zst"),
    "doris": ("computing", "birco/doris-mae/dev/corpus.jsonl.zst"),
    "papers-corpus": ("computing", "papers-corpus/papers.jsonl.zst"),
    "wtb": ("novels", "birco/wtb/dev/corpus.jsonl.zst"),
}
# Questions of a field -> libraries of other fields. SPARBench's papers are of many fields, so it is in none.
ELSEWHERE = {
    "computing": ("med", "trial", "wtb"),
    "medicine": ("tdm", "kw", "papers-corpus", "wtb"),
    "novels": ("tdm", "med", "kw"),
    "mathematics": ("med", "trial", "wtb"),
}
MOST = 120  # questions of a set
FALSE_ALARMS = 0.01  # mean over the fitting halves of the answered sets
ALL = 0.999  # from this share on, a paper holds all of the query's rarest words: no weak match
SIGNALS = {"likeness and words": ("likeness", "words"), "words alone": ("words",)}
Row = dict[str, Any]


def hashed(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def fitting(row: Row) -> bool:
    """Whether a question is in the half that constants are fitted on."""
    return hashed(str(row["question"])) % 2 == 0


def question_sets(data: Path) -> Iterator[tuple[str, str, tuple[str, ...], list[str]]]:
    """(set, field, libraries that answer it, questions)."""

    def read(name: str) -> list[dict[str, Any]]:
        folder = Folder(data)
        return [dict(row) for row in folder.rows(folder.need(name))]

    def some(texts: Sequence[str]) -> list[str]:
        return sorted(set(texts), key=hashed)[:MOST]

    for name, field, folder, home in (
        ("SPARBench", "computing", "litquery/spar", ("spar", "papers-corpus")),
        ("AutoScholarQuery", "computing", "litquery/autoscholarquery", ("papers-corpus",)),
        ("DORIS-MAE", "computing", "birco/doris-mae/dev", ("doris",)),
        ("clinical trials", "medicine", "birco/clinical-trial/dev", ("trial",)),
        ("what's that book", "novels", "birco/wtb/dev", ("wtb",)),
        ("theorems", "mathematics", "theorem-analogue", ()),
    ):
        yield name, field, home, some([one["text"] for one in read(f"{folder}/queries.jsonl")])
    headings = read("aspect-pairs/med/labels.jsonl")
    main = [
        {a: [k for k, v in one[a].items() if v == 2] for a in ("background", "method")} for one in headings
    ]
    pairs = [f"{one['method'][0]} for {one['background'][0]}" for one in main if all(one.values())]
    yield "treatment for disease", "medicine", ("med",), some([pair.lower() for pair in pairs])
    every = [heading.lower() for one in main for held in one.values() for heading in held]
    yield "one heading", "medicine", ("med",), some(every)
    labels = read("aspect-pairs/kw/labels.jsonl")
    words = [k.lower() for one in labels for a in ("background", "method") for k in one[a]]
    yield "one keyword", "computing", ("kw",), some(words)
    papers = [one for one in read("papers-corpus/papers.jsonl") if one.get("keywords")]
    two = [" ".join(one["keywords"][:2]).lower() for one in papers]
    yield "two keywords", "computing", ("papers-corpus",), some(two)
    for home, field in (("med", "medicine"), ("tdm", "computing"), ("kw", "computing")):
        titles = [one["title"] for one in read(f"aspect-pairs/{home}/corpus.jsonl")]
        yield f"titles of {home}", field, (home,), some([title for title in titles if len(title) > 15])


def gather(data: Path, libraries: Path, rows: Path) -> list[Row]:
    """The signals of every question in every library that answers it, or is of another field."""
    if rows.exists():
        return [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    sets = list(question_sets(data))
    out: list[Row] = []
    for name, (_, papers) in HOMES.items():
        if not (libraries / name).exists():
            with create_library(libraries / name) as made:
                made.add(data / papers)
                made.index()
        with open_library(libraries / name) as library:
            for title, field, homes, questions in sets:
                if name not in homes and name not in ELSEWHERE[field]:
                    continue
                for question in questions:
                    fit = library.search(question, recipe="hybrid", literal=True).fit
                    if fit is not None:
                        signals = {"likeness": fit.likeness, "words": fit.words}
                        facts = {"set": title, "library": name, "answered": name in homes}
                        out.append({**facts, "question": question, **signals})
        print(name, len(out), flush=True)
    rows.write_text("".join(json.dumps(row) + "\n" for row in out), "utf-8")
    return out


def cells(rows: Sequence[Row]) -> dict[tuple[bool, str, str], list[Row]]:
    """Rows by (answered, set, library); each of them counts the same, whatever its size."""
    held = defaultdict(list)
    for row in rows:
        held[row["answered"], row["set"], row["library"]].append(row)
    return dict(held)


def fitted(rows: Sequence[Row], signals: Sequence[str]) -> tuple[float, ...]:
    """Weights and constant of the logistic regression, and the logit below which a match is weak."""
    held = cells(rows)
    sides = {side: sum(key[0] == side for key in held) for side in (True, False)}
    x = np.array([[*(row[s] for s in signals), 1.0] for part in held.values() for row in part])
    y = np.array([float(key[0]) for key, part in held.items() for _ in part])
    weight = np.array([1 / len(part) / sides[key[0]] for key, part in held.items() for _ in part])

    def loss(b: np.ndarray) -> float:
        z = x @ b
        return float((weight * (np.logaddexp(0, z) - y * z)).sum() + 1e-4 * (b[:-1] ** 2).sum())

    weights = tuple(float(b) for b in minimize(loss, np.zeros(x.shape[1])).x)
    answered = [part for key, part in held.items() if key[0]]
    least = -8.0
    for limit in np.arange(-8, 8, 0.05):
        told = float(np.mean([weak_share(part, signals, (*weights, float(limit))) for part in answered]))
        if told <= FALSE_ALARMS:
            least = float(limit)
    return (*(round(b, 2) for b in weights), round(least, 2))


def weak_share(rows: Sequence[Row], signals: Sequence[str], fit: Sequence[float]) -> float:
    *weights, constant, least = fit
    logits = [sum(w * row[s] for w, s in zip(weights, signals, strict=True)) + constant for row in rows]
    return float(np.mean([z < least and row["words"] < ALL for z, row in zip(logits, rows, strict=True)]))


def is_question(row: Row) -> bool:
    """Titles of papers that are in the library are too easy to be fitted on."""
    return not (row["answered"] and row["set"].startswith("titles"))


def means(rows: Sequence[Row], signals: Sequence[str], fit: Sequence[float]) -> list[float | None]:
    """Mean over sets of the share called weak, in percent: of answered ones, and of others."""
    shares: dict[bool, list[float]] = {True: [], False: []}
    for key, part in cells(rows).items():
        shares[key[0]].append(100 * weak_share(part, signals, fit))
    return [float(np.mean(found)) if found else None for found in shares.values()]


def tables(rows: Sequence[Row]) -> list[Table]:
    asked = [row for row in rows if is_question(row)]
    learnt, held_out = [row for row in asked if fitting(row)], [row for row in rows if not fitting(row)]
    fits = {name: fitted(learnt, signals) for name, signals in SIGNALS.items()}
    overall = tuple(
        (name, *means([row for row in held_out if is_question(row)], signals, fits[name]))
        for name, signals in SIGNALS.items()
    )
    sets = tuple(
        (
            title,
            library,
            "yes" if answered else "no",
            len(part),
            *(100 * weak_share(part, signals, fits[name]) for name, signals in SIGNALS.items()),
        )
        for (answered, title, library), part in sorted(cells(held_out).items(), key=lambda one: not one[0][0])
    )
    left_out = []
    for library in HOMES:
        there = [row for row in held_out if row["library"] == library and is_question(row)]
        others = [row for row in learnt if row["library"] != library]
        found = [means(there, signals, fitted(others, signals)) for signals in SIGNALS.values()]
        left_out.append((library, *(share for both in found for share in both)))
    constants = []
    for name in SIGNALS:
        *weights, constant, least = map(str, fits[name])
        constants.append((name, *[""] * (2 - len(weights)), *weights, constant, least))
    sides = ("false alarms, %", "caught, %")
    by = tuple(f"{name}: {side}" for name in SIGNALS for side in sides)
    weak = tuple(f"{name}: weak, %" for name in SIGNALS)
    return [
        Table("Means over sets, held-out questions", ("signals", *sides), overall, digits=1),
        Table("Library left out of the fit, held-out questions", ("library", *by), tuple(left_out), digits=1),
        Table(
            "Each set, held-out questions",
            ("questions", "library", "answered", "number", *weak),
            sets,
            digits=1,
        ),
        Table(
            "Constants of the search, fitted on the other half",
            ("signals", "likeness", "words", "constant", "weak below"),
            tuple(constants),
        ),
    ]


INTRO = """# Weak matches

When the best hits hardly fit the query, `search` says so. The line follows from two signals of the ten best
papers of `hybrid`, joined by a logistic regression: *likeness*, the mean cosine (MiniLM) of the query with
the abstracts of the three papers most like it; *words*, the rarity of the query's words in the paper that
holds most of it, over that of the query's eight rarest words. Libraries without vectors, and encoders that
were not calibrated, have the words alone. A paper that holds all of these words is no weak match, whatever
its likeness: without that, one rare word (a drug) was called weak in the library that has it.

Answered: questions and keywords, put to a library that holds papers on them. Not answered: the same, put to
libraries of another field. Some of these may well hold something (machine learning on a disease), so the
share caught is a lower bound. Fitted on half of the questions by hash; each set in each library counts the
same. Titles of papers that are in the library are too easy: they are left out of the fit and of the means.
A false alarm is an answered question called weak; the line was set where the fitted half has 1 %.

The two signals were chosen among eight on these questions. Scores in deviations, against the library's own
sample, tell nearly nothing: in a first trial their AUC was 0.67, that of likeness 0.99.

Made by `python benchmarks/weak_match.py DATA --libraries FOLDER`.

"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--rows", type=Path, default=Path("experiments/weak-match.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/weak-match.md"))
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    rows = gather(options.data, options.libraries, options.rows)
    options.out.write_text(INTRO + "\n".join(render(table, "markdown") for table in tables(rows)), "utf-8")


if __name__ == "__main__":
    main()
