"""Reads what a searcher says about papers, one by one or as a list; marks in exports."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec import Struct

from aspectra.base.errors import UsageError, check_choice, check_number
from aspectra.base.values import replace
from aspectra.papers.bibliography import shared_list, shared_text
from aspectra.papers.library.marks.values import (
    DECISIONS,
    KEPT_STEPS,
    Action,
    Decision,
    Edit,
    Item,
    Note,
    Origin,
    stored_edit,
)
from aspectra.papers.library.row_sums import MARKED, CheckedLibrary, damaged
from aspectra.papers.library.rows import BLANK
from aspectra.papers.paper import Paper
from aspectra.papers.sources.tables.columns import screening_of
from aspectra.papers.text.cleaning import one_line

_LISTED = "(SELECT value FROM json_each(?))"  # the values of one JSON array
_NOTE = "text, quote, kind, page, colour, source, key, created, modified, id"


class MarkedLibrary(CheckedLibrary, Protocol):
    """A library that can be read; what is needed of :class:`~aspectra.papers.library.store.Store`."""

    def meta(self, key: str, default: str = "") -> str: ...

    def snapshot(self) -> AbstractContextManager[None]: ...

    def versions(self, ids: Iterable[str]) -> dict[str, list[str]]: ...


class Marks:
    """The searcher's marks on the papers of a library; empty in libraries of older formats.

    Each row is checked against its checksum before it is returned, so every method raises LibraryCorrupt
    if a row is not as it was written. Ids that are not in the library have no marks.

    Args:
        store: the library.
    """

    def __init__(self, store: MarkedLibrary) -> None:
        self._store = store

    @property
    def revision(self) -> int:
        """Counts changes of marks."""
        return int(self._store.meta("marks_revision", "0"))

    @property
    def notes_revision(self) -> int:
        """Counts changes of notes."""
        return int(self._store.meta("notes_revision", "0"))

    def tags(self, papers: Iterable[str] | None = None) -> dict[str, list[str]]:
        """Id -> tags in alphabetical order, each once, for papers that have any; of all papers where None."""
        out: dict[str, list[str]] = {}
        for paper, tag in self._of("tags", "DISTINCT pos, tag", papers, "pos, tag"):
            out.setdefault(paper, []).append(tag)
        return out

    def tags_of(self, source: str, papers: Iterable[str]) -> dict[str, list[str]]:
        """Id -> the tags that one source holds of some papers, in alphabetical order."""
        out: dict[str, list[str]] = {}
        for paper, tag, held in self._of("tags", "pos, tag, source", papers, "pos, tag"):
            if held == source:
                out.setdefault(paper, []).append(tag)
        return out

    def tag_counts(self) -> Counter[str]:
        """Tag -> how many papers have it, in alphabetical order."""
        return Counter(sorted(tag for tags in self.tags().values() for tag in tags))

    def tagged(self, tag: str) -> set[str]:
        """Ids of the papers with a tag, whatever its case."""
        key = tag.strip().casefold()
        return {i for i, tags in self.tags().items() if any(one.casefold() == key for one in tags)}

    def notes(self, papers: Iterable[str] | None = None) -> Iterator[tuple[str, Note]]:
        """(id, note) of all notes, or of those of some papers, by paper and then as they were added."""
        for paper, *row in self._of("notes", f"pos, {_NOTE}", papers, "pos, id"):
            yield paper, Note(*row)

    def notes_of(self, paper: str) -> list[Note]:
        """The notes on one paper, as they were added."""
        return [note for _, note in self.notes([paper])]

    def decisions(self, papers: Iterable[str] | None = None) -> dict[str, Decision]:
        """Id -> the decision that counts: the searcher's own, else the last that a file brought.

        A record without one has the newest of the other records of its work; one taken back has none.
        """
        if papers is None:
            out = self._own_decisions(None)
            works = self._store.versions(out) if out else {}
            pairs = [(other, out[one]) for one, others in works.items() for other in others]
        else:
            wanted = list(papers)
            works = self._store.versions(wanted)
            own = self._own_decisions([*wanted, *(one for others in works.values() for one in others)])
            pairs = [(one, own[other]) for one in works for other in works[one] if other in own]
            out = {one: own[one] for one in wanted if one in own}
        shared: dict[str, Decision] = {}
        for one, decision in pairs:
            if one not in out and (one not in shared or shared[one].at < decision.at):
                shared[one] = decision
        return {one: found for one, found in (out | shared).items() if found.decision}

    def _own_decisions(self, papers: Iterable[str] | None) -> dict[str, Decision]:
        """Id -> the decision on this very record."""
        out: dict[str, Decision] = {}
        for paper, decision in self.all_decisions(papers):
            if not decision.source or paper not in out or out[paper].source:
                out[paper] = decision
        return out

    def all_decisions(self, papers: Iterable[str] | None = None) -> list[tuple[str, Decision]]:
        """(id, decision) of every source, by paper and then by time."""
        columns = "pos, decision, reason, source, at, under"
        rows = self._of("decisions", columns, papers, "pos, at, source")
        return [(paper, Decision(*row)) for paper, *row in rows]

    def reasons(self, decision: str = "") -> Counter[str]:
        """Reason -> for how many papers it was given, most frequent first; of one decision where named."""
        found = Counter(
            one.reason for one in self.decisions().values() if one.reason and decision in ("", one.decision)
        )
        return Counter(dict(found.most_common()))

    def edit(self, paper: str) -> Edit:
        """The searcher's changes to the record of a paper; without fields if there are none."""
        rows = self._of("edits", "pos, given, file, file_hash, at", [paper], "pos")
        return stored_edit(*rows[0][1:]) if rows else Edit()

    def origins(self, papers: Iterable[str]) -> dict[str, list[Origin]]:
        """Id -> where its records were read, by file and number."""
        out: dict[str, list[Origin]] = {}
        columns = "pos, file, number, place, database, source, at"
        for paper, *row in self._of("origins", columns, papers, "pos, file, number"):
            out.setdefault(paper, []).append(Origin(*row))
        return out

    def items(self, system: str, papers: Iterable[str] | None = None) -> dict[Item, str]:
        """Item of another program -> id of the paper."""
        rows = self._of("external", "pos, system, library, key, version", papers, "system, library, key")
        return {Item(*row): paper for paper, *row in rows if row[0] == system}

    def actions(self, limit: int = 10) -> list[Action]:
        """The last steps that can be undone or done again, newest first."""
        if not self._kept:
            return []
        columns = "id, at, verb, what, undone"
        sound = self._store.checksums.sound("actions")
        statement = f"SELECT {columns} FROM actions WHERE {sound} ORDER BY id DESC LIMIT ?"
        rows = self._store.fetch(statement, (limit,))
        return [Action(number, at, verb, what, bool(undone)) for number, at, verb, what, undone in rows]

    @property
    def undoable(self) -> Action | None:
        """The step that is undone next."""
        return next((one for one in self.actions(KEPT_STEPS) if not one.undone), None)

    @property
    def redoable(self) -> Action | None:
        """The step that is done again next: undone steps are the newest."""
        return next((one for one in self.actions(KEPT_STEPS)[::-1] if one.undone), None)

    @property
    def _kept(self) -> bool:
        """True if the library has the tables of marks."""
        return self._store.format >= MARKED

    def _of(self, table: str, columns: str, papers: Iterable[str] | None, order: str) -> list[Any]:
        """Rows of one table, with the paper's id in place of the position, which is the first column."""
        if not self._kept:
            return []
        store = self._store
        sound, whole = store.checksums.sound("papers", "p"), store.checksums.sound(table)
        with store.snapshot():
            wanted: list[Any]
            if papers is None:
                rows = store.fetch(f"SELECT {columns} FROM {table} WHERE {whole} ORDER BY {order}")
                column, wanted = "pos", list({row[0] for row in rows})
            else:
                column, wanted = "id", list(dict.fromkeys(papers))
            found = f"SELECT pos, id FROM papers p WHERE {column} IN {_LISTED} AND {sound}"
            names = dict(store.fetch(found, [json.dumps(wanted)]))
            if papers is not None:
                store.checksums.absent(set(wanted).difference(names.values()))
                where = f"pos IN {_LISTED} AND {whole}"
                statement = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {order}"
                rows = store.fetch(statement, [json.dumps(list(names))])
            elif len(names) < len(wanted):
                raise damaged("the table papers")
        return [(names[pos], *row) for pos, *row in rows]


