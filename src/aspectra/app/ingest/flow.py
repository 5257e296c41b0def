"""The flow of records through a review: identified, duplicates removed, screened, excluded, included.

The boxes are those of PRISMA 2020 (Page et al., BMJ 2021;372:n71, figure 1). They count what the library
knows: a record is what ``add`` read; a report or study is a *work*, whatever number of records it has. Each
box is the one before it less what left between them, see :meth:`Flow.problems`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from aspectra.app.terminal.screen import Screen, safe
from aspectra.base.errors import check_choice
from aspectra.papers.export.csv import safe_cell
from aspectra.papers.library.row_sums import MARKED
from aspectra.papers.library.store import Store

_REGISTER = re.compile(
    r"\bregist(?:er|ry|ries)\b|clinicaltrials|\bictrp\b|\bisrctn\b|\bctis\b|\bdrks\b|\banzctr\b|\bchictr\b",
    re.IGNORECASE,
)
# Programs and places that a record was kept in or fetched from one by one: no search of a review. A host name
# ("brill.com", "DOI.org (Crossref)") is the site of one publisher or a resolver.
_NO_DATABASE = re.compile(
    r"(?:zotero|mendeley|endnote|refworks|jabref|citavi|bookends|bibdesk|paperpile|readcube|coins|papers"
    r"|amazon|google books|open library|worldcat|library catalog(?:ue)?|library of congress isbn"
    r"|[\w-]{1,60}(?:\.[\w-]{1,60}){1,5})(?:\s\([^()]{1,60}\))?|.{1,80}\s\(atypon\)",
    re.IGNORECASE,
)
_MOST_ORIGINS = 12  # lines of origins in a diagram and on the screen
# Formats that one database alone writes.
_OF_ONE = {"nbib": "PubMed", "openalex": "OpenAlex", "arxiv": "arXiv", "s2orc": "S2ORC"}
_KINDS = {
    "database": "",
    "register": " (register)",
    "catalogue": " (not a database)",
    "other": " (no database named)",
}
_UNKNOWN = "papers of no known file"
_NO_REASON = "no reason given"


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """Records from one place.

    Attributes:
        kind: ``database``; ``register``; ``catalogue``: a reference manager, a catalogue of a library or
            shop, or a site, that a record names; ``other``: a file that names no database.
        name: of the database, or of the format.
        records: how many were read.
        files: from how many files.
    """

    kind: str
    name: str
    records: int
    files: int


@dataclass(frozen=True, slots=True)
class Flow:
    """Numbers of the boxes.

    Attributes:
        origins: where records came from, the most first in each kind.
        identified: records read.
        removed: of these, whose papers were removed from the library.
        duplicates: of these, further records of a work that another record stands for.
        works: what is left: each is screened once.
        waiting: works without a decision.
        screened: works with one.
        excluded: reason -> works excluded for it, the most first.
        sought: works that were not excluded: their full text is needed.
        full_text: of these, with full text in the library; the others may be had elsewhere.
        undecided: of these, neither included nor excluded: ``maybe``.
        included: of these, included.
    """

    origins: tuple[RecordOrigin, ...]
    identified: int
    removed: int
    duplicates: int
    works: int
    waiting: int
    screened: int
    excluded: Mapping[str, int]
    sought: int
    full_text: int
    undecided: int
    included: int

    def problems(self) -> list[str]:
        """Sums that do not hold; always empty."""
        sums = {
            "identified": (self.identified, sum(one.records for one in self.origins)),
            "works": (self.works, self.identified - self.removed - self.duplicates),
            "screened": (self.screened, self.works - self.waiting),
            "sought": (self.sought, self.screened - sum(self.excluded.values())),
            "included": (self.included, self.sought - self.undecided),
        }
        return [f"{name}: {one} is not {other}" for name, (one, other) in sums.items() if one != other]

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)

    def boxes(self, *, brief: bool = False) -> list[tuple[str, str, int, list[tuple[str, int]]]]:
        """(key, label, number, lines inside) of each box, in the order of the diagram.

        Args:
            brief: the twelve origins with most records, the others as one line.
        """
        inside = [(f"{one.name}{_KINDS[one.kind]}", one.records) for one in self.origins]
        if brief and len(inside) > _MOST_ORIGINS:
            most = set(sorted(inside, key=lambda line: -line[1])[:_MOST_ORIGINS])
            others = [n for name, n in inside if (name, n) not in most]
            inside = [line for line in inside if line in most]
            inside.append((f"and {len(others)} other{'s' if len(others) > 1 else ''}", sum(others)))
        gone = [("further records of one work", self.duplicates), ("removed from the library", self.removed)]
        full = [
            ("full text in the library", self.full_text),
            ("no full text in the library", self.sought - self.full_text),
        ]
        return [
            ("identified", "Records identified", self.identified, inside),
            ("removed", "Records removed before screening", self.duplicates + self.removed, gone),
            ("works", "Works to screen", self.works, []),
            ("screened", "Works screened", self.screened, [("not screened yet", self.waiting)]),
            ("excluded", "Works excluded", sum(self.excluded.values()), [*self.excluded.items()]),
            ("sought", "Reports sought for retrieval", self.sought, full),
            ("undecided", "Works not decided", self.undecided, []),
            ("included", "Works included", self.included, []),
        ]

    def to_mermaid(self) -> str:
        """A flow chart in Mermaid's language, which GitHub, GitLab, Quarto and mermaid.live draw."""
        lines = ["flowchart TD"]
        for key, label, number, inside in self.boxes(brief=True):
            rows = [f"{label} (n = {number})", *(f"{name} (n = {n})" for name, n in inside if n)]
            lines.append(f'    {key}["{"<br/>".join(map(_escaped, rows))}"]')
        main = ("identified", "works", "screened", "sought", "included")
        lines += [f"    {one} --> {other}" for one, other in pairwise(main)]
        beside = (("identified", "removed"), ("screened", "excluded"), ("sought", "undecided"))
        lines += [f"    {one} --> {other}" for one, other in beside]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """One row a number: box, what, n."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("box", "what", "n"))
        for key, label, number, inside in self.boxes():
            writer.writerow((key, label, number))
            writer.writerows((key, safe_cell(name), n) for name, n in inside)
        return out.getvalue()


def _escaped(text: str) -> str:
    """Text inside a Mermaid label: quotes, and what is HTML or a line's end there, as entities."""
    text = " ".join(text.split())
    return "".join(f"#{ord(c)};" if c in '"#<>&`;[]{}|\\' else c for c in text)


