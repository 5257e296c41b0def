"""Keys of many shapes, driven through every error path of an endpoint that echoes them: none gets out."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import traceback

import pytest

from aspectra.llm.assemble import ModelSettings, build_model
from aspectra.llm.chat import Message, ModelError, Request
from llm_server import KINDS, Server
from long import LONG

KEYS = [
    "sk-" + "aZ3" * 16,
    "sk-proj-" + "q7_W-" * 20,
    "sk-ant-api03-" + "Xy9_" * 12,
    "sk-or-v1-" + "0f1e2d3c" * 8,
    "gsk_" + "Kj82hfQ" * 6,
    "hf_" + "TgQwErTyUiOpAsDfGh",
    "AIza" + "SyB-9_xWq" * 4,
    "xai-" + "9Lm2" * 10,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "3f8a9c0d1e2b4f5a6978c0d1e2f3a4b5",
    "dG9rZW46d2l0aC9zbGFzaGVzK2FuZD09",
    "we~ird:key/with?marks&and=signs%20(1)'\"\\x",
]


def pieces(key):
    """The key, and parts of it that are as good."""
    return {key, key[:12], key[-12:], key[len(key) // 2 - 6 : len(key) // 2 + 6]}


def everything_in(error):
    """What a crash reporter could write down: words, attributes, all variables of our frames and below."""
    out = []
    while error is not None:
        out.append(repr((str(error), repr(error), error.__dict__)))
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        out.extend(repr(frame.locals) for frame in told.stack if "tests" not in frame.filename)
        error = error.__cause__ or error.__context__
    return out


@pytest.mark.parametrize("key", KEYS[:: 1 if LONG else 2], ids=lambda key: key[:6])
def test_no_key_gets_out(tmp_path, monkeypatch, capfd, key):
    monkeypatch.setenv("ASPECTRA_API_KEY", key)
    monkeypatch.delenv("ASPECTRA_OFFLINE", raising=False)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    texts = []

    async def go(fault):
        faults = {fault + "+": 1.0} if fault in KINDS else {}
        server = Server(faults=faults, key="another-key" if fault == "wrong" else key)
        async with server.running() as url:
            settings = ModelSettings(
                model="loopback" if fault != "name" else "nobody",
                base_url=url if fault != "gone" else "http://127.0.0.1:9/v1",
                tries=2,
                seconds=0.1,
                timeout=0.2 if fault == "timeout" else 20.0,
                journal=tmp_path / "j.db",
                journal_text=True,
                prices=tmp_path / "none",
            )
            with build_model(settings) as model:
                texts.append(repr([model, model.__dict__, settings, model._client, model._client.__dict__]))
                try:
                    reply = await model.complete(Request((Message("user", f"question {fault}"),)))
                    texts.append(repr(reply))
                    assert fault in {"", "blank"}
                except ModelError as error:
                    assert fault
                    texts.extend(everything_in(error))
                    sys.stderr.write("".join(traceback.format_exception(error)))

    try:
        for fault in ["", "wrong", "name", "gone", *sorted(KINDS)]:
            asyncio.run(go(fault))
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    out, err = capfd.readouterr()
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    seen = [*texts, log.getvalue(), out, err, files.decode("latin-1")]
    assert len(texts) > 40
    assert "httpcore" in log.getvalue() or "HTTP Request" in log.getvalue()  # the log did listen
    for piece in pieces(key):
        for form in (piece, repr(piece)[1:-1], json.dumps(piece)[1:-1]):
            assert not [text[:2000] for text in seen if form in text]
