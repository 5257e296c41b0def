"""Models in folders against sentence-transformers (how the values were made: README.md here)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspectra.views.encoders.local import load_folder
from folder_models import MODELS, TEXTS, write_model
from golden.make_local import KINDS, PLACE, reference

GOLDEN: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def _close(folder: Path, expected: dict[str, Any]) -> None:
    """The vectors of a folder have a cosine of at least 0.9999 to these, and their length."""
    encoder = load_folder(str(folder), {"dtype": "f32", "normalize": "no", "threads": "2"})
    for kind in KINDS:
        wanted = np.array(expected[kind], dtype=np.float64)
        found = encoder.encode(TEXTS, kind=kind).vectors
        lengths = np.linalg.norm(wanted, axis=1)
        cosines = np.sum(found * wanted, axis=1) / (lengths * np.linalg.norm(found, axis=1))
        assert cosines.min() >= 0.9999
        np.testing.assert_allclose(found, wanted, atol=1e-4 * lengths.max())


@pytest.mark.parametrize("name", MODELS)
def test_vectors_are_those_of_sentence_transformers(name: str, tmp_path: Path) -> None:
    _close(write_model(tmp_path / "model", MODELS[name]), GOLDEN[name])


@pytest.mark.parametrize("name", MODELS)
def test_vectors_are_those_of_the_sentence_transformers_that_is_installed(name: str, tmp_path: Path) -> None:
    for needed in ("torch", "sentence_transformers"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"this compares with {needed}, which is not installed: pip install 'aspectra[torch]'")
    folder = write_model(tmp_path / "model", MODELS[name], seed=2)
    _close(folder, reference(folder))


def test_every_value_belongs_to_a_model_and_models_differ() -> None:
    assert set(GOLDEN) == {*MODELS, "made with"}
    for one in MODELS:
        vectors = np.array(GOLDEN[one]["document"])
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        assert np.sort(vectors @ vectors.T, axis=None)[: -len(TEXTS)].max() < 0.9995
