"""The tables of studies, as the scripts that draw figures of them take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput
from aspectra.lab.reports.tables import Number


def study_table(path: Path, title: str) -> list[dict[str, Any]]:
    """Rows of a table in a study's ``tables.json``, numbers as :class:`~aspectra.lab.reports.tables.Number`.

    Raises:
        BadInput: the file is damaged, or holds no such table.
    """
    try:
        tables = json.loads(path.read_text("utf-8"))["tables"]
        rows = next(table["rows"] for table in tables if table["title"] == title)
        return [
            {name: Number(**cell) if isinstance(cell, dict) else cell for name, cell in row.items()}
            for row in rows
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        raise BadInput(
            f"{path} holds no table {title!r}",
            why=str(error),
            hint="aspectra bench run STUDY.toml --data DIR --output DIR",
        ) from error
