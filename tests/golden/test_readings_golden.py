"""Verdicts on readings of requests against those of another implementation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotations import Annotation, Reading
from verdicts import judge_reading

GOLDEN = json.loads((Path(__file__).parent / "readings.json").read_text("utf-8"))


@pytest.mark.parametrize("number", range(len(GOLDEN["cases"])))
def test_verdict(number):
    case = GOLDEN["cases"][number]
    verdict = judge_reading(
        Annotation.of(case["annotation"]), Reading.from_dict(case["reading"]), GOLDEN["year"]
    )
    expected = case["expected"]
    assert list(verdict.results) == expected.pop("results")
    assert list(verdict.undecidable) == expected.pop("undecidable")
    assert {name: getattr(verdict, name) for name in expected} == expected
