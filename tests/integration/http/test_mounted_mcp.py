"""MCP at ``/mcp`` of ``aspectra serve``: the SDK's client, the same papers as HTTP, the same guards."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from loopback_server import serving_process
from made_once import copy_of

mcp = pytest.importorskip("mcp", reason="MCP needs: pip install 'aspectra[mcp]'")


def test_agents_and_programs_get_the_same(demo_folder, tmp_path):
    from mcp.client import Client

    asked = {"seeds": ["karpukhin2020dpr"], "instruction": "same method, not vision, since 2018"}

    async def agent(address: str) -> dict:
        async with Client(f"{address}/mcp") as client:
            answer = await client.call_tool("find_similar", {**asked, "limit": 5})
            assert not answer.is_error
            return answer.structured_content

    folder = copy_of(demo_folder, tmp_path / "copy")
    with serving_process(folder, tmp_path) as address:
        found = asyncio.run(agent(address))
        answer = httpx.post(f"{address}/v1/similar", json={**asked, "limit": 5}, timeout=60).json()
        assert [(p["untrusted"]["id"], p["score"]) for p in found["papers"]] == [
            (h["id"], h["score"]) for h in answer["hits"]
        ]
        assert found["plan"] == answer["plan"]["hash"]
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            assert httpx.post(f"{address}/mcp", json={}, headers=headers).status_code == 403
