"""Folders with tiny encoders of every family that runs without torch; their numbers follow from a seed.

Nothing here needs torch: names and sizes of the tensors are those that the ``transformers`` library saves.
``golden/make_local.py`` loads the same folders with sentence-transformers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "search", "engine", "papers"]
WORDS += [*LETTERS, *(f"##{letter}" for letter in LETTERS), "Graph", ".", ",", ":"]
LAYERS, HEADS, WIDTH, INNER, PLACES = 3, 2, 16, 24, 200
TOKENS = 160
TEXTS = (
    "The search engine, papers on search.",
    "",
    "a graph of [PAD] papers § and others",
    "we search the papers of an engine, and the engine searches us: " * 12,
    "Graph search. " * 9,
    "xyz Graph é 漢字",
)


@dataclass(frozen=True)
class Tiny:
    """One model.

    Attributes:
        family: ``model_type`` of its configuration.
        pooling: what ``1_Pooling/config.json`` holds besides the dimensions.
        after: modules behind the pooling: ``dense``, ``residual``, ``layernorm``, ``normalize``.
        config: what its ``config.json`` holds besides the sizes.
        settings: ``sentence_bert_config.json``.
        dtype: of the stored numbers: ``F32``, ``F16`` or ``BF16``.
        shards: files that the weights are in.
        prompts: declared in ``config_sentence_transformers.json``.
        default_prompt: likewise.
        biased: ModernBERT: whether it has biases.
        tokenizer: what ``tokenizer_config.json`` holds besides the special tokens.
    """

    family: str = "bert"
    pooling: Mapping[str, Any] = field(default_factory=lambda: {"pooling_mode": "mean"})
    after: tuple[str, ...] = ("normalize",)
    config: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=lambda: {"max_seq_length": TOKENS})
    dtype: str = "F32"
    shards: int = 1
    prompts: Mapping[str, str] = field(default_factory=lambda: {"query": "search: "})
    default_prompt: str | None = None
    biased: bool = False
    tokenizer: Mapping[str, Any] = field(default_factory=dict)


def _pooled(mode: Any, **more: Any) -> dict[str, Any]:
    return {"pooling_mode": mode, **more}


_OLD = {"global_attn_every_n_layers": 2, "local_rope_theta": 100.0, "global_rope_theta": 5000.0}
_NEW = {
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 5000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    },
}
MODELS: dict[str, Tiny] = {
    "bert": Tiny(),
    "bert-relu": Tiny(config={"hidden_act": "relu"}),
    "bert-tanh-gelu": Tiny(config={"hidden_act": "gelu_new"}),
    "roberta": Tiny("roberta", config={"pad_token_id": 0}),
    "xlm-roberta": Tiny("xlm-roberta", config={"pad_token_id": 1, "layer_norm_eps": 1e-5}),
    "camembert": Tiny("camembert", config={"pad_token_id": 0}),
    "electra": Tiny("electra", config={"embedding_size": WIDTH}),
    "mpnet": Tiny("mpnet"),
    "distilbert": Tiny("distilbert"),
    "modernbert": Tiny("modernbert", config={**_NEW, "local_attention": 16}),
    "modernbert-old": Tiny("modernbert", config={**_OLD, "local_attention": 24}),
    "modernbert-biased": Tiny(
        "modernbert",
        config={"attention_bias": True, "mlp_bias": True, "norm_bias": True, "local_attention": 16},
        biased=True,
    ),
    "cls": Tiny(pooling=_pooled("cls")),
    "max": Tiny(pooling=_pooled("max")),
    "last": Tiny(pooling=_pooled("lasttoken"), after=()),
    "weighted": Tiny(pooling=_pooled("weightedmean"), after=()),
    "root": Tiny(pooling=_pooled("mean_sqrt_len_tokens"), after=()),
    "joined": Tiny(pooling={"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}),
    "no-prompt": Tiny(pooling=_pooled("mean", include_prompt=False)),
    "no-prompt-weighted": Tiny(pooling=_pooled("weightedmean", include_prompt=False)),
    "no-prompt-cls": Tiny(pooling=_pooled("cls", include_prompt=False)),
    "dense": Tiny(after=("dense", "normalize")),
    "residual": Tiny(after=("residual", "layernorm")),
    "default-prompt": Tiny(prompts={"topic": "the: "}, default_prompt="topic"),
    "lower-case": Tiny("roberta", settings={"max_seq_length": 40, "do_lower_case": True}),
    "lower-words": Tiny(tokenizer={"tokenizer_class": "BertTokenizer"}),
    "kept-words": Tiny(tokenizer={"tokenizer_class": "BertTokenizerFast", "do_lower_case": False}),
    "f16": Tiny(dtype="F16"),
    "bf16": Tiny("modernbert", dtype="BF16"),
    "shards": Tiny("mpnet", shards=3),
}


def write_safetensors(path: Path, tensors: Mapping[str, np.ndarray[Any, Any]], dtype: str = "F32") -> None:
    """Write a file of the format; bfloat16 is cut off, not rounded."""
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        wide = np.ascontiguousarray(tensor, dtype="<f4")
        if dtype == "F16":
            raw = wide.astype("<f2").tobytes()
        elif dtype == "BF16":
            raw = (wide.view("<u4") >> 16).astype("<u2").tobytes()
        else:
            raw = wide.tobytes()
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [at, at + len(raw)]}
        parts.append(raw)
        at += len(raw)
    text = json.dumps({**header, "__metadata__": {"format": "pt"}}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def _linear(name: str, out: int, into: int, *, bias: bool = True) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, into), **({f"{name}.bias": (out,)} if bias else {})}


def _norm(name: str, *, bias: bool = True) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (WIDTH,), **({f"{name}.bias": (WIDTH,)} if bias else {})}


def _shapes(model: Tiny) -> dict[str, tuple[int, ...]]:
    """Tensor names and sizes, as the family's class in ``transformers`` has them."""
    words = len(WORDS)
    if model.family == "modernbert":
        shapes = {"embeddings.tok_embeddings.weight": (words, WIDTH)}
        shapes |= _norm("embeddings.norm", bias=model.biased) | _norm("final_norm", bias=model.biased)
        for layer in range(LAYERS):
            prefix = f"layers.{layer}."
            if layer:
                shapes |= _norm(prefix + "attn_norm", bias=model.biased)
            shapes |= _norm(prefix + "mlp_norm", bias=model.biased)
            shapes |= _linear(prefix + "attn.Wqkv", 3 * WIDTH, WIDTH, bias=model.biased)
            shapes |= _linear(prefix + "attn.Wo", WIDTH, WIDTH, bias=model.biased)
            shapes |= _linear(prefix + "mlp.Wi", 2 * INNER, WIDTH, bias=model.biased)
            shapes |= _linear(prefix + "mlp.Wo", WIDTH, INNER, bias=model.biased)
        return shapes
    shapes = {
        "embeddings.word_embeddings.weight": (words, WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        **_norm("embeddings.LayerNorm"),
    }
    if model.family not in {"distilbert", "mpnet"}:
        shapes["embeddings.token_type_embeddings.weight"] = (2, WIDTH)
    if model.family == "mpnet":
        shapes["encoder.relative_attention_bias.weight"] = (32, HEADS)
    for layer in range(LAYERS):
        if model.family == "distilbert":
            prefix = f"transformer.layer.{layer}."
            for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
                shapes |= _linear(f"{prefix}attention.{name}", WIDTH, WIDTH)
            shapes |= _linear(prefix + "ffn.lin1", INNER, WIDTH) | _linear(prefix + "ffn.lin2", WIDTH, INNER)
            shapes |= _norm(prefix + "sa_layer_norm") | _norm(prefix + "output_layer_norm")
            continue
        prefix = f"encoder.layer.{layer}."
        names = ("self.query", "self.key", "self.value", "output.dense")
        if model.family == "mpnet":
            names = ("attn.q", "attn.k", "attn.v", "attn.o")
        for name in names:
            shapes |= _linear(f"{prefix}attention.{name}", WIDTH, WIDTH)
        first = "attention.LayerNorm" if model.family == "mpnet" else "attention.output.LayerNorm"
        shapes |= _norm(prefix + first) | _norm(prefix + "output.LayerNorm")
        shapes |= _linear(prefix + "intermediate.dense", INNER, WIDTH)
        shapes |= _linear(prefix + "output.dense", WIDTH, INNER)
    return shapes


def _numbers(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Numbers of a size that makes attention attend, and norms near 1."""
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, shape in shapes.items():
        values = (rng.random(shape) - 0.5) * (1.6 if len(shape) == 2 else 0.6)
        near_one = name.endswith("orm.weight") and len(shape) == 1
        tensors[name] = (values + near_one).astype(np.float32)
    return tensors


def _config(model: Tiny) -> dict[str, Any]:
    sizes: dict[str, Any] = {
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
    }
    if model.family == "distilbert":
        sizes = {"n_layers": LAYERS, "n_heads": HEADS, "dim": WIDTH, "hidden_dim": INNER}
    if model.family == "modernbert":
        special = {"pad_token_id": 0, "cls_token_id": 2, "bos_token_id": 2, "sep_token_id": 3}
        sizes = {**sizes, **special, "eos_token_id": 3}
        del sizes["hidden_act"], sizes["layer_norm_eps"]
    common = {"model_type": model.family, "vocab_size": len(WORDS), "max_position_embeddings": PLACES}
    return {**common, **sizes, **model.config}


def tokenizer() -> Any:
    """The tokenizer of all these models: word pieces, upper case kept."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens([AddedToken(word, special=True) for word in WORDS[:5]])
    return made


def write_model(place: Path, model: Tiny, seed: int = 1) -> Path:
    """Write the folder of a model and return it."""
    place.mkdir(parents=True)
    tensors = _numbers(_shapes(model), seed)
    names = list(tensors)
    if model.shards == 1:
        write_safetensors(place / "model.safetensors", tensors, model.dtype)
    else:
        where = {}
        for shard in range(model.shards):
            file = f"model-{shard + 1:05d}-of-{model.shards:05d}.safetensors"
            part = {name: tensors[name] for name in names[shard :: model.shards]}
            write_safetensors(place / file, part, model.dtype)
            where |= dict.fromkeys(part, file)
        _write(place / "model.safetensors.index.json", {"metadata": {}, "weight_map": where})
    _write(place / "config.json", _config(model))
    tokenizer().save(str(place / "tokenizer.json"))
    pad = "[PAD]" if _config(model).get("pad_token_id", 0) == 0 and model.family != "mpnet" else "[UNK]"
    special = {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": pad}
    _write(
        place / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": PLACES - 4,
            **special,
            **model.tokenizer,
        },
    )
    _write(place / "sentence_bert_config.json", model.settings)
    declared = {"prompts": model.prompts, "default_prompt_name": model.default_prompt}
    _write(place / "config_sentence_transformers.json", {**declared, "similarity_fn_name": "cosine"})
    _write_modules(place, model, seed)
    return place


def _write_modules(place: Path, model: Tiny, seed: int) -> None:
    kinds = ["Transformer", "Pooling"]
    _write(place / "1_Pooling" / "config.json", {"word_embedding_dimension": WIDTH, **model.pooling})
    width = WIDTH * sum(
        value is True for key, value in model.pooling.items() if key.startswith("pooling_mode_")
    )
    width = width or WIDTH
    for number, step in enumerate(model.after, 2):
        kind = {"normalize": "Normalize", "layernorm": "LayerNorm"}.get(step, "Dense")
        folder = place / f"{number}_{kind}"
        kinds.append(kind)
        if kind == "Normalize":
            folder.mkdir()
        elif kind == "LayerNorm":
            _write(folder / "config.json", {"dimension": width})
            norm = {"norm.weight": (width,), "norm.bias": (width,)}
            write_safetensors(folder / "model.safetensors", _numbers(norm, seed + number))
        else:
            adds = {"use_residual": True} if step == "residual" else {}
            activation = "torch.nn.modules.activation." + ("GELU" if adds else "Tanh")
            sizes = {"in_features": width, "out_features": 10, "bias": True}
            _write(folder / "config.json", {**sizes, "activation_function": activation, **adds})
            shapes = _linear("linear", 10, width) | (
                _linear("residual", 10, width, bias=False) if adds else {}
            )
            write_safetensors(folder / "model.safetensors", _numbers(shapes, seed + number))
            width = 10
    listed = [
        {
            "idx": number,
            "name": str(number),
            "path": f"{number}_{kind}" if number else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for number, kind in enumerate(kinds)
    ]
    _write(place / "modules.json", listed)


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
