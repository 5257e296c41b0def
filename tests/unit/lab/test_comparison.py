"""Comparisons and the marks of tables, against numbers worked out by hand or with scipy."""

from __future__ import annotations

import pytest

from aspectra.base.values import replace
from aspectra.lab.benchmarks.protocol import Audit, Benchmark
from aspectra.lab.evaluation.means import Evaluation, Score
from aspectra.lab.experiments.execute import scores_of
from aspectra.lab.experiments.experiment import Cell
from aspectra.lab.experiments.scoring import CellOutcome
from aspectra.lab.measures.protocol import parse
from aspectra.lab.reports.scores import System, breakdown_table, comparison_tables, main_table
from aspectra.lab.reports.tables import render
from aspectra.lab.studies.file import Column, TableSpec
from aspectra.lab.studies.page import _column_table
from aspectra.search.recipe import Recipe

UNITS = [f"q{n}" for n in range(8)]
BASE = dict(zip(UNITS, (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), strict=True))


def moved(*steps):
    return {unit: BASE[unit] + step for unit, step in zip(UNITS, steps, strict=True)}


BETTER = moved(0.1, 0.12, 0.11, 0.1, 0.13, 0.1, 0.0, -0.02)
WORSE = moved(-0.05, -0.06, -0.01, -0.07, -0.05, 0.0, -0.08, -0.02)
WEAK = moved(0.06, -0.02, 0.05, 0.04, 0.0, 0.03, -0.01, 0.05)

# scipy.stats 1.16: ttest_rel and its confidence_interval(0.95), x100; wilcoxon(method="exact") and
# permutation_test over all 256 choices of signs.
T_TEST = {
    "better": (8.0, 3.2496856976618935, 12.750314302338102, "0.0053"),
    "worse": (-4.25, -6.687398888553537, -1.8126011114464613, "0.0044"),
    "weak": (2.5, -0.06708408155943826, 5.06708408155944, "0.0548"),
}
# confidence_interval(1 - 0.05 / 3).
SIMULTANEOUS = {
    "better": (1.7170329325451288, 14.282967067454877),
    "worse": (-7.473807094089624, -1.0261929059103712),
    "weak": (-0.8953342278608664, 5.8953342278608725),
}


def system(name, values, measure="nDCG@10", mean=None, judgements="gold"):
    column = (judgements, measure, "")
    return System(
        name=name,
        benchmark="owls",
        protocol="collection",
        preset="paper",
        values={column: values},
        means={column: sum(values.values()) / len(values) if mean is None else mean},
        cell={"ranked": len(values), "topics": len(values)},
        about={"revision": "1"},
    )


def table_of(measure="nDCG@10", **options):
    named = {"base": BASE, "better": BETTER, "worse": WORSE, "weak": WEAK}
    (table,) = comparison_tables([system(n, v, measure) for n, v in named.items()], "base", **options)
    return table


def rows(measure="nDCG@10", **options):
    return {row[1]: row for row in table_of(measure, **options).rows}


def test_differences_intervals_and_p_are_those_of_scipy():
    found = rows()
    for name, (difference, low, high, p) in T_TEST.items():
        number = found[name][3]
        assert (number.value, number.low, number.high) == pytest.approx((difference, low, high))
        assert found[name][6] == p
    assert {name: row[7] for name, row in found.items()} == {
        "base": "",
        "better": "*",
        "worse": "*",
        "weak": "",
    }
    assert {name: row[2].value for name, row in found.items()} == pytest.approx(
        {"base": 45.0, "better": 53.0, "worse": 40.75, "weak": 47.5}
    )


def test_wins_are_units_on_which_the_system_is_better():
    found = rows()
    assert [found[name][4] for name in ("better", "worse", "weak")] == ["6/1/1", "0/1/7", "5/1/2"]
    lower = rows("GoldRank")
    assert [lower[name][4] for name in ("better", "worse")] == ["1/1/6", "7/1/0"], "a lower rank is better"
    assert lower["better"][3].value == pytest.approx(0.08), "ranks are not x100"


@pytest.mark.parametrize("judgements", ["gold", "pairs"])
def test_pairs_of_one_paper_are_said_to_depend_on_each_other(judgements):
    named = {"base": BASE, "better": BETTER}
    systems = [system(n, v, "p-MRR", judgements=judgements) for n, v in named.items()]
    (table,) = comparison_tables(systems, "base")
    assert ("as if independent" in str(table.notes)) == (judgements == "pairs")


