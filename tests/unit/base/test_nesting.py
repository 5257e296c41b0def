"""Values and settings nested without end are refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.app.settings import Settings
from aspectra.base.config import keys_of, read_file
from aspectra.base.errors import UsageError
from aspectra.search.plan import Plan
from aspectra.search.recipe import Recipe

DEEP = 100_000
TEXTS = {
    "list": "[" * DEEP,
    "object": '{"a":' * DEEP,
    "toml list": "a=" + "[" * DEEP,
    "toml table": "a=" + "{a=" * DEEP,
    "header": "[" + ".".join("a" * 5000) + "]\nb=1",
    "key": ".".join("a" * 5000) + "=1",
}


@pytest.mark.parametrize("name", TEXTS)
def test_nested_texts(name: str, tmp_path: Path) -> None:
    for kind in (Plan, Recipe):
        with pytest.raises(UsageError):
            kind.loads(TEXTS[name])
    file = tmp_path / "aspectra.toml"
    file.write_text(TEXTS[name])
    with pytest.raises(UsageError):
        read_file(file, {key.name: key for key in keys_of(Settings)})


def test_a_name_that_is_no_text() -> None:
    with pytest.raises(UsageError):
        Plan.loads('{"\\ud800": 1}')
