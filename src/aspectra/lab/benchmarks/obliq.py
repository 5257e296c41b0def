"""OBLIQ-Bench: searches for what a text does not say, with gold and pooled judgements.

Read is the layout of the raw files of one task, ``corpus/corpus.jsonl`` and ``queries+qrels/`` with
``queries.jsonl``, ``qrels.tsv``, perhaps ``qrels_pool.tsv`` and ``per_query_excluded_ids.json``; the same
files side by side in one folder; and the whole release, of which the option ``task`` names a part. The corpus
is streamed: the largest has 507,729 documents and 2.1 GB of text.

Source: OBLIQ-Bench, arXiv 2605.06235.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.benchmarks._audit import Corpus, Problems, audit, keep_judged, own_id, paper_of
from aspectra.lab.benchmarks._data import Collection, collection
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark
from aspectra.lab.runs.judged import Grades
from aspectra.lab.runs.rows import Row, text_of
from aspectra.papers.paper import Paper

__all__ = ["load"]

_TASKS = {
    "math": "analogues/math",
    "writing": "analogues/writing",
    "twitter": "descriptive/twitter",
    "wildchat": "descriptive/wildchat",
    "congress": "tip-of-tongue/congress",
}
# A capitalised word that does not begin a sentence.
_CAPITALISED = re.compile(r"(?<=[^\s.!?\"'“”‘’]\s)(?!I\b)[A-Z][\w'’-]*")
_KIN = ("theorem-analogue", "style-authorship")  # collections of our own making, told by a file of theirs


@benchmark(
    "obliq",
    about="OBLIQ-Bench: searches for what a text does not say, with gold and pooled judgements.",
    files="the files of one task, or the release.",
    licence="CC BY 4.0",
    source="huggingface.co/datasets/dianetc/OBLIQ-Bench. Cite: OBLIQ-Bench, arXiv 2605.06235",
    options=(
        Option("task", "the task; needed for the release, which holds several", tuple(_TASKS)),
        Option(
            "names",
            "masked: every capitalised word inside a sentence becomes one sign, in documents and queries",
            ("kept", "masked"),
            "kept",
        ),
    ),
    measures=("nDCG@10", "nDCG@50", "R@10", "R@50", "R@100"),
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """Load one task."""
    name, root = _task(folder.root, options["task"])
    folder = folder.at(root)
    documents = folder.need("corpus/corpus.jsonl", "corpus.jsonl")
    at = "queries+qrels/"
    queries = folder.need(f"{at}queries.jsonl", "queries.jsonl")
    given: dict[str, Grades] = {"gold": folder.qrels(folder.need(f"{at}qrels.tsv", "qrels.tsv"))}
    problems = Problems()
    if pool := folder.find(f"{at}qrels_pool.tsv", "qrels_pool.tsv"):
        given["pooled"] = folder.qrels(pool)
        lost = sum(
            grade > 0 and given["pooled"].get(query, {}).get(document, 0) <= 0
            for query, grades in given["gold"].items()
            for document, grade in grades.items()
        )
        problems.add(lost, "gold judgement is", "gold judgements are", "not in the pooled set")
    masked = options["names"] == "masked"
    asked = ((own_id(row), text_of(row.get("text"))) for row in folder.rows(queries))
    topics = [Topic(name, _masked(text) if masked else text) for name, text in asked]
    kept, qrels, left_out = keep_judged(topics, given, "gold")
    excluded, unknown = _excluded(folder, at, {topic.id for topic in kept})
    problems.add(unknown, "query", "queries", "with excluded ids not among the topics")

    corpus = Corpus(lambda: folder.rows(documents), _without_names if masked else paper_of)
    scan = corpus.scan()
    plain = Collection(name, "", "")
    held = next((kin for kin in map(collection, _KIN) if folder.find(kin.file)), plain)
    return Benchmark(
        name=held.name,
        licence=held.licence,
        source=held.source,
        papers=corpus.papers,
        topics=kept,
        qrels=qrels,
        excluded=excluded,
        audit=audit(folder, scan, kept, qrels, excluded=excluded, problems=[*left_out, *problems]),
    )


def _masked(text: str) -> str:
    """The text with one sign for every capitalised word inside a sentence.

    >>> _masked("Yesterday Anna and I went to Rome. Bob slept.")
    'Yesterday Xxxx and I went to Xxxx. Bob slept.'
    """
    return _CAPITALISED.sub("Xxxx", text)


def _without_names(row: Row) -> Paper:
    paper = paper_of(row)
    return replace(paper, title=_masked(paper.title), abstract=_masked(paper.abstract))


def _task(path: Path, task: str) -> tuple[str, Path]:
    here = [name for name, under in _TASKS.items() if (path / under).is_dir()]
    if task and task in here:
        return f"obliq/{task}", path / _TASKS[task]
    if here and not task:
        raise UsageError(f"{path} holds several tasks", hint="name one: task=" + "|".join(here))
    if here:
        raise BadInput(f"{path} has no folder {_TASKS[task]}", why="found: " + ", ".join(here))
    folder = path.resolve()
    known = next((name for name, under in _TASKS.items() if folder.as_posix().endswith(under)), "")
    return f"obliq/{task or known or folder.name}", path


def _excluded(folder: Folder, at: str, topics: set[str]) -> tuple[dict[str, frozenset[str]], int]:
    path = folder.find(f"{at}per_query_excluded_ids.json", "per_query_excluded_ids.json")
    if path is None:
        return {}, 0
    given = folder.object(path)
    out = {}
    for query, documents in given.items():
        if not isinstance(documents, list):
            raise BadInput(f"{path}, query {query}: not a list of ids", hint="fetch the file again")
        if query in topics:
            out[query] = frozenset(map(text_of, documents))
    return out, len(given) - len(out)
