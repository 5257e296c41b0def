"""Prompt files of the user's own, given to the rows of a study."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import BadInput, UsageError
from aspectra.base.spelling import file_name, read_member, spell
from aspectra.base.values import replace as changed
from aspectra.lab.experiments.study import Study
from aspectra.search.rerank.method import Method
from aspectra.search.stages.protocol import STAGES
from aspectra.views.encoders.prompts import PROMPT_OPTIONS

# Stage -> its options that are files, and which of our prompts they stand for.
_OPTIONS = {"rewrite": {"prompt_file": "rewrite"}, "agent": {"hop_prompt": "hop", "read_prompt": "read"}}
_WRITTEN = ("research_question", "method", "experiment", "overview", "write_all")


def with_prompts(parts: dict[str, Study], folder: Path) -> dict[str, Study]:
    """The parts of a study with the prompt files of a folder.

    A file is called as the prompt of ours that it stands for: ``listwise.toml``, ``hop.toml``; one called
    ``encoder.toml`` holds options of an encoder that are prompts, such as ``query``. It is looked for in
    ``PART/`` or ``ROW/`` of the folder (``-`` for all but letters and digits), then in the folder.

    Raises:
        UsageError: the folder has no prompt file, or one that no row uses.
    """
    unused = set(folder.rglob("*.toml"))
    if not unused:
        raise UsageError(
            f"{folder} holds no prompt files", hint="FOLDER/ROW/listwise.toml, see docs/benchmarks.md"
        )
    out = {}
    for part, study in parts.items():
        recipes = []
        for recipe in study.recipes:
            places = [folder / file_name(part), folder / file_name(recipe.name), folder]
            steps = [_step(step, places, unused) for step in recipe.steps]
            recipes.append(changed(recipe, steps=tuple(steps)))
        rows = [folder / file_name(name) for name in (part, *(recipe.name for recipe in study.recipes))]
        encoders = study.encoders and tuple(
            _encoder(spec, [*rows, folder], unused) for spec in study.encoders
        )
        out[part] = changed(study, recipes=tuple(recipes), encoders=encoders)
    if unused:
        raise UsageError(
            f"no row of the study uses the prompt file {min(unused)}",
            why="files are called as the judge or stage (listwise, yes-no, rewrite, hop, read, method ...) "
            "or encoder, folders as a part or a row",
            hint="docs/benchmarks.md lists both",
        )
    return out


def _encoder(spec: str, places: list[Path], unused: set[Path]) -> str:
    """The specification of an encoder with the prompts of the first file for it."""
    path = next((at / "encoder.toml" for at in places if (at / "encoder.toml").is_file()), None)
    if path is None:
        return spec
    unused.discard(path)
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"the prompt file {path} cannot be read", why=str(error)) from error
    refuse_unknown(given, PROMPT_OPTIONS, f"prompt of an encoder in {path}")
    options = "&".join(f"{name}={quote(str(text), safe='')}" for name, text in given.items())
    return f"{spec}{'&' if '?' in spec else '?'}{options}"


def _step(step: Any, places: list[Path], unused: set[Path]) -> Any:
    if not isinstance(step, str) or step.partition("(")[0] not in ("rerank", "write", *_OPTIONS):
        return step

    def file(name: str) -> str:
        found = next((at / f"{name}.toml" for at in places if (at / f"{name}.toml").is_file()), None)
        unused.discard(found or Path())
        return str(found.absolute()) if found else ""

    stage = read_member(STAGES.get, step, "stage")
    if stage.name == "rerank":
        method = Method.parse(stage.method)
        judge: Any = method.judge
        if hasattr(judge, "prompt_file") and (path := file(judge.name)):
            judge = replace(judge, prompt_file=path)
            stage = replace(stage, method=str(replace(method, judge=judge)))
    elif stage.name == "write":
        folder = next(
            (at for at in places if any((at / f"{name}.toml").is_file() for name in _WRITTEN)), None
        )
        if folder is not None:
            unused.difference_update(folder / f"{name}.toml" for name in _WRITTEN)
            stage = replace(stage, prompts=str(folder.absolute()))
    else:
        options = {option: file(name) for option, name in _OPTIONS[stage.name].items()}
        stage = replace(stage, **{option: path for option, path in options.items() if path})
    return spell(stage)
