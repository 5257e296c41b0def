"""Groups of records that are versions of one work, kept as records come, change and go.

The best record of a work, with what only the others have, and which of them the user chose to lead it.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Literal, NamedTuple, TypeAlias

from aspectra.base.expressions import expression
from aspectra.base.values import replace
from aspectra.papers.bibliography import SHARED, is_preprint_doi, shared_text
from aspectra.papers.identifiers import normalise
from aspectra.papers.library.row_sums import MARKED, REGROUPED, CheckedLibrary
from aspectra.papers.paper import Paper, normalise_title

# Whether two records describe one work: what is compared, and the rules, the surest first.
#
# A pair is *one work* or *to be looked at*. Precision goes first, since records of one work are shown as
# one hit. Rules: a shared identifier where the titles are alike (a DOI cut at a bracket, or that of a whole
# issue, is shared by different works); the same title where years, authors and DOIs do not contradict it;
# what comes near these is only reported.

_SURE_SCHEMES = ("arxiv", "pmid", "pmcid")  # never those of a whole volume
_YEARS_APART = 3  # a journal version follows its preprint within this
_SHORT, _PLAIN = 3, 5  # words: shorter titles ("Introduction") name many works; plain ones need authors
_ALIKE = 0.6  # share of the words of the shorter title that the other one has
_NEAR = 0.85  # the same of both titles, for what is only reported
_SPELLED_ALIKE = 0.94  # share of the letters of two titles that are the same: one or two are misspelt
_VERSION = expression(r"[./]v?\d{1,2}+$")  # of a preprint: 10.12688/f1000research.1234.2
_LONGEST_VENUE = 500  # characters that are compared
_LONGEST_SIGNED = 500  # characters of a title whose signs are compared; most titles have fewer
_PAGE = expression(r"[a-z]{0,4}+\d++", re.I)
_SIGN = expression(r"[-+*#<>=≤≥±↑↓\u2010-\u2015\u2212]")
_DASHES = expression(r"[-\u2010-\u2015\u2212]+")
_WORD = expression(r"[^\W_]+")


class Compared(NamedTuple):
    """The fields of a paper by which versions of one work are detected.

    Attributes:
        pos, id: its place and its id.
        title: normalised.
        year: or None.
        families: family names of the authors, folded.
        named: (scheme, value) of its identifiers.
        venue: normalised.
        page: the first one, or "".
        signs: such as + around the words of the title, one string for each place.
        names: the words of its authors' whole names, folded.
    """

    pos: int
    id: str
    title: str
    year: int | None
    families: frozenset[str]
    named: frozenset[tuple[str, str]]
    venue: str
    page: str
    signs: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def words(self) -> int:
        """Number of words of the title."""
        return self.title.count(" ") + bool(self.title)

    def values(self, scheme: str) -> set[str]:
        """Its identifiers of one scheme."""
        return {value for kind, value in self.named if kind == scheme}


# (position, id, content hash) -> what is compared, 256 at most: in a large group mostly the same records.
_KNOWN: dict[tuple[int, str, str], Compared] = {}


class Verdict(NamedTuple):
    """Result for a pair of records: ``one`` work, or a pair to review (``look``); with a readable reason."""

    kind: Literal["one", "look"]
    why: str


def compared_at(db: sqlite3.Connection, positions: Iterable[int]) -> dict[int, Compared]:
    """Position -> what is compared, for papers that exist."""
    wanted = tuple(positions)
    marks = ", ".join("?" * len(wanted))
    keys = db.execute(f"SELECT pos, id, content_hash FROM papers WHERE pos IN ({marks})", wanted).fetchall()
    out = {}
    printed = f"substr(title, 1, {_LONGEST_SIGNED})"
    statement = f"SELECT id, title_key, year, venue, record, {printed} FROM papers WHERE pos = ?"
    for key in keys:
        pos, one = key[0], _KNOWN.get(key)
        if one is None:
            row = db.execute(statement, (pos,)).fetchone()
            people = db.execute("SELECT name, family FROM authors WHERE pos = ?", (pos,)).fetchall()
            named = frozenset(db.execute("SELECT scheme, value FROM identifiers WHERE pos = ?", (pos,)))
            one = compared(pos, row, people, named)
            if len(_KNOWN) >= 256:
                _KNOWN.clear()
            _KNOWN[key] = one
        out[pos] = one
    return out


def compared(
    pos: int,
    row: tuple[str, str, int | None, str, str, str],
    people: Collection[tuple[str, str]],
    named: frozenset[tuple[str, str]],
) -> Compared:
    """Build the comparison of a row (id, title_key, year, venue, record, title), its authors and identifiers.

    Authors are (whole name, family name), folded.
    """
    paper_id, title, year, venue, record, printed = row
    page = ""
    if '"pages"' in record:
        found = _PAGE.match(shared_text(json.loads(record).get("metadata", {}), "pages").strip())
        page = found[0].lower().lstrip("0") if found else ""
    venue = normalise_title(venue[:_LONGEST_VENUE])
    families = frozenset(family for _, family in people)
    names = frozenset(word for name, _ in people for word in name.split() if len(word) > 1)
    return Compared(
        pos, paper_id, title, year, families, named, venue, page, _signs(printed[:_LONGEST_SIGNED]), names
    )


def compare(one: Compared, other: Compared) -> Verdict | None:
    """Compare two records; None if nothing suggests that they are one work."""
    both = one.named & other.named
    for scheme in _SURE_SCHEMES if both else ():
        if (shared := {value for kind, value in both if kind == scheme}) and _people(one, other) != "other":
            why = f"same {_SPELLED[scheme]} {min(shared)}"
            elsewhere = one.title != other.title and _elsewhere(one, other)
            if scheme != "arxiv" and (_apart_by_doi(one, other) or elsewhere):
                return Verdict("look", f"{why}, but other DOIs, or other titles and pages")
            return Verdict("one", why)
    if shared := {value for kind, value in both if kind == "doi"}:
        alike = not one.title or not other.title or _share(one.title, other.title) >= _ALIKE
        if alike or (one.page and one.page == other.page and _people(one, other) == "same"):
            return Verdict("one", f"same DOI {min(shared)}")
        return Verdict("look", f"same DOI {min(shared)}, but other titles")
    if one.title and one.title == other.title:
        return _same_title(one, other)
    return None


_SPELLED = {"arxiv": "arXiv id", "pmid": "PMID", "pmcid": "PMCID"}


def _same_title(one: Compared, other: Compared) -> Verdict | None:
    """The verdict on two records of one title that share no identifier."""
    people, apart, words = _people(one, other), _apart(one, other), one.words
    if people == "other":
        turned = apart == 0 and words >= _SHORT and (_turned(one, other) or _turned(other, one))
        return Verdict("look", "same title and year, names in another order") if turned else None
    if _other_signs(one, other):
        return Verdict("look", "titles that differ in a sign only")
    elsewhere = _elsewhere(one, other)
    if words < _SHORT:
        if people != "same" or apart != 0 or one.families != other.families:
            return None
        sure = one.page and one.page == other.page and one.venue == other.venue
        why = "same title, authors, year, journal and page" if sure else "same short title, authors and year"
        return Verdict("one" if sure else "look", why)
    if apart is not None and apart > _YEARS_APART:
        return Verdict("look", f"same title and authors, {apart} years apart") if people == "same" else None
    if _apart_by_doi(one, other):
        return Verdict("look", "same title, other DOIs")
    if people == "same":
        if words < _PLAIN and (elsewhere or (apart is None and one.families != other.families)):
            return Verdict("look", "same title, shared authors; other pages or no year")
        return Verdict("one", "same title, authors" + (" and year" if apart == 0 else ""))
    venues = not one.venue or not other.venue or one.venue == other.venue
    told = apart == 0 or bool(one.families or other.families)  # passages of a page share its title alone
    if words >= _PLAIN and told and not apart and venues and not elsewhere:
        return Verdict("one", "same title" + (" and year" if apart == 0 else "") + ", no other authors")
    return Verdict("look", "same title; no authors to compare") if not apart else None


def contradict(one: Compared, other: Compared) -> bool:
    """True if two records cannot be one work, even if a third record may be a version of both."""
    if _people(one, other) == "other" or (one.title == other.title and _other_signs(one, other)):
        verdict = compare(one, other)
        return verdict is None or verdict.kind != "one"
    return _apart_by_doi(one, other)


def near(one: Compared, other: Compared) -> Verdict | None:
    """Compare two records with different titles and no shared identifier; ``look`` if similar, else None."""
    if not one.title or not other.title or _people(one, other) == "other":
        return None
    if (apart := _apart(one, other)) is not None and apart > 1:
        return None
    if one.title.replace(" ", "") == other.title.replace(" ", ""):
        return Verdict("look", "same title but for spaces")
    if min(one.words, other.words) < _SHORT or _numbers(one.title) != _numbers(other.title):
        return None  # parts of a series differ in their numbers alone
    if _people(one, other) != "same":
        return None
    words, others = set(one.title.split()), set(other.title.split())
    both = len(words & others)
    alike = both / len(words | others) >= _NEAR
    if alike or SequenceMatcher(None, one.title, other.title, autojunk=False).ratio() >= _SPELLED_ALIKE:
        return Verdict("look", "near title, shared authors")
    short, long = sorted((one.title, other.title), key=len)
    if len(short.split()) >= _PLAIN and long.startswith(f"{short} "):
        return Verdict("look", "one title is the beginning of the other, shared authors")
    return None


def _people(one: Compared, other: Compared) -> Literal["same", "other", "unknown"]:
    """Compare the authors: "same" if half of the shorter list, which may end in "et al.", is shared."""
    if not one.families or not other.families:
        return "unknown"
    shorter = min(len(one.families), len(other.families))
    return "same" if 2 * len(one.families & other.families) >= shorter else "other"


def _turned(one: Compared, other: Compared) -> bool:
    """True if half of one's family names are words of the other's names, as in "Wei Li" and "Li, Wei"."""
    return bool(one.families) and 2 * len(one.families & other.names) >= len(one.families)


def _apart(one: Compared, other: Compared) -> int | None:
    return abs(one.year - other.year) if one.year and other.year else None


def _share(one: str, other: str) -> float:
    """Share of the words of the shorter title that the other one has."""
    words, others = set(one.split()), set(other.split())
    return len(words & others) / max(1, min(len(words), len(others)))


def _elsewhere(one: Compared, other: Compared) -> bool:
    """True if both state a first page, and another one."""
    return bool(one.page and other.page and one.page != other.page)


def _apart_by_doi(one: Compared, other: Compared) -> bool:
    """True if both have DOIs and share none, as two publications do; False if one is a DOI of a preprint."""
    mine, theirs = one.values("doi"), other.values("doi")
    if not mine or not theirs or mine & theirs or any(map(is_preprint_doi, mine | theirs)):
        return False
    return not {_VERSION.sub("", doi) for doi in mine} & {_VERSION.sub("", doi) for doi in theirs}


@lru_cache(256)  # a record is compared with up to 50 others, mostly the same ones
def _signs(printed: str) -> tuple[str, ...]:
    """Signs before, between and behind the words of a title: as many for all titles of the same words."""
    text = unicodedata.normalize("NFKC", printed)[:_LONGEST_SIGNED]
    between = _WORD.split(text) if _SIGN.search(text) else []
    return tuple(_DASHES.sub("-", "".join(_SIGN.findall(one))) for one in between)


def _other_signs(one: Compared, other: Compared) -> bool:
    """True if titles with the same words have different signs in one place: C++ and C#, (+)- and (-)-.

    A sign that only one of them has does not count: the other may have lost it in an export.
    """
    if len(one.signs) != len(other.signs):
        return False
    return any(a and b and a != b for a, b in zip(one.signs, other.signs, strict=True))


def _numbers(title: str) -> set[str]:
    """Words of a title that number a part: digits and Roman numerals."""
    return {word for word in title.split() if word.isdigit() or word in _ROMAN}


_ROMAN = frozenset("i ii iii iv v vi vii viii ix x".split())


def leading(store: CheckedLibrary) -> set[str]:
    """Ids of the papers that the user chose to lead the records of their work."""
    if store.format < MARKED:
        return set()
    store.checksums.check_all("pairs")
    return {row[0] for row in store.fetch("SELECT leads FROM pairs WHERE same AND leads != ''")}


_PREPRINT_VENUES = ("arxiv", "biorxiv", "medrxiv", "corr", "ssrn", "preprint")


def ordered_versions(papers: Iterable[Paper], leads: Collection[str] = ()) -> list[Paper]:
    """Records of one work, the best first: the user's choice, then published ones, then the most complete.

    Args:
        papers: the records.
        leads: ids of papers that the user chose to lead.
    """
    return sorted(papers, key=lambda paper: (paper.id not in leads, not _published(paper), -_complete(paper)))


def merged_record(versions: Sequence[Paper]) -> Paper:
    """The first record, with the fields that only the others have and the identifiers of all.

    Where two records have different identifiers of one scheme, the better record's is kept and the others are
    under ``other_identifiers`` of the metadata; ids of the other records are under ``merged_ids``.

    Args:
        versions: records of one work, the best first.

    >>> one = Paper("a", "Owls", identifiers={"doi": "10.1/a"})
    >>> merged_record([one, Paper("b", "Owls", "They hunt.", identifiers={"arxiv": "2101.00001"})]).abstract
    'They hunt.'
    """
    best, *others = versions
    if not others:
        return best
    metadata = dict(best.metadata)
    named = dict(best.identifiers)
    further: dict[str, list[str]] = {}
    for paper in others:
        for name in SHARED:
            if not metadata.get(name) and paper.metadata.get(name):
                metadata[name] = paper.metadata[name]
        for scheme, value in paper.identifiers.items():
            held = named.setdefault(scheme, value)
            same = held == value or normalise(scheme, value) == normalise(scheme, held)
            if not same and value not in further.setdefault(scheme, []):
                further[scheme].append(value)
    if further:
        metadata["other_identifiers"] = further
    metadata["merged_ids"] = [paper.id for paper in others]
    filled: dict[str, Any] = {
        name: value
        for name in ("title", "authors", "year", "venue", "url", "language", "sections", "references")
        if not getattr(best, name) and (value := _first(others, name))
    }
    told = next((paper for paper in versions if paper.abstract.strip()), best)
    if told is not best:
        filled |= {"abstract": told.abstract, "sentences": told.sentences}
    return replace(best, identifiers=named, metadata=metadata, **filled)


def _first(papers: Iterable[Paper], name: str) -> Any:
    return next((value for paper in papers if (value := getattr(paper, name))), None)


def _published(paper: Paper) -> bool:
    """True if the paper is published: it has a venue or DOI, and neither is that of a preprint server."""
    doi, venue = paper.identifiers.get("doi", "").lower(), paper.venue.casefold()
    preprint = is_preprint_doi(doi) or any(name in venue for name in _PREPRINT_VENUES)
    return bool(doi or venue) and not preprint


def _complete(paper: Paper) -> int:
    """The number of non-empty parts of the record."""
    fields = (paper.title, paper.abstract.strip(), paper.authors, paper.year, paper.venue, paper.identifiers)
    return sum(map(bool, (*fields, paper.has_full_text, *(paper.metadata.get(name) for name in SHARED))))


MOST_ALIKE = 50  # papers of one title, one identifier or one group that a new one is compared with
_Part: TypeAlias = tuple[Literal["pos", "version_group"], int]  # a paper in no group, or a whole group


def version_keys(db: sqlite3.Connection, pos: int) -> tuple[Any, ...]:
    """Everything of the paper at ``pos`` that decides on its versions and on the citations of it."""
    return tuple(compared_at(db, [pos])[pos])


def group_versions(db: sqlite3.Connection, pos: int) -> None:
    """Put the paper at ``pos``, which is new, into the group of its other versions, if the library holds any.

    See :mod:`~aspectra.papers.library.links.versions` for the rules. What the user merged or split goes
    first: two papers that were split never share a group, whatever a third one is a version of.
    """
    merged, apart = _said(db, pos)
    others = _twins(db, pos) - merged - apart
    if not others and not merged:
        return
    members = {_part(db, pos)}
    for other in (*sorted(merged), *sorted(others)):
        part = _part(db, other)
        if part in members or _kept_apart(db, members, {part}):
            continue
        if other in merged or not _contradicted(db, members, {part}):
            members.add(part)
    if len(members) == 1:
        return
    # Never a number in use: the paper that a group was once named after may have left it.
    free = "SELECT coalesce(max(version_group), 0) + 1 FROM papers WHERE version_group IS NOT NULL"
    held = [number for column, number in members if column == "version_group"]
    number = min(held) if held else db.execute(free).fetchone()[0]
    for column, value in sorted(members - {("version_group", number)}):
        _set_group(db, number, f"{column} = ?2", value)


def ungroup(db: sqlite3.Connection, groups: Iterable[int | None]) -> set[int]:
    """Dissolve groups of which a paper changed or leaves; returns the positions to :func:`regroup`."""
    members = set[int]()
    for group in set(groups) - {None}:
        members |= {r[0] for r in db.execute("SELECT pos FROM papers WHERE version_group = ?", (group,))}
        _set_group(db, None, "version_group = ?2", group)
    return members


def _set_group(db: sqlite3.Connection, group: int | None, where: str, *values: int | None) -> None:
    """Put papers into a group, or out of any; ``values`` are ``?2`` and so on of ``where``."""
    statement = f"UPDATE papers SET version_group = ?1, checksum = {REGROUPED} WHERE {where}"
    db.execute(statement, (group, *values))


def regroup(db: sqlite3.Connection, positions: Iterable[int]) -> None:
    """Group the papers at these positions anew."""
    for pos in sorted(positions):
        group_versions(db, pos)


def regroup_ids(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Group these papers anew, and all that share a group with them: what the user said of them changed."""
    found = "SELECT pos, version_group FROM papers WHERE id = ?"
    held = dict(row for one in ids for row in db.execute(found, (one,)))
    regroup(db, held.keys() | ungroup(db, held.values()))


