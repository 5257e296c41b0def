"""Chain-of-Retrieval over PRISM's lists: papers found for an aspect ask again."""

from __future__ import annotations

from dataclasses import replace

from aspectra.search.plan import Fusion, Plan
from aspectra.search.planning.defaults import CHAIN
from aspectra.search.planning.planners.prism import prism_probes
from aspectra.search.planning.planners.protocol import PLANNERS, ViewNames, bind
from aspectra.search.query import Query

__all__ = ["chain"]


@PLANNERS.register("chain")
def chain(query: Query, views: ViewNames) -> Plan:
    """Three rounds by default; the plan's ``chain`` can be edited."""
    plan = bind("chain", query, prism_probes(query, views, "chain"), Fusion(kind="rrf"))
    return replace(plan, chain=CHAIN)
