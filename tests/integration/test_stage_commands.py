"""Stages on the command line, against a stand-in for an endpoint on the loopback interface."""

from __future__ import annotations

import json

import pytest

from benchmark_fixtures import lines, qrels
from conftest import PAPERS
from llm_server import Server

STEPS = ["rewrite", "agent", "citations", "feedback"]
ALL = [word for step in STEPS for word in ("--stage", step)] + ["--rerank", "pairwise"]


@pytest.fixture
def indexed(home, run, monkeypatch):
    """A library without vectors, and no proxies between us and the loopback interface."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up-for-tests-123456")
    lines = [
        json.dumps({"id": p.id, "title": p.title, "abstract": p.abstract, "year": p.year}) for p in PAPERS
    ]
    (home / "work" / "papers.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert run("init")[0] == 0
    assert run("add", "papers.jsonl")[0] == 0
    assert run("index", "--no-encoder")[0] == 0
    return run


def _model(url):
    return ["--set", "llm.model=loopback", "--set", f"llm.base_url={url}"]


def _asked(url, *more):
    return [
        "search",
        "owls, mice, documents and a title",
        "-r",
        "bm25",
        *_model(url),
        *more,
    ]


def test_every_stage_from_one_command_line(indexed):
    with Server().in_thread() as url:
        code, out, err = indexed(*_asked(url, *ALL, "--json"))
    assert code == 0, err
    found = json.loads(out)
    assert [s["step"].partition("(")[0] for s in found["steps"]] == [
        "rewrite", "agent", "citations", "feedback", "rerank",
    ]  # fmt: skip
    assert found["simulated"] is True
    assert found["steps"][0]["calls"] == 1
    assert {hit["id"] for hit in found["hits"]} <= {p.id for p in PAPERS}
    assert "Texts of papers are sent to 127.0.0.1" in err


def test_a_second_run_asks_nothing_and_a_third_needs_no_connection(indexed):
    server = Server()
    with server.in_thread() as url:
        first = indexed(*_asked(url, "--rerank", "listwise+tournament", "--jsonl"))
        calls = server.calls
        second = indexed(*_asked(url, "--rerank", "listwise+tournament", "--jsonl"))
    assert calls > 0
    assert server.calls == calls
    assert second[1] == first[1]
    third = indexed(*_asked(url, "--rerank", "listwise+tournament", "--jsonl", "--offline"))
    assert third[:2] == (0, first[1])


def test_a_plan_can_be_edited_and_run(indexed, home):
    code, out, _ = indexed("plan", "owls", "-r", "bm25", "--stage", "agent(kind=stance)", "--toml")
    assert code == 0
    assert '"agent(kind=stance)",' in out
    file = home / "work" / "plan.toml"
    file.write_text(out.replace("agent(kind=stance)", "agent(kind=stance,hops=1,each=2)"), "utf-8")
    with Server().in_thread() as url:
        code, out, err = indexed("search", "--plan-file", file, "--json", *_model(url))
    assert code == 0, err
    assert json.loads(out)["steps"][0]["calls"] == 2


@pytest.mark.parametrize(
    ("faults", "exit_code", "said"),
    [
        ({"auth+": 1.0}, 7, "refuses the key"),
        ({"quota+": 1.0}, 5, "quota"),
        ({"missing-model+": 1.0}, 7, "no such model"),
        ({"blank+": 1.0}, 7, "degraded"),
        ({"refusal+": 1.0}, 7, "first-stage order, nothing was judged"),
        ({"json+": 1.0}, 7, "that are no JSON object"),
    ],
)
def test_whatever_the_endpoint_does_the_first_order_is_printed(indexed, faults, exit_code, said):
    plain = indexed("search", "owls, mice, documents and a title", "-r", "bm25", "--format", "trec")[1]
    with Server(faults=faults).in_thread() as url:
        code, out, err = indexed(*_asked(url, "--rerank", "points", "--format", "trec"))
    assert code == exit_code, err
    assert [line.split()[2] for line in out.splitlines()] == [line.split()[2] for line in plain.splitlines()]
    assert said in err


def test_a_budget_ends_the_asking_and_not_the_answer(indexed):
    with Server().in_thread() as url:
        code, out, err = indexed(*_asked(url, "--rerank", "yes-no", "--set", "llm.budget=1call", "--jsonl"))
    assert code == 5
    assert len(out.splitlines()) >= 2
    assert "limit" in err


def test_what_is_missing_is_said_with_the_next_command(indexed):
    for more, said in (
        (["--rerank", "pairwise"], "llm.model"),
        (["--rerank", "pairwise+window"], "does not fit"),
        (["--rerank", "owlwise"], "no judge"),
        (["--stage", "agent(kind=owls)"], "known"),
        (["--stage", "owls"], "citations"),
        (["--stage", "citation"], "did you mean citations"),
        (["--stage", "agent(hops=many)"], "number"),
    ):
        code, out, err = indexed("search", "owls", "-r", "bm25", *more)
        assert (code, out) == (2, ""), more
        assert said in err, more


def test_experiments_know_stages_and_their_cost(indexed, home):
    folder = home / "set"
    lines(
        folder / "corpus.jsonl", [{"_id": f"d{n}", "title": "", "text": f"owl of kind {n}"} for n in range(9)]
    )
    lines(folder / "queries.jsonl", [{"_id": "q", "text": "owl kind"}])
    qrels(folder / "qrels.tsv", [("q", f"d{n}", n) for n in range(9)])
    source = f"beir={folder}"
    recipes = ["-r", "bm25", "-r", "bm25|rerank(method=pairwise,depth=5)"]
    code, out, err = indexed(
        "bench", "run", source, *recipes, "--no-encoder", "--oracle", "error=0", "--output", "x"
    )
    assert code == 0, err
    row = next(line for line in out.splitlines() if "pairwise" in line)
    assert "[simulated]" in row
    header = next(line for line in out.splitlines() if line.startswith("| recipe"))
    assert "calls" in header
    assert "tokens" in header


def test_the_last_search_is_exported_with_the_order_of_its_reranker(indexed):
    with Server().in_thread() as url:
        code, shown, err = indexed(*_asked(url, "--rerank", "points", "--format", "trec"))
        assert code == 0, err
        code, exported, err = indexed("export", "last", "--format", "trec", *_model(url))
    assert code == 0, err
    assert exported == shown


def test_queries_are_estimated_then_written_and_the_reader_of_first_tokens_is_made(home, run, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-made-up-for-tests-123456")
    sections = [
        {"heading": h, "text": f"{h} of owls that hunt mice at night. " * 4} for h in ("Method", "Data")
    ]
    rows = [
        {"id": p.id, "title": p.title, "abstract": p.abstract, "sections": sections}
        for p in PAPERS
        if p.abstract
    ]
    (home / "work" / "papers.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    assert run("init")[0] == 0
    assert run("add", "papers.jsonl")[0] == 0
    readers = [word for name in ("question", "method", "experiment", "first") for word in ("--reader", name)]
    assert run("index", *readers)[0] == 0
    seed = rows[0]["id"]
    code, out, _ = run("plan", "--seed", seed, "-r", "prism(aspects=method+experiment) | write")
    assert code == 0
    assert "write: at most 2 questions" in out
    assert run("similar", seed, "-r", "unit(F2F,full=first)")[0] == 0
    code, _, err = run("similar", seed, "-r", "prism(readers=prompted)")
    assert code != 0
    assert "aspectra lens run research_question" in err
    with Server().in_thread() as url:
        code, out, err = run("similar", seed, "-r", "prism | write", *_model(url), "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["simulated"] is True
    assert found["steps"][0]["questions"] == 3
