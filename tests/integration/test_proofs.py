"""The long proofs of ``tests/proofs``, for a few seconds each, and the parts of them that can be complete."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal

import pytest

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.searcher import Searcher
from aspectra.testing import Fault, run_with_fault
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from long import LONG
from proofs import crashes, interrupts, mutants, soak
from proofs.summary import Summary

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs fork")
WORDS_ONLY = IndexSettings(encoders=(), chunks=(), lenses=())


def test_every_mutant_fits_the_code():
    assert mutants.problems() == []
    assert len(mutants.mutants()) >= 60


def test_a_mutant_dies():
    (chosen,) = [mutant for mutant in mutants.mutants() if mutant.name == "ties-by-id-ascending"]
    summary = mutants.prove([chosen], 0, jobs=1)
    assert summary.faults == []


@pytest.mark.parametrize(("count", "step"), [(15, "")] if LONG else [(2, "index more"), (2, "lens run")])
def test_a_few_crashes_lose_nothing(count, step):
    summary = crashes.prove(count, seed=5, only=step)
    assert summary.faults == []
    assert sum(counts["equal"] for counts in summary.counts.values()) == count


def test_an_interrupt_is_said_and_loses_nothing(home, tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        summary = interrupts.prove(2, 5, tmp_path, only=["add"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert summary.faults == []
    assert [counts["interrupts"] for counts in summary.counts.values()] == [1, 1]


def test_readers_and_a_writer_for_a_few_seconds():
    for seconds in (15 if LONG else 5, 60, 300):  # a busy machine gets more
        summary = soak.prove(seconds, seed=3, readers=2)
        assert summary.faults == []
        if summary.counts["readers"]["equal"] > 5:
            break
    assert summary.counts["readers"]["equal"] > 5


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """A library whose index lacks its last paper."""
    folder = tmp_path_factory.mktemp("crash") / "library"
    with Store.create(folder) as store:
        for paper in (Paper("owl", "Owls hunt at night"), Paper("fox", "Foxes hunt by day")):
            with store.writing("add") as writer:
                writer.add([paper])
                writer.checkpoint()
            if paper.id == "owl":
                build_index(store, WORDS_ONLY)
    return folder


def test_an_index_that_crashes_at_any_operation_is_the_old_one_or_the_new(indexed, tmp_path):
    folder = tmp_path / "library"
    found = []
    draw = random.Random(1)

    def step() -> None:
        with Store(folder) as store:
            build_index(store, WORDS_ONLY)

    for at in range(0, 1000, 1 if LONG else 6):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(indexed, folder)
        outcome = run_with_fault(step, folder, Fault(at, "power", draw.randrange(1000)))
        assert not outcome.error
        with Searcher(Store(folder)) as searcher:
            found.append(searcher.search("hunt", "bm25").ids)
            assert searcher.library.generations.verify(searcher.index.folder) == []
        if not outcome.crashed:
            break
    assert at > 20
    assert found[0] == ["owl"]
    assert sorted(found[-1]) == ["fox", "owl"]
    assert {len(ids) for ids in found} == {1, 2}


def test_a_summary_counts_prints_and_records(tmp_path, capsys):
    summary = Summary("made up", 7)
    summary.count("add", "held", 3)
    summary.count("index", "held")
    assert summary.finish(tmp_path / "some" / "record.jsonl") == 0
    summary.broken("index", "lost", "a paper")
    summary.fact("generations", 2)
    assert summary.finish(tmp_path / "some" / "record.jsonl") == 1
    lines = [json.loads(line) for line in (tmp_path / "some" / "record.jsonl").read_text().splitlines()]
    assert [line["counts"]["index"] for line in lines] == [{"held": 1}, {"held": 1, "lost": 1}]
    assert lines[1]["broken"] == ["index: a paper"]
    assert lines[1]["facts"] == {"generations": 2}
    assert lines[1]["seed"] == 7
    out = capsys.readouterr().out
    assert "made up: seed 7" in out
    assert [line.split() for line in out.splitlines() if line.startswith("all")][-1] == ["all", "4", "1"]
