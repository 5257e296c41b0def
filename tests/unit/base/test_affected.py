"""``make affected`` chooses by the room that changed, for processes, and by who reads it, for data."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

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


@pytest.mark.parametrize(
    ("file", "modules"),
    [
        ("instructions/words/bounds.toml", ["instructions/recognisers/bounds.py"]),
        ("planning/data/heads-hints-minilm.npz", ["planning/heads.py"]),
        ("conditions/attributes/words/source.txt", ["conditions/attributes/labels/source.py"]),
    ],
)
def test_the_module_of_its_name_reads_a_file(file, modules):
    room = "src/aspectra/search/"
    assert affected.readers(room + file) == [room + module for module in modules]


def test_every_file_that_is_no_code_has_readers():
    shown = subprocess.run(["git", "ls-files", "src"], cwd=affected.ROOT, capture_output=True, check=False)
    files = [file for file in shown.stdout.decode().split() if Path(file).suffix not in (".py", ".md")]
    assert all(affected.readers(file) for file in files)


def test_tests_of_data_are_those_that_run_a_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(affected, "RECORD", tmp_path / "record")
    with closing(sqlite3.connect(affected.RECORD)) as record:
        record.executescript(
            "CREATE TABLE test_execution (id, test_name); CREATE TABLE file_fp (id, filename);"
            "CREATE TABLE test_execution_file_fp (test_execution_id, fingerprint_id);"
            "INSERT INTO test_execution VALUES (1, 'a::test[x]'), (2, 'a::test[y]'), (3, 'b::test');"
            "INSERT INTO file_fp VALUES (7, 'src/aspectra/search/planning/heads.py'), (8, 'src/other.py');"
            "INSERT INTO test_execution_file_fp VALUES (1, 7), (2, 7), (2, 8), (3, 8);"
        )
    assert affected.by_data(["src/aspectra/search/planning/data/heads-hints-minilm.npz"]) == ["a::test"]
    assert affected.by_data(["src/aspectra/search/planning/data/README.md", "README.md"]) == []


def test_slow_tests_are_all_run_where_a_file_of_theirs_changed(monkeypatch):
    monkeypatch.setattr(affected, "TURN", "3")
    file = min(affected.SLOW).partition("::")[0]
    assert affected.turn_of([file]) == "all"
    assert affected.turn_of(["README.md"]) == "3"
