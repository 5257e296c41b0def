"""Decisions of a screening that an export carries along: a column, or Rayyan's line in the notes."""

from __future__ import annotations

import re

from aspectra.papers.sources.tables.columns import words
from aspectra.papers.text.cleaning import one_line

_WITH_REASON = re.compile(r"([^:–—(]{1,20}?)\s?[:–—(]\s?(.{1,2000})")
_RAYYAN = re.compile(r"RAYYAN-INCLUSION:\s{0,3}\{?([^{}|\n]{1,2000})")  # TeX has no braces
_VOTE = re.compile(r"=>\s{0,3}\"?([A-Za-z]{1,20})")
_REASONS = re.compile(r"RAYYAN-EXCLUSION-REASONS:\s{0,3}([^|\n]{1,2000})")


def screening_of(decision: str, reason: str = "", notes: str = "") -> dict[str, str]:
    """``{"decision": "include" | "exclude" | "maybe", "reason": ...}``; {} where no decision is stated.

    Args:
        decision: the cell of a column such as ``label_included``.
        reason: the cell of a column of reasons.
        notes: may hold ``RAYYAN-INCLUSION: {"Ada"=>"Excluded"}``; where people disagree, it is ``maybe``.

    >>> screening_of("1"), screening_of("Excluded", "no control group")
    ({'decision': 'include'}, {'decision': 'exclude', 'reason': 'no control group'})
    >>> screening_of("Exclude: wrong setting")
    {'decision': 'exclude', 'reason': 'wrong setting'}
    >>> screening_of("", notes='RAYYAN-INCLUSION: {"Ada"=>"Included", "Bo"=>"Excluded"} | USER-NOTES: {}')
    {'decision': 'maybe'}
    """
    found = _word(decision)
    if not found and (both := _WITH_REASON.fullmatch(one_line(decision))):
        found, reason = _word(both[1]), reason or both[2].removesuffix(")")
    if not found and (rayyan := _RAYYAN.search(notes)):
        votes = {vote for raw in _VOTE.findall(rayyan[1]) if (vote := _word(raw))}
        found = votes.pop() if len(votes) == 1 else "maybe" if votes else ""
        if reasons := _REASONS.search(notes):
            reason = reason or reasons[1]
    if not found:
        return {}
    return {"decision": found, **({"reason": text} if (text := one_line(reason)) else {})}


def _word(text: str) -> str:
    key = one_line(text).casefold()
    return next((name for name, spellings in words().decisions.items() if key in spellings), "")
