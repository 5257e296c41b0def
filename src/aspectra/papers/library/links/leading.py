"""Which records the user chose to lead their work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from aspectra.papers.library.row_sums import MARKED, RowSums


class _Library(Protocol):
    """What is needed of :class:`~aspectra.papers.library.store.Store`."""

    checksums: RowSums

    @property
    def format(self) -> int: ...

    def fetch(self, statement: str, values: Sequence[Any] = ()) -> list[Any]: ...


def leading(store: _Library) -> set[str]:
    """Ids of the papers that the user chose to lead the records of their work."""
    if store.format < MARKED:
        return set()
    store.checksums.check("pairs")
    return {row[0] for row in store.fetch("SELECT leads FROM pairs WHERE same AND leads != ''")}
