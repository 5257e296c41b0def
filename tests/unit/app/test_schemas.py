"""What ``--json`` writes has the types that its schema declares."""

from __future__ import annotations

import json

import msgspec
import pytest

from aspectra.app.output.schemas import DOCUMENTS, json_schema
from aspectra.app.terminal.screen import schema_of
from benchmark_fixtures import beir, csfcube
from llm_server import Server

BIB = """@article{dense, title={Dense retrieval of papers}, year=2020, doi={10.1000/d}, author={Lovelace, A},
  abstract={Search engines match words. We train encoders for dense retrieval.}}
@article{graph, title={Graph pretraining for molecules}, year=2022,
  abstract={Molecules are graphs. Pretraining helps.}}
@article{graphpre, title={Graph pretraining for molecules}, year=2021,
  abstract={Molecules are graphs.}}
"""


@pytest.fixture
def indexed(home, run):
    (home / "work" / "lib.bib").write_text(BIB + "@article{broken, title={\n", "utf-8")
    assert run("init")[0] == 0
    assert run("add", "lib.bib")[0] == 0
    assert run("index", "--no-encoder")[0] == 0
    return run


def checked(name: str, text: str) -> dict:
    """The document, converted strictly: unknown, missing and wrongly typed fields are errors."""
    loaded = json.loads(text)
    assert loaded["schema"] == schema_of(name)
    msgspec.convert(loaded, DOCUMENTS[name], strict=True)
    return loaded


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("search", ["search", "graphs", "--json"]),
        ("search", ["search", "graphs", "-c", "prefer year=>=2021", "--explain", "--format", "json"]),
        (
            "search",
            ["search", "graphs", "-r", "bm25", "--stage", "citations", "--stage", "feedback", "--json"],
        ),
        ("search", ["similar", "dense", "--same", "method", "-r", "bm25", "--json", "--explain"]),
        ("paper", ["show", "dense", "--json"]),
        ("paper", ["show", "graph", "--json", "--sentences"]),
        ("status", ["status", "--json"]),
        ("status", ["status", "--json", "--skips"]),
        ("doctor", ["doctor", "--json"]),
        ("config", ["config", "show", "--json"]),
        ("config-list", ["config", "list", "--json"]),
        ("config-trust", ["config", "trust", "--json"]),
        ("lens-list", ["lens", "list", "--json"]),
        ("aspect-list", ["aspect", "list", "--json"]),
        ("licences", ["licences", "--json"]),
        ("lens-status", ["lens", "status", "--json"]),
    ],
)
def test_documents_are_as_declared(indexed, name, command):
    code, out, err = indexed(*command)
    assert code == 0, err
    checked(name, out)


def test_hits_of_a_stream_are_as_declared(indexed):
    _, out, _ = indexed("search", "graphs molecules", "--jsonl", "--explain")
    assert [msgspec.convert(json.loads(line), DOCUMENTS["hit"], strict=True) for line in out.splitlines()]


def test_documents_of_lenses_are_as_declared(indexed, home, monkeypatch):
    monkeypatch.setenv("ASPECTRA_LIBRARY", str(home / "data" / "aspectra" / "library"))
    assert indexed("lens", "add", "stance")[0] == 0
    with Server().in_thread() as url:
        model = ["--set", "llm.model=loopback", "--set", f"llm.base_url={url}"]
        checked("lens-estimate", indexed("lens", "estimate", "stance", "--json", *model)[1])
        checked("lens-run", indexed("lens", "run", "stance", "--json", *model)[1])
    assert checked("lens-status", indexed("lens", "status", "--json")[1])["lenses"]


def test_documents_of_the_lab_are_as_declared(home, run):
    owls, cube = beir(home / "owls"), csfcube(home / "cube")
    checked("bench-list", run("bench", "list", "--json")[1])
    for name, folder in (("beir", owls), ("csfcube", cube)):
        checked("bench-audit", run("bench", "audit", name, folder, "--json")[1])
    assert run("bench", "run", f"beir={owls}", "-r", "bm25", "--no-encoder", "-o", "x")[0] == 0
    assert checked("bench-manifest", run("bench", "show", "x", "--json")[1])["versions"]["aspectra"]
    assert run("bench", "export-run", "x", "-o", "x.run")[0] == 0
    measured = ["measure", "x.run", owls / "qrels.tsv", "-m", "nDCG@10", "-m", "R@5", "--json"]
    assert len(checked("measure", run(*measured)[1])["scores"]) == 2


def test_before_the_first_index(home, run):
    run("init")
    assert checked("status", run("status", "--json")[1])["index"] is None


def test_schemas_are_printed(run):
    assert run("schema")[1].split() == [*DOCUMENTS, "openapi"]
    code, out, _ = run("schema", "search")
    assert (code, json.loads(out)) == (0, json_schema("search"))
    assert json.loads(out)["$defs"]["Hit"]["required"][:3] == ["id", "rank", "title"]
    code, _, err = run("schema", "serch")
    assert code == 2
    assert "did you mean search?" in err
