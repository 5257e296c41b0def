"""Readers of aspects: headings, places, and papers that give them nothing."""

from __future__ import annotations

import pytest

from aspectra.papers.paper import Paper, Section, field_text
from aspectra.views.readers.aspects import aspect_of, central, lead, sections_of, sentences_of
from aspectra.views.readers.protocol import READERS, reading_text

INTRODUCTION = "Owls are hard to see at night. We ask whether owls can be counted by their voices alone."
METHOD = "We record owls with four microphones. A model of their voices tells one owl from another bird."
RESULTS = "Forty owls were counted in ten nights. The model errs for two owls in a hundred cases (Min, 1996)."


def _paper(*sections):
    return Paper("p", "Owls", "Owls are counted.", sections=tuple(Section(h, t) for h, t in sections))


@pytest.mark.parametrize(
    ("heading", "aspect"),
    [
        ("1 Introduction", "question"),
        ("Introduction", "question"),
        ("II. INTRODUCTION", "question"),
        ("6. Conclusions and Future Work", "question"),
        ("3.2 The Parsing Model", "method"),
        ("4 Experimental Results", "experiment"),
        ("Data", "experiment"),
        ("2 Related Work", ""),
        ("Acknowledgements", ""),
        ("Markov logic", None),
        ("", None),
        ("3.", None),
    ],
)
def test_headings(heading, aspect):
    assert aspect_of(heading) == aspect


def test_sections_by_heading():
    paper = _paper(("Introduction", INTRODUCTION), ("Our model", METHOD), ("Results", RESULTS))
    assert sections_of(paper) == {"question": [0], "method": [1], "experiment": [2]}
    for number, name in enumerate(("question", "method", "experiment")):
        spans = READERS.get(name).read(paper).spans
        assert {s.field for s in spans} == {f"section:{number}"}


@pytest.mark.parametrize("name", READERS.names())
def test_readings_are_spans_of_the_stored_text(name):
    paper = _paper(("Introduction", INTRODUCTION), ("Our model", METHOD), ("Results", RESULTS))
    reading = READERS.get(name).read(paper)
    assert reading.spans
    for field, start, end in reading.spans:
        assert field_text(paper, field)[start:end].strip()
    assert "1996" not in reading_text(paper, reading)
    if name in ("experiment", "base"):
        assert "1996" in reading_text(paper, reading, "keep")


def test_without_headings_every_section_has_a_place():
    paper = _paper(("", INTRODUCTION), ("", METHOD), ("", RESULTS))
    dealt = sections_of(paper)
    assert sorted(n for held in dealt.values() for n in held) == [0, 1, 2]


@pytest.mark.parametrize("name", READERS.names())
@pytest.mark.parametrize(
    "sections",
    [
        (),
        (("Method", ""),),
        (("Method", "x = y + 1 ; z = ( 2 * 3 ) / 4 - 5 , 6 7 8 9 0 . " * 20),),  # nothing but formulas
        (("", "0 1 2 3 | 4 5 6 | 7 8 9"),),
    ],
)
def test_nothing_to_read_is_no_reading(name, sections):
    assert READERS.get(name).read(_paper(*sections)).spans == ()


@pytest.mark.parametrize("name", READERS.names())
def test_noise_of_scanning_is_passed_over(name):
    noise = "~l;\\ 'ii -- ,,  .. |_ / \\ 11 1l I| " * 5
    paper = _paper(("Introduction", f"{noise} {INTRODUCTION}"), ("Model", METHOD), ("Results", RESULTS))
    assert "~l;" not in reading_text(paper, READERS.get(name).read(paper))


def test_lead_and_central_sentences():
    text = (
        "Owls hunt mice by ear. "
        + "Rain fell on the hills all day long. "
        + "Mice hide from owls that hunt by ear."
    )
    paper = _paper(("Introduction", text))
    spans = sentences_of(paper, [0])
    assert [s.start for s in lead(paper, spans, 5)] == [0]
    assert "Rain" not in " ".join(text[s.start : s.end] for s in central(paper, spans, 12))
    assert central(paper, []) == ()
