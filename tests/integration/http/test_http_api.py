"""HTTP ``/v1``: the documents of the command line, cursors, jobs, ETags, errors of the catalogue."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspectra.app.main import main
from aspectra.app.surfaces.service.jobs import Jobs
from aspectra.app.surfaces.service.question import Question
from aspectra.base.errors import catalogue

ASKED = {"text": "rerank with large language models"}


def test_the_same_document_as_the_command_line(answering, demo_folder, capsys):
    answer = answering.post("/v1/search", {**ASKED, "since": 2022, "limit": 5}).json()
    main(["search", ASKED["text"], "--since", "2022", "-n", "5", "--json", "--library", str(demo_folder)])
    said = json.loads(capsys.readouterr().out)
    for document in (answer, said):
        del document["seconds"]
    assert {name: answer[name] for name in said} == said
    assert {*answer} - {*said} == {"generation", "next_cursor"}


_QUESTIONS = st.fixed_dictionaries(
    {"text": st.sampled_from(["rerank documents", "follow instructions, no surveys", "ask several hops"])},
    optional={
        "seeds": st.lists(st.sampled_from(["sun2023rankgpt", "karpukhin2020dpr"]), max_size=2, unique=True),
        "same": st.lists(st.sampled_from(["method", "background"]), max_size=2, unique=True),
        "different": st.just(["result"]),
        "conditions": st.lists(st.sampled_from(["avoid kind=survey", "require year=>=2021"]), max_size=2),
        "since": st.sampled_from([2019, "2020-05-01"]),
        "evidence": st.integers(0, 3),
        "limit": st.integers(1, 12),
        "recipe": st.sampled_from(["guided", "bm25", "bm25 | top(20) | dense"]),
        "literal": st.booleans(),
    },
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=_QUESTIONS)
def test_every_surface_gives_the_same_ids_scores_and_quotes(answering, body):
    """Python's question and HTTP's; the page's and MCP's are compared with the service in their own tests."""
    answer = answering.post("/v1/search", body)
    assert answer.status_code == 200, answer.text
    question = Question.from_dict(body)
    more = {k: v for k, v in body.items() if k not in ("text", "seeds")}
    direct = answering.library.run(answering.library.plan(body["text"], seeds=body.get("seeds", ()), **more))
    assert answer.json()["hits"] == direct.to_dict()["hits"]
    named: dict[str, list[str]] = {}
    for name, value in question.parameters():
        named.setdefault(name, []).append(value)
    again = Question.from_parameters(named)
    assert answering.service.answer(again).ranking.to_dict()["hits"] == direct.to_dict()["hits"]


def test_cursors_walk_through_the_ranking(answering):
    whole = answering.post("/v1/search", {**ASKED, "limit": 12}).json()
    seen, cursor = [], ""
    for _ in range(3):
        page = answering.post("/v1/search", {**ASKED, "limit": 4, "cursor": cursor}).json()
        seen += page["hits"]
        cursor = page["next_cursor"]
    assert [(h["id"], h["rank"], h["score"]) for h in seen] == [
        (h["id"], h["rank"], h["score"]) for h in whole["hits"]
    ]


def test_cursors_are_bound_to_question_and_process(answering, answering_from, demo_folder):
    cursor = answering.post("/v1/search", ASKED).json()["next_cursor"]
    other = answering.post("/v1/search", {"text": "owls", "cursor": cursor})
    assert other.status_code == 422
    changed = ("A" if cursor[0] != "A" else "B") + cursor[1:]
    for forged in (changed, cursor[:20] + "AAAA" + cursor[24:]):
        assert answering.post("/v1/search", {**ASKED, "cursor": forged}).status_code in (410, 422)
    assert answering.post("/v1/search", {**ASKED, "cursor": "é"}).status_code == 422
    again = answering_from(demo_folder).post("/v1/search", {**ASKED, "cursor": cursor})
    assert (again.status_code, again.json()["code"]) == (410, "gone")


def test_a_cursor_ends_with_its_generation(writable):
    cursor = writable.post("/v1/search", ASKED).json()["next_cursor"]
    writable.library.index(rebuild=True)
    answer = writable.post("/v1/search", {**ASKED, "cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (410, "gone")
    assert writable.post("/v1/search", ASKED).json()["generation"] == writable.service.generation()


def test_a_paper_has_an_etag(answering):
    first = answering.ask("GET", "/v1/papers/sun2023rankgpt")
    tag = first.headers["etag"]
    again = answering.ask("GET", "/v1/papers/sun2023rankgpt", headers={"if-none-match": f'"x", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert answering.ask("GET", "/v1/papers/karpukhin2020dpr").headers["etag"] != tag
    spans = answering.ask("GET", "/v1/papers/sun2023rankgpt/sentences").json()["sentences"]
    abstract = first.json()["abstract"]
    assert all(abstract[one["start"] : one["end"]] == one["text"] for one in spans)
    assert {one["role"] for one in spans} & {"method", "result"}


def test_problems_come_from_the_catalogue(answering):
    known = catalogue()
    for answer, code in (
        (answering.post("/v1/search", {"text": ""}), "usage"),
        (answering.post("/v1/search", {"text": "a", "nothing": 1}), "usage"),
        (
            answering.ask("POST", "/v1/search", content=b"{", headers={"content-type": "application/json"}),
            "usage",
        ),
        (answering.ask("GET", "/v1/papers/nobody2020"), "no-such-paper"),
        (answering.ask("GET", "/v1/jobs/none"), "not-found"),
        (answering.ask("GET", "/v1/nothing"), "not-found"),
        (answering.ask("PUT", "/v1/search"), "method-not-allowed"),
        (answering.ask("POST", "/v1/search", content=b"{}", headers={"content-type": "text/plain"}), "usage"),
        (answering.ask("GET", "/v1/plans/abc/why-not?paper=x"), "gone"),
        (answering.post("/v1/search", {"text": "a", "recipe": "bm25 | rerank"}), "model-off"),
        (answering.post("/v1/search", {"text": "a", "recipe": "/etc/passwd.toml"}), "usage"),
        (answering.post("/v1/similar", {"text": "a"}), "usage"),
    ):
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["code"] == code, problem
        assert problem["status"] == answer.status_code == known[code].http_status
        assert problem["title"]
        assert problem["retryable"] == known[code].retryable
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        *(("PUT", "/v1/search", "POST"), ("DELETE", "/v1/papers/x", "GET"), ("HEAD", "/v1/status", "GET")),
        *(("PATCH", "/", "GET, HEAD"), ("HEAD", "/decide", "POST"), ("PUT", "/static/a.css", "GET, HEAD")),
    ],
)
def test_a_wrong_method_names_the_right_ones(answering, method, path, allowed):
    answer = answering.ask(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    "body",
    [
        {"text": "a" * 4001},
        {"text": "a", "seeds": ["x"] * 21},
        {"text": "a", "same": ["m"] * 9},
        {"text": "a", "limit": 0},
        {"text": "a", "limit": 101},
        {"text": "a", "evidence": 6},
        {"text": "a", "since": "soon"},
        {"text": "a", "decided": "perhaps"},
        {"text": "a", "conditions": ["x" * 501]},
    ],
)
def test_limits_of_a_question(answering, body):
    assert answering.post("/v1/search", body).status_code == 422


def test_plans_and_reasons(answering):
    planned = answering.post("/v1/plan", {"text": "follow instructions, since 2024"}).json()
    assert planned["requests"]["applied"][0]["words"] == "since 2024"
    told = answering.ask(
        "GET", f"/v1/plans/{planned['hash']}/why-not", params={"paper": "sun2023rankgpt"}
    ).json()
    assert any(reason["drops"] for reason in told["reasons"])


def test_decisions_are_kept_and_listed(writable):
    body = {"ids": ["sun2023rankgpt"], "decision": "include", "reason": "fits"}
    assert writable.post("/v1/decisions", body).json() == {"changed": 1}
    listed = writable.ask("GET", "/v1/papers?decision=include").json()
    assert [(hit["id"], hit["reason"]) for hit in listed["hits"]] == [("sun2023rankgpt", "fits")]
    ris = writable.post("/v1/export", {"ids": ["sun2023rankgpt"], "format": "ris"}).json()
    assert ris["text"].startswith("TY  - ")


def _ended(answering, job):
    """One event loop for a job's whole life: it is a task there."""

    async def walk():
        transport = httpx.ASGITransport(app=answering.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            begun = await job(client)
            assert begun.status_code == 202, begun.text
            where = begun.headers["location"]
            until = time.monotonic() + 120
            while time.monotonic() < until:
                state = (await client.get(where)).json()
                if state["state"] not in ("waiting", "running"):
                    return (
                        begun.json(),
                        state,
                        [one["id"] for one in (await client.get("/v1/jobs")).json()["jobs"]],
                    )
                await asyncio.sleep(0.1)
            raise AssertionError(state)

    return asyncio.run(walk())


BIB = "@article{owl2020, title={How owls hunt}, author={Strix, Ada}, year={2020}, abstract={By ear alone.}}"


def test_add_and_index_are_jobs_and_searches_see_them(writable, monkeypatch):
    keep, loops = Jobs.keep, []

    def kept(*given):
        loops.append(asyncio._get_running_loop())  # of this thread
        return keep(*given)

    monkeypatch.setattr(Jobs, "keep", kept)

    async def add(client):
        headers = {"content-type": "application/octet-stream", "idempotency-key": "one"}
        first = await client.post("/v1/jobs/add?name=../../owls.bib", content=BIB.encode(), headers=headers)
        again = await client.post("/v1/jobs/add?name=../../owls.bib", content=BIB.encode(), headers=headers)
        assert again.json()["id"] == first.json()["id"]
        other = await client.post("/v1/jobs/add?name=b.bib", content=b"@x{}", headers=headers)
        assert other.status_code == 422
        return again

    _, state, every = _ended(writable, add)
    assert state["state"] == "done", state
    assert state["result"]["schema"] == "aspectra.added/1"
    assert len(every) == 1
    assert loops == [None] * 3  # files are hashed and written beside the event loop
    origin = writable.library.marks.of("owl2020")["origins"][0]["file"]
    assert origin.endswith("/owls.bib")
    assert "/uploads/" in origin

    _, state, _ = _ended(writable, lambda client: client.post("/v1/jobs/index", json={}))
    assert state["state"] == "done", state
    assert writable.post("/v1/search", {"text": "owls hunting mice"}).json()["hits"][0]["id"] == "owl2020"


def test_a_job_that_fails_says_why(writable):
    async def add(client):
        headers = {"content-type": "application/octet-stream"}
        return await client.post("/v1/jobs/add?name=x.bib", content=b"\x00\x01nothing", headers=headers)

    _, state, _ = _ended(writable, add)
    assert state["state"] == "failed"
    assert state["error"]["what"]
    _, state, _ = _ended(writable, lambda client: client.post("/v1/jobs/lens", json={"name": "stance"}))
    assert (state["state"], state["error"]["code"]) == ("failed", "usage")


def test_too_many_requests_are_refused_and_the_rest_answered(demo_folder, answering_from):
    answering = answering_from(demo_folder, running=1, patience=0.2)
    answering.post("/v1/search", ASKED)  # loads index and encoder
    slow = answering.service.answer

    def slower(*args, **more):
        time.sleep(0.1)
        return slow(*args, **more)

    answering.service.answer = slower

    async def flood():
        transport = httpx.ASGITransport(app=answering.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            many = await asyncio.gather(*(client.post("/v1/search", json=ASKED) for _ in range(40)))
            after = await client.post("/v1/search", json=ASKED)
            return many, after

    many, after = asyncio.run(flood())
    refused = [one for one in many if one.status_code == 429]
    assert refused
    assert len(refused) < 40
    assert all(int(one.headers["retry-after"]) >= 1 and one.json()["retryable"] for one in refused)
    assert {one.status_code for one in many} == {200, 429}
    assert after.status_code == 200


def test_the_callers_deadline_is_kept(demo_folder, answering_from):
    answering = answering_from(demo_folder)
    answering.post("/v1/search", ASKED)
    held = answering.service.answer
    answering.service.answer = lambda *args, **more: time.sleep(0.5) or held(*args, **more)
    answer = answering.post("/v1/search", ASKED, headers={"request-timeout": "0.1"})
    assert (answer.status_code, answer.json()["code"]) == (408, "deadline")
