"""``make affected`` chooses tests that start processes by the room that changed."""

from __future__ import annotations

import pytest

import affected


def test_each_room_and_its_tests_exist():
    rooms = [room for room in affected.BY_ROOM if room.startswith("aspectra")]
    assert all((affected.ROOT / "src" / room).is_dir() for room in rooms)
    tests = {test for tests in affected.BY_ROOM.values() for test in tests}
    assert all((affected.ROOT / "tests" / "integration" / test).exists() for test in tests)


@pytest.mark.parametrize(
    ("file", "chosen"),
    [
        (
            "src/aspectra/app/surfaces/mcp/server.py",
            ["tests/integration/test_mcp.py", "tests/integration/http/test_mounted_mcp.py"],
        ),
        (
            "src/aspectra/llm/chat.py",
            ["tests/integration/test_llm_keys.py", "tests/integration/test_llm_kill.py"],
        ),
        ("README.md", ["tests/unit/app/test_docs.py"]),
        ("tests/integration/test_mcp.py", ["tests/integration/test_mcp.py"]),
        ("tests/unit/base/test_affected.py", []),
    ],
)
def test_the_longest_room_counts(file, chosen):
    assert affected.by_room([file]) == chosen
