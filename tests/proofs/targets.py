"""What is fuzzed: functions of bytes that may raise nothing but :class:`AspectraError`.

A reader gives papers and remarks, or refuses the file in words; a parser gives a value or a UsageError.
Anything else that leaves a target is a fault.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aspectra.base.decompression import DAMAGE, Bounds, compression_of, decompressed
from aspectra.base.errors import AspectraError
from aspectra.base.files import canonical_json
from aspectra.llm.chat import ModelError
from aspectra.llm.client.openai_compatible import Body
from aspectra.llm.client.openai_wire import failure, read_reply
from aspectra.papers.identifiers import identifiers_in, parse_identifier
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.protocol import SOURCES, ReadOptions
from aspectra.papers.text.cleaning import latex_to_text
from aspectra.papers.text.references import entries_of, read_reference, strip_citations
from aspectra.papers.text.structure import outline, split_sentences
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.recipe import Recipe
from aspectra.search.rerank.repair import read_choice, read_labels, read_number

_OPTIONS = ReadOptions(max_text_chars=10_000, pdf_seconds=5, pdf_pages=3, pdf_memory_mb=512)
_FILE = Path(tempfile.mkdtemp(prefix="fuzz-")) / "input"


def _read(name: str | None, data: bytes) -> None:
    """A source, or the one that is detected, over a file with these bytes."""
    _FILE.write_bytes(data)
    with contextlib.suppress(AspectraError):
        source = detect(_FILE) if name is None else name
        if name is None and source == "pdf":
            return  # a process for each input is too slow; the pdf target has its own
        for item in read_papers(_FILE, source, _OPTIONS):
            if isinstance(item, Paper):
                canonical_json(item.to_dict()).encode("utf-8")
                assert item.content_hash
                assert item.id


def _decompress(data: bytes) -> None:
    kind = compression_of(data[:6])
    if kind:
        with contextlib.suppress(AspectraError, *DAMAGE):
            file = decompressed(io.BytesIO(data), kind, Bounds(size=1 << 22, free=1 << 16), "x")
            while file.read(1 << 16):
                pass


def _value(kind: type[Plan | Recipe | Query], data: bytes) -> None:
    with contextlib.suppress(AspectraError):
        value = kind.loads(data.decode("utf-8", "replace"))
        assert kind.from_dict(value.to_dict()) == value


def _recipe(data: bytes) -> None:
    with contextlib.suppress(AspectraError):
        recipe = Recipe.parse(data.decode("utf-8", "replace"))
        assert Recipe.parse(str(recipe)) == recipe


def _condition(data: bytes) -> None:
    with contextlib.suppress(AspectraError):
        Condition.parse(data.decode("utf-8", "replace"))


def _reply(data: bytes) -> None:
    with contextlib.suppress(ModelError):
        read_reply(data, host="example.org", seconds=0.0, clean=str)
    failure(429, {"retry-after": data[:20].decode("latin-1")}, data, host="example.org", clean=str)
    with contextlib.suppress(ModelError):
        body = Body("gzip", "example.org")
        body.add(data)
        body.whole()


def _judgement(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    read_labels(text, ["A", "B", "C"])
    read_choice(text, ["A", "B"])
    read_number(text, ["score"], 0, 100)


def _text(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    outline(text)
    latex_to_text(text)
    strip_citations(text)
    identifiers_in(text)
    parse_identifier(text)
    assert all(0 <= start < end <= len(text) for start, end in split_sentences(text))
    for entry in entries_of(text):
        read_reference(entry)


TARGETS: dict[str, Callable[[bytes], None]] = {
    **{name: partial(_read, name) for name in SOURCES.names()},
    "detection": partial(_read, None),
    "decompression": _decompress,
    "plan": partial(_value, Plan),
    "recipe": partial(_value, Recipe),
    "query": partial(_value, Query),
    "steps": _recipe,
    "condition": _condition,
    "reply": _reply,
    "judgement": _judgement,
    "text": _text,
}
"""Name -> target."""
