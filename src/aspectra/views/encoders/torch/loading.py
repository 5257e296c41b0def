"""Loads a sentence-transformers model as its files specify it: pooling, attention, modules, adapters."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.base.trust import Permission
from aspectra.llm.client.openai_compatible import offline
from aspectra.views.encoders.protocol import POOLINGS, Kind, yes_or_no
from aspectra.views.encoders.query_encoder import content_hash

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
    """Collector of the weights that transformers reports as missing: it leaves such weights at random."""

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
    """``causal`` if the first token's state does not depend on later tokens, else ``bidirectional``.

    Found by a trial, since a model may ignore the setting.
    """
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


# A hub's repository may hold much else: other formats of the weights, other adapters.
_ADAPTER_FILES = ("adapter_config.json", "adapter_model.*", "adapter.safetensors", "pytorch_adapter.bin")
_ADAPTERS = ("adapter", "query_adapter")


def model_permissions(place: str, options: Mapping[str, str]) -> list[Permission]:
    """Permissions for loading a model, its adapters, and its own code where an option has it run.

    A model of a hub is permitted with its revision: anybody may propose one, code included, to a known name.

    Args:
        place: folder or hub name.
        options: ``revision``, ``trust_remote_code``, ``adapter`` and ``query_adapter`` are read.
    """
    model = _permission(place, options.get("revision"))
    needed = [model]
    if options.get("trust_remote_code", "no") != "no":
        needed.append(Permission("code", model.name))
    for name in _ADAPTERS:
        value = options.get(name, "")
        if value and not _lies_inside(value):
            needed.append(_permission(*_adapter_name(value)))
    return list(dict.fromkeys(needed))


def _permission(place: str, revision: str | None) -> Permission:
    if _is_folder(place):
        return Permission.folder(place)
    return Permission("model", f"{place}@{revision}" if revision else place)


def _is_folder(place: str) -> bool:
    path = Path(os.path.expanduser(place))
    # Only a relative path is looked at: looking at others can open a connection on some systems.
    return path.is_absolute() or "\\" in place or path.is_dir()


def _lies_inside(adapter: str) -> bool:
    """True if an adapter is named as a folder inside the model's own folder, not by a path or hub name."""
    return not (set("/\\:") & set(adapter) or adapter.startswith(("~", ".")))


def _adapter_name(value: str) -> tuple[str, str | None]:
    """Place and revision of an adapter outside its model's folder: ``FOLDER`` or ``OWNER/NAME@REVISION``."""
    if _is_folder(value):
        return os.path.expanduser(value), None
    name, _, revision = value.partition("@")
    return name, revision or None


def adapter_folder(model: str, revision: str | None, value: str) -> tuple[Path, Any]:
    """Folder with the files of an adapter, and the values that determine its weights.

    Args:
        model: the model's folder or hub name.
        revision: of the model on the hub.
        value: what the specification says: the name of a folder in the model's own, a folder, or a hub
            name with or without ``@REVISION``.

    Raises:
        UsageError: the adapter does not exist.
    """
    if _lies_inside(value):
        root = Path(model)
        if not root.is_dir():
            root = _snapshot(model, revision, tuple(f"{value}/{name}" for name in _ADAPTER_FILES))
        folder, decides = root / value, {"inside the model": value}
    else:
        place, own_revision = _adapter_name(value)
        folder = Path(place)
        if folder.is_dir():
            decides = _contents(folder)
        elif _is_folder(place):
            raise _no_adapter(value, f"there is no folder {folder}")
        else:
            folder = _snapshot(place, own_revision, _ADAPTER_FILES)
            decides = {"hub": place, "commit": folder.name}
    if not (folder / "adapter_config.json").is_file():
        raise _no_adapter(value, f"{folder} has no adapter_config.json")
    return folder, decides


def _no_adapter(value: str, why: str) -> UsageError:
    return UsageError(
        f"there is no adapter {value!r}",
        why=why,
        hint="give a name in the model's folder, a folder (with a slash: ./NAME), or OWNER/NAME@REVISION",
    )


def _snapshot(place: str, revision: str | None, patterns: tuple[str, ...]) -> Path:
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(
            place, revision=revision, allow_patterns=list(patterns), local_files_only=offline()
        )
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot find {place!r}",
            why=str(error).partition("\n")[0],
            hint="give a folder, or check the name and the network",
        ) from error
    return Path(found)


def identity(place: str, revision: str | None) -> Any:
    """Values that determine a model's weights: a folder's file contents, or name and commit on the hub."""
    if (folder := Path(place)).is_dir():
        return _contents(folder)
    from huggingface_hub import snapshot_download

    # The folder of a downloaded snapshot is named with its commit; this reads the local cache only.
    commit = Path(snapshot_download(place, revision=revision, local_files_only=True)).name
    return {"hub": place, "commit": commit}


