"""Experiments on a made-up collection: what is ranked, kept, made again, scored and printed."""

from __future__ import annotations

import errno
import json
import os

import pytest

import benchmark_fixtures as made_up
from aspectra.base.errors import AspectraError, BadInput, NoSuchPaper, UsageError
from aspectra.base.files import Disk, digest, disk, using
from aspectra.base.values import replace
from aspectra.base.values import replace as changed
from aspectra.base.version import __version__
from aspectra.lab.benchmarks.protocol import BENCHMARKS, Topic
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import PRESETS
from aspectra.lab.experiments.directory import Source, Study, manifest
from aspectra.lab.experiments.execute import scores_of
from aspectra.lab.experiments.experiment import (
    Cell,
    RankingRecord,
    Records,
    benchmark_library,
    library_state,
    paper_vectors,
    placed_whole,
    run_cells,
    topic_query,
)
from aspectra.lab.experiments.scoring import score_cell
from aspectra.lab.reports.scores import System, breakdown_tables, interval_of, main_table, number_of
from aspectra.lab.reports.tables import render
from aspectra.llm.budget import Cost
from aspectra.llm.scripted import Scripted
from aspectra.search.instructions.understanding import understand
from aspectra.search.plan import Tally
from aspectra.search.recipe import Recipe
from aspectra.search.scoring.engine import Engine
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

SETTINGS = IndexSettings(encoders=("fake",), chunks=())


class World:
    """A benchmark, its searcher, and cells made on demand."""

    def __init__(self, folder, name, layout, **options):
        self.benchmark = BENCHMARKS.get(name)(layout(folder / name), **options)
        self.fake = FakeEncoder()
        self.searcher = benchmark_library(
            self.benchmark, folder / "library", SETTINGS, load=lambda _: self.fake
        )
        self.searchers = {self.benchmark.name: self.searcher}
        self.folder = folder

    def cell(self, spec="bm25", protocol="collection", **more):
        state = library_state(self.searcher)
        return Cell(Recipe.parse(spec), self.benchmark, protocol, 100, state, **more)

    def records(self):
        return Records(self.folder / "records.jsonl")


@pytest.fixture
def beir(tmp_path):
    return World(tmp_path, "beir", made_up.beir)


@pytest.fixture
def csfcube(tmp_path):
    return World(tmp_path, "csfcube", made_up.csfcube)


@pytest.fixture
def modes(tmp_path):
    return World(tmp_path, "infosearch", made_up.infosearch)


def score_of(outcome, measure):
    (found,) = (score for _, score in outcome.scores() if str(score.measure) == measure)
    return found


def test_a_finished_ranking_is_not_made_again(beir):
    cells = [beir.cell("bm25"), beir.cell("hybrid")]
    with beir.records() as records:
        topics = len(beir.benchmark.topics)
        assert run_cells(cells, beir.searchers, records) == 2 * topics
        before = records.path.read_bytes()
        assert run_cells(cells, beir.searchers, records) == 0
    with beir.records() as records:  # opened again
        assert run_cells(cells, beir.searchers, records) == 0
        assert records.path.read_bytes() == before
        assert run_cells([replace(cells[0], depth=7)], beir.searchers, records) == topics


class Slow(Disk):
    """A disk that counts what was waited for, and can be full."""

    def __init__(self):
        self.synced = []
        self.full = False

    def sync_stream(self, stream):
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().sync_stream(stream)
        self.synced.append(os.fstat(stream.fileno()).st_size)


def test_every_record_is_on_the_disk_when_it_counts(beir):
    cell = beir.cell()
    with using(Slow()) as _, beir.records() as records:
        run_cells([cell], beir.searchers, records)
        sizes = disk().synced
        lines = records.path.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(beir.benchmark.topics) > 1
    assert sizes == [sum(map(len, lines[: n + 1])) for n in range(len(lines))]


def test_a_full_disk_ends_the_run_and_loses_nothing(beir):
    cell = beir.cell()
    slow = Slow()
    with using(slow), beir.records() as records:
        records.add(RankingRecord(cell.key, "q0", "original", 0, ("b0",), (1.0,), 0.0))
        slow.full = True
        with pytest.raises(AspectraError, match=r"cannot write .*records.jsonl") as error:
            records.add(RankingRecord(cell.key, "q1", "original", 0, ("b0",), (1.0,), 0.0))
        assert "No space left" in error.value.why
        assert records.get(cell.key, "q1", "original", 0) is None
        with pytest.raises(AspectraError, match="not open for writing"):
            records.add(RankingRecord(cell.key, "q1", "original", 0, ("b0",), (1.0,), 0.0))
    with beir.records() as records:
        assert records.get(cell.key, "q0", "original", 0) is not None


