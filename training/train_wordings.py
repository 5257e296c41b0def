"""Train the head for wordings: which aspect a text typed beside a seed paper asks papers to share.

    python training/train_wordings.py --out src/aspectra/search/planning/data/heads-wordings-minilm.npz

Needs scikit-learn beside ``aspectra``. ``wordings.txt`` holds the examples, written for this; lines stand in
several frames. Further examples of the class *other* are the development texts of ``tests/data/requests``
(CC0) in which no aspect is annotated, and their clauses.

The head is a softmax over the encoder's vector of a clause, fitted by logistic regression with classes of
equal weight. ``--folds 10`` reports what is read of lines that were left out, with all their frames, and
``--titles FILE`` how many titles are taken for an aspect. The same versions give the same weights.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from aspectra.base.decompression import zstd
from aspectra.search.planning.heads import LABELS, SURE, clauses
from aspectra.views.encoders.protocol import load_encoder
from aspectra.views.terms.view import ASPECTS

PAPERS = ("papers", "studies", "work", "articles", "research", "publications", "texts")
SEEDS = ("this one", "this paper", "the seed", "this study", "the paper above", "the one given", "mine")
FRAMES = (
    "Find papers {}.",
    "I am looking for papers {}",
    "Retrieve articles {}",
    "Which studies are there {}?",
    "Please show me work {}",
    "papers {}",
    "I need other publications {}.",
    "Get me everything {}",
    "Recent articles {}",
    "Historians {}",
    "those {}",
    "Trials since 2015 {}",
    "{}",
    "Which other authors are there {}?",
    "Are there any chemists {}?",
    "Economists {}",
)
TITLES = (
    "A method for the study of {}",
    "The problem of {}",
    "Results of a study of {}",
    "{}",
    "Approaches to {}",
    "Similarities and differences in {}",
    "What is known about {}?",
    "Findings on {} from five countries",
    "Motivation, aims and outcomes in {}",
    "{}: an analysis",
    "New techniques for {}",
    "The question of {} revisited",
    "Evidence on {} and its limits",
    "Does it matter? The case of {}",
    "How to study {}",
    "in {}",
    "about {}",
    "Designs for trials of {}",
    "Models of {}",
    "Measuring {}",
    "Techniques and tools for {}",
    "Comparing the outcomes of {}",
    "Explaining {}",
    "Why {}?",
    "Sampling {}",
)
NUMBER, TOPICS = 4, 9  # frames that a line and a topic stand in, drawn by their place in the file
REGULAR = 10.0  # C


class Example(NamedTuple):
    """A text, the class it has, and the line it was made of."""

    text: str
    label: int
    line: str


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Class and text of each line of ``wordings.txt``."""
    label = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("= "):
            label = line[2:].strip()
        elif line.strip() and not line.startswith("#"):
            yield label, line.strip()


def filled(text: str, number: int) -> str:
    """A line with a word for papers and one for the seed, different ones for different numbers."""
    return text.replace("{p}", PAPERS[number % len(PAPERS)]).replace("{s}", SEEDS[number % len(SEEDS)])


def framed(text: str, number: int) -> list[str]:
    """A line as people might type it; one that follows *papers* in several frames."""
    if not text.startswith("~"):
        return [filled(text, number), filled(text, number + 3)] if "{" in text else [text]
    said = text[1:].strip()
    return [filled(FRAMES[(number + 7 * n) % len(FRAMES)].format(said), number + n) for n in range(NUMBER)]


def examples(path: Path) -> list[Example]:
    """All of them; topics are the class *other*, as titles that use the words of aspects."""
    out = []
    for number, (label, line) in enumerate(lines(path)):
        if label == "topics":
            titles = [TITLES[(number + 7 * n) % len(TITLES)].format(line) for n in range(TOPICS)]
            out += [Example(title, LABELS.index("other"), line) for title in titles]
        else:
            out += [Example(text, LABELS.index(label), line) for text in framed(line, number)]
    return out


