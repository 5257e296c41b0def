"""One pass of a prompted lens over a small library, with scripted replies."""

from __future__ import annotations

import json
import os

import pytest

from aspectra.base.errors import LibraryBusy, LibraryCorrupt, UsageError
from aspectra.base.values import replace
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.budget import Limits
from aspectra.llm.chat import (
    BadRequest,
    BudgetReached,
    ContextExceeded,
    KeyRefused,
    Offline,
    Refused,
    Reply,
    Transient,
    Usage,
)
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.derived import DerivedWriter
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.prompted.definition import (
    LensAnswer,
    PromptedLens,
    check_name,
    define,
    definition,
    definitions,
    forget_lens,
    readings,
    tally,
    usable,
)
from aspectra.views.prompted.running import bound_to, estimate_lens, run_lens

PROMPT = """
placeholders = ["paper", "rules", "answer"]
system = "{{rules}}"
user = "{{paper}} Which bird? {{answer}}"
usual_tokens = 8

[schema]
type = "string"
"""
LENS = PromptedLens("bird", PROMPT)


def answer(value):
    return json.dumps({"value": value})


class World:
    """A scripted model with its layers around it, and the journal kept from one run to the next."""

    def __init__(self, folder, script=None, name="scripted"):
        self.folder, self.name = folder, name
        self.script = script or (lambda request: answer(f"seen in {request.subjects[0]}"))
        self.asked = []

    def run(self, library, lens=LENS, *, limits=None, offline=False, **more):
        scripted = Scripted(self.script, name=self.name)
        settings = ModelSettings(
            journal=self.folder / "journal.db", prices=self.folder / "none.toml", limits=limits or Limits(),
            lanes=2, tries=1,
        )  # fmt: skip
        with wrap_model(scripted, settings) as model:
            report = run_lens(library, bound_to(lens, model.name, switch=True), model, **more)
            self.asked = scripted.asked
        return report

    def estimate(self, library, lens=LENS):
        settings = ModelSettings(journal=self.folder / "journal.db", prices=self.folder / "none.toml")
        with wrap_model(Scripted([], name=self.name), settings) as model:
            return estimate_lens(library, bound_to(lens, model.name), model)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def values(library, lens=LENS, model="scripted"):
    found = readings(library, lens.with_model(model))
    return {paper.id: reading.value for paper, reading in found if reading is not None}


def many(folder, count=50):
    library = Store.create(folder / "many")
    with library.writing("add") as writer:
        writer.add(
            Paper(f"p{n:03}", f"Paper {n}", f"The abstract of number {n} says {n} things.")
            for n in range(count)
        )
    return library


def test_every_text_is_asked_about_once_and_a_title_never(library, world):
    report = world.run(library)
    assert (report.values, report.failed, report.cost.calls) == (4, 1, 4)
    assert report.failures == {"no text beyond a title": 1}
    assert report.stopped is None
    assert values(library)["full"] == "seen in full"
    again = world.run(library)
    assert (again.values, again.cost.calls, again.cost.recorded) == (0, 0, 0)


def test_a_new_paper_costs_one_call_and_a_changed_one_too(library, world):
    world.run(library)
    with library.writing("add") as writer:
        writer.add([Paper("new", "New", "Herons fish.")])
    assert world.run(library).cost.calls == 1
    with library.writing("add") as writer:
        writer.add([Paper("new", "New", "Herons fish by day.")])
    assert world.run(library).cost.calls == 1


def test_a_paper_whose_record_alone_changed_keeps_its_value(library, world):
    world.run(library)
    with library.writing("add") as writer:
        held = library.get("owl")
        writer.add([replace(held, year=1999)])
    report = world.run(library)
    assert (report.values, report.cost.calls, report.cost.recorded) == (0, 0, 0)


def test_what_a_model_made_up_is_labelled(library, world):
    assert world.run(library).simulated
    assert tally(library, LENS.with_model("scripted")).simulated == 4