def test_a_line_cut_off_is_made_again_and_a_damaged_one_is_said(beir):
    cell = beir.cell()
    with beir.records() as records:
        run_cells([cell], beir.searchers, records)
        whole = [(r.key, r.ids, r.scores) for r in records.of(cell.key)]
    raw = (beir.folder / "records.jsonl").read_bytes()
    (beir.folder / "records.jsonl").write_bytes(raw[:-9])
    with beir.records() as records:
        assert len(records.of(cell.key)) == len(whole) - 1
        assert run_cells([cell], beir.searchers, records) == 1
        assert [(r.key, r.ids, r.scores) for r in records.of(cell.key)] == whole
    with beir.records() as records:  # what was cut off left nothing behind
        assert [(r.key, r.ids, r.scores) for r in records.of(cell.key)] == whole
    lines = (beir.folder / "records.jsonl").read_bytes().splitlines(keepends=True)
    (beir.folder / "records.jsonl").write_bytes(b"{]\n" + b"".join(lines[1:]))
    with pytest.raises(BadInput, match="line 1 of"):
        beir.records()
    (beir.folder / "records.jsonl").write_bytes(b"".join(lines[:1]) + b"{]\n")
    with pytest.raises(BadInput, match="line 2 of"):
        beir.records()


def test_topics_are_searched_as_they_were_written():
    topic = Topic("t", "bees, only in German, not from a blog")
    query = topic_query(topic, "original", 10)
    assert understand(query).query.text == topic.text
    assert understand(query).query.conditions == ()


def test_a_users_text_that_names_no_subject_finds_nothing(beir):
    refused = Topic("refused", "no surveys", typed=True)
    benchmark = replace(beir.benchmark, topics=(*beir.benchmark.topics, refused))
    cell = replace(beir.cell(), benchmark=benchmark)
    with beir.records() as records:
        run_cells([cell], beir.searchers, records)
        found = {record.topic: record.ids for record in records.of(cell.key)}
    assert found["refused"] == ()
    assert all(ids for topic, ids in found.items() if topic != "refused")


def test_a_recipe_that_finds_nothing_is_a_row_of_zeros(beir):
    topics = tuple(replace(topic, text="no surveys", typed=True) for topic in beir.benchmark.topics)
    with beir.records() as records:
        cell = replace(beir.cell(), benchmark=replace(beir.benchmark, topics=topics))
        run_cells([cell], beir.searchers, records)
        outcome = score_cell(cell, records, measures=["nDCG@10", "R@5"])
    assert [score.mean for _, score in outcome.scores()] == [0.0, 0.0]
    assert "bm25 found nothing for any topic" in render(main_table("x", scores_of([outcome])), "markdown")


def test_a_pool_is_ranked_whole_and_nothing_else(csfcube):
    cell = csfcube.cell("bm25 | top(1) | dense", "pool")
    with csfcube.records() as records:
        run_cells([cell], csfcube.searchers, records)
        for record in records.of(cell.key):
            topic = next(t for t in csfcube.benchmark.topics if t.id == record.topic)
            pool = set(csfcube.benchmark.pools[topic.id]) - {topic.seed}
            assert set(record.ids) == pool
            assert record.missing == len(pool) - 1
            assert list(record.scores) == sorted(record.scores, reverse=True)
        outcome = score_cell(cell, records)
    assert "did not rank, placed last: bm25 | top(1) | dense" in render(
        main_table("x", scores_of([outcome])), "markdown"
    )


def test_pool_papers_that_were_not_ranked_follow_by_id_descending():
    pool = ["p10", "p9", "b", "a", "p2"]
    ids, scores, late = placed_whole(["p9", "a"], [0.25, -3.0], pool)
    assert ids == ("p9", "a", "p2", "p10", "b"), "ids compare as texts: p2 before p10"
    assert scores == (0.25, -3.0, -4.0, -5.0, -6.0)
    assert late == 3
    assert placed_whole(["a"], [0.0], reversed(pool)) == placed_whole(["a"], [0.0], pool)
    assert placed_whole([], [], ["x", "y"]) == (("y", "x"), (-1.0, -2.0), 2)
    assert placed_whole(["x"], [7.0], ()) == (("x",), (7.0,), 0)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_keeps_the_order_of_what_was_not_ranked(preset, csfcube):
    """Relevant is the last of three papers that the recipe did not rank: rank 4 of 4."""
    ids, scores, _ = placed_whole(["m"], [0.5], ["m", "c", "b", "a"])
    found = evaluate(["MRR"], {"q": {"a": 3.0}}, {"q": dict(zip(ids, scores, strict=True))}, preset=preset)
    assert found["MRR"].mean == 0.25