def _contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")
    return {
        path.relative_to(folder).as_posix(): content_hash(path)
        for path in files
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read", why=str(error)) from error


def refuse_surprises(place: str, options: Mapping[str, str]) -> bool:
    """Refuse a model that would load more than its name says; returns whether it has code of its own.

    sentence-transformers imports the classes that a folder's ``modules.json`` names, without a question. An
    adapter in a model's place would load the base model that it names, whatever that is. Code named in
    ``config.json`` is needed by some models and not by others: without it, transformers loads the weights
    into its own class of that type, which may be the wrong one. So the specification must say which.

    Args:
        place: folder or hub name.
        options: ``revision`` and ``trust_remote_code`` are read.

    Raises:
        UsageError: as above, or a file cannot be read.
    """
    trusted = options.get("trust_remote_code")
    modules = _module_list(place, options.get("revision"))
    own = [kind for kind, _ in modules if not kind.startswith("sentence_transformers.")]
    if own and trusted != "yes":
        raise _own_code(place, f"its modules.json names {own[0]}", "if you trust the model:")
    inside = modules[0][1] if modules else ""
    if _file(place, f"{inside}/adapter_config.json".lstrip("/"), options.get("revision")) is not None:
        raise UsageError(
            f"{place!r} is an adapter, not a model",
            why="it has an adapter_config.json where a model's files would be",
            hint=f"name its base model: sentence-transformers:BASE?adapter={place}",
        )
    config = _file(place, f"{inside}/config.json".lstrip("/"), options.get("revision"))
    found = read_json(config) if config is not None else {}
    code = found.get("auto_map") if isinstance(found, dict) else None
    if code and trusted is None:
        raise _own_code(
            place,
            "its config.json names code, and does not say whether transformers' own class would do",
            "where its model card says that it needs the code and you trust it:",
            "; else the same with trust_remote_code=no",
        )
    return bool(own or code)


def _own_code(place: str, why: str, when: str, otherwise: str = "") -> UsageError:
    return UsageError(
        f"code of the model {place!r} would be run",
        why=why,
        hint=f"{when} sentence-transformers:{place}?trust_remote_code=yes{otherwise}",
    )


def _module_list(place: str, revision: str | None) -> list[tuple[str, str]]:
    """(class, folder) of the modules of a model that sentence-transformers saved; [] for others."""
    path = _file(place, "modules.json", revision)
    if path is None:
        return []
    try:
        return [(str(module["type"]), str(module.get("path", ""))) for module in read_json(path)]
    except (TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path} cannot be read", why=str(error)) from error


def _file(place: str, name: str, revision: str | None) -> Path | None:
    """One small file of a model, or None where the model has none."""
    if Path(place).is_dir():
        path = Path(place) / name
        return path if path.is_file() else None
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    try:
        found = hf_hub_download(place, name, revision=revision, local_files_only=offline())
    except EntryNotFoundError:  # LocalEntryNotFoundError is one
        return None
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot load the sentence-transformers model {place!r}",
            why=str(error).partition("\n")[0],
            hint="give a folder that holds the model, or check the name and the network",
        ) from error
    return Path(found)


# Adapters of a loaded model: one for documents, one for queries, switched for each call.

# Bottleneck adapters as the ``adapters`` library saves them, on BERT-type models, such as SPECTER2's.
#
# With d the output of a layer's feed-forward part, x the residual and N the layer's norm, the layer returns
# N(x + d + up(f(down(N(x + d))))) in place of N(x + d). Source: Pfeiffer et al. 2021, "AdapterFusion"
# (arXiv:2005.00247), and the library's configuration ``seq_bn``. That library requires one release line of
# transformers 4, and PEFT has no adapter of this kind; its other kinds are refused.

# What the computation above fixes. A configuration that says anything else is another computation.
_FIXED: dict[str, Any] = {
    "adapter_residual_before_ln": False,
    "cross_adapter": False,
    "inv_adapter": None,
    "is_parallel": False,
    "ln_after": False,
    "ln_before": False,
    "mh_adapter": False,
    "original_ln_after": True,
    "original_ln_before": True,
    "output_adapter": True,
    "phm_layer": False,
    "residual_before_ln": True,
    "scaling": 1.0,
    "use_gating": False,
}
# What is only for training, or is told by the shapes of the weights.
_WITHOUT_EFFECT = {
    "architecture",
    "dropout",
    "init_weights",
    "init_weights_seed",
    "inv_adapter_reduction_factor",
    "leave_out",
    "non_linearity",
    "reduction_factor",
    "stochastic_depth",
}
_OF_PHM = {"factorized_phm_W", "factorized_phm_rule", "hypercomplex_nonlinearity", "learn_phm"}
_WEIGHT = re.compile(
    r"(?:[^.]++\.)?encoder\.layer\.([0-9]++)\.output\.adapters\.[^.]++\.adapter_(down\.0|up)\.(weight|bias)"
)


