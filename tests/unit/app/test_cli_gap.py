"""``bench gap``, run inside this process on made-up collections."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import benchmark_fixtures as made_up
from aspectra.lab.runs.run import Run

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def riddles(home):
    return made_up.obliq(home / "riddles")


def tables(run, *words):
    code, out, err = run("bench", "gap", *words, "--format", "json", "--libraries", "libs")
    assert code == 0, err
    return json.loads(out)["tables"]


def test_of_a_benchmark_with_a_simulated_verifier(run, riddles):
    words = (f"obliq={riddles}", "--no-encoder", "-k", 2, "-k", 3, "--oracle", "error=0", "-o", "gap")
    gaps, oblique, *growth = tables(run, *words)
    assert [row["judgements"] for row in gaps["rows"]] == ["gold", "pooled"]
    for row in gaps["rows"]:
        assert row["best retriever"] == "bm25"
        assert row["verifier"] == "listwise+tournament [simulated]"
        assert row["upper"]["value"] >= row["lower"]["value"]
        assert row["gap, upper"]["value"] == pytest.approx(row["upper"]["value"] - row["nDCG@10"]["value"])
    assert gaps["rows"][0]["upper"]["value"] == 100.0
    assert any("*simulated*" in note for note in gaps["notes"])
    assert any("pooled holds all relevant documents of gold" in note for note in gaps["notes"])
    assert {row["holds"] for row in oblique["rows"] if "upper" in row["condition"]} <= {
        "yes, assumed",
        "undecided, assumed",
    }
    assert [row["K"] for row in growth[0]["rows"]] == [2, 3]
    assert json.loads(Path("gap/tables.json").read_text("utf-8"))["tables"][0] == gaps
    code, _, err = run("bench", "gap", *words, "--libraries", "libs")
    assert code == 0
    assert "Made 0 rankings, 10 were there already" in err


def test_pooled_judgements_that_lack_a_gold_document_are_reported(run, riddles):
    made_up.qrels(riddles / "queries+qrels" / "qrels_pool.tsv", [("q0", "t3", 1), ("q1", "t2", 1)])
    words = (f"obliq={riddles}", "--no-encoder", "-k", 2, "--oracle", "error=0")
    assert any("1 relevant documents of gold are not in pooled" in n for n in tables(run, *words)[0]["notes"])


def test_of_a_folder_in_beir_layout(run, home):
    words = (f"beir={made_up.beir(home / 'owls')}", "--no-encoder", "-k", 2, "--oracle", "error=0")
    gaps, oblique, _ = tables(run, *words)
    assert [row["judgements"] for row in gaps["rows"]] == ["gold"]
    assert any(note.startswith("beir/owls (gold): ") for note in oblique["notes"])
    assert any("1 queries have no document of grade 1 or more" in note for note in gaps["notes"])


def test_queries_with_instructions_have_no_gap(run, home):
    words = (
        f"infosearch={made_up.infosearch(home / 'modes')}",
        "--no-encoder",
        "-k",
        "2",
        "--oracle",
        "error=0",
    )
    code, _, err = run("bench", "gap", *words, "--libraries", "libs")
    assert code == 2
    assert "several modes" in err


def test_of_experiments_and_run_files(run, riddles, home):
    words = (f"obliq={riddles}", "-r", "bm25", "--no-encoder", "-o", "exp", "--libraries", "libs")
    assert run("bench", "run", *words)[0] == 0
    Run.from_rankings({"q0": ["t3", "t1"], "q1": ["t1", "t2"]}).write(home / "other.run")
    words = ("exp", "--run", home / "other.run", "--agent", "other", "-k", 2, "--oracle", "error=0.1")
    gaps, _, growth, *_ = tables(run, *words, "--leave-one-out", "-o", "gap")
    assert gaps["rows"][0]["best with agents"] in ("bm25", "other")
    assert "gap with agents, upper" in gaps["columns"]
    assert "bm25, own left out, lower" in growth["columns"]
    assert any("pools from bm25, other" in note for note in gaps["notes"])


def test_an_estimate_is_what_the_verifier_asks(run, riddles):
    words = (f"obliq={riddles}", "--no-encoder", "-k", 3, "-o", "gap")
    (table,) = tables(run, *words, "--estimate")
    assert table["rows"][-1]["part"] == "in all"
    growth = tables(run, *words, "--oracle", "error=0.3")[2]
    calls = sum(row["calls"] for row in table["rows"][:-1])
    assert table["rows"][-1]["calls"] == calls == 4  # two queries, two bounds, one list each
    assert growth["rows"][0]["calls/query"] == 1.0


WORDS_ONLY = ("obliq={riddles}", "--no-encoder", "--oracle", "error=0")


def test_as_csv_with_intervals(run, riddles):
    words = [word.format(riddles=riddles) for word in WORDS_ONLY]
    code, out, _ = run("bench", "gap", *words, "-k", 2, "--libraries", "libs", "--format", "csv")
    assert code == 0
    assert "gap, upper low" in next(csv.reader(io.StringIO(out)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("obliq={riddles}", "exp"), "an experiment's directory names its benchmark"),
        (("exp",), "there is no"),
        (("obliq={riddles}", "-r", "bm25 | rerank"), "calls a language model"),
        (("obliq={riddles}", "--no-encoder"), "no language model is named"),
        ((*WORDS_ONLY, "-k", "0"), "cannot have 0 documents"),
        ((*WORDS_ONLY, "--inject", "silver"), "no judgements 'silver'"),
        ((*WORDS_ONLY, "--without", "dense"), "of a system 'dense'"),
        ((*WORDS_ONLY, "--verifier", "yes-no+bubble"), "does not fit"),
        ((*WORDS_ONLY, "-m", "Best@5"), "no measure called 'Best'"),
    ],
)
def test_wrong_usage(run, riddles, words, message):
    given = [word.format(riddles=riddles) for word in words]
    code, _, err = run("bench", "gap", *given, "--libraries", "libs")
    assert code != 0
    assert message in err
