"""Some papers of a library, read as a library of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from aspectra.papers.library.rows import Parts, paper_columns, paper_from_row
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

if TYPE_CHECKING:
    from aspectra.papers.library.derived import Derived


class PartOfStore(Store):
    """The papers at some positions, and what is derived from them. It is closed with the library.

    Args:
        whole: the library.
        positions: of the papers.
    """

    def __init__(self, whole: Store, positions: Iterable[int]) -> None:
        self.__dict__.update(whole.__dict__)
        self.__dict__.pop("derived", None)
        self._whole = whole
        self._positions = sorted(positions)
        # Written out: a value of the statement would be one of every statement that these are a part of.
        self.among = f"pos IN ({','.join(map(str, self._positions))})"

    def __len__(self) -> int:
        return len(self._positions)

    @cached_property
    def derived(self) -> Derived:
        """See :attr:`Store.derived`; of these papers alone."""
        from aspectra.papers.library.derived import Derived

        self._whole.derived  # noqa: B018 - brings a library of an older format to the present one
        return Derived(self.rows, self.fetch, self.checksums, among=f"p.{self.among}")

    def papers(self, parts: Parts = "all") -> Iterator[Paper]:
        """See :meth:`Store.papers`; these alone."""
        columns = paper_columns(parts, checked=self.checksums.kept)
        for row in self.rows(f"SELECT {columns} FROM papers WHERE {self.among} ORDER BY pos"):
            yield paper_from_row(row)

    def close(self) -> None:
        """Nothing: the library is open as long as it is used itself."""


def chosen(library: Store) -> str:
    """SQL that holds for the papers of a library, or of a part of one."""
    return library.among if isinstance(library, PartOfStore) else "1"
