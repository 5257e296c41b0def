"""Shards of a collection in processes of their own, on one machine or several; they answer as one library.

The caller plans, grades conditions and shows hits: it reads the whole collection, whose folder all machines
share. Each shard's own process scores its papers and keeps their scores; what travels are probes that were
looked up, columns of grades, and the best papers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aspectra.base.files import state_file

CLUSTERS = "clusters.json"  # of the user's state


def clusters() -> dict[str, Any]:
    """Folder of a collection -> the cluster that this user started for it.

    It is the user's own state: to a cluster that a folder from elsewhere names nobody is connected, since its
    messages could run any code here.
    """
    try:
        held = json.loads(state_file(CLUSTERS).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


def is_started(folder: Path) -> bool:
    """True if a cluster was started for the collection in a folder."""
    return str(folder.resolve()) in clusters()
