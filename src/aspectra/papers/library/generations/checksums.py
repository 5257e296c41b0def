"""Checksums of a generation's files, by block, so that a reader can verify what it reads and no more.

Every file is cut into blocks of :data:`BLOCK` bytes; the sums of all blocks of all files, in the order of
their names, are one small file. The manifest holds the sum of that file, and ``CURRENT`` holds the sum of the
manifest: one changed bit anywhere breaks the chain. The sums are xxh3 (64 bits), which finds damage and runs
at the speed of memory; they do not withstand somebody who makes a file to match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from xxhash import xxh3_64_digest, xxh3_64_hexdigest

# Sentences of a sample lie all over a large array: larger blocks would verify much that is never read.
BLOCK = 1 << 15
SUM_BYTES = 8
_AT_ONCE = 1 << 20


def checksum(content: bytes) -> str:
    """Sum of a small file: 16 hexadecimal digits."""
    return xxh3_64_hexdigest(content)


def block_sums(stream: BinaryIO, block: int) -> tuple[int, bytes]:
    """Size of a file, and the sums of its blocks, one after the other."""
    size, sums = 0, bytearray()
    step = max(block, _AT_ONCE // block * block)
    while part := stream.read(step):
        size += len(part)
        view = memoryview(part)
        for start in range(0, len(part), block):
            sums += xxh3_64_digest(view[start : start + block])
    return size, bytes(sums)


class FileSums:
    """The sums of one file.

    Args:
        size: of the file in bytes.
        block: bytes that one sum covers.
        sums: 8 bytes for each block.
    """

    def __init__(self, size: int, block: int, sums: bytes) -> None:
        self.size = size
        self.block = block
        self._sums = sums

    def __len__(self) -> int:
        return len(self._sums) // SUM_BYTES

    @property
    def content(self) -> bytes:
        """The sums, as they are stored."""
        return self._sums

    def holds(self, content: memoryview, number: int) -> bool:
        """Whether a block of the content is what was written."""
        part = content[number * self.block : (number + 1) * self.block]
        return xxh3_64_digest(part) == self._sums[number * SUM_BYTES : (number + 1) * SUM_BYTES]

    def changed(self, path: Path) -> bool:
        """Whether any block of a file is not what was written; reads all of it."""
        with path.open("rb") as stream:
            return block_sums(stream, self.block) != (self.size, self._sums)


class Checksums:
    """The sums of all files of a generation.

    Args:
        sizes: name of each file below the generation's folder -> its size in bytes.
        block: bytes that one sum covers.
        sums: of all files, in the order of their names.
    """

    def __init__(self, sizes: Mapping[str, int], block: int, sums: bytes) -> None:
        self.sizes = dict(sorted(sizes.items()))
        self.block = block
        self._sums = sums
        self._first: dict[str, int] = {}
        count = 0
        for name, size in self.sizes.items():
            self._first[name] = count
            count += -(-size // block)
        if count * SUM_BYTES != len(sums):
            raise ValueError(f"{len(sums) // SUM_BYTES:,} sums of {count:,} blocks")

    @classmethod
    def of(
        cls, folder: Path, names: Iterable[str], known: Mapping[str, FileSums] = MappingProxyType({})
    ) -> Checksums:
        """Of files below a folder.

        Args:
            folder: that holds them.
            names: of the files, below the folder.
            known: the sums of some of them, which are not read.
        """
        sizes, sums = {}, bytearray()
        for name in sorted(names):
            if name in known and known[name].block == BLOCK:
                sizes[name], more = known[name].size, known[name].content
            else:
                with (folder / name).open("rb") as stream:
                    sizes[name], more = block_sums(stream, BLOCK)
            sums += more
        return cls(sizes, BLOCK, bytes(sums))

    def __contains__(self, name: str) -> bool:
        return name in self.sizes

    @property
    def content(self) -> bytes:
        """All sums, as they are stored."""
        return self._sums

    def file(self, name: str) -> FileSums:
        """The sums of one file."""
        size, first = self.sizes[name], self._first[name]
        count = -(-size // self.block)
        return FileSums(size, self.block, self._sums[first * SUM_BYTES : (first + count) * SUM_BYTES])
