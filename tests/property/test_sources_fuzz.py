"""Arbitrary bytes and damaged records: a source may refuse a file, never break."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from aspectra.base.errors import BadInput
from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import detect, read_papers
from aspectra.papers.sources.protocol import SOURCES, Remark
from aspectra.papers.text.cleaning import clean, latex_to_text, text_to_latex, unmarked

TEXT_SOURCES = ("jsonl", "bibtex", "ris", "csl-json", "nbib")
SEEDS = (
    b'{"id": "a", "title": "T", "abstract": ["x", "y"], "pred_labels": ["a"], "author": [{"name": "A"}]}\n',
    b'[{"id": 1, "type": "book", "title": "T", "issued": {"date-parts": [[2000]]}, "author": [{}]}]',
    rb'@article{a, title = {T {\"o} $x$}, author = "A, B and C" # jan, crossref={b}}'
    + b"\n@book{b, title={U}}",
    b"TY  - JOUR\nTI  - T\nAU  - A, B\nKW  - x;y\nUR  - u;v\nER  - \n",
    b"PMID- 1\nOWN - NLM\nTI  - T\nAB  - a\n      b\nLID - 10.1000/x [doi]\n",
)
FAST = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
FIELD_NAMES = st.sampled_from(
    """id _id title abstract text authors author year issued venue journal doi DOI sections sentences
    pred_labels references citations corpusid metadata identifiers externalIds language url
    container-title note keyword editor type citation-key""".split()
)


def survives(name: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(content)
        assert 0 <= SOURCES.get(name).sniff(path, content) <= 1
        try:
            items = list(read_papers(path, name))
        except BadInput:
            return
        for item in items:
            assert isinstance(item, Paper | Remark)
            if isinstance(item, Paper):
                spelled = json.dumps(item.to_dict(), allow_nan=False, ensure_ascii=False)
                spelled.encode("utf-8")
                assert Paper.from_dict(json.loads(spelled)) == item
                assert item.id
                assert all(0 <= s.start < s.end <= len(item.abstract) for s in item.sentences)


@pytest.mark.parametrize("name", TEXT_SOURCES)
@FAST
@given(content=st.binary(max_size=300) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")))
def test_any_bytes(name: str, content: bytes) -> None:
    survives(name, content)


@pytest.mark.parametrize("name", TEXT_SOURCES)
@FAST
@given(data=st.data())
def test_damaged_records(name: str, data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(SEEDS)) * data.draw(st.integers(1, 2)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 12))
        content[at : at + length] = data.draw(
            st.binary(max_size=6) | st.sampled_from([b"{", b"}", b'"', b"\\", b"\n", b"#"])
        )
    survives(name, bytes(content))


@pytest.mark.parametrize("name", ["jsonl", "csl-json"])
@FAST
@given(records=st.lists(st.dictionaries(FIELD_NAMES, json_values, max_size=8), min_size=1, max_size=3))
def test_records_of_any_shape(name: str, records: list[dict[str, object]]) -> None:
    survives(name, "\n".join(json.dumps(r) for r in records).encode())
    survives(name, json.dumps(records).encode())


@FAST
@given(st.binary(max_size=200))
def test_detect_refuses_or_names(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(content)
        try:
            assert detect(path) in SOURCES
        except BadInput:
            return


latex_text = st.text(alphabet="\\{}$~^&#%_-`'?!@aB \n\"=,()é", max_size=30) | st.text(max_size=30)


@given(latex_text)
@settings(max_examples=300, deadline=None)
def test_latex_escaping_is_undone(text: str) -> None:
    text = clean(text)
    assert latex_to_text(text_to_latex(text)) == text


@pytest.mark.parametrize("name", ["bibtex", "ris", "csl-json"])
@FAST
@given(title=latex_text, abstract=latex_text, authors=st.lists(latex_text, max_size=2), venue=latex_text)
def test_whatever_is_written_reads_back(
    name: str, title: str, abstract: str, authors: list[str], venue: str
) -> None:
    title, abstract, venue = (" ".join(clean(t).split()) for t in (title, abstract, venue))
    if name == "ris":  # RIS cannot tell a value from a keyword list or an empty line
        title, abstract, venue = (t.strip("-; ") for t in (title, abstract, venue))
    abstract = abstract and "A " + abstract  # "NA" alone is none
    assume(all(unmarked(text) == text for text in ("T " + title, abstract, venue)))  # TeX is what it means
    paper = Paper("k", "T " + title, abstract, tuple(authors), 2000, venue)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_text(WRITERS.get(name).write([paper]), encoding="utf-8", newline="")
        items = list(read_papers(path, name))
    (again,) = (item for item in items if isinstance(item, Paper))
    assert (again.id, again.title, again.abstract) == ("k", clean("T " + title), abstract)
    assert (again.venue, again.year) == (venue, 2000)
