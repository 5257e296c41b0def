"""Dependencies: each has its reason in the documentation, and each states a licence."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from aspectra.app.upkeep.checkup import dependencies, installed_size

ROOT = Path(__file__).parents[3]


def test_each_dependency_has_its_reason() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", (ROOT / "docs/dependencies.md").read_text("utf-8"), re.M)
    explained = {name.strip() for names, _ in rows[1:] for name in names.split(",")}
    assert explained == {re.match(r"[\w.-]+", one)[0] for one in declared}  # type: ignore[index]


def test_installed_dependencies_state_version_licence_and_who_needs_them() -> None:
    found = {one.name: one for one in dependencies()}
    assert found["numpy"].licence.startswith("BSD")
    assert "aspectra" in found["numpy"].needed_by
    assert found["numpy"].size == installed_size(distribution("numpy")) > 10_000_000
    assert "click" in found  # not required by us, but by what we require
    assert "pytest" not in found  # extras are left out
    assert [one.name for one in found.values() if not one.licence] == []
