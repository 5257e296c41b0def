"""Conditions on how often a paper is cited: ``>=50``, ``<20``, ``10..20``, ``high`` or ``low``.

The number is the record's own. Where the record has none, and most papers of the library list references, the
citations inside the library are counted; these are fewer, and the reason says which was used. ``high`` is met
by the most cited tenth of the papers counted in the same way, ``low`` by the least cited half: the grades are
t / (t + share of papers cited more, or less), with t = 0.1 and 0.5.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record._values import RecordAttribute, number_range
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_SHARES = {"high": 0.1, "low": 0.5}
_LISTING = 0.5  # share of the papers that must list references for the citations inside to be counted
_counted: WeakKeyDictionary[Index, tuple[NDArray[np.int64], NDArray[np.bool_]]] = WeakKeyDictionary()


def citation_counts(index: Index) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """((all papers,) citations, -1 where unknown; (all papers,) True where the record states them)."""
    if index not in _counted:
        by_record = index.cited_by.astype(np.int64)
        counts = by_record.copy()
        targets = index.citations[1]
        if len(targets) and np.mean(index.references > 0) >= _LISTING:
            inside = np.bincount(targets, minlength=len(index))
            counts = np.where(by_record < 0, inside, by_record)
        _counted[index] = counts, by_record >= 0
    return _counted[index]


def _ranked(counts: NDArray[np.int64], share: float, *, most: bool) -> Floats:
    """Grades of being among the most, or the least, cited of these papers."""
    ordered = np.sort(counts)
    if most:
        beyond = len(counts) - np.searchsorted(ordered, counts, side="right")
    else:
        beyond = np.searchsorted(ordered, counts, side="left")
    out = share / (share + beyond / max(1, len(counts)))
    return np.asarray(np.where(counts == 0, 0.0, out) if most else out, np.float32)


class CitationsAttribute(RecordAttribute):
    """See the module."""

    name = "citations"
    noun = "number of citations"

    def check(self, value: str) -> None:
        """Refuse what is neither a number, a bound, a range, ``high`` nor ``low``.

        Raises:
            UsageError: with the forms there are.
        """
        if value.casefold() not in _SHARES and number_range(value) is None:
            raise UsageError(
                f"{value!r} is no number of citations", why="write >=50, >100, <20, 10..20, high or low"
            )

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 within, 0 outside; of ``high`` and ``low`` see the module; NaN where unknown."""
        counts, by_record = citation_counts(index)
        out = np.full(len(index), np.nan, np.float32)
        named = value.casefold()
        if named in _SHARES:
            for known in (by_record, ~by_record & (counts >= 0)):
                out[known] = _ranked(counts[known], _SHARES[named], most=named == "high")
        else:
            low, high = number_range(value) or (0, 0)
            out = np.where(counts < 0, np.nan, (counts >= low) & (counts <= high)).astype(np.float32)
        return np.asarray(out[papers], np.float32)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The number, and who counted."""
        counts, by_record = citation_counts(index)
        at = index.positions.get(paper.id)
        if at is None or counts[at] < 0:
            return ""
        times = f"cited {counts[at]:,} time{'' if counts[at] == 1 else 's'}"
        return f"{times}, says the record" if by_record[at] else f"{times} inside this library"


ATTRIBUTES.register("citations")(CitationsAttribute())
