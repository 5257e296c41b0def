"""Loads a sentence-transformers model, with the pooling and the attention that a specification says."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.llm.client.endpoint import offline
from aspectra.views.encoders.pooling import POOLINGS
from aspectra.views.encoders.protocol import yes_or_no
from aspectra.views.encoders.torch.model_files import refuse_surprises

_SETTINGS = ("pooling", "attention", "include_prompt")


def load_model(place: str, options: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """A loaded model, and the options among the given ones that change what it computes.

    Args:
        place: folder or hub name.
        options: ``trust_remote_code``, ``device``, ``revision``, ``pooling``, ``include_prompt`` and
            ``attention`` are read.

    Raises:
        MissingExtra: torch or sentence-transformers is not installed.
        UsageError: the model cannot be loaded, or cannot do what an option says.
    """
    attention = options.get("attention")
    if attention not in (None, "bidirectional", "causal"):
        raise UsageError(f"option 'attention' must be bidirectional or causal, not {attention!r}")
    if (pooling := options.get("pooling")) is not None and pooling not in POOLINGS:
        raise UsageError(f"there is no pooling {pooling!r}", why="known: " + ", ".join(POOLINGS))
    include = yes_or_no(options, "include_prompt", True)
    trust = yes_or_no(options, "trust_remote_code", False)
    own_code = Path(place).is_dir() and refuse_surprises(place, options)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # it is read at the import
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra(
            "the encoder 'sentence-transformers' needs torch and sentence-transformers",
            why=str(error),
            hint='pip install "aspectra[torch]"',
        ) from error
    if not Path(place).is_dir():
        own_code = refuse_surprises(place, options)
    try:
        with _LoadReport() as missing:
            model = SentenceTransformer(
                place,
                device=options.get("device"),
                revision=options.get("revision"),
                trust_remote_code=trust,
                local_files_only=offline(),
            )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise UsageError(
            f"cannot load the sentence-transformers model {place!r}",
            why=str(error).split("\n", 1)[0],
            hint="give a folder that holds the model, or check the name and the network",
        ) from error
    if missing:
        raise UsageError(
            f"the model {place!r} would be run with weights left at random",
            why=f"its files have no {missing[0]}",
            hint="the files are damaged, or the model needs code of its own (trust_remote_code=yes)",
        )
    tokenizer: Any = getattr(model, "tokenizer", None)
    if getattr(tokenizer, "pad_token", "") is None:  # texts of a batch are padded; padding is masked
        tokenizer.pad_token = tokenizer.eos_token
    if pooling is not None or "include_prompt" in options:
        _set_pooling(model, pooling, include if "include_prompt" in options else None)
    if attention is not None:
        _set_attention(model, place, attention)
    settings = {name: options[name] for name in _SETTINGS if name in options}
    if own_code and not trust:
        settings["own code"] = "no"
    return model, settings


class _LoadReport(logging.Handler):
    """What transformers reports as missing while it loads: it leaves such weights at random."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._missing: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        for line in record.getMessage().splitlines():
            name, _, rest = line.partition("|")
            # A pooler is a part for other tasks, which many encoders are published without.
            if rest.strip().startswith("MISSING") and "pooler" not in name:
                self._missing.append(name.strip())

    def __enter__(self) -> list[str]:
        logging.getLogger("transformers").addHandler(self)
        return self._missing

    def __exit__(self, *_: object) -> None:
        logging.getLogger("transformers").removeHandler(self)


def _set_pooling(model: Any, pooling: str | None, include_prompt: bool | None) -> None:
    modules = [module for module in model if type(module).__name__ == "Pooling"]
    if len(modules) != 1 or not isinstance(modules[0].pooling_mode, str):
        raise UsageError(
            "the pooling of this model cannot be set",
            why="it has no pooling, or several at once",
            hint="leave the options pooling and include_prompt out",
        )
    if pooling is not None:
        modules[0].pooling_mode = pooling
    if include_prompt is not None:
        modules[0].include_prompt = include_prompt


def _set_attention(model: Any, place: str, attention: str) -> None:
    # The masks of each call are made after the configuration; as an argument of loading it would be dropped.
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    if config is not None:
        config.is_causal = attention == "causal"
    if config is None or _attention_of(model) != attention:
        raise UsageError(
            f"the attention of {place!r} cannot be {attention}",
            why="the model does not follow the setting is_causal of transformers",
            hint="leave the option attention out",
        )


def _attention_of(model: Any) -> str:
    """Whether the first token's state depends on later ones: by a trial, since a setting may go unread."""
    import torch

    with torch.no_grad():
        states = []
        for last in ("paper", "engine of another kind"):
            features = model.preprocess([f"one two three {last}"])
            features = {
                name: value.to(model.device) if hasattr(value, "to") else value
                for name, value in features.items()
            }
            states.append(model[0](features)["token_embeddings"][0, 0].float())
    return "causal" if torch.allclose(states[0], states[1], atol=1e-4) else "bidirectional"
