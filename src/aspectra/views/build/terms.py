"""Terms of aspects and token vectors in a generation: made with the vectors, or by encoding papers again.

New papers get theirs in the pass that makes their vectors. Papers that were encoded before there was a head,
or with another one, lack terms; making them encodes those papers again, which is done only on demand. Token
vectors are made where the settings want them, and papers that have vectors already are encoded again. Both
are kept in ``library.db`` by a hash of the text, so that a changed paper encodes itself alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from aspectra.base.display import Progress
from aspectra.papers.library.derived import Missing, Producer, TakesValues
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import Draft
from aspectra.views.build.vectors import abstract_batches, abstract_vectors
from aspectra.views.dense.late.view import TokenTaker, TokenType, row_bytes, token_values
from aspectra.views.dense.matching import narrowed, widen
from aspectra.views.encoders.protocol import Encoder, LateEncoder, TokenEncoder
from aspectra.views.protocol import TERMS, TOKENS, ViewFacts
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import new_array, save_array
from aspectra.views.storage.units import Units
from aspectra.views.terms.view import (
    ASPECTS,
    PaperTerms,
    build_terms,
    encode_with_terms,
    head_of,
    term_values,
)
from aspectra.views.view import Floats


def encode_lacking_tokens(
    library: Store, writer: TakesValues, encoder: Encoder, settings: IndexSettings, progress: Progress
) -> int:
    """Encode papers again that have no token vectors; returns how many."""
    producer = token_values(encoder, settings.late)
    if producer is None or not settings.late or not isinstance(encoder, TokenEncoder):
        return 0
    missing = library.derived.missing(producer)
    label = f"encoding tokens with {encoder.name}"
    for keys, texts, _ in abstract_batches(library, missing, settings.batch, label, progress):
        take = TokenTaker(encoder, texts, settings.late)
        encoder.encode_tokens(texts, take)
        writer.derived.put(producer, zip(keys, take.values, strict=True))
    return len(missing)


def write_tokens(draft: Draft) -> None:
    """Write a view of tokens for each encoder, where the settings want any."""
    for spec, encoder in draft.encoders:
        producer = token_values(encoder, draft.settings.late)
        if producer is not None and draft.settings.late:
            _write_view(draft, spec, encoder, producer, draft.settings.late)


def _write_view(draft: Draft, spec: str, encoder: Encoder, producer: Producer, kind: TokenType) -> None:
    name = f"{TOKENS}@{encoder.name}"
    folder = draft.folder / name
    folder.mkdir()
    stored = draft.library.derived
    sizes = [len(spans) for _, spans in stored.required(producer)]
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    codes = new_array(folder / "codes.npy", (int(offsets[-1]), row_bytes(encoder.dimensions, kind)), np.uint8)
    places = new_array(folder / "spans.npy", (int(offsets[-1]), 2), np.uint16)
    for number, (rows, spans) in enumerate(stored.required(producer)):
        if number % 1000 == 0:
            draft.progress(f"collecting tokens of {encoder.name}", number, len(draft.ids))
        low, high = offsets[number], offsets[number + 1]
        codes[low:high] = rows
        places[low:high] = np.stack([spans & 0xFFFF, spans >> 16], axis=1)
    draft.progress(f"collecting tokens of {encoder.name}", len(draft.ids), len(draft.ids))
    save_array(folder / "offsets.npy", offsets)
    draft.views[name] = {
        "kind": "late",
        "folder": name,
        "encoder": spec,
        "fingerprint": encoder.fingerprint,
        "dimensions": encoder.dimensions,
        "tokens": kind,
        "trained": isinstance(encoder, LateEncoder),
        "count": int(offsets[-1]),
        "bytes": codes.nbytes + places.nbytes + offsets.nbytes,
    }


# So many papers without terms are encoded again unasked. Of more, so many are: to tell what all would take.
FEW = 64
_BLOCK = 4096  # vectors read at a time
_FINE = 1 << 24  # parts of 1 in which components are added
_FEWEST = 10  # papers that a mean counts too many: that of a handful of papers is none


def term_state(encoder: Encoder, *, lacking: bool) -> str:
    """What a generation depends on: the head, and whether its papers have terms."""
    head = head_of(encoder)
    return "terms: none" if head is None else f"terms: {head.hash}{' lacking' if lacking else ''}"


def lacking_terms(library: Store, encoder: Encoder) -> list[Missing]:
    """The papers that have a vector of the encoder and no terms of its head; none without a head."""
    producer = term_values(encoder)
    if producer is None:
        return []
    waiting = {one.key for one in library.derived.missing(abstract_vectors(encoder))}
    return [one for one in library.derived.missing(producer) if one.key not in waiting]


def encode_terms(
    library: Store,
    writer: TakesValues,
    encoder: Encoder,
    lacking: list[Missing],
    batch: int,
    progress: Progress,
) -> float:
    """Encode papers again for their terms alone; returns the seconds that it took.

    Their vectors stay as they are.

    Args:
        library: that holds the papers.
        writer: of the library.
        encoder: with a head.
        lacking: the papers.
        batch: papers encoded between two commits.
        progress: called with (step, done, total).
    """
    producer = term_values(encoder)
    clock = perf_counter()
    if producer is None:
        return 0.0
    label = f"encoding again with {encoder.name}, for terms of aspects"
    for keys, texts, _ in abstract_batches(library, lacking, batch, label, progress):
        writer.derived.put(producer, zip(keys, encode_with_terms(encoder, texts)[1], strict=True))
    return perf_counter() - clock


def write_terms(draft: Draft) -> None:
    """Write the views of terms, of the first encoder whose head gave every paper its terms."""
    for spec, encoder in draft.encoders:
        producer = term_values(encoder)
        if producer is not None and not draft.report.lacking_terms.get(encoder.name):
            _write_views(draft, spec, encoder, producer)
            return


def _write_views(draft: Draft, spec: str, encoder: Encoder, producer: Producer) -> None:
    words = ViewFacts.words_of(TERMS).name
    vectors = f"{TERMS}@{encoder.name}"
    matrix = draft.matrix(vectors, len(draft.ids) * len(ASPECTS), encoder.dimensions, np.int8)

    def papers() -> Iterator[PaperTerms]:
        values = draft.library.derived.required(producer)
        for number, (paper, value) in enumerate(zip(draft.library.papers("lead"), values, strict=True)):
            if number % 1000 == 0:
                draft.progress("collecting terms of aspects", number, len(draft.ids))
            terms = PaperTerms.of(paper, value)
            rows = slice(number * len(ASPECTS), (number + 1) * len(ASPECTS))
            matrix[rows] = narrowed(terms.vectors)
            yield terms
        draft.progress("collecting terms of aspects", len(draft.ids), len(draft.ids))

    facts = build_terms(papers(), draft.settings.lexical, draft.folder / words)
    centres = draft.mean(vectors, "centres")
    made = [
        _centre(matrix[column :: len(ASPECTS)], None if centres is None else centres[column])
        for column in range(len(ASPECTS))
    ]
    save_array(draft.folder / vectors / "centres.npy", np.stack(made))
    draft.views[words] = {**facts, "values": producer.version}
    offsets = np.arange(0, len(matrix) + 1, len(ASPECTS), dtype=np.int64)
    (draft.folder / TERMS).mkdir()
    nowhere = (Units.field_code("abstract"), 0, 0)  # an aspect of a paper is no span of its text
    Units(offsets, np.full((len(matrix), 3), nowhere, np.int32)).save(draft.folder / TERMS)
    draft.describe(vectors, spec, encoder, 0, units=TERMS)


def _centre(vectors: NDArray[np.int8], given: Floats | None = None) -> Floats:
    """Take the mean of vectors at length 1 away from each, in place; returns it. Rows of zeros stay.

    What all methods (or problems, or outcomes) have in common tells no two apart.

    Args:
        vectors: (papers, dimensions).
        given: (dimensions,) what is taken away instead of their own mean.
    """
    centre = _mean(vectors) if given is None else given
    for start in range(0, len(vectors), _BLOCK):
        block = widen(vectors[start : start + _BLOCK])
        known = block.any(axis=1)
        vectors[start : start + _BLOCK][known] = narrowed(block[known] - centre)
    return centre


def _mean(vectors: NDArray[np.int8]) -> Floats:
    # Whole numbers add up to the same in any order.
    total, count = np.zeros(vectors.shape[1], np.int64), _FEWEST
    for start in range(0, len(vectors), _BLOCK):
        block = widen(vectors[start : start + _BLOCK])
        total += np.rint(block * _FINE).astype(np.int64).sum(axis=0)
        count += int(block.any(axis=1).sum())
    return np.asarray(total / (_FINE * count), np.float32)