@pytest.mark.parametrize(
    ("correction", "ps", "stars"),
    [
        # Three systems: 3 times the least, twice the next (not below the first), the last as it is.
        ("holm", {"better": "0.0133", "worse": "0.0133", "weak": "0.0548"}, {"better", "worse"}),
        ("bonferroni", {"better": "0.0159", "worse": "0.0133", "weak": "0.1643"}, {"better", "worse"}),
    ],
)
def test_corrections_are_applied_to_p_and_to_intervals(correction, ps, stars):
    table = table_of(correction=correction)
    found = {row[1]: row for row in table.rows}
    assert {name: found[name][6] for name in ps} == ps
    assert {name for name in ps if found[name][7] == "*"} == stars
    for name, bounds in SIMULTANEOUS.items():
        assert (found[name][3].low, found[name][3].high) == pytest.approx(bounds)
    assert f"{correction}-corrected" in table.notes[0]
    assert "simultaneous" in table.notes[1]


def test_the_other_tests():
    randomised = rows(test="randomisation")
    assert [randomised[n][6] for n in ("better", "worse", "weak")] == ["0.0312", "0.0156", "0.0781"]
    # The p of all 256 choices, counted for shifts on a grid: 12 / 256 just below -0.5 and 14 / 256 there,
    # 24 / 256 at 5.0 and 10 / 256 just above.
    assert (randomised["weak"][3].low, randomised["weak"][3].high) == pytest.approx((-0.5, 5.0))
    assert randomised["better"][3].low > 0 > randomised["worse"][3].high
    ranks = table_of(test="wilcoxon")
    found = {row[1]: row for row in ranks.rows}
    assert found["worse"][6] == "0.0156", "all seven differences are negative: 2 of 128"
    assert found["better"][3].low is None
    assert "no intervals" in ranks.notes[1]


def test_small_samples_are_called_small():
    table = table_of()
    assert table.mark(1, 5) == " small"
    assert any(note.startswith("small: fewer than 30 units") for note in table.notes)
    large = {f"u{n:02}": n / 64 for n in range(32)}
    other = {unit: value + 0.01 * (n % 3) for n, (unit, value) in enumerate(large.items())}
    (table,) = comparison_tables([system("base", large), system("mine", other)], "base")
    assert table.mark(1, 5) == ""
    assert not any("small" in note for note in table.notes)


def test_a_mean_of_means_is_said_to_be_none_over_units():
    (table,) = comparison_tables([system("base", BASE, mean=0.5), system("mine", WEAK)], "base")
    assert any(note.startswith("nDCG@10: its mean is of other means") for note in table.notes)
    assert not any("of other means" in note for note in table_of().notes)
    # All means of equal values are the same: the other system shows how they were made.
    (table,) = comparison_tables(
        [system("base", dict.fromkeys(UNITS, 0.0)), system("mine", BASE, mean=0.5)], "base"
    )
    assert any(note.startswith("nDCG@10: its mean is of other means") for note in table.notes)


def outcome(name, values, measure="nDCG@10", mean=None, labels=None, sets=("gold",), remarks=()):
    benchmark = Benchmark("owls", lambda: iter(()), (), {"gold": {}}, revision="1", audit=Audit())
    mean = sum(values.values()) / len(values) if mean is None else mean
    score = Score(parse(measure), "", values, mean)
    found = Evaluation("paper", (score,), {}, labels=labels or {}, remarks=tuple(remarks))
    return CellOutcome(
        cell=Cell(Recipe(name, ("bm25",)), benchmark, "collection", 100, "state"),
        preset="paper",
        evaluations=dict.fromkeys(sets, found),
        topics=len(values),
        ranked=len(values),
        seconds=0.001,
        appended=0,
    )


NAMED = {"base": BASE, "better": BETTER, "worse": WORSE, "same": dict(BASE)}


def test_marks_and_bold_say_which_way():
    table = main_table("x", scores_of([outcome(n, v) for n, v in NAMED.items()]), baseline="base")
    assert table.columns == ("recipe", "nDCG@10", "ms/query")
    assert table.marks == {(1, 1): "+", (2, 1): "-"}
    assert table.best == {(1, 1)}
    text = render(table, "markdown")
    # Intervals of single means: scipy's ttest_1samp(values, 0).confidence_interval().
    assert "| base | 45.00 [24.5, 65.5] | 1.00 |" in text
    assert "| better | **53.00 [35.7, 70.3]+** | 1.00 |" in text
    assert "| worse | 40.75 [19.7, 61.8]- | 1.00 |" in text
    assert any("8 units, small: nDCG@10" in note for note in table.notes)


