"""Citations, readings and directions on a part of acl-fulltext."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np
import pytest

from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.papers.library.store import Store
from aspectra.papers.text.references import strip_citations
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.readers.protocol import ASPECT_READERS, READERS
from aspectra.views.settings import IndexSettings
from long import LONG

_YEAR = re.compile(r"\b(?:19|20)\d\d[a-z]?\b")


@pytest.fixture(scope="module")
def benchmark(shared):
    return BENCHMARKS.get("beir")(shared / "data" / "acl-fulltext", qrels="cited")


@pytest.fixture(scope="module")
def papers(benchmark):
    return list(islice(benchmark.papers(), 0, 1482, 5 if LONG else 10))  # every fifth or tenth


def test_few_years_are_left_and_offsets_lead_back(papers):
    before = after = 0
    for paper in papers[:40]:
        for section in paper.sections:
            found = strip_citations(section.text)
            before += len(_YEAR.findall(section.text))
            after += len(_YEAR.findall(found.text))
            for word in list(re.finditer(r"\w+", found.text))[::25]:
                low, high = found.original(*word.span())
                assert section.text[low] == found.text[word.start()]
                assert section.text[high - 1] == found.text[word.end() - 1]
    assert after < 0.15 * before


def test_most_papers_say_something_about_each_aspect(papers):
    for name in ASPECT_READERS:
        found = [bool(READERS.get(name).read(paper).spans) for paper in papers[:40]]
        assert np.mean(found) > 0.7, name


def test_what_a_paper_cites_is_found_in_reverse(papers, benchmark, tmp_path):
    library = Store.create(tmp_path / "library")
    with library.writing("add") as writer:
        writer.add(papers)
    build_index(library, IndexSettings(encoders=(), lenses=(), chunks=()))
    searcher = Searcher(library)
    held = {paper.id for paper in papers}
    recall = {"builds-on": [], "built-on-by": []}
    for topic in benchmark.topics:
        relevant = {d for d, g in benchmark.qrels["gold"][topic.id].items() if g > 0} & held
        if topic.id in held and relevant:
            for direction, values in recall.items():
                query = Query(seeds=(topic.id,), limit=10, evidence=0, direction=direction)
                ids = searcher.result(searcher.plan(query)).ids
                values.append(len(relevant & set(ids)) / len(relevant))
    assert len(recall["builds-on"]) > (30 if LONG else 10)
    assert np.mean(recall["builds-on"]) > np.mean(recall["built-on-by"])
