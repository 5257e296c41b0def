"""Parts of a collection with the statistics of the whole: scores are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section, Sentence
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.lexical.collection import WordIndex
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.terms import view as heads
from aspectra.views.text.tokens import METHODS, LexicalSettings, Statistics
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
SETTINGS = IndexSettings(encoders=("token",), chunks=("60w",), lenses=("roles",))


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
    """The index of all papers, and those of three parts of them, of which the last has one paper."""
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
        made.append(Searcher(store, load=lambda _: encoder).index)
    yield made
    patch.undo()


VIEWS = ("abstract@bm25", "full@bm25", "chunks-60w@bm25", "terms@bm25")
TEXT = "Duesseldorf whales, n7 n23 and accuracy of nothing"


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_parts_score_as_that_of_the_whole(collection, view):
    whole, *parts = collection
    (asked,) = whole.look_up([Probe(view, TEXT)])
    expected = whole.score([asked])[0].scores
    words = whole.word_view().words(TEXT)
    given = Statistics.merged(part.view(view).statistics(words) for part in parts)
    alone = []
    for part in parts:
        at = [whole.positions[one] for one in part.ids]
        scored = part.score([replace(asked, statistics=given)])[0]
        np.testing.assert_array_equal(scored.scores, expected[at])
        alone.append(np.array_equal(part.score([asked])[0].scores, expected[at]))
    assert not all(alone), "their own statistics are others"
    assert given == whole.view(view).statistics(words)
    with pytest.raises(KeyError):  # no word is taken for an unknown one
        given.rarity(["uncounted"])
