"""Pairs of papers alike in one aspect, and contrast papers alike in another one only.

A folder holds one collection: ``corpus.jsonl``, ``queries.jsonl`` (a seed, an aspect, the labels that make
the answer) and ``qrels.tsv`` (2 and 1: shares labels of the aspect; 0: a contrast paper). A query's aspect
reaches a searcher as :attr:`Topic.aspect`; with the option ``named``, with the names of its labels, which are
the answer: an oracle, for what a person's own words for the aspect are worth.

Some labels have hundreds of queries and others one, so means are taken within :attr:`Topic.labels` ``label``
first, a query's rarest label, and the option ``most`` keeps as many queries of each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.lab.benchmarks._audit import Corpus, audited, keep_judged, own_id
from aspectra.lab.benchmarks._files import Folder
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark, of_topics
from aspectra.lab.runs.rows import Row, text_of

_ASPECTS = ("background", "method", "result")
_YES_NO = ("yes", "no")


@benchmark(
    "aspect-pairs",
    files="corpus.jsonl, queries.jsonl and qrels.tsv of one collection.",
    licence="by collection; where none is stated, for measuring only",
    source="the collection's own source; labels of indexers, leaderboards or authors",
    options=(
        Option("aspect", "only this aspect", _ASPECTS),
        Option("most", "queries kept of a label, by a hash of their ids", default="3"),
        Option("contrast", "contrast papers that a query needs to be kept", default="0"),
        Option("named", "oracle: name the aspect's right terms, the query's labels", _YES_NO, "no"),
    ),
    measures=("AUC", "nDCG(gain=exp)@20"),
    preset="labels",
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """Pairs of papers alike in one aspect, beside contrast papers alike in another one only.

    Raises:
        BadInput: a query has no seed or aspect, or an option is not a number.
    """
    most, contrast = (_number(options, name) for name in ("most", "contrast"))
    corpus = Corpus(lambda: folder.rows(folder.need("corpus.jsonl")))
    scan = corpus.scan()
    rows = [_checked(row, folder) for row in folder.rows(folder.need("queries.jsonl"))]
    given = folder.qrels(folder.need("qrels.tsv"))
    if options["aspect"]:
        rows = [row for row in rows if row["aspect"] == options["aspect"]]
    rows = [row for row in rows if sum(g <= 0 for g in given.get(own_id(row), {}).values()) >= contrast]
    chosen = _some_of_each(rows, most)
    topics = [_topic(row, label, options["named"] == "yes") for row, label in chosen]
    qrels = of_topics({topic.id for topic in topics}, given)
    kept, judged, problems = keep_judged(topics, {"gold": qrels}, "gold")
    lost = sum(topic.seed not in scan.ids for topic in kept)
    problems.add(lost, "seed is", "seeds are", "not in the corpus")
    name = f"aspect-pairs/{folder.root.resolve().name}"
    excluded = {topic.id: frozenset([topic.seed]) for topic in kept}
    return audited(folder, corpus, name, kept, judged, problems, excluded=excluded)


def plain_name(label: str) -> str:
    """A subject heading as a text has it: inversions put right, what is in brackets left out.

    >>> plain_name("Rhinitis, Allergic, Seasonal")
    'Seasonal Allergic Rhinitis'
    """
    plain = label.partition(" (")[0]
    return " ".join(part.strip() for part in reversed(plain.split(",")) if part.strip())


def _checked(row: Row, folder: Folder) -> dict[str, Any]:
    if not own_id(row) or not text_of(row.get("seed")) or row.get("aspect") not in _ASPECTS:
        raise BadInput(
            f"{folder.root}, query {own_id(row)!r}: no seed or no aspect",
            why="an aspect is background, method or result",
            hint="check that the folder is a collection of aspect pairs",
        )
    return dict(row)


def _number(options: Mapping[str, str], name: str) -> int:
    if not options[name].isdecimal():
        raise BadInput(f"the option {name} cannot be {options[name]!r}", why="it is a whole number")
    return int(options[name])


def _labels_of(row: Row) -> list[str]:
    labels = row.get("labels")
    return [text_of(label) for label in labels] if isinstance(labels, list) and labels else [""]


def _some_of_each(rows: list[dict[str, Any]], most: int) -> list[tuple[dict[str, Any], str]]:
    """(query, its rarest label), ``most`` of each aspect's label, in the order given; 0 keeps all."""
    common = Counter((row["aspect"], label) for row in rows for label in _labels_of(row))
    rarest = [min(_labels_of(row), key=lambda one: (common[row["aspect"], one], one)) for row in rows]
    groups: dict[tuple[str, str], list[int]] = {}
    for number, (row, label) in enumerate(zip(rows, rarest, strict=True)):
        groups.setdefault((row["aspect"], label), []).append(number)

    def key(number: int) -> bytes:
        return hashlib.blake2b(own_id(rows[number]).encode("utf-8", "replace"), digest_size=8).digest()

    kept = {n for group in groups.values() for n in sorted(group, key=key)[: most or None]}
    return [(rows[n], rarest[n]) for n in sorted(kept)]


def _topic(row: Row, label: str, named: bool) -> Topic:
    aspect = text_of(row["aspect"])
    terms = ", ".join(filter(None, map(plain_name, _labels_of(row)))) if named else ""
    return Topic(
        own_id(row),
        seed=text_of(row["seed"]),
        aspect=f"{aspect}: {terms}" if terms else aspect,
        labels={"facet": aspect, "label": f"{aspect}: {label}"},
    )
