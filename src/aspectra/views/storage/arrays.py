"""Files of a generation: plain ``.npy`` and JSON, checked when the generation is opened.

A reader gets them through a :class:`~aspectra.views.storage.folder.StoredFolder`. Large arrays stay on the
disk, memory-mapped.
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
from aspectra.papers.library.generations.folders import damaged

_MAPPED = 1 << 20  # smaller files are read: a map costs a descriptor
_HEADER = 4096  # no header of these arrays is longer


class StoredFile:
    """The bytes of one file.

    Args:
        path: of the file.

    Raises:
        LibraryCorrupt: it is missing.
        AspectraError: too many files are open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as stream:
                if stream.seek(0, io.SEEK_END) < _MAPPED:
                    stream.seek(0)
                    self.content = memoryview(stream.read())
                else:
                    self.content = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            raise self.error(error) from error

    def error(self, why: Exception | str) -> AspectraError:
        """The error that names this file."""
        return damaged(f"{self._path.parent.name}/{self._path.name} of the index cannot be read", why)

    def close(self) -> None:
        """Release the file, which is closed at once unless arrays made of it are still in use.

        A map is never closed by hand: numpy does not keep it from being closed under an array, and reading
        that array would end the process. It goes with the last array that refers to it.
        """
        self.content = memoryview(b"")


class StoredArray:
    """An array of a generation.

    ``array[row]``, ``array[low:high]`` and ``array[rows]`` read rows, :meth:`whole` gives all; what they
    give are ordinary arrays. Safe to use from several threads.

    Args:
        file: that holds it.

    Raises:
        LibraryCorrupt: the file is not an array.
    """

    def __init__(self, file: StoredFile) -> None:
        self._file = file
        try:
            head = io.BytesIO(file.content[:_HEADER])
            version = npy.read_magic(head)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(head)
            wanted = head.tell() + dtype.itemsize * math.prod(shape)
            if fortran or dtype.hasobject or wanted != len(file.content):
                raise ValueError(f"its header says {wanted:,} bytes, it has {len(file.content):,}")
            self._array: NDArray[Any] | None = np.ndarray(shape, dtype, file.content, head.tell())
        except (ValueError, TypeError, SyntaxError, EOFError) as error:
            raise file.error(error) from error
        self.shape: tuple[int, ...] = shape
        self.dtype: np.dtype[Any] = dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Rows by number, by slice, or by an array of numbers; of a slice without a copy."""
        return self.whole()[rows]

    def whole(self) -> NDArray[Any]:
        """All of it, without a copy."""
        if self._array is None:
            raise closed()
        return self._array

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
