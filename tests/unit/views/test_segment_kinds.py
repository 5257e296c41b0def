"""Views of all kinds over an index in segments."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from aspectra.base.errors import AspectraError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.testing.views import ViewConformance
from aspectra.views.build.run import build_index, merge_segments
from aspectra.views.build.segments import Segments
from aspectra.views.index.opened import Index
from aspectra.views.settings import IndexSettings
from aspectra.views.terms import view as heads
from aspectra.views.view import Probe
from token_encoder import TokenEncoder, made_up_head

SETTINGS = IndexSettings(encoders=("token",), chunks=(), lenses=("style", "roles"), late="bits")
ALWAYS = Segments(least=1, share=100.0)
WORDS = "convolutional network spectrograms volunteers lists accuracy birds whales train reads rises".split()


def paper(number: int, version: int = 0) -> Paper:
    draw = np.random.default_rng((number, version))
    first, second = (" ".join(draw.choice(WORDS, 5 + number % 4)) for _ in range(2))
    text = f"We {first}; so it is. A {second} came before."
    return Paper(f"p{number:02}", f"{WORDS[number % 11]} n{number}x{number} at night", text)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """An index in segments, one of the same papers in one go, the base of the first, and it when merged."""
    place = tmp_path_factory.mktemp("kinds")
    encoder = TokenEncoder()
    patch = pytest.MonkeyPatch()
    patch.setattr(heads, "_shipped", lambda: (made_up_head(encoder),))

    def build(store, **more):
        return build_index(store, SETTINGS, load=lambda _: encoder, segments=ALWAYS, **more)

    with Store.create(place / "segments") as store:
        with store.writing("test") as writer:
            writer.add(paper(n) for n in range(30))
        build(store)
        shutil.copytree(store.folder, place / "base")
        for changed, gone in (([paper(30), paper(4, 1)], []), ([paper(31)], ["p02", "p30"])):
            with store.writing("test") as writer:
                writer.add(changed)
                if gone:
                    writer.remove(gone)
            build(store)
        shutil.copytree(store.folder, place / "anew")
        shutil.copytree(store.folder, place / "merged")
    with Store(place / "anew") as store:
        build(store, rebuild=True)
    with Store(place / "merged") as store:
        assert merge_segments(store, load=lambda _: encoder).changed
    stores = [Store(place / name) for name in ("segments", "anew", "base", "merged")]
    made = [Index(one, one.generations.current(), load=lambda _: encoder) for one in stores]
    assert [len(one.manifest["segments"]) for one in made] == [3, 1, 1, 1]
    yield made
    patch.undo()


@pytest.mark.parametrize("roles", [(), ("method",), ("background", "result")])
@pytest.mark.parametrize("how", [{"text": "network of birds"}, {"seeds": ("p04",)}, {"seeds": ("p31",)}])
def test_terms_score_as_in_one_go(pair, roles, how):
    ours, theirs, *_ = pair
    probe = Probe("terms@bm25", roles=roles, matching="maxsim" if roles else "", **how)
    np.testing.assert_array_equal(
        ours.view("terms@bm25").score(probe).scores, theirs.view("terms@bm25").score(probe).scores
    )


def test_tokens_are_those_of_one_go(pair):
    ours, theirs, *_ = pair
    one, other = ours.view("tokens@token"), theirs.view("tokens@token")
    np.testing.assert_array_equal(one._codes[:], other._codes[:])
    probe = Probe("tokens@token", "network of birds")
    np.testing.assert_array_equal(one.score(probe).scores, other.score(probe).scores)


@pytest.mark.parametrize("name", ["terms@token", "lens-style@vector"])
def test_what_is_usual_is_that_of_the_base(pair, name):
    ours, theirs, base, _ = pair
    name = next(one for one in ours.view_names if one.startswith(name.split("@")[0]) and "bm25" not in one)
    mine, other, before = (one.view(name) for one in (ours, theirs, base))
    assert mine.vectors.shape == other.vectors.shape
    for paper_id in ("p00", "p29"):
        np.testing.assert_array_equal(mine.vectors_of(paper_id), before.vectors_of(paper_id))
    a, b = (np.asarray(one.vectors[:], np.float32).ravel() for one in (mine, other))
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > 0.95


@pytest.mark.parametrize("name", ["abstract@bm25", "abstract@token"])
@pytest.mark.parametrize("seed", ["p04", "p31", "p07"])
def test_reverse_scores_are_near_those_of_one_go(pair, name, seed):
    ours, theirs, *_ = pair
    probe = Probe(name, seeds=(seed,), reverse=True)
    a, b = ours.view(name).score(probe).scores, theirs.view(name).score(probe).scores
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    assert np.corrcoef(a, b)[0, 1] > 0.99


@pytest.mark.parametrize("seed", ["p04", "p31", "p07", "p29"])
def test_merging_changes_no_bit_of_a_score(pair, seed):
    ours, *_, merged = pair
    assert ours.ids == merged.ids
    assert ours.view_names == merged.view_names
    reversed_ = 0
    for name in ours.view_names:
        mine, theirs = ours.view(name), merged.view(name)
        for reverse in (False, True):
            probe = Probe(name, seeds=(seed,), reverse=reverse)
            try:
                expected = mine.score(probe).scores
            except AspectraError:
                continue  # a view that asks no paper with another
            reversed_ += reverse
            np.testing.assert_array_equal(theirs.score(probe).scores, expected, err_msg=name)
    assert reversed_ >= 2


def test_a_standard_that_is_outgrown_is_renewed(tmp_path):
    encoder = TokenEncoder()
    with Store.create(tmp_path / "library") as store:
        for numbers in (range(10), range(10, 15), range(15, 22)):
            with store.writing("test") as writer:
                writer.add(paper(n) for n in numbers)
            build_index(store, SETTINGS, load=lambda _: encoder, segments=ALWAYS)
        facts = store.generations.current() / "standard" / "facts.json"
        assert json.loads(facts.read_text())["papers"] == 10
        assert merge_segments(store, load=lambda _: encoder).changed
        assert not (store.generations.current() / "standard").exists()  # too few papers to keep one


@pytest.fixture(
    params=["abstract@bm25", "abstract@token", "sentences@token", "terms@bm25", "tokens@token"],
    scope="module",
)
def probe(request):
    return Probe(request.param, "convolutional network of birds")


@pytest.fixture(scope="module")
def index(pair):
    return pair[0]


class TestConformance(ViewConformance):
    """What every view owes."""
