"""Each layer of settings beats those below it, whichever of them are there."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated

import pytest

from aspectra.base.config import Config, setting
from aspectra.base.values import Value

LAYERS = ("default", "user", "project", "environment", "flag")


class Colours(Value, frozen=True):
    """One setting."""

    ink: Annotated[str, setting("of the pen")] = "default"


class Made(Value, frozen=True):
    """Settings of one table."""

    colours: Colours = Colours()


@pytest.mark.parametrize(
    "there", [some for count in range(1, 5) for some in combinations(LAYERS[1:], count)], ids="+".join
)
def test_the_highest_layer_that_says_something_decides(tmp_path, there):
    files = {}
    for name in ("user", "project"):
        if name in there:
            files[name] = tmp_path / f"{name}.toml"
            files[name].write_text(f'[colours]\nink = "{name}"\n')
    config = Config(
        Made,
        flags={"colours.ink": "flag" if "flag" in there else None},
        environ={"ASPECTRA_COLOURS_INK": "environment"} if "environment" in there else {},
        project=files.get("project"),
        user=files.get("user"),
    )
    highest = max(there, key=LAYERS.index)
    assert config.settings.colours.ink == highest
    assert config.origin("colours.ink").startswith(str(files.get(highest, highest)))
