"""Papers that somebody may mean who types a title, or a part of one, or an identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aspectra.papers.paper import normalise_title

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.papers.paper import Paper

_WORDS = 8  # of what was typed
_LONGEST = 300  # characters of it


def suggested_papers(library: Library, typed: str, limit: int = 8) -> list[Paper]:
    """Papers whose title holds all words that were typed, in any order; the last one may be a beginning.

    A paper with exactly this id, identifier or title comes first, then titles that begin so, then short ones.

    Args:
        library: that holds them.
        typed: as far as it is.
        limit: most papers.

    Returns:
        Without full text; [] for less than two letters.
    """
    typed = typed.strip()[:_LONGEST]
    key = normalise_title(typed)
    words = sorted(dict.fromkeys(key.split()), key=len, reverse=True)[:_WORDS]
    found: list[str] = []
    if sum(map(len, words)) > 1:
        # A normalised title is letters, digits and spaces: nothing that LIKE reads as a pattern.
        held = " AND ".join("title_key LIKE ?" for _ in words)
        order = "title_key NOT LIKE ?, length(title_key), pos"
        rows = library.store.fetch(
            f"SELECT id FROM papers WHERE {held} ORDER BY {order} LIMIT ?",
            [*(f"%{word}%" for word in words), f"{key}%", limit],
        )
        found = [str(row[0]) for row in rows]
    called = library.store.called(typed) if typed else []
    if len(called) == 1:
        found.insert(0, called[0])
    return list(library.store.get_many(list(dict.fromkeys(found))[:limit], full=False).values())
