"""Papers as rows of ``library.db`` and back."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, Literal

from aspectra.base.errors import LibraryCorrupt, NoSuchPaper
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
# What a row is checked by: its other columns, and the checksums of it and its references.
_OTHERS = ("content_hash", "text_hash", "full_hash", "title_key", "version_group")
_CHECKSUMS = ("checksum", "reference_checksum")
# The position of a new paper, never one that was in use.
_FREE = (
    "SELECT 1 + max((SELECT coalesce(max(pos), 0) FROM papers), "
    "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'papers'))"
)
_LONGEST_TITLE, _LONGEST_KEY = 2_000, 10_000  # characters; 500 letters become at most 9,000 of a key
_WIDTH = 5 + len(_COLUMNS)  # columns of the paper itself


def paper_columns(parts: Parts = "all", *, checked: bool = True) -> str:
    """The columns of a ``SELECT ... FROM papers`` that :func:`paper_from_row` reads.

    All parts of a paper come from one statement, so that they belong together whatever is written meanwhile.

    Args:
        parts: to read besides the record: ``none``; ``lead``: sections of papers without abstract;
            ``sections``; ``all``: sections and references.
        checked: also read the checksums, which libraries of older formats do not have.
    """
    sections = {"none": "NULL", "lead": f"CASE WHEN {BLANK} THEN {_SECTIONS} END"}.get(parts, _SECTIONS)
    references = _REFERENCES if parts == "all" else "NULL"
    columns = ("pos", "id", *_COLUMNS, "record", sections, references)
    return ", ".join((*columns, *_OTHERS, *_CHECKSUMS) if checked else columns)


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
    return _full_hash((s.heading, s.text) for s in paper.sections) if paper.has_full_text else ""


def _full_hash(sections: Iterable[Sequence[str]]) -> str:
    return digest_texts(part for section in sections for part in section)


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
    named, authors = _found_by(paper)
    return compared(0, fields, authors, frozenset(named))


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
        *others, checksum, of_references = checks
        held = {**dict(zip(_COLUMNS, values, strict=True)), **dict(zip(_OTHERS, others, strict=True))}
        held |= {"pos": pos, "id": paper_id, "record": record}
        if row_hash(*(held[name] for name in PAPER_ROW)) != checksum:
            raise damaged(f"the record of {paper_id!r}")
    sections, references = json.loads(raw_sections or "[]"), json.loads(raw_references or "[]")
    if (
        checks
        and raw_sections is not None
        and held["full_hash"] != (_full_hash(sections) if any(text.strip() for _, text in sections) else "")
    ):
        raise damaged(f"the full text of {paper_id!r}")
    if checks and raw_references is not None and row_hash(*references) != of_references:
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
    before = group = None
    at = pos if pos is not None else free if free is not None else int(db.execute(_FREE).fetchone()[0])
    if pos is not None:
        before = versions.version_keys(db, pos)
        (group,) = db.execute("SELECT version_group FROM papers WHERE pos = ?", (pos,)).fetchone()
    row |= {"pos": at, "version_group": group, "reference_checksum": row_hash(*cited)}
    row["checksum"] = row_hash(*(row[name] for name in PAPER_ROW))
    if pos is None:
        pos = at
        marks = ",".join("?" * len(row))
        db.execute(f"INSERT INTO papers ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
    else:
        names = ", ".join(f"{name} = ?" for name in row)
        db.execute(f"UPDATE papers SET {names} WHERE pos = ?", (*row.values(), pos))
        for table in ("sections", "identifiers", "authors", "citations", "citation_keys"):
            db.execute(f"DELETE FROM {table} WHERE pos = ?", (pos,))
    db.executemany(
        "INSERT INTO sections VALUES (?, ?, ?, ?)",
        [(pos, number, s.heading, s.text) for number, s in enumerate(paper.sections)],
    )
    identifiers, authors = _found_by(paper)
    db.executemany("INSERT INTO identifiers VALUES (?, ?, ?)", [(*one, pos) for one in sorted(identifiers)])
    db.executemany("INSERT INTO authors VALUES (?, ?, ?)", [(*one, pos) for one in sorted(authors)])
    db.executemany(
        "INSERT INTO citations (pos, ordinal, record, checksum) VALUES (?, ?, ?, ?)",
        [(pos, number, record, row_hash(pos, number, None)) for number, record in enumerate(cited)],
    )
    citations.mark_unlinked(db, pos)
    if before is None:
        versions.group_versions(db, pos)
    elif before != versions.version_keys(db, pos):
        changed = {pos} | versions.ungroup(db, (group,))
        if ungrouped is None:
            versions.regroup(db, changed)
        else:
            ungrouped |= changed
        # What cited the paper as it was may mean another one.
        citations.unlink(db, pos)
    return pos


def _found_by(paper: Paper) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(scheme, value) of the identifiers of a paper, and (whole name, family name) of its authors."""
    named = {(s, value) for s, v in paper.identifiers.items() if (value := normalise(s, v))}
    return named, set(map(author_keys, paper.authors))


def paper_problems(db: sqlite3.Connection) -> Iterator[str]:
    """The papers that are not as they were written, or that are not found by what their records say."""
    for row in db.execute(f"SELECT {paper_columns()} FROM papers"):
        try:
            paper = paper_from_row(row)
        except LibraryCorrupt as error:
            yield error.what.partition(" in library.db")[0]
            continue
        identifiers = db.execute("SELECT scheme, value FROM identifiers WHERE pos = ?", row[:1])
        authors = db.execute("SELECT name, family FROM authors WHERE pos = ?", row[:1])
        if (set(identifiers), set(authors)) != _found_by(paper):
            yield f"the identifiers or authors of {paper.id!r}"


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


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Make what is written within it one transaction of a connection in autocommit mode."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # After "disk full" SQLite has already rolled back.
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def positions_of(db: sqlite3.Connection, papers: Iterable[str], undone: str) -> dict[str, int]:
    """Id -> position, in the order given, each once.

    Args:
        db: a connection.
        papers: their ids.
        undone: states in the error that nothing was done.

    Raises:
        NoSuchPaper: an id is not in the library.
    """
    out = {}
    for one in dict.fromkeys(papers):
        row = db.execute("SELECT pos FROM papers WHERE id = ?", (one,)).fetchone()
        if row is None:
            raise NoSuchPaper(f"there is no paper {one!r}", why=undone, hint="aspectra list")
        out[one] = int(row[0])
    return out


def bump(db: sqlite3.Connection) -> None:
    """Count a change of the papers."""
    count_up(db, "revision")


def count_up(db: sqlite3.Connection, key: str) -> None:
    """Add 1 to a number among the settings; one that is not there was 0."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    put_setting(db, key, str(int(found[0]) + 1 if found else 1))


def put_setting(db: sqlite3.Connection, key: str, value: str) -> None:
    """Store one value of the library's own small key-value table."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, value, row_hash(key, value)))
