"""Zotero's key goes to Zotero: no link takes it elsewhere."""

from __future__ import annotations

import io
import urllib.request
from urllib.parse import urlsplit

import pytest

from aspectra.app.ingest.zotero.connection import WEB, Connection, ZoteroError, local_address

KEY = "P9NiFoyLeZu2bZNvvuQPDWsd"


class Answers:
    """Stands for the network: gives one page with a link, and remembers who was asked."""

    def __init__(self, link):
        self.link, self.asked = link, []

    def open(self, request, timeout):
        self.asked.append((urlsplit(request.full_url), dict(request.header_items())))
        answer = io.BytesIO(b"[]")
        answer.status, answer.headers = 200, {"Link": self.link} if len(self.asked) == 1 else {}
        return answer


def connected(monkeypatch, answers, base=WEB):
    monkeypatch.setattr(urllib.request, "build_opener", lambda *_: answers)
    return Connection(base, key=lambda: KEY, sleep=lambda seconds: None)


@pytest.mark.parametrize("base", [WEB, local_address(23119)])
@pytest.mark.parametrize(
    "link",
    [
        "@evil.example/users/1/items",
        ".evil.example/users/1/items",
        ":80@evil.example/items",
        ":1@evil.example",
        "-evil.example/items",
        "//evil.example/api/users/1/items",
        "https://evil.example/api/users/1/items",
        "https://api.zotero.org@evil.example/api/items",
        "http://127.0.0.1.evil.example/api/items",
        "https://api.zotero.org:444/api/items",
        "\\\\evil.example\\items",
        "?x",
    ],
)
def test_a_next_page_at_another_host_is_refused_and_nobody_is_asked(monkeypatch, link, base):
    answers = Answers(f"<{link}>; rel=next")
    with pytest.raises(ZoteroError, match="cannot be read"):
        connected(monkeypatch, answers, base).pages("/users/1/items")
    assert [there.netloc for there, _ in answers.asked] == [urlsplit(base).netloc]


@pytest.mark.parametrize(
    ("base", "link"),
    [
        (WEB, "https://api.zotero.org/users/1/items?start=100"),
        (WEB, "/users/1/items?start=100"),
        (local_address(23119), "http://localhost:23119/api/users/1/items?start=100"),
    ],
)
def test_a_next_page_of_the_same_server_is_read(monkeypatch, base, link):
    answers = Answers(f'<{link}>; rel="next"')
    assert len(connected(monkeypatch, answers, base).pages("/users/1/items")) == 2
    there, headers = answers.asked[1]
    assert (there.netloc, there.query) == (urlsplit(base).netloc, "start=100")
    assert headers["Zotero-api-key"] == KEY
