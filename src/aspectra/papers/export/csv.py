"""CSV for spreadsheets: one row a paper, a header line, UTF-8.

Lost: sections, references, sentence spans, metadata outside the shared names, identifiers other than DOI,
arXiv, PMID, PMCID and ISBN, authors beyond the thousands that one cell holds. A cell that a spreadsheet would
run as a formula gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from aspectra.papers.bibliography import keywords_text, shared_list, shared_text
from aspectra.papers.export.protocol import WRITERS, family_first, tidy
from aspectra.papers.names import split_names
from aspectra.papers.paper import Paper

_SHARED = tuple("type volume issue pages publisher place edition series issn date note database".split())
COLUMNS = (
    *"id title authors year venue doi arxiv pmid url language keywords abstract".split(),
    *(*_SHARED, "isbn", "pmcid", "editors"),
    *("included", "decision", "reason", "tags", "notes"),  # ASReview reads the first
)
_LONGEST = 131_000  # characters: Python's reader refuses a file for a longer cell
_INCLUDED = {"include": "1", "exclude": "0"}
# Signs that begin a formula, also in full width; "|" calls programs, and ";" parts cells in many countries.
_FORMULA = ("=", "+", "-", "@", "|", ";", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\uff5c", "\uff1b")
_QUOTES = "\"'“”‘’\uff02\uff07"  # a spreadsheet may take them away


class CsvWriter:
    """Comma-separated values, quoted where needed."""

    name = "csv"
    suffix = ".csv"

    def write(self, papers: Iterable[Paper]) -> str:
        """Header and one row a paper; authors and keywords are joined by ``"; "``."""
        out = io.StringIO(newline="")
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(COLUMNS)
        for paper in map(tidy, papers):
            ids = paper.identifiers
            row = (
                paper.id,
                paper.title,
                _people(paper, paper.authors),
                "" if paper.year is None else str(paper.year),
                paper.venue,
                ids.get("doi", ""),
                ids.get("arxiv", ""),
                ids.get("pmid", ""),
                paper.url,
                paper.language,
                keywords_text(shared_list(paper.metadata, "keywords"), "; "),
                paper.abstract,
                *(shared_text(paper.metadata, name) for name in _SHARED),
                ids.get("isbn", ""),
                ids.get("pmcid", ""),
                _people(paper, shared_list(paper.metadata, "editors")),
                *_marks(paper),
            )
            rows.writerow([safe_cell(cell) for cell in row])
        return out.getvalue()


def _people(paper: Paper, people: Sequence[str]) -> str:
    """As many people as programs take in one cell, as "Family, Given" where the name can be taken apart."""
    text = "; ".join(family_first(paper, people))
    if len(text) > _LONGEST:
        text = text[:_LONGEST].rpartition("; ")[0] + "; et al."
    return text if split_names(text) == list(people) else text.removesuffix(";") + ";"


def _marks(paper: Paper) -> tuple[str, ...]:
    """The searcher's decision, tags and notes, for the last columns."""
    screening, marks = (paper.metadata.get(name) for name in ("screening", "marks"))
    held = screening if isinstance(screening, dict) else {}
    said = marks if isinstance(marks, dict) else {}
    decision, reason = (str(held.get(name, "")) for name in ("decision", "reason"))
    tags, notes = (shared_list(said, name) for name in ("tags", "notes"))
    return _INCLUDED.get(decision, ""), decision, reason, "; ".join(tags), "\n".join(notes)


def safe_cell(cell: str) -> str:
    """A cell that no spreadsheet runs as a formula."""
    bare = cell.lstrip().lstrip(_QUOTES).lstrip()
    return "'" + cell if bare.startswith(_FORMULA) or cell.startswith("\t") else cell


WRITERS.register("csv")(CsvWriter())
