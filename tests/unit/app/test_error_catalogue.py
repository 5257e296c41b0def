"""One catalogue of errors: codes are unique in what they mean, and the page on HTTP lists them all."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

import aspectra
from aspectra.base.errors import AspectraError, catalogue

PAGE = Path(__file__).parents[3] / "docs" / "http.md"
_EXTRAS = ("mcp", "torch", "sentence_transformers", "transformers", "peft", "huggingface_hub", "IPython")


@pytest.fixture(scope="module")
def classes():
    """Every error of the package."""
    for module in pkgutil.walk_packages(aspectra.__path__, "aspectra."):
        if module.name.rpartition(".")[2] != "__main__":
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in _EXTRAS:
                    raise
    found, waiting = [], [AspectraError]
    while waiting:
        one = waiting.pop()
        found += [one] if one.__module__.startswith("aspectra.") else []
        waiting += one.__subclasses__()
    return found


def _meaning(one: type[AspectraError]) -> str:
    first = (one.__doc__ or "").strip().splitlines()[0].rstrip(".")
    return "Any other failure" if one is AspectraError else first.replace("``", "`")


def test_classes_that_share_a_code_agree(classes):
    said: dict[str, set[tuple[int, bool]]] = {}
    for one in classes:
        said.setdefault(one.code, set()).add((one.http_status, one.retryable))
    assert {code: facts for code, facts in said.items() if len(facts) > 1} == {}


def test_statuses_are_of_errors(classes):
    assert {one.code for one in classes if not 400 <= one.http_status < 600} == set()
    assert {one.code for one in classes if not 1 <= one.exit_code <= 7} == set()


def test_the_page_lists_every_code(classes):
    rows = [
        f"| `{code}` | {one.http_status} | {one.exit_code} | {'yes' if one.retryable else 'no'} | "
        f"{_meaning(one)} |"
        for code, one in catalogue().items()
        if one.__module__.startswith("aspectra.")
    ]
    table = PAGE.read_text("utf-8").partition("| code | status |")[2].partition("\n\n")[0].splitlines()[2:]
    assert table == rows, "\n".join(rows)
