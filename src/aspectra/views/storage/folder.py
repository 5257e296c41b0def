"""The files of a generation, whose arrays may lie in several segments.

A generation is one segment, written in one go, or a base and segments of what came later. Each segment is a
folder of the same kind, and none is changed again. Their rows are read as those of one array, without what
was replaced or removed, in the order of the library's papers.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.papers.library.generations.folders import Checksums, Generations, damaged
from aspectra.views.storage.arrays import StoredArray, StoredFile, closed

WHOLE = "whole/"  # what is written for all segments together


class SegmentedArray(StoredArray):
    """An array whose rows lie in several stored arrays, one after the other, or in another order.

    Reads as one :class:`StoredArray`. :meth:`whole` makes a copy: what computes with every row of a large
    array takes :meth:`StoredArray.over_rows`.

    Args:
        parts: of the same type and width.
        order: (rows,) places of the rows in the parts, counted through; None: all of them, as they lie.
    """

    def __init__(self, parts: Sequence[StoredArray], order: NDArray[np.int64] | None = None) -> None:
        self._parts = list(parts)
        self._order = order
        self._starts = np.cumsum([0, *map(len, parts)])
        rows = int(self._starts[-1]) if order is None else len(order)
        self.shape = (rows, *parts[0].shape[1:])
        self.dtype = parts[0].dtype

    def __getitem__(self, rows: Any) -> Any:
        """As :meth:`StoredArray.__getitem__`; of a slice without a copy where it lies in one part."""
        if isinstance(rows, int | np.integer):
            row = range(len(self))[int(rows)]
            place = row if self._order is None else int(self._order[row])
            part = int(np.searchsorted(self._starts, place, side="right")) - 1
            return self._parts[part][place - int(self._starts[part])]
        if isinstance(rows, slice):
            low, high, step = rows.indices(len(self))
            part = int(np.searchsorted(self._starts, low, side="right")) - 1
            if self._order is None and step == 1 and low < high <= self._starts[part + 1]:
                start = int(self._starts[part])
                return self._parts[part][low - start : high - start]
            rows = np.arange(low, high, step)
        elif isinstance(rows, np.ndarray) and rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        wanted = np.asarray(rows, np.int64) % max(len(self), 1)
        places = wanted if self._order is None else self._order[wanted]
        owners = np.searchsorted(self._starts, places, side="right") - 1
        out = np.empty((*places.shape, *self.shape[1:]), self.dtype)
        for number in np.unique(owners).tolist():
            here = owners == number
            out[here] = self._parts[number][places[here] - self._starts[number]]
        return out

    def whole(self) -> NDArray[Any]:
        """All of it, verified; a copy."""
        return self.over_rows(lambda rows: rows)

    def over_rows(self, compute: Callable[[NDArray[Any]], NDArray[Any]], axis: int = 0) -> NDArray[Any]:
        """See :meth:`StoredArray.over_rows`."""
        parts = [part.over_rows(compute, axis) for part in self._parts]
        out = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)
        return out if self._order is None else np.take(out, self._order, axis=axis)

    def close(self) -> None:
        """Let go of the files."""
        for part in self._parts:
            part.close()


class Layout(Struct, frozen=True):
    """How a generation is made up.

    Attributes:
        segments: the folder of each segment below the generation's, with a slash; the first is the
            generation's own, "".
        whole: folder, with a slash, of files that are written anew for all segments together; "" where there
            is one segment.
        order: (papers,) the stored row of each paper, counted through the segments; None: all, as they lie.
    """

    segments: tuple[str, ...] = ("",)
    whole: str = ""
    order: NDArray[np.int64] | None = None


class StoredFolder:
    """A folder of a generation. Its arrays may lie in several segments, and are read as one.

    Args:
        path: of the generation's folder, or of another one to be taken by itself.
        sums: of the generation's files; None for one that is being built, whose files are taken as they are.
        below: name of the folder below ``path``, with a slash.
        layout: of the generation.
    """

    def __init__(
        self, path: Path, sums: Checksums | None = None, below: str = "", layout: Layout | None = None
    ) -> None:
        self.path = path / below if below else path
        self._root = path
        self._sums = sums
        self._below = below
        self._layout = layout or Layout()
        self._opened: list[StoredArray] = []
        self._closed = threading.Event()

    def _beside(self, below: str, layout: Layout) -> StoredFolder:
        inner = StoredFolder(self._root, self._sums, below, layout)
        inner._opened, inner._closed = self._opened, self._closed
        return inner

    def folder(self, name: str) -> StoredFolder:
        """A folder in it; closed with it."""
        return self._beside(f"{self._below}{name}/", self._layout)

    @property
    def segments(self) -> list[StoredFolder]:
        """The same folder of each segment by itself; closed with it."""
        return [self._beside(one + self._below, Layout()) for one in self._layout.segments]

    @property
    def order(self) -> NDArray[np.int64] | None:
        """See :attr:`Layout.order`."""
        return self._layout.order

    def _there(self, name: str) -> bool:
        return (self._root / name).is_file() if self._sums is None else name in self._sums

    def _name(self, name: str) -> str:
        """Below the generation's folder: the file of all segments, or that of the first."""
        whole = f"{self._layout.whole}{self._below}{name}"
        return whole if self._layout.whole and self._there(whole) else self._below + name

    def __contains__(self, name: str) -> bool:
        return self._there(self._name(name))

    def _file(self, name: str) -> StoredFile:
        if self._closed.is_set():
            raise closed()
        if not self._there(name):
            raise damaged(f"{self._root.name}/{name} of the index cannot be read", "it is missing")
        return StoredFile(self._root / name, None if self._sums is None else self._sums.file(name))

    def array(self, name: str, order: NDArray[np.int64] | EllipsisType | None = ...) -> StoredArray:
        """An array, verified as it is read.

        Args:
            name: of the file, without its ending.
            order: of its rows, as in :class:`SegmentedArray`; ``...`` where they are those of papers.

        Raises:
            LibraryCorrupt: the file is missing or its header is damaged.
        """
        file = f"{name}.npy"
        found = self._name(file)
        if found != self._below + file:
            names, rows = [found], None
        else:
            names = [one + found for one in self._layout.segments]
            rows = self._layout.order if isinstance(order, EllipsisType) else order
        parts = [StoredArray(self._file(one)) for one in names]
        out = parts[0] if len(parts) == 1 and rows is None else SegmentedArray(parts, rows)
        self._opened.append(out)
        return out

    def whole(self, name: str, order: NDArray[np.int64] | EllipsisType | None = ...) -> NDArray[Any]:
        """An array, verified whole: for those that every search reads all of.

        Raises:
            LibraryCorrupt: the file is missing or damaged.
        """
        return self.array(name, order).whole()

    def json(self, name: str) -> Any:
        """The value in a JSON file, verified; of the first segment, where no file is of all.

        Raises:
            LibraryCorrupt: the file is missing or damaged.
        """
        file = self._file(self._name(name))
        try:
            return json.loads(bytes(file.whole()))
        except (ValueError, RecursionError) as error:
            raise file.error(error) from error
        finally:
            file.close()

    def close(self) -> None:
        """Let go of all files that were opened through it and the folders in it."""
        self._closed.set()
        while self._opened:
            self._opened.pop().close()


def open_folder(generations: Generations, path: Path, manifest: dict[str, Any]) -> StoredFolder:
    """The files of a generation, verified as they are read.

    Raises:
        LibraryCorrupt: its checksums, or the order of its papers, are damaged.
    """
    sums = generations.checksums(path, manifest)
    segments = tuple(str(one["folder"]) for one in manifest.get("segments", ()))
    if not segments:
        return StoredFolder(path, sums)
    plain = StoredFolder(path, sums, WHOLE)
    order = plain.whole("order") if "order.npy" in plain else None
    return StoredFolder(path, sums, layout=Layout(segments, WHOLE, order))
