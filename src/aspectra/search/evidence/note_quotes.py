"""Evidence from notes: of each hit the note that matches a probe on notes best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from aspectra.papers.paper import Paper
from aspectra.search.plan import Search
from aspectra.search.ranking import Evidence
from aspectra.views.index.opened import Index
from aspectra.views.protocol import NOTES, ViewFacts

if TYPE_CHECKING:
    from aspectra.papers.library.marks.values import Note
    from aspectra.views.lexical.notes import NotesView


def with_notes(
    index: Index, search: Search, papers: Sequence[Paper], quotes: Sequence[tuple[Evidence, ...] | None]
) -> list[tuple[Evidence, ...] | None]:
    """Each hit's quotes behind the note of it that matches best.

    Of an annotation the marked passage is quoted, and where there is none the comment; of a note its words.

    Args:
        index: the generation searched.
        search: only where it has a probe on notes anything is quoted of them.
        papers: the hits.
        quotes: found for them.
    """
    name = ViewFacts.words_of(NOTES).name
    probes = [probe for probe in search.probes if probe.view == name and probe.weight > 0]
    if not probes:
        return list(quotes)
    view = cast("NotesView", index.view(name))
    found = view.best_notes(view.look_up(probes[0]), [paper.id for paper in papers])
    out: list[tuple[Evidence, ...] | None] = []
    for paper, held in zip(papers, quotes, strict=True):
        if paper.id not in found:
            out.append(held)
            continue
        note, score = found[paper.id]
        quote = note.quote or note.text
        field, heading = f"note:{note.number}", _heading(note)
        out.append((Evidence(quote, field, 0, len(quote), score=score, heading=heading), *(held or ())))
    return out


def _heading(note: Note) -> str:
    page = f", p. {note.page}" if note.page else ""
    return f"your {'annotation' if note.kind == 'annotation' else 'note'}{page}"
