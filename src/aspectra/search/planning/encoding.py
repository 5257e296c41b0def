"""What encoders get of a query: its instruction, and seeds as queries instead of their stored vectors."""

from __future__ import annotations

from aspectra.base.values import replace
from aspectra.search.plan import Search
from aspectra.search.planning.planners.protocol import ViewNames
from aspectra.search.query import Unread
from aspectra.views.encoders.prompts import Prompts
from aspectra.views.protocol import ViewFacts
from aspectra.views.view import Probe, SeedsAs


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
