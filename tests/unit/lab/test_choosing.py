"""Groups parted by what they mean and chosen by their fields; queries gone over, odd answers looked at."""

from __future__ import annotations

import csv
import json

import pytest

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.construction.protocol import Made, QueryDraft, Workbench
from aspectra.lab.construction.steps.choosing import ChooseOptions, ConsolidateOptions, choose, consolidate
from aspectra.lab.construction.steps.latent import group_id
from aspectra.lab.construction.steps.review import ScreenOptions, screen
from aspectra.lab.construction.steps.write import AskingOptions, harden
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

FIELDS = {"p0": "optics", "p1": "logic", "p2": "algebra", "p3": "optics", "p4": "optics", "p5": "logic"}


@pytest.fixture
def bench(tmp_path):
    with Store.create(tmp_path / "library") as store:
        with store.writing("add") as writer:
            writer.add(
                Paper(name, f"Title {name}", "Words.", metadata={"field": field})
                for name, field in FIELDS.items()
            )
        yield Workbench(store, 1, folder=tmp_path / "made")


def made_of(groups, **facts):
    drafts = tuple(QueryDraft(name, f"query {name}") for name in groups)
    gold = {name: dict.fromkeys(sorted(ids), 1) for name, ids in groups.items()}
    return Made(tuple(FIELDS), drafts, {"gold": gold}, facts=facts)


SAID = {
    "g1": {"Owls are loud": ["p0", "p1"], "owls make noise": ["p2"], "Owls are quiet": ["p3"]},
    "g2": {"Mice sleep": ["p4", "p5"]},
}
GROUPS = {name: [p for own in held.values() for p in own] for name, held in SAID.items()}


def labels(request, **changed):
    names = {"Owls are loud": "loud owls", "owls make noise": "Loud owls", "Owls are quiet": "Owls are quiet"}
    return json.dumps({"labels": names | changed})


def test_a_group_is_parted_by_what_its_values_mean(bench):
    bench.model = Scripted(labels)
    found = consolidate.run(made_of(GROUPS, said=SAID), bench, ConsolidateOptions(least=2))
    loud, mice = group_id(["p0", "p1", "p2"]), group_id(["p4", "p5"])
    assert found.qrels["gold"] == {loud: dict.fromkeys(("p0", "p1", "p2"), 1), mice: {"p4": 1, "p5": 1}}
    drafts = {one.id: one for one in found.drafts}
    assert drafts[loud].text == "loud owls"
    assert drafts[loud].context.splitlines() == ["Owls are loud", "owls make noise", "loud owls"]
    assert drafts[mice].text == "Mice sleep"
    assert found.facts["said"] == {loud: dict(list(SAID["g1"].items())[:2]), mice: SAID["g2"]}
    assert bench.found["calls"] == 1  # a group of one value is asked nobody about
    assert bench.found["groups more by parting"] == 1
    assert bench.dropped["groups of too few papers"] == 1


@pytest.mark.parametrize("reply", ["no JSON", '{"labels": ["a"]}', '{"labels": {"Owls are loud": "a"}}'])
def test_a_reply_without_every_value_is_none(bench, reply):
    bench.model = Scripted(lambda request: reply)
    with pytest.raises(UsageError, match="1 of 1 groups got no usable reply"):
        consolidate.run(made_of(GROUPS, said=SAID), bench, ConsolidateOptions())
    found = consolidate.run(made_of(GROUPS, said=SAID), bench, ConsolidateOptions(least=2, lost=1))
    assert list(found.qrels["gold"]) == [group_id(["p4", "p5"])]


def test_without_values_there_is_nothing_to_part(bench):
    bench.model = Scripted(labels)
    with pytest.raises(UsageError, match="no values of a lens"):
        consolidate.run(made_of(GROUPS), bench, ConsolidateOptions())


