"""JSON Lines and JSON arrays: our own format, BEIR corpora, and the dumps people pass around.

Read are our own :meth:`Paper.to_dict`; BEIR (``_id``, ``title``, ``text``); S2ORC-like metadata, LitSearch
and other dumps under the usual field names; CSFCube, whose abstract is a list of sentences with labels.
Whatever field is not understood stays in ``metadata``.
"""

from __future__ import annotations

from aspectra.papers.sources.json.generic import OWN_KEYS, papers_in_record
from aspectra.papers.sources.json.records import ENVELOPES, SHOWN, JsonFormat, first_keys
from aspectra.papers.sources.protocol import SOURCES

_BEIR_KEYS = frozenset(("_id", "title", "text", "metadata"))


def _confidence(keys: frozenset[str], head: bytes) -> float:
    keys = first_keys(head, depth=1)
    if {"_id", "text"} <= keys <= _BEIR_KEYS:
        return 0.95
    if "id" in keys and keys <= OWN_KEYS and keys & SHOWN:
        return 0.9
    if keys & SHOWN or "sentences" in keys:
        return 0.6
    return 0.3 if keys & {*ENVELOPES, "resultList"} else 0.05


SOURCES.register("jsonl")(
    JsonFormat(
        "jsonl",
        "our own records, BEIR (`_id`, `title`, `text`), S2ORC-style dumps, sentence lists with labels",
        _confidence,
        papers_in_record,
        (".jsonl", ".json"),
    )
)
