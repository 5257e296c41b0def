"""``bench figure``, ``bench report`` and the statistics of ``bench audit``, on made-up collections."""

from __future__ import annotations

import json
import sys

import pytest

import benchmark_fixtures as made_up
from figure_layout import layout_faults

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def cube(home, run):
    made_up.csfcube(home / "cube")
    words = ["-r", "bm25", "-r", "bm25 | top(2) | bm25", "--no-encoder", "--output", home / "exp"]
    measures = ["-m", "nDCG@20", "-m", "p-MRR(rel=2)"]
    assert run("bench", "run", f"csfcube={home / 'cube'}", *words, *measures, "--protocol", "both")[0] == 0
    return home / "exp"


@pytest.mark.parametrize("kind", ["means", "radar", "recall", "tradeoff", "cost", "deltas"])
def test_a_figure_of_an_experiment(run, home, cube, kind):
    code, out, err = run("bench", "figure", kind, cube, "--protocol", "pool", "-o", home / "figures")
    assert code == 0, err
    assert out.strip().endswith(f"{kind}-csfcube-pool.svg")
    names = sorted(path.name for path in (home / "figures").iterdir())
    assert names == [f"{kind}-csfcube-pool.{end}" for end in ("csv", "png", "svg")]
    assert layout_faults((home / "figures" / f"{kind}-csfcube-pool.svg").read_text("utf-8")) == []


def test_ranks_under_instructions(run, home):
    made_up.infosearch(home / "orders")
    done = run(
        "bench", "run", f"infosearch={home / 'orders'}", "-r", "bm25", "--no-encoder", "-o", home / "e"
    )
    assert done[0] == 0, done[2]
    code, out, err = run("bench", "figure", "movement", home / "e", "-o", home / "figures")
    assert code == 0, err
    rows = out.strip().removesuffix(".svg") + ".csv"
    header, *lines = open(rows, encoding="utf-8").read().splitlines()  # noqa: SIM115
    assert header.startswith("system,query,mean rank")
    assert [line.split(",")[1] for line in lines] == ["original", "instructed", "reversed"]


def test_refusals_say_what_why_and_what_next(run, home, cube, monkeypatch):
    for words, what in (
        (["pie", cube], "there is no figure 'pie'"),
        (["diversity", cube], "was not scored by measures of diversity"),
        (["movement", cube], "mode"),
        (["deltas", cube, "--baseline", "bm52"], "no system is called 'bm52'"),
        (["radar", cube, "--by", "colour"], "have no label colour"),
        (["means", cube, "-m", "P@3"], "was not scored by P@3"),
        (["means", home / "cube"], "is no experiment"),
        (["cost", cube, "--cost", "effort"], "effort"),
        (["recall", cube, "--mode", "instructed"], "was not scored by R@1"),
    ):
        code, _, err = run("bench", "figure", *words, "-o", home / "f")
        assert code in (1, 2), words
        assert what in err, err
        assert "next:" in err or "why:" in err, words
    assert not (home / "f").exists()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = run("bench", "figure", "means", cube)
    assert code == 2
    assert "pip install 'aspectra[plot]'" in err


def test_a_report(run, home, cube):
    code, out, err = run("bench", "report", cube, "-o", home / "r.html")
    assert code == 0, err
    text = (home / "r.html").read_text("utf-8")
    first, second = out.strip().splitlines()
    assert "on csfcube (pools)" in first
    assert "on csfcube (collection)" in second
    body = text.partition("<body>")[2]
    depends, again = "What the numbers depend on</h2>", "aspectra bench run csfcube=FOLDER"
    order = ["cannot be told", "<table", "<svg", depends, again]
    places = [body.index(piece) for piece in order]
    assert places == sorted(places)
    manifest = json.loads((cube / "manifest.json").read_text("utf-8"))
    assert manifest["results_hash"] in text
    assert str(home) not in text  # no path of this computer


def test_a_report_without_matplotlib_says_what_it_lacks(run, home, cube, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = run("bench", "report", cube, "-o", home / "r.html")
    assert code == 0
    assert "left out: figures: figures need matplotlib" in err
    text = (home / "r.html").read_text("utf-8")
    assert "<svg" not in text
    assert "figures need matplotlib" in text


def test_statistics(run, home):
    made_up.csfcube(home / "cube")
    code, out, _ = run("bench", "audit", "csfcube", home / "cube", "--statistics")
    assert code == 0
    assert "| facet | background | 2 |" in out
    tables = json.loads(run("bench", "audit", "csfcube", home / "cube", "--statistics", "--json")[1])[
        "tables"
    ]
    assert [table["title"] for table in tables] == ["csfcube: queries", "csfcube: corpus"]
