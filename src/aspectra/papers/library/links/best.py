"""One record for several of one work: the best of them, with what only the others have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from aspectra.papers.bibliography import SHARED
from aspectra.papers.identifiers import normalise
from aspectra.papers.paper import Paper
from aspectra.papers.record_facts import is_preprint_doi

_PREPRINT_VENUES = ("arxiv", "biorxiv", "medrxiv", "corr", "ssrn", "preprint")


def ordered_versions(papers: Iterable[Paper], leads: Collection[str] = ()) -> list[Paper]:
    """Records of one work, the best first: the user's choice, then published ones, then the most complete.

    Args:
        papers: the records.
        leads: ids of papers that the user chose to lead.
    """
    return sorted(papers, key=lambda paper: (paper.id not in leads, not _published(paper), -_complete(paper)))


def merged_record(versions: Sequence[Paper]) -> Paper:
    """The first record, with the fields that only the others have and the identifiers of all.

    Where two records have different identifiers of one scheme, the better record's is kept and the others are
    under ``other_identifiers`` of the metadata; ids of the other records are under ``merged_ids``.

    Args:
        versions: records of one work, the best first.

    >>> one = Paper("a", "Owls", identifiers={"doi": "10.1/a"})
    >>> merged_record([one, Paper("b", "Owls", "They hunt.", identifiers={"arxiv": "2101.00001"})]).abstract
    'They hunt.'
    """
    best, *others = versions
    if not others:
        return best
    metadata = dict(best.metadata)
    named = dict(best.identifiers)
    further: dict[str, list[str]] = {}
    for paper in others:
        for name in SHARED:
            if not metadata.get(name) and paper.metadata.get(name):
                metadata[name] = paper.metadata[name]
        for scheme, value in paper.identifiers.items():
            if named.setdefault(scheme, value) == value or normalise(scheme, value) == normalise(
                scheme, named[scheme]
            ):
                continue
            if value not in further.setdefault(scheme, []):
                further[scheme].append(value)
    if further := {scheme: values for scheme, values in further.items() if values}:
        metadata["other_identifiers"] = further
    metadata["merged_ids"] = [paper.id for paper in others]
    filled: dict[str, Any] = {
        name: value
        for name in ("title", "authors", "year", "venue", "url", "language", "sections", "references")
        if not getattr(best, name) and (value := _first(others, name))
    }
    if not best.abstract.strip():
        for paper in others:
            if paper.abstract.strip():
                filled |= {"abstract": paper.abstract, "sentences": paper.sentences}
                break
    return replace(best, identifiers=named, metadata=metadata, **filled)


def _first(papers: Iterable[Paper], name: str) -> Any:
    return next((value for paper in papers if (value := getattr(paper, name))), None)


def _published(paper: Paper) -> bool:
    """Whether it is no preprint: it has a venue, volume or DOI that no server of preprints has."""
    doi = paper.identifiers.get("doi", "").lower()
    if doi and is_preprint_doi(doi):
        return False
    venue = paper.venue.casefold()
    if any(name in venue for name in _PREPRINT_VENUES):
        return False
    return bool(doi or venue)


def _complete(paper: Paper) -> int:
    """How many parts of the record are filled."""
    fields = (paper.title, paper.abstract.strip(), paper.authors, paper.year, paper.venue, paper.identifiers)
    return sum(map(bool, (*fields, paper.has_full_text, *(paper.metadata.get(name) for name in SHARED))))
