"""Sets that are built from real corpora are those that were shipped with them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from aspectra.app.library import create_library
from aspectra.app.main import main
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.construction.build import build_set
from aspectra.lab.construction.protocol import BuildRecipe
from aspectra.lab.runs.rows import read_rows
from long import LONG


def _built(shared, tmp_path, folder, recipe, *options):
    place = shared / "data" / folder
    if not place.is_dir():
        pytest.skip(f"{folder} is not here")
    with create_library(tmp_path / "library") as library:
        library.add(place / "corpus.jsonl.zst")
        return build_set(
            BuildRecipe.named(recipe).changed(options), library.store, tmp_path / "made"
        ).benchmark


def test_authorship_is_that_of_the_shipped_set(shared, tmp_path):
    place = shared / "data" / "style-authorship"
    shipped = BENCHMARKS.get("obliq")(place)
    rows = [
        {"_id": name, "group": row["author"], "part": part}
        for _, row in read_rows(place / "authors.jsonl.zst")
        for part, names in row["novels"].items()
        for name in names
    ]
    (tmp_path / "authors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = [
        f"groups.file={tmp_path / 'authors.jsonl'}",
        "groups.queries=0",
    ]  # all: which were drawn is not known
    made = _built(shared, tmp_path, "style-authorship", "authorship", *given)
    for topic in shipped.topics:
        assert made.qrels["gold"][topic.id] == shipped.qrels["gold"][topic.id]
        assert made.excluded[topic.id] == shipped.excluded[topic.id]
    assert len(shipped.topics) == 135


@pytest.mark.parametrize("name", ["tdm", "kw", "med"] if LONG else ["kw"])
def test_shared_labels_are_those_of_the_shipped_set(shared, tmp_path, name):
    folder = f"aspect-pairs/{name}"
    options = [f"labels.file={shared / 'data' / folder / 'labels.jsonl.zst'}"]
    options += ["labels.weights={background = 2}"] if name == "med" else []
    made = _built(shared, tmp_path, folder, "shared-labels", *options).qrels["gold"]
    shipped = BENCHMARKS.get("aspect-pairs")(shared / "data" / folder, most="0").qrels["gold"]
    pairs = [
        {(q, doc): grade for q in made.keys() & shipped for doc, grade in one[q].items() if grade > 0}
        for one in (made, shipped)
    ]
    if name == "med":  # families of headings were made by hand
        assert len(pairs[0].keys() & pairs[1]) >= 0.95 * len(pairs[0].keys() | pairs[1])
    else:
        assert made.keys() == shipped.keys()
        assert pairs[0] == pairs[1]


@pytest.mark.parametrize(
    ("direction", "queries", "enough"), [("citing", 320, 124), ("cited", 487, 136)][: 2 if LONG else 1]
)
def test_no_title_of_a_cited_paper_is_left(shared, tmp_path, direction, queries, enough):
    links = shared / "data" / "acl-fulltext" / f"qrels_{direction}.tsv.gz"
    options = [
        f"graph.links={links}",
        f"graph.direction={'references' if direction == 'cited' else 'citations'}",
    ]
    made = _built(shared, tmp_path, "acl-fulltext", "citation-pairs", *options)
    assert len(made.topics) <= enough  # of 10 relevant documents or more, less those that lose most sections
    card = json.loads((tmp_path / "made" / "set" / "card.json").read_text())
    found = {step["step"]: step["found"] for step in card["steps"]}
    assert found["graph"]["queries with at least 1, 2, 5, 10, 20 relevant papers"].startswith(f"{queries}, ")
    assert found["unlink"]["pairs"] > 3_500
    assert "pairs with the whole title in the text" not in found["unlink"]


def test_conditions_on_the_language_are_those_of_the_metadata(shared, tmp_path):
    place = shared / "data" / "attribute-docs"
    held = {row["_id"]: row for _, row in read_rows(place / "corpus_meta.jsonl.zst")}
    rows = [json.dumps({"_id": name, "group": row["subject"]}) + "\n" for name, row in held.items()]
    (tmp_path / "subjects.jsonl").write_text("".join(rows))
    options = [
        "dimension=language",
        "smallest=2",
        "inside=1",
        "outside=1",
        f"file={tmp_path / 'subjects.jsonl'}",
    ]
    made = _built(shared, tmp_path, "attribute-docs", "conditions", *(f"conditions.{one}" for one in options))
    assert len({topic.text for topic in made.topics}) >= 280  # subjects with documents in both
    pairs = [
        held[document]["language"] == topic.labels["condition"]
        for topic in made.topics
        for document in made.qrels["instructed"][topic.id]
    ]
    assert sum(pairs) >= 0.99 * len(pairs)


def test_the_tutorial_runs_as_it_is_printed(shared, tmp_path, monkeypatch, capsys, home):
    packed = shared / "data" / "unarxive-sample" / "papers.jsonl.zst"
    if not packed.is_file():
        pytest.skip("unarxive-sample is not here")
    page = (Path(__file__).parents[2] / "docs" / "building.md").read_text("utf-8")
    commands = [
        line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()
    ]
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1].splitlines()
    monkeypatch.chdir(tmp_path)
    rows = (json.dumps(row) + "\n" for _, row in read_rows(packed))
    (tmp_path / "papers.jsonl").write_text("".join(rows), "utf-8")
    said = []
    for line in commands:
        program, *words = shlex.split(line)
        assert program == "aspectra"
        assert main(words) == (1 if "--estimate" in words else 0), line
        said += capsys.readouterr().out.splitlines()
    assert len(commands) == 5
    printed = [line for line in shown if line.startswith(("| graph", "| unlink", "| sample", "| corpus"))]
    assert [line for line in printed if line not in said] == []
    (measured,) = (line.split(" | ") for line in said if line.startswith("| bm25"))
    assert " | ".join([measured[0], measured[1], measured[4], measured[5]]) + " |" == shown[-1]
