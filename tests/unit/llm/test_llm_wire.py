"""The chat protocol: what is sent, how replies are read, what a refusal means, and that no key gets out."""

from __future__ import annotations

import email.utils
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aspectra.base.trust import key_variable, redact
from aspectra.llm.chat import (
    BadRequest,
    ContextExceeded,
    KeyRefused,
    Malformed,
    Message,
    ModelError,
    NoSuchModel,
    QuotaSpent,
    Refused,
    Request,
    Transient,
    Usage,
)
from aspectra.llm.client.openai_compatible import Endpoint
from aspectra.llm.client.openai_wire import context_in_card, failure, read_reply, request_body, retry_after

ASKED = Request((Message("system", "Be brief."), Message("user", "Order these.")))


def read(body, **more):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_reply(raw, host="example.org", seconds=0.5, clean=lambda text: text, **more)


def refused(status, error=None, headers=None, now=0.0):
    raw = error if isinstance(error, bytes) else json.dumps({"error": error}).encode()
    return failure(status, headers or {}, raw, host="example.org", clean=lambda text: text, now=now)


def test_body_holds_what_was_asked_and_nothing_else():
    body = json.loads(request_body(ASKED, "m"))
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Order these."},
        ],
        "temperature": 0.0,
        "max_tokens": 512,
    }


def test_body_options():
    request = Request((Message("user", "x\ud800y"),), seed=3, schema={"type": "object"}, top_logprobs=5)
    body = json.loads(
        request_body(
            request,
            "m",
            changed={"max_tokens": "max_completion_tokens"},
            extra={"top_p": 1},
            omit=["temperature"],
        )
    )
    assert body["messages"][0]["content"] == "x\ufffdy"
    assert body["seed"] == 3
    assert body["logprobs"] is True
    assert body["top_logprobs"] == 5
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert body["max_completion_tokens"] == 512
    assert body["top_p"] == 1
    assert not {"temperature", "max_tokens"} & set(body)


def test_reply_is_read():
    rows = [
        {"token": "no", "logprob": -2.5},
        {"token": "yes", "logprob": -0.1},
        {"token": "-", "logprob": -1e999},
    ]
    reply = read(
        {
            "model": "m-1",
            "choices": [
                {
                    "message": {"content": "yes"},
                    "finish_reason": "length",
                    "logprobs": {"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": rows}]},
                }
            ],
            "usage": {"prompt_tokens": 7, "completion_tokens": 1},
            "system_fingerprint": "fp",
        }
    )
    assert (reply.text, reply.model, reply.finish, reply.usage) == ("yes", "m-1", "length", Usage(7, 1))
    assert reply.logprobs == (("yes", -0.1), ("no", -2.5))
    assert reply.facts == {"fingerprint": "fp"}
    assert not reply.simulated


