"""Tables of real tools: counts that were taken by reading the files."""

from __future__ import annotations

import pytest

from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers

# Beginning of the file's name -> records, titles, abstracts, DOIs, papers with authors, years, decisions.
COUNTS = {
    "02b184": (267, 267, 191, 249, 267, 267, 0),
    "0d4b26": (6, 6, 6, 0, 6, 6, 6),
    "134b6b": (6, 6, 0, 0, 6, 6, 6),
    "196881": (264, 264, 264, 259, 264, 264, 0),
    "27d1e4": (297, 297, 279, 288, 296, 297, 297),
    "8fa004": (6, 6, 6, 6, 6, 6, 0),
    "cd5fa2": (4, 2, 2, 0, 0, 0, 0),
}
# Family name of the first author, year and DOI of the first and of the last record.
ENDS = {
    "02b184": (
        "Zulhendri 2022 10.1016/j.biopha.2021.112595",
        "TOMASBARBERAN 1993 10.1016/s0031-9422(00)90804-5",
    ),
    "196881": ("aldhahri 2024 10.1016/j.aej.2024.08.003", "Bhandari 2015 10.1007/s40684-015-0013-z"),
    "27d1e4": ("Maron 2009 10.1146/annurev.med.60.041807.123308", "Gowri 2015 10.1177/2053369115587419"),
    "8fa004": ("Liu 2014 10.4103/2303-9027.138783", "Faraj 2017 10.1089/cren.2017.0016"),
}


def _file(shared, start):
    return next((shared / "data" / "real-files" / "csv-tsv").glob(f"{start}-*"))


@pytest.mark.parametrize("start", COUNTS)
def test_counts(shared, start):
    items = list(read_papers(_file(shared, start)))
    papers = [item for item in items if isinstance(item, Paper)]
    assert not [item for item in items if not isinstance(item, Paper) and item.skipped]
    assert (
        len(papers),
        sum(bool(paper.title) for paper in papers),
        sum(bool(paper.abstract) for paper in papers),
        sum("doi" in paper.identifiers for paper in papers),
        sum(bool(paper.authors) for paper in papers),
        sum(paper.year is not None for paper in papers),
        sum("screening" in paper.metadata for paper in papers),
    ) == COUNTS[start]
    for paper, expected in zip((papers[0], papers[-1]), ENDS.get(start, ()), strict=False):
        family = paper.authors[0].split()[-1]
        assert f"{family} {paper.year} {paper.identifiers['doi']}" == expected


def test_without_titles_papers_are_kept_by_their_abstracts(shared):
    path = _file(shared, "04b965")
    assert detect(path) == "csv"
    papers = [item for item in read_papers(path) if isinstance(item, Paper)]
    assert len(papers) == 6
    assert all(paper.abstract and not paper.title for paper in papers)
