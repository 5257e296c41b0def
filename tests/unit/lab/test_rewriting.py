"""Documents, questions and instructions that a (scripted) model writes for a benchmark under construction."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from aspectra.base.errors import UsageError
from aspectra.lab.construction.build import build_set
from aspectra.lab.construction.protocol import BuildRecipe
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

PAPERS = [
    Paper(
        f"p{n}", f"Owls of region {n}", f"We counted the owls of region {n} at night and found many of them."
    )
    for n in range(4)
]
KINDS = ("blog post", "forum post")


@pytest.fixture
def library(tmp_path):
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(PAPERS)
        yield store


def answer(
    request, *, rewritten="Friends, on a {} about place {} there are lots of birds.", opposite="Not a {}."
):
    """What a model that does what it is told replies; *simulated*."""
    said, asked = request.messages[0].content, request.messages[-1].content
    place = re.search(r"region (\d)", asked)
    if "anew as another kind" in said:
        kind = re.search(r"wanted: ([a-z ]+)", asked).group(1)
        return json.dumps({"query": rewritten.format(kind, place.group(1))})
    if "given the title" in said:
        return json.dumps({"reason": "birds", "query": f"How many birds are in place {place.group(1)}?"})
    if "two sentences each" in said:
        kind = re.search(r"of this kind: ([a-z ]+)", asked).group(1)
        return json.dumps(
            {"instructed": f"Which birds are there? Only a {kind}.", "reversed": opposite.format(kind)}
        )
    return json.dumps({"query": "Trees stand in many places and lose their leaves."})


def built(store, folder, *settings_, script=answer, **more):
    recipe = BuildRecipe.named("rewritten-conditions").changed(settings_)
    return build_set(recipe, store, folder, model=Scripted(script), **more)


def test_a_paper_is_written_as_other_kinds_and_each_kind_is_asked_for(library, tmp_path):
    made = built(library, tmp_path / "made")
    bench = made.benchmark
    assert {t.labels["condition"] for t in bench.topics} == {"research abstract", *KINDS}
    assert len(bench.topics) == 4 * 3
    assert len({topic.text for topic in bench.topics}) == 4  # one wording for all conditions of a paper
    texts = {one.id: one.text for one in made.made.texts.values()}
    for topic in bench.topics:
        place, kind = topic.text[-2], topic.labels["condition"]
        meets, breaks = bench.qrels["instructed"][topic.id], bench.qrels["reversed"][topic.id]
        (wanted,) = [doc for doc, grade in meets.items() if grade]
        assert texts.get(wanted, "research abstract p" + place).find(kind) >= 0
        assert wanted == f"p{place}" or f"place {place}" in texts[wanted]
        assert sum(breaks.values()) == 2
        assert set(bench.qrels["original"][topic.id]) == {*meets, *breaks}
        (negative,) = [doc for doc in meets if doc.startswith("negative:")]
        assert meets[negative] == breaks[negative] == 0
        assert "Trees stand" in texts[negative]
        assert topic.instructions["reversed"] == f"Not a {kind}."
    card = (made.folder / "README.md").read_text("utf-8")
    assert "*simulated*" in card
    assert "12 scripted" in card
    assert "length: of 36 pairs" in card  # 12 queries: two other kinds, and the negative


def test_groups_of_a_file_get_the_kinds_that_they_lack(library, tmp_path):
    rows = [
        {"_id": "p0", "group": "owls", "value": "blog post"},
        {"_id": "p1", "group": "owls", "value": "manual"},
        {"_id": "absent", "group": "owls", "value": "manual"},
    ]
    path = tmp_path / "groups.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    made = built(library, tmp_path / "made", f"rewrite.file={path}", until="conditions")
    assert {draft.labels["condition"] for draft in made.made.drafts} == {
        ("blog post",),
        ("manual",),
        ("forum post",),
    }
    assert made.made.facts["placed"][:2] == [["p0", "owls", "blog post"], ["p1", "owls", "manual"]]
    assert len(made.made.texts) == 1
    assert made.steps[0].dropped["documents that are not in the library"] == 1


@pytest.mark.parametrize(
    ("script", "said"),
    [
        # The same words in another order, too few words, prose: none is a document written anew.
        (
            lambda r: answer(
                r, rewritten="At night we found many of them and counted the owls of the region."
            ),
            "documents",
        ),
        (lambda r: answer(r, rewritten="A {}."), "documents"),
        (lambda r: "Here you are." if "anew" in r.messages[0].content else answer(r), "documents"),
        (lambda r: "{}" if "title" in r.messages[0].content else answer(r), "queries"),
        (lambda r: answer(r, opposite="Which birds are there?  only a {}."), "queries"),
    ],
)
def test_a_reply_that_does_not_do_what_was_asked_counts_as_none(library, tmp_path, script, said):
    with pytest.raises(UsageError, match=f"of [0-9]+ {said} got no usable reply"):
        built(library, tmp_path / "made", script=script)


def test_a_build_in_pieces_gives_the_same_bytes(library, tmp_path):
    def bytes_of(folder):
        return {
            path.name: path.read_bytes() for path in sorted((folder / "set").rglob("*")) if path.is_file()
        }

    whole = built(library, tmp_path / "whole")
    for step in ("rewrite", "conditions", "write", "instruct", "negatives"):
        built(library, tmp_path / "pieces", until=step)
    assert bytes_of(built(library, tmp_path / "pieces").folder.parent) == bytes_of(whole.folder.parent)
    # Whoever has the steps needs no answer of the model, and no text of the set.
    shutil.copytree(tmp_path / "whole" / "steps", tmp_path / "passed" / "steps")
    passed = built(library, tmp_path / "passed", script=lambda request: 1 / 0)
    assert bytes_of(passed.folder.parent) == bytes_of(whole.folder.parent)


def test_conditions_on_values_need_a_file_or_written_documents(library, tmp_path):
    recipe = BuildRecipe.named("conditions").changed(["conditions.dimension=value"])
    with pytest.raises(UsageError, match="from a file, or from the step rewrite"):
        build_set(recipe, library, tmp_path / "made")
