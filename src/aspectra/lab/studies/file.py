"""Study files: the source of a page of results, as TOML: studies, and the tables that show them.

    title = "Aspects"
    about = "What the page says above its tables."

    [common]                                    # fields of every part; its recipes come before a part's own
    protocol = "both"

    [[parts]]                                   # a study each
    name = "predicted"
    sources = [{benchmark = "csfcube", path = "{data}/csfcube", options = {roles = "predicted"}}]
    recipes = [
      "bm25",
      {name = "contrast {weight}", steps = ["guided(contrast={weight})"], each.weight = ["0", "0.4"]},
    ]

    [[tables]]
    title = "Recipes"
    columns = [{measure = "NDCG%20", protocol = "pool", name = "NDCG%20 pools"}]

A table of the file with ``each`` stands for one for every combination of the values named there. A value
that is a table has several names: ``each.system = [{name = "BM25", steps = "bm25"}]`` fills in
``{system.name}``. ``{data}`` is the folder of the data sets, ``{here}`` that of the file, ``{library}`` a
library of other papers, ``{parts}`` the folder that the parts are run in: ``{parts}/NAME`` holds the
rankings of a part before.

A file that reproduces a paper's tables names it: ``[paper]`` with its ``number``, and ``published = "3"`` in
each table, see :mod:`aspectra.lab.studies.page`. Recipes are called as the paper prints its
systems; ``names`` lists other names of recipes, and ``others`` rows without a recipe. ``encoders`` names a
file beside it with a table for each encoder: ``{encoders.SciNCL}`` stands for the ``spec`` of that table, and
its ``needs`` says what must be downloaded.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import quote

from aspectra.base.errors import AspectraError, BadInput, UsageError, refuse_unknown
from aspectra.base.files import file_name
from aspectra.base.registry import spell
from aspectra.base.values import Value, replace
from aspectra.lab.experiments.directory import Study
from aspectra.llm.chat import ChatModel
from aspectra.search.recipe import Recipe
from aspectra.search.stages.protocol import STAGES, load_stages
from aspectra.search.stages.rerank import Method
from aspectra.views.encoders.protocol import PROMPT_OPTIONS, Encoder
from aspectra.views.settings import IndexSettings


@dataclass(frozen=True)
class Need:
    """Why a study was not run.

    Attributes:
        kind: ``data`` or ``model``.
        text: what is needed, and where it is: one line.
        model: what it needs of models besides, where its data are missing, or "".
    """

    kind: Literal["data", "model"]
    text: str
    model: str = ""


def lacking(
    study: Study,
    *,
    load: Callable[[str], Encoder],
    answering: Callable[[str], ChatModel] | None,
    known: Mapping[str, str] = MappingProxyType({}),
) -> Need | None:
    """The data or models that a study lacks, or None.

    Models are loaded only where all files are there, since that takes longer.

    Args:
        study: is not changed.
        load: makes an encoder from its specification.
        answering: makes a language model from its name at the endpoint, "" for the one that the settings
            name; None without an endpoint.
        known: specification of an encoder -> what must be downloaded for it.
    """
    for source in study.sources:
        if not Path(source.path).exists():
            try:
                source.open()
            except BadInput as error:
                return Need("data", _one_line(error), "; ".join(_models(study, known)))
        for run in source.pooling.runs if source.pooling else ():
            if not Path(run).exists():
                return Need("model", f"the rankings of {Path(run).name}, which were not made")
    tried: list[tuple[str, Callable[[], object]]] = [
        (_needed(spec, known), partial(load, spec)) for spec in study.settings().encoders
    ]
    tried += [
        (recipe.stages[-1], partial(load_stages, recipe.stages)) for recipe in study.recipes if recipe.stages
    ]
    if study.calls_model:
        tried.append(
            (f"language model {study.model}".rstrip(), partial(answering or _no_endpoint, study.model))
        )
    found: list[str] = []
    for what, attempt in tried:
        try:
            attempt()
        except AspectraError as error:
            found.append(f"{what} ({error.hint or error.what})")
    return Need("model", "; ".join(dict.fromkeys(found))) if found else None


def absent_data(error: BadInput) -> Need | None:
    """The need behind an error that a benchmark's loader raised, or None where it is another error."""
    return Need("data", _one_line(error)) if error.why.startswith("needs data: ") else None


def _models(study: Study, known: Mapping[str, str]) -> list[str]:
    """Models that a study names, not whether they are there."""
    named = [_needed(spec, known) for spec in study.encoders or () if spec not in IndexSettings().encoders]
    return named + ([f"language model {study.model}"] if study.calls_model else [])