def test_mixed_groups_are_chosen_and_new_fields_come_first(bench):
    groups = {"three": ["p0", "p1", "p2"], "two": ["p1", "p4"], "also": ["p2", "p3"], "one": ["p3", "p4"]}
    found = choose.run(made_of(groups), bench, ChooseOptions(field="field"))
    assert found.drafts[0].id == "three"
    assert {one.id: one.labels["fields"] for one in found.drafts} == {
        "three": ("3+",),
        "two": ("2",),
        "also": ("2",),
    }
    assert set(found.qrels["gold"]) == {"three", "two", "also"}
    assert bench.dropped == {"queries of fewer than 2 fields": 1}
    # Of groups of two fields one that brings a new field is before one that brings none.
    three = {"a": ["p0", "p1"], "b": ["p3", "p5"], "c": ["p2", "p4"]}
    found = choose.run(made_of(three), bench, ChooseOptions(field="field", queries=2))
    assert "c" in {one.id for one in found.drafts}
    with pytest.raises(BadInput, match="metadata field 'nothing'"):
        choose.run(made_of(groups), bench, ChooseOptions(field="nothing"))


def test_a_query_is_gone_over_and_none_with_a_phrase_of_its_source_is_kept(bench):
    made = made_of({"q": ["p0"], "r": ["p1"]})
    made = Made(
        made.corpus,
        tuple(
            QueryDraft(one.id, f"post {one.id}", context="Then Ann met 10 owls at night.")
            for one in made.drafts
        ),
        made.qrels,
    )

    def reply(request):
        asked = request.messages[-1].content
        assert "Ann met" not in asked  # the post alone is shown
        return json.dumps({"query": "Somebody saw birds." if "post q" in asked else "It was Ann, I think."})

    bench.model = Scripted(reply)
    found = harden.run(made, bench, AskingOptions())
    assert [(one.id, one.text) for one in found.drafts] == [("q", "Somebody saw birds.")]
    assert bench.dropped["queries without a usable reply"] == 1


def runs(tmp_path, **rankings):
    for name, ids in rankings.items():
        (tmp_path / f"{name}.txt").write_text(
            "".join(f"q Q0 {doc} {place} {-place} {name}\n" for place, doc in enumerate(ids, 1)), "utf-8"
        )
    return tuple(str(tmp_path / f"{name}.txt") for name in rankings)


def test_relevant_documents_that_most_systems_do_not_find_are_looked_at(bench, tmp_path):
    judged = {
        "original": {"p0": 1, "p1": 1, "p2": 1},
        "instructed": {"p0": 1, "p1": 1},
        "reversed": {"p2": 1},
    }
    made = Made(tuple(FIELDS), (QueryDraft("q", "t"),), {mode: {"q": own} for mode, own in judged.items()})
    files = runs(tmp_path, a=["p0", "p5", "p1"], b=["p0", "p2", "p1"])
    options = ScreenOptions(runs=files, depth=2)
    screen.run(made, bench, options)
    assert bench.found["relevant, not in the first 2 of most"] == 2  # p1 by both, p2 by one of two
    assert "screen.skip=true" in bench.waiting
    with (bench.folder / "review" / "fit.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["title"] for row in rows} == {"Title p1", "Title p2"}
    with (bench.folder / "review" / "fit.ann.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, rows[0])
        table.writeheader()
        table.writerows({**row, "grade": int(row["title"] == "Title p2")} for row in rows)
    bench.waiting = ""
    found = screen.run(made, bench, options)
    kept = {mode: dict(own["q"]) for mode, own in found.qrels.items()}
    assert kept == {"original": {"p0": 1, "p2": 1}, "instructed": {"p0": 1}, "reversed": {"p2": 1}}
    assert bench.dropped["relevant documents that people find wrong"] == 1
    assert not screen.run(made, bench, ScreenOptions(ask="fit", runs=files, depth=2, keep=2)).drafts
    assert screen.run(made, bench, ScreenOptions()) is made
    with pytest.raises(UsageError, match="finds documents first"):
        ScreenOptions(depth=0)
