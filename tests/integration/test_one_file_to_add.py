"""A member of each family is one file: those of CONTRIBUTING.md, as a package of a third party.

The files are put into a folder on PYTHONPATH with entry points beside it, and used by ``python -m aspectra``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
FILES = re.findall(r"```python\n# src/aspectra/(\S+)/(\w+)\.py\n(.*?)```", TEXT, re.S)
# Folder -> family, and the name that the member registers.
FAMILIES = {
    "papers/sources": ("source", "endnote"),
    "papers/export": ("writer", "reading-list"),
    "views/encoders": ("encoder", "letters"),
    "views/lenses": ("lens", "punctuation"),
    "search/conditions/attributes": ("attribute", "decade"),
    "search/planning/planners": ("planner", "both-words"),
    "search/stages": ("stage", "newest"),
    "search/rerank/judges": ("judge", "shared-words"),
    "search/rerank/sorters": ("sorter", "best-first"),
    "lab/measures": ("measure", "RBP"),
    "lab/benchmarks": ("benchmark", "quiz"),
}
JSONL = [
    {"id": "old", "title": "Owls at night?", "abstract": "Owls hear mice.", "year": 1994},
    {"id": "mid", "title": "Owls by day", "abstract": "Owls sleep in trees. Owls rest.", "year": 1999},
    {"id": "new", "title": "Owls in flight", "abstract": "Owls fly without a sound.", "year": 2021},
]


@pytest.fixture(scope="module")
def aspectra(tmp_path_factory):
    """Runs a command in a folder with the made-up package; the library has papers and an index."""
    root = tmp_path_factory.mktemp("third-party")
    package, info = root / "plugins" / "made_up", root / "plugins" / "made_up-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").touch()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
    points = []
    for folder, module, code in FILES:
        family, name = FAMILIES[folder]
        (package / f"{module}.py").write_text(code, "utf-8")
        points.append(f"[aspectra.{family}]\n{name} = made_up.{module}\n")
    (info / "entry_points.txt").write_text("\n".join(points))
    environment = {
        **os.environ,
        "PYTHONPATH": str(root / "plugins"),
        "HOME": str(root),
        "XDG_CONFIG_HOME": str(root / "config"),
        "XDG_STATE_HOME": str(root / "state"),
        "XDG_DATA_HOME": str(root / "data"),
        "COLUMNS": "200",
    }

    def run(*arguments: object, code: int = 0) -> str:
        command = [sys.executable, "-m", "aspectra", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, check=False)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    def put(name: str, rows: list[dict[str, object]]) -> None:
        (root / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    put("papers.jsonl", JSONL)
    (root / "export.enw").write_text("%0 Journal Article\n%T Mice beware!\n%0 Book\n%T Maze\n")
    (root / "data").mkdir()
    put("data/papers.jsonl", [{"_id": row["id"], "title": row["title"]} for row in JSONL])
    put("data/questions.jsonl", [{"_id": "q", "question": "flight", "answers": ["new"], "level": "easy"}])
    (root / "my.run").write_text("q Q0 a 1 2 x\nq Q0 b 2 1 x\n")
    run.folder = root
    (root / "qrels").write_text("q 0 b 1\n")
    run("init", "--library", "lib")
    run("add", "papers.jsonl", "--library", "lib")
    run("add", "export.enw", "--as", "endnote", "--library", "lib")
    run("lens", "add", "punctuation", "--library", "lib")
    run("index", "--encoder", "letters", "--library", "lib")
    return run


def search(run, *arguments, text="owls"):
    found = json.loads(run("search", text, "--literal", "--json", "--library", "lib", *arguments))
    return [hit["id"] for hit in found["hits"]], found


def test_there_is_an_example_of_each_family():
    assert [folder for folder, _, _ in FILES] == list(FAMILIES)


def test_help_and_lists_name_them(aspectra):
    for command, names in {
        ("add",): ["endnote"],
        ("export",): ["reading-list"],
        ("index",): ["letters"],
        ("search",): ["reading-list", "decade", "both-words", "newest", "shared-words", "best-first"],
        ("measure",): ["RBP"],
        ("bench", "run"): ["both-words", "newest", "letters", "RBP"],
    }.items():
        text = re.sub(r"-\s+", "-", aspectra(*command, "--help-all"))
        assert [name for name in names if name not in text] == [], command
    assert "punctuation" in aspectra("lens", "list", "--library", "lib")
    assert "level=easy|hard: only questions of this level" in aspectra("bench", "list")
    assert "endnote" in aspectra("add", "my.run", "--as", "endnot", "--library", "lib", code=2)


def test_source_and_writer(aspectra):
    text = aspectra("export", "--all", "--format", "reading-list", "--library", "lib")
    assert "- Mice beware! (n.d.)\n" in text
    assert "- Owls at night? (1994)\n" in text
    aspectra("export", "old", "-o", "picks.md", "--library", "lib")
    assert (aspectra.folder / "picks.md").read_text() == "- Owls at night? (1994)\n"


def test_encoder_and_lens(aspectra):
    status = json.loads(aspectra("status", "--json", "--library", "lib"))
    assert "abstract@letters" in json.dumps(status)
    assert len(search(aspectra, "-r", "dense")[0]) == 5
    lenses = json.loads(aspectra("lens", "list", "--json", "--library", "lib"))["lenses"]
    assert next(one["state"] for one in lenses if one["lens"] == "punctuation") == "in use"


def test_attribute_and_its_words(aspectra):
    assert set(search(aspectra, "-c", "require decade=1990s")[0]) == {"old", "mid"}
    plan = aspectra("plan", "owls, only nineties", "--library", "lib")
    assert "decade=1990s" in plan
    assert "no decade" in aspectra("search", "owls", "-c", "require decade=90s", "--library", "lib", code=2)


def test_planner_stage_judge_and_sorter(aspectra):
    _, found = search(aspectra, "-r", "both-words")
    assert found["plan"]["steps"][0]["planner"] == "both-words"
    newest, _ = search(aspectra, "-r", "bm25", "--stage", "newest(papers=3)")
    assert newest == ["new", "mid", "old"]
    # One paper has both words and goes first; the others stay as they were.
    steps = ("-r", "bm25", "--stage", "newest", "--rerank", "shared-words+best-first")
    judged, found = search(aspectra, *steps, text="owls night?")
    assert judged == ["old", "new", "mid"]
    assert found["steps"][-1]["step"] == 'rerank(method="shared-words+best-first")'


def test_measure(aspectra):
    found = json.loads(aspectra("measure", "my.run", "qrels", "-m", "rbp(p=0.5)", "--json"))
    assert [(one["measure"], one["mean"]) for one in found["scores"]] == [("RBP(p=0.5)", 0.25)]


def test_benchmark(aspectra):
    given = ("quiz=data", "-r", "both-words", "--encoder", "letters", "-m", "RBP", "-o", "exp")
    out = aspectra("bench", "run", *given, "--option", "level=easy", "--libraries", "libraries")
    assert "both-words" in out
    assert "RBP" in out
