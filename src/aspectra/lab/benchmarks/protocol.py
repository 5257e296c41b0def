"""The protocol of a benchmark: papers, topics, judgements, and how they are meant to be scored.

To add a benchmark, write one module in ``lab/benchmarks`` with a function ``load(path, **options) ->
Benchmark`` decorated by ``@BENCHMARKS.register(name)`` and name it in :data:`BENCHMARKS`; third parties use
the entry point group ``aspectra.benchmark``. It inherits ``tests/unit/lab/test_benchmark_conformance.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper

__all__ = ["BENCHMARKS", "Audit", "Benchmark", "Grades", "Loader", "Topic"]

# Judgements: topic -> document -> grade. Runs: topic -> document -> score.
Grades = Mapping[str, Mapping[str, float]]

_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Topic:
    """One unit of scoring: a query, perhaps with instructions.

    Attributes:
        id: unique in the benchmark.
        text: the query text; "" where the seed says it all.
        seed: id of the seed paper, which is in the corpus, or "".
        aspect: the aspect asked for (``background``, ``method``, ``result``), or "".
        instructions: mode -> instruction text; modes that a topic lacks are absent.
        group: the core query this is a variant of (all instructed variants of one query, all aspects of one
            seed), or "".
        labels: what results are broken down by: ``dimension``, ``specificity``, ``quality`` ...
    """

    id: str
    text: str = ""
    seed: str = ""
    aspect: str = ""
    instructions: Mapping[str, str] = field(default_factory=lambda: _NONE)
    group: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: _NONE)


@dataclass(frozen=True)
class Audit:
    """What was found on load. Counts are printed with every result; nothing is repaired silently.

    Attributes:
        checksums: file name -> SHA-256 of the bytes read.
        documents: documents in the corpus.
        topics: topics kept.
        judged: (judgement set, pairs) counts.
        problems: each one sentence: judged documents missing from the corpus, empty queries, duplicates ...
    """

    checksums: Mapping[str, str] = field(default_factory=lambda: _NONE)
    documents: int = 0
    topics: int = 0
    judged: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """A loaded benchmark.

    Attributes:
        name: registry name, with the part after ``/`` (``birco/doris-mae``).
        revision: pinned revision, or a hash of the checksums for local copies.
        licence: as stated by its owners.
        source: where it comes from, and whom to cite.
        papers: the corpus, streaming; call again to start again.
        topics: units of scoring.
        modes: ``("original",)``, or original, instructed, reversed.
        qrels: judgement set -> judgements; for instruction sets the set is named like the mode, else
            ``gold`` and, where there is one, ``pooled``.
        pools: topic -> documents to be ranked (re-ranking protocol), or None for the whole collection.
        excluded: topic -> documents dropped from its ranking before scoring.
        measures: canonical names of the measures its paper reports.
        folds: fold name -> topic ids, where the benchmark defines folds.
        audit: what was found on load.
        seeds: where queries are papers that the corpus need not hold: those papers with all their text,
            streaming, under the ids in :attr:`Topic.group`; else None.
    """

    name: str
    revision: str
    licence: str
    source: str
    papers: Callable[[], Iterator[Paper]]
    topics: tuple[Topic, ...]
    qrels: Mapping[str, Grades]
    modes: tuple[str, ...] = ("original",)
    pools: Mapping[str, tuple[str, ...]] | None = None
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)
    measures: tuple[str, ...] = ()
    folds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    audit: Audit = field(default_factory=Audit)
    seeds: Callable[[], Iterator[Paper]] | None = None


class Loader(Protocol):
    """Reads a benchmark from a local folder in its published layout."""

    def __call__(self, path: Path, **options: str) -> Benchmark:
        """Load and audit.

        Raises:
            BadInput: a file is missing, truncated, or changed under a pinned checksum.
        """
        ...


BENCHMARKS: Registry[Loader] = Registry("benchmark", __package__)
