"""Plans that encode texts only with encoders that the user permits; other libraries are searched by words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aspectra.base.errors import AspectraError, ViewMismatch
from aspectra.search.plan import Plan
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames
from aspectra.views.index.opened import Index


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
    """That the default encoder's vectors are not searched, although a planner would have, and why."""
    default = index.default_encoder()
    spec = _encoder(index, f"abstract@{default}") if default else ""
    for search in plan.searches:
        known = search.planner in PLANNERS and PLANNERS.get(search.planner).vectors == "used"
        if known and not any(_encoder(index, probe.view) == spec for probe in search.probes):
            why = index.refusal(spec)
            return [] if why is None else [f"the vectors of {default} are not searched: {_sentence(why)}"]
    return []


def _refused(plan: Plan, index: Index) -> dict[str, AspectraError]:
    """Specification -> why it is not loaded, of the encoders with which a plan encodes a text."""
    probes = [probe for search in plan.searches for probe in search.probes]
    encoding = [probe.view for probe in probes if probe.text.strip() or probe.focus or probe.seeds_as]
    specs = dict.fromkeys(_encoder(index, view) for view in encoding)
    return {spec: why for spec in specs if (why := index.refusal(spec)) is not None}


def _encoder(index: Index, view: str) -> str:
    return str(index.facts(view).stored.get("encoder", ""))


def _sentence(error: AspectraError) -> str:
    return "; ".join(part for part in (error.what, error.hint) if part)
