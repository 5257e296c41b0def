"""The embeddings client against a scripted loopback server: retries, refusals, a key that stays secret."""

from __future__ import annotations

import email.utils
import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from aspectra.base.errors import NotTrusted, UsageError
from aspectra.base.trust import Permission, allow
from aspectra.llm.chat import QuotaSpent
from aspectra.views.encoders import openai
from aspectra.views.encoders.openai import OpenAIEmbeddings, make
from aspectra.views.encoders.protocol import load_encoder, permit_encoder

KEY = "sk-very-secret-0123456789"


class _Script:
    """Answers to give, in order (then 200 for ever), and the requests seen."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], Any]] = []
        self.bodies: list[dict[str, Any]] = []
        self.authorization: list[str | None] = []
        self.url = ""
        self.too_long: tuple[int, dict[str, str], Any] | None = None  # the answer to a text of 100 characters


@pytest.fixture
def script() -> Iterator[_Script]:
    state = _Script()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.bodies.append(body)
            state.authorization.append(self.headers.get("Authorization"))
            good = {
                "data": [{"index": i, "embedding": [float(len(t)), 1.0]} for i, t in enumerate(body["input"])]
            }
            status, headers, answer = state.answers.pop(0) if state.answers else (200, {}, good)
            if state.too_long and any(len(text) > 100 for text in body["input"]):
                status, headers, answer = state.too_long
            raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(raw))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        state.url = f"http://127.0.0.1:{running.server_port}/v1"
        yield state
        running.shutdown()


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Records the waits between attempts instead of sleeping; a clean environment."""
    seen: list[float] = []
    monkeypatch.setattr(openai.time, "sleep", seen.append)
    for name in ("ASPECTRA_OFFLINE", "ASPECTRA_EMBEDDINGS_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return seen


def _error(message: str, code: str = "") -> dict[str, Any]:
    return {"error": {"message": message, "code": code}}


def test_transient_trouble_is_retried_with_the_wait_asked_for(script: _Script, waits: list[float]) -> None:
    soon = email.utils.formatdate(time.time() + 10, usegmt=True)
    script.answers = [
        (503, {}, b"busy"),
        (429, {"Retry-After": "7"}, _error("slow down")),
        (429, {"Retry-After": soon}, _error("slow down")),
    ]
    assert make(f"m?base_url={script.url}").encode(["ab"]).vectors.shape == (1, 2)
    assert len(script.bodies) == 4
    assert 0 <= waits[0] <= 1
    assert 7 <= waits[1] <= 7.7
    assert 5 <= waits[2] <= 11


def test_retries_end(script: _Script, waits: list[float]) -> None:
    script.answers = [(500, {}, _error("broken"))] * 20
    with pytest.raises(openai.Unavailable, match="not available") as caught:
        make(f"m?base_url={script.url}").encode(["ab"])
    assert (caught.value.exit_code, caught.value.retryable) == (7, True)
    assert len(script.bodies) == 5
    assert len(waits) == 4


def test_a_wait_of_hours_is_reported(script: _Script, waits: list[float]) -> None:
    script.answers = [(429, {"Retry-After": "7200"}, _error("later"))]
    with pytest.raises(openai.Unavailable, match="7200 s"):
        make(f"m?base_url={script.url}").encode(["ab"])
    assert waits == []


def test_nobody_listens(waits: list[float]) -> None:
    with pytest.raises(openai.Unavailable, match="ConnectError"):
        make("m?base_url=http://127.0.0.1:9/v1&timeout=1").encode(["ab"])
    assert len(waits) == 4


@pytest.mark.parametrize(
    ("status", "answer", "error", "exit_code"),
    [
        (401, _error(f"Incorrect key {KEY}"), openai.Unauthorized, 2),
        (403, _error("no"), openai.Unauthorized, 2),
        (429, _error("You exceeded your quota", "insufficient_quota"), QuotaSpent, 5),
        (402, _error("pay"), QuotaSpent, 5),
        (400, _error(f"too long {KEY}"), openai.RequestRejected, 2),
        (404, b"<html>", openai.RequestRejected, 2),
        (302, b"", openai.RequestRejected, 2),
        (200, b"not json", openai.Unavailable, 7),
        (200, {"error": "Unexpected endpoint or method. (POST /embeddings)"}, openai.RequestRejected, 2),
        (200, _error("insufficient credit"), QuotaSpent, 5),
        (200, {"data": []}, openai.Unavailable, 7),
        (200, {"data": [{"index": 0, "embedding": [float("nan"), 1]}]}, openai.Unavailable, 7),
        (200, {"data": [{"index": 3, "embedding": [1, 1]}]}, openai.Unavailable, 7),
    ],
)
def test_answers_that_no_retry_cures(
    script: _Script,
    waits: list[float],
    caplog: pytest.LogCaptureFixture,
    status: int,
    answer: Any,
    error: Any,
    exit_code: int,
) -> None:
    caplog.set_level(logging.DEBUG)
    script.answers = [(status, {}, answer)]
    with pytest.raises(error) as caught:
        make(f"m?base_url={script.url}").encode(["ab"])
    assert caught.value.exit_code == exit_code
    assert waits == []
    assert len(script.bodies) == 1
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value.__dict__)
    assert KEY not in caplog.text


