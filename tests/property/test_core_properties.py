"""Properties of the core: offsets, the one order, pooling, round trips."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import LibraryCorrupt
from aspectra.base.files import canonical_json, digest_texts
from aspectra.papers.library.derived import pack, unpack
from aspectra.papers.library.rows import paper_from_row, paper_row
from aspectra.papers.paper import Paper, Section, Sentence
from aspectra.papers.text.structure import _END, split_sentences
from aspectra.search.conditions.condition import limits
from aspectra.search.plan import Fusion, Plan, Search
from aspectra.search.scoring.chain import highest, reciprocal_ranks, scale
from aspectra.views.storage.folder import Units, paper_spans
from aspectra.views.text.tokens import ChunkSize, Tokeniser, chunk_spans, windows
from aspectra.views.view import Probe, top_positions

text = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=300)
pieces = ["We ", "e.g. ", "Smith et al. ", "ran. ", "it! ", "3.5 ", "。", "\n\n", "A. ", "x"]
prose = st.lists(st.sampled_from(pieces)).map("".join)


@given(text | prose)
def test_sentences_cover_all_text_in_order_without_overlap(value):
    spans = split_sentences(value)
    at = 0
    for start, end in spans:
        assert at <= start < end <= len(value)
        assert not value[at:start].strip()
        assert value[start:end] == value[start:end].strip()
        assert end - start <= 1200
        at = end
    assert not value[at:].strip()


@given(text | prose | st.text(st.sampled_from(list(".!?。！？\"'”’」』）)]} \t\na"))))
def test_sentence_ends_are_those_of_the_plain_alternatives(value):
    plain = re.compile(r"""[.!?]+["'”’)\]}]*(?=\s)|[。！？]+["'”’」』）]*|\n[ \t]*\n""")
    assert [m.span() for m in _END.finditer(value)] == [m.span() for m in plain.finditer(value)]


@given(title=text, abstract=text | prose)
def test_encoded_spans_are_the_stored_sentences(title, abstract):
    paper = Paper("p", title, abstract)
    encoded, spans, units = paper_spans(paper)
    assert len(spans) == len(units)
    for (a, b), (field, start, end) in zip(spans, units, strict=True):
        stored = title if field == "title" else abstract
        assert encoded[a:b] == stored[start:end]


@given(
    st.lists(st.integers(-3, 3), max_size=40),
    st.integers(0, 50),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_top_positions_is_the_head_of_the_one_order(values, k, random, masked):
    n = len(values)
    ids = [f"p{i:03d}" for i in range(n)]
    random.shuffle(ids)
    order = np.empty(n, dtype=np.int32)
    order[sorted(range(n), key=ids.__getitem__)] = np.arange(n)
    allowed = np.array([random.random() < 0.6 for _ in range(n)], dtype=bool) if masked else None
    scores = np.array(values, dtype=np.float32)
    expected = sorted(
        (i for i in range(n) if allowed is None or allowed[i]),
        key=lambda i: (values[i], ids[i]),
        reverse=True,
    )
    assert top_positions(scores, k, order, allowed).tolist() == expected[:k]


@given(st.lists(st.lists(st.integers(-5, 5), max_size=6), max_size=12))
def test_pooling_equals_brute_force(groups):
    offsets = np.concatenate(([0], np.cumsum([len(g) for g in groups]))).astype(np.int64)
    flat = np.array([v for g in groups for v in g], dtype=np.float32)
    for how, reduce in {
        "max": max,
        "first": lambda g: g[0],
        "sum": sum,
        "mean3": lambda g: sum(sorted(g)[-3:]) / len(sorted(g)[-3:]),
    }.items():
        pooled, best = Units.pool(flat, offsets, how)
        for number, group in enumerate(groups):
            if not group:
                assert pooled[number] == -np.inf
                assert best[number] == -1
                continue
            assert abs(pooled[number] - reduce(group)) < 1e-5
            local = best[number] - offsets[number]
            assert local == (0 if how == "first" else group.index(max(group)))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.data())
def test_rows_of_chosen_papers(counts, data):
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    units = Units(offsets, np.zeros((offsets[-1], 3), dtype=np.int32))
    chosen = data.draw(st.lists(st.integers(0, len(counts) - 1), min_size=1))
    rows, local = units.rows(np.array(chosen))
    expected = [list(range(offsets[c], offsets[c + 1])) for c in chosen]
    assert rows.tolist() == [r for part in expected for r in part]
    assert np.diff(local).tolist() == [len(part) for part in expected]


@given(
    text,
    text,
    st.none() | st.integers(0, 3000),
    st.lists(text, max_size=3),
    st.dictionaries(text, text, max_size=3),
)
def test_papers_survive_the_database_row(title, abstract, year, authors, metadata):
    paper = Paper(
        "id",
        title,
        abstract,
        tuple(authors),
        year,
        sections=(Section(title, abstract),),
        sentences=(Sentence(0, 1, "method"),),
        metadata=metadata,
    )
    row, _ = paper_row(paper)
    columns = [row[name] for name in ("title", "abstract", "year", "venue", "language", "record")]
    back = paper_from_row((1, row["id"], *columns, json.dumps([[title, abstract]]), None))
    assert back == paper
    assert back.content_hash == paper.content_hash


@given(st.lists(text), st.lists(text))
def test_hashes_see_boundaries(one, two):
    assert (digest_texts(one) == digest_texts(two)) == (one == two)
    assert canonical_json({"a": one}) == canonical_json({"a": list(one)})


@given(st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=50), st.floats(0.5, 4, width=32))
def test_standardising_keeps_order_and_ignores_scale(values, factor):
    scores = np.array(values, dtype=np.float32)
    plain = scale(scores, highest(scores)).apply(scores)
    assert np.all(np.isfinite(plain))
    assert plain.max() <= 20.0001
    for i in range(len(scores) - 1):
        if scores[i] > scores[i + 1] and np.ptp(plain) > 0:
            assert plain[i] >= plain[i + 1]
    if scores.std() > 1e-3:
        moved = scores * factor + 1
        assert np.allclose(scale(moved, highest(moved)).apply(moved), plain, atol=2e-2)


