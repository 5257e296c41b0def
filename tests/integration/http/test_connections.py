"""Connections that say nothing, or not enough, keep nobody out."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.request
from typing import ClassVar

import pytest
import uvicorn

from aspectra.app.surfaces.http.application import BACKLOG, LimitedConnection

HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
BODY = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\na"
BIG = 4_000_000


async def app(scope, receive, send):
    if scope["path"] == "/big":
        length = str(BIG).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": b"x" * BIG})
        return
    if scope["path"] == "/body":
        while (await receive()).get("more_body"):
            pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.contextmanager
def serving(most, seconds):
    """The port of a server with these limits, and its server."""

    class Limited(LimitedConnection):
        _silent: ClassVar = {}
        _bodies: ClassVar = {}

    Limited.most, Limited.seconds = most, seconds
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = uvicorn.Config(app, http=Limited, lifespan="off", log_config=None, backlog=BACKLOG)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield taken.getsockname()[1], server
        finally:
            server.should_exit = True
            thread.join(20)


def opened(port, sent=HALF):
    made = socket.create_connection(("127.0.0.1", port), timeout=20)
    made.sendall(sent)
    return made


def closed(connection):
    try:
        return connection.recv(1000) == b""
    except ConnectionError:
        return True


def get(port, path="/"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        return answer.read()


@pytest.mark.parametrize("sent", [HALF, BODY], ids=["headers", "body"])
def test_many_unfinished_requests_keep_nobody_out(sent):
    with serving(most=10, seconds=600) as (port, server), contextlib.ExitStack() as held:
        silent = [held.enter_context(opened(port, sent)) for _ in range(60)]
        for _ in range(5):
            assert get(port) == b"ok"
        assert len(server.server_state.connections) <= 10
        # Of bodies, those that are read first stay: the others may be closed before their headers are read.
        assert sent == BODY or all(closed(one) for one in silent[:40]), "the oldest make room"


def test_a_request_that_is_under_way_is_not_closed_for_a_new_connection():
    with serving(most=3, seconds=600) as (port, _), contextlib.ExitStack() as held:
        busy = held.enter_context(
            opened(port, b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        )
        time.sleep(0.2)
        for _ in range(10):
            held.enter_context(opened(port))
        assert get(port) == b"ok"
        busy.sendall(b"cd")
        assert busy.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_body_that_comes_makes_no_room_for_others():
    with serving(most=10, seconds=600) as (port, _), contextlib.ExitStack() as held:
        upload, slow = (held.enter_context(opened(port, BODY)) for _ in range(2))
        assert get(port) == b"ok"  # by now both were read
        for _ in range(3):
            held.enter_context(opened(port, BODY))
        assert get(port) == b"ok"
        upload.sendall(b"a" * 20_000)
        slow.sendall(b"a")
        assert get(port) == b"ok"
        for _ in range(2):
            held.enter_context(opened(port, BODY))
        assert closed(slow)
        upload.sendall(b"a" * 9_999)
        assert upload.recv(1000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [HALF, BODY], ids=["headers", "body"])
@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"], ids=["first", "second"])
def test_a_request_must_be_whole_within_its_time(before, sent):
    with serving(most=100, seconds=1.0) as (port, _), opened(port, before) as connection:
        said = b""
        while before and not said.endswith(b"ok"):
            said += connection.recv(1000)
        connection.sendall(sent)
        assert closed(connection)


def test_an_answer_is_not_cut_on_a_slow_line():
    with serving(most=100, seconds=1.0) as (port, _):
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        slow.connect(("127.0.0.1", port))
        with slow:
            slow.sendall(b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n")
            taken = 0
            while taken < BIG:
                part = slow.recv(32_768)
                assert part, f"cut after {taken:,} bytes"
                taken += len(part)
                time.sleep(0.03)
