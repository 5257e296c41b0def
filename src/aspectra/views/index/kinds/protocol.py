"""The kinds of views.

To add one, write one module in ``views/index/kinds`` with a function ``(generation, facts, other) ->
view`` decorated by ``@VIEW_KINDS.register(name)``; ``name`` is the ``kind`` of such views in a manifest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from aspectra.base.registry import Registry
from aspectra.views.index.generation import Generation
from aspectra.views.protocol import VectorView, View, ViewFacts

Other = Callable[[str], VectorView]


class ViewKind(Protocol):
    """Opens a view of one kind: of a generation; ``other`` gives another view of vectors by its name."""

    def __call__(self, generation: Generation, facts: ViewFacts, other: Other, /) -> View: ...


VIEW_KINDS: Registry[ViewKind] = Registry("view kind", __package__)
