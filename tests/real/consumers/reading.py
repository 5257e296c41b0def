"""What another program reads from an export, one JSON line a record; run by the Python that has the program.

    python reading.py asreview|rispy|bibtexparser|citeproc FILE

Records are in the order of the file: ``title``, ``year`` (text), ``doi``, ``venue`` and ``families`` (of
authors, as far as the program takes names apart), null where it has none.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def asreview(path: Path) -> Iterator[Row]:
    from asreview.data.loader import load_records

    for record in load_records(path):
        yield {
            "title": record.title,
            "year": record.year,
            "doi": record.doi,
            "families": _before_commas(record.authors) if path.suffix == ".ris" else None,
        }


def rispy(path: Path) -> Iterator[Row]:
    import rispy

    with path.open(encoding="utf-8") as file:
        for entry in rispy.load(file):
            yield {
                "title": entry.get("title"),
                "year": entry.get("year"),
                "doi": entry.get("doi"),
                "families": _before_commas(entry.get("authors")),
            }


def bibtexparser(path: Path) -> Iterator[Row]:
    import bibtexparser
    from bibtexparser.middlewares import (
        LatexDecodingMiddleware,
        SeparateCoAuthors,
        SplitNameParts,
    )

    library = bibtexparser.parse_file(
        str(path), append_middleware=[SeparateCoAuthors(), SplitNameParts(), LatexDecodingMiddleware()]
    )
    if library.failed_blocks:
        raise SystemExit(f"{len(library.failed_blocks)} blocks failed: {library.failed_blocks[0].error}")
    for entry in library.entries:
        fields = {name: field.value for name, field in entry.fields_dict.items()}
        yield {
            "title": fields.get("title"),
            "year": fields.get("year"),
            "doi": fields.get("doi"),
            "venue": fields.get("journal") or fields.get("booktitle"),
            "families": [" ".join([*n.von, *n.last]) for n in fields.get("author", [])],
        }


def citeproc(path: Path) -> Iterator[Row]:
    from citeproc import (
        Citation,
        CitationItem,
        CitationStylesBibliography,
        CitationStylesStyle,
        formatter,
    )
    from citeproc.source.json import CiteProcJSON

    style = CitationStylesStyle("harvard-cite-them-right", validate=False)
    for item in json.loads(path.read_text(encoding="utf-8")):
        bibliography = CitationStylesBibliography(style, CiteProcJSON([item]), formatter.plain)
        bibliography.register(Citation([CitationItem(item["id"])]))
        yield {"title": str(bibliography.bibliography()[0])}


def _before_commas(names: list[str] | None) -> list[str]:
    return [name.split(",")[0] for name in names or []]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    reader, source = sys.argv[1:]
    for row in {f.__name__: f for f in (asreview, rispy, bibtexparser, citeproc)}[reader](Path(source)):
        print(json.dumps({**row, "year": str(row["year"]) if row.get("year") else None}))
