"""What planners may know of an index: its views, its seed papers, and its vectors of what papers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import numpy as np

from aspectra.search.instructions.recognisers.names import library_venues
from aspectra.search.plan import Plan
from aspectra.search.planning.aspects import Aspect, own_aspects
from aspectra.search.planning.hints import hints_of
from aspectra.search.planning.planners.protocol import ViewNames
from aspectra.search.planning.wordings import wordings_of
from aspectra.views.dense.reverse import mean_query
from aspectra.views.index.opened import Index
from aspectra.views.protocol import TERMS, ViewFacts, lens_base
from aspectra.views.terms.values import ASPECTS, Offer, offers_of
from aspectra.views.terms.view import TermView
from aspectra.views.text.weighing import Given
from aspectra.views.view import ROLE_GROUPS, Floats, Probe


class IndexSeeds:
    """Terms and sentences of seeds, see :class:`~aspectra.search.planning.planners.protocol.Seeds`.

    Args:
        index: that holds the seeds.
        given: of the views, see :meth:`~aspectra.views.index.opened.Index.look_up`.
    """

    def __init__(self, index: Index, given: Given | None = None) -> None:
        self._index, self._given = index, given or {}

    def offers(self, seed: str) -> Mapping[str, Offer]:
        """Aspect -> the terms that a seed names in it; {} where none are stored."""
        name = ViewFacts.words_of(TERMS).name
        if name not in self._index.manifest["views"]:
            return {}
        view = cast("TermView", self._index.view(name))
        terms = view.terms_of(seed)
        rarity = partial(view.rarity_of, given=self._given.get(name))
        return {} if terms is None else offers_of(terms, view.stems, rarity)

    def sentences(self, seed: str, roles: tuple[str, ...]) -> tuple[int, ...]:
        """Numbers of a seed's sentences with one of these roles, from 1; of all without roles."""
        rows = self._index.units("sentences").sentence_rows(self._index.position(seed))
        if not roles:
            return tuple(range(1, len(rows) + 1))
        return tuple(int(n) + 1 for n in np.flatnonzero(self._index.role_weights(roles)[rows]))

    def written(self, seed: str, lens: str) -> str | None:
        """The text that a lens wrote about a seed, "" for nothing to write, None where none is indexed."""
        facts = self._index.manifest["views"].get(ViewFacts.words_of(lens_base(lens)).name, {})
        if "values" not in facts:
            return None
        from aspectra.views.prompted.store import reading_of  # few libraries have such lenses

        found = reading_of(self._index.library, lens, facts["values"], seed)
        return None if found is None else str(found.value or "")

    def roles(self, seed: str) -> list[str]:
        """The role of each of a seed's sentences, "" where none is known; [] where the index has no roles.

        A sentence counts for the likeliest group of roles, and is called by the likeliest role in it.
        """
        if "roles" not in self._index.lens_names:
            return []
        rows = self._index.units("sentences").sentence_rows(self._index.position(seed))
        lens = self._index.lens("roles")
        out = [""] * len(rows)
        for group in ROLE_GROUPS:
            table = np.stack([lens.column(role)[rows] for role in group])
            for number in np.flatnonzero(self._index.role_weights(group)[rows]):
                out[number] = group[int(table[:, number].argmax())]
        return out


def term_warnings(index: Index, plan: Plan) -> list[str]:
    """That aspects are compared by sentences alone, since the papers' terms were not kept; one sentence."""
    aspects = [p.aspect for search in plan.searches for p in search.probes if p.aspect in ASPECTS]
    lacking = index.manifest.get("lacking_terms", {})
    if not aspects or not lacking or ViewFacts.words_of(TERMS).name in index.manifest["views"]:
        return []
    number = max(lacking.values())
    return [
        f"aspects are compared by sentences alone: {number:,} papers have no terms of aspects "
        "(aspectra index --terms encodes them again)"
    ]


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
