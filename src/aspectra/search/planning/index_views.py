"""What planners may search of an index, and its vectors of what papers say of an aspect."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.search.instructions.recognisers.names import library_venues
from aspectra.search.planning.aspects import Aspect, own_aspects
from aspectra.search.planning.hints import hints_of
from aspectra.search.planning.planners.protocol import ViewNames
from aspectra.search.planning.seeds import IndexSeeds
from aspectra.search.planning.wordings import wordings_of
from aspectra.views.dense.centroid import mean_query
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Probe


def index_views(index: Index) -> ViewNames:
    """The views of an index, with what it knows of seeds and venues."""
    readings = {
        facts["lens"]: tuple(facts["cues"]) for facts in index.manifest["views"].values() if "cues" in facts
    }
    prompts = {name: index.facts(name).seed_prompts for name in index.view_names}
    return ViewNames(
        tuple(index.view_names),
        index.default_encoder(),
        tuple(index.lens_names),
        readings,
        IndexSeeds(index),
        library_venues(tuple(index.coded("venues")[1])),
        {name: found for name, found in prompts.items() if found is not None},
        wordings_of(index),
        hints_of(index),
        own_aspects(index.library),
    )


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