def test_malformed_replies_are_asked_again_with_what_was_wrong(library, world):
    seen = {}

    def script(request):
        paper = request.subjects[0]
        seen[paper] = seen.get(paper, 0) + 1
        return "It is an owl." if paper == "owl" and seen[paper] < 3 else answer("x")

    world.script = script
    report = world.run(library)
    assert (report.values, report.malformed) == (4, 2)
    assert seen["owl"] == 3
    asked = [r for r in world.asked if r.subjects == ("owl",)]
    assert [len(r.messages) for r in asked] == [2, 4, 4]
    assert asked[1].messages[2].content == "It is an owl."
    assert "no JSON" in asked[1].messages[3].content
    reading = {p.id: r for p, r in readings(library, LENS.with_model("scripted"))}["owl"]
    assert (reading.calls, reading.malformed) == (3, 2)


def test_a_value_cut_off_at_the_limit_is_asked_again(library, world):
    lens = PromptedLens("bird", PROMPT.replace("usual_tokens", 'reply = "text"\nusual_tokens'))
    world.script = lambda request: Reply("An ow", finish="stop" if request.repeat else "length")
    report = world.run(library, lens)
    assert (report.values, report.malformed) == (4, 4)


def test_a_paper_asked_about_in_vain_is_counted_and_only_asked_again_on_request(library, world):
    world.script = lambda request: "no idea" if request.subjects[0] == "owl" else answer("x")
    report = world.run(library)
    assert (report.values, report.failed, report.malformed) == (3, 2, 3)
    assert "malformed: the reply is no JSON" in report.failures
    assert world.run(library).cost.calls == 0
    world.script = lambda request: answer("at last")
    again = world.run(library, failed=True)
    assert (again.values, again.malformed, again.cost.calls) == (1, 0, 1)
    assert values(library)["owl"] == "at last"
    reading = {p.id: r for p, r in readings(library, LENS.with_model("scripted"))}["owl"]
    assert (reading.calls, reading.malformed) == (4, 3)  # what it took in all


def test_unreadable_answers_are_not_paid_twice_either(library, world):
    world.script = lambda request: "no idea" if request.repeat == 0 else answer("x")
    assert world.run(library).malformed == 4
    forget_lens(library, "bird")  # as after a kill: the answers are in the journal alone
    report = world.run(library)
    assert (report.values, report.malformed, report.cost.calls, report.cost.recorded) == (4, 4, 0, 8)


def test_refusals_and_texts_too_long_do_not_end_a_run(library, world):
    def script(request):
        paper = request.subjects[0]
        if paper == "owl":
            return Refused("the model declined")
        if paper == "full" and len(request.messages[1].content) > 2000:
            return ContextExceeded("too long")
        return answer(f"{len(request.messages[1].content)}")

    world.script = script
    report = world.run(library)
    assert report.failures["declined: the model declined"] == 1
    assert report.cut == 1
    assert int(values(library)["full"]) <= 2000
    assert report.stopped is None


def test_a_budget_that_ends_half_way_is_said_and_gone_on_from(tmp_path, world):
    library = many(tmp_path)
    report = world.run(library, limits=Limits(calls=20), batch=16)
    assert isinstance(report.stopped, BudgetReached)
    assert report.cost.calls == 20
    assert report.values == 20
    assert report.values + report.unanswered + report.left == 50
    rest = world.run(library)
    assert (rest.values, rest.cost.calls) == (30, 30)
    assert len(values(library)) == 50


def test_a_refused_key_ends_a_run_after_one_batch(tmp_path, world):
    library = many(tmp_path)
    world.script = lambda request: KeyRefused("the key is refused")
    report = world.run(library, batch=8)
    assert isinstance(report.stopped, KeyRefused)
    assert report.left == 42
    assert values(library) == {}


