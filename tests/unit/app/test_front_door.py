"""``aspectra.open`` and ``aspectra.create``: the same library, the same answers as the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import get_args

import pytest

import aspectra
from aspectra.base.errors import LibraryNotFound, NoSuchPaper, UsageError
from aspectra.llm.scripted import Scripted
from aspectra.search.conditions.condition import Relation
from aspectra.search.conditions.lists import UserLists
from aspectra.search.planning.aspects import ASPECT_ROLES
from aspectra.search.query import DIRECTIONS

BIB = """@article{dense, title={Dense retrieval of papers}, year=2020, doi={10.1000/d}, author={Lovelace, A},
  abstract={Search engines match words. We train encoders for dense retrieval.}}
@article{graph, title={Graph retrieval for molecules}, year=2022, author={Li, Bo}, journal={NeurIPS},
  abstract={Molecules are graphs. Retrieval helps.}}
@article{survey, title={A survey of retrieval}, year=2023, author={Zed, Ed},
  abstract={This survey reviews retrieval of papers. We compare forty systems.}}
"""


@pytest.fixture
def library(home):
    (home / "lib.bib").write_text(BIB)
    with aspectra.create(home / "my.lib") as made:
        made.add(home / "lib.bib")
        made.index(encoders=[])
        yield made


def test_public_names_exist_and_nothing_heavy_is_loaded():
    assert aspectra.__all__
    for name in aspectra.__all__:
        assert getattr(aspectra, name) is not None
    code = "import sys, aspectra; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "msgspec", "typer", "rich", "bm25s", "lxml", "sqlite3"}


def test_adding_and_indexing_load_no_command_line(home):
    (home / "lib.bib").write_text(BIB)
    code = f"""
import sys, aspectra
with aspectra.create({str(home / "x.lib")!r}) as library:
    library.add({str(home / "lib.bib")!r}); library.index(encoders=[]); library.search("retrieval")
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"typer", "rich", "torch", "openvino"}


MARKED = "Łódź and Düsseldorf, İstanbul to Tromsø: naïve CO₂ on the Straße"
TYPED = [
    "Lodz",
    "Dusseldorf",
    "Duesseldorf",
    "istanbul",
    "tromso",
    "NAIVE",
    "CO2",
    "strasse",
    *MARKED.split(),
]


def test_words_and_names_are_found_as_they_are_typed(home):
    (home / "marked.jsonl").write_text(
        json.dumps({"id": "marked", "title": MARKED, "authors": ["Åse Sørensen", "Máire O’Brienne"]})
    )
    with aspectra.create(home / "marked.lib") as made:
        made.add(home / "marked.jsonl")
        made.index(encoders=[])
        assert [word for word in TYPED if made.search(word).ids != ["marked"]] == ["and", "to", "on", "the"]
        for name in ("Sorensen", "Sørensen", "Ase Sorensen", "OBrienne", "O'Brienne", "O’Brienne"):
            assert made.search("Lodz", authors=(name,)).ids == ["marked"], name


def test_lists_may_change_between_two_searches(library):
    assert library.search("retrieval", conditions="require venue=ml").ids == []
    library.lists = UserLists({"ml": ("NeurIPS",)})
    assert library.search("retrieval", conditions="require venue=ml").ids == ["graph"]


def test_literals_are_the_names_there_are():
    assert get_args(aspectra.Aspect) == tuple(ASPECT_ROLES)
    assert get_args(aspectra.Direction) == DIRECTIONS
    assert get_args(aspectra.Relation) == get_args(Relation)


@pytest.mark.parametrize(
    ("flags", "given"),
    [
        ([], {}),
        (["--since", "2021"], {"since": 2021}),
        (["--since", "2021-05-01"], {"since": "2021-05-01"}),
        (["--venue", "neurips"], {"venues": "neurips"}),
        (["--author", "Li", "--limit", "1"], {"authors": ["Li"], "limit": 1}),
        (["-c", "avoid kind=survey"], {"conditions": "avoid kind=survey"}),
        (
            ["-c", "exclude year=2020", "-c", "prefer author=Zed"],
            {"conditions": ["exclude year=2020", "prefer author=Zed"]},
        ),
        (["--instruction", "never a survey"], {"instruction": "never a survey"}),
        (["--literal"], {"literal": True}),
        (["-r", "bm25", "--stage", "feedback(papers=1)"], {"recipe": "bm25 | feedback(papers=1)"}),
        (["--all-versions", "--evidence", "2"], {"versions": "all", "evidence": 2}),
    ],
)
def test_python_and_command_line_make_one_plan(run, library, home, flags, given):
    text = "retrieval of papers, but not a survey"
    whole = json.loads(run("search", text, *flags, "--json", "--library", home / "my.lib")[1])
    ranking = library.search(text, **given)
    assert whole["plan"]["hash"] == ranking.plan.hash
    assert [hit["id"] for hit in whole["hits"]] == ranking.ids
    assert library.plan(text, **given).hash == ranking.plan.hash


