"""Aspectra: literature search that follows instructions, and a lab that measures it.

>>> import aspectra
>>> with aspectra.open("my.lib") as library:  # doctest: +SKIP
...     library.search("ways to rerank with language models", since=2020)
"""

from __future__ import annotations

from aspectra.base.display import display_with
from aspectra.base.version import __version__

TYPE_CHECKING = False  # importing typing would take longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from aspectra.app.library import Library
    from aspectra.app.library import create_library as create
    from aspectra.app.library import open_library as open  # noqa: A004
    from aspectra.app.settings import Aspect, Direction, Preferences, Relation
    from aspectra.app.surfaces import notebook
    from aspectra.app.upkeep.checkup import restore_library as restore
    from aspectra.base.errors import AspectraError
    from aspectra.papers.paper import Paper
    from aspectra.search.conditions.condition import Condition, limits
    from aspectra.search.plan import Plan
    from aspectra.search.query import Query
    from aspectra.search.ranking import Ranking
    from aspectra.search.searcher import Searcher

__all__ = [
    "Aspect",
    "AspectraError",
    "Condition",
    "Direction",
    "Library",
    "Paper",
    "Plan",
    "Preferences",
    "Query",
    "Ranking",
    "Relation",
    "Searcher",
    "__version__",
    "create",
    "limits",
    "notebook",
    "open",
    "restore",
]

_MODULES = {
    "aspectra.app.library": ("Library",),
    "aspectra.app.settings": ("Aspect", "Direction", "Preferences", "Relation"),
    "aspectra.base.errors": ("AspectraError",),
    "aspectra.papers.paper": ("Paper",),
    "aspectra.search.conditions.condition": ("Condition", "limits"),
    "aspectra.search.plan": ("Plan",),
    "aspectra.search.query": ("Query",),
    "aspectra.search.ranking": ("Ranking",),
    "aspectra.search.searcher": ("Searcher",),
}
_WHERE = {name: (module, name) for module, names in _MODULES.items() for name in names} | {
    "create": ("aspectra.app.library", "create_library"),
    "open": ("aspectra.app.library", "open_library"),
    "restore": ("aspectra.app.upkeep.checkup", "restore_library"),
}


def __getattr__(name: str) -> Any:
    # Nothing heavy is imported before it is used: `import aspectra` takes milliseconds.
    import importlib

    if name == "notebook":
        return importlib.import_module("aspectra.app.surfaces.notebook")
    if name not in _WHERE:
        raise AttributeError(f"module 'aspectra' has no attribute {name!r}")
    module, own = _WHERE[name]
    return getattr(importlib.import_module(module), own)


def _draw(value: object) -> dict[str, Any]:
    from aspectra.app.surfaces.notebook.forms import forms_of

    return forms_of(value)


display_with(_draw)
