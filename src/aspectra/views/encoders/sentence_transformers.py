r"""Any sentence-transformers model, on the hub or in a folder (extra ``torch``).

Argument: ``sentence-transformers:MODEL?option=value&...``; the options are those of :data:`make`. Without
``query`` and ``document`` the model's own declared prompts are used (``query``; ``document``, ``passage`` or
``corpus``; its default prompt). ``instruction`` spells a prompt out, as in
``instruction=Instruct:%20{instruction}\nQuery:%20``, or ``template`` names a known one; a model whose own
query prompt reads ``Instruct: ...\nQuery:`` needs neither. ``adapter`` and ``query_adapter`` name its
adapters; ``pooling``, ``attention`` and ``include_prompt`` say what its folder does not. A model's own code
is run with ``trust_remote_code=yes``. A specification that comes with a library loads no model and runs no
code that the user has not permitted, see :mod:`aspectra.base.trust`.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.files import digest
from aspectra.views.encoders.protocol import (
    ENCODERS,
    POOLINGS,
    PROMPT_OPTIONS,
    EncoderFactory,
    Encoding,
    Kind,
    Span,
    Vectors,
    cannot_pool,
    empty_encoding,
    encodable,
    name_of,
    pool_spans,
    positive_int,
    resolve_prompts,
    unit_rows,
    yes_or_no,
)
from aspectra.views.encoders.torch.loading import Adapters, identity, load_model, model_permissions

_NO_LIMIT = 2**31 - 1
_CHUNK = 256  # texts whose token states are held at once
_SAMPLE = "Dense retrieval, revisited: a study of 3 encoders."


class SentenceTransformers:
    """A loaded model.

    Args:
        place: folder or hub name.
        options: as in the module's text.

    Raises:
        MissingExtra: torch or sentence-transformers is not installed.
        UsageError: the model cannot be loaded, or an option has no meaning.
    """

    remote = ""

    def __init__(self, place: str, options: dict[str, str] | None = None) -> None:
        options = options or {}
        if not place:
            raise UsageError(
                "the encoder 'sentence-transformers' needs a model",
                hint="write sentence-transformers:FOLDER or sentence-transformers:OWNER/NAME",
            )
        self._batch = positive_int(options, "batch", 32)
        self._unit = yes_or_no(options, "normalize", True)
        self._model, settings = load_model(place, options)
        self._adapters = Adapters(self._model, place, options)
        self._lock = Lock()
        limit = self._model.max_seq_length
        if "max_tokens" in options:
            limit = positive_int(options, "max_tokens", 1)
            self._model.max_seq_length = limit
        self.max_tokens = int(limit) if limit else _NO_LIMIT
        self.dimensions = int(self._model.get_embedding_dimension())
        self.name = name_of(place)
        self.prompts = resolve_prompts(
            options, dict(self._model.prompts or {}), self._model.default_prompt_name
        )
        self.late_pooling = self._can_place_tokens() and self._pools_by_mean()
        self.fingerprint = digest(
            {
                "encoder": "sentence-transformers",
                "model": identity(place, options.get("revision")),
                "prompts": self.prompts.key,
                "max_tokens": self.max_tokens,
                "unit": self._unit,
                # Only where there are any, so that other encoders keep their fingerprints.
                **({"settings": settings} if settings else {}),
                **({"adapters": self._adapters.identity} if self._adapters.identity else {}),
            }
        )

    def encode(
        self,
        texts: Sequence[str],
        *,
        kind: Kind = "document",
        instruction: str = "",
        spans: Sequence[Sequence[Span]] | None = None,
    ) -> Encoding:
        """Encode texts, in order; see :class:`aspectra.views.encoders.protocol.Encoder`.

        The instruction is used where the prompts have a place for it. Tokens of the prompt never belong
        to a span.

        Raises:
            UsageError: spans asked of a model that does not mean-pool token states.
        """
        if spans is not None and not self.late_pooling:
            raise cannot_pool(
                self, "it does not pool by the mean, or its tokenizer gives no character offsets"
            )
        coded = empty_encoding(texts, spans, self.dimensions)
        prompt = self.prompts.of(kind, instruction)
        clean = [encodable(text) for text in texts]
        order = sorted(range(len(clean)), key=lambda index: len(clean[index]))
        for start in range(0, len(order), _CHUNK):
            chunk = order[start : start + _CHUNK]
            part = [clean[index] for index in chunk]
            # One call at a time: a tokenizer keeps its settings of cutting and padding between calls, and a
            # model has one adapter switched on.
            with self._lock:
                self._adapters.use(kind)
                coded.truncated[chunk] = self._cut(part, prompt)
                made = self._forward(part, prompt, kind, "sentence_embedding" if spans is None else None)
                places = self._places(part, prompt) if spans is not None else []
            if spans is None:
                coded.vectors[chunk] = made
                continue
            for index, item, offsets in zip(chunk, made, places, strict=True):
                coded.vectors[index] = _array(item["sentence_embedding"])
                states = self._states(item, len(offsets))
                coded.spans[index] = pool_spans(states, offsets, spans[index])
        if self._unit:
            unit_rows(coded.vectors)
        return coded

    def _forward(self, texts: list[str], prompt: str, kind: Kind, output: str | None) -> Any:
        run = self._model.encode_query if kind == "query" else self._model.encode_document
        return run(texts, prompt=prompt, batch_size=self._batch, output_value=output, show_progress_bar=False)

    def _states(self, item: Any, count: int) -> Vectors:
        """(tokens, dimensions) of one text, without padding on either side."""
        states = _array(item["token_embeddings"])
        if states.ndim != 2 or len(states) < count:
            raise UsageError(
                f"the token states of {self.name!r} do not line up with its tokenizer's tokens",
                hint="encode the sentences as texts of their own",
            )
        left = getattr(self._model.tokenizer, "padding_side", "right") == "left"
        return states[len(states) - count :] if left else states[:count]

    def _cut(self, texts: list[str], prompt: str) -> NDArray[np.bool_]:
        """(texts,) True for each text that has more tokens than the model reads."""
        tokenizer = getattr(self._model[0], "tokenizer", None)
        if self.max_tokens == _NO_LIMIT or not callable(tokenizer):
            return np.zeros(len(texts), dtype=np.bool_)
        ids = tokenizer([prompt + text for text in texts], truncation=False, verbose=False)["input_ids"]
        return np.array([len(row) > self.max_tokens for row in ids], dtype=np.bool_)

    def _places(self, texts: list[str], prompt: str) -> list[NDArray[np.int64]]:
        """Per text (tokens, 2) character ranges in the text itself, empty for special and prompt tokens."""
        tokens = self._model.tokenizer(
            [prompt + text for text in texts],
            truncation=True,
            max_length=self.max_tokens,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
        found = []
        for pairs, special in zip(tokens["offset_mapping"], tokens["special_tokens_mask"], strict=True):
            offsets = np.array(pairs, dtype=np.int64).reshape(-1, 2) - len(prompt)
            offsets[np.array(special, dtype=np.bool_)] = 0
            # A token that straddles the prompt's end keeps the part inside the text.
            found.append(np.maximum(offsets, 0))
        return found

    def _pools_by_mean(self) -> bool:
        """True if the mean of token states lies in the space of the text vectors.

        Only transformer -> mean pooling (-> normalisation) qualifies: after a dense layer, or with the
        first or last token as vector, the mean of some states is another kind of vector.
        """
        kinds = [type(module).__name__ for module in self._model]
        if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
            return False
        return bool(getattr(self._model[1], "pooling_mode", None) == "mean")

    def _can_place_tokens(self) -> bool:
        """True if the characters of each token state are known."""
        if self.max_tokens == _NO_LIMIT:
            return False
        if not getattr(self._model.tokenizer, "is_fast", False):
            return False
        # Chat-style models wrap the text: then our offsets would point elsewhere. One sample shows it.
        seen = self._model.preprocess([_SAMPLE], prompt=self.prompts.document)["input_ids"][0].tolist()
        ours = self._model.tokenizer(
            self.prompts.document + _SAMPLE, truncation=True, max_length=self.max_tokens
        )
        return bool(seen == ours["input_ids"])


def _array(tensor: Any) -> Vectors:
    result: Vectors = tensor.detach().float().cpu().numpy()
    return result


make = EncoderFactory(
    "sentence-transformers",
    "any sentence-transformers model, on the hub or in a folder (extra torch)",
    {
        **PROMPT_OPTIONS,
        "max_tokens": "tokens read of a text",
        "batch": "texts encoded together",
        "device": "such as cpu or cuda",
        "revision": "of a model on the hub",
        "adapter": "name of one in the model's folder, a folder (./NAME), or OWNER/NAME@REVISION",
        "query_adapter": "the same for queries alone; empty for none",
        "pooling": "a text's vector from its tokens': " + ", ".join(POOLINGS) + "; else the model's own",
        "include_prompt": "yes or no: the prompt's tokens count in the pooling; else the model's own",
        "attention": "bidirectional or causal; else the model's own",
        "normalize": "yes or no: vectors of unit length",
        "trust_remote_code": "yes or no: run the model's own code, or transformers' class instead of it",
    },
    SentenceTransformers,
    model_permissions,
)
ENCODERS.register(make.name)(make)
