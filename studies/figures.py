"""What the figures of studies share: the same file from the same numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

try:
    import matplotlib as mpl
except ImportError:
    sys.exit("figures need matplotlib. Next: pip install 'aspectra[plot]'")

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "aspectra"
from matplotlib import pyplot as plt  # noqa: E402 (after the backend was chosen)

__all__ = ["number", "plt", "save", "table"]


def table(title: str) -> list[dict[str, Any]]:
    """Rows of a table of the file ``tables.json`` that the command line names first."""
    made = json.loads(Path(sys.argv[1]).read_text("utf-8"))["tables"]
    return next(one["rows"] for one in made if one["title"] == title)


def number(cell: Any) -> float:
    """The number of a cell."""
    return float(cell["value"] if isinstance(cell, dict) else cell)


def save(figure: plt.Figure, name: str) -> None:
    """Write a figure into the folder that the command line names second."""
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / name, metadata={"Date": None})
    plt.close(figure)