def test_nothing_is_marked_where_lower_is_better():
    table = main_table("x", scores_of([outcome(n, v, "GoldRank") for n, v in NAMED.items()]), baseline="base")
    assert (table.marks, table.best) == ({}, frozenset())


def test_an_interval_stands_only_beside_the_mean_that_it_is_of():
    table = main_table("x", scores_of([outcome("base", BASE, mean=0.7)]))
    assert (table.rows[0][1].value, table.rows[0][1].low) == (70.0, None)
    # The mean of pairs is of means also where all of them are equal.
    equal = dict.fromkeys(UNITS, 0.0)
    low = {
        sets: main_table("x", scores_of([outcome("b", equal, sets=(sets,))])).rows[0][1].low
        for sets in ("gold", "pairs")
    }
    assert low == {"gold": 0.0, "pairs": None}


def columns_of_parts(measures, counts, **told):
    """A study's table with a column for each measure of each benchmark."""
    parts = []
    for name, values in counts.items():
        cell = {"recipe": "bm25", "notes": (), "failed": 0}
        about = {"revision": "1", "documents": 9, "topics": len(values)}
        for measure in measures:
            sets = "pairs" if measure == "p-MRR" else "gold"
            one = system("bm25", values, measure, judgements=sets)
            parts.append(replace(one, benchmark=name, cell=cell, about=about))
    columns = tuple(Column(m, told.get(n, ""), benchmark=n) for n in counts for m in measures)
    return _column_table(TableSpec("x", columns=columns, intervals=True), parts, parts)


def test_columns_of_one_measure_over_different_units_are_told_apart():
    few, many = ({f"q{n}": 0.1 * n for n in range(count)} for count in (2, 40))
    notes = columns_of_parts(["nDCG@10"], {"owls": few, "mice": many}).notes
    assert {"2 units, small: nDCG@10 on owls", "40 units: nDCG@10 on mice"} <= set(notes)
    notes = columns_of_parts(["nDCG@10"], {"owls": few, "mice": many}, owls="prey").notes
    assert "2 units, small: prey" in notes
    notes = columns_of_parts(["nDCG@10", "AP"], {"owls": many, "mice": many}).notes
    assert "40 units: nDCG@10, AP" in notes


def test_a_column_of_pairs_has_no_interval():
    table = columns_of_parts(["nDCG@10", "p-MRR"], {"owls": dict.fromkeys(UNITS, 0.0)})
    assert [cell.low for cell in table.rows[0][1:]] == [0.0, None]


def test_two_judgement_sets_of_one_measure_are_told_apart():
    table = main_table("x", scores_of([outcome("base", BASE, sets=("gold", "pooled"))]))
    assert table.columns[1:3] == ("nDCG@10 gold", "nDCG@10 pooled")


def test_remarks_that_are_not_printed_are_counted():
    table = main_table("x", scores_of([outcome("base", BASE, remarks=[f"remark {n}" for n in range(9)])]))
    assert "remark 5" in table.notes
    assert "remark 6" not in table.notes
    assert "and 3 more: see results.json" in table.notes


def test_breakdowns_leave_nothing_out_silently():
    labels = {unit: {"kind": "ab"[n % 2]} for n, unit in enumerate(UNITS[:6])}
    only_a = {unit: BASE[unit] for unit in UNITS[::2]}
    found = [outcome("all", BASE, labels=labels), outcome("some", only_a, labels=labels)]
    table = breakdown_table("x", scores_of(found), "nDCG@10", "kind")
    # a: q0, q2, q4 = 0.1, 0.3, 0.5; b: q1, q3, q5 = 0.2, 0.4, 0.6; q6 and q7 have no kind.
    assert table.rows[0] == ("all", pytest.approx(30.0), pytest.approx(40.0), pytest.approx(35.0))
    assert table.rows[1] == ("some", pytest.approx(30.0), None, None), "no mean over some of the kinds"
    assert table.notes == ("nDCG@10; units: a 3, b 3", "2 units have no kind and are in no column")


def test_what_a_model_did_not_answer_is_said():
    silent = system("silent", BASE)
    silent = replace(silent, cell={**silent.cell, "unanswered": (479, 480)})
    (table,) = comparison_tables([system("base", BASE), silent, system("better", BETTER)], "base")
    told = [note for note in table.notes if "readable answer" in note]
    assert told == ["silent: of 480 questions to the model 479 got no readable answer"]
