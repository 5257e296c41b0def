"""The example notebook, run as it is written, in a kernel on the loopback address."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

MOST_BYTES = 100_000  # of one output of the example
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "notebook.ipynb"
WITHOUT = "the notebook is not run: %s is missing (pip install nbclient ipykernel)"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """Source -> outputs of each cell, after the notebook was run."""
    nbclient = pytest.importorskip("nbclient", reason=WITHOUT % "nbclient")
    pytest.importorskip("ipykernel", reason=WITHOUT % "ipykernel")
    import nbformat
    from jupyter_client.manager import AsyncKernelManager

    place = tmp_path_factory.mktemp("notebook")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ASPECTRA_"))}
    folders = {"HOME": place, "IPYTHONDIR": place / "ipython", "TMPDIR": place / "made"}
    folders |= {"JUPYTER_RUNTIME_DIR": place / "runtime"}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    environment = {
        **kept,
        **{name: str(folder) for name, folder in folders.items()},
        "ASPECTRA_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", environment["JUPYTER_RUNTIME_DIR"])
        manager = AsyncKernelManager(kernel_name="python3")
        assert manager.ip == "127.0.0.1"
        notebook = nbformat.read(PAGE, as_version=4)
        client = nbclient.NotebookClient(notebook, km=manager, timeout=300)
        try:
            client.execute(cwd=str(place), env=environment)
        finally:  # a manager that is handed in is not ended by the client
            asyncio.run(manager.shutdown_kernel(now=True))
    nbformat.validate(notebook)
    assert list((place / "made").iterdir()) == []  # the last cell tidies up
    return {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def output(cells, words: str) -> dict:
    """What the cell with these words gives in the end."""
    (found,) = [outputs for source, outputs in cells.items() if words in source]
    if "data" in found[-1]:
        return found[-1].data
    # What one call prints may come in several pieces.
    return {"text/plain": "".join(one.text for one in found if "text" in one)}


def text_of(html: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def test_it_is_kept_without_outputs_and_names_no_place():
    raw = PAGE.read_text("utf-8")
    held = json.loads(raw)
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in held["cells"])
    assert set(held["metadata"]) == {"kernelspec", "language_info"}
    assert "/tmp" not in raw
    assert "/home" not in raw


def test_no_cell_fails_or_writes_to_standard_error(cells):
    for source, outputs in cells.items():
        kinds = {(one.output_type, one.get("name", "")) for one in outputs}
        assert not kinds & {("error", ""), ("stream", "stderr")}, source


def test_values_are_shown_as_html_and_as_documents(cells):
    assert "papers 107" in text_of(output(cells, "aspectra.create")["text/html"])
    ranking = output(cells, "library.search(question")
    said = text_of(ranking["text/html"])
    assert "require year=&gt;=2020 “since 2020”" in said
    assert "not applied “well written”" in said
    assert "<mark " in ranking["text/html"]
    document = ranking["application/vnd.aspectra.search+json"]
    assert len(document["hits"]) == 5
    assert f"5 papers, plan {document['plan']['hash']}" in ranking["text/plain"]
    assert "same method" in text_of(output(cells, 'different=["background"]')["text/html"])
    assert "border-bottom:3px" in output(cells, "open_paper")["text/html"]
    assert "search by guided" in output(cells, "plan = library.plan")["text/plain"]


def test_a_plan_that_was_edited_finds_other_papers(cells):
    before = output(cells, "library.search(question")["application/vnd.aspectra.search+json"]
    after = output(cells, "Plan.from_dict")["application/vnd.aspectra.search+json"]
    assert len(after["hits"]) == 3
    assert after["plan"]["hash"] != before["plan"]["hash"]
    assert any(c["condition"] == "prefer keyword=listwise" for c in after["hits"][0]["conditions"])


def test_parts_of_scores_are_printed(cells):
    assert "same method" in output(cells, "score_parts")["text/plain"]


def test_decisions_and_exports_are_those_of_the_library(cells):
    assert "is kept out" in output(cells, "why_not")["text/plain"]
    decided = output(cells, "different=")["application/vnd.aspectra.search+json"]["hits"][:3]
    left = output(cells, "undecided")["application/vnd.aspectra.search+json"]["hits"]
    assert len(left) == 3
    assert not {hit["id"] for hit in left} & {hit["id"] for hit in decided}
    assert output(cells, "undo()")["text/plain"].startswith("undone: ")
    assert "@" in output(cells, "to_bibtex")["text/plain"]


def test_outputs_are_small_and_progress_leaves_nothing_to_see(cells):
    for source, outputs in cells.items():
        for one in outputs:
            for kind, form in one.get("data", {}).items():
                size = len(form if isinstance(form, str) else json.dumps(form))
                assert size <= MOST_BYTES, (source, kind)
    (making,) = [outputs for source, outputs in cells.items() if "aspectra.create" in source]
    assert [one.data["text/html"] for one in making[:-1] if "data" in one] in ([], [""])
