"""Records of one work among real exports: found by title, authors and year alone, as their DOIs confirm."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest

from aspectra.app.ingest.works import _pairs, _read
from aspectra.app.library import create_library
from aspectra.papers.library.links.versions import compare


@pytest.fixture(scope="module")
def records(shared, tmp_path_factory):
    folder = shared / "data" / "real-files"
    if not folder.is_dir():
        pytest.skip("real-files are not there")
    with create_library(tmp_path_factory.mktemp("real") / "l.lib") as library:
        library.add(*(folder / name for name in ("ris", "bib", "csl", "nbib")))
        return list(_read(library.store))


def test_titles_find_what_dois_confirm(records):
    by_doi = defaultdict(list)
    for one in records:
        for doi in one.values("doi"):
            by_doi[doi].append(one)
    known = set()
    for held in by_doi.values():
        for one, other in itertools.combinations(held, 2):
            verdict = compare(one, other)
            if verdict is not None and verdict.kind == "one":
                known.add((min(one.pos, other.pos), max(one.pos, other.pos)))
    places = {one.pos: one for one in records}
    blind = [one._replace(named=frozenset()) for one in records]
    found = {(a, b): verdict.kind for a, b, verdict in _pairs(blind)}
    sure = {pair for pair, kind in found.items() if kind == "one"}
    with_dois = [pair for pair in sure if all(places[pos].values("doi") for pos in pair)]
    false = [pair for pair in with_dois if pair not in known]
    assert len(known) > 100
    assert len(known & sure) >= 0.95 * len(known)
    assert len(known & found.keys()) >= 0.98 * len(known)
    assert len(false) <= 0.02 * len(with_dois)
