"""What a library answers follows from its papers: neither their order nor their company changes a bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import AspectraError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.grading import field_mean, lead
from aspectra.search.planning.planners.protocol import PLANNERS
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.generation import _mean
from aspectra.views.build.run import build_index
from aspectra.views.dense.late.view import token_max_sim
from aspectra.views.dense.matching import max_sim, products, similarities
from aspectra.views.dense.reverse import score_means
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import sample_ids
from small_library import searcher_over
from token_encoder import TokenEncoder

WORDS = (
    "owls bears whales bees network volunteers lists accuracy fewer song night forest count model train data "
    "graph learn sample method result noise signal river stone field small large quick slow"
).split()


def paper(number: int) -> Paper:
    draw = np.random.default_rng(number)
    sentences = [" ".join(draw.choice(WORDS, draw.integers(4, 15))).capitalize() for _ in range(5)]
    said = f"We study {sentences[0]}. We propose {sentences[1]}. Results show {sentences[2]}. {sentences[3]}."
    return Paper(
        f"p{number:03}",
        f"{sentences[4]} in {draw.integers(2, 9)} {'reviews' if number % 9 == 0 else 'steps'}",
        said * int(1 + number % 3),
        authors=(f"Ann Author{number % 7}",),
        year=1990 + number % 30,
        references=tuple({"identifiers": {"id": f"p{(number * 7 + k) % 120:03}"}} for k in range(number % 4)),
    )


PAPERS = [paper(number) for number in range(120)]
QUERIES = [
    Query(text="counting owls at night, no surveys", limit=40),
    Query(text="train a network on noise, after 2005, short papers", limit=40),
    Query(text="volunteers who count bees, not by Author3", limit=40),
    *(Query(seeds=(f"p{number:03}",), limit=40) for number in (3, 14, 50)),
    *(Query(seeds=(f"p{number:03}",), text="same method, other problem", limit=40) for number in (7, 90)),
    Query(seeds=("p003", "p060"), text="about the same problem", limit=40),
]


def answers(searcher):
    """Planner, query -> all that is found and said, or why nothing is."""
    out = {}
    for planner in PLANNERS:
        for number, query in enumerate(QUERIES):
            try:
                found = searcher.run(searcher.plan(query, planner), explain=True).to_dict(explain=True)
            except AspectraError as error:
                found = {"error": error.what}
            out[planner, number] = {key: held for key, held in found.items() if key != "seconds"}
    return out


def test_papers_in_another_order_are_ranked_the_same_in_bits(tmp_path):
    draw = np.random.default_rng(5)
    settings = {"chunks": ("20w",), "lenses": ("language", "length", "roles", "kind", "style")}
    found = []
    for name in ("as made", "permuted"):
        papers = PAPERS if name == "as made" else [PAPERS[at] for at in draw.permutation(len(PAPERS))]
        with searcher_over(tmp_path / name, papers, TokenEncoder(), **settings) as searcher:
            found.append(answers(searcher))
    one, other = found
    assert sum("error" not in held for held in one.values()) > 60
    for key, held in one.items():
        assert held == other[key], key


@st.composite
def rows_and_part(draw):
    """Rows, query rows, and which of the rows are asked for by themselves, in another order."""
    width = draw(st.sampled_from([8, 64, 384]))
    count, asked = draw(st.integers(1, 700)), draw(st.sampled_from([1, 2, 7, 8, 9, 64]))
    made = np.random.default_rng(draw(st.integers(0, 99)))
    part = made.permutation(count)[: draw(st.integers(1, count))]
    kind = draw(st.sampled_from([np.float32, np.float16]))
    rows, query = (made.standard_normal((size, width)).astype(kind) for size in (count, asked))
    return rows, query.astype(np.float32), part


@given(rows_and_part())
def test_products_are_the_same_whatever_stands_beside_a_row(case):
    rows, query, part = case
    whole = products(query, rows)
    assert np.allclose(whole, query @ rows.T.astype(np.float32), rtol=1e-4, atol=1e-3)
    assert np.array_equal(products(query, rows[part]), whole[:, part])
    assert np.array_equal(similarities(query, rows[part], "l2"), similarities(query, rows, "l2")[:, part])
    means = rows.astype(np.float32)
    assert np.array_equal(score_means(query[0], means[part]), score_means(query[0], means)[part])
    weights, ends = np.full(len(query), 0.7, np.float32), np.arange(len(rows) + 1)
    best = max_sim(query, rows, ends, weights).scores
    assert np.array_equal(max_sim(query, rows[part], ends[: len(part) + 1], weights).scores, best[part])
    (late,) = token_max_sim([(query, weights)], ends, lambda low, high: means[low:high])
    (some,) = token_max_sim(
        [(query, weights)], ends[: len(part) + 1], lambda low, high: means[part][low:high]
    )
    assert np.array_equal(some, late[part])


@given(st.integers(0, 99))
def test_the_mean_of_the_best_and_of_all_has_no_order(seed):
    draw = np.random.default_rng(seed)
    scores, vectors = draw.standard_normal(300), draw.integers(-127, 128, (9000, 8)).astype(np.int8)
    assert lead(scores) == lead(draw.permutation(scores))
    assert field_mean(scores) == field_mean(draw.permutation(scores))
    assert np.array_equal(_mean(vectors), _mean(draw.permutation(vectors)))


def test_a_sample_is_in_the_order_of_hashes_in_every_library(tmp_path):
    found = []
    for name, papers in (("one", PAPERS), ("other", PAPERS[::-1])):
        with searcher_over(tmp_path / name, papers, lenses=()) as searcher:
            ids = searcher.index.ids
            found.append([ids[at] for at in searcher.index.sample.tolist()])
            with searcher.library.writing("add") as writer:
                writer.add([paper(500)])
            build_index(searcher.library, IndexSettings(encoders=(), chunks=(), lenses=()))
        with Store(tmp_path / name) as store, Searcher(store) as again:
            found.append([again.index.ids[at] for at in again.index.sample.tolist()])
    assert found[0] == found[2] == sample_ids([p.id for p in PAPERS])
    assert found[1] == found[3] == sample_ids([*(p.id for p in PAPERS), "p500"])


def test_products_are_the_same_with_any_number_of_threads():
    code = (
        "import hashlib, numpy as np; from aspectra.views.dense.matching import products\n"
        "draw = np.random.default_rng(0)\n"
        "for width in (64, 384, 768):\n"
        "    rows = draw.standard_normal((2051, width)).astype('f4')\n"
        "    for asked in (1, 5, 64):\n"
        "        made = products(draw.standard_normal((asked, width)).astype('f4'), rows)\n"
        "        print(hashlib.sha256(made.tobytes()).hexdigest())\n"
    )
    told = set()
    for threads in ("1", "2", "4"):
        env = {"OPENBLAS_NUM_THREADS": threads, "PYTHONPATH": ":".join(sys.path)}
        made = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
        )
        told.add(made.stdout)
    assert len(told) == 1
