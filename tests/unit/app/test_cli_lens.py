"""The ``lens`` commands, against a loopback server whose answers are *simulated*."""

from __future__ import annotations

import json

import pytest

from aspectra.papers.library.store import Store
from conftest import PAPERS
from llm_server import Server

PROMPT = """
about = "whether it is about animals"
placeholders = ["paper", "answer"]
user = "{{paper}} Animals? {{answer}}"
[schema]
enum = ["yes", "no"]
"""


@pytest.fixture(params=[0, 2], ids=["library", "collection"])
def world(home, run, monkeypatch, request):
    with Store.create(home / "lib", shards=request.param) as library, library.writing("add") as writer:
        writer.add(PAPERS)
    monkeypatch.setenv("ASPECTRA_LIBRARY", str(home / "lib"))
    monkeypatch.setenv("ASPECTRA_OFFLINE", "")
    (home / "animals.toml").write_text(PROMPT)
    server = Server()
    with server.in_thread() as url:

        def call(*words, model=False):
            more = ["--set", "llm.model=loopback", "--set", f"llm.base_url={url}"] if model else []
            return run(*words, *more)

        call.server, call.home = server, home
        yield call


def test_from_a_prompt_file_to_a_condition(world):
    code, out, err = world("lens", "add", "animals", "--prompt", world.home / "animals.toml")
    assert code == 0, err
    assert "a label for each paper" in out
    code, out, _ = world("lens", "estimate", "animals")
    assert code == 0
    assert "4 papers to ask about" in out
    assert "nothing but a title" in out
    assert "money unknown" in out
    assert world.server.calls == 0
    code, out, _ = world("lens", "run", "animals", model=True)
    assert code == 0
    assert "4 new values" in out
    assert "*simulated*" in out
    assert world.server.calls == 4
    assert world("index", "--no-encoder", "-q")[0] == 0
    code, out, err = world("search", "owls mice documents", "-c", "require animals=yes", "--json")
    assert code == 0, err
    yes = {hit["id"] for hit in json.loads(out)["hits"]}
    shown = [json.loads(line) for line in world("lens", "show", "animals", "--jsonl")[1].splitlines()]
    assert yes <= {row["id"] for row in shown if row["value"] == "yes"}
    assert all(row["simulated"] for row in shown if row["value"])


def test_a_text_lens_is_searched_and_its_simulation_is_said(world):
    assert world("lens", "add", "failure-mode")[0] == 0
    assert world("lens", "run", "failure_mode", model=True)[0] == 0
    assert world("index", "--no-encoder", "-q")[0] == 0
    code, _, err = world("search", "text", "--lens", "failure-mode")
    assert code == 0, err
    assert "*simulated*" in err
    _, out, _ = world("plan", "what goes wrong with owls", "-r", "lensed")
    assert "lens-failure_mode@bm25" in out


def test_a_budget_that_ends_is_an_exit_code_and_the_rest_is_kept(world):
    world("lens", "add", "stance")
    code, out, err = world("lens", "run", "stance", "--set", "llm.budget=3calls", model=True)
    assert code == 5
    assert "3 new values" in out
    assert "1 paper not answered" in out
    assert "run the same command again" in err
    code, out, _ = world("lens", "run", "stance", "--json", model=True)
    assert code == 0
    assert json.loads(out)["values"] == 1
    assert world.server.calls == 4


def test_money_needs_a_price_and_has_one_in_the_price_file(world):
    world("lens", "add", "stance")
    code, _, err = world("lens", "run", "stance", "--set", "llm.budget=1.5", model=True)
    assert code == 2
    assert "no price" in err
    prices = world.home / "config" / "aspectra" / "prices.toml"
    prices.parent.mkdir(parents=True, exist_ok=True)
    prices.write_text('currency = "EUR"\n[models.loopback]\ninput = 1.0\noutput = 2.0\n')
    code, out, _ = world("lens", "estimate", "stance", "--json", model=True)
    assert code == 0
    assert json.loads(out)["cost"]["money"] > 0
    assert world.server.calls == 0  # an estimate asks nothing
    code, out, _ = world("lens", "run", "stance", "--set", "llm.budget=1.5", model=True)
    assert code == 0
    assert " EUR" in out