@given(st.lists(st.permutations(range(6)), min_size=1, max_size=4), st.integers(1, 100))
def test_reciprocal_ranks_by_hand(orders, k):
    fused = reciprocal_ranks([(np.array(o), 1.0) for o in orders], 7, k)
    for paper in range(6):
        assert abs(fused[paper] - sum(1 / (k + 1 + o.index(paper)) for o in orders)) < 1e-12
    assert fused[6] == 0


@given(st.lists(st.tuples(text, text), max_size=4), st.integers(20, 60), st.sampled_from("wt"))
def test_chunks_cover_sections_in_order(sections, count, unit):
    spans = chunk_spans(sections, ChunkSize(count, unit))
    for number, (_, body) in enumerate(sections):
        at = 0
        for section, start, end in spans:
            if section == number:
                assert at <= start < end
                assert not body[at:start].strip()
                assert len(body[start:end].split()) <= count
                at = end
        assert not body[at:].strip()


@given(prose, st.integers(1, 30))
def test_windows_keep_every_word(value, words):
    cut = windows(value, words)
    assert " ".join(cut).split() == value.split()
    assert all(len(w.split()) <= words for w in cut)


@given(st.integers(0, 5), st.integers(0, 4), st.integers(0, 9))
def test_packed_vectors_round_trip(rows, width, truncated):
    whole = np.linspace(0, 1, width, dtype=np.float32)
    units = np.linspace(0, 1, rows * width, dtype=np.float16).reshape(rows, width)
    arrays = [whole, units, np.array(truncated, np.uint32), np.zeros((rows, 3), np.int32)]
    data = pack(*arrays)
    back = unpack(data)
    for made, read in zip(arrays, back, strict=True):
        assert read.dtype == made.dtype
        assert read.shape == made.shape
        assert np.array_equal(read, made)
    with pytest.raises(LibraryCorrupt):
        unpack(data[:-1] if truncated % 2 else b"")


@given(text)
def test_words_are_stable_and_never_empty(value):
    words = Tokeniser().words(value)
    assert all(words)
    assert words == Tokeniser().words(value.upper().lower()) or value.upper().lower() != value.lower()


names = st.text("abcdefghij", min_size=1, max_size=6)


@given(
    st.lists(st.tuples(names, text.filter(str.strip), st.floats(-2, 2)), min_size=1, max_size=3),
    st.integers(0, 100),
    st.sampled_from(["rrf", "standardised"]),
    st.lists(names, max_size=2),
)
def test_plans_survive_toml_and_json(probes, limit, kind, venues):
    plan = Plan(
        (
            Search("p", tuple(Probe(v, text=t, weight=w) for v, t, w in probes), Fusion(kind=kind, k=7)),
            "top(5)",
        ),
        conditions=limits(since=1990, venues=venues),
        exclude=("x",),
        limit=limit,
    )
    for back in (Plan.loads(plan.to_json()), Plan.loads(plan.to_toml())):
        assert back == plan
        assert back.hash == plan.hash
