"""The settings of the command line, where their files are, and the preferences of a search."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from msgspec import field

from aspectra.base.config import Config, find_project_file, setting
from aspectra.base.errors import UsageError, refuse_unknown
from aspectra.base.values import Value

if TYPE_CHECKING:
    from aspectra.search.conditions.condition import Condition
    from aspectra.search.query import Query


DEFAULT_RECIPE = "guided"
SPENDING = ("search.recipe", "read.with", "llm.model", "llm.budget", "llm.lanes", "llm.timeout", "llm.extra")
"""What says how much a language model is asked; a project's file sets it only with its user's permission."""
TABLE_FORMATS = ("markdown", "latex", "csv", "json")  # of the lab's tables
RUN_FORMATS = ("trec", "beir", "jsonl")  # of a run that is exported


def export_formats() -> tuple[str, ...]:
    """Formats of ``aspectra export``: those of the writers, and TREC runs."""
    from aspectra.papers.export.protocol import WRITERS

    return (*WRITERS, "trec")


class SearchSettings(Value, frozen=True):
    """Defaults of a search, for options that a command does not give."""

    recipe: Annotated[str, setting("steps of a search, as guided, bm25 or 'bm25 | top(200) | hybrid'")] = (
        DEFAULT_RECIPE
    )
    limit: Annotated[int, setting("papers shown", ge=0)] = 10
    evidence: Annotated[int, setting("sentences quoted per paper", ge=0)] = 1
    format: Annotated[str, setting("how results are written: table, json, or a format of export")] = "table"


class ReadSettings(Value, frozen=True, rename={"reader": "with"}):
    """Settings for reading requests in words."""

    reader: Annotated[
        Literal["rules", "model"], setting("rules alone, or the language model of llm.model beside them")
    ] = "rules"


class ModelProfile(Value, frozen=True):
    """The language model that stages, lenses and experiments use; none by default."""

    model: Annotated[str, setting("language model, as its endpoint names it; empty: none")] = ""
    base_url: Annotated[str, setting("address of its endpoint, usually ending in /v1")] = ""
    key_variable: Annotated[str, setting("environment variable with the key; empty: the usual ones")] = ""
    budget: Annotated[
        str, setting("most that one command may spend: 500calls, 2Mtokens, 1.50 (money), or several")
    ] = ""
    lanes: Annotated[int, setting("calls under way at once", ge=1, le=256)] = 8
    timeout: Annotated[float, setting("seconds for one attempt at an answer", gt=0)] = 60.0
    extra: Annotated[
        str,
        setting('fields of each request, as JSON: {"top_k": 20, "temperature": null}; null leaves it out'),
    ] = ""
    journal: Annotated[str, setting("file of recorded answers; empty: in your data folder", path=True)] = ""
    journal_text: Annotated[bool, setting("keep the words of questions there too, not hashes alone")] = False


class AddSettings(Value, frozen=True):
    """Limits of reading files."""

    max_text_chars: Annotated[int, setting("longest abstract or section stored", gt=0)] = 2_000_000
    pdf_seconds: Annotated[float, setting("time limit for one PDF, in seconds", gt=0)] = 30.0
    pdf_pages: Annotated[int, setting("most pages read from one PDF", gt=0)] = 400
    pdf_memory_mb: Annotated[int, setting("memory limit for reading one PDF, in MiB", gt=0)] = 1024
    unpacked_mb: Annotated[int, setting("most that a compressed file may expand to, in MiB", gt=0)] = 16_384
    unpacked_ratio: Annotated[
        int, setting("most that a compressed file above 16 MiB may expand, times its size", gt=0)
    ] = 100


class ServeSettings(Value, frozen=True):
    """Settings of ``aspectra serve``."""

    port: Annotated[int, setting("port of the page and of HTTP", ge=1, le=65535)] = 8765
    uploads: Annotated[
        str, setting("folder of files added on the page; empty: in your data folder", path=True)
    ] = ""
    benchmarks: Annotated[str, setting("folder of benchmarks that jobs may run; empty: none", path=True)] = ""


Lists = dict[str, tuple[str, ...]]
Folders = dict[str, str]


class Settings(Value, frozen=True):
    """Every setting, in the tables of ``aspectra.toml``."""

    library: Annotated[str, setting("folder of the library; empty: in your data folder", path=True)] = ""
    libraries: Annotated[
        Folders, setting("libraries that are served together, each by its name: name -> folder", path=True)
    ] = field(default_factory=dict)
    offline: Annotated[bool, setting("open no connection, even for encoders that need one", guard=True)] = (
        False
    )
    progress: Annotated[bool, setting("show progress")] = True
    color: Annotated[bool, setting("colours on a terminal (NO_COLOR=1 turns them off too)")] = True
    search: SearchSettings = SearchSettings()
    read: ReadSettings = ReadSettings()
    llm: ModelProfile = ModelProfile()
    add: AddSettings = AddSettings()
    serve: ServeSettings = ServeSettings()
    venue_groups: Annotated[Lists, setting("your groups of venues, for conditions: venue=ml")] = field(
        default_factory=dict
    )
    venue_ranks: Annotated[Lists, setting("your ranks of venues: venue_rank=top, a*, q1")] = field(
        default_factory=dict
    )
    paper_lists: Annotated[
        Lists, setting("your papers by id, DOI, arXiv id or title: known=have, mine, listed")
    ] = field(default_factory=dict)


def user_file() -> Path:
    """The user's own configuration file; it need not exist."""
    import platformdirs

    return Path(platformdirs.user_config_dir("aspectra", appauthor=False)) / "config.toml"


def data_folder(name: str) -> Path:
    """A folder of the user's data, beside the default library; it need not exist."""
    return default_library().parent / name


