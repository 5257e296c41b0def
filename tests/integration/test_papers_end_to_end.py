"""The studies of the papers' tables run to their last row where files, encoders and an endpoint are there.

Files are made up, encoders and language model are stand-ins: no number means anything.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import benchmark_fixtures as made_up
from aspectra.lab.studies.file import read_study_file
from aspectra.lab.studies.page import run_study_file
from aspectra.llm.assemble import Model, ModelSettings, build_model
from fake_encoder import FakeEncoder
from llm_server import Server
from token_encoder import TokenEncoder

PAPERS = sorted((Path(__file__).parents[2] / "studies" / "papers").glob("*.toml"))
MADE = {
    "csfcube": made_up.csfcube,
    "infosearch": made_up.infosearch_all,
    "litsearch": made_up.litsearch,
    "scifullbench": made_up.scifullbench,
}


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_every_row_of_a_paper_is_run(path, tmp_path, home, monkeypatch):
    for task in ("analogues/math", "analogues/writing", "descriptive/twitter", "descriptive/wildchat"):
        made_up.obliq(tmp_path / "data" / "obliq" / task)
    made_up.obliq(tmp_path / "data" / "obliq" / "tip-of-tongue" / "congress")
    for name in ("msmarco", "scidocs", "nq", "arxiv"):
        made_up.beir(tmp_path / "data" / "beir" / name)
    printed = [row for table in _made(path, tmp_path, MADE).tables for row in table.rows]
    lacking = [row[:2] for row in printed if str(row[1]).startswith("needs") or "--part" in str(row[1])]
    assert lacking == []
    assert sum("run here" in str(row[1]) for row in printed) >= 3
    script = path.parents[1] / f"plot_papers_{path.stem}.py"
    if script.exists():
        pytest.importorskip("matplotlib")
        monkeypatch.setattr(
            "sys.argv", ["plot", str(tmp_path / "out" / "tables.json"), str(tmp_path / "figures")]
        )
        runpy.run_path(str(script), run_name="__main__")
        assert list((tmp_path / "figures").glob("*.svg"))


def test_the_study_of_a_small_model_is_run_at_an_address_and_says_simulated(tmp_path, home):
    folders = {
        "csfcube": made_up.csfcube,
        "attribute-docs": lambda at: [made_up.modes(at / name) for name in ("format", "length")],
        "theorem-analogue": made_up.obliq,
    }
    file = PAPERS[0].parents[1] / "small-model.toml"
    whole = tmp_path / file.name  # made-up sets are too small to draw a sample from
    whole.write_text(re.sub(r'sample = "\d+"', 'sample = ""', file.read_text("utf-8")), "utf-8")
    page = _made(whole, tmp_path, folders)
    assert page.absent == ()
    assert len(page.tables) >= 9
    text = (tmp_path / "out" / "page.md").read_text("utf-8")
    assert "*simulated*" in text


def _made(path, tmp_path, folders):
    """The page of a study on made-up data, with a stand-in for every model."""
    for name, make in folders.items():
        make(tmp_path / "data" / name)
    file = read_study_file(path, tmp_path / "data", parts_in=tmp_path / "out")
    there = [name for name, study in file.parts.items() if all(Path(s.path).exists() for s in study.sources)]
    encoders: dict[str, FakeEncoder] = {}

    def load(spec):
        name = f"fake{len(encoders)}"
        return encoders.setdefault(spec, (TokenEncoder if spec.startswith("colbert:") else FakeEncoder)(name))

    models: dict[str, Model] = {}
    with Server(model="").in_thread() as url:

        def answering(name):
            if name not in models:
                journal = tmp_path / "journal.db"
                models[name] = build_model(ModelSettings(model=name, base_url=url, journal=journal))
            return models[name]

        page = run_study_file(
            file, tmp_path / "out", tmp_path / "libraries", only=there, load=load, answering=answering
        )
        for model in models.values():
            model.close()
    return page
