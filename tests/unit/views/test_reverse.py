"""Reverse scoring against the plain formula, on made-up papers."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.views.dense.reverse import dense_moments, nearest_in_seed
from aspectra.views.lexical import collection
from aspectra.views.lexical.bm25 import build_lexical
from aspectra.views.lexical.reverse import ASKING_WORDS, Moments, WordPairs, build_moments, moments_of
from aspectra.views.storage.folder import StoredFolder, Units
from aspectra.views.text.tokens import LexicalSettings, Tokeniser

TEXTS = [
    "owls hunt mice at night and owls listen",
    "mice fear owls mice fear shadows",
    "ranking documents with models of language",
    "language models rank mice",
    "",
]


def _weights(texts, k1=1.5, b=0.75):
    """BM25 as written down: (documents, words) weights and (documents, words) counts."""
    rows = [Tokeniser().words(t) for t in texts]
    words = list(dict.fromkeys(w for row in rows for w in row))
    counts = np.array([[row.count(w) for w in words] for row in rows], dtype=float)
    df = (counts > 0).sum(axis=0)
    length = counts.sum(axis=1, keepdims=True)
    rarity = np.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
    return rarity * counts / (counts + k1 * (1 - b + b * length / length.mean())), counts


def test_words_in_reverse_follow_the_formula(tmp_path):
    build_lexical(TEXTS, LexicalSettings(), tmp_path, pairs=True, damped=True)
    build_moments(tmp_path, np.arange(len(TEXTS)))
    pairs = WordPairs(StoredFolder(tmp_path))
    weights, counts = _weights(TEXTS)
    scores = np.sqrt(counts) @ weights.T  # candidate, document
    mean, deviation = scores.mean(axis=1), scores.std(axis=1)
    for seed in range(4):
        found = pairs.reverse(pairs.documents(seed))
        np.testing.assert_allclose(found[:4], (scores[:4, seed] - mean[:4]) / deviation[:4], rtol=1e-4)
        assert np.isnan(found[4])  # a paper without words asks nothing


@pytest.mark.parametrize("most", [1, 7, 100])
def test_words_are_counted_the_same_in_parts(tmp_path, monkeypatch, most):
    draw = np.random.default_rng(1)
    texts = [
        "",
        *(" ".join(f"w{n}" for n in draw.integers(0, 300, draw.integers(0, 260))) for _ in range(30)),
        "",
    ]

    def files(name, **how):
        build_lexical(texts, LexicalSettings(), tmp_path / name, pairs=True, **how)
        return {path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())}

    whole = files("whole")
    assert whole == files("asking", asking=texts)  # the words of documents, counted once more
    monkeypatch.setattr(collection, "_AT_ONCE", most)
    assert files("parts") == whole
    build_lexical([], LexicalSettings(), tmp_path / "none", pairs=True)


def test_a_candidates_own_document_counts_whether_it_was_drawn_or_not():
    table = np.array([[5.0, 1.0, 0.0], [1.0, 4.0, 2.0], [0.0, 2.0, 3.0]])  # candidate, document
    columns = [(at, table[:, at].astype(np.float32)) for at in range(3)]
    drawn = moments_of(columns[:1], np.diag(table).astype("f4"))
    np.testing.assert_allclose(drawn.mean, [5.0, (4 + 1) / 2, (3 + 0) / 2])
    every = moments_of(columns, np.diag(table).astype("f4"))
    np.testing.assert_allclose(every.mean, table.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(every.deviation, table.std(axis=1), rtol=1e-6)


def test_a_candidate_that_scores_the_same_everywhere_says_nothing():
    same = np.full(2, 3.0, np.float32)
    flat = moments_of([(0, same), (1, same)], same)
    assert np.isnan(flat.standardise(np.full(2, 3.0, np.float32))).all()


def test_a_paper_asks_with_its_most_telling_words(tmp_path):
    long = " ".join(f"word{n} " * (1 + n % 3) for n in range(3 * ASKING_WORDS))
    build_lexical([long, "word1 word2"], LexicalSettings(), tmp_path, pairs=True, damped=True)
    build_moments(tmp_path, np.arange(2))
    assert len(set(WordPairs(StoredFolder(tmp_path)).words_of(0).tolist())) == ASKING_WORDS
    assert len(WordPairs(StoredFolder(tmp_path)).words_of(1)) == 2


def test_moments_are_read_back(tmp_path):
    made = Moments(np.array([1.0, 2.0], "f4"), np.array([0.5, 0.0], "f4"))
    made.save(tmp_path)
    read = Moments.load(StoredFolder(tmp_path))
    assert read.mean.tolist() == [1.0, 2.0]
    assert read.deviation.tolist() == [0.5, 0.0]


def _chunks(seed=0, counts=(2, 0, 3, 1)):
    rows = np.random.default_rng(seed).standard_normal((sum(counts), 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return rows, Units(offsets, np.zeros((sum(counts), 3), np.int32))


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_vectors_in_reverse_follow_the_formula(kind):
    rows, units = _chunks()
    rows = rows.astype(kind)
    wide = rows.astype(np.float32)
    found = nearest_in_seed(rows, units, wide[2:5])
    expected = [
        (wide[a:b] @ wide[2:5].T).max(axis=1).mean() if b > a else np.nan
        for a, b in zip(units.offsets[:-1], units.offsets[1:], strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_moments_of_vectors_follow_the_formula():
    rows, units = _chunks(1)
    found = dense_moments(rows, units, np.arange(4))
    table = np.stack([nearest_in_seed(rows, units, rows[a:b]) for a, b in ((0, 2), (2, 5), (5, 6))])
    for paper, own in ((0, 0), (2, 1), (3, 2)):
        values = table[:, paper].astype(float)
        assert values[own] == pytest.approx(1.0, abs=1e-3)
        assert found.mean[paper] == pytest.approx(values.mean(), abs=1e-4)
        assert found.deviation[paper] == pytest.approx(values.std(), abs=1e-4)


def test_a_seed_without_vectors_finds_nothing():
    rows, units = _chunks()
    assert np.isnan(nearest_in_seed(rows, units, np.zeros((1, 8), np.float32))).all()
    assert np.isnan(nearest_in_seed(rows, units, np.zeros((0, 8), np.float32))).all()


def test_abstracts_that_ask_chunks_follow_the_formula(tmp_path):
    chunks = ["owls hunt mice", "mice fear owls mice", "ranking documents", "language models rank mice"]
    offsets = np.array([0, 2, 3, 3, 4])  # the third paper has no chunk
    abstracts = ["owls mice mice", "documents ranking", "owls and models", "models"]
    build_lexical(chunks, LexicalSettings(), tmp_path, pairs=True, asking=abstracts)
    build_moments(tmp_path, np.arange(4), offsets)
    pairs = WordPairs(StoredFolder(tmp_path), [offsets])
    weights, _ = _weights(chunks)
    words = list(dict.fromkeys(w for text in chunks for w in Tokeniser().words(text)))
    counts = np.array([[Tokeniser().words(a).count(w) for w in words] for a in abstracts], dtype=float)
    by_chunk = counts @ weights.T
    scores = np.full((4, 4), np.nan)
    for paper in (0, 1, 3):
        scores[:, paper] = by_chunk[:, offsets[paper] : offsets[paper + 1]].max(axis=1)
    held = [0, 1, 3]
    for candidate in held:
        row = scores[candidate, held]
        for seed in held:
            expected = (scores[candidate, seed] - row.mean()) / row.std()
            assert pairs.reverse(pairs.documents(seed))[candidate] == pytest.approx(expected, rel=1e-3)
    assert np.isnan(pairs.reverse(pairs.documents(2))).all()
