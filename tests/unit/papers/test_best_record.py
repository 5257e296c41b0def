"""One record for several of one work."""

from __future__ import annotations

from aspectra.papers.library.links.versions import merged_record, ordered_versions
from aspectra.papers.paper import Paper, Section

PREPRINT = Paper(
    "pre",
    "Owls",
    "They hunt.",
    ("Ada Lovelace",),
    2019,
    "arXiv",
    {"arxiv": "2101.00001", "doi": "10.48550/arXiv.2101.00001"},
    sections=(Section("Methods", "We listened."),),
)
JOURNAL = Paper(
    "jour", "Owls", "", ("Ada Lovelace",), 2021, "Birds", {"doi": "10.1/owl"}, metadata={"volume": "3"}
)
EXPORT = Paper(
    "exp", "OWLS", "They hunt by night.", (), 2021, "Birds", {"doi": "10.1/OWL"}, metadata={"pages": "1-9"}
)


def test_published_records_lead_then_complete_ones():
    assert [p.id for p in ordered_versions([PREPRINT, EXPORT, JOURNAL])] == ["exp", "jour", "pre"]
    assert [p.id for p in ordered_versions([PREPRINT, EXPORT, JOURNAL], {"pre"})] == ["pre", "exp", "jour"]


def test_fields_are_filled_from_the_others():
    made = merged_record([JOURNAL, EXPORT, PREPRINT])
    assert made.id == "jour"
    assert (made.year, made.venue, made.authors) == (2021, "Birds", ("Ada Lovelace",))
    assert made.abstract == "They hunt by night."
    assert made.sections == PREPRINT.sections
    assert made.identifiers == {"doi": "10.1/owl", "arxiv": "2101.00001"}
    assert made.metadata["volume"] == "3"
    assert made.metadata["pages"] == "1-9"
    assert made.metadata["other_identifiers"] == {"doi": ["10.48550/arXiv.2101.00001"]}
    assert made.metadata["merged_ids"] == ["exp", "pre"]


def test_one_record_stays_as_it_is():
    assert merged_record([JOURNAL]) is JOURNAL
