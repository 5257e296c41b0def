"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import aspectra

SOURCE = Path(aspectra.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = [m.name for m in pkgutil.walk_packages([str(SOURCE)], "aspectra.") if "__main__" not in m.name]


def test_modules_stay_readable():
    long = {f.name: n for f in FILES if (n := len(f.read_text("utf-8").splitlines())) > 420}
    assert long == {}


@pytest.mark.parametrize("name", MODULES)
def test_public_names_are_explicit(name):
    module = importlib.import_module(name)
    if module.__file__ and module.__file__.endswith("__init__.py") and name != "aspectra":
        return
    assert hasattr(module, "__all__"), f"{name} has no __all__"
    for public in module.__all__:
        assert hasattr(module, public), f"{name}.{public} does not exist"
        value = getattr(module, public)
        if callable(value) and getattr(value, "__module__", "").startswith("aspectra"):
            assert (value.__doc__ or "").strip(), f"{name}.{public} has no docstring"


def _calls(tree: ast.AST) -> set[str]:
    out = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name):
                out.add(function.id)
            elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                out.add(f"{function.value.id}.{function.attr}")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names]
            out.update(names)
            out.add(getattr(node, "module", None) or "")
    return out


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(SOURCE).as_posix())
def test_nothing_unsafe_is_loaded(file):
    # joblib's processes of our own are allowed, its files are not.
    forbidden = {"pickle", "dill", "joblib.load", "joblib.Memory", "shelve", "eval", "exec"}
    forbidden |= {"yaml.load", "torch.load", "os.system"}
    assert not forbidden & _calls(ast.parse(file.read_text("utf-8")))


def test_nothing_says_where_it_was_made():
    marks = ["/" + "work/", "/" + "root/", "he" + "lper-", "pypi" + "-more"]
    root = SOURCE.parents[1]
    texts = [*FILES, *root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "benchmarks").rglob("*")]
    for file in texts:
        if file.suffix in {".py", ".md", ".json"}:
            text = file.read_text("utf-8")
            assert not [m for m in marks if m in text], file
