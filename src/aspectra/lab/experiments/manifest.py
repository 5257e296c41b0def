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


def cell_facts(cell: Cell, records: Records, outcome: Outcome) -> dict[str, Any]:
    """What was run and counted in one cell."""
    held = records.of(cell.key)
    return {
        "cell": cell.key,
        "recipe": cell.recipe.to_dict(),
        "recipe_hash": cell.recipe.hash,
        "benchmark": cell.benchmark.name,
        "revision": cell.benchmark.revision,
        "protocol": cell.protocol,
        "depth": cell.depth,
        "preset": outcome.preset,
        "topics": outcome.topics,
        "ranked": outcome.ranked,
        "ties": _ties(records, cell),
        "appended_to_pools": outcome.appended,
        "seconds": round(sum(r.seconds for r in held), 3),
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
                "revision": b.revision,
                "licence": b.licence,
                "source": b.source,
                "checksums": dict(b.audit.checksums),
                "documents": b.audit.documents,
                "topics": b.audit.topics,
                "judged": dict(b.audit.judged),
                "problems": list(b.audit.problems),
                "index": {
                    key: searchers[name].index.manifest[key]
                    for key in ("generation", "state", "papers", "settings", "views")
                },
            }
            for name, b in benchmarks.items()
        },
        "cells": [cell_facts(o.cell, records, o) for o in outcomes],
    }


def write_json(path: Path, value: Any) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", "utf-8")
    os.replace(temporary, path)
