"""Papers that are known by their identifiers only, and the records that complete them."""

from __future__ import annotations

import sqlite3

from aspectra.papers.identifiers import normalise
from aspectra.papers.paper import Paper

__all__ = ["same_named"]

# Identifiers that only one paper has: a book's ISBN names its chapters too.
_SCHEMES = ("doi", "arxiv", "pmid", "pmcid", "openalex", "s2", "acl")
_WITHOUT_TEXT = " AND title = '' AND abstract = '' AND full_hash = ''"


def same_named(db: sqlite3.Connection, paper: Paper) -> int | None:
    """Position of the stored paper that a new record stands for, by an identifier that both have; else None.

    For a record with text that is a paper without text, which it completes. For a record without text it is
    any paper with that identifier, so that a list of identifiers adds nothing twice.

    Args:
        db: the library's database.
        paper: a record whose id the library does not hold.
    """
    only = _WITHOUT_TEXT if paper.has_text else ""
    for scheme in _SCHEMES:
        if value := normalise(scheme, paper.identifiers.get(scheme)):
            row = db.execute(
                "SELECT pos FROM identifiers JOIN papers USING (pos) "
                f"WHERE scheme = ? AND value = ?{only} ORDER BY pos LIMIT 1",
                (scheme, value),
            ).fetchone()
            if row:
                return int(row[0])
    return None