@pytest.mark.parametrize(
    ("total", "answered"), [(2042, 2005), (42, 5), (40, 5), (None, 5), ("2042", 5), (True, 5), (2042.0, 5)]
)
def test_thoughts_that_only_the_total_counts_are_tokens_of_the_answer(total, answered):
    usage = {"prompt_tokens": 37, "completion_tokens": 5, "total_tokens": total}
    assert read({"choices": [{"message": {"content": "a"}}], "usage": usage}).usage == Usage(37, answered)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ("\ud800", "\ufffd"),
    ],
)
def test_contents(content, text):
    reply = read({"choices": [{"message": {"content": content}}]})
    assert (reply.text, reply.usage, reply.finish) == (text, Usage(), "stop")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b'{"choices": [{"mess',
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": 7}',
        b"[" * 100_000,
    ],
)
def test_unreadable_replies_are_malformed_and_may_be_charged(raw):
    with pytest.raises(Malformed) as caught:
        read(raw)
    assert caught.value.retryable
    assert caught.value.billable


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"finish_reason": "error", "error": {"code": 502, "message": "Upstream error"}}, "Upstream error"),
        ({"finish_reason": None, "error": {"message": "Provider disconnected"}}, "Provider disconnected"),
        ({"finish_reason": "error"}, "'error'"),
        ({"finish_reason": "insufficient_system_resource"}, "'insufficient_system_resource'"),
        ({"finish_reason": "abort"}, "'abort'"),
        ({"finish_reason": "network_error"}, "'network_error'"),
    ],
)
def test_the_start_of_an_answer_that_broke_off_is_no_answer(more, said):
    choice = {"message": {"role": "assistant", "content": "8"}, **more}
    with pytest.raises(Transient, match=said) as caught:
        read({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    assert (caught.value.billable, caught.value.usage) == (True, Usage(3, 2))


@pytest.mark.parametrize("finish", ["length", "model_length", "max_tokens", "MAX_TOKENS"])
def test_a_limit_is_one_word_whatever_the_server_calls_it(finish):
    assert read({"choices": [{"message": {"content": "8"}, "finish_reason": finish}]}).finish == "length"


def test_refusals_in_a_good_status():
    for choice in (
        {"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"},
        {"message": {"content": ""}, "finish_reason": "content_filter"},
        {"message": {"content": "I"}, "finish_reason": "sensitive"},
    ):
        with pytest.raises(Refused) as caught:
            read({"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
        assert caught.value.usage == Usage(3, 2)
        assert not caught.value.retryable
    with pytest.raises(Transient):
        read({"error": {"code": 503, "message": "overloaded"}})
    with pytest.raises(ContextExceeded):
        read({"error": {"code": 400, "message": "m", "type": "exceed_context_size_error"}})


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (401, {"message": "Incorrect API key"}, KeyRefused),
        (403, {"message": "no"}, KeyRefused),
        (403, {"message": "the account was flagged"}, KeyRefused),
        (400, {"message": "Incorrect API key provided: ab***yz"}, KeyRefused),
        (400, b'[{"error": {"message": "API key not valid. Please pass a valid API key."}}]', KeyRefused),
        (400, b'[{"error": {"code": 400, "message": "The input token count exceeds it"}}]', ContextExceeded),
        (402, {"message": "pay"}, QuotaSpent),
        (429, {"message": "slow down", "code": "rate_limit_exceeded"}, Transient),
        (429, {"message": "You exceeded", "type": "insufficient_quota"}, QuotaSpent),
        (429, {"message": "cap", "code": "project_spend_limit_exceeded"}, QuotaSpent),
        (404, {"message": "model x not found"}, NoSuchModel),
        (404, "model 'x' not found, try pulling it first", NoSuchModel),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, ContextExceeded),
        (400, {"message": "request (4390 tokens) exceeds the available context size"}, ContextExceeded),
        (500, {"message": "Context size has been exceeded.", "type": "server_error"}, ContextExceeded),
        (400, {"message": "too long", "code": "context_length_exceeded"}, ContextExceeded),
        (413, {"message": "large"}, ContextExceeded),
        (400, {"message": "prompt is too long: 208310 tokens > 200000 maximum"}, ContextExceeded),
        (
            400,
            {"message": "The input token count (12) exceeds the maximum number of tokens"},
            ContextExceeded,
        ),
        (
            422,
            "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
            ContextExceeded,
        ),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1800", ContextExceeded),
        (400, {"message": "litellm.ContextWindowExceededError: litellm.BadRequestError"}, ContextExceeded),
        (400, "the model has a context length of only 4096 tokens, which is not enough", ContextExceeded),
        (400, {"message": "This model's maximum prompt length is 131072"}, ContextExceeded),
        (400, {"message": "Range of input length should be [1, 30720]"}, ContextExceeded),
        (500, {"message": "input (30 tokens) is too large to process. increase the batch"}, ContextExceeded),
        (429, {"message": "too many tokens in this minute"}, Transient),
        (400, {"message": "max_tokens is too large: at most 4096"}, BadRequest),
        (400, {"message": "max_tokens must be <= 4096"}, BadRequest),
        (400, {"message": "blocked", "code": "content_filter"}, Refused),
        (403, {"message": "m requires moderation. Your input was flagged.", "code": 403}, Refused),
        (403, {"message": "Content violates usage guidelines.", "code": "no permission"}, Refused),
        (400, {"message": "litellm.ContentPolicyViolationError: blocked"}, Refused),
        (400, {"message": "Content Exists Risk", "type": "invalid_request_error"}, Refused),
        (400, {"message": "omni-moderation-latest is not for this"}, BadRequest),
        (400, {"message": "Unknown field"}, BadRequest),
        (301, {"message": "moved"}, NoSuchModel),
        (307, b"", NoSuchModel),
        (405, {"detail": "Method Not Allowed"}, NoSuchModel),
        (400, {"message": "foo/bar is not a valid model ID", "code": 400}, NoSuchModel),
        (400, {"message": "Model Not Exist", "type": "invalid_request_error"}, NoSuchModel),
        (400, {"message": "Invalid model: foo", "type": "invalid_model", "code": "1500"}, NoSuchModel),
        (400, {"message": "litellm.BadRequestError: Invalid model name passed in model=foo."}, NoSuchModel),
        (400, {"message": "no", "code": "model_not_found"}, NoSuchModel),
        (400, {"message": "No models loaded. Please load a model"}, NoSuchModel),
        (400, {"message": "Your credit balance is too low. Please go to Plans & Billing"}, QuotaSpent),
        (400, {"message": "Budget has been exceeded! Current cost: 1.2, Max budget: 1.0"}, QuotaSpent),
        (400, {"message": "over", "type": "budget_exceeded"}, QuotaSpent),
        (403, {"message": "Your team doesn't have any credits yet"}, QuotaSpent),
        (429, {"message": "suspended: insufficient balance"}, QuotaSpent),
        (429, {"message": "Used 99900. Upgrade at https://console/settings/billing"}, Transient),
        (400, {"message": "Failed to validate JSON.", "code": "json_validate_failed"}, Malformed),
        (408, {"message": "slow"}, Transient),
        (500, {"message": "oops"}, Transient),
        (502, b"<html>Bad gateway</html>", Transient),
        (529, {"message": "overloaded"}, Transient),
    ],
)
def test_classes_of_refusal(status, error, kind):
    found = refused(status, error)
    assert type(found) is kind
    assert found.status == status
    assert found.exit_code == (5 if kind is QuotaSpent else 7)
    assert found.retryable == (kind in (Transient, Malformed))


def test_words_of_the_endpoint_are_one_short_clean_line():
    found = refused(400, {"message": "bad\x1b[31m\nline " + "x" * 1000})
    assert "\x1b" not in str(found)
    assert "\n" not in found.why
    assert len(found.why) < 250
    assert "oops" not in str(refused(401, {"message": "oops"}))

    assert "ab***yz" not in str(refused(400, {"message": "Incorrect API key provided: ab***yz"}))
    assert "not for your plan" in str(refused(403, {"message": "not for your plan"}))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"code": "rate_limit_daily", "message": "the free calls of today are used up"}, QuotaSpent),
        ({"error": "insufficient credit"}, QuotaSpent),
        ({"error": {"message": "Invalid API key", "type": "x"}}, KeyRefused),
        ({"error": {"message": "slow down", "code": "429"}}, Transient),
        ({"choices": [], "error": {"message": "rate limited", "code": 429}}, Transient),
        ({"choices": None, "error": {"message": 'no such thing as "choices"', "code": 400}}, BadRequest),
        ({"error": {"type": "invalid_request_error", "message": "no"}}, BadRequest),
        ({"error": "the model cannot be run here"}, BadRequest),
        ({"message": "the model is loading, try again"}, Transient),
        ({"detail": "something broke"}, BadRequest),
        ({"error": "Unexpected endpoint or method. (POST /chat/completions)"}, NoSuchModel),
    ],
)
def test_an_error_under_status_200_is_of_its_own_kind(body, kind):
    with pytest.raises(ModelError) as caught:
        read(json.dumps(body).encode())
    assert type(caught.value) is kind
    assert not caught.value.billable
    said = body.get("message") or body.get("detail") or "insufficient"
    assert kind is not QuotaSpent or said in caught.value.why


