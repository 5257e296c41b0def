"""Exports speak one dialect, whatever their papers came from: programs read a whole file by one record."""

from __future__ import annotations

import csv
import io
import json

import pytest

from aspectra.base.values import replace
from aspectra.papers.bibliography import date_parts
from aspectra.papers.export.protocol import WRITERS
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers

RIS = """TY  - JOUR
T1  - Deep <i>seas</i> and
A1  - Thule, Ann
A1  - et al.
Y1  - 2014/03//
JF  - Journal of Seas
N2  - We <b>looked</b> at p < 0.05.
DO  - https://doi.org/10.1000/Ab
ER  -
TY  - JOUR
TI  - Shallow seas
AU  - Ong, B
PY  - 2013/04/18
PY  - 2013/02/15/received
DA  - Apr 18
UR  - https://doi.org/10.1000/cd
ER  -
TY  - JOUR
TI  - Seas to come
PY  - in press
ER  -
"""


def papers(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [item for item in read_papers(path) if isinstance(item, Paper)]


def written(form, found):
    return WRITERS.get(form).write(found)


def test_ris_has_one_name_for_one_thing_and_numbers_for_dates(tmp_path):
    found = papers(tmp_path, "in.ris", RIS)
    records = written("ris", found).split("\n\n")
    lines = [[line for line in record.splitlines() if line[:2] in WANTED] for record in records]
    assert lines == [
        ["TI  - Deep seas and", "AU  - Thule, Ann", "DO  - 10.1000/Ab",
         "AB  - We looked at p < 0.05.", "PY  - 2014", "DA  - 2014/03"],
        ["TI  - Shallow seas", "AU  - Ong, B", "DO  - 10.1000/cd", "PY  - 2013", "DA  - 2013/04/18"],
        ["TI  - Seas to come", "DA  - in press"],
    ]  # fmt: skip
    again = papers(tmp_path, "again.ris", written("ris", found))
    assert [(p.title, p.authors, p.year, p.abstract, p.identifiers) for p in again] == [
        (p.title, p.authors, p.year, p.abstract, p.identifiers) for p in found
    ]
    assert written("ris", again) == written("ris", found)


WANTED = ("T1", "TI", "A1", "AU", "Y1", "PY", "DA", "DO", "N2", "AB")


@pytest.mark.parametrize(
    ("text", "year", "parts"),
    [
        ("1994", 1994, (1994,)),
        ("OCT", 2021, (2021, 10)),
        ("2019/10//undefined", 2019, (2019, 10)),
        ("2019-10-15T20:58:43Z", 2019, (2019, 10, 15)),
        ("20180302", 2018, (2018, 3, 2)),
        ("04 2006", 2006, (2006, 4)),
        ("15 March 2012", 2012, (2012, 3, 15)),
        ("1-15 March 2012", 2012, (2012, 3)),
        ("Mar 3-7", 2012, (2012, 3)),
        ("2006 May-Jun", 2006, (2006,)),
        ("2016-13-45", 2016, (2016,)),
        ("2014 3rd trimestre", 2014, (2014,)),
        ("maybe 2012", 2012, (2012,)),
        ("2015-07-01", 2014, ()),
        ("MAY", None, ()),
    ],
)
def test_dates_of_any_spelling(text, year, parts):
    assert date_parts(text, year) == parts


BIB = r"""@article{a^1, title = {Reefs &
  fish_food}, author = {Fonseca de la Bella, Ana and Ong, Bo}, date = {2017-05}, journaltitle = {Fens #1}}
@article{b, title = {{Reefs}}, author = {{Reef Group}}, year = {{2019}}, month = {{MAY-JUN}},
  booktitle = {Proc. $a_b$ & c}, doi = {https://doi.org/10.1000/A\_b}}
@phdthesis{c, title = {Fens}, author = {Ong, Bo}, year = 2018, month = mar, institution = {Fen University}}
@online{d, title = {Fens}, date = {2019/10//undefined}, year = {2019-10}}
@misc{e, title = {Fens}, date = {2012-05/2012-07}}
"""


def test_bibtex_is_read_by_bibtex_biber_and_pandoc(tmp_path):
    text = written("bibtex", papers(tmp_path, "in.bib", BIB))
    assert [sorted(entry.strip().splitlines()[:-1]) for entry in text.split("\n\n")] == [
        ["  author = {{Fonseca de la Bella}, Ana and Ong, Bo},", "  date = {2017-05},",
         r"  journal = {Fens \#1},", r"  journaltitle = {Fens \#1},", "  month = may,",
         r"  title = {Reefs \& fish\_food},", "  year = {2017},", "@article{a-1,"],
        ["  author = {{Reef Group}},", r"  booktitle = {Proc. $a_b$ & c},", "  doi = {10.1000/A_b},",
         r"  journal = {Proc. $a_b$ & c},", "  month = {MAY-JUN},", "  title = {{Reefs}},",
         "  year = {2019},", "@article{b,"],
        ["  author = {Ong, Bo},", "  month = mar,", "  school = {Fen University},", "  title = {Fens},",
         "  year = {2018},", "@phdthesis{c,"],
        ["  month = oct,", "  title = {Fens},", "  year = {2019},", "@online{d,"],
        ["  date = {2012-05/2012-07},", "  month = may,", "  title = {Fens},", "  year = {2012},",
         "@misc{e,"],
    ]  # fmt: skip
    again = papers(tmp_path, "again.bib", text)
    assert written("bibtex", again) == text


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("Traditional medicine of New Zealand", "Traditional medicine of {New} {Zealand}"),
        ("Effects of DNA on the Crohn disease gut", "Effects of {DNA} on the {Crohn} disease gut"),
        ("Attention Is All You Need", "Attention Is All You Need"),
        ("Deep Learning: Methods for Owls", "Deep Learning: Methods for Owls"),
        ("Owls hunt: In the dark they hear", "Owls hunt: In the dark they hear"),
    ],
)
def test_names_in_titles_keep_their_capital(title, kept):
    assert f"title = {{{kept}}}," in written("bibtex", [Paper("x", title)])