def test_the_key_is_sent_and_not_kept(script: _Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_EMBEDDINGS_URL", script.url)
    encoder = make("m")
    encoder.encode(["ab"])
    assert script.authorization == [f"Bearer {KEY}"]
    assert KEY not in repr(vars(encoder))


def test_no_key_is_fine_on_this_computer_only(script: _Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    make(f"m?base_url={script.url}").encode(["ab"])
    assert script.authorization == [None]
    with pytest.raises(openai.Unauthorized) as caught:
        make("m").encode(["ab"])
    assert caught.value.exit_code == 2


def test_the_key_never_travels_unencrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_EMBEDDINGS_URL", "http://embeddings.invalid/v1")
    with pytest.raises(UsageError, match="unencrypted"):
        make("m").encode(["ab"])


def test_offline_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASPECTRA_OFFLINE", "1")

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr("socket.socket", refuse)
    encoder = make("m")
    assert encoder.remote == "api.openai.com"
    with pytest.raises(openai.OfflineRefused):
        encoder.encode(["ab"])
    with pytest.raises(openai.OfflineRefused):
        _ = encoder.dimensions


@pytest.mark.parametrize(
    "url", ["ftp://x/v1", "https://", "https://me:pass@host/v1", "https://host/v1?key=abc", "nonsense"]
)
def test_addresses_that_cannot_be_used(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        OpenAIEmbeddings("m", {"base_url": url})
    assert "pass" not in str(caught.value).replace("password", "")


def test_where_the_address_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://two.example/v1")
    assert make("m").remote == "two.example"
    monkeypatch.setenv("ASPECTRA_EMBEDDINGS_URL", "https://one.example/v1")
    assert make("m").remote == "one.example"
    assert make("m?base_url=https://zero.example/v1").remote == "zero.example"


@pytest.mark.usefixtures("home")
def test_a_library_cannot_choose_who_gets_texts_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The specification of an encoder is part of a library, and libraries are shared."""
    sent: list[str] = []
    monkeypatch.setattr(OpenAIEmbeddings, "_answer", lambda self, body: sent.append(self.remote) or b"{}")
    spec = "openai:m?base_url=https://zero.example/v1"
    with pytest.raises(NotTrusted, match=r"would be sent to https://zero\.example") as caught:
        load_encoder(spec)
    assert caught.value.hint.endswith("aspectra config trust https://zero.example")
    permit_encoder(spec)  # the texts may go there; the key of another host may not
    with pytest.raises(openai.Unauthorized, match="not for this host") as refused:
        load_encoder(spec).encode(["ab"])
    assert refused.value.hint.endswith("aspectra config trust https://zero.example --key OPENAI_API_KEY")
    assert sent == []
    allow(Permission.host("https://zero.example/v2", "OPENAI_API_KEY"))
    with pytest.raises(openai.Unavailable):  # the answer holds no vectors
        load_encoder(spec).encode(["ab"])
    assert sent == ["zero.example"]


@pytest.mark.usefixtures("home")
def test_a_library_cannot_use_services_of_this_computer(script: _Script) -> None:
    with pytest.raises(NotTrusted, match=r"would be sent to http://127\.0\.0\.1"):
        load_encoder(f"openai:m?base_url={script.url}")
    assert script.bodies == []


@pytest.mark.usefixtures("home")
def test_a_host_of_the_environment_is_one_that_the_user_named(
    script: _Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASPECTRA_EMBEDDINGS_URL", script.url)
    load_encoder("openai:m").encode(["ab"])
    assert script.authorization == [f"Bearer {KEY}"]


@pytest.mark.usefixtures("home")
def test_a_key_goes_only_to_the_host_that_it_was_given_for(
    script: _Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "of-this-host-only")
    make(f"m?base_url={script.url}").encode(["ab"])
    allow(Permission.host(script.url, "MY_KEY"))
    make(f"m?base_url={script.url}").encode(["ab"])
    assert script.authorization == [None, "Bearer of-this-host-only"]


def test_too_large_an_answer(script: _Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aspectra.llm.client.openai_compatible.LARGEST_BODY", 20)
    with pytest.raises(openai.Unavailable, match="larger than"):
        make(f"m?base_url={script.url}").encode(["ab"])
    assert len(script.bodies) == 1


def test_batches_prompts_and_empty_texts(script: _Script) -> None:
    encoder = make(f"m?base_url={script.url}&batch=2&query=q:%20&dimensions=2")
    result = encoder.encode(["a", "", "bb", "ccc"], kind="query")
    assert [body["input"] for body in script.bodies] == [["q: a", "q: bb"], ["q: ccc"]]
    assert all(body["dimensions"] == 2 for body in script.bodies)
    assert not result.vectors[1].any()
    expected = np.array([6.0, 1.0]) / np.hypot(6, 1)
    np.testing.assert_allclose(result.vectors[3], expected, atol=1e-6)


def test_large_texts_share_out_over_requests(script: _Script) -> None:
    result = make(f"m?base_url={script.url}").encode(["x" * 30_000] * 20)
    assert result.truncated.all()
    assert all(sum(map(len, body["input"])) <= 400_000 for body in script.bodies)
    assert sum(len(body["input"]) for body in script.bodies) == 20


def test_dimensions_are_probed_once_and_a_change_is_noticed(script: _Script) -> None:
    encoder = make(f"m?base_url={script.url}")
    assert script.bodies == []
    assert encoder.dimensions == 2
    assert encoder.dimensions == 2
    assert len(script.bodies) == 1
    script.answers = [(200, {}, {"data": [{"index": 0, "embedding": [1, 2, 3]}]})]
    with pytest.raises(openai.Unavailable, match="3 dimensions, not 2"):
        encoder.encode(["ab"])


def test_a_batch_that_is_refused_is_sent_in_smaller_ones(script: _Script) -> None:
    script.answers = [(400, {}, {"error": {"message": "too many inputs, at most 3"}})]
    encoder = make(f"m?base_url={script.url}&batch=4")
    assert len(encoder.encode(["a", "bb", "ccc", "dddd"] * 2).vectors) == 8
    assert [len(body["input"]) for body in script.bodies] == [4, 2, 2, 2, 2]
    encoder.encode(["a", "bb", "ccc"])
    assert [len(body["input"]) for body in script.bodies[5:]] == [2, 1]


@pytest.mark.parametrize(
    "answer",
    [
        (400, {}, _error("This model's maximum context length is 16 tokens.")),
        (413, {}, {"error": "`inputs` must have less than 16 tokens. Given: 30"}),
        (500, {}, _error("input (30 tokens) is too large to process. increase the physical batch size")),
    ],
)
def test_a_text_too_long_for_the_endpoint_is_cut_and_named_and_the_others_keep_their_batches(
    script: _Script, waits: list[float], caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    script.too_long = answer
    encoder = make(f"m?base_url={script.url}&batch=4&document=d:%20")
    found = encoder.encode(["a", "检索" * 150, "ccc", "dddd"])
    assert found.truncated.tolist() == [False, True, False, False]
    assert [len(text) for body in script.bodies for text in body["input"] if "检" in text][-1] == 75
    assert all(text.startswith("d: ") for body in script.bodies for text in body["input"])
    assert found.vectors.any(axis=1).all()
    assert caplog.text.count("max_tokens=") == caplog.text.count("'检索") == 1
    assert waits == []
    script.bodies.clear()
    encoder.encode(["a", "bb", "ccc", "dddd"])
    assert len(script.bodies) == 1


def test_a_short_text_that_is_said_to_be_too_long_is_an_error(script: _Script) -> None:
    script.answers = [(400, {}, _error("maximum context length is 1 tokens"))] * 9
    with pytest.raises(openai.RequestRejected, match="context"):
        make(f"m?base_url={script.url}").encode(["a" * 60])
    assert len(script.bodies) == 2


@pytest.mark.parametrize("nothing", [None, [], [None, None], [0.0, 0.0]])
def test_a_text_without_a_vector_is_named_and_the_others_are_read(
    script: _Script, caplog: pytest.LogCaptureFixture, nothing: Any
) -> None:
    script.answers = [(200, {}, {"data": [{"embedding": [3.0, 4.0]}, {"embedding": nothing}]})]
    vectors = make(f"m?base_url={script.url}").encode(["owls", "hens at night"]).vectors
    assert vectors.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, 0.0]]
    assert "hens at night" in caplog.text
    assert "owls" not in caplog.text
