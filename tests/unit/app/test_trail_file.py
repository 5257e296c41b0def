"""The trail: one step for each answer, kept in a small file that survives damage and other writers."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from aspectra.app.library import open_library
from aspectra.app.surfaces.service import answering as module
from aspectra.app.surfaces.service.answering import (
    Answer,
    Service,
    Trail,
    TrailStep,
    changed_lines,
    encoders_of,
    moves,
)
from aspectra.app.surfaces.service.question import Question
from aspectra.base.errors import NoSuchThing
from aspectra.base.values import replace
from aspectra.search.plan import Plan


@pytest.fixture
def service(library):
    with open_library(library.folder) as opened:
        opened.index(encoders=[])
        yield Service(opened)


@pytest.fixture
def trail(tmp_path, service):
    return Trail(tmp_path / "state" / "trail.jsonl", lambda: encoders_of(service))


def _answer(service, text="owls", **given) -> Answer:
    return service.answer(Question(text=text, literal=True, **given))


def test_a_step_holds_what_repeats_and_compares_an_answer(service, trail):
    answer = service.answer(Question(text="owls since 2015", limit=2))
    step = trail.record(answer)
    assert step.number == 1
    assert Question.from_parameters(step.parameters) == answer.question
    assert step.plan_hash == answer.ranking.plan.hash == Plan.from_dict(step.plan).hash
    assert step.generation == answer.ranking.generation
    assert step.encoders.keys() == service.library.searcher.index.manifest["views"].keys()
    assert step.ids == tuple(answer.ranking.ids)
    assert step.scores == tuple(hit.score for hit in answer.ranking)
    assert step.applied == ("require year=>=2015",)
    assert Trail(trail.path).get(1) == step


def test_another_page_or_order_is_another_step(service, trail):
    question = Question(text="owls mice documents", literal=True, limit=1)
    first = trail.record(service.answer(question))
    second = trail.record(service.answer(question, page=2))
    by_year = trail.record(service.answer(question, sort="year"))
    assert [(one.number, one.page, one.sort, one.first) for one in (first, second, by_year)] == [
        (1, 1, "score", 1),
        (2, 2, "score", 2),
        (3, 1, "year", 1),
    ]


def test_the_same_answer_twice_is_one_step_and_a_new_index_another(service, trail):
    one = trail.record(_answer(service))
    assert trail.record(_answer(service)) == one
    other = trail.record(_answer(service, "mice"))
    assert trail.record(_answer(service)).number == other.number + 1  # not the step before: a step of its own
    service.library.index(rebuild=True)
    assert trail.record(_answer(service)).number == 4
    assert [step.number for step in trail.steps()] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b'{"number": 2, "at"',
        b"\x00\xff\xfe not json\n",
        b'{"number": 2}\n',
        b"[" * 100_000 + b"\n",
        b"null\n[]\n3\n",
        json.dumps({"number": "two"}).encode() + b"\n",
    ],
)
def test_damaged_lines_are_skipped_and_spoil_no_other(service, trail, damage):
    first = trail.record(_answer(service))
    with trail.path.open("ab") as file:
        file.write(damage)
    again = Trail(trail.path, lambda: encoders_of(service))
    assert again.steps() == [first]
    second = again.record(_answer(service, "mice"))
    assert Trail(trail.path).steps() == [second, first]


def test_the_file_is_cut_to_the_newest_and_numbers_go_on(service, trail, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 5)
    monkeypatch.setattr(module, "MOST", 8)
    sizes = []
    for number in range(20):
        step = trail.record(_answer(service, f"owls {number}"))
        assert step.number == number + 1
        sizes.append(len(trail.path.read_bytes().splitlines()))
    assert max(sizes) == 8
    assert [one.number for one in trail.steps()] == [20, 19, 18, 17, 16]
    assert [one.number for one in Trail(trail.path).steps()] == [20, 19, 18, 17, 16]
    assert not [name for name in os.listdir(trail.path.parent) if name != trail.path.name]
    with pytest.raises(NoSuchThing):
        trail.get(3)


def test_two_that_write_see_each_other(service, trail):
    other = Trail(trail.path, lambda: encoders_of(service))
    numbers = [one.record(_answer(service, f"owls {n}")).number for n, one in enumerate([trail, other] * 3)]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert trail.steps() == other.steps()
    other.clear()
    assert trail.steps() == []
    assert trail.record(_answer(service)).number == 1


def test_two_that_write_at_once_give_no_number_twice(service, trail):
    class Slow(Trail):
        def _write(self, step: TrailStep) -> None:
            time.sleep(0.02)
            super()._write(step)

    answers = [_answer(service, f"owls {n}") for n in range(9)]
    trail.record(answers[0])
    others = [Slow(trail.path), Slow(trail.path)]
    with ThreadPoolExecutor(2) as pool:
        numbers = pool.map(lambda n: others[n % 2].record(answers[n]).number, range(1, 9))
        assert sorted(numbers) == [*range(2, 10)]


def test_a_folder_that_cannot_be_written_is_said_and_is_no_error(service, tmp_path):
    (tmp_path / "file").write_text("")
    trail = Trail(tmp_path / "file" / "trail.jsonl")
    step = trail.record(_answer(service))
    assert trail.trouble
    assert trail.steps() == [step]


def test_words_of_any_kind_come_back(service, trail):
    text = "owls \ud800 \u202e\x00 “q”\n{}"
    trail.record(_answer(service, text))
    trail.path.read_bytes().decode("ascii")
    assert Trail(trail.path).get(1).parameters["text"] == [text]


def test_only_its_owner_reads_the_file(service, trail):
    trail.record(_answer(service))
    assert trail.path.stat().st_mode & 0o077 == 0


def test_a_plan_of_another_version_is_no_error(service, trail):
    step = trail.record(_answer(service))
    assert replace(step, plan={"steps": ["from the future"]}).described() == []
    assert step.described()[0].startswith(f"plan {step.plan_hash}")


def _step(step: TrailStep, *ids: str, page: int = 1) -> TrailStep:
    return replace(step, ids=ids, page=page, plan={"limit": 3})


def test_moves_are_told_in_words_and_signs(service, trail):
    step = trail.record(_answer(service))
    found = moves(_step(step, "a", "b", "c"), _step(step, "c", "b", "d"))
    assert [(one.id, one.said, one.sign) for one in found.values()] == [
        ("c", "up 2", "▲"),
        ("b", "same place", "="),
        ("d", "new", "+"),
        ("a", "gone", "−"),
    ]
    later = moves(_step(step, "a", "b", "c"), _step(step, "a", page=2))
    assert (later["a"].said, later["a"].after) == ("down 3", 4)


def test_lines_of_both_plans_are_in_one_order():
    before, after = ["a", "b", "c", "d"], ["a", "x", "c", "d", "e"]
    lines = changed_lines(before, after)
    assert [line for sign, line in lines if sign != "+"] == before
    assert [line for sign, line in lines if sign != "-"] == after
    assert lines.count((" ", "a")) == 1
