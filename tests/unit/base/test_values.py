"""Values: their JSON form and hash do not depend on where their fields came from."""

from __future__ import annotations

import json

import pytest
from msgspec import field

from aspectra.base.errors import UsageError
from aspectra.base.values import Value


class Inner(Value, frozen=True):
    """A part."""

    view: str
    weight: float = 1.0
    pooling: str = "max"


class Outer(Value, frozen=True):
    """A whole."""

    steps: tuple[Inner | str, ...] = ()
    share: float = 0.6
    kinds: dict[str, Inner] = field(default_factory=dict)


def test_a_hash_survives_json():
    made = Outer((Inner("a"), "top(3)"), kinds={"x": Inner("b")})
    # Numbers and strings that are read are other objects than the defaults that they equal.
    text = json.dumps({"steps": [{"view": "a", "weight": 1.0, "pooling": "max"}, "top(3)"], "share": 0.6})
    read = Outer.loads(text[:-1] + ', "kinds": {"x": {"view": "b"}}}')
    assert read == made
    assert read.to_dict() == made.to_dict() == Outer.loads(made.to_json()).to_dict()
    assert read.hash == made.hash
    assert made.to_dict() == {"steps": [{"view": "a"}, "top(3)"], "kinds": {"x": {"view": "b"}}}


def test_unknown_fields_are_refused_at_any_depth():
    with pytest.raises(UsageError, match="colour"):
        Outer.loads('{"steps": [{"view": "a", "colour": "red"}]}')
