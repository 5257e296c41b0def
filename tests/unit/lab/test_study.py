"""A study as a value, and the directory it leaves."""

from __future__ import annotations

import json
import shlex

import pytest

import benchmark_fixtures as made_up
from aspectra.base.errors import BadInput, LibraryBusy, UsageError
from aspectra.base.files import digest
from aspectra.base.version import __version__
from aspectra.lab.experiments import experiment
from aspectra.lab.experiments.directory import Source, Study, open_study, protocols_of
from aspectra.lab.experiments.execute import recorded_run, run_study, score_study, scores_of
from aspectra.lab.experiments.experiment import Records
from aspectra.lab.figures.drawing import svg_text
from aspectra.lab.figures.kinds import draw
from aspectra.lab.figures.recorded import FigureChoice, places_of
from aspectra.lab.pages.report import verdict_on
from aspectra.lab.reports.published import published_table
from aspectra.lab.reports.scores import comparison_tables, main_tables, systems_of
from aspectra.llm.chat import Transient
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.folder.lock import WriterLock
from aspectra.search.recipe import Recipe
from fake_encoder import FakeEncoder
from figure_layout import placed_texts

BM25 = Recipe.parse("bm25")
HYBRID = Recipe.parse("hybrid")


class Noisy(FakeEncoder):
    """A service that answers a query a little differently each time."""

    remote = "example.org"

    def __init__(self):
        super().__init__()
        self.asked = 0

    def encode(self, texts, *, kind="document", instruction="", spans=None):
        out = super().encode(texts, kind=kind, instruction=instruction, spans=spans)
        if kind == "query":
            self.asked += 1
            out.vectors[:] = super().encode([f"{t} noise{self.asked}" for t in texts]).vectors
        return out


@pytest.fixture
def folder(tmp_path):
    return made_up.beir(tmp_path / "owls")


def study_of(folder, *recipes, **more):
    return Study((Source("beir", str(folder)),), recipes or (BM25,), **more)


def run(study, out, **more):
    return run_study(study, out, out.parent / "libraries", load=lambda _: FakeEncoder(), **more)


def test_it_survives_json(folder):
    study = study_of(
        folder, BM25, Recipe.parse("bm25 | top(5) | dense"), modes=("original",), encoders=("x",)
    )
    assert Study.from_dict(json.loads(json.dumps(study.to_dict()))) == study


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sources": ()}, "no benchmark"),
        ({"recipes": ()}, "no recipe"),
        ({"recipes": (BM25, BM25)}, "two recipes are called 'bm25'"),
        ({"protocol": "all"}, "there is no protocol 'all'"),
        ({"depth": 0}, "depth must be 1"),
        ({"repeats": 0}, "repeats must be 1"),
        ({"preset": "mine"}, "no preset called 'mine'"),
        ({"measures": ("Best@1",)}, "no measure called"),
        ({"sources": (Source("owls", "."),)}, "no benchmark called 'owls'"),
    ],
)
def test_nonsense_is_refused(folder, change, message):
    values = {"sources": (Source("beir", str(folder)),), "recipes": (BM25,), **change}
    with pytest.raises(UsageError, match=message):
        Study(**values)
    with pytest.raises(UsageError, match="colour"):
        Study.from_dict({"colour": 1})


def test_only_views_that_are_looked_at_are_built(folder):
    assert study_of(folder, BM25).settings().encoders == ()
    assert study_of(folder, HYBRID).settings().encoders == ("minilm",)
    assert study_of(folder, HYBRID).settings().chunks == ()
    assert study_of(folder, Recipe.parse("fulltext")).settings().chunks
    assert study_of(folder, HYBRID, encoders=()).settings().encoders == ()


def test_two_of_one_name_cannot_be_told_apart(folder):
    study = Study((Source("beir", str(folder)), Source("beir", str(folder))), (BM25,))
    with pytest.raises(UsageError, match="two benchmarks are called 'beir/owls'"):
        study.benchmarks()