def is_bottleneck(config: Any) -> bool:
    """True if an ``adapter_config.json`` was written by the ``adapters`` library."""
    return isinstance(config, dict) and "config" in config and "peft_type" not in config


def _activation(folder: Path) -> str:
    """The name of f; refuses every configuration that is not the one above."""
    config = read_json(folder / "adapter_config.json")["config"]
    if config in ("pfeiffer", "seq_bn"):
        return "relu"
    if not isinstance(config, dict):
        raise _refused(folder, f"its kind is {config!r}, not seq_bn")
    for name, value in config.items():
        wrong = name in _FIXED and value != _FIXED[name]
        unknown = name not in _FIXED and name not in _WITHOUT_EFFECT and name not in _OF_PHM
        if (wrong or unknown) and "phm" not in name.removeprefix("phm_layer"):
            raise _refused(folder, f"its configuration says {name} = {value!r}")
    if missing := {"residual_before_ln", "original_ln_before", "non_linearity"} - set(config):
        raise _refused(folder, f"its configuration has no {min(missing)}")
    return str(config["non_linearity"])


def _refused(folder: Path, why: str) -> UsageError:
    return UsageError(
        f"the adapter in {folder} cannot be used",
        why=why,
        hint="PEFT adapters that change layers (LoRA and others) work, and of the adapters library seq_bn",
    )


def _weights(folder: Path) -> dict[str, Any]:
    import torch

    try:
        if (path := folder / "adapter.safetensors").is_file():
            from safetensors.torch import load_file

            return dict(load_file(path))
        return dict(torch.load(folder / "pytorch_adapter.bin", map_location="cpu", weights_only=True))
    except Exception as error:  # damaged files raise what their readers happen to
        raise _refused(folder, f"its weights cannot be read: {str(error).partition(chr(10))[0]}") from error


class Bottleneck:
    """One adapter, in every layer that it has weights for; switched off until :meth:`on`.

    Args:
        model: a transformers model with ``encoder.layer``.
        folder: of the adapter.

    Raises:
        UsageError: it is of another kind, is damaged, or does not fit the model.
    """

    def __init__(self, model: Any, folder: Path) -> None:
        from transformers.activations import ACT2FN

        name = _activation(folder)
        if name not in ACT2FN:
            raise _refused(folder, f"its configuration says non_linearity = {name!r}")
        layers = getattr(getattr(model, "encoder", None), "layer", None)
        if layers is None or not all(hasattr(one.output, "LayerNorm") for one in layers):
            raise _refused(folder, f"the layers of a {type(model).__name__} are not those of BERT")
        parts: dict[int, dict[str, Any]] = {}
        for key, tensor in _weights(folder).items():
            found = _WEIGHT.fullmatch(key)
            if found is None:
                raise _refused(folder, f"it has weights for {key}, which seq_bn has not")
            parts.setdefault(int(found[1]), {})[f"{found[2]} {found[3]}"] = tensor.to(
                model.device, layers[0].output.dense.weight.dtype
            )
        left_out = read_json(folder / "adapter_config.json")["config"]
        left_out = left_out.get("leave_out") or [] if isinstance(left_out, dict) else []
        if set(parts) != set(range(len(layers))) - set(left_out):
            raise _refused(folder, f"it has weights for {len(parts)} layers, the model has {len(layers)}")
        self._outputs = [_wrapped(layers[number]) for number in sorted(parts)]
        self._steps = [_step(folder, parts[number], ACT2FN[name], model.config) for number in sorted(parts)]

    def on(self) -> None:
        """Switch the adapter on in the model."""
        for output, step in zip(self._outputs, self._steps, strict=True):
            output.adapter_step = step

    def off(self) -> None:
        """Switch the adapter off in the model."""
        for output in self._outputs:
            output.adapter_step = None


def _step(folder: Path, part: dict[str, Any], activation: Any, config: Any) -> Any:
    import torch

    wanted = {"down.0 weight", "down.0 bias", "up weight", "up bias"}
    width = config.hidden_size
    if set(part) != wanted:
        raise _refused(folder, f"a layer lacks {', '.join(sorted(wanted - set(part)))}")
    inner = len(part["down.0 bias"])
    if part["down.0 weight"].shape != (inner, width) or part["up weight"].shape != (width, inner):
        raise _refused(folder, f"it was made for vectors of another length than {width}")
    linear = torch.nn.functional.linear

    def step(states: Any) -> Any:
        down = linear(states, part["down.0 weight"], part["down.0 bias"])
        return linear(activation(down), part["up weight"], part["up bias"])

    return step


