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

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import replace
from aspectra.lab.benchmarks._audit import Corpus, Problems, audit, keep_judged, own_id
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks._modes import MODES, Part, instruction_negatives, read_part
from aspectra.lab.benchmarks._places import Collection, collection
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark
from aspectra.lab.runs.judged import Grades
from aspectra.lab.runs.rows import Row

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
    about="InfoSearch: the same query without an instruction, with one, and with its opposite.",
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
    """Load one dimension, or all of a folder as one benchmark with the label ``dimension``.

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
        held = Collection("infosearch", "", "")
    only = next(iter(parts)) if len(parts) == 1 else ""
    return Benchmark(
        name="/".join(filter(None, [held.name, only])),
        licence=held.licence,
        source=held.source,
        papers=corpus.papers,
        topics=kept,
        qrels=qrels,
        modes=MODES,
        pools=pools,
        audit=audit(folder, scan, kept, qrels, problems=problems),
    )


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


def _prefixed(part: Part, name: str) -> Part:
    topics = tuple(replace(topic, id=f"{name}/{topic.id}") for topic in part.topics)
    qrels = {
        mode: {
            f"{name}/{query}": {f"{name}/{document}": grade for document, grade in of_query.items()}
            for query, of_query in grades.items()
        }
        for mode, grades in part.qrels.items()
    }
    return Part(topics, qrels, part.corpus)


def _corpus(folder: Folder, parts: Mapping[str, Part], apart: bool) -> Corpus:
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
    outside = sum(
        grade > 0 and qrels["original"].get(query, {}).get(document, 0) <= 0
        for query, of_query in qrels["instructed"].items()
        for document, grade in of_query.items()
    )
    problems.add(outside, "judgement", "judgements", "relevant under the instruction only")
    negatives = instruction_negatives(qrels["original"], qrels["instructed"])
    none = sum(not documents for documents in negatives.values())
    problems.add(none, "topic has", "topics have", "no instruction negative")