def test_similar_and_the_command_line_make_one_plan(run, library, home):
    flags = ["--direction", "builds-on", "--text", "molecules"]
    whole = json.loads(run("similar", "10.1000/d", *flags, "--json", "--library", home / "my.lib")[1])
    ranking = library.similar("10.1000/d", direction="builds-on", text="molecules")
    assert whole["plan"]["hash"] == ranking.plan.hash
    assert "dense" not in ranking.ids


def test_what_was_indexed_later_is_found(library, home):
    assert "owl" not in library.search("owls").ids
    (home / "owl.bib").write_text("@article{owl, title={Owls}, abstract={Owls hunt at night.}}")
    reports = []
    assert [r.added for r in library.add(home / "owl.bib", report=reports.append)] == [1]
    assert len(reports) == 1
    assert library.index().papers == 4
    assert library.search("owls").ids == ["owl"]
    assert library.remove("owl") == 1
    assert len(library) == 3


def test_index_settings_stay_with_the_library(library):
    assert library.index(k1=0.9, stemmer="", chunks=["60w"]).changed
    assert library.status()["index"]["bm25"] == {"k1": 0.9, "b": 0.75, "method": "lucene", "stemmer": "none"}
    assert library.status()["index"]["chunks"] == ["60w"]
    assert not library.index().changed
    with pytest.raises(UsageError, match="chunk_size"):
        library.index(chunk_size="60w")


def test_a_paper_is_shown_linked_and_exported(library):
    paper = library.show("Dense retrieval of papers")
    assert (paper.id, paper.year) == ("dense", 2020)
    assert library.links("dense") == {"versions": [], "cites": [], "cited_by": []}
    assert library.export([paper], "ris").startswith("TY  - ")
    assert library.export("dense", "ris") == library.export([paper], "ris")
    assert library.export(["dense", "graph"], "bibtex").count("@") == 2
    assert library.export(format="jsonl").count("\n") == 3
    ranking = library.search("retrieval", limit=2)
    assert library.export(ranking, "trec").count("\n") == 2
    assert [json.loads(line)["id"] for line in library.export(ranking, "jsonl").splitlines()] == ranking.ids
    with pytest.raises(UsageError, match="trec is a format for rankings"):
        library.export(["dense"], "trec")
    with pytest.raises(NoSuchPaper):
        library.show("nobody")


@pytest.mark.parametrize(
    "use",
    [
        lambda library: library.search("graphs"),
        len,
        lambda library: library.show("graph"),
        lambda library: library.add("lib.bib"),
        lambda library: library.marks.tag("graph", add=["x"]),
        lambda library: library.__enter__(),
    ],
)
def test_a_closed_library_says_so(library, use):
    library.close()
    with pytest.raises(UsageError, match=r"my\.lib is closed"):
        use(library)


def test_wrong_arguments_are_refused_with_a_suggestion(library):
    with pytest.raises(UsageError) as error:
        library.search("owls", sinse=2020)
    assert "did you mean since" in str(error.value)
    with pytest.raises(UsageError, match="since is 'soon'"):
        library.search("owls", since="soon")
    with pytest.raises(UsageError, match="did you mean hybrid"):
        library.search("owls", recipe="hybird")


def test_a_step_with_a_model_uses_the_library_s(library, home):
    plan = library.plan("retrieval", recipe="bm25 | rerank(method=points)")
    with pytest.raises(UsageError, match="no"):
        library.run(plan)
    model = Scripted(["3"] * 50)
    with aspectra.open(home / "my.lib", model=model) as opened:
        assert set(opened.run(plan).ids) == set(library.search("retrieval", recipe="bm25").ids)


def test_a_missing_library_names_the_command(home):
    with pytest.raises(LibraryNotFound):
        aspectra.open(home / "nowhere")
