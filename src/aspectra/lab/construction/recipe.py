"""Recipes of construction: which steps in which order, with which options."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from aspectra.base.errors import UsageError, did_you_mean, refuse_unknown, unknown_name
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import STEPS

_OWN = ("seed", "layout", "name", "part", "test")


class BuildRecipe(Value, frozen=True):
    """How a benchmark is built.

    Attributes:
        name: of the benchmark.
        about: what it is, for its card.
        seed: of every choice by chance.
        layout: how it is written, see :data:`~aspectra.lab.construction.export.LAYOUTS`.
        steps: each with its name under ``step``, and its options.
        part: ``dev`` or ``test``: only its queries are written; "" for all.
        test: share of the queries that are for the test, from 0 to 1.

    Raises:
        UsageError: the part or its share cannot be.
    """

    name: str
    steps: tuple[dict[str, Any], ...]
    about: str = ""
    seed: int = 7
    layout: str = "beir"
    part: str = ""
    test: float = 0.5

    def __post_init__(self) -> None:
        if self.part not in ("", "dev", "test") or not 0 < self.test < 1:
            raise UsageError(
                f"the part {self.part!r} with {self.test:g} of the queries for the test cannot be",
                hint="--option part=dev or part=test, --option test=0.5",
            )

    def step_names(self, until: str = "") -> list[str]:
        """The steps' names, up to and with ``until``; "" for all."""
        names = [str(one.get("step", "")) for one in self.steps]
        return names[: names.index(until) + 1] if until in names else names

    def options(self, number: int) -> Value:
        """The options of a step, checked; ``number`` counts from 0.

        Raises:
            UsageError: there is no such step or option, or an option has another type.
        """
        given = dict(self.steps[number])
        step = STEPS.get(str(given.pop("step", "")))
        refuse_unknown(given, step.options.__struct_fields__, f"option of {step.name}")
        return step.options.from_dict(given)

    def changed(self, settings: Sequence[str]) -> BuildRecipe:
        """With options set as ``STEP.OPTION=VALUE``, or ``seed=N``, ``layout=NAME``, ``part=test``.

        Raises:
            UsageError: a setting names no step of the recipe, or cannot be read.
        """
        steps = [dict(one) for one in self.steps]
        own: dict[str, Any] = {}
        for setting in settings:
            name, equals, value = setting.partition("=")
            at, dot, option = name.strip().partition(".")
            if not equals or (not dot and at not in _OWN):
                raise UsageError(
                    f"the setting {setting!r} cannot be read",
                    hint="--option STEP.OPTION=VALUE, or --option seed=8",
                )
            if not dot:
                own[at] = _read(value.strip()) if at in ("seed", "test") else value.strip()
                continue
            meant = [one for one in steps if one.get("step") == at]
            if not meant:
                names = [str(one.get("step")) for one in steps]
                raise UsageError(
                    f"the recipe {self.name} has no step {at!r}",
                    why="its steps: " + ", ".join(names),
                    hint=did_you_mean(at, names),
                )
            for one in meant:
                one[option] = _read(value.strip())
        return BuildRecipe.from_dict({**replace(self, steps=tuple(steps)).to_dict(), **own})

    @classmethod
    def named(cls, name: str) -> BuildRecipe:
        """A recipe of this package, or one in a file.

        Raises:
            UsageError: there is neither, or it cannot be read.
        """
        if name in recipe_names():
            return cls.loads((_shipped() / f"{name}.toml").read_text("utf-8"))
        if Path(name).suffix in (".toml", ".json"):
            return cls.load(Path(name))
        raise unknown_name(f"there is no recipe of construction called {name!r}", name, recipe_names())


def _shipped() -> Any:
    return resources.files(__package__) / "recipes"


def recipe_names() -> list[str]:
    """The recipes of this package."""
    return sorted(
        one.name.removesuffix(".toml") for one in _shipped().iterdir() if one.name.endswith(".toml")
    )


def _read(text: str) -> Any:
    """A value as TOML has it; anything else is text.

    >>> _read("3"), _read("0.5"), _read("true"), _read("[1, 2]"), _read("data/x.jsonl")
    (3, 0.5, True, [1, 2], 'data/x.jsonl')
    """
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