def test_protocols(folder, tmp_path):
    pooled = study_of(folder).benchmarks()["beir/owls"]
    plain = Source("beir", str(folder), {"pools": "no"}).open()
    assert protocols_of("auto", pooled) == ("pool",)
    assert protocols_of("both", pooled) == ("pool", "collection")
    assert protocols_of("both", plain) == protocols_of("auto", plain) == ("collection",)
    with pytest.raises(UsageError, match="has no pools"):
        protocols_of("pool", plain)


def test_a_directory_holds_everything_and_is_run_once(folder, tmp_path):
    out = tmp_path / "exp"
    study = study_of(folder, BM25, HYBRID, protocol="both")
    first = run(study, out)
    assert (first.made, first.kept, first.failures) == (8, 0, ())
    before = {
        name: (out / name).read_bytes() for name in ("results.json", "records.jsonl", "experiment.json")
    }
    again = run(study, out)
    assert (again.made, again.kept) == (0, 8)
    assert {name: (out / name).read_bytes() for name in before} == before
    assert sorted(p.name for p in (out / "tables").iterdir()) == [
        "beir-owls-collection.md",
        "beir-owls-pools.md",
    ]
    results = json.loads(before["results.json"])
    assert "seconds" not in before["results.json"].decode()
    assert len(results["cells"]) == 4
    (scored,) = [s for s in results["cells"][0]["sets"]["gold"]["scores"] if s["measure"] == "nDCG@10"]
    assert set(scored["values"]) == {"q0", "q1"}

    opened = open_study(out)
    assert opened.study == study
    rescored = score_study(opened, measures=["P@1"], preset="trec")
    assert {str(s.measure) for o in rescored for _, s in o.scores()} == {"P@1"}
    assert {o.preset for o in rescored} == {"trec"}
    assert main_tables(scores_of(score_study(opened))).keys() == {"beir-owls-pools", "beir-owls-collection"}
    made = recorded_run(opened, opened.about.cells[0])
    assert made.name == "bm25"
    assert set(made) == {"q0", "q1"}
    with pytest.raises(UsageError, match="in mode reversed"):
        recorded_run(opened, opened.about.cells[0], mode="reversed")


def test_more_recipes_make_only_their_own_rankings(folder, tmp_path):
    study = study_of(folder, BM25, encoders=("fake",))
    assert run(study, tmp_path / "exp").made == 2
    done = run(study_of(folder, BM25, HYBRID, encoders=("fake",)), tmp_path / "exp")
    assert (done.made, done.kept) == (2, 2)


def test_changed_files_are_not_scored(folder, tmp_path):
    out = tmp_path / "exp"
    run(study_of(folder), out)
    with (folder / "qrels.tsv").open("a") as stream:
        stream.write("q1\tb4\t1\n")
    with pytest.raises(BadInput, match="are not those that"):
        score_study(open_study(out))


def test_a_second_process_is_refused(folder, tmp_path):
    out = tmp_path / "exp"
    out.mkdir()
    with WriterLock(out, "bench run"), pytest.raises(LibraryBusy, match="an experiment is running in"):
        run(study_of(folder), out)


def test_directories_that_are_none(tmp_path):
    with pytest.raises(BadInput, match="there is no"):
        open_study(tmp_path)
    (tmp_path / "experiment.json").write_text("[]")
    with pytest.raises(BadInput, match="damaged"):
        open_study(tmp_path)
    (tmp_path / "experiment.json").write_text('{"format": 99}')
    with pytest.raises(BadInput, match="another version"):
        open_study(tmp_path)
    (tmp_path / "experiment.json").write_text('{"format": 1, "study": {}}')
    with pytest.raises(BadInput, match="damaged"):
        open_study(tmp_path)


def test_only_what_varies_is_repeated(folder, tmp_path):
    study = study_of(folder, BM25, HYBRID, repeats=3, encoders=("fake",))
    noisy = Noisy()
    done = run_study(study, tmp_path / "exp", tmp_path / "libraries", load=lambda _: noisy)
    assert done.made == 2 + 3 * 2
    bm25, hybrid = done.outcomes
    assert (bm25.cell.runs, hybrid.cell.runs) == (1, 3)
    assert set(bm25.deviations.values()) == {0.0}
    opened = open_study(tmp_path / "exp")
    assert [o.cell.runs for o in score_study(opened)] == [1, 3]


