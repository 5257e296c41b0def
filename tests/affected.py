"""Runs the tests that a change touches: ``make affected``; ``--record`` makes the record that it needs.

pytest-testmon records which functions each test runs, and chooses by what changed in them. It does not see
into other processes, so tests that start some are chosen by the room that changed, see ``BY_ROOM``; nor files
that are no code, whose tests are those that run the module of that name, or else a module beside.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from long import SLOW, TURN

ROOT = Path(__file__).parents[1]
RECORD = ROOT / ".venv" / "testmondata"  # a lost one is made again
TRACED = ("tests/unit", "tests/property", "tests/golden", "src")
# Part of a changed path -> tests that start processes, or a browser, in which it runs.
BY_ROOM = {
    "aspectra/app/surfaces/web": ("web",),
    "aspectra/app/surfaces/http": ("http", "web/test_asking.py"),
    "aspectra/app/surfaces/service": ("http", "web/test_asking.py"),
    "aspectra/app/surfaces/mcp": ("test_mcp.py", "http/test_mounted_mcp.py"),
    "aspectra/app/surfaces/notebook": ("test_notebook.py",),
    "aspectra/app/ingest/zotero": ("test_zotero.py", "test_zotero_push.py"),
    "aspectra/app": ("test_cli_process.py", "test_keeping.py", "test_tutorial.py"),
    "aspectra/lab": ("test_bench_resume.py", "test_studies.py", "test_paper_studies.py"),
    "aspectra/search": ("test_stage_commands.py", "test_papers_end_to_end.py"),
    "aspectra/views": ("test_kill_and_resume.py", "test_bit_flips.py", "test_full_papers.py"),
    "aspectra/papers/sources": ("test_bombs.py",),
    "aspectra/papers/library": (
        "test_kills.py",
        "test_database_flips.py",
        "test_full_disk.py",
        "test_hostile_library.py",
    ),
    "aspectra/llm": ("test_llm_keys.py", "test_llm_kill.py"),
    "aspectra/base": ("test_offline.py", "test_no_telemetry.py"),
    "studies": ("test_studies.py", "test_paper_studies.py"),
    "docs": ("../unit/app/test_docs.py", "test_one_file_to_add.py"),
    "README": ("../unit/app/test_docs.py",),
    "CONTRIBUTING": ("test_one_file_to_add.py",),
}


def changed() -> list[str]:
    """Files that differ from the last commit, new ones too, or from the commit that BASE names."""
    base = os.environ.get("BASE", "HEAD")
    commands = (["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"])
    runs = [subprocess.run(one, cwd=ROOT, capture_output=True, text=True, check=True) for one in commands]
    return sorted({line for run in runs for line in run.stdout.splitlines()})


def by_room(files: list[str]) -> list[str]:
    """Tests that start processes for these files; of several rooms that fit one file the longest counts."""
    chosen: dict[str, None] = {}
    for file in files:
        rooms = [room for room in BY_ROOM if room in file] if not file.startswith("tests/") else []
        for test in BY_ROOM[max(rooms, key=len)] if rooms else ():
            chosen[os.path.normpath(f"tests/integration/{test}")] = None
        if file.startswith(("tests/integration/", "tests/real/")) and Path(file).name.startswith("test_"):
            chosen[file] = None
    return [test for test in chosen if (ROOT / test).exists()]


def readers(file: str) -> list[str]:
    """Modules that read a file of the package that is no code: those of its name, else all beside it."""
    folder = Path(file).parent
    while not any((ROOT / folder).glob("[!_]*.py")):
        folder = folder.parent
    name = Path(file).stem.partition("-")[0]
    found = list((ROOT / folder).rglob(f"{name}.py")) or (ROOT / folder).glob("[!_]*.py")
    return sorted(one.relative_to(ROOT).as_posix() for one in found)


def by_data(files: list[str]) -> list[str]:
    """Functions of tests that run a module which reads one of these files, by the record."""
    data = [file for file in files if file.startswith("src/") and Path(file).suffix not in (".py", ".md")]
    modules = {module for file in data for module in readers(file)}
    with closing(sqlite3.connect(RECORD)) as record:
        rows = record.execute(
            "SELECT DISTINCT test_name, filename FROM test_execution_file_fp "
            "JOIN file_fp ON file_fp.id = fingerprint_id "
            "JOIN test_execution ON test_execution.id = test_execution_id"
        )
        return sorted({test.partition("[")[0] for test, module in rows if module in modules})


def turn_of(files: list[str]) -> str:
    """Whose turn it is of the slow tests, as in ``make test``; all, where a file of theirs changed."""
    return "all" if {test.partition("::")[0] for test in SLOW}.intersection(files) else TURN


def run(turn: str, *arguments: str) -> int:
    """Exit status of pytest, with a worker for each core; no test chosen is no failure."""
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *arguments]
    environment = os.environ | {"TESTMON_DATAFILE": str(RECORD), "ASPECTRA_TURN": turn}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode % 5


if __name__ == "__main__":
    if "--record" in sys.argv:
        raise SystemExit(run("all", "--testmon", *TRACED))
    if not RECORD.exists():
        raise SystemExit(
            "there is no record of what each test runs. Next: make record (six minutes on two quiet cores)"
        )
    files = changed()
    processes = by_room(files)
    print(
        f"{len(files)} changed files; tests that start processes: {', '.join(processes) or 'none'}",
        flush=True,
    )
    failed = run(turn_of(files), "--testmon", *TRACED)
    others = [*processes, *by_data(files)]
    raise SystemExit(failed or (run(turn_of(files), *others) if others else 0))
