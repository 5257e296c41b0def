"""What a library holds, in numbers, and what was skipped or noted when files were added."""

from __future__ import annotations

from typing import Any

from aspectra.papers.library.store import Store

__all__ = ["remarks", "summary"]

# A file added again replaces what was said about it before.
_NEWEST = "SELECT max(id) FROM additions GROUP BY path"


def summary(library: Store) -> dict[str, Any]:
    """Counts of what the database holds."""
    papers, abstracts, full, titles, without = library.fetch(
        "SELECT count(*), coalesce(sum(abstract != ''), 0), coalesce(sum(full_hash != ''), 0), "
        "coalesce(sum(title != '' AND abstract = '' AND full_hash = ''), 0), "
        "coalesce(sum(title = '' AND abstract = '' AND full_hash = ''), 0) FROM papers"
    )[0]
    groups, members = library.fetch(
        "SELECT count(DISTINCT version_group), count(*) FROM papers WHERE version_group IS NOT NULL"
    )[0]
    citations, resolved = library.fetch("SELECT count(*), count(target) FROM citations")[0]
    skipped, noted = library.fetch(
        "SELECT coalesce(sum(skipped), 0), coalesce(sum(1 - skipped), 0) FROM remarks "
        f"WHERE addition IN ({_NEWEST})"
    )[0]
    return {
        "folder": str(library.folder),
        "revision": library.revision,
        "papers": papers,
        "with_abstract": abstracts,
        "with_full_text": full,
        "title_only": titles,
        "to_complete": without,
        "version_groups": groups,
        "papers_in_groups": members,
        "citations": citations,
        "citations_resolved": resolved,
        "records_skipped": skipped,
        "records_noted": noted,
    }


def remarks(library: Store, limit: int = 100) -> list[dict[str, Any]]:
    """What was skipped or noted while adding, newest file first."""
    rows = library.fetch(
        "SELECT a.path, a.source, r.place, r.reason, r.skipped FROM remarks r "
        f"JOIN additions a ON a.id = r.addition WHERE a.id IN ({_NEWEST}) "
        "ORDER BY a.id DESC, r.rowid LIMIT ?",
        (limit,),
    )
    names = ("file", "source", "place", "reason", "skipped")
    return [dict(zip(names, (*row[:4], bool(row[4])), strict=True)) for row in rows]
