"""The columns of a generation that conditions on records read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

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

    def write(self, folder: Path, full: list[bool]) -> None:
        """Write them into a generation.

        Args:
            folder: of the generation.
            full: whether each paper has full text.
        """
        for name, texts in self._texts.items():
            save_coded(folder, name, texts)
        save_array(folder / "cited_by.npy", np.array(self._cited, np.int32))
        save_array(folder / "full_text.npy", np.array(full, np.bool_))
