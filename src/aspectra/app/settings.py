"""The settings of the command line, and where their files are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aspectra.base.config import Config, Key, find_project_file
from aspectra.base.errors import UsageError

__all__ = ["FORMATS", "KEYS", "default_library", "load_config", "state_file", "user_file"]

FORMATS = ("table", "json", "jsonl", "bibtex", "ris", "csl-json", "csv", "trec")


def _not_negative(value: float) -> str:
    return "" if value >= 0 else f"must be 0 or more, not {value}"


def _positive(value: float) -> str:
    return "" if value > 0 else f"must be more than 0, not {value}"


def _format(value: str) -> str:
    return "" if value in FORMATS else f"must be one of {', '.join(FORMATS)}, not {value!r}"


KEYS = (
    Key("library", str, "", "folder of the library; empty: the one in your data folder", path=True),
    Key("offline", bool, False, "never open a connection, even for encoders that need one"),
    Key("progress", bool, True, "show progress while indexing"),
    Key("color", bool, True, "colours on a terminal (NO_COLOR turns them off as well)"),
    Key(
        "search.planner",
        str,
        "guided",
        "who makes the plan: guided, hybrid, bm25, dense, fulltext, hand, lensed",
    ),
    Key("search.limit", int, 10, "papers shown", check=_not_negative),
    Key("search.evidence", int, 1, "sentences quoted per paper", check=_not_negative),
    Key("search.format", str, "table", "how results are written: " + ", ".join(FORMATS), check=_format),
    Key("llm.model", str, "", "language model, as its endpoint names it; empty: none is asked"),
    Key("llm.base_url", str, "", "address of its endpoint, usually ending in /v1"),
    Key("llm.key_variable", str, "", "environment variable that holds the key; empty: the usual ones"),
    Key("add.max_text_chars", int, 2_000_000, "longest abstract or section kept", check=_positive),
    Key("add.pdf_seconds", float, 30.0, "time limit for one PDF, in seconds", check=_positive),
    Key("add.pdf_pages", int, 400, "most pages read from one PDF", check=_positive),
    Key("add.pdf_memory_mb", int, 1024, "memory limit for reading one PDF, in MiB", check=_positive),
)


def user_file() -> Path:
    """The user's own configuration file; it need not exist."""
    import platformdirs

    return Path(platformdirs.user_config_dir("aspectra", appauthor=False)) / "config.toml"


def state_file(name: str) -> Path:
    """A file that remembers something between commands; losing it costs nothing."""
    import platformdirs

    return Path(platformdirs.user_state_dir("aspectra", appauthor=False)) / name


def default_library() -> Path:
    """The library used when nobody names another."""
    import platformdirs

    return Path(platformdirs.user_data_dir("aspectra", appauthor=False)) / "library"


def load_config(flags: Mapping[str, Any], file: Path | None = None) -> Config:
    """All settings for this process.

    Args:
        flags: name -> value from the command line, None where not given.
        file: used in place of the project's ``aspectra.toml``.

    Raises:
        UsageError: a layer holds something unusable, or ``file`` does not exist.
    """
    if file is not None and not file.is_file():
        raise UsageError(f"there is no configuration {file}", hint="check the path after --config")
    try:
        project = file or find_project_file(Path.cwd())
    except OSError:  # the working folder was deleted under us
        project = None
    return Config(KEYS, flags=flags, environ=os.environ, project=project, user=user_file())
