"""Results exported from any other engine: lists of ids or titles, matched to the corpus and counted.

A result that is not in the corpus keeps its place, under an id of its own, since leaving it out would lift
everything below it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from aspectra.base.errors import BadInput
from aspectra.lab.runs.files import DOCUMENT_KEYS, TOPIC_KEYS, Checks
from aspectra.lab.runs.rows import Row, first_of, read_rows
from aspectra.lab.runs.run import Run
from aspectra.papers.paper import normalise_title

UNMATCHED = "unmatched:"
_TITLE_KEYS = ("title", "document title", "paper title", "name", "ti")
_SCORE_KEYS = ("score", "relevance", "similarity", "sim")
_RANK_KEYS = ("rank", "position", "place", "nr")


def read_export(path: Path, titles: Mapping[str, str], *, topic: str = "") -> Run:
    """A run from a csv, tsv, JSON Lines or Parquet file with an id or a title in each row.

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
    for i, given_row in read_rows(path):
        row = {name.strip().lower(): value for name, value in given_row.items()}
        where = first_of(row, TOPIC_KEYS) or topic
        if not where:
            raise BadInput(
                f"{path}, line {i}: no topic", why="there is no column query_id", hint="name the topic"
            )
        given, title = first_of(row, DOCUMENT_KEYS), first_of(row, _TITLE_KEYS)
        if not given and not title:
            raise BadInput(f"{path}, line {i}: neither an id nor a title", hint="name a column id or title")
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


def _worth(row: Row, i: int, path: Path) -> float:
    """Higher is better: the score, else minus the rank, else 0, so that the file's order decides."""
    score, rank = first_of(row, _SCORE_KEYS), first_of(row, _RANK_KEYS)
    try:
        value = float(score) if score else -float(rank) if rank else 0.0
    except ValueError as error:
        raise BadInput(f"{path}, line {i}: {score or rank!r} is not a number") from error
    if not math.isfinite(value):
        raise BadInput(f"{path}, line {i}: a score that is {value} has no place in an order")
    return value
