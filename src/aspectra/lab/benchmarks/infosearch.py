"""InfoSearch: the same query without, with, and with the opposite of an instruction about the document.

Read are the local form of its code (one folder to a dimension: ``corpus.jsonl``, ``queries.jsonl``,
``qrels_og|qrels_changed|qrels_reversed/test.tsv``), downloads of its data sets, a folder that holds several
dimensions, and collections of that layout that share one corpus a level up. The data set ``Clarity-v1`` is
the dimension the paper calls Keyword.

Source: Beyond Content Relevance: Evaluating Instruction Following in Retrieval Models, ICLR 2025.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import digest_texts
from aspectra.base.values import replace
from aspectra.lab.benchmarks._audit import Corpus, Problems, audited, keep_judged, own_id
from aspectra.lab.benchmarks._files import CollectionCard, Folder, collection
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark
from aspectra.lab.runs.files import Grades, only_in
from aspectra.lab.runs.rows import Row, text_of

# Benchmarks with one query under several instructions: the layout of InfoSearch and FollowIR.
#
# ``queries.jsonl`` holds for each query the plain text and the instructions; there is one set of judgements
# for each mode. The un-instructed mode is *original*, the instruction to follow *instructed*, its opposite
# *reversed*.

MODES = ("original", "instructed", "reversed")
_FIELDS = {"original": "og", "instructed": "changed", "reversed": "reversed"}


@dataclass(frozen=True)
class InstructedPart:
    """One folder in this layout, a part of a benchmark.

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


def read_part(
    folder: Folder, under: str, modes: tuple[str, ...], labels: Mapping[str, str]
) -> InstructedPart:
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
    return InstructedPart(topics, qrels, tuple(corpus))


_ALIASES = {"clarity": "keyword"}


def _dimension_of(folder: str) -> str:
    """The paper's name of a dimension, from the name of a folder or data set.

    >>> _dimension_of("Clarity-v1"), _dimension_of("language")
    ('keyword', 'language')
    """
    name = re.sub(r"[-_]v\d+$", "", folder.casefold())
    return _ALIASES.get(name, name)


@benchmark(
    "infosearch",
    files="one dimension, or a folder of each.",
    licence="as the data sets' cards state on the hub (none was pinned here)",
    source=(
        "huggingface.co/jianqunZ. Cite: Beyond Content Relevance: Evaluating Instruction Following in"
        " Retrieval Models (InfoSearch), ICLR 2025"
    ),
    options=(Option("dimension", "only this dimension"),),
    measures=("WISE@20", "SICR", "p-MRR", "Robustness@10", "nDCG@10", "MRR@1"),
    preset="fork",
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """InfoSearch: the same query without an instruction, with one, and with its opposite.

    One dimension, or all of a folder as one benchmark with the label ``dimension``.

    Dimensions that bring corpora of their own keep them: ids of documents and topics then begin with the
    dimension, and a topic's pool is its dimension's corpus.
    """
    wanted = _dimension_of(options["dimension"])
    found = _dimensions(folder)
    if wanted and wanted not in found:
        there = ", ".join(sorted(found))
        if any(one.part == wanted for one in load.hub):
            said = f"{folder.root} has the dimensions {there}, and not {wanted}"
            raise load.absent(folder.root, {"dimension": wanted}, said)
        raise UsageError(f"{folder.root} has no dimension {wanted!r}", why=f"found: {there}")
    under = {wanted: found[wanted]} if wanted else found
    parts = {name: read_part(folder, at, MODES, {"dimension": name}) for name, at in under.items()}

    corpora = {part.corpus for part in parts.values()}
    apart = len(corpora) > 1
    if apart:
        parts = {name: _prefixed(part, name) for name, part in parts.items()}
    corpus = _corpus(folder, parts, apart)
    scan = corpus.scan()
    topics = [topic for part in parts.values() for topic in part.topics]
    merged: dict[str, Grades] = {
        mode: {query: grades for part in parts.values() for query, grades in part.qrels[mode].items()}
        for mode in MODES
    }
    kept, qrels, problems = keep_judged(topics, merged, "original")
    _count_instructions(kept, qrels, problems)
    pools = None
    if apart:
        of_dimension = {
            name: tuple(sorted(i for i in scan.ids if i.startswith(f"{name}/"))) for name in parts
        }
        pools = {topic.id: of_dimension[topic.labels["dimension"]] for topic in kept}
    held = collection("attribute-docs")
    if not folder.find(held.file, f"../{held.file}"):
        held = CollectionCard("infosearch", "", "")
    only = next(iter(parts)) if len(parts) == 1 else ""
    name = "/".join(filter(None, [held.name, only]))
    told: dict[str, Any] = {"modes": MODES, "pools": pools}
    told |= {"licence": held.licence, "source": held.source}
    return audited(folder, corpus, name, kept, qrels, problems, **told)


def _dimensions(folder: Folder) -> dict[str, str]:
    """Dimension -> folder under the root, "" for the root itself."""
    if folder.table("queries"):
        return {_dimension_of(folder.root.resolve().name): ""}
    found: dict[str, str] = {}
    for child in sorted(folder.root.iterdir()):
        if child.is_dir() and folder.table(f"{child.name}/queries"):
            name = _dimension_of(child.name)
            if name in found:
                raise BadInput(
                    f"{folder.root} has the dimension {name} twice", why=f"{found[name]}, {child.name}"
                )
            found[name] = child.name
    if not found:
        raise BadInput(
            f"{folder.root} has no queries.jsonl",
            why="neither there nor in a folder of it",
            hint="name the folder of one dimension, or the folder that holds them",
        )
    return found


def _prefixed(part: InstructedPart, name: str) -> InstructedPart:
    topics = tuple(replace(topic, id=f"{name}/{topic.id}") for topic in part.topics)
    qrels = {
        mode: {
            f"{name}/{query}": {f"{name}/{document}": grade for document, grade in of_query.items()}
            for query, of_query in grades.items()
        }
        for mode, grades in part.qrels.items()
    }
    return InstructedPart(topics, qrels, part.corpus)


def _corpus(folder: Folder, parts: Mapping[str, InstructedPart], apart: bool) -> Corpus:
    if not apart:
        files = next(iter(parts.values())).corpus
        return Corpus(lambda: folder.rows(*files))

    def rows() -> Iterator[Row]:
        for name, part in parts.items():
            for row in folder.rows(*part.corpus):
                yield {**row, "_id": f"{name}/{own_id(row)}"}

    return Corpus(rows)


def _count_instructions(topics: tuple[Topic, ...], qrels: Mapping[str, Grades], problems: Problems) -> None:
    for mode in MODES[1:]:
        without = sum(mode not in topic.instructions for topic in topics)
        problems.add(without, "topic has", "topics have", f"no {mode} instruction")
    outside = only_in(qrels["instructed"], qrels["original"])
    problems.add(outside, "judgement", "judgements", "relevant under the instruction only")
    negatives = instruction_negatives(qrels["original"], qrels["instructed"])
    none = sum(not documents for documents in negatives.values())
    problems.add(none, "topic has", "topics have", "no instruction negative")
