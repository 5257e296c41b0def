r"""A text encoder in a folder, on the processor and without torch.

Argument: ``local:FOLDER?option=value&...``; the options are those of :data:`make`. The folder holds what
sentence-transformers saves: ``model.safetensors`` (or shards of it) of a BERT-like or ModernBERT model, or
``onnx/model.onnx``; ``tokenizer.json``; and configuration files, of which pooling, the layers behind it, the
maximum length and prompts are read. A model that cannot be run this way is refused with the reason.
"""

from __future__ import annotations

import logging
from pathlib import Path

from aspectra.base.errors import UsageError
from aspectra.base.files import digest
from aspectra.views.encoders.protocol import (
    ENCODERS,
    POOLINGS,
    PROMPT_OPTIONS,
    EncoderFactory,
    check_token_limit,
    folder_permission,
    name_of,
    positive_int,
    resolve_prompts,
    yes_or_no,
)
from aspectra.views.encoders.query_encoder import content_hash
from aspectra.views.encoders.transformer.encoder import (
    Head,
    ModelTokenizer,
    TokenPooling,
    TokenStateEncoder,
    TransformerEncoder,
)
from aspectra.views.encoders.transformer.modules import ModelFolder
from aspectra.views.encoders.transformer.network import Network, Runtime, SafetensorsNetwork, available_cores
from aspectra.views.encoders.transformer.weights import (
    NeedsTorch,
    OnnxNetwork,
    needs_torch,
    onnx_files,
    positions_of,
    read_config,
    weight_files,
)

_LOG = logging.getLogger(__name__)
_ONNX = ("onnx/model.onnx", "model.onnx")
_LEAST_TOKENS = 3  # two special ones and one of the text


def open_network(folder: Path, file: str = "") -> tuple[Network, int, list[Path]]:
    """The network in a folder: of its safetensors files, else of its ONNX file.

    Args:
        folder: with the network's files.
        file: an ``.onnx`` file in it, to use that one; "" to choose.

    Returns:
        The network, the dimensions of a token's state, and the files that decide it.

    Raises:
        UsageError: there is none that can be run here.
    """
    if file:
        if not file.endswith(".onnx") or ".." in Path(file).parts or not (folder / file).is_file():
            raise UsageError(f"there is no ONNX file {file!r} in {folder}", hint="file=onnx/model.onnx")
        return _onnx(folder, folder / file)
    exported = [folder / name for name in _ONNX if (folder / name).is_file()]
    try:
        files = weight_files(folder)
        if not files:
            kept = "only as pytorch_model.bin" if (folder / "pytorch_model.bin").is_file() else "not there"
            raise needs_torch(
                folder, f"its weights are {kept}: model.safetensors or onnx/model.onnx is needed"
            )
        network = SafetensorsNetwork(folder)
    except NeedsTorch:
        if not exported:
            raise
        return _onnx(folder, exported[0])
    return network, network.shape.dimensions, [*files, folder / "config.json"]


def _onnx(folder: Path, path: Path) -> tuple[Network, int, list[Path]]:
    config = read_config(folder / "config.json")
    try:
        positions, _ = positions_of({"max_position_embeddings": 512, **config})
        words = int(config.get("vocab_size", 256))
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"cannot read {folder / 'config.json'}", why=str(error), hint="download the model again"
        ) from error
    network = OnnxNetwork(folder, path, words=words, positions=positions)
    return network, network.dimensions, onnx_files(path)


def load_folder(place: str, options: dict[str, str]) -> TransformerEncoder:
    """The encoder in a folder.

    Args:
        place: the folder.
        options: as in :data:`make`.

    Raises:
        UsageError: the folder holds no model that can be run without torch, or an option has no meaning.
    """
    if not place:
        raise UsageError("the encoder 'local' needs a folder", hint="write local:FOLDER")
    folder = ModelFolder.read(Path(place).expanduser())
    network, dimensions, files = open_network(folder.network, options.get("file", ""))
    head = _head(folder.head, options)
    most = network.positions
    limit = positive_int(options, "max_tokens", min(folder.max_tokens or most, most))
    check_token_limit("max_tokens", limit, _LEAST_TOKENS, most)
    unit = yes_or_no(options, "normalize", True)
    head = head.without_unit() if unit else head  # once is enough
    if unit and "normalize" not in options and folder.similarity in {"dot", "euclidean", "manhattan"}:
        _LOG.warning(
            "%s was trained for the similarity %r; normalize=no keeps the lengths of its vectors",
            place,
            folder.similarity,
        )
    tokens = ModelTokenizer(folder.network, limit, folder.spelling)
    prompts = resolve_prompts(options, folder.prompts, folder.default_prompt)
    identity = digest({path.relative_to(folder.network).as_posix(): content_hash(path) for path in files})
    fingerprint = digest(
        {
            "encoder": "local",
            "network": identity,
            "tokens": tokens.key,
            "head": head.key,
            "prompts": prompts.key,
            "unit": unit,
        }
    )
    dtype, threads = options.get("dtype", "auto"), positive_int(options, "threads", available_cores())
    kind = TokenStateEncoder if head.late else TransformerEncoder
    return kind(
        name_of(place),
        fingerprint,
        Runtime(network, head, identity, dtype=dtype, threads=threads),
        tokens,
        head,
        dimensions,
        prompts=prompts,
        unit=unit,
    )


def _head(own: Head, options: dict[str, str]) -> Head:
    """The head after the network: the folder's own, except where options replace it."""
    included = yes_or_no(options, "include_prompt", own.pooling.include_prompt)
    if "pooling" not in options:
        return Head(TokenPooling(own.pooling.modes, included), own.steps)
    if (mode := options["pooling"]) not in POOLINGS:
        raise UsageError(f"there is no pooling {mode!r}", why=f"known: {', '.join(POOLINGS)}")
    return Head(TokenPooling((mode,), included))


make = EncoderFactory(
    "local",
    "a BERT-like or ModernBERT encoder in a folder, safetensors or ONNX; without torch",
    {
        **PROMPT_OPTIONS,
        "max_tokens": "tokens read of a text; else the model's own",
        "pooling": f"{', '.join(POOLINGS)}; else the model's own, with its layers behind it",
        "include_prompt": "yes or no: whether the tokens of the prompt are pooled",
        "normalize": "yes or no: vectors of unit length",
        "file": "ONNX file in the folder, such as onnx/model.onnx; else model.safetensors, else that one",
        "dtype": "number format of the computation: auto, f32 or bf16",
        "threads": "of the processor",
    },
    load_folder,
    folder_permission,
)
ENCODERS.register(make.name)(make)
