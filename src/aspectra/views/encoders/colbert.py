r"""A model trained for late interaction, in a folder, on the processor and without torch.

Argument: ``colbert:FOLDER?option=value&...``; the options are those of :data:`make`. Two kinds of folder are
read: what PyLate saves (``modules.json`` with Dense layers, ``config_sentence_transformers.json`` with prefix
tokens and lengths), and a checkpoint of the original code (``linear.weight`` beside the network's tensors,
``artifact.metadata``). The weights must be in safetensors files.

A query and a document begin with a marker token of their own. A query is filled up with mask tokens, whose
states take part in MaxSim (query expansion); other tokens do not attend to them, unless the model was trained
so. Of a document the states of punctuation are left out. Each state is projected and scaled to length 1.
Source: Khattab & Zaharia 2020, "ColBERT", arXiv:2004.12832, section 3.2; lengths and markers as in Santhanam
et al. 2022, "ColBERTv2", arXiv:2112.01488.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.files import digest
from aspectra.views.encoders.protocol import (
    ENCODERS,
    EncoderFactory,
    check_token_limit,
    folder_permission,
    name_of,
    positive_int,
)
from aspectra.views.encoders.query_encoder import content_hash
from aspectra.views.encoders.transformer.encoder import (
    Dense,
    Head,
    HeadStep,
    LateTransformer,
    Marking,
    ModelTokenizer,
)
from aspectra.views.encoders.transformer.modules import read_module
from aspectra.views.encoders.transformer.network import Runtime, SafetensorsNetwork, available_cores
from aspectra.views.encoders.transformer.weights import read_config, read_list, weight_files

_LEAST_TOKENS = 4  # the marker, two special ones and one of the text


@dataclass(frozen=True)
class _Folder:
    """Configuration of a ColBERT model, read from its folder.

    Attributes:
        network: where network and tokenizer are.
        steps: layers that each state goes through.
        markers: marker tokens of a query and of a document.
        lengths: most tokens of a query and of a document, markers included.
        skipped: tokens whose states are left out of documents.
        expand: whether queries are filled up with mask tokens.
        attend: whether other tokens attend to those.
    """

    network: Path
    steps: tuple[HeadStep, ...]
    markers: tuple[str, str]
    lengths: tuple[int, int]
    skipped: tuple[str, ...]
    expand: bool = True
    attend: bool = False


def _refuse(folder: Path, why: str) -> UsageError:
    return UsageError(
        f"the model in {folder} cannot be run for late interaction",
        why=why,
        hint="give a folder that PyLate saved, or a ColBERT checkpoint in safetensors",
    )


def _read(place: Path) -> tuple[_Folder, SafetensorsNetwork]:
    if not place.is_dir():
        raise UsageError(f"there is no folder {place}", hint="give the folder that holds the model")
    try:
        if (place / "modules.json").is_file():
            folder = _read_pylate(place)
            return folder, SafetensorsNetwork(folder.network)
        return _read_original(place)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"cannot read the configuration in {place}", why=str(error), hint="download the model again"
        ) from error


def _read_pylate(place: Path) -> _Folder:
    kinds: list[tuple[str, Path]] = []
    for module in read_list(place / "modules.json"):
        path = Path(str(module.get("path", "")) if isinstance(module, dict) else "..")
        if path.is_absolute() or ".." in path.parts:
            raise _refuse(place, "its modules.json names no folders in it")
        kinds.append((str(module.get("type", "")).rpartition(".")[2], place / path))
    if not kinds or kinds[0][0] != "Transformer" or any(kind != "Dense" for kind, _ in kinds[1:]):
        found = ", ".join(kind for kind, _ in kinds)
        raise _refuse(place, f"its modules are {found or 'none'}; known: Transformer, Dense")
    given = read_config(place / "config_sentence_transformers.json")
    return _Folder(
        kinds[0][1],
        tuple(step for kind, path in kinds[1:] for step in read_module(place, kind, path)),
        (str(given.get("query_prefix", "[Q] ")), str(given.get("document_prefix", "[D] "))),
        (int(given.get("query_length", 32)), int(given.get("document_length", 180))),
        tuple(map(str, given.get("skiplist_words", string.punctuation))),
        bool(given.get("do_query_expansion", True)),
        bool(given.get("attend_to_expansion_tokens", False)),
    )


def _read_original(place: Path) -> tuple[_Folder, SafetensorsNetwork]:
    files = weight_files(place)
    network = SafetensorsNetwork(place)
    if "linear.weight" not in network.tensors:
        raise _refuse(place, "it holds neither modules.json nor the tensor linear.weight")
    given: Mapping[str, Any] = read_config(place / "artifact.metadata")
    projection = Dense(files[0], network.tensors.float32("linear.weight"), activation="Identity")
    folder = _Folder(
        place,
        (projection,),
        (str(given.get("query_token_id", "[unused0]")), str(given.get("doc_token_id", "[unused1]"))),
        (int(given.get("query_maxlen", 32)), int(given.get("doc_maxlen", 180))),
        tuple(string.punctuation) if given.get("mask_punctuation", True) else (),
        attend=bool(given.get("attend_to_mask_tokens", False)),
    )
    return folder, network


def _number(place: Path, tokens: ModelTokenizer, token: str) -> int:
    found = tokens.tokenizer.token_to_id(token)
    if found is None:
        raise _refuse(place, f"its tokenizer has no token {token!r}")
    return int(found)


def _mask(place: Path, folder: _Folder, tokens: ModelTokenizer) -> int:
    """The number of the mask token."""
    named = read_config(folder.network / "tokenizer_config.json").get("mask_token", "[MASK]")
    return _number(place, tokens, str(named.get("content") if isinstance(named, dict) else named))


def load_colbert(place: str, options: dict[str, str]) -> LateTransformer:
    """The encoder in a folder.

    Args:
        place: the folder.
        options: as in :data:`make`.

    Raises:
        UsageError: the folder holds no such model, or a length is out of the model's range.
    """
    if not place:
        raise UsageError("the encoder 'colbert' needs a folder", hint="write colbert:FOLDER")
    where = Path(place).expanduser()
    folder, network = _read(where)
    lengths = (
        positive_int(options, "query_length", folder.lengths[0]),
        positive_int(options, "document_length", folder.lengths[1]),
    )
    for name, length in zip(("query_length", "document_length"), lengths, strict=True):
        check_token_limit(name, length, _LEAST_TOKENS, network.positions)
    # One less, since the marker is put in.
    query, document = (ModelTokenizer(folder.network, length - 1) for length in lengths)
    vocabulary = document.tokenizer
    numbers = (vocabulary.token_to_id(word) for word in folder.skipped)
    marking = Marking(
        query=_number(where, query, folder.markers[0]),
        document=_number(where, document, folder.markers[1]),
        mask=_mask(where, folder, document) if folder.expand else None,
        attend=folder.attend,
        skipped=frozenset(number for number in numbers if number is not None),
    )
    weights = {path.name: content_hash(path) for path in weight_files(folder.network)}
    steps = [step.key for step in folder.steps]
    fingerprint = digest(
        {
            "encoder": "colbert",
            "weights": weights,
            "steps": steps,
            "tokens": [query.key, document.key],
            "marking": marking.key,
            "config": content_hash(folder.network / "config.json"),
        }
    )
    dtype, threads = options.get("dtype", "auto"), positive_int(options, "threads", available_cores())
    return LateTransformer(
        name_of(place),
        fingerprint,
        Runtime(network, Head(), digest(weights), dtype=dtype, threads=threads),
        (query, document),
        marking,
        folder.steps,
        network.shape.dimensions,
        lengths,
    )


make = EncoderFactory(
    "colbert",
    "a model trained for late interaction in a folder (PyLate, ColBERT); without torch",
    {
        "query_length": "tokens of a query, filled up with mask tokens; else the model's own",
        "document_length": "tokens read of a document; else the model's own",
        "dtype": "number format of the computation: auto, f32 or bf16",
        "threads": "of the processor",
    },
    load_colbert,
    folder_permission,
)
ENCODERS.register(make.name)(make)
