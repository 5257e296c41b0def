"""What several benchmarks here share: rankings of a recipe, made by the lab."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.lab.experiments.experiment import BASE_MODE, Cell, Protocol, library_state, run_cells
from aspectra.lab.experiments.records import Records
from aspectra.lab.experiments.scoring import runs_of
from aspectra.search.recipe import Recipe
from aspectra.search.searcher import Searcher

__all__ = ["rankings"]

Runs = dict[str, dict[str, dict[str, float]]]


def rankings(
    recipe: Recipe | str,
    benchmark: Benchmark,
    searcher: Searcher,
    protocol: Protocol = "collection",
    modes: Iterable[str] = (BASE_MODE,),
) -> Runs:
    """Mode -> topic -> paper -> score; the whole collection or each topic's pool is ranked."""
    made = Recipe.parse(recipe) if isinstance(recipe, str) else recipe
    cell = Cell(made, benchmark, protocol, len(searcher.index), library_state(searcher))
    with tempfile.TemporaryDirectory() as folder, Records(Path(folder) / "records.jsonl") as records:
        run_cells([cell], {benchmark.name: searcher}, records, modes=modes)
        return runs_of(records.of(cell.key))
