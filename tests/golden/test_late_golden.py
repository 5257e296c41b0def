"""Late interaction against a reference by hand in torch (how the values were made: README.md here)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspectra.views.dense.late.view import TokenVectors
from aspectra.views.dense.matching import max_sim
from aspectra.views.encoders.colbert import load_colbert
from golden.make_late import PLACE, reference
from late_models import DOCUMENTS, FORMS, QUERIES, write_late_model

GOLDEN: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def _close(folder: Path, expected: dict[str, Any]) -> None:
    """Token vectors and MaxSim of a folder are these to 1e-5."""
    encoder = load_colbert(str(folder), {"dtype": "f32", "threads": "2"})
    found: dict[str, dict[int, np.ndarray]] = {"query": {}, "document": {}}
    for kind, texts in (("query", QUERIES), ("document", DOCUMENTS)):

        def each(index, states, offsets, kind=kind, texts=texts):
            found[kind][index] = TokenVectors.of(encoder, texts[index], states, offsets).vectors

        encoder.encode_tokens(texts, each, kind=kind)
        for index, wanted in enumerate(expected[kind]):
            np.testing.assert_allclose(found[kind][index], np.array(wanted), atol=1e-5)
    documents = [found["document"][index] for index in range(len(DOCUMENTS))]
    offsets = np.cumsum([0, *map(len, documents)])
    for index, sums in enumerate(expected["maxsim"]):
        query = found["query"][index]
        scores = max_sim(query, np.concatenate(documents), offsets, pairs=False).scores
        np.testing.assert_allclose(scores, np.array(sums) / len(query), atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_vectors_and_maxsim_are_those_of_the_reference(form: str, tmp_path: Path) -> None:
    _close(write_late_model(tmp_path / "model", form), GOLDEN[form])


@pytest.mark.parametrize("form", FORMS)
def test_vectors_and_maxsim_are_those_of_torch(form: str, tmp_path: Path) -> None:
    for needed in ("torch", "transformers"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"this compares with {needed}, which is not installed: pip install 'aspectra[torch]'")
    folder = write_late_model(tmp_path / "model", form, seed=2)
    _close(folder, reference(folder, form))


def test_forms_differ_where_they_should() -> None:
    plain, attended, unexpanded = (
        GOLDEN[name]["query"][0] for name in ("pylate", "pylate attended", "pylate unexpanded")
    )
    assert len(plain) == len(attended) > len(unexpanded)
    np.testing.assert_allclose(plain[: len(unexpanded)], unexpanded, atol=1e-5)
    assert np.abs(np.array(plain) - np.array(attended)).max() > 1e-3
