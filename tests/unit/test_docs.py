"""The documentation holds: links lead somewhere, commands and their flags exist, code in it runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
_COMMAND = re.compile(r"^(?:\.venv/bin/)?aspectra ([a-z]+)(.*)$", re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_commands_and_flags_exist():
    helps: dict[str, str] = {}
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.S):
            for verb, rest in _COMMAND.findall(block):
                if verb not in helps:
                    out = subprocess.run(
                        [sys.executable, "-m", "aspectra", verb, "--help"],
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    assert out.returncode == 0, f"{page.name}: aspectra {verb} does not exist"
                    helps[verb] = out.stdout
                for flag in re.findall(r"(?<=\s)--[a-z-]+", rest.split("#")[0]):
                    assert flag in helps[verb], f"{page.name}: aspectra {verb} has no {flag}"


def test_the_source_in_contributing_works(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    code = re.search(r"```python\n(# src/aspectra/papers/sources/endnote.*?)```", text, re.S)
    assert code
    from aspectra.papers.detect import read_papers
    from aspectra.papers.source import SOURCES

    exec(compile(code.group(1), "endnote", "exec"), {})
    try:
        file = tmp_path / "x.enw"
        file.write_text("%0 Journal Article\n%T A title\n")
        assert [p.title for p in read_papers(file)] == ["A title"]
    finally:
        SOURCES._members.pop("endnote")
