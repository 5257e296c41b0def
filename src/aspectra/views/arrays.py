"""Arrays of a generation: plain ``.npy``, memory-mapped, never pickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import LibraryCorrupt

__all__ = ["load_array", "new_array"]


def load_array(path: Path) -> NDArray[Any]:
    """The array in a file, memory-mapped and read-only.

    Raises:
        LibraryCorrupt: it is missing or damaged.
    """
    try:
        # A plain array over the map: the memmap class costs time at every operation.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise LibraryCorrupt(
            f"{path.name} of the index cannot be read", why=str(error), hint="aspectra index --rebuild"
        ) from error


def new_array(path: Path, shape: tuple[int, ...], dtype: type) -> Any:
    """A writable array of zeros in a new file, memory-mapped where it is not empty."""
    if 0 in shape:
        empty: Any = np.zeros(shape, dtype)
        np.save(path, empty, allow_pickle=False)
        return empty
    return np.lib.format.open_memmap(path, "w+", dtype=dtype, shape=shape)
