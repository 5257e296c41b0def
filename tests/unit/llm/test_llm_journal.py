"""The journal: on disk before use, accepted answers only, asked once, damage noticed."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.errors import UsageError
from aspectra.base.files import digest_texts
from aspectra.base.values import replace
from aspectra.llm.budget import spending
from aspectra.llm.chat import Message, Reply, Request, Transient, Usage
from aspectra.llm.journal import Journal, JournalBroken, JournalFailed, JournalFile, Record, acceptable
from aspectra.llm.scripted import Scripted
from hot_journal import plant


def ask(text="q", **more):
    return Request((Message("user", text),), **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "journal.db"


@pytest.fixture
def file(path):
    opened = JournalFile(path)
    yield opened
    opened.close()


def complete(journal, *requests):
    async def go():
        return await asyncio.gather(*(journal.complete(r) for r in requests), return_exceptions=True)

    return asyncio.run(go())


def test_an_answer_is_given_again_also_after_reopening(path):
    script = Scripted([Reply("one", usage=Usage(5, 2), logprobs=(("a", -0.1),), facts={"fingerprint": "f"})])
    journal = Journal(script, JournalFile(path))
    (fresh,) = complete(journal, ask())
    (again,) = complete(journal, ask())
    journal.close()
    journal.close()
    other = Journal(Scripted([]), JournalFile(path))
    (later,) = complete(other, ask())
    assert not fresh.recorded
    assert again == later == replace(fresh, recorded=True, seconds=0.0)
    assert len(script.asked) == 1
    assert other.hits == 1
    assert other.simulated
    other.close()


def test_on_disk_before_it_is_used(file):
    """Looked at through another connection at the very moment when the caller gets the reply."""

    async def go():
        journal = Journal(Scripted(lambda r: "answer to " + r.messages[0].content), file)
        reader = sqlite3.connect(file.path)

        async def one(n):
            await journal.complete(ask(str(n)))
            sql = "SELECT count(*) FROM calls WHERE key = ?"
            return reader.execute(sql, (journal.key(ask(str(n))),)).fetchone()[0]

        return await asyncio.gather(*(one(n) for n in range(50)))

    assert asyncio.run(go()) == [1] * 50
    assert JournalFile(file.path)._writer.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_failed_write_gives_no_answer(file, monkeypatch):
    def full(records):
        raise JournalFailed("the disk is full")

    monkeypatch.setattr(file, "add", full)
    found = complete(Journal(Scripted(["a", "b"]), file), ask("1"), ask("2"))
    assert [type(f) for f in found] == [JournalFailed] * 2


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "other/1"},
        {"temperature": 0.5},
        {"max_tokens": 7},
        {"seed": 1},
        {"schema": {"type": "object"}},
        {"top_logprobs": 2},
        {"repeat": 1},
        {"messages": (Message("user", "Q"),)},
        {"messages": (Message("system", "q"),)},
        {"messages": (Message("user", "q"), Message("user", ""))},
    ],
    ids=str,
)
def test_any_part_of_the_key_makes_another_call(file, change):
    journal = Journal(Scripted(["{}", "[]"]), file)
    first, second = [complete(journal, r)[0].text for r in (ask(), replace(ask(), **change))]
    assert (first, second) == ("{}", "[]")
    assert journal.hits == 0
    assert Journal(Scripted([], name="other"), file).key(ask()) != journal.key(ask())


def test_what_makes_no_difference(file):
    journal = Journal(Scripted(["a"]), file)
    complete(journal, ask())
    assert complete(journal, ask(subjects=("p1",), accept=lambda r: True))[0].recorded


def test_only_accepted_replies_are_given_again(file):
    journal = Journal(Scripted(["bad", "bad", "good", "never"]), file)
    picky = ask(accept=lambda reply: reply.text == "good")
    texts = [complete(journal, picky)[0].text for _ in range(4)]
    assert texts == ["bad", "bad", "good", "good"]
    assert journal.rejected == 2
    assert file.counts() == {"accepted": 1, "other": 2}


def test_a_check_that_fails_loses_nothing(file):
    def broken(reply):
        raise ZeroDivisionError

    journal = Journal(Scripted(["a"]), file)
    assert isinstance(complete(journal, ask(accept=broken))[0], ZeroDivisionError)
    assert file.counts() == {"accepted": 0, "other": 1}


@pytest.mark.parametrize(
    ("request_", "reply", "expected"),
    [
        (ask(), Reply("x"), True),
        (ask(), Reply(" \n"), False),
        (ask(top_logprobs=2), Reply("", logprobs=(("a", -1.0),)), True),
        (ask(schema={}), Reply("{}"), True),
        (ask(schema={}), Reply('{"a": '), False),
        (ask(accept=lambda r: r.finish == "stop"), Reply("x", finish="length"), False),
    ],
)
def test_acceptable(request_, reply, expected):
    assert acceptable(request_, reply) == expected


def test_equal_requests_under_way_are_asked_once(file):
    script = Scripted(lambda r: "x", delay=0.02)
    journal = Journal(script, file)
    replies = complete(journal, *[ask()] * 20, ask("other"))
    assert len(script.asked) == 2
    assert sum(not r.recorded for r in replies) == 2


def test_a_failure_reaches_all_who_wait_and_is_not_kept(file):
    script = Scripted([Transient("down"), "up"], delay=0.01)
    journal = Journal(script, file)
    assert [type(r) for r in complete(journal, ask(), ask())] == [Transient] * 2
    assert complete(journal, ask())[0].text == "up"


def test_a_caller_may_leave(file):
    async def go():
        script = Scripted(lambda r: "x", delay=0.05)
        journal = Journal(script, file)
        first, second = (asyncio.create_task(journal.complete(ask())) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        assert (await second).text == "x"
        alone = asyncio.create_task(journal.complete(ask("alone")))
        await asyncio.sleep(0.01)
        alone.cancel()
        await asyncio.sleep(0)
        fresh = await journal.complete(ask("alone"))  # not caught in the cancelled call
        return first.cancelled(), fresh.text, len(script.asked)

    assert asyncio.run(go()) == (True, "x", 3)


def test_the_first_on_disk_counts_for_all(path):
    """Two processes that ask the same at the same time go on with one answer."""
    ours, theirs = JournalFile(path), JournalFile(path)

    class Race(Scripted):
        async def complete(self, request):
            theirs.add([Record(journal.key(request), self.name, "", True, Reply("theirs"))])
            return await super().complete(request)

    journal = Journal(Race(["ours", "ours"]), ours)
    assert complete(journal, ask())[0].text == "theirs"
    assert complete(journal, ask())[0].text == "theirs"
    assert ours.counts() == {"accepted": 1, "other": 1}
    journal.close()
    theirs.close()


def test_who_had_to_queue_looks_again(path):
    """What another process answered meanwhile is not paid for a second time."""
    ours, theirs = JournalFile(path), JournalFile(path)

    def step(request):
        for n in range(3):
            theirs.add([Record(journal.key(ask(str(n))), "scripted", "", True, Reply("theirs"))])
        return "ours"

    script = Scripted(step, delay=0.01)
    journal = Journal(script, ours, lanes=1)
    assert [reply.text for reply in complete(journal, *[ask(str(n)) for n in range(3)])] == ["theirs"] * 3
    assert len(script.asked) == 1
    assert journal.hits == 2
    journal.close()
    theirs.close()


def test_equal_keys_in_one_group(file):
    records = [Record("k", "m", "", ok, Reply(text)) for ok, text in ((False, "0"), (True, "1"), (True, "2"))]
    earlier = file.add(records)
    assert [e and e.text for e in earlier] == [None, None, "1"]
    assert file.find("k").text == "1"
    assert file.counts() == {"accepted": 1, "other": 2}


def test_damage_is_noticed_and_repaired(file):
    journal = Journal(Scripted(["right", "new"]), file)
    complete(journal, ask())
    with sqlite3.connect(file.path) as damage:
        damage.execute("UPDATE calls SET reply = replace(reply, 'right', 'wrong')")
    assert complete(journal, ask())[0].text == "new"
    assert complete(journal, ask())[0].text == "new"
    assert file.damaged == 1


def test_what_a_newer_version_adds_to_an_answer_is_passed_over(file):
    journal = Journal(Scripted(["right"]), file)
    complete(journal, ask())
    with sqlite3.connect(file.path) as newer:
        (number, key, reply), *_ = newer.execute("SELECT id, key, reply FROM calls").fetchall()
        told = reply.replace("{", '{"mood":"glad",', 1)
        row = (told, digest_texts([key, told]), number)
        newer.execute("UPDATE calls SET reply = ?, checksum = ? WHERE id = ?", row)
    assert complete(journal, ask())[0].text == "right"
    assert (file.damaged, journal.hits) == (0, 1)


def test_files_that_are_no_journal(tmp_path):
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"this is not a database" * 100)
    with pytest.raises(JournalBroken):
        JournalFile(garbage)
    JournalFile(tmp_path / "new.db").keep_note("format", "99")
    with pytest.raises(JournalBroken, match="newer"):
        JournalFile(tmp_path / "new.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalFailed):
        JournalFile(tmp_path / "file" / "journal.db")


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
def test_only_the_owner_reads_it(file):
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600


def test_questions_are_not_kept(path):
    journal = Journal(Scripted(["answer"]), JournalFile(path))
    complete(journal, ask("a very private question", prompt="judge/1f"))
    journal.close()
    raw = b"".join(p.read_bytes() for p in path.parent.iterdir())
    assert b"answer" in raw
    assert b"judge/1f" in raw
    assert b"private" not in raw


def test_questions_are_kept_where_somebody_wants_to_read_them(path):
    journal = Journal(Scripted(["answer", "", "other"]), JournalFile(path), keep_text=True)
    asked = ask("a question \ud800\x00 “of” ours")
    complete(journal, asked)
    complete(journal, ask("refused"))  # a reply that is not accepted can be read too
    assert journal.file.question(journal.key(asked)) == [("user", "a question \ud800\x00 “of” ours")]
    assert journal.file.question(journal.key(ask("refused"))) == [("user", "refused")]
    assert journal.file.question(journal.key(ask("never asked"))) is None
    journal.close()
    plain = Journal(Scripted([]), JournalFile(path))  # a journal is the same with them and without
    assert complete(plain, asked)[0].text == "answer"
    plain.close()


def test_recorded_answers_are_counted_not_charged(file):
    journal = Journal(Scripted([Reply("a", usage=Usage(30, 4))]), file)
    complete(journal, ask())
    with spending() as account:
        complete(journal, ask())
    assert (account.cost.calls, account.cost.recorded, account.cost.recorded_tokens) == (0, 1, 34)


def test_missing(file):
    journal = Journal(Scripted(["a"]), file)
    complete(journal, ask("1"))
    assert journal.missing([ask("1"), ask("2"), ask("3"), ask("2")]) == [ask("2"), ask("3")]
    assert journal.holds(ask("1"))


def test_a_call_is_under_way_until_it_is_on_disk(file):
    """Of calls that were answered but not yet recorded there are never more than lanes."""
    open_calls, most = [0], [0]
    add = file.add

    async def step(request):
        open_calls[0] += 1
        most[0] = max(most[0], open_calls[0])
        await asyncio.sleep(0.001)
        return "x"

    def slow_disk(records):
        out = add(records)
        time.sleep(0.01)
        open_calls[0] -= len(records)
        return out

    file.add = slow_disk
    journal = Journal(Scripted(step), file, lanes=3)
    for turn in range(2):  # another event loop is no trouble
        complete(journal, *[ask(f"{turn}/{n}") for n in range(20)])
    assert most == [3]
    with pytest.raises(UsageError):
        Journal(Scripted([]), file, lanes=0)


def test_several_event_loops_and_threads(file):
    journal = Journal(Scripted(lambda r: r.messages[0].content), file)
    from threading import Thread

    out = []
    threads = [
        Thread(target=lambda n=n: out.extend(complete(journal, *[ask(f"{n}-{i}") for i in range(10)])))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({reply.text for reply in out}) == 80
    assert file.counts() == {"accepted": 80, "other": 0}


@given(
    st.text(),
    st.lists(st.tuples(st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False)), max_size=3),
)
def test_replies_come_back_as_they_were(tmp_path_factory, text, logprobs):
    file = JournalFile(tmp_path_factory.getbasetemp() / "round.db")
    reply = Reply(
        text + "\x00\ud800", logprobs=tuple(logprobs), usage=Usage(1, 2), finish="length", model="m"
    )
    file.add([Record(key := os.urandom(8).hex(), "m", "p", True, reply)])
    assert file.find(key) == replace(reply, recorded=True)
    file.close()


def test_somebody_else_is_writing(file):
    """The event loop goes on while another process holds the file; the reply comes when it is on disk."""
    other = sqlite3.connect(file.path, isolation_level=None)
    journal = Journal(Scripted(["a", "b"]), file)

    async def go():
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(journal.complete(ask("1")))
        second = asyncio.create_task(journal.complete(ask("2")))
        for _ in range(20):
            await asyncio.sleep(0.005)
        early = task.done()
        other.execute("COMMIT")
        return early, (await task).text, (await second).text

    assert asyncio.run(go()) == (False, "a", "b")
    assert file.counts()["accepted"] == 2


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("database or disk is full", JournalFailed, "disk is full"),
        ("attempt to write a readonly database", JournalFailed, "cannot be written"),
        ("database disk image is malformed", JournalBroken, "damaged"),
        ("database is locked", JournalFailed, "failed"),
    ],
)
def test_trouble_with_the_file_is_said(file, said, kind, words):
    class Failing:
        def execute(self, *_):
            raise sqlite3.OperationalError(said)

        def close(self):
            pass

    for connection in (file._reader, file._writer):
        connection.close()
    file._reader = file._writer = Failing()
    for action in (
        lambda: file.find("k"),
        lambda: file.add([Record("k", "m", "", True, Reply("x"))]),
        lambda: file.note("n"),
        lambda: file.keep_note("n", 1),
        file.counts,
    ):
        with pytest.raises(kind, match=words) as caught:
            action()
        assert caught.value.exit_code == (6 if kind is JournalBroken else 1)


def test_what_an_ended_loop_left_is_written_on_closing(path):
    """The program is interrupted between a reply and the next write."""
    journal = Journal(Scripted(["paid"]), JournalFile(path))

    async def interrupted():
        task = asyncio.create_task(journal.complete(ask()))
        while not any(here.pending for here in journal._loops.values()):
            await asyncio.sleep(0)
        task.cancel()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(interrupted())
    journal.close()
    again = JournalFile(path)
    assert again.counts()["accepted"] == 1
    again.close()
    loop.close()


def test_a_rollback_journal_beside_the_file_is_refused_and_no_file_is_deleted(tmp_path):
    JournalFile(tmp_path / "calls.db").close()
    (tmp_path / "thesis.docx").write_text("three years of work", "utf-8")
    plant(tmp_path / "calls.db", tmp_path / "thesis.docx")
    with pytest.raises(JournalBroken, match="rollback journal"):
        JournalFile(tmp_path / "calls.db")
    assert (tmp_path / "thesis.docx").exists()
