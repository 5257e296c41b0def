"""Hashes of what a ranking depends on: by them a run finds the rankings that it has made already."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest, digest_texts
from aspectra.base.spelling import read_call, split_line
from aspectra.lab.benchmarks.protocol import Benchmark
from aspectra.search.recipe import Recipe

# Where our own prompts are.
_PROMPTS = ("aspectra.search.stages", "aspectra.search.rerank")
_LENSES = "aspectra.views.prompted"  # the stage write asks what lenses ask


def topics_hash(benchmark: Benchmark, *, pools: bool) -> str:
    """Hash of the topics in their order, and of what may be ranked for them.

    Args:
        benchmark: whose topics.
        pools: whether only pools are ranked, so that they count too.
    """
    rows: list[list[object]] = [[*sorted(benchmark.unranked)]] if benchmark.unranked else []
    for topic in benchmark.topics:
        row: list[object] = [topic.id, topic.text, topic.seed, topic.aspect]
        row += [sorted(topic.instructions.items()), sorted(benchmark.excluded.get(topic.id, ()))]
        row += [True] if topic.typed else []  # so that rankings of the others keep their keys
        row += ["told"] if topic.told else []
        row += ["solution", topic.solution] if topic.solution else []
        if pools and benchmark.pools is not None:
            row.append(list(benchmark.pools.get(topic.id, ())))
        rows.append(row)
    return digest(rows)


def prompts_hash(recipe: Recipe) -> str:
    """Hash of our own prompts, and of the files that options of the recipe's stages name."""
    texts = []
    writes = any(stage.partition("(")[0] == "write" for stage in recipe.stages)
    for package in (*_PROMPTS, *((_LENSES,) if writes else ())):
        files = sorted((resources.files(package) / "prompts").iterdir(), key=lambda file: file.name)
        texts += [part for file in files if file.is_file() for part in (file.name, file.read_text("utf-8"))]
    for stage in recipe.stages:
        texts += [path.read_bytes().hex() for path in _named_files(stage)]
    return digest_texts(texts)


def _named_files(spelling: str) -> Iterator[Path]:
    """Files that are values of options, also of members inside of an option: ``method="a(file=x)+b"``."""
    for name, value in read_call(spelling, "stage")[1].items():
        with contextlib.suppress(OSError, ValueError, UsageError):  # any other text
            if Path(value).is_file():
                yield Path(value)
            elif name == "prompts":
                yield from sorted(Path(value).glob("*.toml"))
            elif "(" in value:
                for part in split_line(value, "+"):
                    yield from _named_files(part)