def test_an_endpoint_that_serves_nobody_ends_a_run_and_one_that_fails_now_and_then_does_not(tmp_path, world):
    library = many(tmp_path)
    world.script = lambda request: Transient("overloaded")
    assert isinstance(world.run(library, batch=8).stopped, Transient)
    world.script = lambda request: Transient("once") if request.subjects[0] == "p000" else answer("x")
    report = world.run(library, batch=8)
    assert (report.values, report.unanswered, report.left) == (49, 1, 0)
    assert isinstance(report.stopped, Transient)
    world.script = lambda request: answer("x")
    assert world.run(library).values == 1


def test_a_refused_request_is_no_fact_about_a_paper(tmp_path, world):
    library = many(tmp_path)
    refused = BadRequest("the endpoint refuses the request", why="status 400: no such field")
    world.script = lambda request: refused if request.subjects[0] == "p000" else answer("x")
    report = world.run(library, batch=8)
    assert (report.values, report.failed, report.unanswered, report.left) == (49, 0, 1, 0)
    assert "no such field" in report.stopped.why
    world.script = lambda request: answer("x")
    assert world.run(library).values == 1
    forget_lens(library, "bird")
    world.script = lambda request: refused
    report = world.run(library, batch=8, lens=replace(LENS, name="other"))
    assert (report.unanswered, report.left) == (8, 42)


def test_nothing_is_asked_offline(library, world, monkeypatch):
    world.run(library)
    forget_lens(library, "bird")
    with library.writing("add") as writer:
        writer.add([Paper("new", "New", "Herons fish.")])
    world.script = lambda request: Offline("not recorded")
    report = world.run(library)
    assert (report.values, report.unanswered, report.cost.calls) == (4, 1, 0)
    assert isinstance(report.stopped, Offline)


def test_another_model_or_prompt_or_schema_starts_anew_and_the_old_values_stay(library, world, tmp_path):
    world.run(library)
    other = World(tmp_path, lambda request: answer("other"), name="other")
    other.run(library)
    assert set(values(library, model="other").values()) == {"other", None}
    assert values(library)["owl"] == "seen in owl"
    changed = replace(LENS, text=PROMPT.replace("Which bird", "What bird"))
    assert values(library, changed) == {}
    assert tally(library, changed.with_model("scripted")).old == 10
    as_label = replace(LENS, schema={"enum": ["yes", "no"]})
    assert as_label.with_model("scripted").fingerprint != LENS.with_model("scripted").fingerprint
    assert world.run(library).cost.calls == 0  # back to the first: nothing is paid twice


def test_two_models_are_not_mixed_unless_asked_for():
    lens = LENS.with_model("one")
    with pytest.raises(UsageError, match="computed by the model 'one'"):
        bound_to(lens, "two")
    assert bound_to(lens, "two", switch=True).model == "two"


def test_the_estimate_counts_what_is_left(library, world):
    before = world.estimate(library)
    assert (before.papers, before.without_text, before.measured) == (4, 1, 0)
    assert before.cost.completion_tokens == 4 * 8
    assert before.cost.unpriced == 4
    world.run(library)
    after = world.estimate(library)
    assert (after.papers, after.cost.calls) == (0, 0)


def test_recorded_answers_cost_nothing_in_the_estimate(library, world):
    world.run(library)
    forget_lens(library, "bird")
    found = world.estimate(library)
    assert (found.papers, found.recorded, found.cost.calls) == (4, 4, 0)


def test_a_pilot_measures_tokens_and_malformed_replies(tmp_path, world):
    library = many(tmp_path, 240)

    def script(request):
        if int(request.subjects[0][1:]) % 4 == 0 and request.repeat == 0:
            return Reply("nonsense", usage=Usage(300, 2))
        return Reply(answer("x"), usage=Usage(300, 40))

    world.script = script
    plain = world.estimate(library)
    pilot = world.run(library, most=60, spread=True)
    found = world.estimate(library)
    rest = world.run(library)
    assert found.measured == 60
    assert found.simulated
    total, spent = pilot.cost.tokens + found.cost.tokens, pilot.cost.tokens + rest.cost.tokens
    assert abs(total - spent) <= 0.2 * spent
    assert abs(plain.cost.tokens - spent) > 0.2 * spent  # so measuring was worth it


