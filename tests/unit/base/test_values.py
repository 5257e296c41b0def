"""Values: their JSON form and hash do not depend on where their fields came from."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from msgspec import field

from aspectra.base.errors import UsageError
from aspectra.base.values import LRUCache, Value


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


THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import make_dataclass
from threading import Barrier
from aspectra.base.values import converted

sys.setswitchinterval(1e-6)
together = Barrier(8)

def read(kind):
    together.wait()
    return len(converted({"parts": [{"name": "x"}], **{f"f{n}": ["a"] for n in range(8)}}, kind).parts)

with ThreadPoolExecutor(8) as threads:
    for _ in range(300):
        part = make_dataclass("Part", [("name", str)])
        whole = [*[(f"f{n}", tuple[str, ...]) for n in range(8)], ("parts", tuple[part, ...])]
        kind = make_dataclass("Whole", whole)
        assert set(threads.map(read, [kind] * 8)) == {1}
"""


def test_threads_that_meet_a_type_together():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


def test_values_of_the_keys_used_last_are_kept():
    made, recent = [], LRUCache(2)

    def get(key: str) -> str:
        return recent.get(key, lambda: made.append(key) or key.upper())

    assert [get(key) for key in "abab"] == ["A", "B", "A", "B"]
    assert made == ["a", "b"]
    get("a")
    get("c")  # in the place of b, which was used before a
    assert [get(key) for key in "acb"] == ["A", "C", "B"]
    assert made == ["a", "b", "c", "b"]
