"""Files of a generation: plain ``.npy`` and JSON, verified before anything of them is used.

A reader gets whole files, or arrays of which each block is verified when it is first touched, through a
:class:`~aspectra.views.storage.folder.StoredFolder`. Large arrays stay on the disk, memory-mapped.
"""

from __future__ import annotations

import io
import json
import math
import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError
from aspectra.base.files import disk
from aspectra.papers.library.generations.folders import FileSums, damaged

_MAPPED = 1 << 20  # smaller files are read: a map costs a descriptor
_HEADER = 4096  # no header of these arrays is longer


class StoredFile:
    """The bytes of one file, and which of its blocks were verified.

    Args:
        path: of the file.
        sums: what was written; None for one that is being built, whose content is taken as it is.

    Raises:
        LibraryCorrupt: it is missing, or not as long as it was written.
        AspectraError: too many files are open.
    """

    def __init__(self, path: Path, sums: FileSums | None = None) -> None:
        self._path = path
        self._sums = sums
        try:
            with path.open("rb") as stream:
                size = stream.seek(0, io.SEEK_END)
                if sums is not None and size != sums.size:
                    raise self.error(f"it has {size:,} bytes, {sums.size:,} were written")
                stream.seek(0)
                if size < _MAPPED:
                    self.content = memoryview(stream.read())
                else:
                    self.content = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise self.error(error) from error
        # Two threads may verify the same block; both find the same.
        self._flags = bytearray(0 if sums is None else len(sums))
        self._verified = np.frombuffer(self._flags, np.bool_)
        self.complete = not len(self._flags)

    def error(self, why: Exception | str) -> AspectraError:
        """The error that names this file."""
        return damaged(f"{self._path.parent.name}/{self._path.name} of the index cannot be read", why)

    def verify(self, low: int, high: int) -> None:
        """Verify the bytes from ``low`` to ``high``.

        Raises:
            LibraryCorrupt: they are not what was written.
        """
        if not self.complete and self._sums is not None and low < high:
            first, last = low // self._sums.block, -(-high // self._sums.block)
            if self._flags.find(0, first, last) >= 0:  # searched for in the bytes: most calls end here
                self._check(first + np.flatnonzero(~self._verified[first:last]))

    def verify_many(self, lows: NDArray[np.int64], width: int) -> None:
        """Verify ``width`` bytes from each of ``lows`` on; as :meth:`verify`."""
        if self.complete or self._sums is None or not len(lows) or not width:
            return
        block = self._sums.block
        first, last = lows // block, (lows + (width - 1)) // block
        for step in range(int((last - first).max()) + 1):
            touched = np.minimum(first + step, last)
            self._check(np.unique(touched[~self._verified[touched]]))

    def _check(self, blocks: NDArray[np.integer]) -> None:
        if not len(blocks) or self._sums is None:
            return
        for number in blocks.tolist():
            if not self._sums.holds(self.content, number):
                raise self.error(f"block {number:,} has changed since it was written")
            self._flags[number] = 1
        self.complete = self._flags.find(0) < 0

    def whole(self) -> memoryview:
        """All of it, verified."""
        self.verify(0, len(self.content))
        return self.content

    def close(self) -> None:
        """Release the file, which is closed at once unless arrays made of it are still in use.

        A map is never closed by hand: numpy does not keep it from being closed under an array, and reading
        that array would end the process. It goes with the last array that refers to it.
        """
        self.content = memoryview(b"")


