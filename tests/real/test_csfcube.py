"""The study ``csfcube`` on real data: BM25, abstract vectors and the hybrid on the development half."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from aspectra.base.values import replace
from aspectra.lab.studies.file import read_study_file
from aspectra.lab.studies.page import run_study_file
from long import LONG
from made_once import kept

STUDY = Path(__file__).parents[2] / "studies" / "csfcube.toml"


@pytest.fixture(scope="module")
def tables(shared, tmp_path_factory) -> dict[str, dict[str, float]]:
    folder = tmp_path_factory.mktemp("csfcube")
    file = read_study_file(STUDY, shared / "data")
    libraries = kept(
        "csfcube",
        code=("base", "papers", "views"),  # the study itself asks whether its library is that of its data
        data=(shared / "data" / "csfcube").iterdir(),
        make=(lambda made: run_study_file(file, folder / "first", made)) if LONG else None,
    )
    recipes = ("bm25", "dense", "hybrid")
    if libraries is None:  # 2,000 abstracts are encoded by make test-long alone, which keeps them
        recipes = ("bm25",)
        parts = {
            name: msgspec.structs.replace(part, recipes=part.recipes[:1], encoders=())
            for name, part in file.parts.items()
        }
        tables = tuple(msgspec.structs.replace(table, baseline="bm25") for table in file.tables)
        file = replace(file, parts=parts, tables=tables)
    else:
        shutil.copytree(libraries, folder / "libraries")
    page = run_study_file(file, folder / "out", folder / "libraries")
    assert page.made == 2 * len(recipes) * 24
    assert (folder / "out" / "page.md").read_text("utf-8").startswith("# csfcube\n")
    return {
        t.title: {str(row[0]): row[1].value for row in t.rows} for t in page.tables if "facet" not in t.title
    }


@pytest.mark.parametrize(
    ("recipe", "pool", "collection"), [("bm25", 55.5, 54.4), ("dense", 57.4, 53.5), ("hybrid", 58.9, 57.1)]
)
def test_pool_and_collection(tables, recipe, pool, collection):
    if recipe not in tables["Whole collection"]:
        pytest.skip("no vectors of CSFCube's papers are kept: make test-long makes them")
    # Half a point: bf16 and fp32 encoders move a few neighbours.
    assert tables["Pools re-ranked"][recipe] == pytest.approx(pool, abs=0.5)
    assert tables["Whole collection"][recipe] == pytest.approx(collection, abs=0.5)