def regroup_all(db: sqlite3.Connection) -> None:
    """Group all papers anew."""
    _set_group(db, None, "version_group IS NOT NULL")
    regroup(db, [pos for (pos,) in db.execute("SELECT pos FROM papers")])


def _twins(db: sqlite3.Connection, pos: int) -> set[int]:
    """Positions of the papers that are surely the same work as one paper."""
    rows = db.execute(
        "SELECT o.pos FROM identifiers i JOIN identifiers o USING (scheme, value) WHERE i.pos = ?1 "
        "AND i.scheme IN ('doi', 'arxiv', 'pmid', 'pmcid') AND o.pos != ?1 LIMIT ?2",
        (pos, MOST_ALIKE),
    )
    near = {row[0] for row in rows}
    rows = db.execute(
        "SELECT o.pos FROM papers p JOIN papers o USING (title_key) "
        "WHERE p.pos = ?1 AND p.title_key != '' AND o.pos != ?1 LIMIT ?2",
        (pos, MOST_ALIKE),
    )
    near |= {row[0] for row in rows}
    if not near:
        return near
    held: dict[int, Compared] = compared_at(db, (pos, *sorted(near)))
    verdicts = ((other, compare(held[pos], held[other])) for other in near)
    return {other for other, verdict in verdicts if verdict is not None and verdict.kind == "one"}


