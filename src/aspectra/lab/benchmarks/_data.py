"""The data files beside the loaders: wordings, and collections that have the layout of a benchmark."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from aspectra.base.values import Value


class Collection(Value, frozen=True):
    """A collection in the layout of a benchmark.

    Attributes:
        name: as tables call it.
        licence, source: what its owners allow, where it comes from and whom to cite.
        measures: canonical names of the measures reported; empty takes those of the benchmark.
        file: a file that only this collection has, or "".
        folder: name of the folder that it is recognised by, one of the last three of the path, or "".
        qrels: names of judgements that it is recognised by.
        seed: whether a query whose id is a document's is that paper.
    """

    name: str
    licence: str
    source: str
    measures: tuple[str, ...] = ()
    file: str = ""
    folder: str = ""
    qrels: tuple[str, ...] = ()
    seed: bool = False


def collections() -> list[Collection]:
    """All of ``data/collections.toml``, in its order."""
    return [collection(name) for name in read_data("collections.toml")]


def collection(name: str) -> Collection:
    """The collection of this name in ``data/collections.toml``."""
    return Collection.from_dict({"name": name, **read_data("collections.toml")[name]})


def collection_at(path: Path) -> str:
    """The name of the collection whose folder this is by its name, or a folder of which it is, or ""."""
    parts = path.absolute().parts[-3:]
    return next((one.name for one in collections() if one.name in parts), "")


@cache
def read_data(name: str) -> dict[str, Any]:
    """What a TOML file in ``data`` holds."""
    return tomllib.loads((resources.files("aspectra.lab.benchmarks") / "data" / name).read_text("utf-8"))
