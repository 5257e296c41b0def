"""Figures: every kind fits its canvas on awkward inputs, says what it shows, and is the same each time."""

from __future__ import annotations

import csv
import io
import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import benchmark_fixtures as made_up
from aspectra.base.errors import BadInput, MissingExtra, UsageError
from aspectra.base.values import replace
from aspectra.lab.experiments.directory import Source, Study
from aspectra.lab.experiments.execute import run_study
from aspectra.lab.figures.dots import Dots, delta_figure, dot_figure, radar_figure
from aspectra.lab.figures.drawing import SMALLEST, shorten, style_of, svg_text, write_drawing
from aspectra.lab.figures.kinds import Retrieved, draw, map_figure, retrieved, tsne_places
from aspectra.lab.figures.lines import (
    Axis,
    Panel,
    Point,
    Scatter,
    line_figure,
    panels_of,
    pareto_figure,
    pareto_front,
    pool_scaling,
    scatter_figure,
)
from aspectra.lab.figures.recorded import FigureChoice, open_all, places_of
from aspectra.lab.reports.tables import Number, render
from aspectra.search.recipe import Recipe
from fake_encoder import FakeEncoder
from figure_layout import layout_faults, placed_texts
from long import LONG
from study_tables import study_table

RESULTS = Path(__file__).parents[3] / "docs" / "results" / "figures"
NAN = math.nan
NAMES = {
    "one": ["bm25"],
    "four": ["bm25", "dense", "hybrid", "guided (default)"],
    "twelve": [f"recipe number {n} with a very long name: $x_{n}$ and <b>markup</b>" for n in range(12)],
    "alike": ["a" * 90 + str(n) for n in range(7)],
    "odd": ["", "   ", "tab\tand\nline", "مرحبا \u202e reversed", "日本語の名前"],
}
VALUES = {
    "plain": lambda draw, n: draw.uniform(20, 80),
    "negative": lambda draw, n: draw.uniform(-60, -5),
    "missing": lambda draw, n: NAN if n % 3 == 1 else draw.uniform(-5, 60),
    "equal": lambda draw, n: 50.0,
    "tiny": lambda draw, n: draw.uniform(0, 1e-5),
    "huge": lambda draw, n: draw.uniform(1e6, 3e6),
}


def numbers(values: str, count: int, seed: int = 0, intervals: bool = True) -> list[Number | None]:
    draw = random.Random(f"{values} {seed}")
    out = []
    for n in range(count):
        value = VALUES[values](draw, n + seed)
        wide = abs(value) / 4
        out.append(Number(value, value - wide, value + wide) if intervals else Number(value))
    return [None if math.isnan(number.value) and n % 2 else number for n, number in enumerate(out)]


def lines(names, values):
    lines_ = {name: numbers(values, 5, n) for n, name in enumerate(names)}
    return line_figure(
        "lines", "Lines " * 9, panels_of(lines_), Axis("k", (1.0, 2.0, 3.0, 4.0, 5.0)), "a measure",
        notes=["A note that is long enough to be wrapped. " * 5], floor=("floor", 10.0),
    )  # fmt: skip


def pools(names, values):
    return pool_scaling(
        (10, 20, 50, 100, 1000), {name: numbers(values, 5, n) for n, name in enumerate(names)}
    )


def dots(names, values):
    titles = ["nDCG@10", "CosineDistance", "SICR(by=rank) instructed", "R@5", "R@50", "R@500", "R@5000"]
    made = {title: numbers(values, len(names), n) for n, title in enumerate(titles)}
    return dot_figure("dots", "Means", Dots(tuple(names), made, shared=False))


def radar(names, values):
    sides = ["audience", "keyword", "format", "language", "length", "a source with a long name"]
    return radar_figure(
        "radar", "By side", sides, {n: numbers(values, 6, i) for i, n in enumerate(names)}, measure="m"
    )


def radar_of_two(names, values):
    made = {n: numbers(values, 2, i) for i, n in enumerate(names)}
    return radar_figure("radar", "By half", ["dev", "test"], made, measure="m")


