"""Configuration files of a model folder besides the network's: pooling, layers after it, lengths, prompts.

They are the files of sentence-transformers: ``modules.json``, ``sentence_bert_config.json``,
``1_Pooling/config.json`` and its like, ``config_sentence_transformers.json``, ``tokenizer_config.json``. A
folder without ``modules.json`` is a plain transformer, and is pooled by the mean as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from aspectra.base.errors import UsageError
from aspectra.views.encoders.protocol import POOLINGS
from aspectra.views.encoders.transformer.encoder import (
    Dense,
    Head,
    HeadStep,
    Norm,
    Spelling,
    TokenPooling,
    UnitLength,
)
from aspectra.views.encoders.transformer.weights import (
    as_float32,
    needs_torch,
    read_config,
    read_list,
    read_weights,
)

_OURS = "sentence_transformers."
# What older files say in one flag for each kind of pooling; vectors are joined in this order.
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# Settings of the transformer that are read here, or that change no vector. Others are refused.
_READ = {"max_seq_length", "do_lower_case"}
_HARMLESS = {
    "backend",
    "config_args",
    "config_kwargs",
    "model_args",
    "model_kwargs",
    "processor_kwargs",
    "tokenizer_args",
    "tokenizer_name_or_path",
    "unpad_inputs",
}
_EXPECTED = {
    "transformer_task": "feature-extraction",
    "module_output_name": "token_embeddings",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
}
_NO_LIMIT = 10**6  # tokenizers without a limit write 10^30
# Tokenizers for which ``transformers`` takes the spelling of words from tokenizer_config.json.
_WORD_PIECES = {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer", "MPNetTokenizer"}


class ModelFolder(Struct, frozen=True):
    """A model's folder, read.

    Attributes:
        place: the folder.
        network: where the network and the tokenizer are, mostly the folder itself.
        head: token states to the vector of a text.
        max_tokens: tokens read of a text; None where nothing but the network limits it.
        spelling: what is done to texts before the tokenizer, and which end is cut.
        prompts: declared prompts by name.
        default_prompt: name of the one that is used where no other fits.
        similarity: what the vectors were trained for, such as ``cosine`` or ``dot``; "" if it is not said.
    """

    place: Path
    network: Path
    head: Head
    max_tokens: int | None = None
    spelling: Spelling = Spelling()
    prompts: Mapping[str, str] = field(default_factory=dict)
    default_prompt: str | None = None
    similarity: str = ""

    @classmethod
    def read(cls, place: Path) -> ModelFolder:
        """Read the configuration files.

        Raises:
            UsageError: the folder does not exist, a file is damaged, or it needs something unsupported.
        """
        if not place.is_dir():
            raise UsageError(f"there is no folder {place}", hint="give the folder that holds the model")
        if (place / "adapter_config.json").is_file():
            raise needs_torch(place, "it holds an adapter (adapter_config.json)")
        network, head = _modules(place)
        settings = _settings(place, network)
        tokenizer = read_config(network / "tokenizer_config.json")
        declared = read_config(place / "config_sentence_transformers.json")
        prompts = declared.get("prompts") or {}
        if not isinstance(prompts, dict):
            raise UsageError(f"cannot read the prompts in {place}", hint="download the model again")
        limits = [settings.get("max_seq_length"), tokenizer.get("model_max_length")]
        found = [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < _NO_LIMIT]
        return cls(
            place,
            network,
            head,
            max_tokens=found[0] if found else None,
            spelling=_spelling(settings, tokenizer),
            prompts={str(name): str(text) for name, text in prompts.items() if text is not None},
            default_prompt=declared.get("default_prompt_name"),
            similarity=str(declared.get("similarity_fn_name") or ""),
        )


def _spelling(settings: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> Spelling:
    words = str(tokenizer.get("tokenizer_class") or "").removesuffix("Fast") in _WORD_PIECES
    accents = tokenizer.get("strip_accents")
    return Spelling(
        lower_first=bool(settings.get("do_lower_case")),
        left=tokenizer.get("truncation_side") == "left",
        lower_case=bool(tokenizer.get("do_lower_case", True)) if words else None,
        strip_accents=None if accents is None else bool(accents),
        apart=bool(tokenizer.get("tokenize_chinese_chars", True)),
    )


def _modules(place: Path) -> tuple[Path, Head]:
    """The folder of the network, and what follows it."""
    path = place / "modules.json"
    if not path.is_file():
        pooling = place / "1_Pooling"
        return place, Head(_pooling(place, pooling) if pooling.is_dir() else TokenPooling())
    modules = []
    for module in read_list(path):
        kind, folder = (module.get("type"), module.get("path")) if isinstance(module, dict) else (None, None)
        inside = isinstance(folder, str) and not Path(folder).is_absolute() and ".." not in Path(folder).parts
        if not isinstance(kind, str) or not inside:
            raise UsageError(f"cannot read {path}", hint="download the model again")
        if not kind.startswith(_OURS):
            raise needs_torch(place, f"its modules.json names code of its own ({kind})")
        modules.append((kind.rpartition(".")[2], place / str(folder)))
    kinds = [kind for kind, _ in modules]
    if kinds[:2] != ["Transformer", "Pooling"]:
        raise needs_torch(place, f"its modules are {', '.join(kinds)}; known: Transformer, Pooling, ...")
    steps = [step for kind, folder in modules[2:] for step in read_module(place, kind, folder)]
    return modules[0][1], Head(_pooling(place, modules[1][1]), tuple(steps))


def _pooling(place: Path, folder: Path) -> TokenPooling:
    config = read_config(folder / "config.json")
    mode = config.get("pooling_mode")
    if mode is None:
        mode = [name for flag, name in _FLAGS.items() if config.get(flag)] or "mean"
    modes = (mode,) if isinstance(mode, str) else tuple(map(str, mode))
    if unknown := [mode for mode in modes if mode not in POOLINGS]:
        raise needs_torch(place, f"it pools by {unknown[0]!r}; known: {', '.join(POOLINGS)}")
    return TokenPooling(modes, bool(config.get("include_prompt", True)))


def read_module(place: Path, kind: str, folder: Path) -> list[HeadStep]:
    """The layers of one module after the pooling.

    Args:
        place: folder of the model, for messages.
        kind: of the module, as ``Dense``.
        folder: of the module.

    Raises:
        UsageError: it is not known here, or its weights cannot be read.
    """
    config = read_config(folder / "config.json")
    for key in ("module_input_name", "module_output_name"):
        if config.get(key) not in {None, "sentence_embedding"}:
            raise needs_torch(place, f"its module {folder.name} works on {config[key]!r}")
    if kind == "Dropout":
        return []
    if kind == "Normalize":
        return [UnitLength()]
    if kind not in {"Dense", "LayerNorm"}:
        raise needs_torch(place, f"its module {folder.name} is a {kind}; known: Dense, LayerNorm, Normalize")
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise needs_torch(place, f"the weights of its module {folder.name} are not in safetensors")
    tensors = {name: as_float32(tensor) for name, tensor in read_weights(weights).items()}
    try:
        if kind == "LayerNorm":
            return [Norm(weights, tensors["norm.weight"], tensors["norm.bias"])]
        residual = tensors.get("residual.weight") if config.get("use_residual") else None
        activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
        dense = Dense(
            weights,
            tensors["linear.weight"],
            tensors.get("linear.bias"),
            activation.rpartition(".")[2] if activation.startswith("torch.nn.") else activation,
            bool(config.get("use_residual")),
            residual,
        )
    except KeyError as error:
        raise needs_torch(place, f"the weights of its module {folder.name} lack {error}") from error
    if not dense.known:
        raise needs_torch(place, f"its module {folder.name} has the activation {activation}")
    return [dense]


def _settings(place: Path, network: Path) -> dict[str, Any]:
    """Settings of the transformer."""
    config = read_config(network / "sentence_bert_config.json")
    for key, value in config.items():
        if key in _READ or key in _HARMLESS or value in (None, False, {}, []):
            continue
        if value != _EXPECTED.get(key):
            raise needs_torch(place, f"its sentence_bert_config.json sets {key}")
    return config