def test_a_validation_error_with_status_500_is_not_asked_again():
    assert (
        type(refused(500, {"message": "[{'loc': ('body', 'n'), 'msg': 'Input should be 1'}]"})) is BadRequest
    )


def test_retry_after():
    date = email.utils.formatdate(1_000_030, usegmt=True)
    assert refused(429, {}, {"retry-after": "3"}).retry_after == 3
    assert refused(503, {}, {"retry-after": date}, now=1_000_000).retry_after == 30
    assert refused(503, {}, {"retry-after": date}, now=2_000_000).retry_after == 0
    for nonsense in ("", "soon", "-1", "1e99", "9" * 40, "Thu, 99 Jan 1970"):
        assert retry_after(nonsense, 0.0) is None


@given(st.text(max_size=40), st.floats(0, 2e9))
def test_retry_after_never_fails(text, now):
    assert (retry_after(text, now) or 0.0) >= 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "choices message content finish_reason usage logprobs error code refusal model token".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    JSON
    | st.fixed_dictionaries(
        {"choices": st.lists(st.fixed_dictionaries({"message": JSON}) | JSON, max_size=2)}
    )
)
def test_any_json_is_a_reply_or_a_model_error(body):
    raw = json.dumps(body).encode()
    try:
        reply = read(raw)
        assert isinstance(reply.text, str)
        json.dumps(reply.facts)
    except ModelError:
        pass
    assert isinstance(failure(400, {}, raw, host="h", clean=str), ModelError)


