"""Adapters of a loaded model: one for documents, one for queries, switched for each call."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from aspectra.base.errors import MissingExtra, UsageError
from aspectra.views.encoders.protocol import Kind
from aspectra.views.encoders.torch.bottleneck import Bottleneck, is_bottleneck
from aspectra.views.encoders.torch.model_files import adapter_folder, read_json


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
