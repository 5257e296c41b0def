"""One query under several instructions: InfoSearch, FollowIR, InstructIR.

InfoSearch: the same query without, with, and with the opposite of an instruction about the document. Read are
the local form of its code (one folder to a dimension: ``corpus.jsonl``, ``queries.jsonl``,
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
from aspectra.lab.runs.rows import Row, first_of, text_of

# The layout of InfoSearch and FollowIR.
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


# FollowIR: TREC queries with an original and an altered instruction, the altered one narrowing relevance.
#
# Read is one folder to a collection (Core17, News21, Robust04): ``corpus.jsonl``, ``queries.jsonl`` with
# ``instruction_og`` and ``instruction_changed``, ``qrels_og`` and ``qrels_changed``, and ``top_ranked`` with
# the documents to re-rank. p-MRR scores the documents that the altered instruction makes irrelevant.
#
# Source: Weller et al., FollowIR: Evaluating and Teaching Information Retrieval Models to Follow
# Instructions, 2024.

_BOTH = ("original", "instructed")


@benchmark(
    "followir",
    files="one collection (core17, news21, robust04).",
    licence="MIT (instructions); the TREC collections have licences of their own",
    source=(
        "huggingface.co/jhu-clsp. Cite: Weller et al., FollowIR: Evaluating and Teaching Information"
        " Retrieval Models to Follow Instructions, 2024"
    ),
    options=(Option("pools", "re-rank top_ranked where it is there", ("yes", "no"), "yes"),),
    measures=("p-MRR", "nDCG@5", "AP(cut=1000)"),
    preset="followir-2024",
)
def load_followir(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """FollowIR: TREC queries with an original instruction and an altered one that narrows relevance."""
    part = read_part(folder, "", _BOTH, {})
    corpus = Corpus(lambda: folder.rows(*part.corpus))
    corpus.scan()  # now, as checksums are listed in the order of reading
    kept, qrels, problems = keep_judged(part.topics, part.qrels, "original")
    for mode in _BOTH:
        without = sum(mode not in topic.instructions for topic in kept)
        problems.add(without, "topic has", "topics have", f"no {mode} instruction")
    negatives = instruction_negatives(qrels["original"], qrels["instructed"])
    none = sum(not documents for documents in negatives.values())
    problems.add(none, "topic has", "topics have", "no document that loses relevance")
    pools = _top_ranked(folder) if options["pools"] == "yes" else None
    if pools is not None:
        pools = {topic.id: pools[topic.id] for topic in kept if topic.id in pools}
        problems.add(len(kept) - len(pools), "topic has", "topics have", "no documents to re-rank")
    name = folder.root.resolve().name.casefold().removesuffix("-instructions")
    return audited(folder, corpus, f"followir/{name}", kept, qrels, problems, modes=_BOTH, pools=pools)


def _top_ranked(folder: Folder) -> dict[str, tuple[str, ...]] | None:
    """Query -> documents, from rows of one pair (``qid``, ``pid``) or of one query with a list."""
    files = folder.table("top_ranked", ("test", "top_ranked"))
    if not files:
        return None
    found: dict[str, dict[str, None]] = {}
    for row in folder.rows(*files):
        query = first_of(row, ("qid", "query-id", "query_id"))
        given = next((row[n] for n in ("pid", "corpus-ids", "corpus-id", "corpus_id") if n in row), "")
        for document in given if isinstance(given, list) else [given]:
            found.setdefault(query, {})[text_of(document)] = None
    return {query: tuple(documents) for query, documents in found.items()}


# InstructIR: each query under several users' instructions, each instruction with documents of its own.
#
# Read are the git release (``queries.jsonl`` whose text is the instruction, ``[SEP]`` and the query;
# ``only_queries.jsonl``; ``qrels/test.tsv``) and the hub's copy (``queries`` and ``instruction`` apart).
# Variants of one query form a group, over which Robustness@10 takes the worst.
#
# Source: Oh et al., InstructIR: A Benchmark for Instruction Following of Information Retrieval Models, 2024.

_MARK = "[SEP]"


@benchmark(
    "instructir",
    files="corpus, queries and judgements, as in the git release or the hub's copy.",
    licence="MIT (instructions); passages under the terms of MS MARCO",
    source=(
        "github.com/kaistAI/InstructIR. Cite: Oh et al., InstructIR: A Benchmark for Instruction"
        " Following of Information Retrieval Models, 2024"
    ),
    measures=("Robustness@10", "nDCG@10"),
)
def load_instructir(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """InstructIR: each query under several users' instructions, each with documents of its own.

    The modes are *original* (the query alone) and *instructed*. There is one set of judgements, made for the
    instructed queries; both modes are scored by it.
    """
    documents = folder.table("corpus") or [folder.need("corpus.jsonl")]
    judged = folder.table("qrels") or folder.table("default") or [folder.need("qrels/test.tsv")]
    grades = folder.qrels(*judged)
    corpus = Corpus(lambda: folder.rows(*documents))
    corpus.scan()  # now, as checksums are listed in the order of reading
    given: dict[str, Grades] = {"original": grades, "instructed": grades}
    kept, qrels, problems = keep_judged(list(_marked_topics(folder)), given, "instructed")
    bare = sum(not topic.instructions for topic in kept)
    problems.add(bare, "topic has", "topics have", "no instruction")
    return audited(folder, corpus, "instructir", kept, qrels, problems, modes=tuple(given))


def _marked_topics(folder: Folder) -> Iterator[Topic]:
    apart = {
        first_of(row, ("query-id", "_id")): text_of(row.get("instruction"))
        for row in folder.rows(*folder.table("instruction"))
    }
    files = folder.table("queries", ("queries", "test")) or [folder.need("queries.jsonl")]
    for row in folder.rows(*files):
        name = own_id(row)
        before, mark, after = text_of(row.get("text")).partition(_MARK)
        text = after.strip() if mark else before.strip()
        instruction = apart.get(name, "") or text_of(row.get("instruction"))
        if mark and not instruction:
            instruction = before.strip()
        instructions = {"instructed": instruction} if instruction else {}
        yield Topic(name, text, instructions=instructions, group=group_of(text))
