"""The manifest: everything a number depends on, written beside it."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from aspectra.base.version import __version__
from aspectra.lab.experiments.experiment import Cell
from aspectra.lab.experiments.records import Records
from aspectra.lab.experiments.scoring import Outcome
from aspectra.search.searcher import Searcher

__all__ = ["cell_facts", "manifest", "write_json"]

_PACKAGES = ("numpy", "bm25s", "PyStemmer", "openvino", "tokenizers", "torch", "sentence-transformers")


def _versions() -> dict[str, str]:
    out = {"aspectra": __version__, "python": platform.python_version(), "platform": sys.platform}
    for name in _PACKAGES:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out


def _ties(records: Records, cell: Cell) -> int:
    """Neighbours in rankings with equal scores, told apart by id."""
    return sum(a == b for r in records.of(cell.key) for a, b in zip(r.scores, r.scores[1:], strict=False))


def cell_facts(outcome: Outcome) -> dict[str, Any]:
    """What was run in one cell, without anything that changes from run to run."""
    cell = outcome.cell
    return {
        "cell": cell.key,
        "benchmark": cell.benchmark.name,
        "protocol": cell.protocol,
        "depth": cell.depth,
        "recipe_hash": cell.recipe.hash,
        "preset": outcome.preset,
        "topics": outcome.topics,
        "ranked": outcome.ranked,
        "appended_to_pools": outcome.appended,
    }


def _counted(outcome: Outcome, records: Records) -> dict[str, Any]:
    """:func:`cell_facts` with the recipe, and what running the cell took."""
    cell = outcome.cell
    return {
        **cell_facts(outcome),
        "recipe": cell.recipe.to_dict(),
        "revision": cell.benchmark.revision,
        "ties": _ties(records, cell),
        "seconds": round(sum(r.seconds for r in records.of(cell.key)), 3),
        "cost": dict(outcome.cost),
        "model": cell.model,
        "simulated": outcome.tally.simulated,
    }


def manifest(
    outcomes: Sequence[Outcome], records: Records, searchers: Mapping[str, Searcher]
) -> dict[str, Any]:
    """The manifest of an experiment."""
    benchmarks = {o.cell.benchmark.name: o.cell.benchmark for o in outcomes}
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "benchmarks": {
            name: {
                **b.facts(),
                "index": {
                    key: searchers[name].index.manifest[key]
                    for key in ("generation", "state", "papers", "settings", "views")
                },
            }
            for name, b in benchmarks.items()
        },
        "cells": [_counted(outcome, records) for outcome in outcomes],
    }


def write_json(path: Path, value: Any) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(temporary, path)