def scatter(names, values):
    made = {
        n: [Point(x, y, n)]
        for i, n in enumerate(names)
        for x, y in zip(numbers(values, 1, i), numbers(values, 1, i + 50), strict=True)
        if x and y
    }
    return scatter_figure("scatter", "Two measures", [Scatter("", made, "x", "y")])


def joined(names, values):
    made = {
        n: [
            Point(x, y, str(k))
            for k, (x, y) in enumerate(zip(numbers(values, 5, i), numbers(values, 5, i + 50), strict=True))
            if x and y
        ]
        for i, n in enumerate(names[:4])
    }
    panels = [
        Scatter(place, made, "p-MRR of a changed aspect, x100", "NDCG, x100") for place in ("pools", "all")
    ]
    return scatter_figure("joined", "Weights", panels)


def pareto(names, values):
    means = {n: numbers(values, 1, i)[0] or Number(NAN) for i, n in enumerate(names)}
    return pareto_figure(
        "pareto", "Cost", {n: (2.0**i, means[n]) for i, n in enumerate(names)}, cost="ms/query", measure="m"
    )


def deltas(names, values):
    draw = random.Random(values)
    own = {f"q{n}": draw.random() for n in range(30)}
    scale = max(abs(v.value) for v in numbers("plain" if values == "missing" else values, 3) if v)
    others = {name: {u: v + draw.gauss(0.05, 0.2) for u, v in own.items()} for name in names}
    return delta_figure(
        "deltas", "By query", "base " * 20, own, others, measure="nDCG@10 [instructed]", scale=scale
    )


# Each kind of name and each kind of value, and the worst together.
PAIRS = [
    ("one", "plain"),
    ("one", "tiny"),
    ("four", "negative"),
    ("four", "missing"),
    ("odd", "equal"),
    ("alike", "huge"),
    ("twelve", "missing"),
    ("twelve", "plain"),
]
KINDS = [lines, pools, dots, radar, radar_of_two, scatter, joined, pareto, deltas]


DRAWN = [
    (kind, *pair) for i, kind in enumerate(KINDS) for j, pair in enumerate(PAIRS) if LONG or (i + j) % 3 == 0
]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize(("kind", "names", "values"), DRAWN)
def test_every_text_of_every_kind_is_on_the_canvas_and_can_be_read(kind, values, names):
    try:
        drawing = kind(NAMES[names], values)
    except UsageError as error:
        assert "nothing to draw" in error.what  # noqa: PT017 - nothing finite is refused in words
        assert values == "missing"
        return
    assert layout_faults(svg_text(drawing)) == []
    assert drawing.about
    assert list(csv.reader(io.StringIO(render(drawing.table, "csv"))))[1:]


def test_a_map_fits_and_prints_seed_and_perplexity():
    draw = np.random.default_rng(1)
    ids = [f"p{n}" for n in range(19)]
    vectors = {i: draw.normal(size=8) for i in ids}
    queries = [
        Retrieved(f"query {n} " * 20, vectors, {"bm25": ids[:12], NAMES["twelve"][0]: ids[7:]})
        for n in range(2)
    ]
    drawing = map_figure("map", "What was found", queries, encoder="minilm", seed=7, perplexity=50)
    svg = svg_text(drawing)
    assert layout_faults(svg) == []
    texts = " ".join(text.text for text in placed_texts(svg)[1])
    assert "seed 7, perplexity 6" in texts  # below a third of the 19 papers
    assert (
        svg_text(map_figure("map", "What was found", queries, encoder="minilm", seed=7, perplexity=50)) == svg
    )
    with pytest.raises(UsageError, match="too many for one map"):
        map_figure("m", "m", [Retrieved("q", vectors, {str(n): ids for n in range(4)})], encoder="e")
    with pytest.raises(UsageError, match="too few"):
        tsne_places(np.zeros((4, 3)))