def test_a_sample_has_nothing_to_do_with_the_order(tmp_path, world):
    library = many(tmp_path, 200)
    world.run(library, most=40, spread=True)
    asked = sorted(int(r.subjects[0][1:]) for r in world.asked)
    assert asked != list(range(40))
    assert 40 < sum(asked) / len(asked) < 160


def test_a_busy_library_costs_no_answers(library, world, monkeypatch):
    real, turns = DerivedWriter.put, []

    def busy(writer, producer, rows):
        turns.append(len(rows))
        if len(turns) < 3:
            raise LibraryBusy("somebody is writing")
        real(writer, producer, rows)

    monkeypatch.setattr(DerivedWriter, "put", busy)
    assert world.run(library, batch=2).values == 4
    assert len(values(library)) == 5
    assert turns[-1] >= 3  # what could not be written went with the next


def test_definitions_are_kept_with_their_text(library, tmp_path):
    file = tmp_path / "bird.toml"
    file.write_text(PROMPT)
    with library.writing("lens") as writer:
        define(library, writer, replace(LENS, path=str(file)))
    assert definition(library, "bird").prompt.stamp == LENS.prompt.stamp
    assert definition(library, "bird").drift == ""
    file.write_text(PROMPT + "\n# changed")
    assert "something else by now" in definition(library, "bird").drift
    file.unlink()
    assert "gone" in definition(library, "bird").drift
    with pytest.raises(UsageError, match="no prompted lens 'fish'"):
        definition(library, "fish")
    assert list(definitions(library)) == ["bird"]


def test_room_for_thinking_changes_no_value(library, world):
    world.run(library)
    roomy = replace(LENS, thinking=1000)
    assert roomy.fingerprint == LENS.fingerprint
    with library.writing("add") as writer:
        writer.add([Paper("new", "New", "Herons fish.")])
    assert world.run(library, roomy).cost.calls == 1
    assert world.asked[0].max_tokens == LENS.prompt.max_tokens + 1000


def test_a_local_lens_is_not_run(library):
    with pytest.raises(UsageError, match="is local") as error:
        definition(library, "style")
    assert "aspectra lens add style" in error.value.hint


@pytest.mark.parametrize("name", ["Owl", "1st", "a b", "", "x" * 41, "language", "style", "year"])
def test_names_that_could_not_be_told_apart_are_refused(name):
    with pytest.raises(UsageError):
        check_name(name)


def test_a_reading_reads_back():
    reading = LensAnswer("é\ud800", calls=2, asked=9, malformed=1, repaired=True, simulated=True, thumb=4)
    assert LensAnswer.unpack(reading.pack()) == reading
    assert LensAnswer.unpack(LensAnswer(None, "why").pack()) == LensAnswer(None, "why")


@pytest.mark.parametrize(
    "row",
    [
        {"name": "../../x", "text": ""},
        {"name": "a/b", "text": ""},
        {"name": "fine", "text": 3},
        {"name": "fine"},
        {"text": ""},
        "fine",
        {"name": "fine", "text": "", "schema": []},
    ],
)
def test_an_impossible_lens_of_a_library_is_refused(library, row):
    with library.writing("evil") as writer:
        writer.set_meta("prompted_lenses", json.dumps([row]))
    with pytest.raises(LibraryCorrupt, match="list of lenses cannot be read"):
        definitions(library)


def test_a_lens_of_a_library_names_no_address(library):
    row = {"name": "stance", "text": "", "base_url": "http://127.0.0.1:1/v1", "key_variable": "HOME"}
    with library.writing("evil") as writer:
        writer.set_meta("prompted_lenses", json.dumps([row]))
    assert definitions(library) == {"stance": PromptedLens("stance", "")}
    assert usable(library) == {}


def test_a_pipe_is_not_waited_for_to_see_whether_a_prompt_changed(tmp_path):
    os.mkfifo(tmp_path / "prompt.toml")
    assert "is gone" in PromptedLens("stance", "", path=str(tmp_path / "prompt.toml")).drift