def _wrapped(layer: Any) -> Any:
    """The output part of a layer, whose computation takes the step that is set on it."""
    output = layer.output
    if hasattr(output, "adapter_step"):
        return output
    plain = output.forward
    output.adapter_step = None

    def forward(hidden_states: Any, input_tensor: Any) -> Any:
        if output.adapter_step is None:
            return plain(hidden_states, input_tensor)
        dense = output.dense(hidden_states)
        step = output.adapter_step(output.LayerNorm(dense + input_tensor))
        return output.LayerNorm(step + dense + input_tensor)

    output.forward = forward
    return output


class _Adapter(Protocol):
    def on(self) -> None: ...
    def off(self) -> None: ...


class _Peft:
    """A PEFT adapter in a model; adapters of a model are told apart by ``name``."""

    def __init__(self, model: Any, folder: Path, name: str) -> None:
        self._model, self._name = model, name
        try:
            import peft  # noqa: F401
        except ImportError as error:
            raise MissingExtra(
                "an adapter needs peft", why=str(error), hint='pip install "aspectra[torch]"'
            ) from error
        # It reports other adapters' weights as missing; what is missing of this one is an error below.
        log = logging.getLogger("transformers.integrations.peft")
        level = log.level
        log.setLevel(logging.ERROR)
        try:
            loaded = model.load_adapter(str(folder), adapter_name=name)
        except (OSError, ValueError, RuntimeError, KeyError, TypeError, ImportError) as error:
            raise _unusable(folder, str(error).partition("\n")[0]) from error
        finally:
            log.setLevel(level)
        for kind in ("missing", "unexpected", "mismatched"):
            keys = sorted(map(str, getattr(loaded, f"{kind}_keys", None) or ()))
            # What other adapters of the model have is missing from this one too.
            if keys := [key for key in keys if kind != "missing" or f".{name}." in key]:
                raise _unusable(folder, f"its weights do not fit the model: {kind} {keys[0]}")

    def on(self) -> None:
        self._model.enable_adapters()
        self._model.set_adapter(self._name)

    def off(self) -> None:
        self._model.disable_adapters()


def _unusable(folder: Path, why: str) -> UsageError:
    return UsageError(
        f"the adapter in {folder} cannot be used",
        why=why,
        hint="it must be made for this model, and change its layers: prompt tuning and prefixes do not",
    )


class Adapters:
    """The adapters that a specification names, and which of them is switched on.

    ``adapter`` serves documents, and queries too unless ``query_adapter`` is given. Where one of the two is
    empty or only the second is given, texts of the other kind are encoded without an adapter.

    Args:
        model: a loaded sentence-transformers model.
        place: its folder or hub name.
        options: ``adapter``, ``query_adapter`` and ``revision`` are read.

    Attributes:
        identity: what decides the vectors, for a fingerprint; None without adapters.

    Raises:
        MissingExtra: peft is not installed.
        UsageError: an adapter does not exist, or does not fit the model.
    """

    def __init__(self, model: Any, place: str, options: Mapping[str, str]) -> None:
        names = {"document": options.get("adapter", "")}
        names["query"] = options.get("query_adapter", names["document"])
        loaded: dict[str, _Adapter | None] = {"": None}
        decides: dict[str, Any] = {"": None}
        for value in names.values():
            if value not in loaded:
                folder, decides[value] = adapter_folder(place, options.get("revision"), value)
                loaded[value] = _load(model, folder, f"adapter{len(loaded)}")
        self.identity = {kind: decides[value] for kind, value in names.items()} if len(loaded) > 1 else None
        self._of = {kind: loaded[value] for kind, value in names.items()}
        self._active: _Adapter | None = None
        for adapter in loaded.values():
            if adapter is not None:
                adapter.off()

    def use(self, kind: Kind) -> None:
        """Switch the model to the adapter of this kind. Only one thread at a time may do so."""
        wanted = self._of[kind]
        if wanted is not self._active:
            if self._active is not None:
                self._active.off()
            if wanted is not None:
                wanted.on()
            self._active = wanted


def _load(model: Any, folder: Path, name: str) -> _Adapter:
    config = read_json(folder / "adapter_config.json")
    if is_bottleneck(config):
        return Bottleneck(model[0].auto_model, folder)
    if not isinstance(config, dict) or "peft_type" not in config:
        raise _unusable(folder, "its adapter_config.json is of no kind that is known here")
    return _Peft(model, folder, name)