def test_comparison(folder, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    run(study_of(folder, BM25, HYBRID), one)
    run(study_of(folder, BM25), two)
    held = {d.name: open_study(d).results() for d in (one, two)}
    systems = systems_of(held)
    assert [s.name for s in systems] == ["bm25 (one)", "hybrid", "bm25 (two)"]
    (table,) = comparison_tables(
        systems, "bm25 (one)", test="wilcoxon", correction="holm", measures=["nDCG@10"]
    )
    rows = {row[1]: row for row in table.rows}
    assert rows["bm25 (two)"][3].value == 0.0
    assert rows["bm25 (two)"][4] == "0/2/0"
    assert "holm-corrected" in table.notes[0]
    for wrong in (
        {"baseline": "x"},
        {"baseline": "hybrid", "test": "z"},
        {"baseline": "hybrid", "correction": "z"},
    ):
        with pytest.raises(UsageError):
            comparison_tables(systems, **wrong)
    held["two"]["benchmarks"]["beir/owls"]["revision"] = "other"
    with pytest.raises(BadInput, match="differ in revision"):
        systems_of(held)
    with pytest.raises(BadInput, match="damaged"):
        systems_of({"x": {"cells": [{}]}})


def test_nothing_is_computed_from_a_cell_in_which_calls_failed(tmp_path):
    bad = Recipe.parse("bm25 | rerank(method=yes-no)")
    source = Source("infosearch", str(made_up.infosearch(tmp_path / "i")))
    study = Study((source,), (BM25, bad), encoders=(), ceilings={"best": bad.name})
    out = tmp_path / "one"
    said: list = [Transient("down", why="no answer within 9 s")]
    model = Scripted(lambda _: said[0])
    done = run(study, out, model=model)
    note = f"failed: {bad.name}: calls to the model failed in 9 rankings; nothing is computed from it"
    (table,) = main_tables(done.scores).values()
    assert [row[0] for row in table.rows] == ["bm25", f"{bad.name} [failed]", "best [failed]"]
    assert {cell for row in table.rows[1:] for cell in row[1:-2]} == {None}, "but for calls and tokens"
    assert f"{note}; last: down: no answer within 9 s; the same command asks again" in table.notes
    found = {"one": open_study(out)}
    systems = systems_of({"one": found["one"].results()})
    for baseline, rows in (("bm25", {"bm25"}), (bad.name, set())):
        (compared,) = comparison_tables(systems, baseline)
        assert {row[1] for row in compared.rows} == rows
        assert note in compared.notes
    (place,) = places_of(found, FigureChoice())
    assert list(place.systems) == ["bm25"]
    assert f"F{note[1:]}." in verdict_on(place, FigureChoice()).details
    with pytest.raises(UsageError) as caught:
        places_of(found, FigureChoice(systems=(bad.name,)))
    assert "calls to the model failed" in caught.value.why
    cell = found["one"].about.cells[1]
    with pytest.raises(UsageError, match="calls to the model failed in 3 of 3 rankings") as refused:
        recorded_run(found["one"], cell)
    assert f"aspectra bench run --output {out}" in refused.value.hint
    assert not len(recorded_run(found["one"], cell, incomplete=True))
    left_out = score_study(found["one"], incomplete=True)
    assert any("9 of 9 rankings are missing" in note for note in left_out[1].notes)
    said[0] = "yes"
    done = run(study, out, model=model)
    assert (done.made, [o.failed for o in done.outcomes]) == (18, [0, 0, 0])


def test_measures_are_chosen_as_the_preset_spells_them(folder, tmp_path):
    run(study_of(folder, BM25, HYBRID, preset="csfcube", measures=("P@2", "R@2")), tmp_path / "one")
    systems = systems_of({"one": open_study(tmp_path / "one").results()})
    (table,) = comparison_tables(systems, "bm25", measures=["P@2"])
    assert {row[0] for row in table.rows} == {"P(rel=2)@2"}
    with pytest.raises(UsageError, match="measures wanted: nDCG@3"):
        comparison_tables(systems, "bm25", measures=["nDCG@3"])


def test_experiments_in_folders_of_one_name_are_all_drawn(folder, tmp_path):
    parts = [tmp_path / run_name / "main" for run_name in ("a", "b")]
    for part in parts:
        run(study_of(folder, BM25), part)
    opened = {str(part): open_study(part) for part in parts}
    (place,) = places_of(opened, FigureChoice())
    assert list(place.systems) == [f"bm25 ({part})" for part in parts]
    opened["last"] = opened[str(parts[0])]
    assert [*place.systems, "bm25 (last)"] == list(places_of(opened, FigureChoice())[0].systems)


def test_other_units_are_not_compared(folder, tmp_path, monkeypatch):
    run(study_of(folder, BM25, HYBRID, Recipe.parse("bm25 | top(2) | bm25")), tmp_path / "one")
    opened = open_study(tmp_path / "one")
    held = opened.results()
    for score in held["cells"][1]["sets"]["gold"]["scores"]:
        score["values"].pop("q1")
    (table,) = comparison_tables(systems_of({"one": held}), "bm25")
    assert {row[1] for row in table.rows} == {"bm25", "bm25 | top(2) | bm25"}
    assert any("was scored on other units" in note for note in table.notes)
    monkeypatch.setattr(type(opened), "results", lambda _: held)
    (drawing,) = draw("deltas", {"one": opened}, FigureChoice(baseline="bm25"))
    printed = " ".join(text.text for text in placed_texts(svg_text(drawing))[1])
    assert "Scored on other queries and not compared: hybrid." in " ".join(printed.split())
    with pytest.raises(UsageError, match="nothing to compare") as refused:
        draw("deltas", {"one": opened}, FigureChoice(baseline="bm25", systems=("hybrid",)))
    assert "on other queries" in refused.value.why


def test_published_numbers_say_whether_they_compare(tmp_path):
    source = Source("csfcube", str(made_up.csfcube(tmp_path / "csfcube")))
    run(Study((source,), (BM25,)), tmp_path / "exp")
    systems = systems_of({"exp": open_study(tmp_path / "exp").results()})
    table = published_table(source.open(), systems)
    assert table is not None
    assert table.rows[0][2] == "here: bm25, pool"
    assert all(row[5].startswith("not comparable: ") for row in table.rows if not row[2].startswith("here"))
    assert published_table("beir/owls", systems) is None


def test_other_judgements_are_not_compared(tmp_path):
    folder = made_up.csfcube(tmp_path / "csfcube")
    for file in folder.glob("test-pid2anns-*"):
        rated = json.loads(file.read_text("utf-8"))
        for row in rated.values():
            row["relevance_max"] = [3 for _ in row["cands"]]
        file.write_text(json.dumps(rated), "utf-8")
    for name, options in (("one", {}), ("two", {"ratings": "max"})):
        run(Study((Source("csfcube", str(folder), options),), (BM25,)), tmp_path / name)
    held = {name: open_study(tmp_path / name).results() for name in ("one", "two")}
    with pytest.raises(BadInput, match="one and two differ in judgements of csfcube"):
        systems_of(held)
    held["two"]["benchmarks"]["csfcube"].pop("judgement_hash")  # written by an earlier version
    assert len(systems_of(held)) == 2


def test_the_manifest_repeats_the_run_elsewhere(folder, tmp_path):
    study = Study(
        (Source("beir", str(folder), {"pools": "no"}),),
        (BM25, Recipe.parse("bm25 | top(5) | rerank(method=yes-no)")),
        depth=7,
        measures=("nDCG@10",),
        encoders=(),
        oracle="error=0.1",
    )
    run(study, tmp_path / "exp")
    facts = open_study(tmp_path / "exp").facts()
    words = shlex.split(facts["command"])
    assert words == [
        *("aspectra", "bench", "run", "beir=FOLDER", "--option", "1.pools=no"),
        *("--recipe", "bm25", "--recipe", "bm25 | top(5) | rerank(method=yes-no)"),
        *("--depth", "7", "--oracle", "error=0.1", "--measure", "nDCG@10", "--no-encoder", "--output", "DIR"),
    ]
    results = json.loads((tmp_path / "exp" / "results.json").read_text("utf-8"))
    assert facts["results_hash"] == digest(results)
    assert str(tmp_path) not in (tmp_path / "exp" / "manifest.json").read_text("utf-8")
    simulated = facts["cells"][1]
    assert simulated["model"] == "oracle(error=0.1,bias=0,malformed=0,seed=0)"
    assert simulated["made_by"] == [__version__]
    assert simulated["cost"]["calls"] == 2 * 5, "one for each of the first 5 papers of 2 queries"


def test_what_a_model_was_shown_only_in_part_is_in_records_tables_and_manifest(folder, tmp_path):
    recipes = [Recipe.parse(f"bm25 | top(5) | rerank(method=yes-no{cut})") for cut in ("", ",text_tokens=1")]
    done = run(study_of(folder, *recipes, encoders=(), oracle="error=0"), tmp_path / "exp")
    held = Records(tmp_path / "exp" / "records.jsonl", write=False)
    cut = [r.tally.cut for o in done.outcomes for r in held.of(o.cell.key)]
    assert cut == [0, 0, 2, 0]
    (table,) = main_tables(done.scores).values()
    assert [note for note in table.notes if "in part" in note] == [
        f"{recipes[1].name}: the model was shown 2 texts only in part"
    ]
    assert [cell["cut"] for cell in open_study(tmp_path / "exp").facts()["cells"]] == [0, 2]


def test_recorded_rankings_are_scored_after_prompts_have_changed(folder, tmp_path, monkeypatch):
    study = study_of(
        folder, Recipe.parse("bm25 | top(5) | rerank(method=yes-no)"), encoders=(), oracle="error=0"
    )
    first = run(study, tmp_path / "exp")
    monkeypatch.setattr(experiment, "prompts_hash", lambda _: "others")
    (scored,) = score_study(open_study(tmp_path / "exp"))
    assert scored.evaluations["gold"].means == first.outcomes[0].evaluations["gold"].means
    assert run(study, tmp_path / "exp").made == first.made, "other prompts, other rankings"


def test_a_library_holds_the_papers_that_the_options_of_a_loader_give(tmp_path):
    """The sentences of one have roles, those of the other have none: one library cannot serve both."""
    folder = made_up.csfcube(tmp_path / "birds")
    for roles in ("released", "predicted"):
        study = Study((Source("csfcube", str(folder), {"roles": roles}),), (BM25,), encoders=())
        run_study(study, tmp_path / roles, tmp_path / "libraries")
    assert len(list((tmp_path / "libraries").iterdir())) == 2


def test_topics_and_judgements_do_not_make_another_library(tmp_path):
    folder = made_up.csfcube(tmp_path / "birds")
    for facet in ("background", "method"):
        study = Study((Source("csfcube", str(folder), {"facet": facet}),), (BM25,), encoders=())
        run_study(study, tmp_path / facet, tmp_path / "libraries")
    assert len(list((tmp_path / "libraries").iterdir())) == 1


def test_a_ranking_of_nothing_is_a_ranking(tmp_path):
    """An instruction may leave no paper; its mode was ranked all the same."""
    folder = made_up.infosearch(tmp_path / "orders")
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    rows[0]["instruction_changed"] = 'The text must mention "zebra".'
    made_up.lines(folder / "queries.jsonl", rows)
    study = Study(
        (Source("infosearch", str(folder)),), (Recipe.parse("guided"),), measures=("nDCG@10",), encoders=()
    )
    (outcome,) = run_study(study, tmp_path / "out", tmp_path / "libraries").outcomes
    values = outcome.evaluations["modes"].get("nDCG@10", "instructed").values
    assert values["q1"] == 0
    assert values["q2"] > 0
