"""What papers give away, and how many people they study."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, Section, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses.protocol import LENSES, LensValues


def participants(text: str, title: str = "") -> float | None:
    (row,) = LENSES.get("sample").apply([Paper("x", title, text)])
    return None if math.isnan(row[0, 0]) else float(row[0, 0])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("We asked 284 outpatients.", 284),
        ("Ten healthy male volunteers rowed.", 10),
        ("One hundred and eighty-three older adults came.", 183),
        ("Two thousand three hundred and five nurses answered.", 2305),
        ("A total of 1,257 tall patients came.", 1257),
        ("Rowers took part (N = 46).", 46),
        ("Two groups rowed (n = 18 and n = 20).", 38),
        ("Patients had surgery (n=18 per group).", 36),
        ("Eligible respondents (n = 3,408) were assigned.", 3408),
        ("Students (176; 63% female) were assigned.", 176),
        ("We invited 900 cooks and people. We enrolled 40 patients.", 40),
        ("Some 900 people were invited.", 900),
        ("Forty mice were fed.", 40),
        ("Of 40 mice and 12 students, all slept.", 12),
        ("More than 2000 patients came.", 2000),
        ("In 2015 patients were tired.", None),
        ("After 12 weeks patients were tired, and 38% of women slept.", None),
        ("CX516-treated subjects in phase 2 volunteers slept.", None),
        ("A subgroup of 11 subjects returned; 35 wearers came.", 35),
        ("We treat two cases of the lemma and three-person teams.", None),
        ("Nothing here.", None),
        ("1 patient", None),
        ("²³ patients, ٣ patients", None),
    ],
)
def test_how_many_people_took_part(text, count):
    assert participants(text) == count


def test_the_quote_is_the_sentence_with_the_number():
    paper = Paper("x", "Rowing", "It rained. We asked 284 outpatients. It stopped.")
    span = LENSES.get("sample").span(paper, "participants")
    assert span is not None
    assert field_text(paper, span.field)[span.start : span.end] == "We asked 284 outpatients."


def artifacts(text: str, *sections: str) -> dict[str, float]:
    lens = LENSES.get("artifacts")
    (row,) = lens.apply([Paper("x", "", text, sections=tuple(Section("", each) for each in sections))])
    return dict(zip(lens.labels, row[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("Our code is available at https://github.com/made/up.", {"code"}),
        ("Code: https://github.com/made/up", {"code"}),
        ("We release our code and models.", {"code", "weights"}),
        ("Codes and trained models are publicly available.", {"code", "weights"}),
        ("Moreover, we release Owls, a dataset of 200 owls.", {"data"}),
        ("The data are available on request.", {"data"}),
        ("We make the algorithm available as a docker file.", {"code"}),
        ("Code will be made available.", {"code"}),
        ("Owls is at https://github.com/made/up.", {"code"}),
        ("Videos are at https://github.com/made/up.", set()),
        ("We test on publicly available datasets.", set()),
        ("We use the open-source code of others, available at https://github.com/made/up.", set()),
        ("No data are available on owls.", set()),
        ("The code of owls is hard to read.", set()),
    ],
)
def test_what_a_paper_offers(text, offered):
    assert {label for label, grade in artifacts(text).items() if grade >= 0.5} == offered


def test_full_texts_tell_what_is_missing_and_abstracts_do_not():
    assert np.isnan(artifacts("Owls fly.")["code"])
    assert artifacts("Owls fly.", "At night.")["code"] == pytest.approx(0.05)
    assert artifacts("Owls fly.", "Our code is available online.")["code"] > 0.9
    assert artifacts("The code will be released.")["code"] == pytest.approx(0.8)
    assert artifacts("Owls fly.", "We ran it. See https://github.com/made/up for owls.")["code"] < 0.5


def test_the_quote_is_the_sentence_that_offers():
    paper = Paper(
        "x", "", "Owls fly.", sections=(Section("", "They sleep. The code is available here. Bye."),)
    )
    span = LENSES.get("artifacts").span(paper, "code")
    assert span is not None
    assert field_text(paper, span.field)[span.start : span.end] == "The code is available here."
    assert LENSES.get("artifacts").span(paper, "data") is None


@pytest.mark.parametrize(
    ("value", "met"),
    [
        (">20", {21, 30}),
        (">=20", {20, 21, 30}),
        ("<20", {19}),
        ("<= 20", {19, 20}),
        ("20", {20}),
        ("20..21", {20, 21}),
    ],
)
def test_sample_sizes_within_their_bounds(value, met):
    counts = [19, 20, 21, 30, math.nan]
    column = LensValues(("participants",), np.array([counts], np.float32).T)
    index = SimpleNamespace(lens=lambda _: column, lens_names=("sample",))
    grades = ATTRIBUTES.get("sample").grades(value, index, np.arange(5))
    assert {count for count, grade in zip(counts, grades, strict=True) if grade == 1} == met
    assert math.isnan(grades[-1])


def test_an_empty_range_of_sample_sizes_is_refused():
    with pytest.raises(UsageError, match="no sample size") as refused:
        ATTRIBUTES.get("sample").check("500..100")
    assert "the smaller number first" in str(refused.value.why)
