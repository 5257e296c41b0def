"""Options about aspects: terms, sentences and roles of a seed, from the command line to the plan."""

from __future__ import annotations

import json

import pytest

import aspectra
from aspectra.views.encoders.protocol import ENCODERS
from aspectra.views.terms import view as heads
from token_encoder import TokenEncoder, made_up_head

pytestmark = pytest.mark.usefixtures("home")

PAPERS = [
    {
        "id": "seed",
        "title": "Birds at night",
        "abstract": "Birds migrate. We train a convolutional network on spectrograms. Accuracy rises.",
    },
    {
        "id": "alike",
        "title": "Whales at sea",
        "abstract": "Whales sing. We train a convolutional network on spectrograms. Nothing came.",
    },
    {
        "id": "topic",
        "title": "Birds again",
        "abstract": "Birds migrate. Volunteers walk along and write lists. Fewer came.",
    },
]
ROLES = ["background", "method", "result"]


@pytest.fixture
def library(run, home, monkeypatch):
    encoder = TokenEncoder()
    monkeypatch.setattr(heads, "_shipped", lambda: (made_up_head(encoder),))
    monkeypatch.setitem(ENCODERS._members, "token", lambda argument: encoder)
    path = home / "papers.jsonl"
    for paper in PAPERS:  # the source's own roles
        ends = [n + 1 for n, sign in enumerate(paper["abstract"]) if sign == "."]
        starts = [0, *(end + 1 for end in ends[:-1])]
        paper["sentences"] = list(zip(starts, ends, ROLES, strict=True))
    path.write_text("".join(json.dumps(p) + "\n" for p in PAPERS), "utf-8")
    assert run("init")[0] == 0
    assert run("add", path)[0] == 0
    assert run("index", "--encoder", "token", "--chunks", "none")[0] == 0


def plan(run, *given):
    code, out, err = run("similar", "seed", *given, "--plan", "--json")
    assert code == 0, err
    return json.loads(out)["steps"][0]


@pytest.mark.usefixtures("library")
def test_results_and_plans_print_the_terms_of_the_seed(run):
    code, out, _ = run("similar", "seed", "--same", "method")
    assert code == 0
    assert "terms  method: convolutional network, spectrograms" in out.splitlines()
    assert "terms of method: convolutional network" in run("similar", "seed", "--plan")[1]
    assert "terms of" not in run("search", "birds", "--plan")[1]


@pytest.mark.usefixtures("library")
def test_commas_separate_aspects_before_a_colon_and_terms_behind_it(run):
    made = plan(run, "--same", "background, method: volunteers, lists", "--same", "result")
    assert {p["aspect"] for p in made["probes"] if "aspect" in p} == {"background", "method", "result"}
    assert "method: volunteers, lists" in made["terms"]
    assert {p["text"] for p in made["probes"] if p.get("aspect") == "method"} == {"volunteers, lists"}


@pytest.mark.usefixtures("library")
def test_sentences_are_named_by_the_numbers_that_show_prints(run):
    code, out, _ = run("show", "seed", "--sentences")
    assert code == 0
    assert "  2 [15–64 method] We train a convolutional network on spectrograms." in out.splitlines()
    spans = json.loads(run("show", "seed", "--sentences", "--json")[1])["sentence_spans"]
    assert [(s["number"], s["role"]) for s in spans] == [(1, "background"), (2, "method"), (3, "result")]
    made = plan(run, "--same-sentences", "2,3", "--same-sentences", "3")
    assert {tuple(p["sentences"]) for p in made["probes"] if "sentences" in p} == {(2, 3)}
    assert (
        json.loads(run("similar", "seed", "--same-sentences", "2", "--json")[1])["hits"][0]["id"] == "alike"
    )


@pytest.mark.usefixtures("library")
def test_a_role_is_corrected_for_one_search(run):
    made = plan(run, "--same", "method", "--role", "1=method,2=background")
    assert {
        tuple(p["sentences"]) for p in made["probes"] if p.get("aspect") == "method" and "sentences" in p
    } == {(1,)}


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("similar", "seed", "--same-sentences", "two"), "aspectra show ID --sentences"),
        (("similar", "seed", "--same-sentences", "9"), "aspectra show seed --sentences"),
        (("similar", "seed", "--role", "2=method"), "--same method --role 3=method"),
        (("similar", "seed", "--same", "method", "--role", "method"), "--role 3=method"),
        (("similar", "seed", "alike", "--same-sentences", "2"), "similar ID --same-sentences"),
        (("search", "birds", "--same-sentences", "2"), "similar ID --same-sentences"),
        (("similar", "seed", "--same", "method:"), "method: gaussian splatting"),
        (("similar", "seed", "--same-sentences", "2", "-r", "bm25"), "-r guided"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_next_command(run, given, said):
    code, _, err = run(*given)
    assert code == 2
    assert said in err


@pytest.mark.usefixtures("library")
def test_python_takes_the_same(home):
    (database,) = home.rglob("library.db")
    with aspectra.open(database.parent) as held:
        asked = {"same": "method: volunteers", "same_sentences": 2, "roles": "1=method"}
        query = held.query(seeds=["seed"], **asked)
        assert (query.same, query.same_sentences, query.roles) == (
            ("method: volunteers",),
            (2,),
            ("1=method",),
        )
        assert held.similar("seed", same="method: volunteers, lists").ids[0] == "topic"


@pytest.mark.usefixtures("library")
def test_an_aspect_is_defined_listed_and_removed(run):
    given = ("--as", "where they were", "--example", "They live at sea.", "--example", "In a forest.")
    code, out, err = run("aspect", "add", "place of study", *given)
    assert (code, "The aspect place of study is defined." in out) == (0, True), err
    assert "+0.25 × sentences@token" in run("similar", "seed", "--same", "place-of-study", "--plan")[1]
    rows = json.loads(run("aspect", "list", "--json")[1])["aspects"]
    assert rows[-1] == {
        "aspect": "place of study",
        "definition": "where they were",
        "examples": ["They live at sea.", "In a forest."],
    }
    assert "place of study  where they were  2" in run("aspect", "list")[1]
    code, _, err = run("aspect", "remove", "place")
    assert code == 2 and "the library has no aspect 'place'" in err  # noqa: PT018
    assert run("aspect", "remove", "place of study")[0] == 0
    assert len(json.loads(run("aspect", "list", "--json")[1])["aspects"]) == 3