def _needed(spec: str, known: Mapping[str, str]) -> str:
    """The download that an encoder needs; a specification may have further options."""
    longest = max((one for one in known if one and spec.startswith(one)), key=len, default="")
    return known.get(longest, f"encoder {spec}")


def _no_endpoint(name: str) -> None:
    raise UsageError(f"no endpoint for {name or 'a language model'} is named")


def _one_line(error: AspectraError) -> str:
    why = (error.why or error.what).removeprefix("needs data: ")
    return "; ".join(part.strip() for part in (why, error.hint) if part)


# Prompt files of the user's own, given to the rows of a study.

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
            recipes.append(replace(recipe, steps=tuple(steps)))
        rows = [folder / file_name(name) for name in (part, *(recipe.name for recipe in study.recipes))]
        encoders = study.encoders and tuple(
            _encoder(spec, [*rows, folder], unused) for spec in study.encoders
        )
        out[part] = replace(study, recipes=tuple(recipes), encoders=encoders)
    if unused:
        raise UsageError(
            f"no row of the study uses the prompt file {min(unused)}",
            why="files are called as the judge or stage (listwise, yes-no, rewrite, hop, read, method ...) "
            "or encoder, folders as a part or a row",
            hint="docs/benchmarks.md lists both",
        )
    return out


def _first(places: list[Path], name: str, unused: set[Path]) -> Path | None:
    """The first prompt file of a name, which is then used, or None."""
    found = next((path for at in places if (path := at / f"{name}.toml").is_file()), None)
    unused.discard(found or Path())
    return found


def _encoder(spec: str, places: list[Path], unused: set[Path]) -> str:
    """The specification of an encoder with the prompts of the first file for it."""
    path = _first(places, "encoder", unused)
    if path is None:
        return spec
    given = _toml(path, "prompt file")
    refuse_unknown(given, PROMPT_OPTIONS, f"prompt of an encoder in {path}")
    options = "&".join(f"{name}={quote(str(text), safe='')}" for name, text in given.items())
    return f"{spec}{'&' if '?' in spec else '?'}{options}"


def _step(step: Any, places: list[Path], unused: set[Path]) -> Any:
    if not isinstance(step, str) or step.partition("(")[0] not in ("rerank", "write", *_OPTIONS):
        return step

    def file(name: str) -> str:
        found = _first(places, name, unused)
        return str(found.absolute()) if found else ""

    stage = STAGES.read(step)
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


class Column(Value, frozen=True):
    """A column of a table.

    Attributes:
        measure: complete spelling, with the mode in brackets where there are several; or ``ms/query``,
            ``calls/query``.
        name: heading; "" takes the measure.
        part, benchmark, protocol: which scores; "" where only one is possible.
        where: label -> value: only the units that have it. Every unit has the label ``half``, ``dev`` or
            ``test``, see :func:`~aspectra.lab.reports.scores.half_of`.
    """

    measure: str
    name: str = ""
    part: str = ""
    benchmark: str = ""
    protocol: str = ""
    where: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value


class TableSpec(Value, frozen=True):
    """A table of a page.

    Attributes:
        title: above it.
        parts, benchmark, protocol: which scores; empty for all.
        rows: names of recipes; empty for all.
        columns: its columns. Without them, every measure of one benchmark under one protocol.
        by, measure: a label and a measure: means by the label's values.
        against: a recipe that the others are compared with by a paired test.
        baseline: a recipe that the others are marked against.
        measures: of ``against``; empty for all.
        where: of ``against`` and all columns.
        intervals: whether intervals are printed.
        resampled: whether those of its columns are bootstrap intervals, which stay within the bounds.
        notes: below it.
        figure: file name of a figure below it.
        published: number of a table of the paper: its rows, each with what was measured here, or what that
            needs.
        gap: measures, the first of which gives the gap between retrieval and verification and the others the
            growth of the pool, see :mod:`aspectra.lab.experiments.gap.verification`; empty for other tables.
    """

    title: str
    parts: tuple[str, ...] = ()
    benchmark: str = ""
    protocol: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    by: str = ""
    measure: str = ""
    against: str = ""
    baseline: str = ""
    measures: tuple[str, ...] = ()
    where: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    intervals: bool = True
    resampled: bool = False
    notes: tuple[str, ...] = ()
    figure: str = ""
    published: str = ""
    gap: tuple[str, ...] = ()


