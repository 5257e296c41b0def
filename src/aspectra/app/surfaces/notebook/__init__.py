"""Notebooks: what rankings, plans, papers and libraries look like there, parts of scores, progress.

Values show themselves; these names are for the rest. Importing the package loads nothing; each name is loaded
when it is first used.

>>> from aspectra import notebook
>>> ranking = library.search("owls at night", limit=1)
>>> [(row[1], row[2]) for row in notebook.score_parts(ranking).rows]
[('owl', 'abstract@bm25')]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aspectra.app.surfaces.notebook.forms import OpenedPaper, Progress, open_paper, score_parts

__all__ = ["OpenedPaper", "Progress", "open_paper", "score_parts"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.forms"), name)
