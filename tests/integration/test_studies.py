"""Study files: those of the repository are sound, and one on made-up data is run from end to end."""

from __future__ import annotations

import contextlib
import json
import tomllib
from pathlib import Path

import pytest

import benchmark_fixtures as made_up
from aspectra.app.main import main
from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.evaluation.means import get_preset
from aspectra.lab.measures.protocol import parse
from aspectra.lab.statistics.significance import bootstrap_interval
from aspectra.lab.studies.file import read_study_file
from aspectra.lab.studies.page import check_paper_table

ROOT = Path(__file__).parents[2]
STUDIES = sorted(
    path for path in (ROOT / "studies").rglob("*.toml") if "parts" in tomllib.loads(path.read_text("utf-8"))
)
COUNTED = ("ms/query", "calls/query")

TINY = """
title = "Tiny"
about = "Birds."

[common]
encoders = []
recipes = [
  "bm25",
  {name = "bm25 of {count}", steps = ["bm25", "top({count})", "bm25"], each.count = ["1", "3"]},
]

[[parts]]
name = "birds, {facet}"
sources = [{benchmark = "csfcube", path = "{data}/birds", options = {facet = "{facet}"}}]
protocol = "both"
measures = ["NDCG%20", "nDCG@20"]
each.facet = ["background", "method"]

[[parts]]
name = "many"
sources = [{benchmark = "csfcube", path = "{data}/birds"}]
among = "{library}"
measures = ["nDCG@20"]

[[parts]]
name = "orders"
sources = [{benchmark = "infosearch", path = "{data}/orders"}]
ceilings = {ceiling = "bm25"}
measures = ["SICR(by=rank)", "nDCG@10"]

[[tables]]
title = "Birds"
parts = ["birds, background", "birds, method"]
resampled = true
figure = "birds.svg"
  [[tables.columns]]
  measure = "{measure}"
  protocol = "pool"
  part = "birds, {facet}"
  name = "{measure} {facet}"
  each = {measure = ["NDCG%20", "nDCG@20"], facet = ["background", "method"]}
  [[tables.columns]]
  measure = "ms/query"
  protocol = "pool"
  part = "birds, method"

[[tables]]
title = "Tests"
parts = ["birds, background"]
protocol = "pool"
against = "bm25"

[[tables]]
title = "By facet"
parts = ["birds, method"]
protocol = "pool"
by = "facet"
measure = "nDCG@20"

[[tables]]
title = "Many"
parts = ["many"]

[[tables]]
title = "Orders"
parts = ["orders"]
rows = ["ceiling", "bm25"]
intervals = false
  [[tables.columns]]
  measure = "nDCG@10 [{mode}]"
  name = "{mode}"
  each.mode = ["original", "instructed", "reversed"]
"""


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_of_the_repository_shows_what_it_runs(path):
    file = read_study_file(path, Path("data"), Path("library"))
    for spec in file.tables:
        parts = [file.parts[name] for name in spec.parts or file.parts]
        recipes = {name for part in parts for name in part.rows}
        assert {*spec.rows, *filter(None, [spec.against, spec.baseline])} <= recipes
        assert {column.part for column in spec.columns} <= {"", *file.parts}
        measured = set(COUNTED)
        for part in parts:
            own = part.measures or BENCHMARKS.get(part.sources[0].benchmark).measures
            measured |= {str(get_preset(part.preset).parse(text)) for text in own}
        shown = [column.measure for column in spec.columns] + ([spec.measure] if spec.measure else [])
        assert {measure.partition(" [")[0] for measure in shown} <= measured
        for column in spec.columns:
            for word in column.name.split():  # a heading that spells a measure spells that of its column
                with contextlib.suppress(UsageError):
                    assert parse(word).family == parse(column.measure.partition(" [")[0]).family
        if file.paper is not None and spec.published:
            check_paper_table(spec, file.paper, file.parts)
    name = path.relative_to(ROOT / "studies").with_suffix("")
    assert f"`make study NAME={name} DATA=FOLDER" in file.about


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_page_shows_what_its_study_says(path):
    page = (ROOT / "docs" / "results" / path.relative_to(ROOT / "studies")).with_suffix(".md")
    assert page.exists()
    if not page.with_suffix(".json").exists():
        pytest.skip("it was not made by the study")
    file = read_study_file(path, Path("data"), Path("library"))
    lines = page.read_text("utf-8").splitlines()
    left_out = {line for line in lines if line.startswith("Left out here: ")}
    titles = [
        spec.title
        for spec in file.tables
        if not spec.against and not (spec.published and spec.by) and not _names(left_out, spec.title)
    ]
    assert [line[4:] for line in lines if line[4:] in titles and line[:4] == "### "] == titles
    made = set(json.loads(page.with_suffix(".json").read_text("utf-8"))["parts"])
    assert made == {part for part in file.parts if not _names(left_out, f"the part {part} ")}


def _names(left_out, words):
    return any(words in line for line in left_out)


def test_the_study_in_the_documentation_can_be_read(tmp_path):
    text = (ROOT / "docs" / "lab.md").read_text("utf-8").partition("## Keep a study in a file")[2]
    path = tmp_path / "contrast.toml"
    path.write_text(text.partition("```toml\n")[2].partition("```")[0], "utf-8")
    assert list(read_study_file(path, tmp_path).parts) == ["predicted", "released"]


