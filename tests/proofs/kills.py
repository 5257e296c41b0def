"""Kills of every command that writes: what was acknowledged is kept, and the same command finishes the work.

Run:  python tests/proofs/kills.py --kills 1000 --seed 1 [--only add --only index]

Each command runs in a child process that is killed (SIGKILL) either at its n-th write point, for n chosen
among all that the command has (SQL statements; opening for writing, renaming, removing, linking and making
files), or at a random time. Then

1. the library is opened: every paper that was there before the command is there, as it was or as the command
   makes it, and the index that was there answers;
2. the same command runs to its end, with no repair between;
3. papers and answers, scores included, are those of a library in which nothing was killed, to the last bit.

The table counts kills, papers lost, opens that failed, commands that did not finish the second time (repairs
by hand), and unequal answers.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.values import replace as changed

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from database_flips import SETTINGS, small_papers
from summary import Summary, arguments

from aspectra.app.cli import root
from aspectra.app.main import main as command_line
from aspectra.base.errors import AspectraError
from aspectra.papers.library.copies.backup import back_up
from aspectra.papers.library.store import Store
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.encoders.protocol import ENCODERS, permit_encoder
from fake_encoder import FakeEncoder

COLUMNS = ("kills", "lost", "reopen failures", "repairs", "answers unequal")
_QUERIES = ("the owl hunts at night", "song of the sea", "nest")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "shutil.rmtree"}

if "fake" not in ENCODERS:
    ENCODERS.register("fake")(lambda argument: FakeEncoder())


@dataclass(frozen=True)
class Scenario:
    """A command and the library that it starts from.

    Attributes:
        name: of the command.
        prepare: makes the library ``folder / "lib"``, and other files, before the command.
        command: its arguments; ``{}`` stands for the folder.
        removes: whether the command may take papers away.
        indexed: whether an index answers before the command and while it runs.
    """

    name: str
    prepare: Callable[[Path], None]
    command: str
    removes: bool = False
    indexed: bool = True


@functools.cache
def _template() -> Path:
    """A folder with a library of 40 papers with an index: made once, and copied."""
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with Store.create(folder / "lib") as library:
        with library.writing("add") as writer:
            writer.add(small_papers(40))
            writer.checkpoint()
        build_index(library, SETTINGS)
    return folder


def _library(folder: Path) -> None:
    """A library of 40 papers with an index."""
    shutil.copytree(_template() / "lib", folder / "lib")


def _files(folder: Path) -> None:
    """The same, and files with 20 new papers, and with others of which every second was edited."""
    _library(folder)
    papers = small_papers(60)
    edited = [changed(p, abstract=f"Edited. {p.abstract}") if n % 2 else p for n, p in enumerate(papers[:40])]
    for name, rows in (("new", papers[40:]), ("edited", edited)):
        lines = [json.dumps(paper.to_dict()) for paper in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def _waiting(folder: Path) -> None:
    """A library with an index, and 20 papers that wait for the next."""
    _library(folder)
    with Store(folder / "lib") as library, library.writing("add") as writer:
        writer.add(small_papers(60))


def _backed_up(folder: Path) -> None:
    """A backup of 40 papers, and a library with 20 more."""
    _library(folder)
    with Store(folder / "lib") as library:
        back_up(library, folder / "a.backup")
        with library.writing("add") as writer:
            writer.add(small_papers(60)[40:])


def _damaged(folder: Path) -> None:
    """A library with a damaged index of authors, and no generation."""
    _library(folder)
    with sqlite3.connect(folder / "lib" / "library.db") as db:
        db.execute("UPDATE authors SET family = 'stranger' WHERE pos = 3")
    db.close()
    shutil.rmtree(folder / "lib" / "generations" / "000001")


SCENARIOS = (
    Scenario("init", lambda folder: None, "init --library {}/lib", indexed=False),
    Scenario("add", _files, "add {}/new.jsonl --library {}/lib"),
    Scenario("edit", _files, "add {}/edited.jsonl --library {}/lib"),
    Scenario("remove", _library, "remove p003 p007 p010 --yes --library {}/lib", removes=True),
    Scenario("index", _waiting, "index --library {}/lib"),
    Scenario("index --rebuild", _library, "index --rebuild --library {}/lib"),
    Scenario("lens add", _library, "lens add stance --library {}/lib"),
    Scenario("backup", _backed_up, "backup {}/a.backup --library {}/lib"),
    Scenario("restore", _backed_up, "restore {}/a.backup --replace --library {}/lib", True, False),
    Scenario("doctor --repair", _damaged, "doctor --repair --library {}/lib", indexed=False),
)


def child(arguments: list[str], stop_at: int | None) -> tuple[int, int]:
    """Run a command in a child that is killed at write point ``stop_at``; returns (process, pipe)."""
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, read
    os.close(read)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    code, points = 70, 0

    def point(*_: object) -> None:
        nonlocal points
        points += 1
        if points == stop_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, values: tuple[Any, ...]) -> None:
        if event in _EVENTS or (event == "open" and isinstance(values[2], int) and values[2] & _WRITING):
            point()

    class Traced(sqlite3.Connection):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self.set_trace_callback(lambda text: None if text.startswith("--") else point())

    plain = sqlite3.connect

    def connect(*args: Any, **more: Any) -> sqlite3.Connection:
        if more.get("factory", sqlite3.Connection) is sqlite3.Connection:
            more["factory"] = Traced
        return plain(*args, **more)

    try:
        sys.addaudithook(audit)
        sqlite3.connect = connect  # type: ignore[assignment]
        code = command_line(arguments)
        os.write(write, str(points).encode())
    finally:
        os._exit(code)


def finish(process: int, pipe: int) -> tuple[int, int]:
    """(exit code or minus the signal, write points) of a child."""
    with os.fdopen(pipe) as stream:
        points = stream.read()
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), int(points or 0)


def _papers(folder: Path) -> dict[str, Any]:
    if not (folder / "lib" / "library.db").exists():
        return {}
    with Store(folder / "lib") as library:
        return {paper.id: paper.to_dict() for paper in library.papers()}


def _state(folder: Path) -> dict[str, Any]:
    """Everything that must be equal in the end."""
    with Store(folder / "lib") as library:
        out: dict[str, Any] = {"papers": _papers(folder), "check": library.check()}
        if library.generations.current() is not None:
            out["answers"] = _answers(library)
            # The papers that wait for the next index are indexed too: that finds what a kill left half done.
            build_index(library)
            out["then"] = _answers(library)
        out["lenses"] = library.meta("prompted_lenses")
    backup = folder / "a.backup"
    if backup.exists():
        with sqlite3.connect(backup) as db:
            out["backup"] = [db.execute("SELECT id, content_hash FROM papers ORDER BY pos").fetchall()]
            out["backup"] += db.execute("PRAGMA integrity_check").fetchall()
        db.close()
    return out


def _answers(library: Store) -> list[Any]:
    searcher = Searcher(library)
    found = [searcher.search(query, "hybrid").to_dict() for query in _QUERIES]
    return [
        [{k: hit[k] for k in ("id", "score", "evidence") if k in hit} for hit in one["hits"]] for one in found
    ]


def _kept(scenario: Scenario, folder: Path, before: dict[str, Any], after: dict[str, Any]) -> str:
    """What is wrong right after a kill: ``lost``, ``reopen failures``, or "" where nothing is."""
    if scenario.name == "init" and not (folder / "lib" / "library.db").exists():
        return ""  # nothing was acknowledged, and nothing is there
    if scenario.name == "doctor --repair":
        return ""  # damaged before, as it should be
    try:
        now = _papers(folder)
        with Store(folder / "lib") as library:
            if scenario.indexed:
                _answers(library)
    except AspectraError as error:
        print(f"  {scenario.name}: {error}", file=sys.stderr)
        return "reopen failures"
    for paper_id, paper in before.items():
        if now.get(paper_id) not in (paper, after.get(paper_id)):
            return "lost"
        if paper_id not in now and not scenario.removes:
            return "lost"
    return ""


def _run_one(scenario: Scenario, kills: int, chance: random.Random, work: Path) -> Counter[str]:
    total = Counter[str]()
    start, alone, killed = work / "start", work / "alone", work / "killed"
    for folder in (start, alone, killed):
        shutil.rmtree(folder, ignore_errors=True)
    start.mkdir(parents=True)
    scenario.prepare(start)
    shutil.copytree(start, alone)
    clock = time.perf_counter()
    code, points = finish(*child(_arguments(scenario, alone), None))
    seconds = time.perf_counter() - clock
    if code != 0:
        raise RuntimeError(f"{scenario.name} exits with {code} when nothing is killed")
    before = {} if scenario.name == "doctor --repair" else _papers(start)
    wanted = _state(alone)
    for number in range(kills):
        shutil.rmtree(killed, ignore_errors=True)
        shutil.copytree(start, killed)
        at = None if number % 3 == 2 else chance.randint(1, points)
        process, pipe = child(_arguments(scenario, killed), at)
        if at is None:
            time.sleep(chance.uniform(0, seconds))
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        code, _ = finish(process, pipe)
        total["kills"] += code == -signal.SIGKILL
        place = f"{scenario.name} at {f'write point {at} of {points}' if at else 'a random time'}"
        if wrong := _kept(scenario, killed, before, wanted["papers"]):
            total[wrong] += 1
            print(f"  {place}: {wrong}", file=sys.stderr)
        code, _ = finish(*child(_arguments(scenario, killed), None))
        found = _state(killed)
        # What was removed cannot be removed again: the second run says so.
        if code != 0 and not (scenario.name == "remove" and found == wanted):
            total["repairs"] += 1
            print(f"  {place}: the second run exits with {code}", file=sys.stderr)
        elif found != wanted:
            total["answers unequal"] += 1
            parts = [name for name in wanted if found.get(name) != wanted[name]]
            print(f"  {place}: unequal: {', '.join(parts)}", file=sys.stderr)
    total["write points"] = points
    return total


def _arguments(scenario: Scenario, folder: Path) -> list[str]:
    return [part.replace("{}", str(folder)) for part in scenario.command.split()] + ["--no-progress"]


def run(kills: int, seed: int, folder: Path, only: list[str] | None = None) -> dict[str, Counter[str]]:
    """Kill commands, in turn; returns command -> counts, see :data:`COLUMNS`.

    Args:
        kills: in all.
        seed: of the choice of write points and times.
        folder: an empty one to work in.
        only: names of commands; default all.
    """
    for name in ("DATA", "CONFIG", "STATE", "CACHE"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    permit_encoder("fake")
    root()  # imported once, not in each child
    chosen = [one for one in SCENARIOS if not only or one.name in only]
    out = {}
    for number, scenario in enumerate(chosen):
        share = kills // len(chosen) + (number < kills % len(chosen))
        if share:
            out[scenario.name] = _run_one(scenario, share, random.Random(seed * 1000 + number), folder)
    return out


def main() -> int:
    parser = arguments("Kill commands that write, go on, and compare with undisturbed runs.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--only", action="append", help="a command; again for several")
    given = parser.parse_args()
    proof = Summary("kills", given.seed)
    with tempfile.TemporaryDirectory() as folder:
        found = run(given.kills, given.seed, Path(folder), given.only)
    for name, counts in found.items():
        proof.count(name, "kills", counts["kills"])
        for column in COLUMNS[1:]:
            proof.count(name, column, 0)
            for _ in range(counts[column]):
                proof.broken(name, column, "see above")
    proof.fact("write points", {name: counts["write points"] for name, counts in found.items()})
    return proof.finish(given.record)


if __name__ == "__main__":
    sys.exit(main())
