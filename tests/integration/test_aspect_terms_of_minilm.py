"""Terms of aspects with the default encoder and its head: add, index, similar, and an older library."""

from __future__ import annotations

import json
import re

import pytest

from aspectra.views.terms import view as heads

pytestmark = pytest.mark.usefixtures("home")

PAPERS = {
    "asthma": (
        "Inhaled budesonide in children with asthma",
        "Asthma is common in children. We treated 120 children with inhaled budesonide in a trial. "
        "Lung function improved after twelve weeks.",
    ),
    "rhinitis": (
        "Budesonide spray for hay fever",
        "Seasonal rhinitis disturbs sleep. Patients received budesonide as a nasal spray for four weeks. "
        "Symptom scores fell.",
    ),
    "school": (
        "A school programme for asthma",
        "Asthma is common in children. Nurses taught children breathing exercises at school. "
        "Lung function did not change.",
    ),
    "birds": ("Counting birds", "Birds migrate in autumn. Volunteers walked along the coast. Fewer came."),
}


def test_add_index_similar(run, home, monkeypatch):
    path = home / "papers.jsonl"
    path.write_text(
        "".join(json.dumps({"id": i, "title": t, "abstract": a}) + "\n" for i, (t, a) in PAPERS.items()),
        "utf-8",
    )
    assert run("init")[0] == 0
    assert run("add", path)[0] == 0
    assert run("index")[0] == 0
    code, out, _ = run("similar", "asthma", "--same", "method")
    assert code == 0
    assert re.search(r"^terms  method: .*budesonide", out, re.M)

    def first(*given):
        hits = json.loads(run("similar", "asthma", *given, "--json")[1])["hits"]
        return hits[0]["id"]

    assert first("--same", "method") == "rhinitis"
    assert first("--same", "background") == "school"
    assert first("--same", "method: volunteers") == "birds"
    # The same library as somebody has it who indexed before there was a head.
    other = ("--library", home / "old")
    with monkeypatch.context() as before:
        before.setattr(heads, "_shipped", tuple)
        assert run("init", *other)[0] == 0
        assert run("add", path, *other)[0] == 0
        assert run("index", *other)[0] == 0
        assert "terms of" not in run("similar", "asthma", "--same", "method", "--plan", *other)[1]
    code, out, _ = run("index", "--terms", *other)
    assert code == 0
    assert "(0 newly encoded)" in out
    assert "terms of method" in run("similar", "asthma", "--same", "method", "--plan", *other)[1]
