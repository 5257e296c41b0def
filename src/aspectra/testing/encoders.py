"""What every encoder owes, whoever wrote it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import Encoder, Kind, TokenEncoder, Vectors

TEXTS = (
    "Dense retrieval of scientific papers",
    "",
    "We study how instructions change what a search engine returns. " * 5,
    "Ünïcödé, 漢字 and 🙂 emoji",
    "   \n\t ",
    "lone surrogate \ud800 here",
    "a",
)
_EMPTY = {1, 4}


class EncoderConformance:
    """Tests of an encoder. A subclass, or its module, has a fixture ``encoder``."""

    def test_its_attributes(self, encoder: Encoder) -> None:
        assert encoder.name
        assert all(c.isalnum() or c in ".-" for c in encoder.name)
        assert encoder.fingerprint
        assert encoder.dimensions > 0
        assert encoder.max_tokens > 0
        assert isinstance(encoder.late_pooling, bool)
        assert isinstance(encoder.remote, str)

    def test_shapes_types_and_length(self, encoder: Encoder) -> None:
        result = encoder.encode(TEXTS)
        assert result.vectors.shape == (len(TEXTS), encoder.dimensions)
        assert result.vectors.dtype == np.float32
        assert np.isfinite(result.vectors).all()
        assert result.truncated.shape == (len(TEXTS),)
        assert result.truncated.dtype == np.bool_
        assert result.spans == []
        for index, length in enumerate(np.linalg.norm(result.vectors, axis=1)):
            assert abs(length - 1) < 1e-4 or (index in _EMPTY and length == 0)

    def test_nothing_in_nothing_out(self, encoder: Encoder) -> None:
        for result in (encoder.encode([], kind="query"), encoder.encode([], kind="document")):
            assert result.vectors.shape == (0, encoder.dimensions)
            assert result.truncated.shape == (0,)
            assert result.spans == []

    def test_one_by_one_is_all_at_once(self, encoder: Encoder) -> None:
        together = encoder.encode(TEXTS).vectors
        apart = np.concatenate([encoder.encode([text]).vectors for text in TEXTS])
        np.testing.assert_allclose(together, apart, atol=1e-2)
        backwards = encoder.encode(TEXTS[::-1]).vectors[::-1]
        np.testing.assert_allclose(together, backwards, atol=1e-2)

    def test_different_texts_differ(self, encoder: Encoder) -> None:
        one, other = encoder.encode(["papers on search engines", "owls hunt at night"]).vectors
        assert float(one @ other) < 0.99

    def test_a_very_long_text_is_cut_and_said(self, encoder: Encoder) -> None:
        text = "search engine papers. " * max(200, encoder.max_tokens)
        assert encoder.encode(["short", text]).truncated.tolist() == [False, True]

    def test_instruction_and_kind_are_accepted(self, encoder: Encoder) -> None:
        result = encoder.encode(["graphs"], kind="query", instruction="Find surveys only.")
        assert result.vectors.shape == (1, encoder.dimensions)

    def test_spans_or_a_clear_refusal(self, encoder: Encoder) -> None:
        text = "the search engine. papers on search."
        asked = [[(0, 18), (19, len(text)), (5, 5), (10_000, 10_010)], []]
        if not encoder.late_pooling:
            with pytest.raises(UsageError, match="spans"):
                encoder.encode([text, "x"], spans=asked)
            return
        result = encoder.encode([text, "x"], spans=asked)
        assert [rows.shape for rows in result.spans] == [(4, encoder.dimensions), (0, encoder.dimensions)]
        assert all(rows.dtype == np.float32 for rows in result.spans)
        np.testing.assert_allclose(np.linalg.norm(result.spans[0], axis=1), [1, 1, 0, 0], atol=1e-4)
        np.testing.assert_allclose(result.vectors, encoder.encode([text, "x"]).vectors, atol=1e-2)
        with pytest.raises(UsageError):
            encoder.encode([text], spans=asked)

    @pytest.mark.parametrize("kind", ["query", "document"])
    def test_token_states_come_with_the_same_vectors(self, encoder: Encoder, kind: Kind) -> None:
        if not isinstance(encoder, TokenEncoder):
            return
        asked = [[(0, min(4, len(text)))] for text in TEXTS]
        seen: dict[int, tuple[int, list[tuple[int, int]]]] = {}

        def each(index: int, states: Vectors, offsets: NDArray[np.int64]) -> None:
            assert index not in seen
            assert states.shape == (len(offsets), encoder.dimensions)
            seen[index] = len(states), [(int(a), int(b)) for a, b in offsets]

        result = encoder.encode_tokens(TEXTS, each, kind=kind, spans=asked)
        plain = encoder.encode(TEXTS, kind=kind, spans=asked)
        np.testing.assert_array_equal(result.vectors, plain.vectors)
        np.testing.assert_array_equal(np.concatenate(result.spans), np.concatenate(plain.spans))
        assert sorted(seen) == list(range(len(TEXTS)))
        for index, text in enumerate(TEXTS):
            real = [(a, b) for a, b in seen[index][1] if a < b]
            assert real == sorted(real)
            assert all(b <= len(text) for _, b in real)
            assert bool(real) == (index not in _EMPTY)

    def test_threads_share_an_encoder(self, encoder: Encoder) -> None:
        texts = [f"{word} on {other}" for word in ("papers", "engine", "search") for other in "abcdefgh"]
        alone = encoder.encode(texts).vectors
        with ThreadPoolExecutor(4) as pool:
            for result in pool.map(lambda _: encoder.encode(texts).vectors, range(8)):
                np.testing.assert_allclose(result, alone, atol=1e-2)
