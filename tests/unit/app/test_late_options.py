"""Late interaction from the command line: kept on demand, reported, searched, refused with the way out."""

from __future__ import annotations

import json

import pytest

from aspectra.views.encoders.protocol import ENCODERS
from token_encoder import TokenEncoder

pytestmark = pytest.mark.usefixtures("home")

PAPERS = [
    {"id": "owl", "title": "Owls at night", "abstract": "Owls hunt mice by ear."},
    {"id": "bee", "title": "Bees", "abstract": "The dance of bees tells where flowers are."},
]


@pytest.fixture
def library(run, home, monkeypatch):
    encoder = TokenEncoder()
    monkeypatch.setitem(ENCODERS._members, "token", lambda argument: encoder)
    path = home / "papers.jsonl"
    path.write_text("".join(json.dumps(p) + "\n" for p in PAPERS), "utf-8")
    assert run("init")[0] == 0
    assert run("add", path)[0] == 0
    assert run("index", "--encoder", "token", "--chunks", "none")[0] == 0


def views(run):
    return json.loads(run("status", "--json")[1])["index"]["views"]


@pytest.mark.usefixtures("library")
def test_token_vectors_are_kept_on_demand_and_reported(run):
    assert "tokens@token" not in views(run)
    code, _, err = run("search", "owls", "-r", "late")
    assert code != 0
    assert "aspectra index --late" in err
    assert run("index", "--late")[0] == 0
    bits = views(run)["tokens@token"]["bytes"]
    assert run("index", "--tokens", "int8")[0] == 0
    assert views(run)["tokens@token"]["bytes"] > 4 * bits
    assert "bytes/paper" in run("status")[1]
    assert run("index")[0] == 0  # the setting stays
    assert "tokens@token" in views(run)
    code, out, err = run("search", "owls hunting mice", "-r", "late", "--explain")
    assert code == 0, err
    assert "matched: mice ~ mice 1.00" in out
    found = json.loads(run("search", "mice", "-r", "late", "--json")[1])["hits"][0]
    assert found["evidence"][0]["matched"] == [["mice", "mice", pytest.approx(1.0, abs=1e-2)]]
    assert run("index", "--no-late")[0] == 0
    assert "tokens@token" not in views(run)


@pytest.mark.usefixtures("library")
def test_options_that_exclude_each_other_are_refused(run):
    code, _, err = run("index", "--no-late", "--tokens", "int8")
    assert code == 2
    assert "exclude each other" in err
    code, _, err = run("index", "--tokens", "floats")
    assert code == 2
    assert "floats" in err
