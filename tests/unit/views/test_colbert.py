"""Models for late interaction in folders: what is read, what is refused, and a library that uses one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.base.trust import Permission
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.encoders.colbert import load_colbert
from aspectra.views.encoders.protocol import LateEncoder, needs_of
from aspectra.views.settings import IndexSettings
from aspectra.views.view import Probe
from late_models import DIMENSIONS, DOCUMENT_LENGTH, FORMS, QUERY_LENGTH, write_late_model

PLAIN = {"dtype": "f32", "threads": "2"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(params=FORMS)
def folder(request, tmp_path: Path) -> Path:
    return write_late_model(tmp_path / "model", request.param)


def tokens(encoder, text, kind):
    held = []
    encoder.encode_tokens([text], lambda _, rows, offsets: held.append((rows, offsets)), kind=kind)
    return held[0]


def test_it_is_an_encoder_for_late_interaction(folder):
    encoder = load_colbert(str(folder), PLAIN)
    assert isinstance(encoder, LateEncoder)
    assert encoder.dimensions == DIMENSIONS
    assert encoder.max_tokens == DOCUMENT_LENGTH
    assert encoder.query_tokens in (0, QUERY_LENGTH)
    rows, offsets = tokens(encoder, "the papers, search", "query")
    assert len(rows) == len(offsets) == (encoder.query_tokens or len(rows))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-5)


def test_punctuation_has_no_vector_in_documents_alone(folder):
    encoder = load_colbert(str(folder), PLAIN)
    text = "the papers, search."
    kept = {text[a:b] for a, b in tokens(encoder, text, "document")[1].tolist()}
    assert kept == {"", "the", "papers", "search"}
    assert {",", "."} < {text[a:b] for a, b in tokens(encoder, text, "query")[1].tolist()}


def test_lengths_are_options_and_are_bounded(folder):
    encoder = load_colbert(str(folder), {**PLAIN, "query_length": "9", "document_length": "10"})
    assert len(tokens(encoder, "papers " * 30, "document")[0]) == 10
    assert encoder.encode(["papers " * 30]).truncated.tolist() == [True]
    with pytest.raises(UsageError, match="query_length must be between"):
        load_colbert(str(folder), {"query_length": "3"})


def test_what_decides_the_vectors_decides_the_fingerprint(tmp_path):
    plain = write_late_model(tmp_path / "plain", "pylate")
    prints = {load_colbert(str(plain), {}).fingerprint, load_colbert(str(plain), {}).fingerprint}
    assert len(prints) == 1
    prints.add(load_colbert(str(plain), {"query_length": "9"}).fingerprint)
    prints |= {
        load_colbert(str(write_late_model(tmp_path / f"{n}", form, seed)), {}).fingerprint
        for n, (form, seed) in enumerate(
            [("pylate", 2), ("pylate attended", 1), ("pylate unexpanded", 1), ("original", 1)]
        )
    }
    assert len(prints) == 6


def edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


def test_other_folders_are_refused_with_the_reason(tmp_path):
    folder = write_late_model(tmp_path / "model", "pylate")
    settings = folder / "config_sentence_transformers.json"
    edit(settings, query_prefix="[unknown]")
    with pytest.raises(UsageError) as refused:
        load_colbert(str(folder), {})
    assert "no token '[unknown]'" in (refused.value.why or "")
    edit(settings, query_prefix="Graph", query_length="many")
    with pytest.raises(UsageError, match="cannot read the configuration"):
        load_colbert(str(folder), {})
    (folder / "modules.json").unlink()
    with pytest.raises(UsageError) as refused:
        load_colbert(str(folder), {})
    assert "linear.weight" in (refused.value.why or "")
    for place in ("", str(tmp_path / "nowhere")):
        with pytest.raises(UsageError, match="folder"):
            load_colbert(place, {})
    assert needs_of(f"colbert:{folder}") == [Permission.folder(str(folder))]
    assert needs_of("colbert") == []


@pytest.mark.parametrize("outside", ["../other", "/etc"])
def test_modules_outside_the_folder_are_refused(tmp_path, outside):
    folder = write_late_model(tmp_path / "model", "pylate")
    modules = json.loads((folder / "modules.json").read_text("utf-8"))
    modules[1]["path"] = outside
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    with pytest.raises(UsageError) as refused:
        load_colbert(str(folder), {})
    assert "no folders in it" in (refused.value.why or "")


def test_a_library_is_searched_with_it(tmp_path):
    folder = write_late_model(tmp_path / "model", "pylate")
    encoder = load_colbert(str(folder), PLAIN)
    library = Store.create(tmp_path / "library")
    papers = [
        Paper("a", "search engine", "the papers, search."),
        Paper("b", "xyz", "abc of letters."),
        Paper("c", "Graph papers", "engine of papers."),
    ]
    with library.writing("add") as writer:
        writer.add(papers)
    settings = IndexSettings(encoders=("colbert",), chunks=(), lenses=(), sentences="late", late="int8")
    build_index(library, settings, load=lambda _: encoder)
    searcher = Searcher(library, load=lambda _: encoder)
    view = f"tokens@{encoder.name}"
    asked = searcher.index.view(view).look_up(Probe(view, text="papers"))
    assert len(asked.vectors) == encoder.query_tokens
    np.testing.assert_allclose(asked.weights, 1 / encoder.query_tokens, rtol=1e-5)  # all of them weigh alike
    query, _ = tokens(encoder, "papers", "query")
    scores = searcher.index.view(view).score(Probe(view, text="papers")).scores
    for number, paper in enumerate(papers):
        document, _ = tokens(encoder, f"{paper.title}. {paper.abstract}", "document")
        by_hand = (query @ document.T).max(axis=1).mean()
        assert scores[number] == pytest.approx(by_hand, abs=5e-3)  # int8
    assert searcher.search(Query("papers"), "late").hits
    assert searcher.search(Query(seeds=("a",)), "late").hits
