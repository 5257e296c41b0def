"""Conditions on the rank of a venue: ``top``, ``a*``, ``q1``, ``impact factor > 5``.

Ranks are no facts of records. They come from the user's own lists (``venue_ranks`` of the settings): a rank,
and its venues. Without a list for the rank the condition is not applied. In a plan the list follows the
rank: ``top: NeurIPS | ICML``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import check_class
from aspectra.search.conditions.attributes.record.venue import venue_grades
from aspectra.search.conditions.lists import UserLists, joined
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_RANKS = ("top", "a*", "a", "b", "c", "q1", "q2", "q3", "q4")
_FACTOR = re.compile(r"impact factor\s*+(?:>=|<=|>|<)\s*+\d{1,4}+(?:\.\d{1,3}+)?+", re.IGNORECASE)


def _parts(value: str) -> tuple[str, str]:
    """The rank in lower case, and its venues where they follow it."""
    rank, _, venues = value.partition(":")
    return " ".join(rank.casefold().split()), venues.strip()


class VenueRankAttribute(Attribute):
    """See the module."""

    name = "venue_rank"
    noun = "venue"

    def check(self, value: str) -> None:
        """Refuse what is neither a rank nor a bound of the impact factor.

        Raises:
            UsageError: with the values there are.
        """
        rank = _parts(value)[0]
        if not _FACTOR.fullmatch(rank):
            check_class(rank, "rank of venues", _RANKS, {})

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """The rank with the venues that the user listed for it."""
        rank, venues = _parts(value)
        listed = {_parts(name)[0]: names for name, names in lists.venue_ranks.items()}
        return f"{rank}: {joined(listed[rank])}" if not venues and listed.get(rank) else value

    def missing(self, value: str, index: Index) -> str:
        """That there is no list for the rank, or no venue is known."""
        rank, venues = _parts(value)
        if venues:
            return "no paper of this library states its venue"
        return f"no list says which venues are {rank}: name them in the settings, under venue_ranks"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) of being in a listed venue, NaN where the venue is unknown or none is listed."""
        venues = _parts(value)[1]
        return venue_grades(venues, index, papers) if venues else np.full(len(papers), np.nan, np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """Where it appeared."""
        return f"in {paper.venue}; ranks as listed by you" if paper.venue else ""


ATTRIBUTES.register("venue_rank")(VenueRankAttribute())
