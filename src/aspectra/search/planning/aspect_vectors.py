"""One vector a paper: what it says of an aspect."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.search.planning.aspects import Aspect
from aspectra.search.planning.index_views import index_views
from aspectra.views.dense.centroid import mean_query
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Probe


def aspect_vectors(index: Index, ids: Sequence[str], aspect: str) -> Floats:
    """See :meth:`aspectra.search.searcher.Searcher.aspect_vectors`."""
    views = index_views(index)
    if aspect:
        read, view = Aspect.parse(aspect, views.own), views.dense("sentences")
        probes = [
            Probe(view, seeds=(one,), roles=read.roles, focus=read.focus, matching="centroid") for one in ids
        ]
    else:
        probes = [Probe(views.dense("abstract"), seeds=(one,)) for one in ids]
    means = [mean_query(asked.vectors, asked.weights) for asked in index.look_up(probes)]
    return np.stack(means) if means else np.zeros((0, 0), np.float32)
