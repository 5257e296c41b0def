"""Plans and studies from files of others: what they name needs a permission; what is typed gives one."""

from __future__ import annotations

import json

import pytest

import benchmark_fixtures as made_up

pytestmark = pytest.mark.usefixtures("home")

ENCODER = "openai:m?base_url=http://127.0.0.1:1/v1"


@pytest.fixture
def indexed(home, run):
    papers = [
        {"id": f"p{n}", "title": f"Owls hunt mice {n}", "abstract": f"Owls listen, number {n}."}
        for n in range(3)
    ]
    (home / "papers.jsonl").write_text("".join(json.dumps(p) + "\n" for p in papers), "utf-8")
    assert run("init")[0] == run("add", home / "papers.jsonl")[0] == 0
    assert run("index", "--no-encoder")[0] == 0
    return run


@pytest.mark.parametrize(
    ("method", "needed"),
    [
        ("cross-encoder(model=/evil/model)", "model:/evil/model"),
        ("cross-encoder(model=some/model)", "model:some/model"),
        (f"transport(encoder='{ENCODER}')", "http://127.0.0.1:1"),
    ],
)
def test_a_model_of_a_plan_needs_a_permission(indexed, home, method, needed):
    code, out, _ = indexed("plan", "owls", "--recipe", "bm25", "--json")
    plan = json.loads(out)
    plan["steps"].append(f'rerank(method="{method}")')
    (home / "plan.json").write_text(json.dumps(plan), "utf-8")
    code, _, err = indexed("search", "--plan-file", home / "plan.json")
    assert code == 2
    assert f"aspectra config trust {needed}" in err
    assert indexed("config", "trust")[1] == ""


def test_a_model_that_is_typed_is_permitted(indexed):
    indexed("search", "owls", "--recipe", "bm25", "--rerank", "cross-encoder(model=some/model)")
    indexed("search", "owls", "--recipe", "bm25 | rerank(method='cross-encoder(model=other/model)')")
    assert indexed("config", "trust")[1].splitlines() == ["model:other/model", "model:some/model"]


def test_an_encoder_that_is_typed_is_permitted(indexed):
    _, _, err = indexed("index", "--encoder", ENCODER)
    assert "permitted" not in err  # nobody listens there, which is another matter
    assert indexed("config", "trust")[1] == "http://127.0.0.1:1\n"


def test_an_encoder_of_a_study_needs_a_permission(run, home):
    owls, out, libraries = made_up.beir(home / "owls"), home / "experiment", home / "libraries"
    again = ["bench", "run", "--output", out, "--libraries", libraries]
    code, _, err = run(*again, f"beir={owls}", "--recipe", "bm25", "--no-encoder")
    assert code == 0, err
    path = out / "experiment.json"
    held = json.loads(path.read_text("utf-8"))
    held["study"]["encoders"] = [ENCODER]
    path.write_text(json.dumps(held), "utf-8")
    code, _, err = run(*again)
    assert code == 2
    assert "aspectra config trust http://127.0.0.1:1" in err
