"""The style lens, its view and the planner for "written by the same hand", on made-up writers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.papers.paper import Paper, Section
from aspectra.views.dense.reverse import LensEncoder, vector_lens
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.lenses.style import StyleLens
from aspectra.views.storage.folder import StoredFolder
from small_library import searcher_over

SUBJECTS = ["owls", "ships", "bread", "glass", "rivers", "clocks", "horses", "tides"]
NAMES = ["Marlow", "Anna", "Bertram", "Clara", "Dorian", "Edith"]
# A hand: how it joins, hedges and points its sentences.
HANDS = {
    "dry": "{s} are {a}; {s} were {a}; and so, upon the whole, {s} must be {a}. Thus {n} spoke of {s}. ",
    "eager": "Oh! {s}! Have you seen {s}? I have - and {n} too, and they're {a}! Isn't it so? ",
    "plain": "The {s} was {a}. It was {a}. {n} did not like it. He went out. The {s} was there. ",
}


def write(hand: str, seed: int) -> str:
    draw = random.Random(seed)
    words = {"s": draw.choice(SUBJECTS), "n": draw.choice(NAMES)}
    return "".join(
        HANDS[hand].format(a=draw.choice(["grey", "old", "wide", "slow", "bright"]), **words)
        for _ in range(9)
    )


WRITERS = [
    (hand, Paper(f"{hand}{n}", "", write(hand, 10 * n + at)))
    for at, hand in enumerate(HANDS)
    for n in range(6)
]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    papers = [*(paper for _, paper in WRITERS), Paper("bare", "A title is no style")]
    return searcher_over(tmp_path_factory.mktemp("style") / "library", papers, lenses=("length", "style"))


@pytest.mark.parametrize("hand", HANDS)
def test_a_passage_finds_its_writer_whatever_it_is_about(searcher, hand):
    found = searcher.search(write(hand, 777), recipe="hand", limit=6)
    assert [hit.id[: len(hand)] for hit in found] == [hand] * 6


def test_a_paper_of_the_library_finds_its_writer(searcher):
    found = searcher.similar("dry0", recipe="hand", limit=5)
    assert {hit.id[:3] for hit in found} == {"dry"}
    assert "dry0" not in {hit.id for hit in found}


def test_what_has_no_prose_has_no_style(searcher):
    view = searcher.index.view("lens-style@delta")
    assert not view.vectors[searcher.index.position("bare")].any()
    assert searcher.index.manifest["views"]["lens-style@delta"]["without"] == 1


def test_vectors_have_length_one_and_columns_that_never_vary_say_nothing(searcher):
    view = searcher.index.view("lens-style@delta")
    norms = np.linalg.norm(view.vectors[: len(WRITERS)].astype(np.float32), axis=1)
    np.testing.assert_allclose(norms, 1.0, atol=2e-3)
    raw = np.array([StyleLens().of_text(paper.abstract) for _, paper in WRITERS])
    never = np.flatnonzero(raw.std(axis=0) == 0)
    assert len(never)
    coded = view.query.encoder.encode(["Zebras, alas; queue (quietly)? " * 20]).vectors[0]
    assert not coded[never].any()


def test_names_do_not_count():
    lens = StyleLens()
    text = "When he came home, the old Marlow sat by Anna, and the dog of Marlow slept."
    other = text.replace("Marlow", "Zebulon").replace("Anna", "Quince")
    np.testing.assert_array_equal(lens.of_text(text), lens.of_text(other))


def test_the_typesetter_does_not_count():
    lens = StyleLens()
    np.testing.assert_array_equal(
        lens.of_text("“It’s so – so late,” he said."), lens.of_text('"It\'s so - so late," he said.')
    )


def test_full_text_counts_and_the_title_does_not():
    lens = StyleLens()
    one = lens.apply([Paper("x", "Title", "Owls hunt; they do.")])[0]
    np.testing.assert_array_equal(one, lens.apply([Paper("x", "Other", "Owls hunt; they do.")])[0])
    more = lens.apply([Paper("x", "Title", "Owls hunt; they do.", sections=(Section("A", "Why? Oh!"),))])[0]
    assert (one != more).any()


def test_values_are_the_same_on_every_machine():
    """Stored values of one version must never change: another hash is another version."""
    row = StyleLens().of_text("The owl, and nothing but the owl.")
    top = np.argsort(-row, kind="stable")[:4].tolist()
    assert StyleLens.version == 1
    assert top == TOP


TOP = [399, 274, 471, 483]


def test_a_library_without_it_says_what_to_do(tmp_path):
    searcher = searcher_over(tmp_path / "library", [Paper("a", "Owls", "Owls hunt.")])
    with pytest.raises(ViewMismatch, match="style") as error:
        searcher.search("owls", recipe="hand")
    assert "aspectra lens add style" in error.value.hint


def test_another_version_of_the_lens_is_refused(searcher, monkeypatch):
    monkeypatch.setattr(LENSES.get("style"), "version", 99, raising=False)
    folder = searcher.index.folder / "lens-style@delta"
    with pytest.raises(ViewMismatch, match="version"):
        LensEncoder("style", StoredFolder(folder))


def test_only_vector_lenses_become_views():
    with pytest.raises(UsageError, match="no vectors"):
        vector_lens("length")


def test_an_empty_library_builds(tmp_path):
    searcher = searcher_over(tmp_path / "library", [], lenses=("style",))
    assert not len(searcher.search("owls; at night", recipe="hand"))


def test_experiments_index_the_style_where_a_recipe_needs_it():
    from aspectra.lab.experiments.directory import Source, Study
    from aspectra.search.recipe import Recipe

    def lenses(*recipes):
        study = Study((Source("obliq", "nowhere"),), tuple(Recipe.parse(spec) for spec in recipes))
        return study.settings().lenses

    assert "style" in lenses("bm25", "bm25 | top(100) | hand")
    assert "style" not in lenses("hybrid", "lensed")