def test_a_figure_is_the_same_bytes_each_time(tmp_path):
    for folder in ("a", "b"):
        write_drawing(radar(NAMES["four"], "plain"), tmp_path / folder)
        write_drawing(lines(NAMES["twelve"], "negative"), tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [f"{stem}.{end}" for stem in ("lines", "radar") for end in ("csv", "png", "svg")]
    for name in names:
        held = (tmp_path / "a" / name).read_bytes()
        assert held == (tmp_path / "b" / name).read_bytes()
        assert b"Date" not in held
        assert b"matplotlib.org" not in held


def test_the_csv_holds_every_number_unrounded():
    drawing = pool_scaling((10, 100), {"bm25": [Number(1 / 3, 0.25, 0.5), None], "dense": [Number(2.0)] * 2})
    rows = list(csv.DictReader(io.StringIO(render(drawing.table, "csv"))))
    assert [(r["system"], r["candidates in the pool (K)"], r["R@10"]) for r in rows] == [
        ("bm25", "10", str(1 / 3)),
        ("bm25", "100", ""),
        ("dense", "10", "2.0"),
        ("dense", "100", "2.0"),
    ]
    assert (rows[0]["R@10 low"], rows[0]["R@10 high"]) == ("0.25", "0.5")


def test_at_most_six_lines_share_a_panel_and_each_name_is_written():
    drawing = lines([f"recipe {n}" for n in range(13)], "plain")
    assert [len(panel.lines) for panel in panels_of({str(n): [] for n in range(13)})] == [5, 5, 3]
    texts = {text.text for text in placed_texts(svg_text(drawing))[1]}
    assert {f"recipe {n}" for n in range(13)} <= texts


def test_what_is_not_drawn_is_said():
    axis = Axis("k", (1.0, 2.0))
    drawing = line_figure(
        "n", "t", [Panel("", {"a": [Number(1.0)] * 2, "b": [Number(NAN), None]})], axis, "m"
    )
    assert any("Without a value: b" in text.text for text in placed_texts(svg_text(drawing))[1])
    with pytest.raises(UsageError, match="nothing to draw"):
        line_figure("n", "t", [Panel("", {"b": [Number(NAN), None]})], axis, "m")


def test_thirty_systems_have_marks_that_differ():
    assert len({(style_of(n).color, style_of(n).marker) for n in range(30)}) == 30


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="figures need matplotlib") as caught:
        pools(["bm25"], "plain")
    assert caught.value.why
    assert caught.value.hint == "pip install 'aspectra[plot]'"
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match="figures need sklearn"):
        tsne_places(np.eye(9))


def test_the_front_leaves_out_what_another_betters():
    assert pareto_front({"slow": (9, 5), "same": (2, 4), "best": (2, 5), "cheap": (1, 1)}) == [
        "cheap",
        "best",
    ]


# The check itself


def page(size=(3, 1), **texts) -> str:
    figure = Figure(figsize=size)
    for text, (x, y, points) in texts.items():
        figure.text(x, y, text, fontsize=points, family="DejaVu Sans")
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    return stream.getvalue()


def test_the_check_finds_text_off_the_canvas_overlapping_or_small():
    assert layout_faults(page(fine=(0.1, 0.5, 8), also=(0.6, 0.5, 8))) == []
    assert layout_faults(page(cut_at_the_right=(0.8, 0.5, 8))) == ["'cut_at_the_right' leaves the canvas"]
    assert layout_faults(page(top=(0.1, 0.97, 8))) == ["'top' leaves the canvas"]
    assert layout_faults(page(one=(0.1, 0.5, 8), two=(0.12, 0.52, 8))) == ["'one' overlaps 'two'"]
    assert layout_faults(page(small=(0.1, 0.5, SMALLEST - 1))) == ["'small' is of 6.0 points, less than 7"]
    with pytest.raises(BadInput, match="no text"):
        layout_faults(page())
    for wrong in ("no svg", "<svg/>", '<!DOCTYPE s [<!ENTITY a "b">]><svg/>'):
        with pytest.raises(BadInput):
            layout_faults(wrong)


