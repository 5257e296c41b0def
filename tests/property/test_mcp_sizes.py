"""No answer over MCP is longer than 24,000 bytes, whatever papers say."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("mcp", reason="needs: pip install 'aspectra[mcp]'")

import aspectra
from aspectra.app.surfaces.mcp.arguments import Libraries
from aspectra.app.surfaces.mcp.listing import (
    clip,
    fitting,
    handle,
    line,
    plain,
    quote_entry,
    room,
    size,
    strings,
)
from aspectra.app.surfaces.mcp.server import mcp_server
from aspectra.app.surfaces.mcp.tools import TOOLS
from aspectra.app.surfaces.service.access import Gate
from aspectra.papers.paper import Paper, Section
from aspectra.search.ranking import Evidence
from long import LONG as ALL

ANSWER = 24_000  # most bytes of an answer, with what the protocol puts around it
HIDDEN = "\x00\x07\x1b\x7f\u200b\u202e\u2066\u2028\U000e0041\ud800"
ODD = st.sampled_from(
    ["a", "owl ", '"', "\\", "\n", "\t", "é", "漢", "😀", "\u202e", "\x1b[31m", "\u2028", "{{", "</x>"]
)
SHORT = st.text(max_size=40) | ODD
LONG = st.builds(lambda unit, times: unit * times, ODD, st.sampled_from([1, 300, 3_000, 30_000]))
PAPERS = st.lists(
    st.builds(
        dict,
        title=SHORT | LONG,
        abstract=LONG,
        authors=st.lists(SHORT | LONG, max_size=3).map(tuple),
        venue=SHORT | LONG,
        year=st.none() | st.integers(1900, 2030),
        doi=SHORT,
        sections=st.lists(st.builds(Section, SHORT | LONG, LONG), max_size=40).map(tuple),
        metadata=st.dictionaries(st.sampled_from(["keywords", "note", "type"]), SHORT | LONG, max_size=2),
        suffix=st.sampled_from(["", "é", "😀" * 100, "\u202e", "x" * 600]),
    ),
    min_size=1,
    max_size=12,
)


@given(st.text() | LONG, st.integers(0, 500))
def test_a_clipped_text_fits(text, most):
    shown = plain(text)
    cut = clip(shown, most)
    assert size(cut) - 2 <= most
    assert not set(shown) & set(HIDDEN)
    assert cut == shown or shown.startswith(cut.removesuffix("…").rstrip())
    if size(shown) - 2 <= most:
        assert cut == shown


@given(st.lists(st.text()), st.integers(0, 500))
def test_lists_fit(texts, most):
    assert sum(size(one) + 1 for one in fitting(texts, most)) <= most
    assert all(size(one) - 2 <= 60 and "\n" not in one for one in strings(texts, 2_000, 60))


@given(st.text(), st.integers(0, 200), st.integers(0, 300))
def test_parts_of_a_text_meet(text, most, start):
    shown = plain(text)
    end = room(shown, most, start)
    if start <= len(shown):
        assert size(shown[start:end]) - 2 <= most
        assert end == len(shown) or size(shown[start : end + 1]) - 2 > most


@given(st.text(min_size=1, max_size=500))
def test_a_handle_is_what_it_names_or_nothing(text):
    named = handle(text, {"doi": "10.1/x"})
    assert named in (text, "doi:10.1/x")
    assert named == line(named)


def test_a_quote_always_has_a_text():
    assert quote_entry(Evidence("\u202e", "abstract", 0, 1), 100, full=False) == {"text": ""}


def _paper(number, given):
    fields = {name: given[name] for name in ("title", "abstract", "authors", "venue", "year", "sections")}
    doi = {"doi": f"10.1000/{number}{given['doi']}"}
    return Paper(f"p{number}{given['suffix']}", **fields, identifiers=doi, metadata=given["metadata"])


@settings(
    max_examples=12 if ALL else 5,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(PAPERS, st.integers(0, 60_000))
def test_no_answer_is_longer_than_its_limit(given, start):
    papers = [_paper(number, one) for number, one in enumerate(given)]
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder) / "library", papers)
        libraries = Libraries({"漢" * 60: Path(folder) / "library"}, aspectra.open)
        try:
            for tool, arguments in _calls(libraries, papers, start):
                _ask(libraries, tool, arguments)
        finally:
            libraries.close()


def _fill(folder, papers):
    with aspectra.create(folder) as made:
        with made.store.writing("add") as writer:
            writer.add(papers)
        made.index(encoders=[])


def _calls(libraries, papers, start):
    conditions = [f"avoid keyword={word * 100}" for word in ("owl ", "漢", "😀")] + [
        "prefer year=>=2000"
    ] * 10
    words = {"text": "owl a 漢 é since 1900 " * 20, "limit": 25}
    for detail in ("ids", "brief", "full"):
        yield "search_papers", {**words, "detail": detail}
        yield "search_papers", {**words, "detail": detail, "conditions": conditions}
    found = _ask(libraries, "search_papers", words)
    for paper in papers:
        yield "get_paper", {"id": paper.id, "start": start}
        yield "find_similar", {"seeds": [paper.id], "same": ["method"], "limit": 25, "detail": "full"}
        yield "explain_match", {"plan": found.get("plan", "x"), "id": paper.id}
    for form in ("ris", "bibtex", "csl-json"):
        for abstracts in (True, False):
            ids = [paper.id for paper in papers]
            yield "export_citations", {"ids": ids, "format": form, "abstracts": abstracts}
    yield "library_status", {}
    yield "library_status", {"library": "😀" * 64}
    yield "get_paper", {"id": "😀" * 1000}
    yield "search_papers", {"\n😀" * 9_000: 1}
    yield "search_papers", {"text": "x", "conditions": ["😀" * 400] * 20}


_TEXTS = ("untrusted", "applied", "not_applied", "warnings", "cut")


def _ask(libraries, tool, arguments):
    """The structured content of an answer, whose size is that of the longest form on the wire."""
    import anyio
    import mcp_types as types

    server = mcp_server(libraries, Gate())

    async def call():
        entry = server.get_request_handler("tools/call")
        context = _Context()
        return await entry.handler(context, types.CallToolRequestParams(name=tool, arguments=arguments))

    result = anyio.run(call).model_dump(by_alias=True, mode="json", exclude_none=True)
    result["_meta"] = {"io.modelcontextprotocol/serverInfo": server.server_info_stamp}
    wire = json.dumps({"jsonrpc": "2.0", "id": "9" * 36, "result": result}, separators=(",", ":"))
    assert len(wire) <= ANSWER, (tool, len(wire))
    assert not set(json.loads(wire)["result"]["content"][0]["text"]) & set(HIDDEN)
    assert not set("".join(_strings(result["structuredContent"]))) & set(HIDDEN)
    return result["structuredContent"]


def _strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


class _Context:
    request = None
    protocol_version = "2025-11-25"

    class session:  # noqa: N801
        client_capabilities = None


def test_a_long_answer_goes_on_where_it_was_cut(tmp_path):
    long = "The owl hunts 漢字 at night. " * 400
    papers = [
        Paper(f"p{n:02d}" + "x" * 380, f"Owl {n} " + "漢" * 300, long, ("Ada " + "é" * 200,), 2000,
              sections=(Section("Method", long * 3),))
        for n in range(30)
    ]  # fmt: skip
    _fill(tmp_path / "library", papers)
    libraries = Libraries({"owls": tmp_path / "library"}, aspectra.open)
    ids, more = [], {}
    while more is not None:
        found = _ask(libraries, "search_papers", {"text": "owl", "limit": 25, "detail": "full", **more})
        ids += [one["untrusted"]["id"] for one in found["papers"]]
        more = {"cursor": found["next_cursor"]} if "next_cursor" in found else None
    assert sorted(ids) == sorted(paper.id for paper in papers)
    text, start = "", 0
    while start is not None:
        part = _ask(libraries, "get_paper", {"id": papers[0].id, "start": start})
        text += part["untrusted"]["text"]
        start = part.get("next_start")
    assert text == f"{long.strip()}\n\n# Method\n\n{(long * 3).strip()}"
    records, start = "", 0
    while start is not None:
        cited = _ask(libraries, "export_citations", {"ids": [p.id for p in papers], "start": start})
        records += cited["untrusted"]["text"]
        start = cited.get("next_start")
    assert [paper.id for paper in papers] == [
        row[6:] for row in records.splitlines() if row.startswith("ID  - ")
    ]
    libraries.close()


def test_schemas_are_short():
    from aspectra.app.surfaces.mcp.server import mcp_server

    server = mcp_server(Libraries({}, aspectra.open), Gate())

    async def listed():
        return await server.get_request_handler("tools/list").handler(_Context(), None)

    import anyio

    tools = anyio.run(listed).model_dump(by_alias=True, mode="json", exclude_none=True)["tools"]
    assert [tool["name"] for tool in tools] == [*TOOLS]
    assert len(json.dumps(tools, separators=(",", ":"))) <= 4_500
