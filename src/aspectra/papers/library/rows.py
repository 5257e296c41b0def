"""Papers as rows of ``library.db`` and back."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import reduce
from operator import xor
from typing import Any, Literal

from aspectra.base.files import canonical_json, digest_texts
from aspectra.papers.identifiers import normalise
from aspectra.papers.library.links import citations, versions
from aspectra.papers.library.links.versions import Compared, compared
from aspectra.papers.library.row_sums import PAPER_ROW, damaged, row_hash
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.text.cleaning import folded
from aspectra.papers.text.structure import SPLITTER_VERSION, lead_field

# Fields with a column of their own; all others but sections and references are JSON in `record`.
_COLUMNS = ("title", "abstract", "year", "venue", "language")
_HASHES = {"text": "text_hash", "sections": "full_hash", "record": "content_hash"}
# All white space that there is; none comes after the ideographic space.
_SPACES = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
Parts = Literal["none", "lead", "sections", "all"]

# Holds where a paper's abstract says nothing: the same as `not abstract.strip()`.
BLANK = f"trim(abstract, '{_SPACES}') = ''"
_SECTIONS = (
    "(SELECT json_group_array(json_array(heading, text)) FROM "
    "(SELECT heading, text FROM sections s WHERE s.pos = papers.pos ORDER BY ordinal))"
)
_REFERENCES = (
    "(SELECT json_group_array(record) FROM "
    "(SELECT record FROM citations c WHERE c.pos = papers.pos ORDER BY ordinal))"
)
# What a row is checked by: its other columns, and the checksums of it, its sections and its references.
_OTHERS = ("content_hash", "text_hash", "full_hash", "title_key", "version_group")
_SUMS = ", ".join(
    f"(SELECT total FROM sums WHERE relation = '{name}' AND bucket = +papers.pos)"
    for name in ("paper", "sections", "references")
)
_LONGEST_TITLE, _LONGEST_KEY = 2_000, 10_000  # characters; 500 letters become at most 9,000 of a key
_WIDTH = 5 + len(_COLUMNS)  # columns of the paper itself


def paper_columns(parts: Parts = "all", *, checked: bool = True) -> str:
    """The columns of a ``SELECT ... FROM papers`` that :func:`paper_from_row` reads.

    All parts of a paper come from one statement, so that they belong together whatever is written meanwhile.

    Args:
        parts: to read besides the record: ``none``; ``lead``: sections of papers without abstract;
            ``sections``; ``all``: sections and references.
        checked: also read the checksums, which libraries of formats before 4 do not have.
    """
    sections = {"none": "NULL", "lead": f"CASE WHEN {BLANK} THEN {_SECTIONS} END"}.get(parts, _SECTIONS)
    references = _REFERENCES if parts == "all" else "NULL"
    columns = ("pos", "id", *_COLUMNS, "record", sections, references)
    return ", ".join((*columns, *_OTHERS, _SUMS) if checked else columns)


def part_sql(name: str) -> str:
    """SQL of one part of a row of ``papers p`` that something derived may depend on.

    Args:
        name: ``text`` (title, abstract or lead, sentence boundaries), ``sections``, ``fallback`` (sections
            of papers without abstract), ``record`` (everything), or a field of
            :class:`~aspectra.papers.paper.Paper`.

    Raises:
        KeyError: the part does not exist.
    """
    if name == "fallback":
        return f"CASE WHEN {BLANK} THEN p.full_hash END"
    if name in _HASHES:
        return f"p.{_HASHES[name]}"
    if name not in {field.name for field in fields(Paper)}:
        raise KeyError(name)
    return f"p.{name}" if name in _COLUMNS else f"json_extract(p.record, '$.{name}')"


def text_hash(paper: Paper) -> str:
    """Hash of what the abstract views see: title, lead text and the sentence boundaries in it."""
    marks = canonical_json([[s.start, s.end] for s in paper.sentences]) if paper.sentences else ""
    return digest_texts([paper.title, lead_field(paper)[1], marks, str(SPLITTER_VERSION)])


def full_hash(paper: Paper) -> str:
    """Hash of what the full-text views see; "" without full text."""
    if not paper.has_full_text:
        return ""
    return digest_texts(part for s in paper.sections for part in (s.heading, s.text))


def author_keys(name: str) -> tuple[str, str]:
    """(whole name, family name), folded, for the author filter; the family name is the last word.

    >>> author_keys("Ada B. Lovelace"), author_keys("Åse O’Sørby")
    (('ada b lovelace', 'lovelace'), ('ase osorby', 'osorby'))
    """
    key = normalise_title(folded(re.sub("['’ʼ`]", "", name)))
    return key, key.rsplit(" ", 1)[-1]


def same_given(one: str, other: str) -> bool:
    """True if one given name is the initial of the other.

    >>> same_given("a", "ada")
    True
    """
    short, long = sorted((one, other), key=len)
    return len(short) == 1 and long.startswith(short)


def paper_row(paper: Paper) -> tuple[dict[str, Any], list[str]]:
    """A paper as column -> value of the papers table, and the records of its citations."""
    whole = paper.to_dict(with_id=False)
    cited = [_json(one) for one in whole.get("references", ())]
    rest = {k: v for k, v in whole.items() if k not in (*_COLUMNS, "sections", "references")}
    row = {
        "id": paper.id,
        "content_hash": paper.content_hash,
        "text_hash": text_hash(paper),
        "full_hash": full_hash(paper),
        **{name: getattr(paper, name) for name in _COLUMNS},
        "title_key": normalise_title(paper.title[:_LONGEST_TITLE])[:_LONGEST_KEY].rstrip(),
        "record": _json(rest),
    }
    return row, cited


def compared_record(paper: Paper) -> Compared:
    """The comparison fields (:class:`Compared`) of a record that is not stored."""
    row, _ = paper_row(paper)
    fields = (row["id"], row["title_key"], row["year"], row["venue"], row["record"], row["title"])
    named = frozenset((s, value) for s, v in paper.identifiers.items() if (value := normalise(s, v)))
    return compared(0, fields, [*map(author_keys, paper.authors)], named)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def paper_from_row(row: Sequence[Any]) -> Paper:
    """A paper from the columns of :func:`paper_columns`.

    Raises:
        LibraryCorrupt: a part of it is not as it was written.
    """
    pos, paper_id, *values, record, raw_sections, raw_references = row[:_WIDTH]
    checks = row[_WIDTH:]
    if checks:
        *others, total, of_sections, of_references = checks
        held = {**dict(zip(_COLUMNS, values, strict=True)), **dict(zip(_OTHERS, others, strict=True))}
        held |= {"pos": pos, "id": paper_id, "record": record}
        if row_hash(*(held[name] for name in PAPER_ROW)) != total:
            raise damaged(f"the record of {paper_id!r}")
    sections, references = json.loads(raw_sections or "[]"), json.loads(raw_references or "[]")
    if checks and raw_sections is not None and _total(pos, sections) != (of_sections or 0):
        raise damaged(f"the full text of {paper_id!r}")
    if (
        checks
        and raw_references is not None
        and _total(pos, ([r] for r in references)) != (of_references or 0)
    ):
        raise damaged(f"the references of {paper_id!r}")
    return Paper.from_dict(
        {
            **json.loads(record),
            **dict(zip(_COLUMNS, values, strict=True)),
            "id": paper_id,
            "sections": [{"heading": heading, "text": text} for heading, text in sections],
            "references": [json.loads(one) for one in references],
        }
    )


def _total(pos: int, rows: Iterable[Sequence[Any]]) -> int:
    """Checksum of a paper's sections or references, which are numbered from 0."""
    return reduce(xor, (row_hash(pos, number, *row) for number, row in enumerate(rows)), 0)


