"""Marks in exports: tags as keywords; decisions, reasons and notes as other programs read them.

In notes (RIS ``N1``, CSL-JSON ``note``, BibTeX ``annote``), a decision is written as ASReview writes it
(``ASReview_relevant``, ``ASReview_irrelevant``), and as Rayyan does, with the reason. In our own format and
in tables it has a field of its own: ``screening``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aspectra.base.values import replace
from aspectra.papers.bibliography import shared_list, shared_text
from aspectra.papers.library.marks.reader import MarkedLibrary, Marks
from aspectra.papers.library.marks.values import DECISIONS, Decision, Note
from aspectra.papers.paper import Paper
from aspectra.papers.sources.tables.columns import screening_of
from aspectra.papers.text.cleaning import one_line

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
