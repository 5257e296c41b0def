"""The default encoder against values of sentence-transformers (how they were made: README.md here)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra
from aspectra.views.encoders.protocol import load_encoder

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "minilm.json").read_text(encoding="utf-8"))
TEXTS = [entry["text"] * entry["times"] for entry in GOLDEN["texts"]]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_CACHE_DIR", str(tmp_path))


def _vectors(length: int, dtype: str) -> np.ndarray[Any, Any]:
    try:
        return load_encoder(f"minilm:?max_tokens={length}&dtype={dtype}").encode(TEXTS).vectors
    except MissingExtra as error:
        pytest.skip(f"{error.what}: {error.hint}")


@pytest.mark.parametrize("length", [256, 512])
@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 1e-4), ("auto", 5e-3)])
def test_cosines_are_those_of_sentence_transformers(length: int, dtype: str, tolerance: float) -> None:
    vectors = _vectors(length, dtype)
    np.testing.assert_allclose(vectors @ vectors.T, GOLDEN["cosines"][str(length)], atol=tolerance)


def test_the_longest_text_is_cut_at_both_lengths_and_the_next_at_one() -> None:
    found = {}
    for length in (256, 512):
        try:
            found[length] = load_encoder(f"minilm:?max_tokens={length}").encode(TEXTS).truncated.tolist()
        except MissingExtra as error:
            pytest.skip(f"{error.what}: {error.hint}")
    assert found[256] == [False] * 8 + [True, True]
    assert found[512] == [False] * 9 + [True]