def put_paper(
    db: sqlite3.Connection,
    paper: Paper,
    pos: int | None = None,
    *,
    free: int | None = None,
    ungrouped: set[int] | None = None,
) -> int:
    """Store a paper, within the caller's transaction; returns its position.

    Args:
        db: a writing connection.
        paper: the paper.
        pos: of the paper that it takes the place of; None for a new paper.
        free: the position of a new paper, where it must have a certain one.
        ungrouped: gets the positions whose versions the caller groups anew; where None, that is done here.
    """
    row, cited = paper_row(paper)
    before = None
    if pos is None:
        if free is not None:
            row = {"pos": free, **row}
        marks = ",".join("?" * len(row))
        cursor = db.execute(f"INSERT INTO papers ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
        pos = int(cursor.lastrowid or 0)
    else:
        before = versions.version_keys(db, pos)
        names = ", ".join(f"{name} = ?" for name in row)
        db.execute(f"UPDATE papers SET {names} WHERE pos = ?", (*row.values(), pos))
        for table in ("sections", "identifiers", "authors", "citations", "citation_keys"):
            db.execute(f"DELETE FROM {table} WHERE pos = ?", (pos,))
    db.executemany(
        "INSERT INTO sections VALUES (?, ?, ?, ?)",
        [(pos, number, s.heading, s.text) for number, s in enumerate(paper.sections)],
    )
    identifiers = {(s, value, pos) for s, v in paper.identifiers.items() if (value := normalise(s, v))}
    db.executemany("INSERT OR IGNORE INTO identifiers VALUES (?, ?, ?)", sorted(identifiers))
    names_of = {(*author_keys(name), pos) for name in paper.authors}
    db.executemany("INSERT OR IGNORE INTO authors VALUES (?, ?, ?)", sorted(names_of))
    db.executemany(
        "INSERT INTO citations (pos, ordinal, record) VALUES (?, ?, ?)",
        [(pos, number, record) for number, record in enumerate(cited)],
    )
    citations.mark_unlinked(db, pos)
    if before is None:
        versions.group_versions(db, pos)
    elif before != versions.version_keys(db, pos):
        group = db.execute("SELECT version_group FROM papers WHERE pos = ?", (pos,)).fetchone()
        changed = {pos} | versions.ungroup(db, group)
        if ungrouped is None:
            versions.regroup(db, changed)
        else:
            ungrouped |= changed
        # What cited the paper as it was may mean another one.
        citations.unlink(db, pos)
    return pos


def drop_papers(db: sqlite3.Connection, positions: Iterable[int]) -> None:
    """Remove the papers at these positions, with all that the library holds about them."""
    groups = set()
    for pos in positions:
        groups |= set(db.execute("SELECT version_group FROM papers WHERE pos = ?", (pos,)).fetchone())
        citations.unlink(db, pos)
        db.execute("DELETE FROM papers WHERE pos = ?", (pos,))
    versions.regroup(db, versions.ungroup(db, groups))


def stored_paper(db: sqlite3.Connection, pos: int) -> Paper:
    """The paper at a position, whole.

    Raises:
        LibraryCorrupt: a part of it is not as it was written.
    """
    return paper_from_row(
        db.execute(f"SELECT {paper_columns()} FROM papers WHERE pos = ?", (pos,)).fetchone()
    )


def bump(db: sqlite3.Connection) -> None:
    """Count a change of the papers."""
    db.execute("UPDATE meta SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) WHERE key = 'revision'")
