"""Facts about an index for planners, and the settling of a plan before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from aspectra.base.errors import AspectraError, ViewMismatch
from aspectra.base.values import replace
from aspectra.search.conditions.condition import Condition
from aspectra.search.instructions.recognisers.names import library_venues
from aspectra.search.plan import Plan, Search
from aspectra.search.planning.aspects import Aspect, own_aspects
from aspectra.search.planning.heads import hints_of, wordings_of
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames
from aspectra.search.query import Unread
from aspectra.views.dense.reverse import mean_query
from aspectra.views.encoders.protocol import Prompts
from aspectra.views.index.opened import Index
from aspectra.views.protocol import TERMS, ViewFacts, lens_base
from aspectra.views.terms.view import ASPECTS, Offer, TermView, offers_of
from aspectra.views.view import ROLE_GROUPS, Floats, Probe, SeedsAs


class IndexSeeds:
    """Terms and sentences of seeds, see :class:`~aspectra.search.planning.planners.protocol.Seeds`.

    Args:
        index: that holds the seeds.
    """

    def __init__(self, index: Index) -> None:
        self._index = index

    def offers(self, seed: str) -> Mapping[str, Offer]:
        """Aspect -> the terms that a seed names in it; {} where none are stored."""
        name = ViewFacts.words_of(TERMS).name
        if name not in self._index.manifest["views"]:
            return {}
        view = cast("TermView", self._index.view(name))
        terms = view.terms_of(seed)
        return {} if terms is None else offers_of(terms, view.stems, view.rarity_of)

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
        from aspectra.views.prompted.definition import reading_of  # few libraries have such lenses

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
    """Warning that aspects are compared by sentences alone, as the papers' terms were not kept."""
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
    """The views of an index, with its facts about seeds and venues."""
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


# What is settled of a plan before it runs: permitted encoders, what they are told, years that may decide.


def with_permitted(make: Callable[[ViewNames], Plan], views: ViewNames, index: Index) -> Plan:
    """The plan on all views, or on those whose encoder is permitted where it encodes a text with another.

    Vectors of seeds are stored: comparing them needs no encoder and no permission. A seed that would be
    encoded as a query has its stored vector where the encoder is not permitted.

    Args:
        make: binds a recipe to views.
        views: of the index.
        index: of a library that may be somebody else's.

    Raises:
        NotTrusted: the recipe needs vectors, and no encoder of the index is permitted.
        As ``make``.
    """
    plan = make(views)
    refused = _refused(plan, index)
    if any(_encoder(index, name) in refused for name in views.prompts):
        kept = {name: p for name, p in views.prompts.items() if _encoder(index, name) not in refused}
        views = replace(views, prompts=kept)
        plan = make(views)
        refused = _refused(plan, index)
    if not refused:
        return plan
    names = tuple(name for name in views.names if _encoder(index, name) not in refused)
    facts = [index.facts(name) for name in names if name.startswith("abstract@")]
    others = {str(one.stored["encoder"]): one.scorer for one in facts if "encoder" in one.stored}
    order = [str(spec) for spec in index.manifest["settings"]["encoders"] if spec in others]
    try:
        return make(replace(views, names=names, encoder=others[order[0]] if order else ""))
    except ViewMismatch:
        raise next(iter(refused.values())) from None


def permission_warnings(index: Index, plan: Plan) -> list[str]:
    """Warning that the default encoder's vectors are not searched, although a planner would have, and why."""
    default = index.default_encoder()
    spec = _encoder(index, f"abstract@{default}") if default else ""
    for search in plan.searches:
        known = search.planner in PLANNERS and PLANNERS.get(search.planner).vectors == "used"
        if known and not any(_encoder(index, probe.view) == spec for probe in search.probes):
            if (why := index.refusal(spec)) is None:
                return []
            told = "; ".join(filter(None, (why.what, why.hint)))
            return [f"the vectors of {default} are not searched: {told}"]
    return []


def _refused(plan: Plan, index: Index) -> dict[str, AspectraError]:
    """Specification -> why it is not loaded, of the encoders with which a plan encodes a text."""
    probes = [probe for search in plan.searches for probe in search.probes]
    encoding = [probe.view for probe in probes if probe.text.strip() or probe.focus or probe.seeds_as]
    specs = dict.fromkeys(_encoder(index, view) for view in encoding)
    return {spec: why for spec in specs if (why := index.refusal(spec)) is not None}


