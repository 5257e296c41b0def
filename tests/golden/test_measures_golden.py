"""The lab's numbers against those of public tools (which ones: ``tool`` in each file of ``measures/``)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import nested_mean
from aspectra.lab.measures.instructed import rank_change, wise_score
from aspectra.lab.measures.protocol import parse
from aspectra.lab.runs.files import order_ids
from aspectra.lab.statistics.significance import paired_t

HERE = Path(__file__).parent / "measures"
# Derived from CC BY-NC data, so not part of this repository.
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "golden-metrics"


def load(name: str) -> Any:
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


def load_beside(name: str) -> Any:
    path = BESIDE / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"{name}.json is CC BY-NC and not part of the repository; it is not beside this checkout")
    return json.loads(path.read_text(encoding="utf-8"))


def cases(name: str) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(c, id=c["name"]) for c in load(name)["cases"]])


def near(value: float, tolerance: float = 1e-9) -> Any:
    return pytest.approx(value, rel=0, abs=tolerance)


def ranking(docs: list[Any]) -> dict[str, float]:
    return {str(doc): -float(i) for i, doc in enumerate(docs)}


def listed(grades: dict[str, list[float]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgements and a run out of grades in rank order."""
    qrels = {q: {f"d{i}": g for i, g in enumerate(gs)} for q, gs in grades.items()}
    return qrels, {q: ranking([f"d{i}" for i in range(len(gs))]) for q, gs in grades.items()}


TREC = {
    "ndcg": "nDCG",
    "map": "AP",
    "Rprec": "R-precision",
    "recip_rank": "MRR",
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in (1, 3, 5, 10, 20)},
    **{f"recall_{k}": f"R@{k}" for k in (1, 3, 5, 10, 20, 100)},
    **{f"P_{k}": f"P@{k}" for k in (1, 5, 10)},
    **{f"map_cut_{k}": f"AP(cut={k})" for k in (5, 10)},
}


@cases("trec_eval")
def test_trec_eval(case: dict[str, Any]) -> None:
    level = case["relevance_level"]
    preset = "trec" if "float32" in case["name"] else "paper"

    def leveled(text: str) -> str:
        name, at, cut = text.partition("@")
        if level == 1 or name == "nDCG":
            return text
        return (f"{name[:-1]},rel={level})" if name.endswith(")") else f"{name}(rel={level})") + at + cut

    asked = {theirs: leveled(ours) for theirs, ours in TREC.items()}
    for k in (1, 3, 5, 10):
        asked[f"recip_rank_cut_{k}"] = leveled(f"MRR@{k}")
    done = evaluate(list(asked.values()), case["qrels"], case["run"], preset=preset)
    skipping = evaluate(list(asked.values()), case["qrels"], case["run"], preset=preset, missing="skip")
    assert done.preset == preset
    for theirs, ours in asked.items():
        for query, values in {**case["per_query"]}.items():
            expected = case["rr_at_k"][query] if theirs.startswith("recip_rank_cut") else values
            assert done[ours].values[query] == near(expected[theirs]), (query, ours)
        if theirs in case["mean_over_evaluated"]:
            assert skipping[ours].mean == near(case["mean_over_evaluated"][theirs]), ours
            every = case["sum_over_all_qrels_queries"][theirs]
            assert done[ours].mean is not None
            assert done[ours].mean == near(every), ours
            assert done[ours].units == len(case["qrels"])


@cases("ndcg_gain_variants")
def test_ndcg_gains(case: dict[str, Any]) -> None:
    for name, expected in case["expected"].items():
        kind, _, cut = name.removeprefix("ndcg_").partition("@")
        spelling = f"nDCG(gain={kind})@{cut}"
        done = evaluate([spelling], case["qrels"], case["run"])[spelling]
        assert done.values == {q: near(v) for q, v in expected.items()}


