"""Statistics of benchmarks, counted by hand on made-up ones."""

from __future__ import annotations

import pytest

import benchmark_fixtures as made_up
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.reports.tables import collection_tables


def rows(table):
    return {(row[0], row[1]): dict(zip(table.columns[2:], row[2:], strict=True)) for row in table.rows}


def test_queries_of_modes(tmp_path):
    made_up.infosearch_all(tmp_path / "orders")
    queries, corpus = collection_tables(BENCHMARKS.get("infosearch")(tmp_path / "orders"))
    found = rows(queries)
    everything = found["all", ""]
    assert everything["queries"] == 6  # three in each of two dimensions; the fourth is not judged
    assert everything["words/query"] == 2  # "feeding owls"
    assert everything["characters/query"] == pytest.approx((4 * 12 + 2 * 12) / 6)
    assert (everything["instructed"], everything["words/instructed"]) == (6, 3)
    assert everything["words/reversed"] == 4
    assert everything["relevant/query, original"] == 2
    assert everything["relevant/query, instructed"] == 1
    sides = {value: own for (label, value), own in found.items() if label == "dimension"}
    assert {value: own["queries"] for value, own in sides.items()} == {"keyword": 3, "length": 3}
    assert everything["candidates/query"] == 6  # the papers of its own dimension
    assert dict(row[:2] for row in corpus.rows)["documents"] == 12


def test_candidates_and_query_papers(tmp_path):
    made_up.csfcube(tmp_path / "cube")
    queries, corpus = collection_tables(BENCHMARKS.get("csfcube")(tmp_path / "cube"))
    found = rows(queries)
    assert found["all", ""]["queries"] == 4
    assert found["all", ""]["query papers"] == 3
    assert found["facet", "background"]["candidates/query"] == 2.5  # three, and three less the query paper
    assert found["facet", "method"]["relevant/query, gold"] == 2
    assert found["facet", "result"]["least, gold"] == 2
    numbers = dict(row[:2] for row in corpus.rows)
    assert numbers["documents"] == 8
    assert numbers["years"] == "2000 to 2007"


def test_overlap_of_queries_with_what_they_ask_for(tmp_path):
    made_up.litsearch(tmp_path / "lit")
    queries, corpus = collection_tables(BENCHMARKS.get("litsearch")(tmp_path / "lit", text="full"))
    every = rows(queries)["all", ""]
    # Which papers feed owl 0? The number is in each title, "owl" in the abstract, which the third lacks.
    assert every["overlap"] == pytest.approx((2 / 5 + 2 / 5 + 1 / 5 + 2 / 5) / 4)
    assert every["relevant/query, gold"] == 1.25
    assert dict(row[:2] for row in corpus.rows)["with full text"] == 6