def test_a_pilot_asks_about_a_few_and_keeps_them(world):
    world("lens", "add", "stance")
    code, out, err = world("lens", "estimate", "stance", "--pilot", "3", model=True)
    assert code == 0, err
    assert "pilot of 3 papers" in err
    assert world.server.calls == 2  # one of the three has only a title
    assert "2 papers to ask about" in out


def test_offline_opens_no_connection_and_says_so(world):
    world("lens", "add", "stance")
    code, out, err = world("lens", "run", "stance", "--offline", model=True)
    assert code == 7
    assert "offline" in err
    assert "4 papers not answered" in out
    assert world.server.calls == 0


def test_without_a_model_nothing_is_asked(world):
    world("lens", "add", "stance")
    code, _, err = world("lens", "run", "stance")
    assert code == 2
    assert "no language model is named" in err
    assert "llm.model" in err


def test_a_changed_prompt_says_what_becomes_of_the_old_values(world):
    world("lens", "add", "animals", "--prompt", world.home / "animals.toml")
    world("lens", "run", "animals", model=True)
    (world.home / "animals.toml").write_text(PROMPT.replace("Animals?", "Any animals?"))
    assert "something else by now" in world("lens", "status", "animals")[1]
    _, out, _ = world("lens", "add", "animals", "--prompt", world.home / "animals.toml")
    assert "4 values under the old prompt or schema will not be mixed in" in out
    out = world("lens", "status")[1]
    assert "0 of 5 papers have a label" in out
    assert "5 values of an earlier prompt" in out
    assert world("lens", "run", "animals", model=True)[0] == 0
    assert world.server.calls == 8


def test_a_lens_that_cannot_be_used_is_said_by_status_and_list(world):
    from aspectra.views.prompted.definition import PromptedLens, define

    with Store(world.home / "lib") as library, library.writing("lens") as writer:
        define(library, writer, PromptedLens("broken", "user = ", model="loopback"))
    world("lens", "add", "stance")
    code, out, _ = world("lens", "status")
    assert code == 0
    assert "lens broken: the prompt of the lens 'broken' is not valid TOML" in out
    assert "lens stance" in out
    assert "its prompt cannot be used" in world("lens", "list")[1]
    assert world("lens", "run", "broken", model=True)[0] == 2
    code, out, _ = world("lens", "add", "broken", "--prompt", world.home / "animals.toml")
    assert code == 0
    assert "Added the lens broken" in out
    assert world("lens", "remove", "broken")[0] == 0


def test_another_model_is_refused_unless_it_is_meant(world):
    world("lens", "add", "stance")
    assert world("lens", "run", "stance", model=True)[0] == 0
    code, _, err = world(
        "lens", "run", "stance", "--set", "llm.model=other", "--set", "llm.base_url=http://127.0.0.1:9/v1"
    )
    assert code == 2
    assert "not mixed" in err
    assert "--switch-model" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lens", "add", "nonsense"], "no built-in prompt"),
        (["lens", "add", "stance", "--prompt", "missing.toml"], "cannot be read"),
        (["lens", "add", "language"], "something else is called so"),
        (["lens", "run", "stance", "--set", "llm.model=m"], "no prompted lens"),
        (["lens", "status", "stance"], "no prompted lens"),
        (["lens", "estimate", "stance"], "no prompted lens"),
        (["lens", "remove", "stance"], "no prompted lens"),
    ],
)
def test_what_cannot_be_done_is_said_in_three_lines(world, words, said):
    code, _, err = world(*words)
    assert code == 2
    assert said in err
    assert "next:" in err or "why:" in err


