"""Rules of the house that no linter checks; import-linter checks rooms and circles, ruff unsafe calls."""

from __future__ import annotations

import ast
import importlib
import io
import pkgutil
import re
import tokenize
import tomllib
from collections import defaultdict
from pathlib import Path

import aspectra
from long import SLOW

SOURCE = Path(aspectra.__file__).parent
ROOT = SOURCE.parents[1]
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = [m.name for m in pkgutil.walk_packages([str(SOURCE)], "aspectra.") if "__main__" not in m.name]
PUBLIC = ("aspectra", "aspectra.app.surfaces.notebook", "aspectra.lab", "aspectra.testing")
MOST_LINES = 450  # of code: neither blank, nor comment, nor docstring
MOST_ENTRIES = 14
# Folders of registry members, word lists and prompts: one entry a member.
MEMBERS = {"lenses", "measures", "benchmarks", "planners", "attributes", "json"}


def _code_lines(text: str) -> int:
    """Lines that hold code."""
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if ast.get_docstring(node, clean=False) is not None:
                    docs |= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    layout = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in layout]
    return len({n for one in tokens for n in range(one.start[0], one.end[0] + 1)} - docs)


def test_modules_stay_readable():
    long = {str(f): n for f in FILES if (n := _code_lines(f.read_text("utf-8"))) > MOST_LINES}
    assert long == {}


def test_folders_stay_readable():
    wide = {}
    for folder in {f.parent for f in FILES}:
        entries = [e for e in folder.iterdir() if not e.name.startswith("__")]
        if len(entries) > MOST_ENTRIES and folder.name not in MEMBERS:
            wide[str(folder.relative_to(SOURCE))] = len(entries)
    assert wide == {}


def _stem(name: str) -> str:
    """A name without the endings that make two names look alike."""
    for ending in ("ations", "ation", "ings", "ing", "ers", "er", "es", "ed", "s", "e"):
        if name.endswith(ending) and len(name) - len(ending) >= 4:
            return name.removesuffix(ending)
    return name


def test_no_two_modules_of_a_room_differ_by_an_ending():
    alike = defaultdict(set)
    for file in FILES:
        name = file.parent.name if file.name == "__init__.py" else file.stem
        room = file.parent.parent if file.name == "__init__.py" else file.parent
        alike[room, _stem(name.strip("_"))].add(name)
    assert [names for names in alike.values() if len(names) > 1] == []


def test_faces_of_packages_alone_say_what_is_public():
    said = {name for name in MODULES if hasattr(importlib.import_module(name), "__all__")}
    assert said == {*PUBLIC[1:]}
    faces = [importlib.import_module(name) for name in PUBLIC]
    assert [(face.__name__, name) for face in faces for name in face.__all__ if not hasattr(face, name)] == []


def test_names_without_an_underscore_are_documented():
    faults = []
    for name in MODULES:
        for public, value in vars(importlib.import_module(name)).items():
            own = getattr(value, "__module__", "") == name and getattr(value, "__name__", "") == public
            if own and callable(value) and not public.startswith("_") and not (value.__doc__ or "").strip():
                faults.append(f"{name}.{public}")
    assert faults == []


def test_nothing_says_where_it_was_made():
    marks = ["/" + "work/", "/" + "root/", "he" + "lper-", "pypi" + "-more"]
    texts = [*FILES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*")]
    for file in texts:
        if file.suffix in {".py", ".md", ".json"}:
            text = file.read_text("utf-8")
            assert not [m for m in marks if m in text], file


def test_openvino_is_imported_in_one_place():
    """It reports each plain import to a web service, see ``views/encoders/transformer/weights.py``."""
    plain = re.compile(r"^\s*(?:import openvino|from openvino[ .])", re.M)
    texts = [*FILES, *(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    found = {file.name for file in texts if plain.search(file.read_text("utf-8"))}
    assert found == {"weights.py", "test_no_telemetry.py"}


def test_slow_tests_exist_and_no_mutant_needs_one():
    mutants = tomllib.loads((ROOT / "tests" / "proofs" / "mutants.toml").read_text("utf-8"))["mutant"]
    named = {test for one in mutants for test in one["tests"]}
    for test in SLOW:
        file, name, *_ = test.split("::")
        assert name in (ROOT / file).read_text("utf-8"), test
        assert not named & {test, file}, test
