"""Comparisons and the marks of tables, on values small enough to check by hand."""

from __future__ import annotations

import pytest

from aspectra.lab.evaluation.means import Score
from aspectra.lab.experiments.recipe_tables import _marks
from aspectra.lab.measures.protocol import parse
from aspectra.lab.reports.comparison import System, comparison_tables
from aspectra.lab.reports.tables import Number
from aspectra.lab.statistics.significance import bonferroni, bootstrap, holm, paired_t

UNITS = [f"q{n}" for n in range(8)]
BASE = dict(zip(UNITS, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), strict=True))


def moved(*steps):
    return {unit: BASE[unit] + step for unit, step in zip(UNITS, steps, strict=True)}


BETTER = moved(0.1, 0.12, 0.11, 0.1, 0.13, 0.1, 0.0, -0.02)
WORSE = moved(-0.05, -0.06, -0.01, -0.07, -0.05, 0.0, -0.08, -0.02)


def system(name, values, measure="nDCG@10"):
    column = ("gold", measure, "")
    mean = sum(values.values()) / len(values)
    return System(
        name=name,
        benchmark="owls",
        protocol="collection",
        revision="1",
        preset="paper",
        values={column: values},
        means={column: mean},
        ranked=len(values),
        topics=len(values),
    )


def rows(measure="nDCG@10", **options):
    systems = [
        system("base", BASE, measure), system("better", BETTER, measure), system("worse", WORSE, measure)
    ]  # fmt: skip
    (table,) = comparison_tables(systems, "base", **options)
    return {row[1]: row for row in table.rows}


def test_differences_and_intervals_keep_their_sign():
    found = rows()
    for name, values in (("better", BETTER), ("worse", WORSE)):
        difference, span = found[name][3], bootstrap(values, BASE)
        assert difference.value == pytest.approx(100 * paired_t(values, BASE).difference)
        assert (difference.low, difference.high) == pytest.approx((100 * span.low, 100 * span.high))
        assert difference.low < difference.value < difference.high
    assert found["better"][3].low > 0 > found["worse"][3].high
    assert found["base"][2] == Number(pytest.approx(45.0))


def test_wins_are_units_on_which_the_system_is_better():
    assert (rows()["better"][4], rows()["worse"][4]) == ("6/1/1", "0/1/7")
    lower = rows("GoldRank")
    assert (lower["better"][4], lower["worse"][4]) == ("1/1/6", "7/1/0"), "a lower rank is better"
    assert lower["better"][3].value == pytest.approx(paired_t(BETTER, BASE).difference), "ranks are not x100"


@pytest.mark.parametrize(("name", "adjust"), [("holm", holm), ("bonferroni", bonferroni)])
def test_corrections_are_applied(name, adjust):
    plain = [paired_t(values, BASE).p for values in (BETTER, WORSE)]
    found = rows(correction=name)
    assert [found[s][6] for s in ("better", "worse")] == [f"{p:.4f}" for p in adjust(plain)]
    assert [rows()[s][6] for s in ("better", "worse")] == [f"{p:.4f}" for p in plain]


def test_marks_say_which_way():
    scores = {
        name: Score(parse("nDCG@10"), "", values, 0.0)
        for name, values in (("base", BASE), ("better", BETTER), ("worse", WORSE), ("same", BASE))
    }
    assert _marks(scores, "base") == {"better": "+", "worse": "-"}
    assert _marks({**scores, "base": None}, "base") == {}
