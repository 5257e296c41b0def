"""Parts of a collection with the statistics of the whole: scores, quotes and fit are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section, Sentence
from aspectra.search.evidence.hits import fit_of, quotes_of
from aspectra.search.evidence.quotes import with_matches
from aspectra.search.plan import Search
from aspectra.search.planning.index_views import IndexSeeds
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.lexical.collection import WordIndex
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.terms import view as heads
from aspectra.views.text.tokens import METHODS, LexicalSettings
from aspectra.views.text.weighing import Statistics
from aspectra.views.view import Probe
from token_encoder import TokenEncoder, made_up_head

COUNTS = (1, 2, 3, 4, 7)
WORDS = [f"w{n}" for n in range(40)]
# Common and rare words, one twice, one of a single document, and one of none.
QUERY = ("w0", "w1", "w12", "w30", "w39", "w1", "only", "nowhere")


def documents(draw) -> list[str]:
    """Forty documents; rare words are in few of them, and one is empty."""
    chances = 1.0 / np.arange(1, 41)
    texts = [" ".join(draw.choice(WORDS, draw.integers(3, 30), p=chances / chances.sum())) for _ in range(38)]
    return [*texts, "only w0", ""]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("method", METHODS)
def test_scores_of_parts_are_those_of_the_whole(tmp_path, method, count):
    settings = LexicalSettings(method=method)
    draw = np.random.default_rng(count)
    texts = documents(draw)
    owner = draw.integers(0, count, len(texts))

    def index_of(name, chosen) -> WordIndex:
        build_lexical([texts[at] for at in chosen], settings, tmp_path / name)
        return WordIndex(StoredFolder(tmp_path / name), settings)

    whole = index_of("whole", range(len(texts)))
    chosen = [np.flatnonzero(owner == part) for part in range(count)]
    parts = [index_of(f"part{part}", places) for part, places in enumerate(chosen)]
    given = Statistics.merged(part.statistics() for part in parts)
    assert given == whole.statistics()
    expected = whole.scores(QUERY)
    for statistics in (given, given.about(QUERY)):
        for places, part in zip(chosen, parts, strict=True):
            np.testing.assert_array_equal(part.scores(QUERY, given=statistics), expected[places])
    if method != "okapi":  # which weighs words by all words
        named = Statistics.merged(part.statistics(QUERY) for part in parts)
        assert named == whole.statistics(QUERY)
        np.testing.assert_array_equal(parts[0].scores(QUERY, given=named), expected[chosen[0]])
    # What was kept by one collection's statistics serves no other, nor the part by itself.
    other = replace(given, documents=99)
    assert not np.array_equal(parts[0].scores(QUERY, given=other), expected[chosen[0]])
    np.testing.assert_array_equal(parts[0].scores(QUERY, given=given), expected[chosen[0]])
    alone = WordIndex(StoredFolder(tmp_path / "part0"), settings).scores(QUERY)
    np.testing.assert_array_equal(parts[0].scores(QUERY), alone)


def test_kept_weights_are_those_of_the_frequency_that_is_given(tmp_path):
    build_lexical(["owl hunt"] * 1200 + ["owl"], LexicalSettings(), tmp_path / "words")
    index = WordIndex(StoredFolder(tmp_path / "words"), LexicalSettings())
    given = index.statistics(["owl"])
    first = index.scores(["owl"], given=given)
    rarer = index.scores(["owl"], given=replace(given, frequency={"owl": 5}))
    assert (rarer > first).all()
    np.testing.assert_array_equal(index.scores(["owl"], given=given), first)


def test_okapi_needs_all_words_of_the_collection(tmp_path):
    settings = LexicalSettings(method="okapi")
    build_lexical(["owl hunt", "owl"], settings, tmp_path / "words")
    index = WordIndex(StoredFolder(tmp_path / "words"), settings)
    given = Statistics.merged([index.statistics(["owl"])])
    with pytest.raises(UsageError, match="all words of the collection"):
        index.scores(["owl"], given=given)


def test_a_sum_of_rarities_depends_on_no_order_of_words(tmp_path):
    """So that okapi weighs alike in segments and in one go."""
    settings = LexicalSettings(method="okapi")
    texts = documents(np.random.default_rng(5))
    given = []
    for number, some in enumerate((texts, texts[::-1])):
        build_lexical(some, settings, tmp_path / f"{number}")
        statistics = WordIndex(StoredFolder(tmp_path / f"{number}"), settings).statistics()
        turned = dict(sorted(statistics.frequency.items(), reverse=bool(number)))
        given.append(replace(statistics, frequency=turned).about(()))
    assert given[0] == given[1]


# Whole libraries.

SUBJECTS = "whales birds volunteers spectrograms accuracy network lists trains düsseldorf".split()
SUBJECTS += "reeds moss fern oak elm pine yew larch beech birch maple hazel".split()
SETTINGS = IndexSettings(encoders=("token",), chunks=("60w",), lenses=("roles",), late="bits")


def paper(number: int) -> Paper:
    draw = np.random.default_rng(number + 300)
    first, second, third = (" ".join(draw.choice(SUBJECTS, 4 + number % 3)) for _ in range(3))
    said = {
        "method": f"We train a convolutional network on {first}.",
        "background": f"The {second} came before.",
        "result": f"Accuracy {third} rises.",
    }
    text = " ".join(said.values())
    starts = [text.index(one) for one in said.values()]
    roles = tuple(
        Sentence(at, at + len(one), role) for at, (role, one) in zip(starts, said.items(), strict=True)
    )
    more = " ".join(f"So {' '.join(draw.choice(SUBJECTS, 3))} were seen again." for _ in range(9))
    body = f"Many {first} were seen near the {third} of old. {text} {more}"
    sections = (Section("Method", body),)
    return Paper(f"p{number:02}", f"{first} n{number}", text, sections=sections, sentences=roles)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """The searcher of all papers, and those of three parts of them, of which the last has one paper."""
    place = tmp_path_factory.mktemp("parts")
    encoder = TokenEncoder()
    patch = pytest.MonkeyPatch()
    patch.setattr(heads, "_shipped", lambda: (made_up_head(encoder),))
    papers = [paper(number) for number in range(24)]
    made = []
    for name, some in (("whole", papers), ("a", papers[0::2]), ("b", papers[1:23:2]), ("c", papers[23:])):
        store = Store.create(place / name)
        with store.writing("test") as writer:
            writer.add(some)
        build_index(store, SETTINGS, load=lambda _: encoder)
        made.append(Searcher(store, load=lambda _: encoder))
    yield made
    patch.undo()


VIEWS = ("abstract@bm25", "full@bm25", "chunks-60w@bm25", "terms@bm25")
TEXT = "Duesseldorf whales, n7 n23 and accuracy of nothing"


def given_by(parts, words) -> dict[str, Statistics]:
    """View -> what the parts know of some words, added up; tokens are weighed by words of abstracts."""
    out = {
        view: Statistics.merged(part.index.view(view).statistics(words) for part in parts) for view in VIEWS
    }
    return out | {"tokens@token": out["abstract@bm25"]}


@pytest.mark.parametrize("view", [*VIEWS, "tokens@token"])
def test_views_of_parts_score_as_that_of_the_whole(collection, view):
    whole, *parts = (searcher.index for searcher in collection)
    (expected,) = whole.look_up([Probe(view, TEXT)])
    scores = whole.score([expected])[0].scores
    given = given_by(collection[1:], whole.word_view().words(TEXT))
    alone = []
    for part in parts:
        (asked,) = part.look_up([Probe(view, TEXT)], given)
        assert asked.words == expected.words
        np.testing.assert_array_equal(asked.weights, expected.weights)
        at = [whole.positions[one] for one in part.ids]
        np.testing.assert_array_equal(part.score([asked])[0].scores, scores[at])
        (asked,) = part.look_up([Probe(view, TEXT)])
        alone.append(np.array_equal(part.score([asked])[0].scores, scores[at]))
    assert not all(alone), "their own statistics are others"


def test_a_spelling_is_that_of_the_collection(collection):
    """A part that has no word in either spelling does not decide how a query is spelt."""
    whole, *_, last = (searcher.index for searcher in collection)
    probe = Probe("abstract@bm25", "duesseldorf")
    assert not last.word_view().statistics(["dusseldorf"]).held("dusseldorf")
    given = given_by(collection[1:], whole.word_view().words(probe.text))
    assert last.look_up([probe], given)[0].words == whole.look_up([probe])[0].words == ("dusseldorf",)


@pytest.mark.parametrize("recipe", ["bm25", "hybrid", "late"])
def test_quotes_and_fit_of_a_part_are_those_of_the_whole(collection, recipe):
    whole, *parts = collection
    given = given_by(parts, whole.index.word_view().words(TEXT))
    plan = whole.plan(Query(TEXT, limit=24, literal=True), recipe)
    ranking = whole.run(plan)
    hits = {hit.id: hit for hit in ranking.hits}
    quotes_differ = fit_differs = False
    for part in parts:
        engine = part.engine
        papers = [one for one in engine.papers(engine.index.ids, full=False).values() if one.id in hits]
        positions = engine.positions(one.id for one in papers)
        quotes = quotes_of(engine, plan, positions, papers, given)
        assert quotes == [hits[one.id].evidence for one in papers]
        quotes_differ |= quotes != quotes_of(engine, plan, positions, papers)
        held = [hits[one.id] for one in papers]
        assert fit_of(engine.index, plan.search, held, given) == fit_of(whole.index, plan.search, held)
        fit_differs |= fit_of(engine.index, plan.search, held) != fit_of(whole.index, plan.search, held)
    assert quotes_differ, "their own statistics are others"
    assert fit_differs or recipe == "late"  # which has none


def test_words_that_matched_are_weighed_as_in_the_whole(collection):
    whole, *parts = collection
    given = given_by(parts, whole.index.word_view().words(TEXT))
    search = Search(probes=(Probe("tokens@token", TEXT),))
    differ = False
    for part in parts:
        papers = [*part.engine.papers(part.index.ids, full=False).values()]
        ids, none = [one.id for one in papers], [()] * len(papers)
        found, alone = (
            with_matches(part.index, search, part.engine.positions(ids), papers, none, one)
            for one in (given, None)
        )
        assert found == with_matches(whole.index, search, whole.engine.positions(ids), papers, none)
        differ |= found != alone
    assert differ, "their own statistics are others"


@pytest.mark.parametrize("how", [{"direction": "builds-on"}, {"same": ("method",)}])
def test_quotes_beside_those_of_a_seed_are_those_of_the_whole(collection, how):
    """Passages of the seed by rare words; sentences of an aspect by the rare terms they name."""
    whole, part, *_ = collection
    engine = part.engine
    differ = False
    for number in range(0, 24, 2):
        seed = paper(number)
        text = f"{seed.title} {seed.abstract} {seed.sections[0].text}"
        given = given_by(collection[1:], whole.index.word_view().words(text))
        plan = whole.plan(Query(seeds=(seed.id,), limit=24, **how))
        hits = {hit.id: hit for hit in whole.run(plan).hits}
        papers = [one for one in engine.papers(engine.index.ids, full=False).values() if one.id in hits]
        positions = engine.positions(one.id for one in papers)
        found, alone = (quotes_of(engine, plan, positions, papers, one) for one in (given, None))
        assert any(quote.seed_quote for quotes in found for quote in quotes)
        assert found == [hits[one.id].evidence for one in papers]
        differ |= found != alone
    assert differ, "their own statistics are others"


def test_terms_that_a_seed_offers_are_those_of_the_whole(collection):
    whole, part, *_ = (searcher.index for searcher in collection)
    view, alone = part.view("terms@bm25"), []
    for seed in part.ids:
        given = given_by(collection[1:], view.words(view.terms_of(seed).text))
        expected = IndexSeeds(whole).offers(seed)
        assert IndexSeeds(part, given).offers(seed) == expected
        alone.append(IndexSeeds(part).offers(seed) == expected)
    assert not all(alone), "their own statistics are others"
    with pytest.raises(KeyError):  # no word is taken for an unknown one
        view.rarity_of(["uncounted"], given["terms@bm25"])