def test_a_recorded_pool_is_placed_whole(csfcube):
    cell = csfcube.cell("bm25 | top(1) | dense", "pool")
    with csfcube.records() as records:
        run_cells([cell], csfcube.searchers, records)
        for record in records.of(cell.key):
            (_, *rest), (best, *below) = record.ids, record.scores
            assert rest == sorted(rest, reverse=True)
            assert below == [best - 1.0 - n for n in range(len(rest))]
        assert any(record.missing > 1 for record in records.of(cell.key))


def test_an_empty_pool_is_not_the_collection(csfcube):
    pools = {topic.id: () for topic in csfcube.benchmark.topics}
    cell = replace(csfcube.cell("bm25", "pool"), benchmark=replace(csfcube.benchmark, pools=pools))
    with csfcube.records() as records:
        run_cells([cell], csfcube.searchers, records)
        assert {r.ids for r in records.of(cell.key)} == {()}


def test_percent_cuts_are_of_pools_only(csfcube):
    cells = [csfcube.cell("bm25", protocol) for protocol in ("pool", "collection")]
    with csfcube.records() as records:
        run_cells(cells, csfcube.searchers, records)
        pool, collection = (score_cell(cell, records) for cell in cells)
    assert any(str(s.measure) == "NDCG%20" for _, s in pool.scores())
    assert not any(str(s.measure) == "NDCG%20" for _, s in collection.scores())
    assert any("NDCG%20 is of a whole pool" in note for note in collection.notes)
    assert "NDCG%20 is of a whole pool" in render(main_table("x", scores_of([collection])), "markdown")


def test_only_what_is_asked_for_is_scored(csfcube, tmp_path):
    cell = csfcube.cell("bm25", "pool")
    with csfcube.records() as records:
        run_cells([cell], csfcube.searchers, records)
        default, asked = score_cell(cell, records), score_cell(cell, records, measures=["nDCG@5"])
        one = BENCHMARKS.get("csfcube")(csfcube.folder / "csfcube", facet="result")
        alone = score_cell(replace(cell, benchmark=one), records, incomplete=True)
        under = score_cell(cell, records, preset="csfcube", measures=["nDCG@5"])
    assert [str(s.measure) for s in default.evaluations["pairs"].scores] == ["p-MRR(rel=2)"]
    assert [str(s.measure) for _, s in asked.scores()] == ["nDCG@5"]
    assert "pairs" not in alone.evaluations
    assert "p-MRR(rel=2) needs several modes or aspects, which csfcube does not have" in alone.notes
    assert under.evaluations["gold"].average == ("fold",)
    assert not any("no labels name" in remark for remark in under.evaluations["gold"].remarks)


def test_a_preset_averages_within_folds_only_where_there_are_folds(csfcube):
    cell = csfcube.cell("bm25", "pool")
    cell = replace(cell, benchmark=replace(cell.benchmark, folds={}))
    with csfcube.records() as records:
        run_cells([cell], csfcube.searchers, records)
        found = score_cell(cell, records, preset="csfcube", measures=["nDCG@5"]).evaluations["gold"]
    assert found.average == ()
    assert not any("no labels name" in remark for remark in found.remarks)


def test_costs_are_summed_over_rankings_of_resumed_runs(beir):
    """Two runs of the program: 1 + 3 calls and 1 recorded answer, 10 + 30 + 7 tokens, 0.5 + 0.25 money."""
    cell = beir.cell()
    spent = [
        Tally(questions=2, cost=Cost(calls=1, prompt_tokens=6, completion_tokens=4, money=0.5)),
        Tally(
            questions=4,
            cost=Cost(calls=3, prompt_tokens=30, money=0.25, recorded=1, recorded_tokens=7),
        ),
    ]
    for topic, tally in zip(("q0", "q1"), spent, strict=True):
        with beir.records() as records:  # opened anew, as a resumed run does
            records.add(
                RankingRecord(cell.key, topic, "original", 0, ("b0",), (1.0,), 0.25, tally, missing=2)
            )
    with beir.records() as records:
        outcome = score_cell(cell, records)
    assert outcome.cost == {"calls": 5.0, "tokens": 47.0, "money": 0.75}
    assert (outcome.tally.questions, outcome.appended, outcome.seconds) == (6, 4, 0.25)


