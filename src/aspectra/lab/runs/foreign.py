"""Results exported from any other engine: lists of ids or titles, matched to the corpus and counted.

A result that is not in the corpus keeps its place, under an id of its own, since leaving it out would lift
everything below it.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.lab.runs.checks import Checks
from aspectra.lab.runs.files import DOCUMENT_KEYS, TOPIC_KEYS
from aspectra.lab.runs.run import Run
from aspectra.papers.paper import normalise_title
from aspectra.papers.sources.files import read_text

__all__ = ["UNMATCHED", "read_export"]

UNMATCHED = "unmatched:"
_TITLE_KEYS = ("title", "document title", "paper title", "name", "ti")
_SCORE_KEYS = ("score", "relevance", "similarity", "sim")
_RANK_KEYS = ("rank", "position", "place", "nr")

Row = Mapping[str, Any]


def read_export(path: Path, titles: Mapping[str, str], *, topic: str = "") -> Run:
    """A run out of a csv, tsv or JSON Lines file with an id or a title in each row, compressed or not.

    A row is matched by its id, else by its title reduced to letters and digits. The order is that of a score
    column, else of a rank column, else of the file. A document that comes twice keeps its better place.

    Args:
        path: the file; the first line of csv and tsv names the columns.
        titles: id -> title of the corpus.
        topic: the topic of all rows, for a file without such a column.

    Returns:
        The run; its ``checks`` count rows ``matched by id``, ``matched by title``, ``unmatched`` (no such
        paper), ``ambiguous`` (several papers of that title) and ``listed again``. Rows that are unmatched or
        ambiguous keep their place under an id that starts with :data:`UNMATCHED`.

    Raises:
        BadInput: no column for topics, or none for ids and titles, or a score or rank that is no number.
    """
    by_title: dict[str, list[str]] = {}
    for doc, title in titles.items():
        if key := normalise_title(title):
            by_title.setdefault(key, []).append(doc)
    found: dict[str, list[str]] = {
        what: [] for what in ("matched by id", "matched by title", "unmatched", "ambiguous", "listed again")
    }
    rows: dict[str, list[tuple[float, int, str]]] = {}
    for i, row in enumerate(_rows(path), 1):
        where = str(_field(row, TOPIC_KEYS) or topic)
        if not where:
            raise BadInput(
                f"{path}, row {i}: no topic", why="there is no column query_id", hint="name the topic"
            )
        given, title = str(_field(row, DOCUMENT_KEYS) or ""), str(_field(row, _TITLE_KEYS) or "")
        if not given and not title:
            raise BadInput(f"{path}, row {i}: neither an id nor a title", hint="name a column id or title")
        shown = given or title
        candidates = by_title.get(normalise_title(title or given), [])
        if given in titles:
            doc, what = given, "matched by id"
        elif len(candidates) == 1:
            doc, what = candidates[0], "matched by title"
        else:
            doc, what = (
                UNMATCHED + (normalise_title(title) or given),
                "ambiguous" if candidates else "unmatched",
            )
        found[what].append(f"{where}: {shown[:60]}")
        rows.setdefault(where, []).append((_worth(row, i, path), i, doc))
    data: dict[str, dict[str, float]] = {}
    for where, listed in rows.items():
        docs: dict[str, float] = {}
        for rank, (_, _, doc) in enumerate(sorted(listed, key=lambda x: (-x[0], x[1])), 1):
            if doc in docs:
                found["listed again"].append(f"{where}: {doc[:60]}")
            else:
                docs[doc] = -float(rank)
        data[where] = docs
    if not data:
        raise BadInput(f"{path} has no rows", hint="check that the export finished")
    return Run(data, path.stem, Checks.of(found))


def _rows(path: Path) -> list[Row]:
    """Rows with lower-case column names."""
    text, _ = read_text(path)
    if text.lstrip().startswith(("{", "[")):
        try:
            if text.lstrip().startswith("["):
                loaded = json.loads(text)
            else:
                loaded = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise BadInput(f"{path} is not valid JSON", why=str(error)) from error
        if not all(isinstance(row, dict) for row in loaded):
            raise BadInput(f"{path}: every row must be a JSON object")
        return [{str(name).strip().lower(): value for name, value in row.items()} for row in loaded]
    first = text.split("\n", 1)[0]
    mark = "\t" if "\t" in first else ";" if first.count(";") > first.count(",") else ","
    reader = csv.DictReader(io.StringIO(text), delimiter=mark)
    try:
        return [
            {(n or "").strip().lower(): v for n, v in row.items() if isinstance(n, str)} for row in reader
        ]
    except csv.Error as error:
        raise BadInput(f"{path} is not a table that can be read", why=str(error)) from error


def _field(row: Row, names: tuple[str, ...]) -> Any:
    for name in names:
        value = row.get(name)
        if value is not None and str(value).strip():
            return str(value).strip()
    return None


def _worth(row: Row, i: int, path: Path) -> float:
    """Higher is better: the score, else minus the rank, else 0, so that the file's order decides."""
    score, rank = _field(row, _SCORE_KEYS), _field(row, _RANK_KEYS)
    try:
        value = float(score) if score is not None else -float(rank) if rank is not None else 0.0
    except ValueError as error:
        raise BadInput(f"{path}, row {i}: {score or rank!r} is not a number") from error
    if not math.isfinite(value):
        raise BadInput(f"{path}, row {i}: a score that is {value} has no place in an order")
    return value