def test_other_formats_give_bibtex_its_fields():
    facts = {"date": "NOV 20", "publisher": "ETH", "type": "thesis"}
    (text,) = [written("bibtex", [Paper("x–1", "T", year=2023, authors=("Ana de la Bo",), metadata=facts)])]
    assert text == (
        "@phdthesis{x-1,\n  title = {T},\n  author = {de la Bo, Ana},\n  year = {2023},\n"
        "  date = {2023-11-20},\n  month = nov,\n  school = {ETH},\n}\n"
    )
    facts = {"author": [{"family": "Bella de la Mar", "given": "Ana"}]}
    assert "author = {{Bella de la Mar}, Ana}" in written(
        "bibtex", [Paper("x", "T", authors=("Ana Bella de la Mar",), metadata={"csl": facts})]
    )


@pytest.mark.parametrize("form", ["ris", "bibtex", "csl-json"])
def test_a_changed_doi_takes_the_place_of_the_stated_one(tmp_path, form):
    name, text = {
        "ris": ("in.ris", "TY  - JOUR\nID  - a\nTI  - T\nDO  - 10.1000/old\nER  -\n"),
        "bibtex": ("in.bib", "@article{a, title = {T}, doi = {10.1000/old}}"),
        "csl-json": ("in.json", '[{"id": "a", "title": "T", "type": "book", "DOI": "10.1000/old"}]'),
    }[form]
    (paper,) = papers(tmp_path, name, text)
    changed = written(form, [replace(paper, identifiers={"doi": "10.1000/new"})])
    assert changed.count("10.1000/") == 1
    assert "10.1000/new" in changed


def test_edition_place_and_series_reach_every_format(tmp_path):
    facts = {"edition": "2", "place": "Oslo", "series": "Fens", "publisher": "Moor", "type": "book"}
    book = Paper("x", "T", year=2023, metadata=facts)
    for form, lines in {
        "bibtex": ("edition = {2}", "address = {Oslo}", "series = {Fens}"),
        "ris": ("ET  - 2", "CY  - Oslo", "T3  - Fens"),
        "csl-json": ('"edition": "2"', '"publisher-place": "Oslo"', '"collection-title": "Fens"'),
    }.items():
        text = written(form, [book])
        assert all(line in text for line in lines)
        (again,) = papers(tmp_path, "again" + WRITERS.get(form).suffix, text)
        assert {name: again.metadata[name] for name in facts} == facts


def test_csl_has_no_null_no_text_for_a_number_and_a_whole_date(tmp_path):
    text = """[{"id": "a", "title": "T", "type": "book", "issue": null, "issued": {"date-parts": [["-44"]]},
      "accessed": {"date-parts": [[null]]}, "submitted": {"date-parts": [["2014", "3"], [null]]},
      "DOI": "<a href='https://doi.org/10.1000/Ab'>10.1000/Ab</a>"}]"""
    (item,) = json.loads(written("csl-json", papers(tmp_path, "in.json", text)))
    assert item == {
        "id": "a", "title": "T", "type": "book", "issued": {"date-parts": [[-44]]}, "DOI": "10.1000/ab",
        "submitted": {"date-parts": [[2014, 3]]},
    }  # fmt: skip
    (item,) = json.loads(written("csl-json", [Paper("x", "T", year=2023, metadata={"date": "NOV 20"})]))
    assert item["issued"] == {"date-parts": [[2023, 11, 20]]}


def test_names_that_programs_refuse_or_take_apart_otherwise(tmp_path):
    many = tuple(f"Ann Verylongname{n}" for n in range(6000))
    (row,) = csv.DictReader(io.StringIO(written("csv", [Paper("x", "T", authors=many)])))
    names = row["authors"].removesuffix(";").split("; ")
    assert len(row["authors"]) < 2**17
    assert names == [*(f"Verylongname{n}, Ann" for n in range(len(names) - 1)), "et al."]
    record = "@book{a, title = {T}, author = {Center, J. and Ong , Bo}, editor = {Byrne, Cohen, De Rooy, Hu}}"
    (paper,) = papers(tmp_path, "in.bib", record)
    assert "editor = {{Byrne, Cohen, De Rooy, Hu}}," in written("bibtex", [paper])
    assert json.loads(written("csl-json", [paper]))[0]["author"] == [
        {"family": "Center", "given": "J."},
        {"family": "Ong", "given": "Bo"},
    ]
