"""The settings of the command line, and where their files are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import field

from aspectra.base.config import Config, find_project_file, setting
from aspectra.base.errors import UsageError
from aspectra.base.values import Value

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
    """How a search runs where a command has no option for it."""

    recipe: Annotated[str, setting("steps of a search, as guided, bm25 or 'bm25 | top(200) | hybrid'")] = (
        DEFAULT_RECIPE
    )
    limit: Annotated[int, setting("papers shown", ge=0)] = 10
    evidence: Annotated[int, setting("sentences quoted per paper", ge=0)] = 1
    format: Annotated[str, setting("how results are written: table, json, or a format of export")] = "table"


class ReadSettings(Value, frozen=True, rename={"reader": "with"}):
    """How requests in words are read."""

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
    """How ``aspectra serve`` answers."""

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


def state_file(name: str) -> Path:
    """A file that remembers something between commands; losing it costs nothing."""
    import platformdirs

    return Path(platformdirs.user_state_dir("aspectra", appauthor=False)) / name


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
