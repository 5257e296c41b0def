"""The token head that comes with the package, on texts made up here."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra
from aspectra.views.encoders.protocol import load_encoder, mean_of_spans
from aspectra.views.terms.view import ASPECTS, head_of
from aspectra.views.text.tokens import word_spans

TEXTS = {
    "Inhaled salbutamol for children with wheezing. We gave salbutamol or placebo to 40 children with "
    "wheezing after bronchiolitis. The length of stay in hospital and oxygen saturation were measured.": {
        "salbutamol": "method",
        "wheezing": "background",
        "bronchiolitis": "background",
        "oxygen": "result",
    },
    "Graph transformers for protein folding. Predicting how proteins fold is slow. We train a graph "
    "transformer with contrastive learning and test it on the CASP14 benchmark, where accuracy rises.": {
        "transformer": "method",
        "contrastive": "method",
        "folding": "background",
        "CASP14": "result",
    },
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.items(), ids=["medicine", "computing"])
def test_words_name_what_they_should(text: str, expected: dict[str, str]) -> None:
    try:
        encoder = load_encoder("minilm:?threads=1")
    except MissingExtra as error:
        pytest.skip(f"{error.what}: {error.hint}")
    head = head_of(encoder)
    assert head is not None
    chances = {}

    def each(_: int, states: np.ndarray, offsets: np.ndarray) -> None:
        found = head.chances(states)
        assert (found.sum(axis=1) <= 1.0 + 1e-5).all()
        spans = word_spans(text)
        rows = mean_of_spans(found, offsets, np.array(spans, np.int64))
        chances.update({text[start:end]: row for (start, end), row in zip(spans, rows, strict=True)})

    encoder.encode_tokens([text], each)
    assert {word: ASPECTS[int(chances[word].argmax())] for word in expected} == expected
    assert max(chances[word].max() for word in ("for", "with", "the", "The") if word in chances) < 0.3
