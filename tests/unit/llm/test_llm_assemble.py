"""All layers together: their order, their settings, and nothing sent when offline."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aspectra.base.errors import UsageError
from aspectra.llm.assemble import ModelSettings, build_model, wrap_model
from aspectra.llm.budget import Limits, spending
from aspectra.llm.chat import BudgetReached, Message, ModelError, QuotaSpent, Request, Transient
from aspectra.llm.loops import run
from aspectra.llm.scripted import Scripted
from llm_server import Server


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("ASPECTRA_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ASPECTRA_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


def ask(text="question", **more):
    return Request((Message("user", text),), **more)


def settings(folder, url="", **more):
    given = {"model": "loopback", "prices": folder / "prices.toml", "journal": folder / "j.db", **more}
    return ModelSettings(base_url=url, **given)


async def all_of(model, requests):
    return await asyncio.gather(*(model.complete(r) for r in requests), return_exceptions=True)


def test_a_run_through_faults_is_whole(tmp_path):
    """Faults at first attempts cost time, no answers; the second run asks nothing."""
    server = Server(faults={"500": 0.15, "drop": 0.05, "cut": 0.05, "json": 0.05})
    requests = [ask(f"question {n}") for n in range(60)]
    with server.in_thread() as url:
        with build_model(settings(tmp_path, url, lanes=16)) as model:
            replies = run(all_of(model, requests))
        asked = server.calls
        assert not [r for r in replies if isinstance(r, Exception)]
        assert server.answered == 60
        assert asked > 60
        with build_model(settings(tmp_path, url)) as model:
            again = run(all_of(model, requests))
            assert model.account.cost.calls == 0
            assert model.account.cost.recorded == 60
            assert model.simulated
        assert server.calls == asked
    assert [r.text for r in again] == [r.text for r in replies]


def test_lanes_hold_while_waiting(tmp_path):
    """A call that waits for its next attempt keeps its lane."""
    inner = Scripted(lambda r: Transient("x", retry_after=0.3) if len(inner.asked) == 1 else "fine")
    model = wrap_model(inner, settings(tmp_path, lanes=1))
    replies = run(all_of(model, [ask("1"), ask("2")]))
    assert [r.text for r in replies] == ["fine", "fine"]
    assert [r.messages[0].content for r in inner.asked] == ["1", "1", "2"]


def test_every_attempt_that_may_be_charged_counts(tmp_path):
    inner = Scripted(lambda r: Transient("lost", billable=True, retry_after=0.0))
    model = wrap_model(inner, settings(tmp_path, limits=Limits(calls=3)))
    (error,) = run(all_of(model, [ask()]))
    assert isinstance(error, BudgetReached)
    assert len(inner.asked) == 3 == model.account.cost.calls


def test_recorded_answers_need_no_budget(tmp_path):
    with wrap_model(Scripted(["a"]), settings(tmp_path)) as model:
        run(all_of(model, [ask()]))
    with wrap_model(Scripted([]), settings(tmp_path, limits=Limits(calls=0))) as model:
        assert run(all_of(model, [ask()]))[0].text == "a"


def test_cost_of_a_query(tmp_path):
    (tmp_path / "prices.toml").write_text("[models.loopback]\ninput = 1.0\noutput = 2.0\n")
    with Server().in_thread() as url, build_model(settings(tmp_path, url)) as model:
        requests = [ask("one"), ask("two"), ask("one")]
        expected = model.estimate(requests)
        with spending() as query:
            run(all_of(model, requests))
        assert (query.cost.calls, query.cost.recorded) == (2, 1)
        assert query.cost.unpriced == 0
        assert 0 < query.cost.money <= expected.money
        assert expected.calls == 2
        assert expected.prompt_tokens == query.cost.prompt_tokens
        assert model.estimate(requests).calls == 0
        assert model.estimate(requests).recorded == 3


def test_the_context_that_an_endpoint_states_is_asked_for_once(tmp_path):
    with Server(context=2048).in_thread() as url:
        for _ in range(2):
            with build_model(settings(tmp_path, url)) as model:
                assert run(model.context()) == 2048
    with build_model(settings(tmp_path, offline=True)) as model:
        assert run(model.context()) == 2048
    with build_model(settings(tmp_path, offline=True, model="unknown")) as model:
        assert run(model.context()) is None


def test_what_is_missing(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="no language model"):
        build_model(ModelSettings())
    with pytest.raises(UsageError, match="no address"):
        build_model(settings(tmp_path))
    with pytest.raises(UsageError, match="no price"):
        build_model(settings(tmp_path, "http://127.0.0.1:1/v1", limits=Limits(money=1.0)))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with build_model(settings(tmp_path)) as model:
        assert model.remote == "127.0.0.1"


def test_quota_stops_a_run_after_what_was_under_way(tmp_path):
    server = Server(latency=0.01, faults={"quota+": 1.0})
    with server.in_thread() as url, build_model(settings(tmp_path, url, lanes=4)) as model:
        found = run(all_of(model, [ask(str(n)) for n in range(50)]))
    assert {type(f) for f in found} == {QuotaSpent}
    assert server.calls <= 4


@pytest.mark.parametrize("how", ["setting", "environment"])
def test_offline_opens_no_connection(tmp_path, how):
    with Server().in_thread() as url, build_model(settings(tmp_path, url)) as model:
        kept = run(model.complete(ask("kept")))
    script = """
import sys

def watch(event, args):
    if event.startswith("socket.") and event not in ("socket.__new__", "socket.gethostname"):
        sys.stderr.write(f"{event} {args}")
        sys.stderr.flush()
        import os
        os._exit(3)

sys.addaudithook(watch)
import json
from pathlib import Path
from aspectra.llm.assemble import ModelSettings, build_model
from aspectra.llm.chat import Message, Request
from aspectra.llm.chat import Offline
from aspectra.llm.loops import run
folder = Path(sys.argv[1])
settings = ModelSettings(model="loopback", base_url=sys.argv[2], journal=folder / "j.db",
                         prices=folder / "none", offline=sys.argv[3] == "setting")
with build_model(settings) as model:
    print(json.dumps(run(model.complete(Request((Message("user", "kept"),)))).text))
    try:
        run(model.complete(Request((Message("user", "new"),))))
    except Offline as error:
        print(error.exit_code)
    assert "httpx" not in sys.modules
"""
    import os

    env = {**os.environ, "ASPECTRA_OFFLINE": "1" if how == "environment" else "0"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), url, how],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert json.loads(first) == kept.text
    assert second == "7"


@pytest.mark.parametrize(
    "fault", ["429", "500", "timeout", "drop", "empty", "json", "refusal", "auth", "context"]
)
def test_whatever_happens_is_a_model_error_and_what_was_paid_for_is_kept(tmp_path, fault):
    server = Server()
    with server.in_thread() as url, build_model(settings(tmp_path, url, tries=1, timeout=0.5)) as model:
        run(model.complete(ask("paid")))
        server.faults = {fault + "+": 1.0}
        (error,) = run(all_of(model, [ask("new")]))
        assert isinstance(error, ModelError)
        assert error.exit_code in {5, 7}
        assert run(model.complete(ask("paid"))).recorded


def test_the_example_in_the_docs_works(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text("utf-8")
    code = re.search(r"```python\n(.*?)```", page, re.S).group(1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with Server().in_thread() as url:
        assert "http://127.0.0.1:8123/v1" in code
        exec(compile(code.replace("http://127.0.0.1:8123/v1", url), "models.md", "exec"), {})
    assert "[A]" in capsys.readouterr().out
