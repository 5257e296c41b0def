"""Exports speak one dialect, whatever their papers came from: programs read a whole file by one record."""

from __future__ import annotations

import pytest

from aspectra.papers.dates import date_parts
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
