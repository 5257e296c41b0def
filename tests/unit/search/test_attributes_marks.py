"""Conditions on tags and decisions: read when a search runs, whatever the age of the index."""

from __future__ import annotations

import pytest

from aspectra.app.library import Library
from aspectra.base.errors import UsageError


@pytest.fixture
def opened(searcher):
    library = Library(searcher.library)
    library.__dict__["searcher"] = searcher
    return library


def found(library, **given):
    return set(library.search("owls mice documents paper title", recipe="bm25", literal=True, **given).ids)


def test_a_tag_filters_without_a_new_index(opened):
    everything = found(opened)
    assert len(everything) > 2
    opened.marks.tag("owl", "mice", add=["To read"])
    assert found(opened, tags="to read") == {"owl", "mice"}
    opened.marks.tag("mice", add=["night"])
    assert found(opened, tags=["to read", "night"]) == {"mice"}
    opened.marks.undo()
    opened.marks.undo()
    with pytest.raises(UsageError, match="no paper has the tag"):
        found(opened, tags="to read")
    hits = opened.search("owls", recipe="bm25", conditions="require tag=other")
    assert "no paper has the tag 'other'" in " ".join(hits.warnings)


def test_decisions_filter_without_a_new_index(opened):
    everything = found(opened)
    assert found(opened, decided="none") == everything
    opened.marks.decide("include", "owl")
    opened.marks.decide("exclude", "mice", reason="no owls")
    assert found(opened, decided="include") == {"owl"}
    assert found(opened, decided="any") == {"owl", "mice"}
    assert found(opened, decided="none") == everything - {"owl", "mice"}
    hit = opened.search("mice", recipe="bm25", conditions="avoid decided=exclude").hits[0]
    assert hit.conditions[0].reason == "exclude (no owls)"
    opened.marks.undo()
    assert found(opened, decided="any") == {"owl"}


def test_a_mark_of_a_paper_that_is_not_indexed_is_no_error(opened):
    from aspectra.papers.paper import Paper

    with opened.store.writing("add") as writer:
        writer.add([Paper("new", "Something new")])
    opened.marks.tag("new", "owl", add=["x"])
    opened.marks.decide("include", "new", "owl")
    assert found(opened, tags="x", decided="include") == {"owl"}


def test_decisions_join_the_question(opened):
    recipe = "bm25 | feedback(papers=10,decided=yes,against=0.25)"
    plain = opened.search("owls", recipe="bm25", literal=True)
    nothing = opened.search("owls", recipe=recipe, literal=True)
    assert nothing.ids == plain.ids
    assert "no paper was decided on" in str(nothing.steps)
    opened.marks.decide("include", "rank")
    liked = opened.search("owls", recipe=recipe, literal=True)
    assert "rank" in liked.ids
    assert "rank joined the question" in str(liked.steps)
    opened.marks.decide("exclude", "mice")
    both = opened.search("owls", recipe=recipe, literal=True)
    assert "mice pushed away" in str(both.steps)
    scores = [{h.id: h.score for h in found.hits} for found in (liked, both)]
    assert scores[1].get("mice", -9.0) < scores[0].get("mice", 0.0)


def test_a_work_that_was_decided_on_joins_the_question_once(opened):
    opened.works.merge("owl", "rank")
    opened.marks.decide("include", "owl")
    recipe = "bm25 | feedback(papers=10,decided=yes)"
    (joined,) = [one for one in opened.search("owls", recipe=recipe).steps if "feedback" in str(one)]
    assert joined.notes in (("owl joined the question",), ("rank joined the question",))
