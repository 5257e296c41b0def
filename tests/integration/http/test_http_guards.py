"""What is refused before anything else: other hosts, other sites, no token, too much."""

from __future__ import annotations

import asyncio
import contextlib
import html
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from aspectra.app.library import open_library
from aspectra.app.surfaces.service.access import Access
from aspectra.app.surfaces.service.answering import Service
from aspectra.base.errors import UsageError
from aspectra.llm.scripted import Scripted
from aspectra.search.planning.model_reader import ModelReader

FORGED_HOSTS = [
    "evil.example",
    "evil.example:8765",
    "127.0.0.1.evil.example:8765",
    "127.0.0.1:80",
    "127.0.0.1",
    "0.0.0.0:8765",
    "localhost:8766",
    "localhost.:8765",
    "169.254.169.254",
    "[::ffff:127.0.0.1]:8765",
    "2130706433:8765",
    "user@127.0.0.1:8765",
    "",
]
FORGED_ORIGINS = [
    "http://evil.example",
    "http://evil.example:8765",
    "https://127.0.0.1.evil.example:8765",
    "http://127.0.0.1:9999",
    "http://localhost",
    "null",
    "file://",
    "chrome-extension://abc",
    "http://user@127.0.0.1:8765",
    "http://[::1",
    "http://]/",
    "https://a]b",
]


def test_a_token_in_any_script_signs_in(demo_folder, answering_from):
    token = "ein-Schlüssel-κλειδί-鍵"
    answering = answering_from(demo_folder, token=token)
    form = {"content-type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1:8765"}
    assert answering.ask("POST", "/token", headers=form, data={"token": "鍵" * 20}).status_code == 401
    cookie = answering.ask("POST", "/token", headers=form, data={"token": token}).headers["set-cookie"]
    for headers in ({"cookie": cookie.partition(";")[0]}, {"authorization": b"Bearer " + token.encode()}):
        assert answering.ask("GET", "/v1/status", headers=headers).status_code == 200
    assert answering.ask("GET", "/v1/status", headers={"cookie": "aspectra_token=x"}).status_code == 401


@pytest.mark.parametrize("path", ["/", "/healthz", "/triage"])
def test_monitors_ask_with_head(answering, path):
    assert answering.ask("HEAD", path).status_code == 200


def test_the_cookie_stays_on_encrypted_connections_where_the_page_came_by_one(demo_folder, answering_from):
    token = "a-long-enough-secret"
    answering = answering_from(demo_folder, token=token)
    form = {"content-type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1:8765"}
    for more in ({}, {"origin": "https://127.0.0.1:8765"}, {"x-forwarded-proto": "https"}):
        answer = answering.ask("POST", "/token", headers=form | more, data={"token": token})
        assert ("Secure" in answer.headers["set-cookie"]) == bool(more)


@pytest.mark.parametrize("host", FORGED_HOSTS)
@pytest.mark.parametrize("path", ["/", "/v1/status", "/healthz", "/static/style.css"])
def test_other_hosts_are_refused(answering, host, path):
    assert answering.ask("GET", path, headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_its_own_names_are_admitted(answering, host):
    assert answering.ask("GET", "/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", FORGED_ORIGINS)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/status"), ("POST", "/v1/search"), ("POST", "/decide")]
)
def test_other_origins_are_refused(answering, origin, method, path):
    answer = answering.ask(method, path, headers={"origin": origin}, json={"text": "owls"})
    assert answer.status_code == 403
    assert answer.json()["code"] == "not-allowed"


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""]
)
def test_a_form_without_its_origin_is_refused(answering, kind):
    headers = {"content-type": kind} if kind else {}
    for path in ("/decide", "/undo", "/library/index"):
        assert answering.ask("POST", path, headers=headers, content=b"a=b").status_code == 403, path


def test_a_form_of_the_page_passes(writable):
    headers = {"origin": "http://127.0.0.1:8765"}
    data = {"id": "sun2023rankgpt", "decision": "include", "back": "/"}
    answer = writable.ask("POST", "/decide", headers=headers, data=data)
    assert answer.status_code != 403


def test_requests_that_a_browser_marks_as_foreign_are_refused(answering):
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert answering.ask("GET", "/v1/status", headers=foreign).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert answering.ask("GET", "/healthz", headers=link).status_code == 200
    assert answering.ask("POST", "/v1/search", headers=link, json={"text": "a"}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "same-origin"])
