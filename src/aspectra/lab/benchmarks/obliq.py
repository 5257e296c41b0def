"""OBLIQ-Bench: searches for what a text does not say, with gold and pooled judgements.

Read is the layout of the raw files of one task, ``corpus/corpus.jsonl`` and ``queries+qrels/`` with
``queries.jsonl``, ``qrels.tsv``, perhaps ``qrels_pool.tsv`` and ``per_query_excluded_ids.json``; the same
files side by side in one folder; the whole release, of which the option ``task`` names a part; and mteb's
copy (configs ``TASK-corpus``, ``TASK-queries``, ``TASK-qrels``, ``TASK-top_ranked``), whose judgements are
the pooled ones where a task has them. The corpus is streamed: the largest has 507,729 documents and 2.3 GB.

Source: OBLIQ-Bench, arXiv 2605.06235.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import replace
from aspectra.lab.benchmarks._audit import Corpus, Problems, audited, keep_judged, own_id, paper_of
from aspectra.lab.benchmarks._files import CollectionCard, Folder, collection
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark
from aspectra.lab.runs.files import TOPIC_KEYS, only_in
from aspectra.lab.runs.rows import Row, first_of, text_of
from aspectra.papers.paper import Paper

_TASKS = {
    "math": "analogues/math",
    "writing": "analogues/writing",
    "twitter": "descriptive/twitter",
    "wildchat": "descriptive/wildchat",
    "congress": "tip-of-tongue/congress",
}
_AT = "queries+qrels/"
_TOLD = ("text", "solution")  # of a query
_POOLED = ("math", "twitter", "wildchat")  # tasks whose judgements in mteb's copy are the pooled ones
# A capitalised word that does not begin a sentence.
_CAPITALISED = re.compile(r"(?<=[^\s.!?\"'“”‘’]\s)(?!I\b)[A-Z][\w'’-]*")
_KIN = ("theorem-analogue", "style-authorship")  # collections of our own making, told by a file of theirs


@benchmark(
    "obliq",
    files="the files of one task, the release, or mteb's copy.",
    licence="CC BY 4.0",
    source="huggingface.co/datasets/dianetc/OBLIQ-Bench. Cite: OBLIQ-Bench, arXiv 2605.06235",
    options=(
        Option("task", "the task; needed for the release, which holds several", tuple(_TASKS)),
        Option("solutions", "yes: judges may be told those of the queries", ("no", "yes"), "no"),
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
    """OBLIQ-Bench: searches for what a text does not say, with gold and pooled judgements."""
    name, root, copy = _task(folder, options["task"])
    folder = folder.at(root)
    files = _mteb_files(folder, copy) if copy else _raw_files(folder)
    problems = Problems()
    given = {of: folder.qrels(*parts) for of, parts in files.judgements.items()}
    main = next(iter(given))
    if len(given) > 1:
        lost = only_in(given["gold"], given["pooled"])
        problems.add(lost, "gold judgement is", "gold judgements are", "not in the pooled set")
    masked = options["names"] == "masked"
    topics = []
    for row in folder.rows(*files.queries):
        text, solution = (_masked(one) if masked else one for one in map(text_of, map(row.get, _TOLD)))
        topics.append(Topic(own_id(row), text, solution=solution if options["solutions"] == "yes" else ""))
    if options["solutions"] == "yes" and not any(topic.solution for topic in topics):
        why = f"needs data: a field solution in the queries of {root}, which has none"
        raise BadInput("the queries have no solutions", why=why, hint="leave out solutions=yes")
    kept, qrels, left_out = keep_judged(topics, given, main)
    names = {topic.id for topic in kept}
    corpus = Corpus(lambda: folder.rows(*files.documents), _without_names if masked else paper_of)
    scan = corpus.scan()
    if copy:
        excluded, unknown = _outside(folder, files.ranked, names, scan.ids)
    else:
        excluded, unknown = _excluded(folder, names)
    problems.add(unknown, "query", "queries", "with excluded ids not among the topics")

    plain = CollectionCard(name, "", "")
    held = next((kin for kin in map(collection, _KIN) if folder.find(kin.file)), plain)
    told = {"excluded": excluded, "licence": held.licence, "source": held.source}
    return audited(folder, corpus, held.name, kept, qrels, [*left_out, *problems], clashes=True, **told)


@dataclass(frozen=True)
class _Files:
    """The files of one task; judgements by the name of their set, the main one first."""

    documents: list[Path]
    queries: list[Path]
    judgements: dict[str, list[Path]]
    ranked: list[Path] = field(default_factory=list)


def _raw_files(folder: Folder) -> _Files:
    judgements = {"gold": [folder.need(f"{_AT}qrels.tsv", "qrels.tsv")]}
    if pool := folder.find(f"{_AT}qrels_pool.tsv", "qrels_pool.tsv"):
        judgements["pooled"] = [pool]
    documents = folder.need("corpus/corpus.jsonl", "corpus.jsonl")
    return _Files([documents], [folder.need(f"{_AT}queries.jsonl", "queries.jsonl")], judgements)


def _mteb_files(folder: Folder, task: str) -> _Files:
    def need(config: str) -> list[Path]:
        name = f"{task}-{config}"
        return folder.table(name) or [folder.need(f"{name}.jsonl", f"{name}/test.jsonl")]

    which = "pooled" if task in _POOLED else "gold"
    ranked = folder.table(f"{task}-top_ranked")
    return _Files(need("corpus"), need("queries"), {which: need("qrels")}, ranked)


def _masked(text: str) -> str:
    """The text with one sign for every capitalised word inside a sentence.

    >>> _masked("Yesterday Anna and I went to Rome. Bob slept.")
    'Yesterday Xxxx and I went to Xxxx. Bob slept.'
    """
    return _CAPITALISED.sub("Xxxx", text)


def _without_names(row: Row) -> Paper:
    paper = paper_of(row)
    return replace(paper, title=_masked(paper.title), abstract=_masked(paper.abstract))


def _task(folder: Folder, task: str) -> tuple[str, Path, str]:
    """Name and folder of the task, and its name in mteb's copy, or "" for the raw files."""
    path = folder.root
    here = [name for name, under in _TASKS.items() if (path / under).is_dir()]
    copies = [name for name in _TASKS if folder.table(f"{name}-queries")]
    if task and task in here:
        return f"obliq/{task}", path / _TASKS[task], ""
    if task in copies or (len(copies) == 1 and not task and not here):
        name = task or copies[0]
        return f"obliq/{name}", path, name
    if found := here or copies:
        if not task:
            raise UsageError(f"{path} holds several tasks", hint=f"name one: task={'|'.join(found)}")
        said = f"{path} has {', '.join(found)}, and no folder {_TASKS[task]}"
        raise load.absent(path, {"task": task}, said)
    whole = path.resolve()
    known = next((name for name, under in _TASKS.items() if whole.as_posix().endswith(under)), "")
    return f"obliq/{task or known or whole.name}", path, ""


def _outside(
    folder: Folder, files: list[Path], topics: set[str], corpus: frozenset[str]
) -> tuple[dict[str, frozenset[str]], int]:
    """Query -> documents outside its list of candidates, and the number of queries that are not topics."""
    out: dict[str, frozenset[str]] = {}
    unknown = 0
    for row in folder.rows(*files):
        query = first_of(row, TOPIC_KEYS)
        if not isinstance(row.get("corpus-ids"), list):
            raise BadInput(f"{files[0]}, query {query}: no list of candidates", hint="fetch the file again")
        if query in topics:
            out[query] = corpus - set(map(text_of, row["corpus-ids"]))
        else:
            unknown += 1
    return out, unknown


def _excluded(folder: Folder, topics: set[str]) -> tuple[dict[str, frozenset[str]], int]:
    path = folder.find(f"{_AT}per_query_excluded_ids.json", "per_query_excluded_ids.json")
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
