"""The event loop that all model calls share."""

from __future__ import annotations

import os
import select

import pytest

from aspectra.llm.loops import run


async def _answer() -> str:
    return "answer"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_a_loop_of_its_own():
    assert run(_answer()) == "answer"
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, run(_answer()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], 30)
    if not ready:
        os.kill(child, 9)
    os.waitpid(child, 0)
    assert ready, "the forked process waits for a thread that it does not have"
    assert os.read(reading, 100) == b"answer"
    os.close(reading)
    assert run(_answer()) == "answer"