ORDERS = {
    "added": "pos DESC",
    "year": "coalesce(year, -10000) DESC, pos DESC",
    "title": "title_key = '', title_key, pos",
    "decided": "coalesce((SELECT max(at) FROM decisions d WHERE d.pos = papers.pos), '') DESC, pos DESC",
}
_YEARS = re.compile(r"(\d{1,4})?(-)?(\d{1,4})?", re.ASCII)
_DAY = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?", re.ASCII)
_MOST = 1_000_000_000


class Wanted(Struct, frozen=True):
    """Conditions, order and page of a list of papers.

    Attributes:
        tags: papers have all of these.
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


class Listing(Struct, frozen=True):
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
        UsageError: a condition is not valid, or the page does not exist.
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


# Marks in exports: tags as keywords; decisions, reasons and notes as other programs read them.
#
# In notes (RIS ``N1``, CSL-JSON ``note``, BibTeX ``annote``), a decision is written as ASReview writes it
# (``ASReview_relevant``, ``ASReview_irrelevant``), and as Rayyan does, with the reason. In our own format and
# in tables it has a field of its own: ``screening``.

_PLAIN = ("jsonl", "csv")  # formats that have fields of their own
_ASREVIEW = {"include": "ASReview_relevant", "exclude": "ASReview_irrelevant"}
_RAYYAN = {"include": "Included", "exclude": "Excluded", "maybe": "Maybe"}
_OLD_LABEL = re.compile(
    r"\bASReview_(?:relevant|irrelevant)\b"
    r'|RAYYAN-INCLUSION: \{"Aspectra"=>"\w+"\}(?: \| RAYYAN-EXCLUSION-REASONS: [^|\n]*)?'
)
_LABEL = re.compile(r"\bASReview_(relevant|irrelevant)\b")


def stated_decision(paper: Paper, file: str) -> Decision | None:
    """The decision that a record brings: its field ``screening``, or a label in its notes; None without one.

    Args:
        paper: as its source read it.
        file: that it was read from.
    """
    found: Any = paper.metadata.get("screening")
    note = shared_text(paper.metadata, "note")
    if not found and "RAYYAN-INCLUSION" in note:
        found = screening_of("", notes=note)
    if not found and (labels := set(_LABEL.findall(note))):
        found = {"decision": "maybe"} if len(labels) > 1 else {"decision": _decision(labels.pop())}
    if not isinstance(found, Mapping) or found.get("decision") not in DECISIONS:
        return None
    return Decision(str(found["decision"]), one_line(found.get("reason", "")), source=file)


def part_marks(paper: Paper) -> tuple[Paper, list[str], list[str]]:
    """The paper without the tags and notes that an export of ours put into its metadata, and these."""
    found: Any = paper.metadata.get("marks")
    if not isinstance(found, Mapping) or not found or set(found) - {"tags", "notes"}:
        return paper, [], []
    rest = {name: value for name, value in paper.metadata.items() if name != "marks"}
    return replace(paper, metadata=rest), shared_list(found, "tags"), shared_list(found, "notes")


def _decision(label: str) -> str:
    return "include" if label == "relevant" else "exclude"


def with_marks(library: MarkedLibrary, papers: Iterable[Paper], form: str, *, works: bool) -> Iterator[Paper]:
    """The papers with their marks, as a format carries them; those without marks as they are. Streaming.

    Args:
        library: that holds them.
        papers: of it.
        form: name of a writer.
        works: a paper stands for all records of its work, and has the marks of all of them.
    """
    marks = Marks(library)
    tags, decided = marks.tags(), marks.decisions()
    notes: dict[str, list[Note]] = defaultdict(list)
    for paper_id, note in marks.notes():
        notes[paper_id].append(note)
    marked = {*tags, *decided, *notes}
    members = _members(library) if works and marked else {}
    for paper in papers:
        ids = [one for one in members.get(paper.id, (paper.id,)) if one in marked]
        if not ids:
            yield paper
            continue
        words = list(dict.fromkeys(tag for one in ids for tag in tags.get(one, ())))
        newest = max((decided[one] for one in ids if one in decided), key=lambda d: d.at, default=None)
        texts = [note.line for one in ids for note in notes.get(one, ())]
        yield _carrying(paper, words, texts, newest, plain=form in _PLAIN)


def _members(library: MarkedLibrary) -> dict[str, list[str]]:
    """Id -> ids of all records of its work, itself first."""
    groups: dict[int, list[str]] = defaultdict(list)
    for one, group in library.fetch("SELECT id, version_group FROM papers WHERE version_group IS NOT NULL"):
        groups[group].append(one)
    return {one: [one, *(i for i in ids if i != one)] for ids in groups.values() for one in ids}


def _carrying(
    paper: Paper, tags: list[str], notes: list[str], decision: Decision | None, *, plain: bool
) -> Paper:
    more: dict[str, Any] = {}
    if decision is not None:
        screening = {"decision": decision.decision, "reason": decision.reason}
        more["screening"] = {name: value for name, value in screening.items() if value}
    if plain:
        marks = {name: value for name, value in (("tags", tags), ("notes", notes)) if value}
        more |= {"marks": marks} if marks else {}
        return replace(paper, metadata={**paper.metadata, **more})
    keywords = shared_list(paper.metadata, "keywords")
    if new := [tag for tag in tags if tag not in keywords]:
        more["keywords"] = [*keywords, *new]
    if decision is not None:  # one label a record: what the file said before goes
        paper = replace(paper, metadata=_without_labels(paper.metadata))
    known = shared_text(paper.metadata, "note")
    if lines := [line for line in (*_labels(decision), *notes) if line not in known]:
        more["note"] = "\n".join([*([known] if known else []), *lines])
        more["annote"] = "\n".join(lines)
    return replace(paper, metadata={**paper.metadata, **more})


def _without_labels(value: Any) -> Any:
    """The metadata without labels of decisions, also in the fields of a format as they were."""
    if isinstance(value, str):
        return _OLD_LABEL.sub("", value).strip() if _OLD_LABEL.search(value) else value
    if isinstance(value, Mapping):
        return {name: _without_labels(one) for name, one in value.items()}
    if isinstance(value, list):
        pairs = [(one, _without_labels(one)) for one in value]
        return [
            new for old, new in pairs if new == old or (new[-1:] if isinstance(new, list) else [new]) != [""]
        ]
    return value


def _labels(decision: Decision | None) -> list[str]:
    """A decision in the words of the programs for screening, one line each."""
    if decision is None:
        return []
    label = _ASREVIEW.get(decision.decision)
    rayyan = f'RAYYAN-INCLUSION: {{"Aspectra"=>"{_RAYYAN[decision.decision]}"}}'
    if decision.reason and decision.decision == "exclude":
        rayyan += f" | RAYYAN-EXCLUSION-REASONS: {decision.reason.replace('|', '/')}"
    return [*([label] if label else []), rayyan]
