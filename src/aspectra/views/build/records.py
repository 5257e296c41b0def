"""The columns of a generation that conditions on records read, and the citations inside the library."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.record_facts import facts_of
from aspectra.views.storage.arrays import save_array
from aspectra.views.storage.columns import save_coded

__all__ = ["RecordColumns"]


class RecordColumns:
    """What the records of papers state, collected one by one in their order and written together."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {
            "publishers": [],
            "affiliations": [],
            "types": [],
            "origins": [],
            "accesses": [],
        }
        self._cited: list[int] = []

    def add(self, paper: Paper) -> None:
        """The next paper."""
        facts = facts_of(paper)
        stated = (
            facts.publisher,
            "\n".join(facts.affiliations),
            "; ".join(facts.types),
            facts.origin,
            facts.access,
        )
        for column, text in zip(self._texts.values(), stated, strict=True):
            column.append(text)
        self._cited.append(-1 if facts.cited_by is None else facts.cited_by)

    def write(self, folder: Path, library: Store, full: list[bool]) -> bool:
        """Write them into a generation; returns whether any of the papers cites another.

        Args:
            folder: of the generation.
            library: whose papers were added, all of them.
            full: whether each paper has full text.
        """
        for name, texts in self._texts.items():
            save_coded(folder, name, texts)
        save_array(folder / "cited_by.npy", np.array(self._cited, np.int32))
        save_array(folder / "full_text.npy", np.array(full, np.bool_))
        return _write_citations(folder, library, len(full))


def _write_citations(folder: Path, library: Store, count: int) -> bool:
    """The citations between papers as rows of targets, and how many references each paper lists."""
    for relation in ("references", "cites"):
        library.checksums.check_all(relation)
    places = np.array([row[0] for row in library.rows("SELECT pos FROM papers ORDER BY pos")], np.int64)
    pairs = np.array(
        [*library.rows("SELECT DISTINCT pos, target FROM citations WHERE target IS NOT NULL ORDER BY 1, 2")],
        np.int64,
    ).reshape(-1, 2)
    listed = np.array(
        [*library.rows("SELECT pos, count(*) FROM citations GROUP BY pos ORDER BY pos")], np.int64
    ).reshape(-1, 2)
    references = np.zeros(count, np.int32)
    references[np.searchsorted(places, listed[:, 0])] = listed[:, 1]
    citing, cited = (np.searchsorted(places, pairs[:, side]) for side in (0, 1))
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(citing, minlength=count), out=offsets[1:])
    save_array(folder / "references.npy", references)
    save_array(folder / "citation_rows.npy", offsets)
    save_array(folder / "citations.npy", cited.astype(np.int32))
    return len(cited) > 0
