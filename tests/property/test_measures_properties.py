"""Properties of the measures: the field's tools agree, order never matters, bounds hold."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import PRESETS
from aspectra.lab.measures.diversity import convex_hull_volume
from aspectra.lab.measures.instructed import pair_up, rank_change, wise_score
from aspectra.lab.measures.protocol import Arity, parse
from aspectra.lab.runs.files import judge, order_ids
from measure_variants import spelled

DOCS = [f"d{i}" for i in range(12)] + ["D", "é", "10", "9"]
ranks = st.integers(1, 300)
coarse = st.sampled_from([0.0, 0.5, 1.0, -1.0])
fine = st.floats(-1e6, 1e6, allow_nan=False, width=32)


def tables(values: Any, *, least: int = 0) -> Any:
    return st.dictionaries(st.sampled_from(DOCS), values, min_size=least, max_size=len(DOCS))


def by_topic(values: Any, *, least: int = 0) -> Any:
    return st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), tables(values, least=least), min_size=1)


grades = by_topic(st.integers(-1, 3), least=1)
runs = by_topic(coarse, least=1) | by_topic(fine, least=1)

SINGLES = spelled(Arity.RANKING, 4)
MODES = spelled(Arity.MODES, 20)


def meets(qrels: Any, run: Any) -> bool:
    return bool({q for q, docs in run.items() if docs} & set(qrels))


def shuffled(table: dict[str, dict[str, Any]], seed: int) -> dict[str, dict[str, Any]]:
    rng = random.Random(seed)
    topics = list(table)
    rng.shuffle(topics)
    out = {}
    for topic in topics:
        docs = list(table[topic].items())
        rng.shuffle(docs)
        out[topic] = dict(docs)
    return out


def settled(qrels: Any) -> Any:
    """With a document of grade 0 a topic: where all grades are negative, pytrec_eval may never end."""
    return {topic: {**docs, "another": 0} for topic, docs in qrels.items()}


THEIRS = {
    "ndcg_cut_5": "nDCG@5",
    "ndcg": "nDCG",
    "recall_3": "R@3",
    "P_5": "P@5",
    "Rprec": "R-precision",
    "success_5": "Success@5",
    "recip_rank": "MRR",
    "map": "AP",
    "map_cut_3": "AP(cut=3)",
}


@settings(deadline=None, max_examples=150)
@given(grades.map(settled), runs)
def test_trec_eval_agrees(qrels, run):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier comes with the dev extra")
    if not meets(qrels, run):
        return
    names = {"ndcg_cut.5", "ndcg", "recall.3", "P.5", "Rprec", "success.5", "recip_rank", "map", "map_cut.3"}
    expected = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    done = evaluate(list(THEIRS.values()), qrels, run, preset="trec", missing="skip")
    for theirs, ours in THEIRS.items():
        assert set(done[ours].values) == set(expected)
        for topic, values in expected.items():
            assert done[ours].values[topic] == pytest.approx(values[theirs], abs=1e-9), (topic, ours)


@settings(deadline=None, max_examples=80)
@given(grades.map(settled), runs)
def test_ir_measures_agrees_missing_topics_included(qrels, run):
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures comes with the dev extra")
    if not meets(qrels, run):
        return
    texts = ["nDCG@5", "R@3", "P@5", "AP", "P(rel=2)@5", "R(rel=2)@3", "AP(rel=2)", "Success@2"]
    done = evaluate(texts, qrels, run, preset="trec")
    expected = ir_measures.calc_aggregate([ir_measures.parse_measure(t) for t in texts], qrels, run)
    for measure, value in expected.items():
        assert done[str(measure)].mean == pytest.approx(value, abs=1e-9), measure


@settings(deadline=None, max_examples=60)
@given(grades, runs, st.integers(0, 1000), st.sampled_from(["paper", "trec", "mteb"]))
def test_the_order_of_the_input_never_matters(qrels, run, seed, preset):
    if not meets(qrels, run):
        return
    one = evaluate(SINGLES, qrels, run, preset=preset)
    two = evaluate(SINGLES, shuffled(qrels, seed), shuffled(run, seed + 1), preset=preset)
    assert one.means == two.means
    for a, b in zip(one.scores, two.scores, strict=True):
        assert dict(a.values) == dict(b.values), a.measure


def modes_of(first, second, third, docs):
    qrels = {
        "original": {"q": dict.fromkeys(docs, 1)},
        "instructed": {"q": {doc: int(i % 2 == 0) for i, doc in enumerate(docs)}},
        "reversed": {"q": {doc: int(i % 2 == 1) for i, doc in enumerate(docs)}},
    }
    return qrels, {"original": {"q": first}, "instructed": {"q": second}, "reversed": {"q": third}}


three = tables(coarse, least=1) | tables(fine, least=1)


@settings(deadline=None, max_examples=80)
@given(
    three,
    three,
    three,
    st.lists(st.sampled_from(DOCS), min_size=1, max_size=5, unique=True),
    st.integers(0, 99),
)
def test_measures_over_modes_too(first, second, third, docs, seed):
    qrels, modes = modes_of(first, second, third, docs)
    one = evaluate(MODES, qrels, modes)
    two = evaluate(
        MODES,
        {mode: shuffled(table, seed) for mode, table in qrels.items()},
        {mode: shuffled(table, seed + 1) for mode, table in modes.items()},
    )
    assert one.means == two.means
    for score in one.scores:
        low, high = score.measure.family.bounds
        assert score.mean is None or low - 1e-12 <= score.mean <= high + 1e-12, score.measure
    wise, ideal = one["WISE@20"].mean, one["WISE-ideal@20"].mean
    assert wise is not None
    assert ideal is not None
    assert wise <= ideal + 1e-12


@settings(deadline=None, max_examples=80)
@given(grades, runs, st.sampled_from(list(PRESETS)))
def test_bounds(qrels, run, preset):
    if not meets(qrels, run):
        return
    for score in evaluate(SINGLES, qrels, run, preset=preset).scores:
        low, high = score.measure.family.bounds
        for value in score.values.values():
            assert low <= value <= high + 1e-12, score.measure


@settings(deadline=None)
@given(tables(st.integers(-1, 3), least=1), st.integers(0, 1000))
def test_a_constant_scorer_gains_nothing(graded, seed):
    """Whatever order the judged documents come in, a constant score is worth the same; and p-MRR is 0."""
    constant = dict.fromkeys(DOCS, 0.25)
    relevant_first = dict.fromkeys(sorted(DOCS, key=lambda doc: -graded.get(doc, -9)), 0.25)
    one = evaluate(SINGLES, {"q": graded}, {"q": constant})
    assert one.means == evaluate(SINGLES, {"q": graded}, {"q": relevant_first}).means
    order = order_ids(constant)
    assert order == sorted(DOCS, reverse=True) == order_ids(relevant_first)
    docs = list(graded)
    qrels, modes = modes_of(constant, relevant_first, shuffled({"q": constant}, seed)["q"], docs)
    done = evaluate(["p-MRR", "SICR", "WISE@20"], qrels, modes)
    assert done["p-MRR"].mean in (0.0, None)
    assert done["SICR"].mean == 0.0
    assert done["WISE@20"].mean == 0.0


@given(ranks, ranks)
def test_p_mrr_is_antisymmetric(one, other):
    change = rank_change(one, other)
    assert -1.0 < change < 1.0
    assert rank_change(other, one) == pytest.approx(-change, abs=1e-15)
    assert (change > 0) == (other > one)


@settings(deadline=None)
@given(
    ranks,
    ranks,
    ranks,
    st.integers(0, 50),
    st.sampled_from(["paper", "fork"]),
    st.sampled_from(["first", "min"]),
)
def test_wise_covers_every_triple(original, instructed, reverse, positives, rule, penalty):
    for shape in ("sqrt", "linear"):
        value = wise_score(original, instructed, reverse, positives, rule=rule, shape=shape, penalty=penalty)
        assert -1.0 <= value <= 1.0
        obeyed = instructed <= original < reverse
        assert (value > 0) == obeyed
        ideal = wise_score(original, 1, original + 1, positives, rule=rule, shape=shape)
        assert ideal <= 1.0
        if shape == "sqrt":  # without the root, a smaller climb can be worth more than reaching rank 1
            assert value <= ideal + 1e-12
    assert wise_score(17, 10, 18, 0, shape="linear") > wise_score(17, 1, 18, 0, shape="linear")


@settings(deadline=None)
@given(
    tables(coarse, least=1) | tables(fine, least=1),
    st.sampled_from(["id-descending", "id-ascending", "input"]),
)
def test_places_are_those_of_the_sorted_list(scores, order):
    listed = order_ids(scores, order)
    place = judge(scores, DOCS, np.zeros(len(DOCS)), order=order)
    expected = [listed.index(doc) + 1 if doc in listed else len(listed) + 1 for doc in DOCS]
    assert place.ranks.tolist() == expected
    assert [scores[doc] for doc in listed] == sorted(scores.values(), reverse=True)


@settings(deadline=None)
@given(tables(fine, least=2), tables(st.integers(0, 3), least=1), st.sets(st.sampled_from(DOCS), max_size=4))
def test_excluding_is_the_same_as_never_having_had_the_document(scores, graded, dropped):
    kept = {doc: s for doc, s in scores.items() if doc not in dropped}
    left = {doc: g for doc, g in graded.items() if doc not in dropped}
    if not kept or not left:
        return
    asked = ["nDCG@5", "R@3", "AP", "NDCG%50"]
    one = evaluate(asked, {"q": graded}, {"q": scores}, excluded={"q": dropped})
    assert one.means == evaluate(asked, {"q": left}, {"q": kept}).means


@settings(deadline=None)
@given(tables(fine, least=1), tables(st.integers(0, 3), least=1))
def test_skipping_the_unjudged_is_dropping_them(scores, graded):
    only = {doc: s for doc, s in scores.items() if doc in graded}
    if not only:
        return
    asked = [
        t
        for t in SINGLES
        if "unjudged" not in t and parse(t).name in ("nDCG", "R", "P", "AP", "MRR", "Success")
    ]
    skipping = [f"{parse(t).family(parse(t).cut, **{**parse(t).params, 'unjudged': 'skip'})}" for t in asked]
    one = evaluate(skipping, {"q": graded}, {"q": scores})
    two = evaluate(asked, {"q": graded}, {"q": only})
    assert list(one.means.values()) == pytest.approx(list(two.means.values()), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(4, 60), st.integers(0, 10_000), st.sampled_from(["gauss", "grid", "sphere", "thin"]))
def test_hull_against_scipy(n, seed, kind):
    spatial = pytest.importorskip("scipy.spatial", reason="scipy comes with the dev extra")
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    if kind == "grid":
        points = rng.integers(0, 3, (n, 3)).astype(float)
    elif kind == "sphere":
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    elif kind == "thin":
        points[:, 2] *= 1e-4
    try:
        expected = spatial.ConvexHull(points).volume
    except spatial.QhullError:
        expected = 0.0
    assert convex_hull_volume(points) == pytest.approx(expected, rel=1e-8, abs=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 30), st.integers(0, 10_000))
def test_diversity_is_blind_to_order_and_rotation(n, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 6))
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    for name in ("CosineDistance", "CentroidDistance", "HullVolume"):
        measure = parse(name)
        value = measure.score(vectors)
        assert measure.score(vectors[rng.permutation(n)]) == pytest.approx(value, abs=1e-9)
        assert measure.score(vectors @ turn) == pytest.approx(value, abs=1e-9)
        assert measure.score(np.repeat(vectors[:1], n, axis=0)) == pytest.approx(0.0, abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a1", "a2", "a3", "b1", "b2"]), min_size=2, unique=True))
def test_pairs_are_ordered_within_groups(topics):
    groups = {topic: topic[0] for topic in topics}
    judged = {topic: {"d": 2} for topic in topics}
    pairs = pair_up(
        {topic: {"d": 1.0} for topic in topics}, judged, groups, {topic: topic[1] for topic in topics}
    )
    sizes = [sum(g == group for g in groups.values()) for group in set(groups.values())]
    assert len(pairs.labels) == sum(math.perm(size, 2) for size in sizes)
    assert set(pairs.runs["original"]) == set(pairs.qrels["instructed"]) == set(pairs.labels)
