"""The papers of a library that meet simple conditions, in an order, page by page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from aspectra.base.errors import UsageError, check_choice, check_number
from aspectra.papers.library.marks.reader import MarkedLibrary, Marks
from aspectra.papers.library.row_sums import MARKED
from aspectra.papers.library.rows import BLANK

ORDERS = {
    "added": "pos DESC",
    "year": "coalesce(year, -10000) DESC, pos DESC",
    "title": "title_key = '', title_key, pos",
    "decided": "coalesce((SELECT max(at) FROM decisions d WHERE d.pos = papers.pos), '') DESC, pos DESC",
}
_YEARS = re.compile(r"(\d{1,4})?(-)?(\d{1,4})?", re.ASCII)
_DAY = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?", re.ASCII)
_MOST = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which papers, in which order.

    Attributes:
        tags: all of these.
        decision: ``include``, ``exclude``, ``maybe``; ``any``: decided; ``none``: undecided; "": all papers.
        years: ``2020``, ``2018-2020``, ``2018-`` or ``-2020``; "" for every year.
        no_abstract: only papers without abstract.
        since: day in ISO format from which on papers were added, or "".
        order: a key of :data:`ORDERS`.
        limit: papers on a page, at least 1.
        page: from 1.
    """

    tags: tuple[str, ...] = ()
    decision: str = ""
    years: str = ""
    no_abstract: bool = False
    since: str = ""
    order: str = "added"
    limit: int = 50
    page: int = 1


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of papers.

    Attributes:
        ids: of the papers on the page.
        found: papers on all pages.
        page, pages: of these.
    """

    ids: list[str]
    found: int
    page: int
    pages: int


def listed(library: MarkedLibrary, wanted: Wanted) -> Listing:
    """The papers of one page.

    Raises:
        UsageError: a condition cannot mean anything, or there is no such page.
    """
    check_choice(wanted.order, ORDERS, "order")
    check_number("the limit", wanted.limit, 1, _MOST)
    check_number("the page", wanted.page, 1, _MOST)
    order = ORDERS[wanted.order if library.format >= MARKED or wanted.order != "decided" else "added"]
    where, values = _years(wanted.years)
    if wanted.no_abstract:
        where.append(BLANK)
    if wanted.since:
        where.append("pos IN (SELECT pos FROM origins NOT INDEXED GROUP BY pos HAVING min(at) >= ?)")
        values.append(_day(wanted.since))
        if library.format < MARKED:
            where[-1], values = "0", values[:-1]
    with library.snapshot():
        if wanted.since and library.format >= MARKED:
            library.checksums.check_all("origins")
        if "decisions" in order:
            library.checksums.check_all("decisions")
        statement = f"SELECT id FROM papers WHERE {library.checksums.sound('papers')}"
        statement += "".join(f" AND {one}" for one in where)
        ids = [row[0] for row in library.fetch(f"{statement} ORDER BY {order}", values)]
        ids = _marked(Marks(library), ids, wanted)
    pages = max(1, -(-len(ids) // wanted.limit))
    if wanted.page > pages:
        raise UsageError(f"there is no page {wanted.page}", why=f"the last is page {pages:,}")
    start = (wanted.page - 1) * wanted.limit
    return Listing(ids[start : start + wanted.limit], len(ids), wanted.page, pages)


def _marked(marks: Marks, ids: list[str], wanted: Wanted) -> list[str]:
    for tag in wanted.tags:
        held = marks.tagged(tag)
        if not held:
            raise unknown_tag(marks, tag)
        ids = [one for one in ids if one in held]
    if wanted.decision:
        decided = marks.decisions()
        if wanted.decision in ("any", "none"):
            return [one for one in ids if (one in decided) == (wanted.decision == "any")]
        ids = [one for one in ids if one in decided and decided[one].decision == wanted.decision]
    return ids


def unknown_tag(marks: Marks, tag: str) -> UsageError:
    """The error for a tag that no paper has, with the tags there are."""
    counts = marks.tag_counts()
    most = ", ".join(sorted(counts, key=counts.__getitem__, reverse=True)[:10])
    return UsageError(
        f"no paper has the tag {tag!r}",
        why=f"tags in use: {most}" if most else "there are no tags yet",
        hint="aspectra tag PAPER +TAG",
    )


def _years(text: str) -> tuple[list[str], list[Any]]:
    """SQL and values of a range of years."""
    if not text:
        return [], []
    found = _YEARS.fullmatch(text.strip())
    if found is None or not (found[1] or found[3]):
        raise UsageError(f"{text!r} is no year", hint="2020, 2018-2020 or 2018-")
    first, last = found[1], found[3] if found[2] else found[1]
    bounds = [("year >= ?", first), ("year <= ?", last)]
    return [sql for sql, bound in bounds if bound], [int(bound) for _, bound in bounds if bound]


def _day(text: str) -> str:
    if not _DAY.fullmatch(text.strip()):
        raise UsageError(f"{text!r} is no day", hint="--added 2026-05-01, --added 2026-05, --added 2026")
    return text.strip()