@pytest.mark.parametrize("place", ["iframe", "object", "image", "", "document"])
def test_no_other_site_makes_the_page_ask_the_model(answering, place, site):
    model = Scripted(lambda request: "[2] > [1] > [3]")
    answering.service._model = lambda: contextlib.nullcontext(model)
    headers = {"accept": "text/html", "sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    headers |= {"sec-fetch-dest": place} if place else {}
    asking = {"text": "rerank documents", "recipe": "bm25 | rerank(depth=3)"}
    answer = answering.ask("GET", "/", params=asking, headers=headers)
    plain = answering.ask("GET", "/", params={"text": "rerank documents"}, headers=headers)
    own = site == "same-origin"
    assert (answer.status_code, bool(model.asked)) == ((200, True) if own else (403, False))
    assert plain.status_code == (200 if own or place == "document" else 403)
    assert own or place != "document" or "a link of another site brought it" in answer.text


def test_the_token_is_needed_and_compared(demo_folder, answering_from):
    answering = answering_from(demo_folder, token="a-long-enough-secret")
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic a-long-enough-secret"}):
        answer = answering.ask("GET", "/v1/status", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "no-token")
        assert answer.headers["www-authenticate"] == "Bearer"
    good = {"authorization": "Bearer a-long-enough-secret"}
    assert answering.ask("GET", "/v1/status", headers=good).status_code == 200
    assert answering.ask("GET", "/healthz").status_code == 200
    page = answering.ask("GET", "/", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/token")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "10.0.0.1"])
def test_another_address_needs_a_token(host):
    with pytest.raises(UsageError) as refused:
        Access.to(host, 8765)
    assert "ASPECTRA_TOKEN" in refused.value.hint
    with pytest.raises(UsageError):
        Access.to(host, 8765, "short")
    if host in ("0.0.0.0", "::"):
        with pytest.raises(UsageError, match="no name"):
            Access.to(host, 8765, "x" * 16)
    else:
        assert Access.to(host, 8765, "x" * 16).knows(f"{host}:8765")
    named = Access.to(host, 8765, "x" * 16, ["papers.example"])
    assert named.knows("Papers.Example")
    assert not named.knows("papers.example:8765")


def test_loopback_needs_none():
    assert Access.to("127.0.0.1", 80).knows("localhost")
    for host, shown in (("127.0.0.1",) * 2, ("localhost",) * 2, ("::1", "[::1]"), ("127.0.0.53",) * 2):
        access = Access.to(host, 1)
        assert (access.token, access.hosts[0], access.knows("localhost:1")) == ("", f"{shown}:1", True)
    assert Access.to("2001:db8::1", 1, "x" * 16).hosts == ("[2001:db8::1]:1",)


@pytest.mark.parametrize(
    ("path", "query", "kind"),
    [
        ("/v1/search", b"", b"application/json"),
        ("/v1/jobs/add", b"name=a.bib", b"application/octet-stream"),
        ("/decide", b"", b"application/x-www-form-urlencoded"),
    ],
)
def test_a_request_that_breaks_off_leaves_nothing_in_the_log(answering, path, query, kind, caplog):
    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        pass

    host = b"127.0.0.1:8765"
    headers = [(b"host", host), (b"origin", b"http://" + host), (b"content-type", kind)]
    scope = {"type": "http", "method": "POST", "scheme": "http", "path": path, "query_string": query}
    asyncio.run(answering.app({**scope, "headers": headers}, receive, send))
    assert not caplog.records


def test_what_is_too_large_is_refused(answering):
    body = b'{"text": "' + b"a" * 2_000_000 + b'"}'
    kind = {"content-type": "application/json"}
    assert answering.ask("POST", "/v1/search", content=body, headers=kind).status_code == 413

    async def chunks():
        for _ in range(40):
            yield b"a" * 65_536

    chunked = answering.ask("POST", "/v1/search", content=chunks(), headers=kind)
    assert (chunked.status_code, chunked.json()["code"]) == (413, "too-large")
    assert answering.ask("GET", "/?text=" + "a" * 40_000).status_code == 413


@pytest.mark.parametrize(
    "path",
    [
        "/static/../rendering.py",
        "/static/%2e%2e/rendering.py",
        "/static/..%2frendering.py",
        "/static/..%5crendering.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/style.css%00.html",
        "/v1/papers/..%2f..%2fetc%2fpasswd",
        "/paper/..%2f..%2fetc%2fpasswd",
        "/v1/papers/file:%2f%2f%2fetc%2fpasswd",
        "/v1/papers/http:%2f%2f169.254.169.254%2flatest",
        "/v1/jobs/..%2f..%2fetc%2fpasswd",
    ],
)
def test_traversal_leads_nowhere(answering, path):
    answer = answering.ask("GET", path)
    assert answer.status_code in (404, 422), answer.text
    assert "root:" not in answer.text
    assert "def " not in answer.text


def test_every_answer_carries_the_headers(answering):
    for path in ("/healthz", "/v1/nothing", "/v1/status", "/static/style.css"):
        headers = answering.ask("GET", path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "private, no-cache"
        assert headers["x-request-id"]


def reading(answering, *items):
    """Serve with a model that reads questions too; its replies are *simulated*."""
    said = json.dumps({"requests": [{"words": words, "condition": spelled} for words, spelled in items]})
    model = Scripted(lambda request: said)
    answering.service._model = lambda: contextlib.nullcontext(model)
    answering.library.second = ModelReader(answering.service._opened)
    return model


def test_a_service_without_a_model_reads_by_the_rules(demo_folder):
    with open_library(demo_folder) as library:
        library.second = ModelReader(contextlib.nullcontext)
        assert Service(library).library.second is None


def test_another_reading_is_offered_as_a_link(answering):
    model = reading(answering, ("no surveys", "avoid kind=survey"), ("of yore", "require year=<=2019"))
    text = answering.ask("GET", "/", params={"text": "language models of yore, no surveys"}).text
    assert len(model.asked) == 1
    assert "“of yore”, read by scripted (simulated)" in text
    link = html.unescape(re.search(r'href="([^"]+)">apply it', text)[1])
    kept = parse_qs(urlsplit(link).query)["conditions"]
    assert kept == ["require year=<=2019", "avoid kind=survey"]
    assert answering.ask("GET", link).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-origin"])
def test_no_link_of_another_site_makes_the_model_read(answering, site):
    model = reading(answering, ("of yore", "require year=<=2019"))
    headers = {"accept": "text/html", "sec-fetch-site": site}
    headers |= {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    answer = answering.ask("GET", "/", params={"text": "language models of yore"}, headers=headers)
    assert answer.status_code == 200
    assert bool(model.asked) == (site == "same-origin")
    assert ("a link of another site brought it" in answer.text) == (site == "cross-site")
