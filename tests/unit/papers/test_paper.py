"""A paper is a value: equal, hashed, copied and stored by its content."""

from __future__ import annotations

import copy
import json
import pickle

import msgspec
import pytest

from aspectra.papers.paper import Paper, Reference, Section, Sentence

WHOLE = Paper(
    id="owl",
    title="Owls",
    abstract="We count owls.",
    authors=("Ada Example",),
    year=2020,
    venue="Journal of Owls",
    identifiers={"doi": "10.1000/x"},
    url="https://example.org",
    language="en",
    sections=(Section("", "Text."), Section("Method", "")),
    references=(Reference("raw", "key", "title", {"arxiv": "2004.07180"}), Reference()),
    sentences=(Sentence(0, 14, "method"),),
    metadata={"kept": [1, {"deep": None}]},
)


@pytest.mark.parametrize("paper", [WHOLE, Paper("bare")])
def test_a_paper_is_a_value(paper: Paper) -> None:
    for other in (
        Paper.from_dict(json.loads(json.dumps(paper.to_dict()))),
        pickle.loads(pickle.dumps(paper)),
        copy.deepcopy(paper),
    ):
        assert other == paper
        assert hash(other) == hash(paper)
        assert other.content_hash == paper.content_hash


def test_a_record_that_is_no_paper_is_refused_by_name() -> None:
    with pytest.raises(msgspec.ValidationError, match="`id`"):
        Paper.from_dict({"title": "Owls"})
    with pytest.raises(msgspec.ValidationError, match=r"\$\.year"):
        Paper.from_dict({"id": "owl", "year": "MMXX"})
