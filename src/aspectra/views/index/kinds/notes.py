"""The view of notes and annotations, see :mod:`aspectra.views.lexical.notes`."""

from __future__ import annotations

from aspectra.views.index.generation import Generation
from aspectra.views.index.kinds.protocol import VIEW_KINDS, Other
from aspectra.views.lexical.notes import NotesView
from aspectra.views.protocol import NOTES, ViewFacts


@VIEW_KINDS.register(NOTES)
def open_notes(generation: Generation, facts: ViewFacts, other: Other) -> NotesView:
    """The view, opened; it reads the notes when it is first used."""
    return NotesView(
        facts,
        generation.library,
        lambda: generation.positions,
        generation.id_order,
        generation.lexical,
        generation.seed_text(facts),
    )
