"""The view of notes and annotations: always as the notes are now."""

from __future__ import annotations

import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.papers.library.marks.values import Note
from aspectra.papers.paper import Paper
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.testing.views import ViewConformance
from aspectra.views.protocol import NOTES, ViewFacts
from aspectra.views.view import Probe
from small_library import searcher_over

NOTES_VIEW = ViewFacts.words_of(NOTES).name
PAPERS = [
    Paper("owl", "Owls hunt at night", "Owls listen for mice in the dark."),
    Paper("mice", "Mice avoid predators", "Mice freeze when a shadow passes."),
    Paper("rank", "Ranking documents", "Search engines order documents."),
    Paper("bare", "Nothing on it"),
]


def noted(store, paper, *notes, source="zotero"):
    with store.writing("test") as writer:
        writer.marks.put(source, {paper: ([], list(notes))})


def annotation(quote, text="", page=""):
    return Note(text, quote, "annotation", page, key=quote[:8])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("notes") / "library"
    made = searcher_over(place, PAPERS, lenses=())
    noted(
        made.library,
        "owl",
        annotation("Hearing guides the strike.", "like kestrels", "12"),
        Note("kestrel", key="b"),
    )
    noted(made.library, "mice", Note("Compare with kestrel attacks, and the strike of owls.", key="c"))
    made.close()
    return place


@pytest.fixture
def searcher(folder):
    from aspectra.papers.library.store import Store

    with Searcher(Store(folder)) as opened:
        yield opened


class TestNotes(ViewConformance):
    @pytest.fixture
    def index(self, searcher):
        return searcher.index

    @pytest.fixture
    def probe(self):
        return Probe(NOTES_VIEW, text="kestrels that strike")


def test_the_note_that_matches_is_quoted_with_its_page(searcher):
    hits = searcher.search(Query("hearing guides a strike"), "notes").hits
    assert [hit.id for hit in hits] == ["owl", "mice"]
    first = hits[0].evidence[0]
    assert (first.quote, first.heading) == ("Hearing guides the strike.", "your annotation, p. 12")
    assert hits[1].evidence[0].quote.startswith("Compare with kestrel attacks")
    assert hits[1].evidence[0].heading == "your note"


def test_comments_are_searched_and_the_passage_is_quoted(searcher):
    owl = next(hit for hit in searcher.search(Query("like kestrels"), "notes").hits if hit.id == "owl")
    assert owl.evidence[0].quote in ("Hearing guides the strike.", "kestrel")


def test_a_paper_is_as_good_as_its_best_note(searcher):
    scores = searcher.index.view(NOTES_VIEW).score(Probe(NOTES_VIEW, text="kestrel")).scores
    by_id = dict(zip(searcher.index.ids, scores.tolist(), strict=True))
    assert by_id["owl"] > by_id["mice"] > 0  # the shorter note
    assert by_id["rank"] == by_id["bare"] == 0


def test_a_new_note_is_found_without_an_index(tmp_path):
    with searcher_over(tmp_path / "library", PAPERS, lenses=()) as made:
        with pytest.raises(ViewMismatch) as caught:
            made.search(Query("kestrels"), "notes")
        assert "aspectra note" in caught.value.hint
        noted(made.library, "rank", Note("kestrels again", key="d"))
        made.refresh()
    from aspectra.papers.library.store import Store

    with Searcher(Store(tmp_path / "library")) as opened:
        assert opened.search(Query("kestrels"), "notes").ids == ["rank"]
        noted(opened.library, "bare", Note("more on kestrels and others", key="e"))
        assert opened.search(Query("kestrels"), "notes").ids == ["rank", "bare"]
        noted(opened.library, "rank")
        assert opened.search(Query("kestrels"), "notes").ids == ["bare"]


def test_other_searches_are_as_they_were(searcher):
    hits = searcher.search(Query("mice in the dark"), "bm25").hits
    assert {e.field for hit in hits for e in hit.evidence} <= {"title", "abstract"}


def test_notes_find_no_papers_in_reverse(searcher):
    with pytest.raises(UsageError):
        searcher.index.view(NOTES_VIEW).look_up(Probe(NOTES_VIEW, seeds=("owl",), reverse=True))


def test_no_word_in_common_is_no_hit(searcher):
    assert searcher.search(Query("quasars"), "notes").ids == []