def test_no_pools_no_pool_protocol(beir):
    cell = replace(beir.cell(), benchmark=replace(beir.benchmark, pools=None), protocol="pool")
    with beir.records() as records, pytest.raises(UsageError, match="has no pools"):
        run_cells([cell], beir.searchers, records)


def test_incomplete_sets_are_not_averaged(beir):
    cell = beir.cell()
    with beir.records() as records:
        part = replace(beir.benchmark, topics=beir.benchmark.topics[:1])
        run_cells([replace(cell, benchmark=part)], beir.searchers, records)
        for record in list(records.of(replace(cell, benchmark=part).key)):
            records.add(changed(record, cell=cell.key))
        with pytest.raises(BadInput, match="1 of 2 rankings are missing"):
            score_cell(cell, records)
        outcome = score_cell(cell, records, incomplete=True)
    assert (outcome.ranked, outcome.topics) == (1, 2)
    assert any("incomplete: 1 of 2" in note for note in outcome.notes)
    assert score_of(outcome, "nDCG@10").units == 1


def test_a_mode_that_was_cut_short_is_missing(modes):
    cell = modes.cell()
    with modes.records() as records:
        run_cells([cell], modes.searchers, records, modes=["original"])
        with pytest.raises(BadInput, match="rankings are missing"):
            score_cell(cell, records)
        outcome = score_cell(cell, records, modes=["original"])
        assert any("p-MRR needs the mode instructed" in note for note in outcome.notes)
        run_cells([cell], modes.searchers, records)
        outcome = score_cell(cell, records)
    assert score_of(outcome, "p-MRR").mean is not None
    with modes.records() as records, pytest.raises(UsageError, match="no mode 'sideways'"):
        run_cells([cell], modes.searchers, records, modes=["sideways"])


def test_a_topic_that_cannot_be_asked_is_counted(csfcube):
    lost = Topic("lost", seed="not-there", aspect="method")
    benchmark = replace(csfcube.benchmark, topics=(*csfcube.benchmark.topics, lost))
    cell = replace(csfcube.cell(), benchmark=benchmark)
    with csfcube.records() as records:
        failures = []
        assert run_cells([cell], csfcube.searchers, records, failures=failures) == len(benchmark.topics) - 1
        assert len(failures) == 1
        assert "topic lost: there is no paper 'not-there'" in failures[0]
        with pytest.raises(NoSuchPaper):
            run_cells([cell], csfcube.searchers, records)


def test_repeats_of_a_deterministic_recipe_cost_one_run(beir):
    cell = beir.cell(repeats=5)
    with beir.records() as records:
        assert run_cells([cell], beir.searchers, records) == len(beir.benchmark.topics)
        outcome = score_cell(cell, records)
    assert set(outcome.deviations.values()) == {0.0}
    text = render(main_table("x", scores_of([outcome])), "markdown")
    assert "± 0.00" in text
    assert "a deterministic recipe is run once" in text


def test_repeats_of_what_varies_are_averaged(beir):
    cell = beir.cell(repeats=2, deterministic=False)
    best, worst = ("b0", "b1", "b3"), ("b3", "b1", "b0")
    with beir.records() as records:
        for repeat, ids in enumerate((best, worst)):
            for topic, order in (("q0", ids), ("q1", ("b2",))):
                scores = tuple(-float(n) for n in range(len(order)))
                records.add(RankingRecord(cell.key, topic, "original", repeat, order, scores, 0.0))
        outcome = score_cell(cell, records, measures=["MRR(rel=0.5)@10"])
    score = score_of(outcome, "MRR(rel=0.5)@10")
    assert score.values["q0"] == pytest.approx((1 + 1 / 3) / 2)
    assert score.mean == pytest.approx((1.0 + (1 / 3 + 1) / 2) / 2)
    spread = (1.0 - (1 / 3 + 1) / 2) / 2**0.5
    assert outcome.deviations["gold", "MRR(rel=0.5)@10", ""] == pytest.approx(spread)
    assert "(2 runs)" in render(main_table("x", scores_of([outcome])), "markdown")


