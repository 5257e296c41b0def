"""Benchmarks with one query under several instructions: the layout of InfoSearch and FollowIR.

``queries.jsonl`` holds for each query the plain text and the instructions; there is one set of judgements for
each mode. The un-instructed mode is *original*, the instruction to follow *instructed*, its opposite
*reversed*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.base.hashing import digest_texts
from aspectra.lab.benchmarks._audit import own_id
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.protocol import Topic
from aspectra.lab.runs.judged import Grades
from aspectra.lab.runs.rows import Row, text_of

MODES = ("original", "instructed", "reversed")
_FIELDS = {"original": "og", "instructed": "changed", "reversed": "reversed"}


@dataclass(frozen=True)
class Part:
    """One folder in this layout.

    Attributes:
        topics: all queries, in file order.
        qrels: mode -> judgements, as in the files.
        corpus: files of the corpus.
    """

    topics: tuple[Topic, ...]
    qrels: Mapping[str, Grades]
    corpus: tuple[Path, ...]


def group_of(text: str, dimension: str = "") -> str:
    """The core query of an instructed one: the same text within one dimension."""
    mark = digest_texts([" ".join(text.split())])[:12]
    return f"{dimension}:{mark}" if dimension else mark


def instruction_negatives(original: Grades, instructed: Grades) -> dict[str, frozenset[str]]:
    """Documents on the subject that break the instruction: topic -> relevant originally, not under it.

    A topic that the instructed judgements lack has none, because nothing is known about it.

    >>> instruction_negatives({"q": {"a": 1, "b": 1}}, {"q": {"a": 1}})
    {'q': frozenset({'b'})}
    """
    return {
        topic: frozenset(d for d, grade in grades.items() if grade > 0 and instructed[topic].get(d, 0) <= 0)
        for topic, grades in original.items()
        if topic in instructed
    }


def _mode_topics(rows: Iterator[Row], modes: tuple[str, ...], labels: Mapping[str, str]) -> Iterator[Topic]:
    """The queries of one file, without empty instructions."""
    dimension = labels.get("dimension", "")
    for row in rows:
        text = text_of(row.get("text"))
        given = {mode: text_of(row.get(f"instruction_{_FIELDS[mode]}")) for mode in modes}
        own = {name: text_of(row[name]) for name in ("condition", "dimension", "language") if row.get(name)}
        yield Topic(
            own_id(row),
            text,
            instructions={mode: instruction for mode, instruction in given.items() if instruction},
            group=group_of(text, dimension),
            labels={**labels, **own},
        )


def read_part(folder: Folder, under: str, modes: tuple[str, ...], labels: Mapping[str, str]) -> Part:
    """Read queries and judgements of the folder ``under`` ("" for the root).

    The corpus is looked for there, then one level up.

    Raises:
        BadInput: a file is missing or damaged.
    """
    at = f"{under}/" if under else ""
    splits = ("test", "dev", "train")
    queries = folder.table(f"{at}queries", splits) or [folder.need(f"{at}queries.jsonl")]
    qrels: dict[str, Grades] = {}
    for mode in modes:
        config = f"{at}qrels_{_FIELDS[mode]}"
        parts = folder.table(config, splits) or [folder.need(f"{config}/test.tsv", f"{config}/test.jsonl")]
        qrels[mode] = folder.qrels(*parts)
    corpus = next(
        (found for place in (f"{at}corpus", "corpus", "../corpus") if (found := folder.table(place))), []
    )
    if not corpus:
        raise BadInput(
            f"{folder.root / under} has no corpus.jsonl",
            why="neither there nor one level up",
            hint="check that the folder is complete and is the one the benchmark expects",
        )
    topics = tuple(_mode_topics(folder.rows(*queries), modes, labels))
    return Part(topics, qrels, tuple(corpus))