class StoredArray:
    """An array of a generation, of which each block is verified when it is first read.

    ``array[row]``, ``array[low:high]`` and ``array[rows]`` read rows, :meth:`whole` reads all; what they
    give are ordinary arrays. Safe to use from several threads.

    Args:
        file: that holds it.

    Raises:
        LibraryCorrupt: the file is not an array, or its header is damaged.
    """

    def __init__(self, file: StoredFile) -> None:
        self._file = file
        try:
            file.verify(0, 1)  # its block holds the whole header, as a rule
            head = io.BytesIO(file.content[:_HEADER])
            version = npy.read_magic(head)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(head)
            self._start = head.tell()
            file.verify(0, self._start)
            wanted = self._start + dtype.itemsize * math.prod(shape)
            if fortran or dtype.hasobject or wanted != len(file.content):
                raise ValueError(f"its header says {wanted:,} bytes, it has {len(file.content):,}")
            self._array: NDArray[Any] | None = np.ndarray(shape, dtype, file.content, self._start)
        except (ValueError, TypeError, SyntaxError, EOFError) as error:
            raise file.error(error) from error
        self.shape: tuple[int, ...] = shape
        self.dtype: np.dtype[Any] = dtype
        self._width = dtype.itemsize * math.prod(shape[1:])
        # Rows; quicker to look up than their blocks. Zeros take memory only where they are touched.
        self._verified = np.zeros(len(self), np.bool_)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def _open(self) -> NDArray[Any]:
        if self._array is None:
            raise closed()
        return self._array

    def __getitem__(self, rows: Any) -> Any:
        """Rows by number, by slice, or by an array of numbers; of a slice without a copy."""
        array = self._open
        if not self._file.complete:
            if isinstance(rows, slice):
                low, high, step = rows.indices(len(self))
                low, high = (low, high) if step > 0 else (high + 1, low + 1)
                self._file.verify(self._start + low * self._width, self._start + high * self._width)
            elif isinstance(rows, np.ndarray) and rows.dtype != np.bool_:
                known = self._verified[rows]
                if not known.all():
                    new = rows[~known] % len(self)
                    self._file.verify_many(self._start + new.astype(np.int64) * self._width, self._width)
                    self._verified[new] = True
            elif isinstance(rows, int | np.integer):
                at_byte = self._start + range(len(self))[int(rows)] * self._width
                self._file.verify(at_byte, at_byte + self._width)
            else:
                self._file.whole()
        return array[rows]

    def whole(self) -> NDArray[Any]:
        """All of it, verified, without a copy."""
        array = self._open
        self._file.whole()
        return array

    def over_rows(self, compute: Callable[[NDArray[Any]], NDArray[Any]], axis: int = 0) -> NDArray[Any]:
        """Result of a function of all rows, computed without a copy of them.

        Args:
            compute: of some rows; each row's result depends on nothing else.
            axis: of the results along which rows lie.
        """
        return compute(self.whole())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The whole array, for numpy's own functions."""
        whole = self.whole()
        return np.array(whole, dtype) if copy else np.asarray(whole, dtype)

    def close(self) -> None:
        """Release the file, see :meth:`StoredFile.close`."""
        self._array = None
        self._file.close()


def closed() -> AspectraError:
    """The error for reading after the generation was closed."""
    return AspectraError("the index was closed", why="the searcher that opened it was closed or refreshed")


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array into a generation being built."""
    with disk().create(path) as stream:
        npy.write_array_header_1_0(stream, npy.header_data_from_array_1_0(np.ascontiguousarray(array)))
        stream.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")


def save_json(path: Path, value: Any) -> None:
    """Write a JSON value into a generation being built."""
    with disk().create(path) as stream:
        stream.write(json.dumps(value, ensure_ascii=False).encode("utf-8"))


def new_array(path: Path, shape: tuple[int, ...], dtype: type) -> Any:
    """A writable array of zeros in a new file, memory-mapped where it is not empty."""
    if 0 in shape:
        empty: Any = np.zeros(shape, dtype)
        save_array(path, empty)
        return empty
    with disk().create(path) as stream:
        npy.write_array_header_1_0(
            stream, {"descr": npy.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
        )
        start = stream.tell()
    disk().reserve(path, start + math.prod(shape) * np.dtype(dtype).itemsize)
    return np.memmap(path, dtype, "r+", start, shape)