def test_one_run_of_what_varies_has_no_deviation(beir):
    cell = beir.cell(repeats=2, deterministic=False)
    with beir.records() as records:
        for topic in ("q0", "q1"):
            records.add(RankingRecord(cell.key, topic, "original", 0, ("b0",), (1.0,), 0.0))
        outcome = score_cell(cell, records, measures=["MRR@10"], incomplete=True)
    assert outcome.deviations == {}


def test_rankings_of_two_versions_are_told_apart(beir):
    cell = beir.cell()
    with beir.records() as records:
        for topic, version in (("q0", "0.1"), ("q1", "0.2")):
            records.add(RankingRecord(cell.key, topic, "original", 0, ("b0",), (1.0,), 0.0, version=version))
        notes = score_cell(cell, records).notes
    assert "rankings were made by several versions: 0.1, 0.2" in notes


def test_equal_means_are_not_printed_bold(beir):
    first, second = beir.cell("bm25"), replace(beir.cell("bm25"), recipe=Recipe("twin", ("bm25",)))
    with beir.records() as records:
        run_cells([first, second], beir.searchers, records)
        table = main_table("x", scores_of([score_cell(c, records) for c in (first, second)]), baseline="bm25")
    assert table.best == frozenset()
    with pytest.raises(UsageError, match="no recipe is called 'z'"):
        main_table("x", scores_of([score_cell(first, records)]), baseline="z")


def test_intervals_stay_on_the_measures_scale():
    values = {"a": 1.0, "b": 0.0}
    assert interval_of(values, "nDCG@10")[:2] == (0.0, 1.0)
    near = {"a": 0.51, "b": 0.49}
    assert interval_of(near, "nDCG@10")[:2] == pytest.approx((0.373, 0.627), abs=0.001)
    assert number_of(values, "nDCG@10", 0.4).low is None, "it is not the plain mean"
    column = ("gold", "nDCG@10", "")
    system = System("x", "owls", "pool", "paper", {column: {"a": 1.0, "b": 0.0}}, {column: 0.5}, {})
    for units in (None, ["a", "b"]):  # of a figure: all of them, and those of a dimension
        found = system.mean(column, units)
        assert (found.low / found.value, found.high / found.value) == (0.0, 2.0)


def test_breakdowns_and_manifest(csfcube):
    cell = csfcube.cell()
    with csfcube.records() as records:
        run_cells([cell], csfcube.searchers, records)
        outcome = score_cell(cell, records)
        study = Study((Source("csfcube", str(csfcube.folder / "csfcube")),), (cell.recipe,))
        facts = manifest(study, [outcome], records, csfcube.searchers, results={"cells": []})
    tables = breakdown_tables(scores_of([outcome]), "facet")
    assert tables[0].columns == ("recipe", "background", "method", "result", "mean of facets")
    with pytest.raises(UsageError, match="no topic has the label 'colour'"):
        breakdown_tables(scores_of([outcome]), "colour")
    assert facts["cells"][0]["cell"] == cell.key
    assert facts["cells"][0]["made_by"] == [__version__]
    assert facts["results_hash"] == digest({"cells": []})
    assert str(csfcube.folder) not in json.dumps(facts), "a manifest names no path"
    held = facts["benchmarks"]["csfcube"]
    assert held["checksums"]
    assert held["judgement_hash"] == csfcube.benchmark.judgement_hash
    assert held["index"]["views"]["abstract@fake"]["fingerprint"] == csfcube.fake.fingerprint


def test_a_library_serves_one_corpus(beir):
    other = replace(beir.benchmark, revision="another")
    with pytest.raises(UsageError, match="holds another corpus"):
        benchmark_library(other, beir.folder / "library", load=lambda _: beir.fake)


def test_a_first_stage_is_run_once_for_all_recipes(beir, monkeypatch):
    asked = []
    find = Engine.find

    def spy(engine, plan, search, *given, **named):
        asked.append(search.planner)
        return find(engine, plan, search, *given, **named)

    monkeypatch.setattr(Engine, "find", spy)
    with beir.records() as records:
        cells = [beir.cell("bm25 | top(3) | dense"), beir.cell("bm25 | top(3) | hybrid")]
        run_cells(cells, beir.searchers, records)
    assert asked.count("bm25") == len(beir.benchmark.topics)


