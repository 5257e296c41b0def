"""Ctrl-C at random moments of commands that write: an interrupt is said as one, and costs no paper.

Run:  python tests/proofs/interrupts.py --interrupts 200 --seed 1 [--only add --only index]

Each step runs in a process of its own, as a command and through ``aspectra.open``. SIGINT is sent at a random
time while the process holds the lock of the library. Then

1. the command has ended with 130, or by the signal where its work was done, and without a traceback; Python
   has ended with KeyboardInterrupt;
2. the database is sound, and every paper that was there before is there (`remove`: all of them, or all but
   those that were to be removed);
3. the same command runs to its end.

A process that ended before its signal could be sent is not counted: another is begun.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from database_flips import small_papers
from summary import Summary, arguments

from aspectra.app.main import main as command_line
from aspectra.papers.library.store import Store

COLUMNS = ("interrupts", "said damaged", "swallowed", "tracebacks", "papers lost", "not finished again")
STEPS = ("add", "index", "remove", "decide")
_MISSED = 100  # processes in a row that could not be interrupted
_HELD, _NEW = 200, 400  # papers in the library, and in the file that is added
_CHILD = """
import sys, aspectra
from aspectra.base.errors import AspectraError
verb, folder, *ids = sys.argv[1:]
with aspectra.open(folder + "/lib") as library:
    try:
        match verb:
            case "add": library.add(folder + "/new.jsonl")
            case "index": library.index(encoders=[])
            case "remove": library.remove(*ids)
            case "decide": library.marks.decide("exclude", *ids, reason="no owls")
    except AspectraError as error:
        sys.exit(f"swallowed: {error}")
"""


def _prepare(folder: Path) -> list[str]:
    """Make a library and a file of new papers; returns the ids of the papers in the library."""
    papers = small_papers(_HELD + _NEW)
    with Store.create(folder / "lib") as library, library.writing("add") as writer:
        writer.add(papers[:_HELD])
        writer.checkpoint()
    lines = [json.dumps(paper.to_dict()) for paper in papers[_HELD:]]
    (folder / "new.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return [paper.id for paper in papers[:_HELD]]


def _words(step: str, folder: Path, ids: Sequence[str]) -> list[str]:
    words = {
        "add": ["add", f"{folder}/new.jsonl"],
        "index": ["index", "--no-encoder"],
        "remove": ["remove", *ids, "--yes"],
        "decide": ["decide", "exclude", *ids, "--reason", "no owls"],
    }[step]
    return [*words, "--library", f"{folder}/lib", "--no-progress"]


def _interrupted(words: list[str], lock: Path, wait: float) -> tuple[bool, int, str, float]:
    """(whether SIGINT was sent, exit status, what was said, seconds that the lock was held)."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        # The holder of the lock writes its name into the file, and empties it at the end.
        while process.poll() is None and not lock.stat().st_size:
            time.sleep(0.001)
        begun = time.monotonic()
        while process.poll() is None and lock.stat().st_size and time.monotonic() < begun + wait:
            time.sleep(0.001)
        seconds = time.monotonic() - begun
        if sent := process.poll() is None and lock.stat().st_size > 0:
            os.kill(process.pid, signal.SIGINT)  # reaped below, so that the number is still its own
            # It may have ended since it was looked at; then it is not counted.
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            sent = ended is None or ended.si_code == os.CLD_KILLED
        said = process.communicate()[0].decode("utf-8", "replace")
    return sent, process.returncode, said, seconds


def _fault(way: str, code: int, said: str) -> str:
    """The column of what is wrong with the end of an interrupted process; "" where nothing is."""
    if "damaged" in said:
        return "said damaged"
    if code != -signal.SIGINT and (code, way) != (130, "command"):
        return "swallowed"
    return "tracebacks" if "Exception ignored" in said or (way == "command" and "Traceback" in said) else ""


def prove(interrupts: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Summary:
    """Interrupt each step, as a command and in Python, in turn; children inherit what SIGINT does.

    Args:
        interrupts: in all.
        seed: of the times.
        folder: an empty one to work in.
        only: names of steps; default all.
    """
    start, work = folder / "start", folder / "work"
    start.mkdir()
    held = set(ids := _prepare(start))
    ids = ids[: _HELD // 2]
    proof, chance = Summary("interrupts", seed), random.Random(seed)
    rows = [(step, way) for step in only or STEPS for way in ("command", "Python")]
    for number, (step, way) in enumerate(rows):
        row, words, whole, missed = f"{step} ({way})", _words(step, work, ids), 0.0, 0
        called = ["-m", "aspectra", *words] if way == "command" else ["-c", _CHILD, step, str(work), *ids]
        for column in COLUMNS:
            proof.count(row, column, 0)
        while proof.counts[row]["interrupts"] < interrupts // len(rows) + (number < interrupts % len(rows)):
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(start, work)
            wait = chance.uniform(0, whole) if whole else 3600.0  # first undisturbed, to know how long it is
            sent, code, said, seconds = _interrupted(
                [sys.executable, *called], work / "lib" / "writer.lock", wait
            )
            whole = whole or seconds
            missed = 0 if sent else missed + 1
            if missed > _MISSED:
                raise RuntimeError(
                    f"{_MISSED} processes ended before a signal, the last with {code}: {said[-400:]}"
                )
            if not sent:
                continue
            proof.count(row, "interrupts")
            if fault := _fault(way, code, said):
                proof.broken(row, fault, f"exit status {code} after {wait:.3f} s: {said[-400:]}")
            with Store(work / "lib") as library:
                left, problems = set(library.ids()), library.check()
            if problems or not (held <= left or (step == "remove" and left == held - set(ids))):
                proof.broken(row, "papers lost", f"{len(left)} papers, {problems[:1]} after {wait:.3f} s")
            told = io.StringIO()
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
                again = command_line(words)
            if again and (step != "remove" or left == held):  # what is gone cannot be removed again
                proof.broken(row, "not finished again", f"exit status {again}: {told.getvalue()[-200:]}")
    return proof


def main() -> int:
    parser = arguments("Interrupt commands that write, and look at what is left.")
    parser.add_argument("--interrupts", type=int, default=200)
    parser.add_argument("--only", action="append", choices=STEPS, help="a step; again for several")
    given = parser.parse_args()
    # A process begun in the background of a shell ignores the signal, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("DATA", "CONFIG", "STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(Path(folder) / name.lower())
        return prove(given.interrupts, given.seed, Path(folder), given.only or ()).finish(given.record)


if __name__ == "__main__":
    sys.exit(main())
