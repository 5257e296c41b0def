"""Options that the lab's commands share, and files that a measuring command takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from aspectra.app.settings import TABLE_FORMATS
from aspectra.app.terminal.panels import option
from aspectra.base.errors import BadInput
from aspectra.lab.runs.files import DOCUMENT_KEYS, TOPIC_KEYS
from aspectra.lab.runs.rows import first_of, read_rows
from aspectra.papers.sources.files import read_text


def choice(about: str, *flags: str, metavar: str = "NAME") -> Any:
    """An option with its help; without flags, named like its parameter."""
    return option(*flags, metavar=metavar, about=about)


def argument(about: str, metavar: str) -> Any:
    """An argument with its help."""
    return typer.Argument(metavar=metavar, help=about, show_default=False)


LoaderOption = Annotated[
    list[str] | None, choice("Option of a loader; see bench list.", "--option", metavar="K=V")
]
Measures = Annotated[list[str] | None, choice("As nDCG@10; again for more{; measures}.", "--measure", "-m")]
Preset = Annotated[str | None, choice("Which reference implementation to follow [paper].", "--preset")]
Incomplete = Annotated[bool, option("--incomplete", about="Average although topics are missing.")]
Format = Annotated[str, choice(", ".join(TABLE_FORMATS) + ".", "--format")]
Experiment = Annotated[Path, argument("Directory of an experiment.", "DIR")]
Test = Annotated[str, choice("t, wilcoxon, randomisation [t].", "--test")]
Correction = Annotated[str, choice("none, holm, bonferroni [bonferroni].", "--correction")]
By = Annotated[str | None, choice("Means by the values of a label.", "--by", metavar="LABEL")]
Baseline = Annotated[str, choice("Recipe to test others against.", "--baseline")]


_TITLES = ("title", "name")
_IDS = ("_id", "paper_id", "corpusid", *DOCUMENT_KEYS)


def read_labels(path: Path) -> dict[str, dict[str, str]]:
    """Topic -> label -> value, from a JSON object of objects, or rows with a column for the topic.

    Raises:
        BadInput: the file cannot be read, or has no column for topics.
    """
    whole = _json(_text(path))
    if isinstance(whole, dict) and all(isinstance(v, dict) for v in whole.values()):
        return {str(t): {str(k): str(v) for k, v in held.items()} for t, held in whole.items()}
    out: dict[str, dict[str, str]] = {}
    for number, row in read_rows(path):
        key = next((name for name in ("_id", *TOPIC_KEYS, "id") if row.get(name) not in (None, "")), None)
        if key is None:
            raise BadInput(f"{path}, line {number}: no topic", hint="name its column query_id")
        out[str(row[key])] = {n: str(v) for n, v in row.items() if n != key and isinstance(v, str | int)}
    return out


def read_excluded(path: Path) -> dict[str, frozenset[str]]:
    """Topic -> documents dropped, from a JSON object of lists, or lines with a topic and a document.

    Raises:
        BadInput: the file is neither.
    """
    text = _text(path)
    whole = _json(text)
    if isinstance(whole, dict) and all(isinstance(v, list) for v in whole.values()):
        return {str(t): frozenset(map(str, docs)) for t, docs in whole.items()}
    out: dict[str, set[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("\t") if "\t" in line else line.split()
        if not words or words[0].lower() in TOPIC_KEYS:
            continue
        if len(words) != 2:
            raise BadInput(f"{path}, line {number}: {len(words)} words instead of topic and document")
        out.setdefault(words[0].strip(), set()).add(words[1].strip())
    return {topic: frozenset(docs) for topic, docs in out.items()}


def read_titles(path: Path) -> dict[str, str]:
    """Id -> title of a corpus: JSON Lines, csv or tsv with a column for each.

    Raises:
        BadInput: the file cannot be read, or a row has no id.
    """
    out: dict[str, str] = {}
    for number, row in read_rows(path):
        own = first_of(row, _IDS)
        if not own:
            raise BadInput(f"{path}, line {number}: no id", hint="name its column _id")
        out[own] = first_of(row, _TITLES)
    if not out:
        raise BadInput(f"{path} has no rows")
    return out


def _text(path: Path) -> str:
    if not path.is_file():
        raise BadInput(f"there is no file {path}", hint="check the path")
    return read_text(path)[0]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
