"""What is said where a model's folder cannot be run without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError


class NeedsTorch(UsageError):
    """A model that is whole, and that this package does not run."""


def needs_torch(folder: Path, why: str) -> NeedsTorch:
    """The error for such a model, with the way that remains."""
    return NeedsTorch(
        f"the model in {folder} cannot be run without torch",
        why=why,
        hint=f'load it as sentence-transformers:{folder} (pip install "aspectra[torch]")',
    )


def read_config(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is no such file.

    Raises:
        UsageError: the file is no JSON object.
        OSError: the file cannot be read.
    """
    config = _read(path, dict) if path.is_file() else {}
    return dict(config)


def read_list(path: Path) -> list[Any]:
    """The list in a JSON file; otherwise as :func:`read_config`."""
    return list(_read(path, list))


def _read(path: Path, kind: type[dict[str, Any]] | type[list[Any]]) -> Any:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"cannot read {path}", why=str(error), hint="download the model again") from error
    if not isinstance(config, kind):
        why = f"it holds no {'object' if kind is dict else 'list'}"
        raise UsageError(f"cannot read {path}", why=why, hint="download the model again")
    return config
