"""What holds of citations, reverse scores and chains whatever the input."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.papers.text.references import strip_citations
from aspectra.search.scoring.chain import Chain, ChainNode, fold
from aspectra.views.build.records import fill_missing
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.lexical.reverse import WordPairs, build_moments
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.text.tokens import LexicalSettings

PIECES = [
    "Min (1996)",
    "(see Abe, 2001a)",
    "[3, 4]",
    "words",
    " ",
    "é",
    "(",
    ")",
    "1999",
    "{{cite:x}}",
    "\n",
    "汉",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=200))
def test_every_character_left_leads_back_to_itself(text):
    found = strip_citations(text)
    assert all(a < b for a, b in found.removed)
    for at, character in enumerate(found.text):
        low, high = found.original(at, at + 1)
        assert found.stored[low:high] == character
    assert found.between(0, len(text)) == found.text


@given(st.lists(st.text("abc d", max_size=30), min_size=1, max_size=6), st.integers(0, 5))
@settings(max_examples=40)
def test_reverse_scores_do_not_depend_on_the_order_of_papers(texts, turn):
    turned = texts[turn % len(texts) :] + texts[: turn % len(texts)]
    tables = []
    for held in (texts, turned):
        with tempfile.TemporaryDirectory() as folder:
            build_lexical(held, LexicalSettings(), Path(folder), pairs=True, damped=True)
            build_moments(Path(folder), np.arange(len(held)))
            pairs = WordPairs(StoredFolder(Path(folder)))
            tables.append(np.stack([pairs.reverse(pairs.documents(n)) for n in range(len(held))]))
    shift = turn % len(texts)
    np.testing.assert_allclose(
        np.roll(tables[0], (-shift, -shift), (0, 1)), tables[1], rtol=1e-3, atol=1e-3, equal_nan=True
    )


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(0, 2**32 - 1), st.booleans())
def test_no_reading_is_ever_a_zero_vector(counts, seed, roles):
    rng = np.random.default_rng(seed)

    def unit(rows):
        made = rng.standard_normal((rows, 4)).astype(np.float32)
        return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-6)

    offsets = np.concatenate(([0], np.cumsum(counts)))
    vectors = np.zeros((len(counts), 4), np.float32)
    table = rng.random((int(offsets[-1]), 2))
    found = fill_missing(
        "method",
        vectors,
        unit(len(counts)),
        (offsets, unit(int(offsets[-1]))),
        (offsets, unit(int(offsets[-1]))),
        (("method", "result"), table) if roles else None,
    )
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-3)
    assert sum(found.values()) == len(counts)


@given(st.lists(st.lists(st.integers(0, 9), max_size=8, unique=True), min_size=1, max_size=4))
def test_a_chain_without_children_is_rank_fusion(lists):
    total = fold(
        [ChainNode(np.array(x, np.int64), set()) for x in lists],
        Chain(),
        np.arange(10, dtype=np.int32),
        60,
    )
    expected = np.zeros(10)
    for one in lists:
        for place, paper in enumerate(one):
            expected[paper] += 1 / (61 + place)
    np.testing.assert_allclose(total, expected)