@pytest.fixture
def tiny(tmp_path, home):
    made_up.csfcube(tmp_path / "data" / "birds")
    made_up.infosearch(tmp_path / "data" / "orders")
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, "utf-8")
    return path


def run(tiny, *words):
    folder = tiny.parent
    places = ["--output", str(folder / "out"), "--libraries", str(folder / "libraries"), "--no-progress"]
    return main(["bench", "run", str(tiny), "--data", str(folder / "data"), *places, *words])


def test_a_study_from_its_file_to_its_page(tiny, capsys):
    assert run(tiny) == 0
    said = capsys.readouterr()
    assert "left out: the part many needs a library of other papers (--among)" in said.err
    assert "left out: the table 'Many' needs the part many" in said.err
    out = tiny.parent / "out"
    page = (out / "page.md").read_text("utf-8")
    assert page.startswith("# Tiny\n\nBirds.\n\nLeft out here: the part many needs")
    assert "![Birds](figures/birds.svg)" in page
    assert said.out.strip().splitlines()[-1] in page
    tables = {t["title"]: t for t in json.loads((out / "tables.json").read_text("utf-8"))["tables"]}
    birds = tables["Birds"]
    assert [row["recipe"] for row in birds["rows"]] == ["bm25", "bm25 of 1", "bm25 of 3"]
    results = json.loads((out / "birds--method" / "results.json").read_text("utf-8"))
    cell = next(c for c in results["cells"] if (c["recipe"], c["protocol"]) == ("bm25 of 3", "pool"))
    mean = next(s["mean"] for s in cell["sets"]["gold"]["scores"] if s["measure"] == "nDCG@20")
    assert birds["rows"][2]["nDCG@20 method"]["value"] == pytest.approx(100 * mean)
    held = json.loads((out / "birds--background" / "results.json").read_text("utf-8"))
    cell = next(c for c in held["cells"] if (c["recipe"], c["protocol"]) == ("bm25 of 3", "pool"))
    values = next(s["values"] for s in cell["sets"]["gold"]["scores"] if s["measure"] == "nDCG@20")
    low, high, _ = bootstrap_interval(values)
    shown = birds["rows"][2]["nDCG@20 background"]
    assert (shown["low"], shown["high"]) == (pytest.approx(100 * low), pytest.approx(100 * high))
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert list(manifest["parts"]) == ["birds, background", "birds, method", "orders"]
    assert str(tiny.parent) not in json.dumps(manifest)

    assert run(tiny) == 0
    assert "Made 0 rankings" in capsys.readouterr().err


def test_a_ceiling_is_what_perfect_detection_gives(tiny, capsys):
    assert run(tiny, "--part", "orders") == 0
    capsys.readouterr()
    tables = json.loads((tiny.parent / "out" / "tables.json").read_text("utf-8"))["tables"]
    ceiling, bm25 = tables[0]["rows"]
    assert [ceiling[mode]["value"] for mode in ("instructed", "reversed")] == [100, 100]
    assert ceiling["original"] == bm25["original"]
    assert bm25["instructed"]["value"] < 100


def test_papers_of_another_library_are_ranked_too(tiny, library, capsys):
    assert run(tiny, "--part", "many", "--among", str(tiny.parent / "library")) == 0
    capsys.readouterr()
    manifest = json.loads((tiny.parent / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["parts"]["many"]["benchmarks"]["csfcube"]["papers"] == 8 + len(library)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Tiny"', 'title = "Tiny"\ncolour = 1', "colour"),
        ('name = "many"', 'name = "orders"', "a name of its own"),
        ('parts = ["many"]', 'parts = ["few"]', "no part is called 'few'"),
        ('ceiling = "bm25"', 'ceiling = "dense"', "a ceiling of 'dense'"),
        ('recipes = [\n  "bm25"', 'recipes = [\n  "bm52"', "bm52"),
    ],
)
def test_mistakes_in_a_study_are_named(tiny, old, new, message):
    assert old in TINY
    tiny.write_text(TINY.replace(old, new, 1), "utf-8")
    with pytest.raises(UsageError) as error:
        read_study_file(tiny, tiny.parent)
    assert message in f"{error.value.what} {error.value.why}"
    tiny.write_text("[[", "utf-8")
    with pytest.raises(BadInput, match="cannot be read"):
        read_study_file(tiny, tiny.parent)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('rows = ["ceiling", "bm25"]', 'rows = ["roof"]', "no recipe for its row 'roof'"),
        ('part = "birds, {facet}"', "", "fits several scores"),
        ('"original", "instructed", "reversed"', '"original", "turned"', "nothing in its column 'turned'"),
    ],
)
def test_a_table_of_what_was_not_measured_is_refused(tiny, capsys, old, new, message):
    assert old in TINY
    tiny.write_text(TINY.replace(old, new), "utf-8")
    assert run(tiny) == 2
    assert message in capsys.readouterr().err


def test_options_that_do_not_go_with_a_study_file_are_refused(tiny, capsys):
    assert run(tiny, "--recipe", "bm25") == 2
    assert "a study file says what is run" in capsys.readouterr().err
    assert main(["bench", "run", "beir=x", "-r", "bm25", "--data", "x"]) == 2
    assert "--data is for study files" in capsys.readouterr().err
