"""What of a model's ``config.json`` decides its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.views.encoders.transformer.weights import needs_torch, read_config

FAMILIES = ("bert", "camembert", "distilbert", "electra", "modernbert", "mpnet", "roberta", "xlm-roberta")
# Names of ``transformers`` -> (operator, its approximation).
ACTIVATIONS = {
    "gelu": ("gelu", "erf"),
    "gelu_new": ("gelu", "tanh"),
    "gelu_pytorch_tanh": ("gelu", "tanh"),
    "relu": ("relu", ""),
    "silu": ("swish", ""),
}
# Positions are counted from behind the padding token's number, as fairseq does.
_AFTER_PADDING = {"camembert", "mpnet", "roberta", "xlm-roberta"}
_DISTIL = {
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "hidden_size": "dim",
    "hidden_act": "activation",
}
_WRONG = {
    "is_decoder": "it is a decoder",
    "add_cross_attention": "it has cross-attention",
    "quantization_config": "its weights are quantised",
}


@dataclass(frozen=True)
class Shape:
    """Sizes and variants of an encoder.

    Attributes:
        family: ``model_type`` of its configuration, one of :data:`FAMILIES`.
        layers: number of layers.
        heads: attention heads of a layer.
        dimensions: length of a token's state.
        positions: tokens that a text can have.
        epsilon: of the layer norms.
        activation: of the feed-forward layers, one of :data:`ACTIVATIONS`.
        padding: number of the padding token, where positions are counted from behind it; else None.
        local: ModernBERT: per layer, whether attention is limited to the neighbours.
        window: ModernBERT: how many tokens away a neighbour may be.
        thetas: ModernBERT: base of the rotary positions of global and of local layers.
    """

    family: str
    layers: int
    heads: int
    dimensions: int
    positions: int
    epsilon: float
    activation: str = "gelu"
    padding: int | None = None
    local: tuple[bool, ...] = ()
    window: int = 0
    thetas: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def read(cls, folder: Path) -> Shape:
        """Read and check the ``config.json`` of a folder.

        Raises:
            UsageError: it is damaged, or no encoder that the graphs implement.
            OSError: the file cannot be read.
        """
        path = folder / "config.json"
        config = read_config(path)
        if not config:
            raise UsageError(f"{folder} holds no model", why="there is no config.json")
        family = config.get("model_type")
        if "auto_map" in config:
            raise needs_torch(folder, "its config.json names code of its own (auto_map)")
        if family not in FAMILIES:
            raise needs_torch(
                folder, f"its architecture is {family!r}; known without torch: {', '.join(FAMILIES)}"
            )
        for key, why in _WRONG.items():
            if config.get(key):
                raise needs_torch(folder, f"{why} ({key} in config.json)")
        try:
            return _modern(folder, config) if family == "modernbert" else _classic(folder, family, config)
        except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise UsageError(
                f"cannot read {path}",
                why=f"not a model configuration ({type(error).__name__}: {error})",
                hint="download the model again",
            ) from error


def positions_of(config: Mapping[str, Any]) -> tuple[int, int | None]:
    """Tokens that a text can have, and the padding token's number where positions are counted from behind it.

    Raises:
        KeyError: the configuration does not say it.
    """
    positions, family = int(config["max_position_embeddings"]), config.get("model_type")
    if family not in _AFTER_PADDING:
        return positions, None
    # The padding token of MPNet is fixed in its code; the others read it from the configuration.
    padding = 1 if family == "mpnet" else int(config.get("pad_token_id", 1))
    return positions - padding - 1, padding


def _classic(folder: Path, family: str, config: Mapping[str, Any]) -> Shape:
    """BERT and its relatives: absolute positions, layer norm after each part."""
    names = _DISTIL if family == "distilbert" else {}
    size = {key: config[names.get(key, key)] for key in ("num_hidden_layers", "num_attention_heads")}
    dimensions = int(config[names.get("hidden_size", "hidden_size")])
    if config.get("position_embedding_type") not in {None, "absolute"}:
        raise needs_torch(folder, f"its positions are {config['position_embedding_type']!r}, not absolute")
    if config.get("embedding_size", dimensions) != dimensions:
        raise needs_torch(folder, "its embeddings are of another size than its states")
    positions, padding = positions_of(config)
    return Shape(
        family=family,
        layers=int(size["num_hidden_layers"]),
        heads=_heads(int(size["num_attention_heads"]), dimensions),
        dimensions=dimensions,
        positions=positions,
        epsilon=1e-12 if family == "distilbert" else float(config.get("layer_norm_eps", 1e-12)),
        activation=_activation(folder, config.get(names.get("hidden_act", "hidden_act"), "gelu")),
        padding=padding,
    )


def _modern(folder: Path, config: Mapping[str, Any]) -> Shape:
    """ModernBERT, in the spelling of today's configurations and of those before."""
    layers = int(config["num_hidden_layers"])
    every = int(config.get("global_attn_every_n_layers", 3))
    kinds = config.get("layer_types") or [
        "sliding_attention" if layer % every else "full_attention" for layer in range(layers)
    ]
    if len(kinds) != layers or set(kinds) - {"sliding_attention", "full_attention"}:
        raise needs_torch(folder, f"its layers are of the kinds {sorted(set(map(str, kinds)))}")
    rotary = config.get("rope_parameters") or {}
    scaled = config.get("rope_scaling") or any(
        (rotary.get(kind) or {}).get("rope_type", "default") != "default" for kind in set(kinds)
    )
    if scaled:
        raise needs_torch(folder, "its rotary positions are scaled")
    full = config.get("global_rope_theta") or 160_000.0
    local = config.get("local_rope_theta") or 10_000.0
    dimensions = int(config["hidden_size"])
    return Shape(
        family="modernbert",
        layers=layers,
        heads=_heads(int(config["num_attention_heads"]), dimensions),
        dimensions=dimensions,
        positions=int(config["max_position_embeddings"]),
        epsilon=float(config.get("norm_eps", 1e-5)),
        activation=_activation(folder, config.get("hidden_activation", "gelu")),
        local=tuple(kind == "sliding_attention" for kind in kinds),
        window=int(config.get("local_attention", 128)) // 2,
        thetas=(
            float((rotary.get("full_attention") or {}).get("rope_theta", full)),
            float((rotary.get("sliding_attention") or {}).get("rope_theta", local)),
        ),
    )


def _heads(heads: int, dimensions: int) -> int:
    if dimensions % heads:
        raise ValueError(f"{dimensions} dimensions cannot be split among {heads} heads")
    return heads


def _activation(folder: Path, name: object) -> str:
    if name not in ACTIVATIONS:
        raise needs_torch(folder, f"its activation is {name!r}; known: {', '.join(ACTIVATIONS)}")
    return str(name)
