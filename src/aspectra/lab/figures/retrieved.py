"""What recorded rankings found, with the vectors of the library that they were made on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.experiments.directory import Opened
from aspectra.lab.experiments.experiment import BASE_MODE, library_state
from aspectra.lab.experiments.records import Records
from aspectra.lab.experiments.study import corpus_hash, library_folder
from aspectra.lab.experiments.vectors import vectors_by_id
from aspectra.lab.figures.maps import Retrieved
from aspectra.papers.library.store import Store
from aspectra.search.searcher import Searcher

_QUERIES = 4  # as in PRISM, figure 4


def retrieved(
    benchmark: str,
    systems: Mapping[str, tuple[Opened, str]],
    libraries: Path,
    *,
    queries: Sequence[str] = (),
    depth: int = 100,
) -> tuple[list[Retrieved], str]:
    """The first papers of each system for some queries, with their vectors, and the encoder's name.

    Args:
        benchmark: its name.
        systems: system -> its experiment and the key of its cell, of one library.
        libraries: where the benchmarks' libraries are kept.
        queries: ids; empty takes four, evenly spread over all in order of their ids.
        depth: papers of each ranking.

    Raises:
        UsageError: no such query. BadInput: the library is gone, or has changed since.
    """
    opened = next(iter(systems.values()))[0]
    loaded = opened.study.benchmarks()[benchmark]
    settings = opened.study.settings()
    folder = library_folder(libraries, loaded, settings, corpus_hash(loaded), opened.study.among)
    if not folder.exists():
        raise BadInput(
            f"the library of {benchmark} is not in {libraries}",
            hint="name its folder with --libraries, or run the experiment again",
        )
    rankings = {name: _rankings(one, key) for name, (one, key) in systems.items()}
    every = sorted(set.intersection(*(set(found) for found in rankings.values())))
    if unknown := [query for query in queries if query not in every]:
        raise UsageError(f"nothing is recorded of the query {unknown[0]!r}", why=f"first ids: {every[:3]}")
    if not every:
        raise UsageError("no query was ranked by all systems")
    step = len(every) / min(_QUERIES, len(every))
    chosen = list(queries) or [every[int(n * step)] for n in range(min(_QUERIES, len(every)))]
    out = []
    with Store(folder) as store, Searcher(store) as searcher:
        if any(library_state(searcher) != one.about.states[benchmark] for one, _ in systems.values()):
            raise BadInput(
                f"the library of {benchmark} is not the one that was searched",
                why="its texts or encoders have changed",
                hint="run the experiment again",
            )
        for query in chosen:
            found = {name: list(held[query])[:depth] for name, held in rankings.items()}
            ids = list(dict.fromkeys(paper for papers in found.values() for paper in papers))
            vectors = vectors_by_id(searcher, ids)
            kept = {name: [paper for paper in papers if paper in vectors] for name, papers in found.items()}
            out.append(Retrieved(query, vectors, kept))
        encoder = searcher.index.default_encoder()
    return out, encoder


def _rankings(opened: Opened, key: str) -> dict[str, tuple[str, ...]]:
    records = Records(opened.file("records"), write=False).of(key)
    return {r.topic: r.ids for r in records if r.mode == BASE_MODE and not r.repeat}
