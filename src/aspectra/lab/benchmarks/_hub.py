"""Fetching a benchmark from a data hub, at a pinned revision (extra ``hub``)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, MissingExtra
from aspectra.lab.benchmarks.protocol import HubSet


def fetch(sets: Sequence[HubSet], folder: Path) -> Path:
    """Download data sets into ``folder``, from which a loader reads them; returns ``folder``.

    Raises:
        MissingExtra: the hub's client is not installed.
        BadInput: there is no network, or the hub refuses.
    """
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtra(
            "fetching from the hub needs huggingface_hub",
            hint="pip install aspectra[hub], or download the files and name their folder",
        ) from error
    for one in sets:
        try:
            hub.snapshot_download(
                repo_id=one.repo,
                repo_type="dataset",
                revision=one.revision or None,
                local_dir=str(folder / one.folder),
                allow_patterns=list(one.only) or None,
            )
        except Exception as error:  # the client raises errors of its own, of the network's and of others
            raise BadInput(
                f"cannot fetch {one.repo} from the hub",
                why=f"{type(error).__name__}: {error}".splitlines()[0][:300],
                hint="check the network, or download the files elsewhere and name their folder",
            ) from error
    return folder