def default_library() -> Path:
    """The library that is used when no other is named."""
    import platformdirs

    return Path(platformdirs.user_data_dir("aspectra", appauthor=False)) / "library"


def load_config(flags: Mapping[str, Any], file: Path | None = None) -> Config[Settings]:
    """All settings for this process.

    Args:
        flags: name -> value from the command line, None where not given.
        file: used in place of the project's ``aspectra.toml``; the user named it, so it is the user's.

    Raises:
        UsageError: a layer holds something unusable, or ``file`` does not exist.
    """
    if file is not None and not file.is_file():
        raise UsageError(f"there is no configuration {file}", hint="check the path after --config")
    try:
        project = file or find_project_file(Path.cwd())
    except OSError:  # the working folder was deleted under us
        project = None
    return Config(
        Settings, flags=flags, environ=os.environ, project=project, user=user_file(), named=file is not None
    )


# What a search takes beside words and seeds, and the query that it makes.

Aspect = Literal["background", "method", "result"]
"""The aspects that sentences are labelled with; an aspect may also be free words."""

Direction = Literal["builds-on", "built-on-by", "both"]
"""What the papers are to the seed: it builds on them, they build on it, or either."""

Relation = Literal["require", "exclude", "prefer", "avoid"]
"""What a condition does: the first two filter papers, the others raise or lower their score."""

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_AGO = re.compile(r"(\d{1,3})\s*y(?:ears?)?")


class Preferences(TypedDict, total=False):
    """Options of a search besides its words or seeds; all of them may be left out.

    Attributes:
        since, until: first and last year, inclusive; a year, a date or an age such as ``"3y"``.
        venues, authors, languages: any of these; ``*`` in a venue matches anything.
        direction: what the papers are to the seeds: the seeds build on them, they build on the seeds, or
            both; "" for plain likeness.
        any_year: a direction ranks papers of every year.
        same, different: aspects in which papers should be like the text or the seeds, or unlike them. Terms
            may be named in place of the seeds': ``"method: gaussian splatting"``.
        same_sentences: numbers of the one seed's sentences, from 1, whose like papers should say.
        roles: roles that are corrected for this search: ``"3=method"``.
        conditions: as ``"avoid source=blog"``.
        instruction: the same in free words.
        literal: do not detect constraints in the text.
        limit: papers wanted, 0 or more.
        evidence: sentences quoted per paper.
        versions: ``best`` shows one version of a work, ``all`` ranks each by itself.
        lenses: lenses to search, for recipes that do.
        tags: only papers with all of these tags.
        decided: only papers of which you decided so: ``include``, ``exclude``, ``maybe``, ``any``, ``none``.

    >>> wanted: Preferences = {"since": "2020", "conditions": ["avoid kind=survey"]}
    >>> library.search("owls at night", **wanted).ids
    ['mice']
    """

    since: int | str | None
    until: int | str | None
    venues: str | Sequence[str]
    authors: str | Sequence[str]
    languages: str | Sequence[str]
    direction: Direction | Literal[""]
    any_year: bool
    same: Aspect | str | Sequence[Aspect | str]
    different: Aspect | str | Sequence[Aspect | str]
    same_sentences: int | Sequence[int]
    roles: str | Sequence[str]
    conditions: str | Condition | Sequence[str | Condition]
    instruction: str
    literal: bool
    limit: int
    evidence: int
    versions: Literal["best", "all"]
    lenses: str | Sequence[str]
    tags: str | Sequence[str]
    decided: str


def make_query(text: str, seeds: tuple[str, ...], given: Mapping[str, Any]) -> Query:
    """The whole question as one value.

    Args:
        text: words, or "".
        seeds: ids.
        given: see :class:`Preferences`.

    Raises:
        UsageError: the question cannot mean anything.
    """
    from aspectra.search.conditions.condition import Condition, limits
    from aspectra.search.query import Query

    refuse_unknown(given, Preferences.__annotations__, "argument of a search")
    fields = dict(given)
    required = limits(
        since=parse_year(fields.pop("since", None), "since"),
        until=parse_year(fields.pop("until", None), "until"),
        **{name: _several(fields.pop(name, ())) for name in ("venues", "authors", "languages")},
    )
    marked = [("tag", one) for one in _several(fields.pop("tags", ()))]
    marked += [("decided", one) for one in (fields.pop("decided", ""),) if one]
    required += tuple(Condition(name, value, "require") for name, value in marked)
    conditions = [
        Condition.parse(one) if isinstance(one, str) else one
        for one in _several(fields.pop("conditions", ()))
    ]
    if "same_sentences" in fields:
        fields["same_sentences"] = _several(fields["same_sentences"])
    return Query(text, seeds, conditions=(*required, *conditions), **fields)


def parse_year(given: int | str | None, name: str) -> int | None:
    """The year that a limit means: 2020, ``2020``, ``2020-05-01`` (papers carry years only) or ``3y`` (ago).

    >>> parse_year("2020-05-01", "since")
    2020

    Raises:
        UsageError: it is none of these.
    """
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    text = str(given).strip()
    if found := _DATE.fullmatch(text):
        year, month, day = (int(part or 1) for part in found.groups())
        if 1 <= month <= 12 and 1 <= day <= 31 and year > 0:
            return year
    elif found := _AGO.fullmatch(text):
        return datetime.now(UTC).year - int(found[1])
    raise UsageError(
        f"{name} is {given!r}, which is no year", hint=f"{name}: 2020, 2020-05-01 or 3y (years ago)"
    )


def _several(given: Any) -> tuple[Any, ...]:
    """One value or several, as a tuple; a text alone is one value, never its letters."""
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
