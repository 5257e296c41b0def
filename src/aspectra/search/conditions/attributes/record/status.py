"""Conditions on how a paper was published: ``preprint``, ``peer-reviewed``, ``journal`` ...

The record's types of publication decide, then words of the venue, then where its identifiers lead: a paper
with an arXiv id, and neither a venue nor another DOI, is a preprint. No record states peer review; journals
and conferences are taken to have it (0.9), workshops by half (0.6), preprints, theses, reports and the press
not to. A paper is retracted where its record or the beginning of its title says so. A paper of which one
status is known is known not to have the others. Where nothing is recorded of any document (a collection of
web pages), and at most half of the texts are scholarly by the lens ``source``, these count as peer-reviewed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, table_of_words
from aspectra.search.conditions.attributes.record.facts import (
    ClassAttribute,
    RecordAttribute,
    has_words,
    origin_parts,
    phrases,
    stated,
)
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

STATUSES = tuple("preprint peer-reviewed journal conference workshop abstract registration retracted".split())
_SYNONYMS = {
    **dict.fromkeys(("peer reviewed", "refereed", "published"), "peer-reviewed"),
    **dict.fromkeys(("poster", "demo", "late-breaking"), "abstract"),
}
_IN_SUPPLEMENT = "conference proceeding"  # of a journal: how CENTRAL calls abstracts of supplements
_STATED, _BY_VENUE, _BY_IDS, _WEAK = 0.95, 0.8, 0.8, 0.6
_REVIEWED = 0.9
_HALF = 0.5
_WORDS = {name: frozenset(phrases(words)) for name, words in table_of_words("record_words")["status"].items()}
_TYPES = ("preprint", "abstract", "registration", "conference", "journal")
_TYPED = tuple((name, _WORDS[f"{name}_types"]) for name in _TYPES)
_BY_WORDS = {"journal_proceedings": "journal", "conference_venues": "conference", "journal_venues": "journal"}


@lru_cache(maxsize=20_000)
def status_of(types: str, venue: str, origin: str) -> tuple[dict[str, float], str]:
    """Status -> grade, and what decided; statuses of which nothing is known are left out.

    Args:
        types: of publication, as the column ``types`` has them.
        venue: as printed.
        origin: as the column ``origins`` has it.

    >>> status_of("article-journal", "Journal of Owls", "")[0]["peer-reviewed"]
    0.9
    >>> status_of("", "", "arxiv|10.48550|")[1]
    'it is in arXiv, and no venue is known'
    """
    kinds = {part for part in types.split("; ") if part}
    found, why = next(_evidence(kinds, venue, origin), ({}, ""))
    if found:
        found = dict.fromkeys(STATUSES[:-1], 0.0) | found
    if not kinds.isdisjoint(("retracted", "not retracted")):
        found["retracted"] = float("retracted" in kinds)
    return found, why


def _evidence(kinds: set[str], venue: str, origin: str) -> Iterator[tuple[dict[str, float], str]]:
    """(status -> grade, reason) of all that a record tells; the first of them decides."""
    schemes, prefix, host = origin_parts(origin)
    if not venue and host in _WORDS["preprint_hosts"] and prefix in ("", "10.48550", "10.2139", "10.1101"):
        yield {"preprint": _BY_IDS}, f"it is at {host}, and no venue is known"

    # The types of publication, and the venue where that says more.
    words, by_venue = normalise_title(venue), f"venue {venue}"
    named = {name: sorted(kinds & wanted) for name, wanted in _TYPED}
    if named["journal"] and _IN_SUPPLEMENT in named["conference"]:
        named["abstract"].append(_IN_SUPPLEMENT)
    said = {name: f"record type {some[0]}" for name, some in named.items() if some}
    if "preprint" in said or (_mentions(words, "preprint_venues") and "conference" not in said):
        yield {"preprint": _STATED}, said.get("preprint", by_venue)
    if "abstract" in said:
        yield {"abstract": _STATED, "peer-reviewed": 0.4}, said["abstract"]
    if "registration" in said:
        yield {"registration": _STATED}, said["registration"]
    if _mentions(words, "workshop_venues"):
        yield {"workshop": _STATED, "conference": 0.4, "peer-reviewed": _WEAK}, by_venue
    if "conference" in said:
        either = "journal" in said and named["conference"][0] == "proceedings paper"
        in_journal = {"journal": _WEAK} if either else {}
        yield {"conference": _STATED, "peer-reviewed": _REVIEWED, **in_journal}, said["conference"]
    if "journal" in said:
        yield {"journal": _STATED, "peer-reviewed": _REVIEWED}, said["journal"]
    if other := sorted(kinds & _WORDS["unreviewed_types"]):
        yield {"peer-reviewed": 0.1}, f"record type {other[0]}"

    for table, name in _BY_WORDS.items():
        if _mentions(words, table):
            yield {name: _BY_VENUE, "peer-reviewed": _REVIEWED}, by_venue

    # Identifiers of a paper without a venue.
    if venue:
        return
    if "arxiv" in schemes and prefix in ("", "10.48550"):
        yield {"preprint": _BY_IDS}, "it is in arXiv, and no venue is known"
    if "acl" in schemes:
        yield {"conference": _WEAK, "peer-reviewed": _BY_IDS}, "it is in the ACL Anthology"
    if "article" in kinds and not prefix:  # in CSL the type of preprints and working papers
        yield {"preprint": _WEAK}, "record type article, and no venue is known"


def _mentions(words: str, table: str) -> bool:
    named, parts = _WORDS[table], words.split()
    return not named.isdisjoint(parts) or any(" " in one and has_words(words, one) for one in named)


def _scholarly(index: Index, papers: Positions) -> Floats:
    return ATTRIBUTES.get("source").grades("scholarly", index, papers)


class StatusAttribute(ClassAttribute, RecordAttribute):
    """The way in which a paper was published: ``preprint``, ``peer-reviewed``, ``journal`` and others."""

    name = "status"
    classes, synonyms = STATUSES, _SYNONYMS

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) see the module; NaN where nothing is known."""
        named, told = self.named(value), self.told(value, index)
        if told is not None and not told[0] and told[1] <= _HALF * len(index):
            return _scholarly(index, papers)
        return self._recorded(named, index, papers)

    def measure(self, value: str, index: Index) -> tuple[bool, int] | None:
        """(True if any record states a status, number of scholarly papers).

        Scholarly papers are counted only if no record states a status; else 0. None for any value but
        ``peer-reviewed``, and without papers.
        """
        named, papers = self.named(value), np.arange(len(index))
        if named != "peer-reviewed" or not len(papers):
            return None
        recorded = not np.isnan(self._recorded(named, index, papers)).all()
        return recorded, 0 if recorded else int(np.count_nonzero(_scholarly(index, papers) >= _HALF))

    def _recorded(self, named: str, index: Index, papers: Positions) -> Floats:
        """(papers,) what records say."""
        columns = [index.coded(name) for name in ("types", "venues", "origins")]
        key = np.zeros(len(papers), np.int64)
        for codes, names in columns:
            key = key * max(1, len(names)) + codes[papers]
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        texts = ([names[codes[paper]] for codes, names in columns] for paper in papers[first])
        table = np.array([status_of(*some)[0].get(named, np.nan) for some in texts], np.float32)
        return table[which]

    def missing(self, value: str, index: Index) -> str:
        """That no record says of a paper whether it has this status."""
        named = self.named(value)
        if named == "retracted" and index.keeps_records:
            return "no record of this library says which papers were retracted"
        return super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The deciding evidence in the record, for people."""
        types = stated(index, paper, "types")
        if self.named(value) != "retracted":
            return status_of(types, paper.venue, stated(index, paper, "origins"))[1]
        gone = "retracted" in types.replace("not retracted", "")
        return "the record or the title says so" if gone else ""


ATTRIBUTES.register("status")(StatusAttribute())