def _encoder(index: Index, view: str) -> str:
    return str(index.facts(view).stored.get("encoder", ""))


_GRACE = 1  # years: a preprint and its journal version are often dated apart
_TIMED = ("builds-on", "built-on-by")


def in_publication_order(plan: Plan, index: Index) -> Plan:
    """The plan with the years that the directions of its searches leave.

    ``builds-on`` leaves out what is more than a year younger than the youngest seed, and ranks what is a year
    younger after the rest; ``built-on-by`` does the same with what is older than the oldest seed. Papers of
    unknown year come last. Nothing changes for other directions, where a seed's year is unknown, and for
    searches with ``any-year``.
    """
    steps: list[Search | str] = []
    conditions: list[Condition] = []
    for step in plan.steps:
        years = _seed_years(step, index) if isinstance(step, Search) else []
        if not isinstance(step, Search) or not years or not all(years):
            steps.append(step)
            continue
        if step.direction == "builds-on":
            kept, left_out = f"<={max(years):04d}", f">={max(years) + _GRACE + 1:04d}"
        else:
            kept, left_out = f">={min(years):04d}", f"<={max(min(years) - _GRACE - 1, 0):04d}"
        steps.append(replace(step, years=kept))
        conditions.append(Condition("year", left_out, "exclude", f"direction {step.direction}"))
    if not conditions:
        return plan
    return replace(plan, steps=tuple(steps), conditions=(*plan.conditions, *conditions))


def year_warnings(plan: Plan, index: Index, ids: Sequence[str]) -> list[str]:
    """Warnings about unknown years in a search with a direction: of its seeds, and of papers that are shown.

    Args:
        plan: that was run.
        index: the generation searched.
        ids: of the papers that are shown.
    """
    out = []
    for search in plan.searches:
        unknown = [i for i, year in zip(search.seeds, _seed_years(search, index), strict=False) if not year]
        if unknown:
            out.append(f"the year of {', '.join(unknown)} is unknown: papers of every year are ranked")
    if any(search.years not in ("", "any") for search in plan.searches):
        years = [index.years[index.positions[i]] for i in ids if i in index.positions]
        if undated := sum(not year for year in years):
            out.append(f"{undated} of the papers shown come last: their year is unknown")
    return out


def _seed_years(search: Search, index: Index) -> list[int]:
    """The year of each seed, 0 where it is unknown; [] for a search whose direction leaves every year."""
    if search.direction not in _TIMED or search.years == "any":
        return []
    return [int(index.years[index.position(seed)]) for seed in search.seeds]


def for_encoders(
    search: Search, views: ViewNames, instruction: str, *, joined: bool
) -> tuple[Search, tuple[Unread, ...]]:
    """The search as its encoders get it; and the instruction with the reason, where none of them uses it.

    A seed keeps its stored vector where its encoder reads a query as it reads a document.

    Args:
        search: that a planner made.
        views: with the prompts of their encoders.
        instruction: for encoders; "" for none.
        joined: whether a probe's text is put behind that of each of its seeds, before both are encoded.
    """
    probes, used, stored, encoders = [], False, False, dict[str, None]()
    for probe in search.probes:
        name = probe.asking or probe.view
        facts = ViewFacts.of(name)
        if facts.beside("abstract") not in views.prompts or probe.reverse:
            probes.append(probe)
            continue
        encoders[facts.scorer] = None
        as_query = _seeds_as(probe, views.prompts.get(name), instruction, joined)
        prompts = views.prompts[facts.beside("abstract")]
        takes = prompts.of("query", instruction) != prompts.of("query", "")
        told = instruction if (probe.text.strip() or as_query) and (takes or not any(prompts.key)) else ""
        used, stored = used or (takes and bool(told)), stored or (bool(probe.seeds) and not as_query)
        probes.append(replace(probe, seeds_as=as_query, instruction=told))
    if not instruction or used:
        return replace(search, probes=tuple(probes)), ()
    why = f"{' and '.join(encoders)} does not read it{'; stored vectors are used' if stored else ''}"
    unread = Unread(instruction, why if encoders else "no encoder reads the query")
    return replace(search, probes=tuple(probes)), (unread,)


def _seeds_as(probe: Probe, prompts: Prompts | None, instruction: str, joined: bool) -> SeedsAs:
    if not probe.seeds or probe.matching or prompts is None:
        return ""
    if joined and probe.text.strip():
        return "query+text"
    return "query" if prompts.tells_queries(instruction) else ""
