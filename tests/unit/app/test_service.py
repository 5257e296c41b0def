"""What served surfaces share: admission, handles, names of files, the question as an address."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from dataclasses import fields, is_dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("anyio", reason="the page needs: pip install 'aspectra[serve]'")

from aspectra.app.library import create_library, open_library
from aspectra.app.surfaces.service.access import DeadlineReached, Gate, leave_turn
from aspectra.app.surfaces.service.answering import Cursor, Handles, Service
from aspectra.app.surfaces.service.jobs import Jobs, plain_name
from aspectra.app.surfaces.service.question import Question
from aspectra.base.errors import Gone, NoSuchThing, Overloaded, UsageError, ViewMismatch
from aspectra.search.rerank.judges.protocol import JUDGES
from aspectra.search.stages.protocol import STAGES


def test_only_so_many_pieces_of_work_run_at_once():
    running, most = 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1

    async def all_of_them() -> None:
        gate = Gate(2)
        await asyncio.gather(*(gate.run(work) for _ in range(12)))
        assert (gate.done, gate.waiting, gate.refused) == (12, 0, 0)

    asyncio.run(all_of_them())
    assert most == 2


def test_what_nobody_waits_for_is_not_run():
    ran = []

    async def leave() -> None:
        gate = Gate(1)

        async def gone() -> bool:
            return True

        with pytest.raises(DeadlineReached):
            await gate.run(lambda: ran.append("late"), gone=gone)
        await gate.run(lambda: ran.append("next"))

    asyncio.run(leave())
    assert ran == ["next"]


def test_a_long_queue_is_refused_with_the_time_to_come_back():
    async def flood() -> list[object]:
        gate = Gate(1, patience=0.1)
        many = (gate.run(lambda: time.sleep(0.03)) for _ in range(20))
        return await asyncio.gather(*many, return_exceptions=True)

    refused = [one for one in asyncio.run(flood()) if isinstance(one, Overloaded)]
    assert 0 < len(refused) < 20
    assert all(one.retry_after is not None and one.retry_after >= 1 for one in refused)


def test_a_turn_comes_back_after_a_deadline_and_after_an_error():
    async def use() -> str:
        gate = Gate(1, deadline=5)
        with pytest.raises(DeadlineReached):
            await gate.run(lambda: time.sleep(0.2), deadline=0.05)
        with pytest.raises(ZeroDivisionError):
            await gate.run(lambda: 1 // 0)
        return await gate.run(lambda: "free")

    assert asyncio.run(use()) == "free"


def test_work_that_asks_a_model_holds_up_no_other_and_has_its_own_time():
    answers = threading.Event()

    def ask() -> str:
        leave_turn()
        answers.wait(20)
        return "asked"

    async def use() -> list[str]:
        gate = Gate(1, deadline=0.3)
        asking = []
        for _ in range(4):
            asking.append(asyncio.ensure_future(gate.run(ask)))
            await gate.run(lambda: "free", deadline=5)
        with pytest.raises(Overloaded, match="language model"):
            await gate.run(ask, deadline=5)
        await gate.run(lambda: time.sleep(0.4), deadline=5)  # longer than the gate's own
        answers.set()
        return await asyncio.gather(*asking)

    assert asyncio.run(use()) == ["asked"] * 4


_CURSORS = st.builds(
    Cursor,
    st.text("0123456789abcdef", min_size=1, max_size=12),
    st.text("0123456789", min_size=1, max_size=8),
    st.integers(1, 10),
    st.sampled_from(["score", "year", "title"]),
)


@given(_CURSORS)
def test_a_cursor_reads_back(cursor):
    handles = Handles()
    assert handles.read(handles.write(cursor)) == cursor
    with pytest.raises(Gone):
        Handles().read(handles.write(cursor))


@given(_CURSORS, st.integers(0, 200), st.sampled_from("ABCxyz019-_"))
def test_a_changed_cursor_is_refused(cursor, place, letter):
    handles = Handles(b"k" * 32)
    text = handles.write(cursor)
    at = place % len(text)
    changed = text[:at] + letter + text[at + 1 :]
    with contextlib.suppress(Gone, UsageError):
        assert handles.read(changed) == cursor  # the last letter has bits that mean nothing


@given(st.text(max_size=500))
def test_anything_else_is_no_cursor(text):
    with pytest.raises((Gone, UsageError)):
        Handles().read(text)


@given(st.text(max_size=300))
def test_a_plain_name_is_one_plain_part(name):
    plain = plain_name(name)
    assert plain == PurePosixPath(plain).name == PureWindowsPath(plain).name
    assert 0 < len(plain) <= 80
    assert not plain.startswith((".", "-"))
    assert "\0" not in plain


def test_files_are_kept_under_their_content(tmp_path):
    jobs = Jobs(tmp_path / "x.lib", tmp_path / "uploads")
    first = jobs.keep("../../a.bib", b"@x{}")
    assert first == jobs.keep("a.bib", b"@x{}")
    assert first.parent != jobs.keep("a.bib", b"@y{}").parent
    assert first.resolve().is_relative_to(tmp_path / "uploads")
    assert first.read_bytes() == b"@x{}"
    with pytest.raises(NoSuchThing):
        jobs.get("none")
    with pytest.raises(UsageError, match="no benchmark"):
        jobs.bench("../../etc", ["bm25"])
    with pytest.raises(UsageError, match="are not here"):
        jobs.bench("csfcube", ["bm25"])
    (tmp_path / "csfcube").mkdir()
    jobs = Jobs(tmp_path / "x.lib", tmp_path / "uploads", benchmarks=tmp_path)
    outputs = [
        Path(given[given.index("--output") + 1])
        for given in (jobs.bench("csfcube", recipes) for recipes in (["bm25"], ["hybrid"], ["bm25"]))
    ]
    assert outputs[0] == outputs[2] != outputs[1]  # a request asked again goes on; another has its own folder
    assert {one.parent for one in outputs} == {tmp_path / "experiments"}


def _file_options() -> list[str]:
    """Every option of a step or a judge that names a file or a folder of prompts."""
    made = [maker for family in (STAGES, JUDGES) for maker in map(family.get, family)]
    names = {field.name for maker in made if is_dataclass(maker) for field in fields(maker)}
    return sorted(
        name for name in names if any(word in name for word in ("prompt", "file", "path", "folder"))
    )


@pytest.mark.parametrize("option", ["x.toml", *(f"a({one} = '/etc/passwd')" for one in _file_options())])
def test_no_request_names_a_file(option, tmp_path):
    assert {"hop_prompt", "prompt_file", "prompts", "read_prompt"} <= {*_file_options()}
    (tmp_path / "csfcube").mkdir()
    with pytest.raises(UsageError, match="names a file"):
        Question(text="owls", recipe=f"bm25 | {option}")
    with pytest.raises(UsageError, match="names a file"):
        Jobs(tmp_path, tmp_path, benchmarks=tmp_path).bench("csfcube", [f"bm25 | {option}"])


_WORDS = st.text(max_size=40).filter(lambda text: text == text.strip() and text != "")
_QUESTIONS = st.builds(
    Question,
    text=st.text(max_size=60).map(str.strip),
    seeds=st.lists(_WORDS, max_size=3).map(tuple),
    same=st.lists(_WORDS, max_size=3).map(tuple),
    conditions=st.lists(_WORDS, max_size=3).map(tuple),
    same_sentences=st.lists(st.integers(1, 99), max_size=3).map(tuple),
    literal=st.booleans(),
    any_year=st.booleans(),
    since=st.none() | st.integers(0, 9999),
    limit=st.integers(1, 100),
    evidence=st.integers(0, 5),
    versions=st.sampled_from(["best", "all"]),
)


@given(_QUESTIONS)
def test_an_address_holds_the_whole_question(question):
    named: dict[str, list[str]] = {}
    for name, value in question.parameters():
        named.setdefault(name, []).append(value)
    assert Question.from_parameters(named) == question
    assert Question.from_dict(question.to_dict()) == question


def test_the_newest_index_answers(tmp_path):
    """Made beside the service, as another process makes it."""
    (tmp_path / "owls.bib").write_text("@article{a, title={Owls}, year=2020, abstract={Owls hunt.}}", "utf-8")
    library = create_library(tmp_path / "owls.lib")
    service = Service(library)
    with pytest.raises(ViewMismatch, match="no index yet"):
        service.generation()
    library.add(tmp_path / "owls.bib")
    library.index(encoders=[])
    first = service.generation()
    with open_library(tmp_path / "owls.lib") as beside:
        beside.index(encoders=[], chunks=[])
    assert service.generation() != first
    service.close()
