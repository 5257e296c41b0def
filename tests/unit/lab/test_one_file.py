"""A measure and a benchmark are one file each: in the family's package, they work on the command line."""

from __future__ import annotations

import json
import subprocess

from warm_python import warm_python

MEASURE = """
from aspectra.lab.measures.protocol import measure

@measure("Halfway", cut="required", scale=1.0, better="lower", aliases=("half",))
def halfway(measure, topic):
    \"\"\"Half the cut.\"\"\"
    return measure.cut / 2
"""
BENCHMARK = """
from aspectra.lab.benchmarks._audit import Corpus, audited, keep_judged
from aspectra.lab.benchmarks.protocol import HubSet, Option, Topic, benchmark

@benchmark(
    "quiz",
    about="Quiz: one question.",
    files="papers.jsonl.",
    licence="CC0",
    source="made up",
    options=(Option("level", "how hard", ("easy", "hard"), "easy"),),
    measures=("Halfway@4",),
    hub=(HubSet("me/quiz", "1"),),
)
def load(folder, options):
    corpus = Corpus(lambda: folder.rows(folder.need("papers.jsonl")))
    topics = [Topic("q", "owl", labels={"level": options["level"]})]
    kept, qrels, problems = keep_judged(topics, {"gold": {"q": {"p1": 1.0}}}, "gold")
    return audited(folder, corpus, "quiz", kept, qrels, problems)
"""
MAIN = """
import sys
import aspectra.lab.benchmarks, aspectra.lab.measures
aspectra.lab.measures.__path__.append(sys.argv[1] + "/measures")
aspectra.lab.benchmarks.__path__.append(sys.argv[1] + "/benchmarks")
from aspectra.app.main import main
raise SystemExit(main(sys.argv[2:]))
"""


def test_members_in_a_temporary_package(tmp_path):
    for name, text in (("measures/halfway.py", MEASURE), ("benchmarks/quiz.py", BENCHMARK)):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(text)
    (tmp_path / "papers.jsonl").write_text('{"_id": "p1", "title": "An owl"}\n')
    (tmp_path / "run.txt").write_text("q Q0 p1 1 1 mine\n")
    (tmp_path / "qrels.txt").write_text("q 0 p1 1\n")

    def run(*arguments):
        command = [warm_python(), "-c", MAIN, str(tmp_path), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, err = run("measure", tmp_path / "run.txt", tmp_path / "qrels.txt", "-m", "half@4", "--json")
    assert code == 0, err
    assert [(s["measure"], s["mean"]) for s in json.loads(out)["scores"]] == [("Halfway@4", 2.0)]
    code, out, err = run("bench", "list")
    assert code == 0, err
    assert "quiz  Quiz: one question." in out
    assert "level=easy|hard [easy]: how hard" in out
    code, out, err = run("bench", "audit", "quiz", tmp_path, "--option", "level=hard", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["licence"], facts["source"], facts["measures"]) == ("CC0", "made up", ["Halfway@4"])
    assert run("bench", "audit", "quiz", tmp_path, "--option", "level=odd")[0] == 2
    arguments = ("bench", "run", f"quiz={tmp_path}", "-r", "bm25", "--no-encoder", "-o", "x")
    code, out, err = run(*arguments, "--libraries", tmp_path / "libraries")
    assert code == 0, err
    assert "| bm25 | 2.00 |" in out, "printed as it is, not x100"
