"""Folders with tiny models for late interaction, as PyLate and the original code of ColBERT save them.

Nothing here needs torch. Two words of the vocabulary serve as markers.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from aspectra.base.values import replace
from aspectra.views.encoders.transformer.weights import read_weights
from folder_models import MODELS, WIDTH, write_model, write_safetensors

DIMENSIONS, QUERY_LENGTH, DOCUMENT_LENGTH = 8, 12, 24
QUERY_MARKER, DOCUMENT_MARKER = "Graph", "engine"
FORMS = ("pylate", "pylate modernbert", "pylate attended", "pylate unexpanded", "original")
QUERIES = ("search the papers", "", "xyz, abc and more words than a query may have")
DOCUMENTS = (
    "The search engine, papers on search.",
    "papers: the engine. " * 4,
    "",
    "graph of letters, and a search",
)


def write_late_model(folder: Path, form: str, seed: int = 1) -> Path:
    """Write a model of one of :data:`FORMS`; returns the folder."""
    model = MODELS["bert"]
    if "modernbert" in form:  # in a narrower window some mask token would attend to nothing
        model = replace(MODELS["modernbert"], config={**MODELS["modernbert"].config, "local_attention": 64})
    write_model(folder, model, seed=seed)
    place = folder / "tokenizer_config.json"
    _write(place, **json.loads(place.read_text("utf-8")), mask_token="[MASK]")
    projection = (np.random.default_rng(seed).random((DIMENSIONS, WIDTH)) - 0.5).astype(np.float32)
    if form == "original":
        for left in ("modules.json", "config_sentence_transformers.json"):
            (folder / left).unlink()
        held = {f"bert.{name}": np.array(tensor) for name, tensor in _tensors(folder).items()}
        write_safetensors(folder / "model.safetensors", {**held, "linear.weight": projection})
        _write(
            folder / "artifact.metadata",
            query_maxlen=QUERY_LENGTH,
            doc_maxlen=DOCUMENT_LENGTH,
            query_token_id=QUERY_MARKER,
            doc_token_id=DOCUMENT_MARKER,
            mask_punctuation=True,
            attend_to_mask_tokens=False,
        )
        return folder
    dense = folder / "1_Dense"
    dense.mkdir(exist_ok=True)
    write_safetensors(dense / "model.safetensors", {"linear.weight": projection})
    _write(
        dense / "config.json",
        in_features=WIDTH,
        out_features=DIMENSIONS,
        bias=False,
        activation_function="torch.nn.modules.linear.Identity",
    )
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    _write(
        folder / "config_sentence_transformers.json",
        query_prefix=QUERY_MARKER,
        document_prefix=DOCUMENT_MARKER,
        query_length=QUERY_LENGTH,
        document_length=DOCUMENT_LENGTH,
        attend_to_expansion_tokens="attended" in form,
        do_query_expansion="unexpanded" not in form,
        skiplist_words=[".", ",", "!"],
    )
    return folder


def _tensors(folder: Path) -> dict[str, np.ndarray]:
    return {name: np.array(tensor) for name, tensor in read_weights(folder / "model.safetensors").items()}


def _write(path: Path, **values: object) -> None:
    path.write_text(json.dumps(values), "utf-8")
