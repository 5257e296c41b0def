"""What a release is made of: links that work elsewhere, one version, files that it names."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from aspectra.base.version import __version__

ROOT = Path(__file__).parents[3]
HOME = "https://example.org/owner/name"


@pytest.fixture
def release(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    spec = importlib.util.spec_from_file_location("release", ROOT / "packaging" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_of_the_readme_become_absolute(release):
    text = release.absolute_links((ROOT / "README.md").read_text("utf-8"), HOME, "v1")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert any(target.startswith(f"{HOME}/blob/v1/docs/") for target in targets)
    assert [t for t in targets if not t.startswith(("https://", "#"))] == []
    assert release.absolute_links("[a](#b) [c](mailto:d)", HOME, "v1") == "[a](#b) [c](mailto:d)"


def test_one_version_is_stated():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (
        citation["version"]
        == __version__
        == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    )


def test_the_tag_of_a_release_is_its_version(release, tmp_path):
    with pytest.raises(SystemExit, match="set the version"):
        release.build(HOME, "v99", tmp_path)


@pytest.mark.parametrize("path", [*(ROOT / ".github").rglob("*.yml")], ids=lambda p: p.name)
def test_workflows_name_files_that_exist(path):
    text = path.read_text("utf-8")
    assert yaml.safe_load(text)
    named = re.findall(r"(?:packaging|tests|\.ci)/[\w./]+", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
