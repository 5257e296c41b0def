"""The first measure on real data: BM25, abstract vectors and the hybrid on CSFCube's development half."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def table(shared, tmp_path_factory) -> dict[str, list[float]]:
    script = Path(__file__).parents[2] / "benchmarks" / "csfcube_dev.py"
    folder = tmp_path_factory.mktemp("csfcube") / "library"
    out = subprocess.run(
        [sys.executable, str(script), str(shared / "data" / "csfcube"), "--library", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split() for line in out.splitlines()[2:]]
    return {row[0]: [float(v) for v in row[1:]] for row in rows}


@pytest.mark.parametrize(
    ("plan", "pool", "collection"), [("bm25", 55.5, 53.7), ("dense", 57.4, 53.2), ("hybrid", 58.9, 56.8)]
)
def test_pool_and_collection(table, plan, pool, collection):
    # Half a point: bf16 and fp32 encoders move a few neighbours.
    assert table[plan][0] == pytest.approx(pool, abs=0.5)
    assert table[plan][1] == pytest.approx(collection, abs=0.5)