def test_diversity_is_measured_on_the_first_papers_of_each_ranking(tmp_path, monkeypatch):
    world = World(tmp_path, "beir", made_up.beir)
    monkeypatch.setattr("aspectra.lab.experiments.scoring.DIVERSE", 2)
    wanted = ["CosineDistance", "CentroidDistance", "nDCG@10"]
    with Records(tmp_path / "records.jsonl") as records:
        cell = world.cell()
        run_cells([cell], world.searchers, records)
        outcome = score_cell(cell, records, measures=wanted, vectors=paper_vectors(world.searcher))
        with pytest.raises(UsageError, match="CosineDistance needs vectors"):
            score_cell(cell, records, measures=wanted)
        alone = score_cell(cell, records, measures=wanted[:1], vectors=paper_vectors(world.searcher))
        rankings = {record.topic: record.ids for record in records.of(cell.key)}
    found = outcome.evaluations["vectors"]["CosineDistance"].values
    assert set(found) == {topic for topic, ids in rankings.items() if len(ids) > 1}
    for topic, ids in rankings.items():
        if topic in found:
            one, two = (world.searcher.index.view("abstract@fake").vectors_of(i)[0] for i in ids[:2])
            assert found[topic] == pytest.approx(1 - float(one @ two), abs=1e-3)
    every = outcome.evaluations["vectors"].means
    assert alone.evaluations["vectors"].means == {wanted[0]: every[wanted[0]]}
    assert set(every) == set(wanted[:2])
    assert "nDCG@10" in outcome.evaluations["gold"].means


def test_a_library_without_vectors_has_no_diversity(tmp_path):
    world = World(tmp_path, "beir", made_up.beir)
    plain = benchmark_library(world.benchmark, tmp_path / "plain", IndexSettings(encoders=(), chunks=()))
    with pytest.raises(UsageError, match="the library has no vectors") as caught:
        paper_vectors(plain)(["b1"])
    assert "--encoder" in caught.value.hint


def test_a_study_keeps_token_vectors_where_a_recipe_compares_them():
    source = Source("csfcube", "nowhere")
    assert Study((source,), (Recipe.parse("hybrid"),)).settings().late == ""
    assert Study((source,), (Recipe.parse("hybrid | top(9) | late"),)).settings().late == "bits"
    chosen = Study((source,), (Recipe.parse("late"),), index={"late": "int8"})
    assert chosen.settings().late == "int8"


@pytest.mark.parametrize(
    ("stage", "solutions", "told"),
    [
        ("rerank(method=yes-no,solutions=yes)", "yes", {"q0", "q1", "t1"}),
        ("rerank(method=yes-no,solutions=yes)", "no", {"t1"}),
        ("rerank(method=yes-no,full=yes)", "yes", set()),
        ("rewrite", "yes", set()),
        ("agent(hops=1)", "yes", set()),
    ],
)
def test_solutions_reach_judges_that_are_told_to_read_them_and_nobody_else(tmp_path, stage, solutions, told):
    world = World(tmp_path, "obliq", made_up.obliq, solutions=solutions)
    model = Scripted(lambda _: '{"relevant": true, "query": "owl", "picked": [], "notes": ""}')
    with world.records() as records:
        run_cells([world.cell(f"bm25 | {stage}")], world.searchers, records, model=lambda *_: model)
    asked = "".join(message.content for request in model.asked for message in request.messages)
    assert {name for name in ("q0", "q1", "t1") if f"Count wings of {name}" in asked} == told
    assert "owl" in asked
    assert not world.searcher.search("wings", "bm25").hits
    assert not any("wings" in text for text in world.fake.encoded)


def test_a_task_without_solutions_says_what_it_needs(tmp_path):
    with pytest.raises(BadInput, match="have no solutions") as caught:
        World(tmp_path, "obliq", made_up.obliq_mteb, solutions="yes")
    assert caught.value.why.startswith("needs data: ")


def test_a_ranking_whose_calls_failed_is_made_again_and_replaced(tmp_path):
    bad, good, late = (
        RankingRecord("c", "q", "original", 0, (name,), (1.0,), 0.1, Tally(defects={kind: 1}))
        for name, kind in (("first", "failed"), ("second", "unreadable"), ("third", "missing"))
    )
    with Records(tmp_path / "r.jsonl") as records:
        records.add(bad)
        assert records.get("c", "q", "original", 0).failed
        records.add(good)
        records.add(late)
    with Records(tmp_path / "r.jsonl", write=False) as records:
        assert records.of("c") == [good] == [records.get("c", "q", "original", 0)]
        assert not good.failed
