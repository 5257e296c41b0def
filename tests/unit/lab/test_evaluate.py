"""Evaluation: what is counted, what is refused, how means are taken."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import PRESETS, nested_mean
from aspectra.lab.measures.diversity import hull_volume
from aspectra.lab.measures.instructed import pair_up, wise_score
from aspectra.lab.measures.protocol import Arity, Family, parse
from aspectra.lab.measures.rankings import Pools
from aspectra.lab.runs.run import Qrels, Run

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}}
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q3": {"c": 1.0}, "q9": {"a": 1.0}}


def test_missing_topics_count_as_zero_and_are_said() -> None:
    done = evaluate(["MRR", "P@1"], QRELS, RUN)
    assert done["MRR"].values == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert done["MRR"].mean == pytest.approx(1 / 3)
    assert done["MRR"].missing == ("q2",)
    counts = done.counts[""]
    assert (counts.scored, counts.judged, counts.missing, counts.extra, counts.without_relevant) == (
        2,
        3,
        1,
        1,
        1,
    )
    assert [line.split(" ")[0] for line in done.remarks] == ["1", "1", "1"]
    assert "q2" in done.remarks[0]
    assert "q9" in done.remarks[1]
    left = evaluate(["MRR"], QRELS, RUN, missing="skip")["MRR"]
    assert (left.values, left.units) == ({"q1": 1.0, "q3": 0.0}, 2)
    assert done["MRR"].by({"q1": {"kind": "x"}}, "kind") == {"": (0.0, 2), "x": (1.0, 1)}


def test_an_empty_ranking_is_a_missing_one() -> None:
    done = evaluate(["MRR"], {"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1.0}, "q2": {}})
    assert done.counts[""].missing == 1


@pytest.mark.parametrize(
    "name", ["AUC", "R(cap=true)@5", "p-MRR", "p-MRR(documents=gold)", "SICR", "WISE@20", "WISE-ideal@20"]
)
def test_systems_are_scored_on_the_same_topics_where_one_of_them_ranks_nothing(name: str) -> None:
    """``all``: relevant only and in both modes; ``none``: nothing is relevant; ``both``: defined for all."""
    judged = {"all": {"a": 1}, "none": {"a": 0}, "both": {"a": 1, "b": 0}}
    qrels = {"original": judged, "instructed": {**judged, "both": {"a": 0, "b": 1}}}
    full = {topic: {"b": 2.0, "a": 1.0} for topic in judged}
    modes = ("original", "instructed", "reversed")

    def scored(run):
        many = parse(name).arity is Arity.MODES
        given = (qrels, dict.fromkeys(modes, run)) if many else (judged, run)
        return evaluate([name], *given, incomplete=True).scores[0]

    for gone in judged:
        found = scored({topic: docs for topic, docs in full.items() if topic != gone})
        assert found.missing == (gone,)
        assert (set(found.values), found.undefined) == (set(scored(full).values), scored(full).undefined)
        if gone in found.values:
            assert found.values[gone] == parse(name).family.missing


@pytest.mark.parametrize("preset", ["fork", "followir-2024", "mteb", "trec"])
def test_presets_of_tools_that_call_trec_eval_order_its_measures_as_it_does(preset: str) -> None:
    """The values are those of pytrec_eval: equal scores by id descending, and equal as 32-bit floats."""
    judged = {"tie": {"a": 1, "b": 0}, "near": {"a": 1}}
    run = {"tie": {"a": 1.0, "b": 1.0, "c": 1.0}, "near": {"a": 0.1 + 1e-10, "b": 0.1}}
    groups = dict.fromkeys(judged, "core")
    spellings = ["nDCG@5", "AP(cut=1000)", "R@1", "P@1", "Robustness@10"]
    done = evaluate(spellings, judged, run, preset=preset, groups=groups)
    assert done["nDCG@5"].values == {"tie": 0.5, "near": pytest.approx(0.63093, abs=1e-5)}
    assert done["AP(cut=1000)"].values == {"tie": pytest.approx(1 / 3), "near": 0.5}
    assert done["R@1"].values == done["P@1"].values == {"tie": 0.0, "near": 0.0}
    assert done["Robustness@10"].values == {"core": 0.5}


@pytest.mark.parametrize("preset", ["fork", "followir-2024"])
def test_presets_keep_the_order_of_their_tools_for_other_measures(preset: str) -> None:
    judged, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert evaluate(["MRR", "nDCG"], judged, run, preset=preset)["MRR"].mean == 1.0


def test_runs_and_judgements_as_values_are_taken_too() -> None:
    done = evaluate([parse("MRR")], Qrels(QRELS), {"original": Run(RUN), "instructed": Run(RUN)})
    assert [s.mode for s in done.scores] == ["original", "instructed"]
    assert set(done.means) == {"MRR [original]", "MRR [instructed]"}
    with pytest.raises(UsageError, match="2 modes"):
        done.get("MRR")
    assert done.get("MRR", "original").mean == pytest.approx(1 / 3)


def test_a_report_names_preset_and_units() -> None:
    for name in PRESETS:
        done = evaluate(list(PRESETS["paper"].measures), QRELS, RUN, preset=name)
        assert done.preset == name
        for row in done.rows():
            assert row["preset"] == name
            assert row["units"] == 3
    loaded = json.loads(json.dumps(done.to_dict()))
    assert loaded["scores"][0]["values"] == done.scores[0].values
    assert loaded["counts"][""]["missing"] == 1
    assert "values" not in evaluate(["MRR"], QRELS, RUN).to_dict(per_unit=False)["scores"][0]


def test_spellings_and_measures_are_both_found() -> None:
    done = evaluate(["recall@2", parse("R@2")], QRELS, RUN, preset="csfcube")
    assert str(done["recall@2"].measure) == "R(rel=2)@2"
    assert done["R@2"].mean == pytest.approx(1 / 3), "a measure is complete and takes nothing from the preset"
    assert len(done.scores) == 2
    with pytest.raises(UsageError, match="was not evaluated"):
        done["R@9"]


@pytest.mark.parametrize(
    ("qrels", "run", "said"),
    [
        ({}, RUN, "are empty"),
        ({"q1": {}}, RUN, "are empty"),
        (QRELS, {}, "for none of the 3 judged topics"),
        (QRELS, {"x": {"a": 1.0}}, "it has x; judged are q1, q2, q3"),
        (QRELS, {"q1": {"a": math.nan}}, "topic 'q1' has a score that is not a number for 'a': nan"),
        (QRELS, {"q1": {"a": 1.0, "b": math.inf}}, "for 'b': inf"),
        (QRELS, {"q1": {"a": math.inf, "b": -math.inf}}, "is not a number"),
    ],
)
def test_bad_input_is_refused(qrels, run, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        evaluate(["nDCG@10"], qrels, run)
    assert said in str(caught.value)


def test_large_finite_scores_are_fine() -> None:
    assert evaluate(["MRR"], {"q": {"a": 1}}, {"q": {"a": 1.7e308, "b": 1.6e308}})["MRR"].mean == 1.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"measures": []}, "no measure"),
        ({"measures": ["nDCG@10"], "preset": "papers"}, "did you mean paper"),
        ({"measures": ["nDCG@10"], "missing": "zero"}, "known: declared, skip"),
        ({"measures": ["nDCG@10"], "runs": None}, "needs a run"),
        ({"measures": ["nDCG@10"], "qrels": None}, "needs judgements"),
        ({"measures": ["Robustness@10"]}, "variants of one query"),
        ({"measures": ["p-MRR"]}, "for the modes original, instructed"),
        ({"measures": ["WISE@20"]}, "there is none for original, instructed, reversed"),
        ({"measures": ["HullVolume"]}, "needs vectors"),
        ({"measures": ["Gap"]}, "of retrievers and of verifiers"),
        ({"measures": ["nDCG@10"], "qrels": {"q": 1}}, "must map topics to documents"),
        ({"measures": ["nDCG@10"], "average": ["fold"]}, "no label for fold"),
    ],
)
def test_what_was_not_given_is_said(given, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        evaluate(**{"qrels": QRELS, "runs": RUN, **given})
    assert said in str(caught.value)


MODE_QRELS = {
    "original": {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}},
    "instructed": {"q1": {"a": 1}, "q2": {"a": 0}},
}
MODE_RUNS = {
    "original": {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}},
    "instructed": {"q1": {"a": 2.0, "c": 1.0, "b": 0.0}, "q2": {"a": 2.0, "b": 1.0}},
}


def test_modes_that_cover_different_topics_are_refused() -> None:
    short = {**MODE_RUNS, "instructed": {"q1": MODE_RUNS["instructed"]["q1"]}}
    with pytest.raises(BadInput, match="instructed lacks q2"):
        evaluate(["p-MRR"], MODE_QRELS, short)
    done = evaluate(["p-MRR"], MODE_QRELS, short, incomplete=True)["p-MRR"]
    assert (done.values["q2"], done.missing) == (0.0, ("q2",))
    skipped = evaluate(["p-MRR"], MODE_QRELS, short, incomplete=True, missing="skip")["p-MRR"]
    assert set(skipped.values) == {"q1"}


def test_p_mrr_by_hand() -> None:
    done = evaluate(["p-MRR", "p-MRR(documents=gold)", "GoldRank"], MODE_QRELS, MODE_RUNS)
    # q1: b falls from 2 to 3; q2: a rises from 2 to 1.
    assert done["p-MRR"].values == {"q1": pytest.approx(1 / 3), "q2": -0.5}
    assert done["p-MRR(documents=gold)"].values == {"q1": 0.0}
    assert done["p-MRR(documents=gold)"].undefined == ("q2",)
    assert done["GoldRank"].values == {"q1": 1.0}
    assert any("different length" in said for said in done.remarks)


def test_nothing_changes_anywhere_is_undefined() -> None:
    same = {"q": {"a": 1}}
    done = evaluate(
        ["p-MRR"], {"original": same, "instructed": same}, {key: {"q": {"a": 1.0}} for key in MODE_RUNS}
    )
    assert (done["p-MRR"].mean, done["p-MRR"].undefined) == (None, ("q",))


def test_unranked_documents_stand_below_the_last_or_are_skipped() -> None:
    qrels = {"original": {"q": {"a": 1, "z": 1}}, "instructed": {"q": {"b": 1}}}
    runs = {"original": {"q": {"b": 2.0, "a": 1.0}}, "instructed": {"q": {"a": 2.0, "b": 1.0}}}
    done = evaluate(["p-MRR", "p-MRR(missing=skip)"], qrels, runs)
    assert done["p-MRR"].mean == pytest.approx((-0.5 + 0.0) / 2)
    assert done["p-MRR(missing=skip)"].mean == -0.5


def test_topics_judged_in_one_mode_only_are_left_out_and_said() -> None:
    qrels = {**MODE_QRELS, "instructed": {"q1": {"a": 1}}}
    done = evaluate(["p-MRR"], qrels, MODE_RUNS)
    assert set(done["p-MRR"].values) == {"q1"}
    assert any("lack judgements" in said and "q2" in said for said in done.remarks)


def test_sicr_treats_missing_scores_as_lowest() -> None:
    qrels = {key: {"q": {"g": 1}} for key in ("original", "instructed")}
    runs = {
        "original": {"q": {"x": -1.0, "g": -2.0}},
        "instructed": {"q": {"g": -0.5, "x": -1.0}},
        "reversed": {"q": {"x": -1.0, "y": -3.0}},
    }
    done = evaluate(["SICR", "SICR(missing=zero)"], qrels, runs)
    assert done["SICR"].mean == 1.0
    assert done["SICR(missing=zero)"].mean == 0.0


def test_scores_of_plain_lists_follow_ranks() -> None:
    qrels = {key: {"q": {"g": 1}} for key in ("original", "instructed")}
    lists = {"original": ["x", "g", "y"], "instructed": ["g", "x", "y"], "reversed": ["x", "y", "g"]}
    runs = {mode: Run.from_rankings({"q": ids}) for mode, ids in lists.items()}
    assert evaluate(["SICR"], qrels, runs)["SICR"].mean == 1.0


@pytest.mark.parametrize(
    ("triple", "n", "value"),
    [
        ((1, 1, 2), 1, 1.0),
        ((2, 1, 3), 1, 0.95),
        ((20, 1, 30), 1, 1 - math.sqrt(19) / 20),
        ((21, 1, 30), 1, 0.01),
        ((25, 1, 30), 30, 1.0),
        ((4, 4, 9), 1, 0.5),
        ((4, 4, 4), 1, 0.0),
        ((4, 4, 2), 1, 0.0),
        ((4, 8, 4), 1, -0.5),
        ((4, 2, 4), 1, 0.0),
        ((4, 2, 3), 1, -0.25),
        ((4, 8, 3), 1, -1.0),
    ],
)
def test_wise_lines(triple, n: int, value: float) -> None:
    assert wise_score(*triple, n) == pytest.approx(value)


def test_wise_options() -> None:
    assert wise_score(3, 1, 9, 3, rule="fork") == pytest.approx(1 - math.sqrt(2) / 20)
    assert wise_score(3, 1, 9, 1, shape="linear") == pytest.approx(0.9)
    assert wise_score(30, 2, 40, 1, beyond=0.1) == 0.1
    assert wise_score(4, 4, 2, 1, penalty="min") == -0.5


def test_robustness_of_the_papers_footnote() -> None:
    """Two groups whose worst member has 0.2: the measure does not tell them apart."""
    inner = {"g1-a": 1, "g1-b": 5, "g2-a": 5, "g2-b": 5}
    qrels = {topic: {"rel": 1} for topic in inner}
    run = Run.from_rankings({t: [*(f"x{i}" for i in range(place - 1)), "rel"] for t, place in inner.items()})
    groups = {topic: topic[:2] for topic in inner}
    done = evaluate(["Robustness@10", "nDCG@10"], qrels, run, groups=groups)
    worst = 1 / math.log2(6)
    assert done["Robustness@10"].values == {"g1": pytest.approx(worst), "g2": pytest.approx(worst)}
    assert done["Robustness@10"].units == 2
    del run.data["g2-b"]  # type: ignore[attr-defined]
    assert evaluate(["Robustness@10"], qrels, run, groups=groups)["Robustness@10"].values["g2"] == 0.0


def test_means_within_labels() -> None:
    labels = {
        "q1": {"fold": "1", "kind": "x"},
        "q2": {"fold": "1", "kind": "y"},
        "q3": {"fold": "2", "kind": "y"},
    }
    values = {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert nested_mean(values, labels, ()) == pytest.approx(1 / 3)
    assert nested_mean(values, labels, ("fold",)) == 0.25
    assert nested_mean(values, labels, ("fold", "kind")) == 0.5
    assert nested_mean({}, labels, ("fold",)) is None
    done = evaluate(["P@1"], QRELS, RUN, labels=labels, average=["fold"])
    assert (done["P@1"].mean, done["P@1"].values, done.average) == (0.25, values, ("fold",))
    folds = evaluate(["MRR(rel=1)"], QRELS, RUN, labels=labels, preset="csfcube")
    assert folds.average == ("fold",)
    assert folds["MRR(rel=1)"].mean == 0.25
    plain = evaluate(["MRR(rel=1)"], QRELS, RUN, preset="csfcube")
    assert plain.average == ()
    assert any("which no labels name" in said for said in plain.remarks)


def test_core_queries_have_the_labels_their_variants_share() -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}
    run = {topic: {"a": 1.0} for topic in qrels}
    labels = {"q1": {"d": "x", "m": "1"}, "q2": {"d": "x", "m": "2"}, "q3": {"d": "y", "m": "1"}}
    groups = {"q1": "g1", "q2": "g1", "q3": "g2"}
    done = evaluate(["Robustness@10"], qrels, run, groups=groups, labels=labels, average=["d"])
    assert done["Robustness@10"].by(done.labels, "d") == {"x": (1.0, 1), "y": (1.0, 1)}
    assert done.labels["g1"] == {"d": "x"}


def test_aspect_pairs_of_csfcube() -> None:
    qrels = {"p1_m": {"a": 3, "b": 1}, "p1_r": {"a": 1, "b": 3}, "p2_m": {"a": 2}}
    run = {"p1_m": {"a": 2.0, "b": 1.0}, "p1_r": {"b": 2.0, "a": 1.0}, "p2_m": {"a": 1.0}}
    groups = {"p1_m": "p1", "p1_r": "p1", "p2_m": "p2"}
    pairs = pair_up(run, qrels, groups, {topic: topic[-1] for topic in qrels})
    done = evaluate(
        ["p-MRR"], pairs.qrels, pairs.runs, preset="csfcube", labels=pairs.labels, average=("pair", "aspect")
    )["p-MRR"]
    assert done.values == {"p1_m>p1_r": 0.5, "p1_r>p1_m": 0.5}
    assert (str(done.measure), done.mean) == ("p-MRR(rel=2)", 0.5)


def test_gold_and_pooled_gap() -> None:
    qrels = {"q": {"a": 1}}
    pools = Pools(
        retrievers={"bm25": {"q": {"x": 2.0, "a": 1.0}}},
        verifiers={"judge": {"q": {"a": 1.0}}},
        lower={"judge": {"q": {"x": 2.0, "y": 1.5, "a": 1.0}}},
        agents={"agent": {"q": {"a": 1.0}}},
    )
    asked = ["Gap(of=MRR)", "Gap(of=MRR,bound=lower)", "Gap(of=MRR,agents=true)"]
    done = evaluate(asked, qrels, pools=pools)
    assert [score.mean for score in done.scores] == [0.5, pytest.approx(1 / 3 - 0.5), 0.0]
    assert done[asked[0]].systems["verifiers"] == {"judge": 1.0}
    assert done[asked[0]].units == 1


def test_vectors() -> None:
    flat = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    done = evaluate(
        ["HullVolume", "CosineDistance", "CentroidDistance"], vectors={"q": flat + 1.0, "p": flat[1:2]}
    )
    assert done["HullVolume"].values == {"q": 0.0, "p": 0.0}
    assert done["CosineDistance"].undefined == ("p",)
    assert done["CentroidDistance"].values["p"] == 0.0
    cube = np.array([[x, y, z, 5.0] for x in (0, 1) for y in (0, 2) for z in (0, 3)])
    assert hull_volume().score(cube) == pytest.approx(6.0)
    for bad, said in (
        (np.zeros((2, 3)), "zero"),
        (np.full((2, 3), np.nan), "NaN"),
        (np.zeros(3), "of shape"),
    ):
        with pytest.raises(BadInput, match=said):
            evaluate(["CosineDistance"], vectors={"q": bad})
    with pytest.raises(UsageError, match="three dimensions"):
        evaluate(["HullVolume(projection=raw)"], vectors={"q": cube})


def test_nothing_that_is_no_number_is_averaged() -> None:
    made = Family("Broken", Arity.RANKING, lambda measure, topic: math.nan if topic.length > 1 else 1.0)
    with pytest.raises(BadInput, match="Broken of 'q' is nan"):
        evaluate([made], {"p": {"a": 1}, "q": {"a": 1}}, {"p": {"a": 1.0}, "q": {"a": 1.0, "b": 0.0}})
    with pytest.raises(BadInput, match="topic 'q' has a grade that is not a number for 'b': nan"):
        evaluate(["MRR"], {"q": {"a": 1, "b": math.nan}}, {"q": {"a": 1.0}})


def test_a_measure_declares_whose_judgements_it_reads() -> None:
    def relevant(measure, topic):
        return float(topic["original"].count(1.0))

    both = Family("Both", Arity.MODES, relevant, modes=("original", "instructed"))
    one = Family("One", Arity.MODES, relevant, modes=("original", "instructed"), judged=("original",))
    qrels = {"original": {"p": {"a": 1}, "q": {"a": 1, "b": 1}}, "instructed": {"p": {"a": 1}}}
    run = {"p": {"a": 1.0}, "q": {"a": 1.0}}
    runs = {"original": run, "instructed": run}
    done = evaluate([both, one], qrels, runs)
    assert done[both].values == {"p": 1.0}
    assert done[one].values == {"p": 1.0, "q": 2.0}


def test_topics_without_judgements_are_said() -> None:
    done = evaluate(["MRR"], {"p": {"a": 1}, "q": {}}, {"p": {"a": 1.0}, "q": {"a": 1.0}})
    assert done["MRR"].values == {"p": 1.0}
    assert "1 topics without any judgement: q" in done.remarks


def test_excluded_documents_leave_ranking_and_judgements() -> None:
    done = evaluate(
        ["MRR", "R@10", "nDCG"],
        {"q": {"self": 3, "a": 1}},
        {"q": {"self": 9.0, "a": 1.0}},
        excluded={"q": {"self"}},
    )
    assert set(done.means.values()) == {1.0}


@pytest.mark.parametrize(
    ("run", "value"),
    [
        ({"a": 3.0, "b": 2.0, "x": 1.0, "y": 0.5}, 1.0),
        ({"x": 3.0, "y": 2.0, "a": 1.0, "b": 0.5}, 0.0),
        ({"a": 9.0, "other": 3.0, "x": 2.0, "b": 1.0, "y": 0.5}, 0.75),
        ({"a": 1.0}, 0.75),
        ({"x": 1.0}, 0.25),
    ],
    ids=["all above", "all below", "unjudged between", "three unranked, equal", "irrelevant alone"],
)
def test_auc_counts_pairs(run, value: float) -> None:
    judgements = {"q": {"a": 2, "b": 1, "x": 0, "y": 0}}
    assert evaluate(["AUC"], judgements, {"q": run})["AUC"].mean == pytest.approx(value)


def test_auc_needs_documents_of_both_kinds() -> None:
    judgements = {"q": {"a": 1}, "r": {"a": 1, "x": 0}}
    found = evaluate(["AUC"], judgements, {"q": {"a": 1.0}, "r": {"a": 1.0}})["AUC"]
    assert found.values == {"r": 1.0}
    assert found.undefined == ("q",)
