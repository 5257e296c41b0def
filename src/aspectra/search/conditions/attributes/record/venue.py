"""Conditions on where a paper appeared: ``Nature``, ``NeurIPS``, or a pattern (``*Vision*``).

Case, accents, years, ordinals and words around a name (*Proceedings of the 12th* ...) make no difference.
*Nature* is not *Nature Communications*, but an acronym is found in longer names (*12th ACM SIGIR Conference
on* ...), unless these are another series of the same people (*Findings of ACL*). An acronym also means the
name it is taken from (*Neural Information Processing Systems*), with grade 0.8, since two names can have one
acronym. Meetings that changed their name go by either (*NIPS* is *NeurIPS*).

``ACL | EMNLP`` is either of them. A name in the user's own lists (``venue_groups`` of the settings) means
the venues listed there.

``venue_rank`` is the rank of a venue: ``top``, ``a*``, ``q1``, ``impact factor > 5``. Ranks are not facts of
records. They come from the user's own lists (``venue_ranks`` of the settings): a rank, and its venues.
Without a list for the rank the condition is not applied. In a plan the list follows the rank: ``top: NeurIPS
| ICML``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

import numpy as np

from aspectra.base.expressions import expression
from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute, table_of_words
from aspectra.search.conditions.attributes.record.facts import NamedAttribute, check_class, phrases
from aspectra.search.conditions.lists import UserLists, joined, names_in
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_INITIALS = 0.8
_LONGEST = 160  # characters of a reason
_WORDS = table_of_words("venue_names")
_SMALL = frozenset(_WORDS["small"].split())
# What stands around the name of a meeting or volume.
_AROUND = _SMALL.union(_WORDS["around"].split())
# Another series than the one whose acronym it goes with.
_OTHER_SERIES = frozenset(_WORDS["other_series"].split())
_RENAMED = {name: phrases(names) for names in _WORDS["renamed"] for name in phrases(names)}
_NUMBER = expression(r"\d+(?:st|nd|rd|th)?|[ivx]+")
_ACRONYM = expression(r"[A-Z][a-z]*+[A-Z][A-Za-z]*+")


def _core(words: list[str], around: frozenset[str]) -> list[str]:
    """Words without those around the name on either side."""
    own = [n for n, word in enumerate(words) if word not in around and not _NUMBER.fullmatch(word)]
    return words[own[0] : own[-1] + 1] if own else []


def _spells(acronym: str, words: list[str]) -> bool:
    """True if the acronym consists of the beginnings of all the words, in order."""
    if not words:
        return not acronym
    sizes = [n for n in range(1, min(len(acronym), 4) + 1) if words[0].startswith(acronym[:n])]
    return any(_spells(acronym[n:], words[1:]) for n in sizes)


def venue_grade(value: str, venue: str) -> float:
    """Grade of a stored venue as the one that is meant: 1, 0.8 (by its initials), 0, or NaN if unknown.

    >>> [venue_grade("ACL", venue) for venue in ("Proc. of ACL 2020", "NAACL", "Findings of ACL")]
    [1.0, 0.0, 0.0]
    >>> venue_grade("ACL", "Association for Computational Linguistics")
    0.8
    >>> venue_grade("Nature", "Nature Communications"), venue_grade("*vision*", "IEEE Computer Vision")
    (0.0, 1.0)
    """
    if not venue.strip():
        return float("nan")
    if "*" in value or "?" in value:
        pattern = value.strip().casefold().replace("[", "[[]")  # a bracket is no sign of ours
        return float(fnmatchcase(venue.strip().casefold(), pattern))
    asked, stored = normalise_title(value).split(), normalise_title(venue).split()
    if asked == stored:
        return 1.0
    core = _core(stored, _AROUND)
    if core and core in (_core(asked, _AROUND), _core(asked, _SMALL)):
        return 1.0
    if not _ACRONYM.fullmatch(value.strip()):
        return 0.0
    acronym = asked[0]
    capitals = {normalise_title(word) for word in re.findall(r"[^\W_]+", venue) if _ACRONYM.fullmatch(word)}
    if acronym in capitals and _OTHER_SERIES.isdisjoint(stored):
        return 1.0
    for words in (stored, core):
        name = [word for word in words if word not in _SMALL]
        if len(name) > 1 and len(name) <= len(acronym) and _spells(acronym, name):
            return _INITIALS
    return 0.0


@lru_cache(maxsize=32)
def _graded(value: str, names: tuple[str, ...]) -> Floats:
    """(names,) grades; kept, since a search takes them several times, of thousands of venues."""
    return np.array([venue_grade(value, name) for name in names], np.float32)


def venue_grades(value: str, index: Index, papers: Positions) -> Floats:
    """(papers,) the best grade among alternatives, see :func:`venue_grade`; NaN where it is unknown."""
    (codes, names), named = index.coded("venues"), names_in(value)
    if not names or not named:
        return np.full(len(papers), np.nan, np.float32)
    meant = [other for name in named for other in (name, *_RENAMED.get(name.casefold(), ()))]
    table = np.fmax.reduce([_graded(name, tuple(names)) for name in dict.fromkeys(meant)])
    return np.asarray(table[codes[papers]], np.float32)


class VenueAttribute(NamedAttribute):
    """Where a paper appeared."""

    name = "venue"
    what, example = "venue", "venue=Nature, venue=NeurIPS, venue=*Vision*"

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """The venues of a group that the user listed under this name."""
        groups = {name.casefold(): venues for name, venues in lists.venue_groups.items()}
        return joined(groups.get(value.casefold(), ())) or value

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) as :func:`venue_grade`, of the alternative that fits best."""
        return venue_grades(value, index, papers)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The venue as printed."""
        return paper.venue[:_LONGEST]


ATTRIBUTES.register("venue")(VenueAttribute())


_RANKS = ("top", "a*", "a", "b", "c", "q1", "q2", "q3", "q4")
_FACTOR = expression(r"impact factor\s*+(?:>=|<=|>|<)\s*+\d{1,4}+(?:\.\d{1,3}+)?+", re.IGNORECASE)


def _parts(value: str) -> tuple[str, str]:
    """The rank in lower case, and its venues where they follow it."""
    rank, _, venues = value.partition(":")
    return " ".join(rank.casefold().split()), venues.strip()


class VenueRankAttribute(Attribute):
    """The rank of the venue, by the user's own lists."""

    name = "venue_rank"
    noun = "venue"

    def check(self, value: str) -> None:
        """Refuse a value that is neither a rank nor a bound of the impact factor.

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
        """That the rank has no list, or that no venue is known."""
        rank, venues = _parts(value)
        if venues:
            return super().missing(value, index)
        return f"no list says which venues are {rank}: name them in the settings, under venue_ranks"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) of being in a listed venue, NaN where the venue is unknown or none is listed."""
        return venue_grades(_parts(value)[1], index, papers)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The venue as printed, and who listed its rank."""
        return f"in {paper.venue}; ranks as listed by you" if paper.venue else ""


ATTRIBUTES.register("venue_rank")(VenueRankAttribute())