def requests(folder: Path) -> list[str]:
    """Development texts without an annotated aspect, each once."""
    rows = [json.loads(row) for path in sorted(folder.glob("*.jsonl")) for row in path.open(encoding="utf-8")]
    kept = (row for row in rows if row.get("half") != "test" and not any(row["aspects"].values()))
    return list(dict.fromkeys(clause for row in kept for clause in (row["text"], *clauses(row["text"]))))


def titles(path: Path) -> list[str]:
    """The titles of a .jsonl.zst file."""
    with zstd.open(path, "rt", encoding="utf-8") as held:
        return [json.loads(line)["title"] for line in held if line.strip()]


def fit(vectors: np.ndarray, labels: np.ndarray) -> LogisticRegression:
    """The head of some examples."""
    return LogisticRegression(C=REGULAR, max_iter=3000, class_weight="balanced").fit(vectors, labels)


def report(given: list[Example], vectors: np.ndarray, folds: int) -> None:
    """What is read of the lines that were left out."""
    place = {line: number for number, line in enumerate(dict.fromkeys(one.line for one in given))}
    fold = np.array([place[one.line] for one in given]) % folds
    labels = np.array([one.label for one in given])
    found = np.zeros((len(given), len(LABELS)))
    for number in range(folds):
        out = fold == number
        found[out] = fit(vectors[~out], labels[~out]).predict_proba(vectors[out])
    best, aspect = found.argmax(1), found[:, : len(ASPECTS)]
    print(f"{'':<12}" + "".join(f"{name:>12}" for name in LABELS) + "   (columns: what is read)")
    for label, name in enumerate(LABELS):
        print(
            f"{name:<12}" + "".join(f"{n:>12}" for n in np.bincount(best[labels == label], None, len(LABELS)))
        )
    sure, wanted = aspect.max(1) >= SURE, labels < len(ASPECTS)
    right = aspect.argmax(1) == labels
    print(f"sure of an aspect: {(sure & wanted & right).sum()} of {wanted.sum()} right,", end=" ")
    print(f"{(sure & wanted & ~right).sum()} another, {(sure & ~wanted).sum()} of {(~wanted).sum()} others")
    for number in np.flatnonzero(sure & ~(wanted & right)):
        print(f"  {given[number].text}  [{LABELS[given[number].label]}: {LABELS[best[number]]}]")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wordings", type=Path, default=Path(__file__).with_name("wordings.txt"))
    parser.add_argument("--requests", type=Path, default=Path("tests/data/requests"))
    parser.add_argument("--titles", type=Path, help="papers whose titles are read too, .jsonl.zst")
    parser.add_argument("--folds", type=int, default=0, help="cross-validate too")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    clock = time.time()
    given = examples(options.wordings)
    more = requests(options.requests)
    given += [Example(text, LABELS.index("other"), text) for text in more]
    encoder = load_encoder("minilm")
    vectors = encoder.encode([one.text for one in given], kind="query").vectors
    print(f"{len(given)} texts, {len(more)} of requests, {time.time() - clock:.0f} s")
    if options.folds:
        report(given, vectors, options.folds)
    model = fit(vectors, np.array([one.label for one in given]))
    if options.titles:
        held = titles(options.titles)
        chances = model.predict_proba(encoder.encode(held, kind="query").vectors)[:, : len(ASPECTS)]
        print(f"titles: {(chances.max(1) >= SURE).sum()} of {len(chances)} taken for an aspect")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        weights, bias = model.coef_.T.astype(np.float32), model.intercept_.astype(np.float32)
        np.savez(
            options.out, W=weights, b=bias, labels=np.array(LABELS), encoder=np.array(encoder.fingerprint)
        )
        print(f"wrote {options.out}, {options.out.stat().st_size / 1e3:.0f} kB, {time.time() - clock:.0f} s")


if __name__ == "__main__":
    main()
