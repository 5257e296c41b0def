"""The client against the loopback server: every fault has its class, nothing is sent that must not be."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager

import pytest

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.llm.chat import (
    BadRequest,
    ContextExceeded,
    KeyRefused,
    Late,
    Malformed,
    Message,
    NoSuchModel,
    Offline,
    QuotaSpent,
    Refused,
    Request,
    Transient,
    Usage,
)
from aspectra.llm.client.openai_compatible import OpenAICompatible
from llm_server import KINDS, Server

ASKED = Request((Message("user", "Order [1] [2] [3]."),))
CLASSES = {
    "429": Transient,
    "429-after": Transient,
    "500": Transient,
    "503": Transient,
    "quota": QuotaSpent,
    "auth": KeyRefused,
    "missing-model": NoSuchModel,
    "context": ContextExceeded,
    "timeout": Late,
    "drop": Transient,
    "empty": Malformed,
    "refusal": Refused,
    "filter": Refused,
    "cut": Transient,
    "json": Malformed,
    "html": Malformed,
}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("ASPECTRA_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ASPECTRA_OFFLINE"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def asking(server, **options):
    async with server.running() as url:
        client = OpenAICompatible(options.pop("model", "loopback"), url, **options)
        try:
            yield client
        finally:
            await client.aclose()


def ask(server, *requests, **options):
    async def go():
        async with asking(server, **options) as client:
            return [await client.complete(request) for request in requests or (ASKED,)]

    return asyncio.run(go())


def test_every_fault_is_known():
    assert set(CLASSES) | {"blank"} == KINDS


@pytest.mark.parametrize(("fault", "kind"), CLASSES.items())
def test_faults(fault, kind):
    with pytest.raises(kind) as caught:
        ask(Server(faults={fault: 1.0}), timeout=0.3 if fault == "timeout" else 20)
    assert type(caught.value) is kind
    assert caught.value.retry_after == (1.0 if fault == "429-after" else None)
    lost_on_the_way = {"timeout", "drop", "empty", "cut", "json", "html", "refusal", "filter"}
    assert caught.value.billable == (fault in lost_on_the_way)


def test_an_attempt_after_a_fault_is_answered():
    async def go():
        async with asking(Server(faults={"cut": 1.0})) as client:
            with pytest.raises(Transient):
                await client.complete(ASKED)
            return await client.complete(ASKED)

    assert asyncio.run(go()).text.count(">") == 2


def test_a_blank_answer_is_an_answer():
    assert ask(Server(faults={"blank": 1.0}))[0].text == ""


def test_nobody_there():
    async def go():
        async with asking(Server()) as client:
            return client

    client = asyncio.run(go())  # its server is gone now
    with pytest.raises(Transient) as caught:
        asyncio.run(client.complete(ASKED))
    assert not caught.value.billable


def test_reply():
    reply = ask(Server())[0]
    assert sorted(reply.text.split(" > ")) == ["[1]", "[2]", "[3]"]
    assert reply.simulated
    assert reply.usage.prompt_tokens > 0
    assert reply.seconds > 0
    assert reply.model == "loopback"


def test_options_arrive():
    server = Server(keep_bodies=True)
    request = Request(
        (Message("user", "Is it?"),),
        temperature=0.5,
        seed=4,
        schema={"type": "object", "properties": {"n": {"type": "integer"}}},
    )
    reply = ask(server, request, extra={"top_p": 0.9}, omit=("temperature",))[0]
    assert reply.text.startswith('{"n":')
    assert server.bodies[0]["seed"] == 4
    assert server.bodies[0]["top_p"] == 0.9
    assert "temperature" not in server.bodies[0]
    token = ask(server, Request((Message("user", "Yes?"),), top_logprobs=2))[0].logprobs
    assert [name for name, _ in token] in (["yes", "no"], ["no", "yes"])
    assert token[0][1] >= token[1][1]


def test_length_field_is_learnt_even_by_many_at_once():
    class Newer(Server):
        def _refuse(self, body, headers):
            if "max_tokens" in body:
                said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
                return 400, {"error": {"message": said, "code": "unsupported_parameter"}}
            return super()._refuse(body, headers)

    async def go():
        async with asking(Newer(latency=0.02)) as client:
            asked = [Request((Message("user", f"q{n}"),)) for n in range(20)]
            replies = await asyncio.gather(*(client.complete(request) for request in asked))
            assert len({reply.text for reply in replies}) == 20

    asyncio.run(go())


def test_wrong_model():
    with pytest.raises(NoSuchModel):
        ask(Server(), model="other")


FULL = Request(ASKED.messages, seed=1, schema={"type": "object"}, top_logprobs=20)


@pytest.mark.parametrize(
    ("status", "said", "field", "other"),
    [
        (400, {"message": "temperature 0 is not supported, only the default 1"}, "temperature", None),
        (400, {"message": "must be strictly positive", "param": "temperature"}, "temperature", None),
        (400, {"message": "Unsupported parameter: 'seed'", "type": "invalid_request_error"}, "seed", None),
        (400, {"message": "this response_format type is not available now"}, "response_format", None),
        (404, {"message": "no endpoint can do structured outputs"}, "response_format", None),
        (500, {"message": "[{'loc': ('response_format'), 'msg': 'not valid'}]"}, "response_format", None),
        (403, {"message": "You are not allowed to request logprobs from this model"}, "logprobs", None),
        (400, {"message": "top_logprobs must be between 0 and 5"}, "top_logprobs", 5),
        (
            400,
            {"message": "Use max_completion_tokens, not max_tokens"},
            "max_tokens",
            "max_completion_tokens",
        ),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}, "seed", None),
        (
            422,
            {
                "object": "error",
                "message": {"detail": [{"loc": ["body", "logprobs"], "msg": "Extra inputs"}]},
            },
            "logprobs",
            None,
        ),
        (400, [{"error": {"message": 'Unknown name "logprobs": Cannot find field.'}}], "logprobs", None),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_refused_option_is_left_out_after_one_lost_call_and_said_once(
    caplog, status, said, field, other, wrapped
):
    class Picky(Server):
        def _refuse(self, body, headers):
            if field not in body or body[field] == other:
                return None
            if isinstance(said, list) or {"detail", "object"} & set(said):  # a whole body
                return status, said
            return (200, {"error": said | {"code": status}}) if wrapped else (status, {"error": said})

    async def go(server):
        async with asking(server) as client:
            asked = [replace(FULL, repeat=n) for n in range(8)]
            return await asyncio.gather(*(client.complete(request) for request in asked))

    server = Picky(keep_bodies=True, latency=0.01)
    assert all(reply.text for reply in asyncio.run(go(server)))
    assert len(server.bodies) == 9
    assert sum("refuses" in record.message for record in caplog.records) == 1
    last = server.bodies[-1]
    assert last.get(field) == (other if isinstance(other, int) else None)
    assert isinstance(other, int | None) or last[other] == FULL.max_tokens
    assert field != "response_format" or '{"type": "object"}' in last["messages"][-1]["content"]


def test_what_a_model_wrote_is_no_reason_to_leave_the_schema_out():
    class Failing(Server):
        def _refuse(self, body, headers):
            said = "Generated JSON does not match the expected schema"
            return 400, {"error": {"message": said, "code": "json_validate_failed"}}

    server = Failing()
    with pytest.raises(Malformed, match="does not match"):
        ask(server, FULL)
    assert server.calls == 1


@pytest.mark.parametrize(
    "said",
    ["the model m is not ready", "max_tokens is too large: at most 4096", "context length: temperature"],
)
def test_a_refusal_that_names_no_option_is_an_error(said):
    class Refusing(Server):
        def _refuse(self, body, headers):
            return 400, {"error": {"message": said}}

    server = Refusing()
    with pytest.raises(BadRequest, match=said[:20]):
        ask(server, omit=("temperature",))
    assert server.calls == 1


@pytest.mark.parametrize(
    ("extra", "said", "calls"),
    [
        ({"temperature": 0.2}, {"message": "only the default (1) is supported", "param": "temperature"}, 1),
        ({"max_tokens": 900}, {"message": "'max_tokens': use 'max_completion_tokens' instead"}, 1),
        ({"response_format": {"type": "json_object"}}, {"message": "response_format is not supported"}, 1),
        ({"top_logprobs": 20}, {"message": "top_logprobs must be between 0 and 5"}, 1),
        ({"n": 2}, {"message": "Unsupported parameter: 'seed'"}, 2),
    ],
)
def test_a_field_that_the_user_adds_and_the_endpoint_refuses_is_an_error(caplog, extra, said, calls):
    class Refusing(Server):
        def _refuse(self, body, headers):
            assert self.calls < 20, "asked without end"
            return 400, {"error": said} if set(extra) <= set(body) else None

    server = Refusing()
    with pytest.raises(BadRequest, match=re.escape(said["message"])):
        ask(server, FULL, extra=extra)
    assert server.calls == calls
    assert len(caplog.records) == calls - 1


def test_keys(monkeypatch):
    server = Server(key="right-key-0123456789")
    with pytest.raises(KeyRefused):
        ask(server)
    monkeypatch.setenv("ASPECTRA_API_KEY", "wrong-key-9876543210")
    with pytest.raises(KeyRefused) as caught:
        ask(server)
    assert "wrong-key" not in str(caught.value)
    monkeypatch.setenv("ASPECTRA_API_KEY", "right-key-0123456789")
    assert ask(server)[0].text
    monkeypatch.setenv("OTHER", "right-key-0123456789")
    monkeypatch.delenv("ASPECTRA_API_KEY")
    assert ask(server, key_variable="OTHER")[0].text
    monkeypatch.setenv("ASPECTRA_API_KEY", "two\nlines-of-it-0123")
    with pytest.raises(KeyRefused, match="characters that no key has"):
        ask(server)


def test_what_is_never_sent(monkeypatch):
    away = OpenAICompatible("m", "https://example.invalid/v1")
    with pytest.raises(KeyRefused, match="no key"):
        asyncio.run(away.complete(ASKED))
    monkeypatch.setenv("ASPECTRA_API_KEY", "some-key-0123456789")
    with pytest.raises(KeyRefused, match="unencrypted"):
        asyncio.run(OpenAICompatible("m", "http://example.invalid/v1").complete(ASKED))
    monkeypatch.setenv("ASPECTRA_OFFLINE", "1")
    with pytest.raises(Offline):
        asyncio.run(away.complete(ASKED))
    with pytest.raises(Offline):
        asyncio.run(away.context())


@pytest.mark.parametrize(
    "url", ["", "example.org/v1", "ftp://x/v1", "http://u:secret@x/v1", "http://x/v1?key=secret"]
)
def test_addresses_that_cannot_be_used(url):
    with pytest.raises(UsageError) as caught:
        OpenAICompatible("m", url)
    assert "secret" not in str(caught.value)


def test_a_model_must_be_named():
    with pytest.raises(UsageError):
        OpenAICompatible("", "http://127.0.0.1:1/v1")


def test_names_in_the_journal():
    def name(**more):
        return OpenAICompatible("m", "http://127.0.0.1:1/v1", **more).name

    names = [name(), name(revision="2"), name(extra={"a": 1}), name(extra={"a": 2}), name(omit=("seed",))]
    assert names[:2] == ["m", "m@2"]
    assert len(set(names)) == 5
    assert name(timeout=3.0) == "m"


def test_connections_are_kept_and_taken_back():
    async def go():
        async with asking(Server(latency=0.01)) as client:
            for _ in range(3):
                await asyncio.gather(
                    *(client.complete(Request((Message("user", f"{n}"),))) for n in range(5))
                )
            task = asyncio.create_task(client.complete(ASKED))
            await asyncio.sleep(0.003)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return len(client._idle.get()), (await client.complete(ASKED)).text

    connections, text = asyncio.run(go())
    assert connections <= 6
    assert text


def test_too_large_an_answer(monkeypatch):
    monkeypatch.setattr("aspectra.llm.client.openai_compatible.LARGEST_BODY", 100)
    with pytest.raises(Malformed, match="cannot be read"):
        ask(Server())


def test_context_of_the_server_is_kept():
    with pytest.raises(ContextExceeded):
        ask(Server(context=100), Request((Message("user", "word " * 200),)))
    assert ask(Server(context=10_000))[0].usage != Usage()