def _part(db: sqlite3.Connection, pos: int) -> _Part:
    """The group of the paper at ``pos``, or the paper alone."""
    (group,) = db.execute("SELECT version_group FROM papers WHERE pos = ?", (pos,)).fetchone()
    return ("pos", pos) if group is None else ("version_group", group)


def _positions(db: sqlite3.Connection, parts: set[_Part], most: int = -1) -> list[int]:
    """Positions of the papers of some parts, at most so many; -1 for all."""
    rows = (
        db.execute(f"SELECT pos FROM papers WHERE {column} = ? ORDER BY pos LIMIT ?", (value, most))
        for column, value in sorted(parts)
    )
    return [pos for (pos,) in islice(chain.from_iterable(rows), None if most < 0 else most)]


def _said(db: sqlite3.Connection, pos: int) -> tuple[set[int], set[int]]:
    """Positions of the papers that the user merged with one paper, and of those split from it."""
    merged, apart = set[int](), set[int]()
    rows = db.execute(
        "SELECT p.pos, x.same FROM papers own JOIN pairs x ON x.one = own.id JOIN papers p ON p.id = x.other "
        "WHERE own.pos = ?1 UNION ALL "
        "SELECT p.pos, x.same FROM papers own JOIN pairs x ON x.other = own.id JOIN papers p ON p.id = x.one "
        "WHERE own.pos = ?1",
        (pos,),
    )
    for other, same in rows:
        (merged if same else apart).add(other)
    return merged, apart


def _contradicted(db: sqlite3.Connection, parts: set[_Part], others: set[_Part]) -> bool:
    """True if a record of one set contradicts a record of the other set, see :func:`contradict`.

    Records that the user merged with others are skipped: they may differ in everything. Of a large set,
    such as the passages of one title, the first :data:`MOST_ALIKE` records are compared.
    """
    sides = [_positions(db, side, MOST_ALIKE) for side in (parts, others)]
    if len(sides[0]) == len(sides[1]) == 1:
        return False  # these two were compared
    mine, theirs = (compared_at(db, (pos for pos in side if not _said(db, pos)[0])) for side in sides)
    return any(contradict(one, other) for one in mine.values() for other in theirs.values())


def _kept_apart(db: sqlite3.Connection, parts: set[_Part], others: set[_Part]) -> bool:
    """True if a paper of one set was split from one of the other set."""

    def size(side: set[_Part]) -> int:
        counts = (f"SELECT count(*) FROM papers WHERE {column} = {value}" for column, value in side)
        return sum(db.execute(count).fetchone()[0] for count in counts)

    few, many = sorted((parts, others), key=size)
    return any(_part(db, other) in many for pos in _positions(db, few) for other in _said(db, pos)[1])