def test_places_are_those_that_matplotlib_measures():
    figure = Figure(figsize=(4, 2))
    made = figure.text(0.3, 0.4, "Wgjy", fontsize=11, rotation=90, family="DejaVu Sans")
    stream = io.StringIO()
    figure.savefig(stream, format="svg")
    (found,) = placed_texts(stream.getvalue())[1]
    box = made.get_window_extent()
    scale = 72 / figure.dpi
    assert found.size == pytest.approx(11)
    assert found.left == pytest.approx(scale * box.x0, abs=9)
    assert found.top == pytest.approx(144 - scale * box.y1, abs=9)
    assert found.bottom - found.top == pytest.approx(scale * (box.y1 - box.y0), abs=9)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.svg")), ids=lambda path: path.stem)
def test_figures_of_the_documentation_fit_and_have_their_numbers_beside_them(path):
    assert layout_faults(path.read_text("utf-8")) == []
    assert path.with_suffix(".png").read_bytes()[:4] == b"\x89PNG"
    assert len(path.with_suffix(".csv").read_text("utf-8").splitlines()) > 2
    pages = [page.read_text("utf-8") for page in RESULTS.parent.rglob("*.md")]
    assert any(f"figures/{path.name})" in text for text in pages)


# Names and places


def test_short_names_fit_and_stay_apart():
    names = [*NAMES["twelve"], *NAMES["alike"], *NAMES["odd"]]
    short = shorten(names, 20)
    assert len(set(short.values())) == len(set(names))
    assert all(len(line) <= 20 for name in short.values() for line in name.split("\n"))
    assert all(name.count("\n") <= 1 for name in short.values())


def test_a_study_table_is_read_with_its_intervals(tmp_path):
    path = tmp_path / "tables.json"
    path.write_text(
        '{"tables": [{"title": "T", "rows": [{"recipe": "a", "m": {"value": 1, "low": 0, "high": 2}}]}]}'
    )
    assert study_table(path, "T") == [{"recipe": "a", "m": Number(1, 0, 2)}]
    for title, text in (("U", None), ("T", "{"), ("T", '{"tables": [{"title": "T", "rows": 3}]}')):
        if text:
            path.write_text(text)
        with pytest.raises(BadInput, match="holds no table"):
            study_table(path, title)


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, aspectra.lab.figures.kinds, aspectra.lab.pages.report; "
    code += "assert not {'matplotlib', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_are_written_as_they_are():
    signs, letters = (
        svg_text(pool_scaling((1, 2), {name: [Number(1.0), Number(2.0)]}))
        for name in ("cost $5$ and $6$", "cost S5S and S6S")
    )
    assert "<!-- cost $5$ and $6$ -->" in signs
    assert signs.count("<use") == letters.count("<use")  # no dollar sign begins a formula


def test_a_map_of_what_an_experiment_found(tmp_path):
    made_up.beir(tmp_path / "owls")
    source = Source("beir", str(tmp_path / "owls"))
    study = Study((source,), tuple(map(Recipe.parse, ("bm25", "dense"))), encoders=("fake",))
    run_study(study, tmp_path / "exp", tmp_path / "libraries", load=lambda _: FakeEncoder())
    ((_, opened),) = open_all([tmp_path / "exp"]).items()
    (place,) = places_of({"exp": opened}, FigureChoice())
    one = FigureChoice(queries=("q0",), depth=3, libraries=tmp_path / "libraries")
    found, encoder = retrieved(place, one)
    assert encoder == "fake"
    assert [one.query for one in found] == ["q0"]
    assert found[0].systems["dense"] == ["b1", "b0"]
    (first,), _ = retrieved(place, replace(one, depth=1))
    assert first.systems == {"bm25": ["b1"], "dense": ["b1"]}
    every = {paper for papers in found[0].systems.values() for paper in papers}
    assert set(found[0].vectors) == every
    assert all(vector.shape == (32,) for vector in found[0].vectors.values())
    with pytest.raises(UsageError, match="nothing is recorded of the query 'q9'"):
        retrieved(place, replace(one, queries=("q9",)))
    with pytest.raises(BadInput, match="is not in"):
        retrieved(place, replace(one, libraries=tmp_path / "elsewhere"))
    (drawing,) = draw("means", {"exp": opened}, FigureChoice(systems=("dense",)))
    assert [row[0] for row in drawing.table.rows] == ["dense"]
