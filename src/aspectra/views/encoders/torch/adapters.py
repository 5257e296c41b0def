"""Adapters of a loaded model: one for documents, one for queries, switched for each call."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.views.encoders.protocol import Kind
from aspectra.views.encoders.torch.loading import adapter_folder, read_json

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
    """Whether an ``adapter_config.json`` is one of the ``adapters`` library."""
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
        """From now on the model computes with this adapter."""
        for output, step in zip(self._outputs, self._steps, strict=True):
            output.adapter_step = step

    def off(self) -> None:
        """From now on the model computes without it."""
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
        UsageError: there is no such adapter, or it does not fit the model.
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
        """From now on the model encodes with the adapter of this kind. One thread at a time may do so."""
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
