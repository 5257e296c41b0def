"""``studies/encoders.toml``: the encoders of the papers' tables, as specifications that can be typed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from aspectra.lab.reports.published import tables
from aspectra.views.encoders.protocol import ENCODERS, TEMPLATES, EncoderFactory, needs_of

ROOT = Path(__file__).parents[3]
ROWS: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "studies" / "encoders.toml").read_text("utf-8"))
NO_ENCODERS = {
    *("BM25", "Human", "Elicit", "FollowIR", "One-hop", "Reranking", "Zephyr-beta"),
    *("Google Scholar", "Google Search", "RankVicuna-v1", "RankZephyr-v1"),
}
LANGUAGE_MODELS = ("gpt-", "GPT-", "Llama-3", "Mistral-7B", "O3-", "O4-", "Oracle GPT-")
PAGE = (ROOT / "docs" / "encoders.md").read_text("utf-8")


@pytest.mark.parametrize("name", ROWS)
def test_a_row_can_be_typed_or_says_why_not(name: str) -> None:
    row = ROWS[name]
    assert set(row) - {"why", "also"} == {"spec", "needs", "papers"}
    assert ("why" in row) == (row["spec"] == "")
    assert row["needs"]
    assert "\n" not in row["needs"]
    assert row["papers"]
    assert set(row["papers"]) <= {"000", "001", "002", "003", "004"}
    if row["spec"]:
        family, _, argument = row["spec"].partition(":")
        assert isinstance(ENCODERS.get(family), EncoderFactory)
        assert needs_of(row["spec"])  # refuses options that do not exist
        options = dict(pair.split("=", 1) for pair in argument.partition("?")[2].split("&") if pair)
        assert options.get("template", "e5") in TEMPLATES


@pytest.mark.parametrize("name", ROWS)
def test_the_documentation_has_each_row(name: str) -> None:
    section = PAGE.partition("## Models of the papers")[2]
    assert re.search(rf"^\| (?:[^|]*, )?{re.escape(name)}(?:,[^|]*)? \|", section, re.M)
    if spec := ROWS[name]["spec"]:
        assert f"`{spec}`" in section


def test_every_encoder_of_the_published_tables_has_a_row() -> None:
    known = {*ROWS, *(name for row in ROWS.values() for name in row.get("also", ()))}
    for bench in ("csfcube", "infosearch", "litsearch", "scifullbench", "obliq"):
        for system in {row.system for row in tables(bench)} - NO_ENCODERS:
            for part in re.sub(r"-(?:A2A|A2C|F2C|F2F)$", "", system).split(" + "):
                assert part in known or part.startswith(LANGUAGE_MODELS), system
