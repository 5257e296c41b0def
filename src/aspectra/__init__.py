"""Aspectra: literature search that does what it is told, and the lab that proves it.

>>> import aspectra
>>> library = aspectra.open("my.lib")                      # doctest: +SKIP
>>> library.search("ways to rerank with language models")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aspectra.base.version import __version__

if TYPE_CHECKING:
    from aspectra.base.errors import AspectraError
    from aspectra.papers.library.store import Store as Library
    from aspectra.papers.paper import Paper
    from aspectra.search.conditions.condition import Condition, limits
    from aspectra.search.plan import Plan
    from aspectra.search.query import Query
    from aspectra.search.ranking import Ranking
    from aspectra.search.searcher import Searcher
    from aspectra.search.searcher import open_library as open  # noqa: A004

__all__ = [
    "AspectraError",
    "Condition",
    "Library",
    "Paper",
    "Plan",
    "Query",
    "Ranking",
    "Searcher",
    "__version__",
    "limits",
    "open",
]

_WHERE = {
    "AspectraError": "aspectra.base.errors",
    "Condition": "aspectra.search.conditions.condition",
    "Library": "aspectra.papers.library.store",
    "Paper": "aspectra.papers.paper",
    "Plan": "aspectra.search.plan",
    "Query": "aspectra.search.query",
    "Ranking": "aspectra.search.ranking",
    "Searcher": "aspectra.search.searcher",
    "limits": "aspectra.search.conditions.condition",
    "open": "aspectra.search.searcher",
}


def __getattr__(name: str) -> Any:
    # Nothing heavy is imported before it is used: `import aspectra` takes milliseconds.
    if name not in _WHERE:
        raise AttributeError(f"module 'aspectra' has no attribute {name!r}")
    import importlib

    module = importlib.import_module(_WHERE[name])
    return getattr(module, {"open": "open_library", "Library": "Store"}.get(name, name))