@cases("ndcg_tie_average")
def test_ndcg_over_all_orders_of_ties(case: dict[str, Any]) -> None:
    qrels = {"q": {f"d{i}": g for i, g in enumerate(case["grades"])}}
    run = {"q": {f"d{i}": s for i, s in enumerate(case["scores"])}}
    for name, expected in case["expected"].items():
        kind, _, cut = name.partition("@")
        spelling = f"nDCG(gain={kind},ties=average)@{cut}"
        assert evaluate([spelling], qrels, run)[spelling].mean == near(expected)


def changed_qrels(docs: dict[str, list[str]], runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Judgements under which exactly these documents cease to be relevant."""
    every = sorted({q for run in runs for q in run} | set(docs))
    original = {q: dict.fromkeys(docs.get(q, ()), 1) | {"another": 0} for q in every}
    return {"original": original, "instructed": {q: {"another": 0} for q in every}}


@cases("p_mrr")
def test_p_mrr(case: dict[str, Any]) -> None:
    runs = {"original": case["original_run"], "instructed": case["new_run"]}
    qrels = changed_qrels(case["changed_docs"], list(runs.values()))
    for preset, key in (
        ("paper", "p_mrr_id_descending"),
        ("mteb", "p_mrr_id_descending"),
        ("followir-2024", "p_mrr_insertion_order"),
    ):
        expected = case[key]
        done = evaluate(["p-MRR"], qrels, runs, preset=preset)["p-MRR"]
        assert done.mean == (None if expected is None else near(expected)), preset
    for query, docs in case["per_document_id_descending"].items():
        for doc, expected in docs.items():
            places = []
            for run in runs.values():
                order = order_ids(run[query])
                places.append(order.index(doc) + 1 if doc in order else len(order) + 1)
            assert places == [expected["rank_og"], expected["rank_new"]]
            assert rank_change(*places) == near(expected["score"])


def test_p_mrr_rank_grid() -> None:
    for case in load("p_mrr_rank_grid")["cases"]:
        for original, new, expected in case["rows"]:
            assert rank_change(original, new) == near(expected), (original, new)


def test_wise_grid() -> None:
    for case in load("infosearch_wise_grid")["cases"]:
        for row in case["rows"]:
            original, instructed, reverse, n, *expected = row
            got = [
                wise_score(original, *ranks, n, rule=rule)
                for rule in ("fork", "paper")
                for ranks in ((instructed, reverse), (1, original + 1))
            ]
            assert got == [near(v) for v in expected], row


INFOSEARCH = {
    "p-MRR": "p-MRR",
    "WISE": "WISE@20",
    "ideal_WISE": "WISE-ideal@20",
    "WISE_paper": "WISE(rule=paper)@20",
    "ideal_WISE_paper": "WISE-ideal(rule=paper)@20",
    "SICR": "SICR",
    "SICR_paper": "SICR(rule=paper,missing=zero)",
    "Per": "Per@20",
    "Per_paper": "Per(rule=paper)@20",
    "ori_pos_rank": "GoldRank(mode=original)",
    "ins_pos_rank": "GoldRank(mode=instructed)",
    "rev_pos_rank": "GoldRank(mode=reversed)",
    "ori_neg_rank": "NegativeRank(mode=original)",
    "ins_neg_rank": "NegativeRank(mode=instructed)",
    "rev_neg_rank": "NegativeRank(mode=reversed)",
    "pos_neg_rank": "RankGap(mode=instructed)",
}


@cases("infosearch_runs")
def test_infosearch(case: dict[str, Any]) -> None:
    gold, negatives = case["gold"], case["instruction_negatives"]
    qrels = {
        "original": {q: dict.fromkeys([*gold[q], *negatives.get(q, ())], 1) for q in gold},
        "instructed": {q: dict.fromkeys(gold[q], 1) for q in gold},
        "reversed": {q: dict.fromkeys(negatives.get(q, ()), 1) or {"another": 0} for q in gold},
    }
    runs = {"original": case["run_ori"], "instructed": case["run_ins"], "reversed": case["run_rev"]}
    done = evaluate(list(INFOSEARCH.values()), qrels, runs, preset="fork")
    assert set(case["expected"]) - set(INFOSEARCH) <= {"SICR_fork_last_gold_only"}
    for theirs, ours in INFOSEARCH.items():
        assert done[ours].mean == near(case["expected"][theirs]), theirs


@cases("robustness")
def test_robustness(case: dict[str, Any]) -> None:
    groups = {topic: group for group, topics in case["groups"].items() for topic in topics}
    done = evaluate(["Robustness@10", "nDCG@10"], case["qrels"], case["run"], groups=groups)
    assert done["nDCG@10"].values == {q: near(v) for q, v in case["ndcg10"].items()}
    assert done["Robustness@10"].values == {g: near(v) for g, v in case["min_per_group"].items()}
    assert done["Robustness@10"].mean == near(case["robustness10"])
    assert done["nDCG@10"].mean == near(case["mean_ndcg10"])


@cases("gold_pooled")
def test_gold_and_pooled(case: dict[str, Any]) -> None:
    for judgements, expected in case["expected"].items():
        done = evaluate(["nDCG@10"], case[judgements], case["run"])
        assert done["nDCG@10"].mean == near(expected["ndcg_cut_10"])
        for name, value in expected.items():
            kind, _, cut = name.rpartition("_")
            spelling = ("nDCG" if kind == "ndcg_cut" else "R") + f"@{cut}"
            assert evaluate([spelling], case[judgements], case["run"])[spelling].mean == near(value)


CSFCUBE = {
    "recall": "R@20",
    "precision": "P@20",
    "f1": "F1@20",
    "r_precision": "csfcube_r_precision",
    "av_precision": "AP",
    "reciprocal_rank": "MRR",
    "ndcg": "nDCG",
    "ndcg@20": "nDCG@20",
    "ndcg%20": "NDCG%20",
    "mean_av_precision": "AP",
    "mean_reciprocal_rank": "MRR",
}


@cases("csfcube_synthetic")
def test_csfcube(case: dict[str, Any]) -> None:
    assert (case["threshold"], case["at"]) == (2, 20)
    qrels, run = listed({"q": case["ranked_grades"]})
    done = evaluate([CSFCUBE[name] for name in case["expected"]], qrels, run, preset="csfcube")
    for name, expected in case["expected"].items():
        assert done[CSFCUBE[name]].mean == near(expected), name


@pytest.mark.parametrize("facet", ["background", "method"])
def test_csfcube_specter(facet: str) -> None:
    facets = load_beside("csfcube_specter")["facets"]
    data = facets[facet]
    grades = {q: g for f in facets.values() for q, g in f.get("ranked_grades", {}).items()}
    folds = data["folds"]
    labels = {q: {"fold": fold} for fold, queries in folds.items() for q in queries}
    for split, wanted in (("test", list(labels)), ("dev", folds["fold2_test"])):
        qrels, run = listed({q: grades[q] for q in wanted})
        done = evaluate(list(CSFCUBE.values()), qrels, run, preset="csfcube", labels=labels)
        for query in wanted:
            for name, expected in data["per_query"].get(query, {}).items():
                assert done[CSFCUBE[name]].values[query] == near(expected), (query, name)
        for name, expected in data[split].items():
            assert done[CSFCUBE[name]].mean == near(expected), (split, name)
        if split == "test":
            for name, expected in data["mean_over_queries"].items():
                assert nested_mean(done[CSFCUBE[name]].values, {}, ()) == near(expected), name


@cases("litsearch")
def test_litsearch(case: dict[str, Any]) -> None:
    qrels = {"q": {str(doc): 1 for doc in case["relevant"]}}
    done = evaluate(
        ["R@5", "R@20", "nDCG@10"], qrels, {"q": ranking(case["retrieved"])}, preset="litsearch-tool"
    )
    assert done["R@5"].mean == near(case["expected"]["recall@5"])
    assert done["R@20"].mean == near(case["expected"]["recall@20"])
    assert done["nDCG@10"].mean == near(case["expected"]["ndcg_tool@10"])


PRISM = {
    "recall@50": "R@50",
    "recall@100": "R@100",
    "mrr@50": "MRR@50",
    "map@30": "AP(cut=30)",
    "ndcg@50": "nDCG@50",
}


@cases("prism")
def test_prism(case: dict[str, Any]) -> None:
    qrels = {"q": {str(doc): 1 for doc in case["relevant"]}}
    done = evaluate(list(PRISM.values()), qrels, {"q": ranking(case["retrieved"])})
    for name, expected in case["expected"].items():
        assert done[PRISM[name]].mean == near(expected), name


DIVERSITY = {
    "mean_cosine_distance_pairs": "CosineDistance",
    "mean_cosine_distance_with_self": "CosineDistance(self=true)",
    "centroid_distance_mean": "CentroidDistance",
    "centroid_distance_rms": "CentroidDistance(mean=rms)",
    "hull_volume_pca3": "HullVolume",
    "hull_volume_raw3": "HullVolume(projection=raw)",
}


@cases("diversity")
def test_diversity(case: dict[str, Any]) -> None:
    vectors = {"q": np.array(case["vectors"])}
    for name, expected in case["expected"].items():
        assert evaluate([DIVERSITY[name]], vectors=vectors)[DIVERSITY[name]].mean == near(expected, 1e-8), (
            name
        )


@cases("paired_t")
def test_paired_t(case: dict[str, Any]) -> None:
    a, b = ({str(i): v for i, v in enumerate(case[side])} for side in "ab")
    for alternative, expected in case["expected"].items():
        outcome = paired_t(a, b, alternative)
        assert outcome.units == expected["df"] + 1
        if expected["t"] is not None:
            assert outcome.statistic == near(expected["t"])
            assert outcome.p == near(expected["p"])
        elif expected["p"] is None:
            assert (outcome.statistic, outcome.p) == (0.0, 1.0)
        else:
            assert outcome.statistic is not None
            assert math.isinf(outcome.statistic)
            assert outcome.p == expected["p"]


@pytest.mark.parametrize("name", ["clinical-trial/GPT-4_score_O", "relic/GPT-4_score_O"])
def test_birco(name: str) -> None:
    case = next(c for c in load_beside("birco")["cases"] if c["name"] == name)
    qrels, run = {}, {}
    for query, lists in case["queries"].items():
        grades = [*lists["ranked_grades"], *lists["unranked_grades"]]
        qrels[query] = {f"d{i}": g for i, g in enumerate(grades)}
        run[query] = ranking([f"d{i}" for i in range(len(lists["ranked_grades"]))])
    names = {"ndcg@10": "nDCG@10", "map": "AP", **{f"recall@{k}": f"R@{k}" for k in (5, 10, 20, 100)}}
    done = evaluate(list(names.values()), qrels, run)
    assert done["nDCG@10"].values == {q: near(v) for q, v in case["per_query_ndcg10"].items()}
    # Its tool leaves queries without relevant documents out of recall and MAP, and has its own MRR@10.
    some = {query for query, grades in qrels.items() if any(g >= 1 for g in grades.values())}
    for theirs, ours in names.items():
        kept = [v for q, v in done[ours].values.items() if theirs == "ndcg@10" or q in some]
        assert math.fsum(kept) / len(kept) == near(case["expected"][theirs]), theirs


def test_every_golden_measure_spells_itself() -> None:
    for text in (*TREC.values(), *INFOSEARCH.values(), *DIVERSITY.values(), *PRISM.values()):
        assert parse(str(parse(text))) == parse(text)