def test_a_schema_file_of_its_own(world):
    (world.home / "n.json").write_text('{"type": "integer", "minimum": 1, "maximum": 5}')
    code, out, _ = world(
        "lens", "add", "rating", "--prompt", world.home / "animals.toml", "--schema", world.home / "n.json"
    )
    assert code == 0
    assert "a number for each paper" in out
    (world.home / "n.json").write_text('{"type": "integer", "minimum": 5, "maximum": 1}')
    code, _, err = world(
        "lens", "add", "rating", "--prompt", world.home / "animals.toml", "--schema", world.home / "n.json"
    )
    assert code == 2
    assert "no number lies between" in err


def test_the_local_style_lens_is_added_applied_and_removed(world):
    assert "needs no model" in world("lens", "add", "style")[1]
    assert world("index", "--no-encoder", "-q")[0] == 0
    assert "in use" in world("lens", "list")[1]
    code, out, err = world("search", PAPERS[0].abstract, "-r", "hand", "--json")
    assert code == 0, err
    assert json.loads(out)["hits"][0]["id"] == "owl"
    assert world("search", "Owls listen. They strike.", "--lens", "style")[0] == 0
    assert world("lens", "remove", "style", "--values")[0] == 0
    world("index", "-q")
    code, _, err = world("search", "owls", "-r", "hand")
    assert code == 6
    assert "aspectra lens add style" in err


def test_room_for_thinking_stays_until_it_is_changed(world):
    world("lens", "add", "stance", "--thinking", "900")
    world("lens", "add", "stance")
    world.server.keep_bodies = True
    world("lens", "run", "stance", model=True)
    assert {body["max_tokens"] for body in world.server.bodies} == {160 + 900}


def test_removing_a_lens_keeps_its_values_unless_told(world):
    world("lens", "add", "stance")
    world("lens", "run", "stance", model=True)
    assert world("lens", "remove", "stance")[0] == 0
    world("lens", "add", "stance")
    assert "4 papers have a text" not in world("lens", "status", "stance")[1]
    world("lens", "run", "stance", model=True)
    assert world.server.calls == 4
    assert world("lens", "remove", "stance", "--values")[0] == 0
    world("lens", "add", "stance")
    world("lens", "run", "stance", model=True)
    assert world.server.calls == 4  # and even then the journal answers


def test_an_endpoint_that_answers_nonsense_is_counted(world):
    world.server.ignored = frozenset({"response_format"})
    world("lens", "add", "stance")
    code, out, _ = world("lens", "run", "stance", model=True)
    assert code == 0
    assert "12 malformed replies" in out
    assert "4 papers without a value: malformed" in out
    assert "4 papers without a value: malformed" in world("lens", "status", "stance")[1]
    assert "0 papers to ask about" in world("lens", "estimate", "stance")[1]
    assert "4 papers to ask about" in world("lens", "estimate", "stance", "--failed")[1]


def test_the_model_reads_the_question_where_the_setting_says_so(world):
    assert world("index", "--no-encoder", "-q")[0] == 0
    asked = ("search", "owls in a text, no surveys")
    assert world(*asked, model=True)[0] == 0
    assert world.server.calls == 0  # off unless asked for
    code, out, err = world(*asked, "--set", "read.with=model", model=True)
    assert code == 0, err
    assert world.server.calls == 1
    assert "the question was read by loopback too: 1 call" in err
    assert "exclude kind=survey" in out
    assert "loopback (simulated) reads “text” in it, which is no condition" in out
    code, out, err = world(*asked, "--set", "read.with=model")
    assert code == 0
    assert "the rules alone did: no language model is named" in out
    assert world("config", "set", "read.with", "both")[0] == 2


def test_a_project_makes_no_question_go_to_a_model_without_permission(world, monkeypatch):
    assert world("index", "--no-encoder", "-q")[0] == 0
    (world.home / "work").mkdir(exist_ok=True)
    monkeypatch.chdir(world.home / "work")
    (world.home / "work" / "aspectra.toml").write_text('[read]\nwith = "model"\n')
    code, out, _ = world("search", "owls in a text", model=True)
    assert (code, world.server.calls) == (0, 0)
    assert "the rules alone did" in out
