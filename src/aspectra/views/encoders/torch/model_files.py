"""Files of models and adapters, in a folder or on a hub: where they lie, what permits them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError
from aspectra.base.trust import Permission
from aspectra.llm.client.endpoint import offline
from aspectra.views.encoders.query_encoder import content_hash

# A hub's repository may hold much else: other formats of the weights, other adapters.
_ADAPTER_FILES = ("adapter_config.json", "adapter_model.*", "adapter.safetensors", "pytorch_adapter.bin")
_ADAPTERS = ("adapter", "query_adapter")


def model_permissions(place: str, options: Mapping[str, str]) -> list[Permission]:
    """What loading a model needs: the model, its adapters, and its own code where an option has it run.

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
    """Whether a name is that of a folder in the model's own folder; anything else has a slash."""
    return not (set("/\\:") & set(adapter) or adapter.startswith(("~", ".")))


def _adapter_name(value: str) -> tuple[str, str | None]:
    """Place and revision of an adapter outside its model's folder: ``FOLDER`` or ``OWNER/NAME@REVISION``."""
    if _is_folder(value):
        return os.path.expanduser(value), None
    name, _, revision = value.partition("@")
    return name, revision or None


def adapter_folder(model: str, revision: str | None, value: str) -> tuple[Path, Any]:
    """Where the files of an adapter lie, and what decides its weights.

    Args:
        model: the model's folder or hub name.
        revision: of the model on the hub.
        value: what the specification says: the name of a folder in the model's own, a folder, or a hub
            name with or without ``@REVISION``.

    Raises:
        UsageError: there is no such adapter.
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
    """What decides a model's weights: the files' contents for a folder, name and commit for the hub."""
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