@given(st.binary(max_size=60), st.integers(300, 599))
def test_any_bytes_are_a_model_error(raw, status):
    assert isinstance(failure(status, {}, raw, host="h", clean=str), ModelError)


@pytest.mark.parametrize(
    ("card", "context"),
    [
        ({"max_model_len": 4096}, 4096),
        ({"context_length": 8}, 8),
        ({"meta": {"n_ctx_train": 32, "n_ctx": 16}}, 16),
        ({"meta": None}, None),
        ({"max_model_len": "many", "context_window": True}, None),
        ({}, None),
    ],
)
def test_context_in_card(card, context):
    assert context_in_card(card) == context


@given(
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40),
    st.text(max_size=20),
    st.integers(0, 30),
    st.integers(6, 40),
)
def test_no_part_of_a_key_is_left(key, around, start, length):
    part = key[start : start + length]
    out = redact(f"{around}{part}{around}", key)
    if len(part) >= 6:
        assert part not in out.replace("***", "\n")


def test_short_words_in_place_of_keys_spoil_no_message():
    assert redact("the next example", "x") == "the next example"
    assert redact("the word EMPTY", "EMPTY") == "the word EMPTY"
    assert redact("key sk-abcdefgh12345678 given", "") == "key sk-*** given"


def test_whom_keys_are_sent_to(monkeypatch):
    for name in ("ASPECTRA_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "MINE"):
        monkeypatch.delenv(name, raising=False)
    openai, other = "https://api.openai.com", "https://example.org"
    assert key_variable(openai) == ""
    monkeypatch.setenv("OPENAI_API_KEY", "k1")
    assert key_variable(openai) == "OPENAI_API_KEY"
    assert key_variable("http://api.openai.com") == ""
    assert key_variable(other) == ""  # another provider's key is nobody else's business
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.org/v1")
    assert key_variable(other) == "OPENAI_API_KEY"
    assert key_variable("https://example.org:8443") == ""  # another service on the same computer
    monkeypatch.setenv("ASPECTRA_API_KEY", "k2")
    assert key_variable(other) == "ASPECTRA_API_KEY"
    assert key_variable("https://else.example", default="") == ""  # a host that the user did not name
    assert key_variable(other, "MINE") == ""
    monkeypatch.setenv("MINE", " k3 ")
    assert key_variable(other, "MINE") == "MINE"


def test_exit_codes_and_fatality():
    kinds = {kind: (kind.exit_code, kind.fatal) for kind in _all(ModelError)}
    assert {kind.__name__ for kind, (code, _) in kinds.items() if code == 5} == {
        "QuotaSpent",
        "BudgetReached",
    }
    assert {code for code, _ in kinds.values()} == {5, 7}
    fatal = {kind.__name__ for kind, (_, fatal) in kinds.items() if fatal}
    assert fatal == {"QuotaSpent", "KeyRefused", "NoSuchModel", "BudgetReached", "Offline"}


def _all(kind):
    return {kind}.union(*(_all(sub) for sub in kind.__subclasses__()))


def test_log_probabilities_are_those_of_the_first_token_with_a_letter():
    rows = [
        {"token": token, "top_logprobs": [{"token": token, "logprob": -0.1}]}
        for token in ("\n\n", "**", "No")
    ]
    choice = {"message": {"content": "\n\n**No"}, "logprobs": {"content": rows}}
    assert read(json.dumps({"choices": [choice]}).encode()).logprobs == (("No", -0.1),)


@pytest.mark.parametrize("length", [1, 4, 7, 8, 19])
def test_both_cleaners_take_the_same_keys_for_keys(monkeypatch, length):
    key = "qwertyuiopasdfghjkl"[:length]
    monkeypatch.setenv("A_KEY", key)
    endpoint = Endpoint("https://models.example/v1", lambda origin: "A_KEY", wanted="A_KEY")
    said = f"the key is {key} indeed"
    assert (key not in redact(said, key)) == (length >= 8)
    assert (key not in endpoint.scrub(200, said.encode()).decode()) == (length >= 8)
