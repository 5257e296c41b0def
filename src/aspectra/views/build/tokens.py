"""Token vectors of titles and abstracts: made where the settings want them, and a view of them.

New papers get theirs in the pass that makes their vectors; papers that have vectors already are encoded
again. They are kept in ``library.db`` like vectors, by a hash of the text, so that a changed paper encodes
itself alone; and in the generation, memory-mapped.
"""

from __future__ import annotations

import numpy as np

from aspectra.base.progress import Progress
from aspectra.papers.library.derived import Producer
from aspectra.papers.library.mutations import Writer
from aspectra.papers.library.store import Store
from aspectra.views.build.draft import Draft
from aspectra.views.build.vectors import abstract_batches
from aspectra.views.dense.late.values import TokenTaker, TokenType, row_bytes, token_values
from aspectra.views.encoders.protocol import Encoder, LateEncoder, TokenEncoder
from aspectra.views.protocol import TOKENS
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.arrays import new_array, save_array


def encode_lacking_tokens(
    library: Store, writer: Writer, encoder: Encoder, settings: IndexSettings, progress: Progress
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
