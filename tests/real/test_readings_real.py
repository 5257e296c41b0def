"""Verdicts and shares agree to the digit with the script of the annotated texts beside the checkout."""

from __future__ import annotations

import importlib.util
import json
import sys

import pytest

from annotations import Annotation, read_text
from verdicts import judge_reading, reading_scores

YEAR = 2026


def folder(shared):
    path = shared / "data" / "wishes"
    if not path.is_dir():
        pytest.skip("the annotated texts are not here")
    return path


def script(shared):
    spec = importlib.util.spec_from_file_location("wishes_score", folder(shared) / "score.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row_of(one: Annotation) -> dict:
    read = read_text(one).to_dict()
    aspects = {"same": read.pop("same", []), "different": read.pop("different", [])}
    return {"topic": "", "conditions": [], "unread": [], **read, "id": one.id, "aspects": aspects}


@pytest.mark.parametrize("name", ["dev", "dev_extra"])
def test_scores_agree(shared, name, tmp_path, capsys, monkeypatch):
    score = script(shared)
    gold = folder(shared) / f"{name}.jsonl"
    own = [Annotation.of(json.loads(line)) for line in gold.read_text("utf-8").splitlines()]
    rows = [row_of(one) for one in own]
    judged = [(one, judge_reading(one, read_text(one), YEAR)) for one in own]
    for (one, verdict), row, line in zip(judged, rows, gold.read_text("utf-8").splitlines(), strict=True):
        theirs = score.judge(json.loads(line), row, YEAR)
        assert list(verdict.results) == theirs["result"], one.text
        assert list(verdict.undecidable) == theirs["unread"], one.text
        assert (verdict.exact, verdict.topic, verdict.told) == (
            theirs["exact"],
            theirs["topic_ok"],
            theirs["told_ok"],
        )
        assert verdict.damaged == bool(theirs["damaged"]), one.text
    found = tmp_path / "read.jsonl"
    found.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    monkeypatch.setattr(sys, "argv", ["score.py", str(gold), str(found), "--year", str(YEAR)])
    score.main()
    printed = capsys.readouterr().out
    ours = reading_scores(judged)
    p, r = (ours[n].share for n in ("precision", "recall"))
    assert f"P {100 * p:.1f}  R {100 * r:.1f}  F1 {200 * p * r / max(1e-9, p + r):.1f}" in printed
    for measure, label in (
        ("exact, all texts", "exact text right, all          "),
        ("exact, texts with requests", "exact text right, with wishes  "),
        ("silently lost", "silently lost                  "),
        ("exceptions right", "exceptions kept or softened    "),
        ("aspects right", "aspects right                  "),
        ("plain texts damaged", "damaged topics                 "),
    ):
        one = ours[measure]
        assert f"{label} {one.hits}/{one.of} ({100 * one.share:.1f} %)" in printed
    assert f"denied words left in the search in {ours['texts that search for denied words'].hits} " in printed
