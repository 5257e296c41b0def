"""The documentation holds: links lead somewhere, commands and their flags exist, code in it runs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from warm_python import warm_python

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
# Pages that docs/_reference.py makes of files above docs/; so are those of reference/.
GENERATED = ("index.md", "contributing.md", "changelog.md", "speed.md")
_COMMAND = re.compile(
    r"^(?:\.venv/bin/)?aspectra ((?:aspect |bench |cluster |config |lens |zotero )?[a-z-]+)(.*)$", re.M
)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if "://" not in target and target not in GENERATED and not target.startswith("reference/"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(page):
    named = re.findall(r"`((?:[\w-]+/)+[\w.]*)`", (ROOT / page).read_text("utf-8"))
    assert named
    places = (ROOT / "src" / "aspectra", ROOT / "tests" / "unit", ROOT)
    assert [n for n in named if "NAME" not in n and not any((p / n).exists() for p in places)] == []


def test_commands_and_flags_exist():
    helps: dict[str, str] = {}
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.S):
            for verb, rest in _COMMAND.findall(block):
                if verb not in helps:
                    out = subprocess.run(
                        [warm_python(), "-m", "aspectra", *verb.split(), "--help-all"],
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    assert out.returncode == 0, f"{page.name}: aspectra {verb} does not exist"
                    helps[verb] = out.stdout
                for flag in re.findall(r"(?<=\s)--[a-z-]+", rest.split("#")[0]):
                    assert flag in helps[verb], f"{page.name}: aspectra {verb} has no {flag}"


def test_rows_of_planners_in_the_guide_are_what_planners_say():
    from aspectra.search.planning.planners.protocol import PLANNERS

    table = (ROOT / "docs" / "guide.md").read_text("utf-8").partition("| planner |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \|", table, re.M)
    assert len(rows) >= 9
    for name, summary in rows:
        assert PLANNERS.get(name).summary == f"{summary}."


def test_plans_in_the_pages_can_be_read():
    from aspectra.search.plan import Plan

    blocks = [b for page in PAGES for b in re.findall(r"```toml\n(.*?)```", page.read_text("utf-8"), re.S)]
    probes = re.compile(r"^view = .*\n(?:text|seeds) = ", re.M)
    plans = [Plan.loads(block) for block in blocks if probes.search(block)]
    assert len(plans) >= 2


def _code(first_line: str, page: str = "docs/lab.md") -> str:
    text = (ROOT / page).read_text("utf-8")
    found = re.search(rf"```python\n({re.escape(first_line)}.*?)```", text, re.S)
    assert found
    return found.group(1)


def test_the_measure_in_contributing_works():
    from aspectra.lab.evaluation.calculate import evaluate
    from aspectra.lab.measures.protocol import MEASURES, parse

    exec(compile(_code("# src/aspectra/lab/measures/rbp.py", "CONTRIBUTING.md"), "<rbp>", "exec"), {})
    try:
        found = evaluate(["RBP(p=0.5)"], {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "c": 2.0, "b": 1.0}})
        assert found["RBP(p=0.5)"].mean == 0.5 * (1 + 0.25)
        assert str(parse("rbp(p=0.8)")) == "RBP"
    finally:
        MEASURES._members.pop("RBP")


def test_the_benchmark_in_contributing_works(tmp_path, capsys):
    from aspectra.app.main import main
    from aspectra.lab.benchmarks.protocol import BENCHMARKS
    from benchmark_fixtures import lines

    lines(tmp_path / "papers.jsonl", [{"_id": f"p{n}", "title": f"Owl {n}"} for n in range(3)])
    question = {"_id": "q", "question": "owl 1", "answers": ["p1", "p9"], "level": "easy"}
    lines(tmp_path / "questions.jsonl", [question])
    exec(compile(_code("# src/aspectra/lab/benchmarks/quiz.py", "CONTRIBUTING.md"), "<quiz>", "exec"), {})
    try:
        loaded = BENCHMARKS.get("quiz")(tmp_path)
        assert loaded.topics[0].labels == {"level": "easy"}
        assert any("not in the corpus" in problem for problem in loaded.audit.problems)
        out = tmp_path / "out"
        places = ["--output", str(out), "--libraries", str(tmp_path / "libraries")]
        assert main(["bench", "run", f"quiz={tmp_path}", "-r", "bm25", *places]) == 0
        assert "| bm25 |" in capsys.readouterr().out
    finally:
        BENCHMARKS._members.pop("quiz")


def test_the_study_in_the_lab_page_works(tmp_path, monkeypatch, capsys):
    from benchmark_fixtures import beir

    monkeypatch.chdir(tmp_path)
    beir(tmp_path / "data" / "owls")
    exec(compile(_code("from pathlib import Path"), "<study>", "exec"), {})
    assert "| bm25 \\| top(20) \\| bm25 |" in capsys.readouterr().out


def test_the_measures_in_the_lab_page_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t2\nq2\tb\t1\n")
    (tmp_path / "base.run").write_text("q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 a 1 1 x\n")
    (tmp_path / "my.run").write_text("q1 Q0 a 1 2 x\nq2 Q0 a 1 2 x\nq2 Q0 b 2 1 x\n")
    exec(compile(_code("from aspectra.lab import AP"), "<measures>", "exec"), {})
    assert "'R(rel=2)@100': 0.5" in capsys.readouterr().out
