"""What the user says about works lasts, and can be undone."""

from __future__ import annotations

import csv
import io

import pytest

from aspectra.app.ingest.flow import flow_of
from aspectra.app.ingest.works import Works
from aspectra.base.errors import NoSuchPaper, UsageError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

TITLE = "Owls that hunt at night"
PAPERS = [Paper(f"p{n}", TITLE, authors=("Ada Lovelace",), year=2020) for n in range(3)]
OTHER = Paper("other", "Mice that hide by day", authors=("Cy Young",), year=2020)


@pytest.fixture(params=[0, 1, 2, 3, 5])
def store(tmp_path, request):
    """A library, or a collection of so many shards."""
    with Store.create(tmp_path / "library", shards=request.param) as made:
        add(made, *PAPERS, OTHER)
        yield made


def add(store, *papers, path=""):
    with store.writing("add") as writer:
        writer.add(papers, path=path)
    if store.collection:
        store.link_shards()  # as its index does


def undo(store):
    with store.writing("undo") as writer:
        return writer.marks.undo()


def groups(store):
    return {frozenset((one, *others)) for one, others in store.versions(store.ids()).items()}


def test_split_takes_one_out_of_its_work_for_good(store):
    assert groups(store) == {frozenset({"p0", "p1", "p2"})}
    assert sorted(Works(store).split("p1")) == [("p1", "p0"), ("p1", "p2")]
    assert groups(store) == {frozenset({"p0", "p2"})}
    for again in (PAPERS, PAPERS[::-1]):
        with store.writing("remove") as writer:
            writer.remove([p.id for p in again])
        add(store, *again)
        assert groups(store) == {frozenset({"p0", "p2"})}


def test_what_is_split_from_all_is_in_no_work(store):
    Works(store).split("p0", "p1", "p2")
    assert groups(store) == set()
    assert store.fetch("SELECT count(*) FROM papers WHERE version_group IS NOT NULL") == [(0,)]


def test_a_third_record_joins_nothing_that_was_split(store):
    Works(store).split("p0", "p1")
    with store.writing("remove") as writer:
        writer.remove(["p2"])
    assert groups(store) == set()
    add(store, PAPERS[2])  # the same work as both
    assert len(groups(store)) == 1
    assert frozenset({"p0", "p1", "p2"}) not in groups(store)


def test_merge_makes_one_work_for_good(store):
    first, *others = Works(store).merge("other", "p0")
    assert (first, sorted(others)) == ("other", ["p0", "p1", "p2"])
    with store.writing("remove") as writer:
        writer.remove(["other"])
    assert groups(store) == {frozenset({"p0", "p1", "p2"})}
    add(store, OTHER)
    assert groups(store) == {frozenset({"p0", "p1", "p2", "other"})}


@pytest.mark.parametrize("step", ["merge", "split"])
def test_both_can_be_undone_and_done_again(store, step):
    before = groups(store)
    getattr(Works(store), step)("p0", "other" if step == "merge" else "p1")
    after = groups(store)
    assert after != before
    assert undo(store)[0].verb == step
    assert groups(store) == before
    with store.writing("redo") as writer:
        writer.marks.redo()
    assert groups(store) == after
    assert store.check() == []


def test_merge_after_split_and_the_other_way_round(store):
    Works(store).split("p0", "p1")
    Works(store).merge("p0", "p1")
    assert groups(store) == {frozenset({"p0", "p1", "p2"})}
    Works(store).split("p0", "p1")
    assert frozenset({"p0", "p1", "p2"}) not in groups(store)


def test_what_cannot_be(store):
    works = Works(store)
    for wrong in (lambda: works.merge("p0"), lambda: works.merge("p0", "p0"), lambda: works.split("other")):
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(NoSuchPaper):
        works.merge("p0", "nobody")
    if store.ids()[-1] != "other":
        return  # in a collection it may come first: then it joins p1 before p0 does
    works.split("p0", "other")
    before = groups(store)
    with pytest.raises(UsageError, match="cannot become one work"):
        works.merge("p1", "other")
    assert groups(store) == before
    assert [one.verb for one in store.marks.actions()] == ["split"]


def test_the_report_says_why(store):
    add(store, Paper("near", f"{TITLE}: a study", authors=("Ada Lovelace",), year=2020))
    Works(store).merge("other", "p0")
    found = Works(store).duplicates()
    assert (found.records, found.works) == (5, 2)
    look, one = found.groups
    assert (look.kind, set(look.ids) & {"near"}) == ("look", {"near"})
    assert look.why == ("one title is the beginning of the other, shared authors",)
    assert one.ids[0] == "other"  # it leads
    assert one.why == ("same title, authors and year", "merged by you")


def test_a_split_pair_is_not_reported_again(store):
    add(store, Paper("near", f"{TITLE}: a study", authors=("Ada Lovelace",), year=2020))
    for paper in PAPERS:
        Works(store).split("near", paper.id)
    assert [group.kind for group in Works(store).duplicates().groups] == ["one"]


@pytest.mark.parametrize("formula", ["=1+1", "|calc", ";=1+1", "\uff5c=cmd", "  |calc", '"=1+1'])
def test_no_cell_of_the_flow_is_a_formula(tmp_path, formula):
    with Store.create(tmp_path / "a.lib") as library:
        with library.writing("add") as writer:
            writer.add([Paper("owl", "Owls", metadata={"database": formula})], path="a.ris", source="ris")
            writer.marks.decide(["owl"], "exclude", formula)
        cells = [cell for row in csv.reader(io.StringIO(flow_of(library).to_csv())) for cell in row]
    named = [cell for cell in cells if formula.strip() in cell]
    assert named
    assert all(cell.startswith("'") for cell in named)