def flow_of(store: Store) -> Flow:
    """The numbers of a library, from one snapshot of it."""
    marked = store.format >= MARKED
    with store.snapshot():
        for table in ("papers", "origins", "decisions") if marked else ("papers",):
            store.checksums.check_all(table)
        papers = store.fetch("SELECT pos, coalesce(-version_group, pos), full_hash != '' FROM papers")
        read = store.fetch("SELECT pos, file, database, source FROM origins") if marked else []
        said = store.fetch("SELECT pos, decision, reason, source = '', at FROM decisions") if marked else []
    work_of = {pos: work for pos, work, _ in papers}
    full = {work for _, work, has in papers if has}
    known = {pos for pos, *_ in read}
    nowhere = sum(pos not in known for pos in work_of)
    removed = sum(pos is None for pos, *_ in read)
    identified, works = len(read) + nowhere, len(set(work_of.values()))
    decided: dict[int, tuple[Any, ...]] = {}
    for pos, decision, reason, own, at in said:
        work = work_of[pos]
        decided[work] = max(decided.get(work, ()), (own, at, decision, reason))
    chosen = {work: (row[2], row[3] or _NO_REASON) for work, row in decided.items() if row[2]}
    excluded = Counter(reason for decision, reason in chosen.values() if decision == "exclude")
    sought = {work for work, (decision, _) in chosen.items() if decision != "exclude"}
    included = sum(decision == "include" for decision, _ in chosen.values())
    return Flow(
        _origins(read, nowhere),
        identified,
        removed,
        identified - removed - works,
        works,
        works - len(chosen),
        len(chosen),
        dict(sorted(excluded.items(), key=lambda item: (-item[1], item[0]))),
        len(sought),
        len(sought & full),
        len(sought) - included,
        included,
    )


def _kind(name: str) -> str:
    """The kind of origin that a name of a database stands for."""
    if _REGISTER.search(name):
        return "register"
    return "catalogue" if _NO_DATABASE.fullmatch(name) else "database"


def _origins(read: Iterable[tuple[Any, str, str, str]], nowhere: int) -> tuple[RecordOrigin, ...]:
    """Count the origins of records: databases, registers, catalogues, then others; the largest first."""
    counts: Counter[tuple[str, str]] = Counter()
    files: dict[tuple[str, str], set[str]] = defaultdict(set)
    for _, file, database, source in read:
        name = database or _OF_ONE.get(source, "")
        key = (_kind(name), name) if name else ("other", f"{source} files")
        counts[key] += 1
        files[key].add(file)
    if nowhere:
        counts["other", _UNKNOWN] = nowhere
    kinds = tuple(_KINDS)
    ordered = sorted(counts.items(), key=lambda item: (kinds.index(item[0][0]), -item[1], item[0]))
    return tuple(RecordOrigin(*key, number, len(files.get(key, ()))) for key, number in ordered)


# The flow of records for people, and as Mermaid, CSV or JSON.

_ENDINGS = {".mmd": "mermaid", ".csv": "csv", ".json": "json"}


def write_flow(screen: Screen, flow: Flow, output: Path | None, *, as_json: bool) -> None:
    """Write a flow of records to the screen or a file.

    Args:
        screen: where to.
        flow: the numbers.
        output: a file, whose ending names the format; or None.
        as_json: write JSON.

    Raises:
        UsageError: the ending names no format.
    """
    ending = ".json" if as_json else output.suffix.lower() if output else ""
    if output is not None:
        check_choice(ending, _ENDINGS, "ending of a file for the flow")
    if ending == ".json":
        screen.document("flow", flow.to_dict(), output)
    elif output is not None:
        screen.data(flow.to_mermaid() if ending == ".mmd" else flow.to_csv(), output)
    else:
        _show(screen, flow)
        return
    if output is not None:
        screen.note(f"Wrote the flow of records to {output} ({_ENDINGS[ending]}).")


def _show(screen: Screen, flow: Flow) -> None:
    boxes = flow.boxes(brief=True)
    width = max(len(f"{number:,}") for _, _, number, _ in boxes)
    for _, label, number, inside in boxes:
        screen.line(f"{number:>{width},}  {label}", style="bold")
        for name, part in inside:
            if part:
                screen.line(f"{part:>{width},}  {safe(name, one_line=True)}", indent=4, first="    ")
