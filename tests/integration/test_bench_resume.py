"""A killed ``bench run`` goes on where it was, and ends in the same bytes as one that was left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from benchmark_fixtures import lines, qrels
from warm_python import warm_python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")

TOPICS, PAPERS = 400, 60


@pytest.fixture
def benchmark(tmp_path):
    folder = tmp_path / "many"
    words = ["owl", "mouse", "night", "wing", "egg", "nest", "song"]
    texts = [f"{words[n % 7]} and {words[n // 7 % 7]} of kind {n}" for n in range(PAPERS)]
    lines(
        folder / "corpus.jsonl", [{"_id": f"d{n:03d}", "title": "", "text": t} for n, t in enumerate(texts)]
    )
    rows = [{"_id": f"q{n:03d}", "text": f"{words[n % 7]} kind {n % PAPERS}"} for n in range(TOPICS)]
    lines(folder / "queries.jsonl", rows)
    qrels(folder / "qrels.tsv", [(f"q{n:03d}", f"d{n * 7 % PAPERS:03d}", 1 + n % 2) for n in range(TOPICS)])
    return folder


def command(tmp_path, benchmark, out):
    recipes = ["-r", "bm25", "-r", "bm25 | top(20) | bm25"]
    arguments = ["bench", "run", f"beir={benchmark}", *recipes, "--no-encoder"]
    arguments += ["--output", str(out), "--libraries", str(tmp_path / "libraries"), "--no-progress"]
    return ["-m", "aspectra", *arguments]


def call(arguments, tmp_path):
    home = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    return subprocess.Popen(
        arguments,
        cwd=tmp_path,
        env={**os.environ, **home},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_killed_run_ends_in_equal_bytes(tmp_path, benchmark):
    left_alone, killed = tmp_path / "left-alone", tmp_path / "killed"
    child = call([warm_python(), *command(tmp_path, benchmark, left_alone)], tmp_path)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    assert f"Made {2 * TOPICS} rankings" in err

    kills = 0
    for part in (0.2, 0.6):
        wanted = (left_alone / "records.jsonl").stat().st_size * part
        child = call([sys.executable, *command(tmp_path, benchmark, killed)], tmp_path)
        records = killed / "records.jsonl"
        while child.poll() is None:
            if records.exists() and records.stat().st_size > wanted:
                child.send_signal(signal.SIGKILL)
                kills += 1
                break
            time.sleep(0.001)
        child.communicate()
    assert kills == 2
    assert not (killed / "results.json").exists()
    with (killed / "records.jsonl").open("ab") as stream:
        stream.write(b'{"cell":"cut off in the mid')
    made = (killed / "records.jsonl").read_bytes().count(b"\n")
    assert 0 < made < 2 * TOPICS

    again = [warm_python(), "-m", "aspectra", "bench", "run", "--output", str(killed)]
    again += ["--libraries", str(tmp_path / "libraries")]
    child = call(again, tmp_path)
    resumed, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    assert f"Made {2 * TOPICS - made} rankings, {made} were there already" in err
    assert (killed / "results.json").read_bytes() == (left_alone / "results.json").read_bytes()

    def rankings(folder):
        rows = [json.loads(line) for line in (folder / "records.jsonl").read_text("utf-8").splitlines()]
        for row in rows:
            row.pop("seconds")
        return sorted(rows, key=lambda row: (row["cell"], row["topic"]))

    assert rankings(killed) == rankings(left_alone)
    table = [line for line in resumed.splitlines() if line.startswith("| bm25")]
    assert [line.rsplit("|", 2)[0] for line in table] == [
        line.rsplit("|", 2)[0] for line in out.splitlines() if line.startswith("| bm25")
    ]
