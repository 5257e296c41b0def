"""What planners may search of an index."""

from __future__ import annotations

from aspectra.search.instructions.recognisers.names import library_venues
from aspectra.search.planning.aspects import own_aspects
from aspectra.search.planning.hints import hints_of
from aspectra.search.planning.planners.protocol import ViewNames
from aspectra.search.planning.seeds import IndexSeeds
from aspectra.search.planning.wordings import wordings_of
from aspectra.views.index.opened import Index


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