class PaperTable(Value, frozen=True):
    """The paper whose tables a study file reproduces.

    Attributes:
        number: of its published numbers.
        names: a system as printed (with its setup behind a comma) -> name of the recipe, where they differ.
        others: a system as printed -> why no recipe stands for it: people, another search engine ...
        own_prompts: recipes whose model was tuned on a prompt of its own: they say so until they have a file.
    """

    number: str
    names: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    others: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it for each value
    own_prompts: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyFile:
    """A study file, read.

    Attributes:
        title, about: of the page.
        parts: name -> study.
        tables: what is shown of them.
        absent: parts left out because no library of other papers was named.
        paper: whose tables it reproduces, or None.
        needs: specification of an encoder -> what must be downloaded for it.
        data: folder of the data sets, or None.
    """

    title: str
    parts: dict[str, Study]
    tables: tuple[TableSpec, ...]
    about: str = ""
    absent: tuple[str, ...] = ()
    paper: PaperTable | None = None
    needs: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None


def read_study_file(
    path: Path,
    data: Path,
    library: Path | None = None,
    parts_in: Path = Path(),
    prompts: Path | None = None,
) -> StudyFile:
    """A study file with its places filled in.

    Args:
        path: the file.
        data: folder of the data sets.
        library: a library of other papers; None leaves out the parts that need one.
        parts_in: the folder that the parts will be run in.
        prompts: a folder of prompt files, see :mod:`aspectra.lab.studies.file`.

    Raises:
        BadInput: the file cannot be read. UsageError: a field is unknown or has a value that it cannot have.
    """
    given = _toml(path)
    known: dict[str, Any] = {"{data}": str(data.absolute()), "{here}": str(path.parent.absolute())}
    known["{parts}"] = str(parts_in.absolute())
    encoders = _toml(path.parent / given.pop("encoders")) if "encoders" in given else {}
    known |= {f"{{encoders.{name}}}": _filled(one["spec"], known) for name, one in encoders.items()}
    if library is not None:
        known["{library}"] = str(library.absolute())
    parts: dict[str, Study] = {}
    absent: list[str] = []
    common = given.pop("common", {})
    for table in _expanded(given.pop("parts", [])):
        fields: dict[str, Any] = _filled({**common, **table}, known)
        name = str(fields.pop("name", ""))
        if not name or name in parts or name in absent:
            raise UsageError(f"{path}: every part needs a name of its own", why=f"there is {name!r}")
        if "{library}" in str(fields.get("among", "")):
            absent.append(name)
            continue
        recipes = [*common.get("recipes", ()), *table.get("recipes", ())]
        fields["recipes"] = [_recipe(one) for one in _expanded(recipes)]
        parts[name] = Study.from_dict(fields)
    if prompts is not None:
        parts = with_prompts(parts, prompts)
    tables = tuple(TableSpec.from_dict(_with_columns(table)) for table in _expanded(given.pop("tables", [])))
    if unknown := {name for table in tables for name in table.parts} - {*parts, *absent}:
        raise UsageError(f"{path}: no part is called {min(unknown)!r}", why="parts: " + ", ".join(parts))
    paper = PaperTable.from_dict(given.pop("paper")) if "paper" in given else None
    if paper is None and (asking := next((table for table in tables if table.published), None)):
        raise UsageError(f"{path}: the table {asking.title!r} shows a paper's, and [paper] is not given")
    refuse_unknown(given, ("title", "about"), "field of a study")
    title = str(given.get("title", path.stem))
    needs = {known[f"{{encoders.{name}}}"]: one["needs"] for name, one in encoders.items()}
    about = str(given.get("about", ""))
    return StudyFile(title, parts, tables, about, tuple(absent), paper, needs, data.absolute())


def _toml(path: Path, what: str = "study") -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"the {what} {path} cannot be read", why=str(error)) from error


def _recipe(given: str | dict[str, Any]) -> dict[str, Any]:
    return Recipe.parse(given).to_dict() if isinstance(given, str) else given


def _with_columns(table: dict[str, Any]) -> dict[str, Any]:
    return {**table, "columns": list(_expanded(table["columns"]))} if "columns" in table else table


def _expanded(tables: list[Any]) -> Iterator[Any]:
    """The tables, those with ``each`` once for every combination of its values, the last varying fastest."""
    for table in tables:
        each = table.get("each", {}) if isinstance(table, dict) else {}
        plain = {name: value for name, value in table.items() if name != "each"} if each else table
        for values in product(*each.values()):
            known: dict[str, Any] = {}
            for name, value in zip(each, values, strict=True):
                own = value if isinstance(value, dict) else {}
                known |= {f"{{{name}.{key}}}": held for key, held in own.items()} or {f"{{{name}}}": value}
            yield _filled(plain, known)


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """The value with every text's placeholders replaced; a text that is one becomes its value."""
    if isinstance(value, str):
        if value in known:
            return known[value]
        for mark, text in known.items():
            value = value.replace(mark, str(text))
        return value
    if isinstance(value, list):
        return [_filled(one, known) for one in value]
    if isinstance(value, dict):
        return {name: _filled(one, known) for name, one in value.items()}
    return value
