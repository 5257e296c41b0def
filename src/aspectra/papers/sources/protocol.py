"""The protocol of a source: something that reads papers out of a file, one at a time.

To add a source, write one module in ``papers/sources`` that registers an object with the members of
:class:`Source`: ``SOURCES.register("name")(...)``. Nothing else names it; a third party names the module in
an entry point of the group ``aspectra.source``. JSON, tagged and XML formats have a base class
(:class:`~aspectra.papers.sources.json.records.JsonFormat`,
:class:`~aspectra.papers.sources.tagged.records.TaggedFormat`,
:class:`~aspectra.papers.sources.xml.elements.XmlFormat`). ``tests/unit/papers/test_source_conformance.py``
tests every member.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from aspectra.base.decompression import Bounds
from aspectra.base.registry import Registry
from aspectra.papers.paper import Paper
from aspectra.papers.paper import Remark as Remark

if TYPE_CHECKING:
    from aspectra.papers.sources.files import InputFile


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Limits that every source follows.

    Attributes:
        max_text_chars: longest abstract or section kept; a longer one is cut and remarked.
        pdf_seconds: wall-clock limit for one PDF, in seconds.
        pdf_pages: most pages read from one PDF.
        pdf_memory_mb: address-space limit of the PDF child process, in MiB.
        unpacked_mb: most that one compressed file may expand to, in MiB.
        unpacked_ratio: most that it may expand, in bytes a byte, once it has given 16 MiB.
        markup: whether entities and tags in titles, names, venues and abstracts are undone.
    """

    max_text_chars: int = 2_000_000
    pdf_seconds: float = 30.0
    pdf_pages: int = 400
    pdf_memory_mb: int = 1024
    unpacked_mb: int = 16_384
    unpacked_ratio: int = 100
    markup: bool = True

    @property
    def bounds(self) -> Bounds:
        """The limits of decompression."""
        return Bounds(size=self.unpacked_mb << 20, ratio=self.unpacked_ratio)


class Source(Protocol):
    """A reader of one format.

    Attributes:
        name: what ``aspectra add --as`` takes.
        description: one line for help and docs: what is read, and what becomes of its peculiarities.
        endings: usual endings of file names, with the dot and in lower case; () for none.
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def endings(self) -> tuple[str, ...]: ...

    def sniff(self, path: Path, head: bytes) -> float:
        """Confidence that this source can read the file, 0 (no) to 1 (certain).

        Args:
            path: the file; its name may be a hint, but content decides.
            head: see :attr:`InputFile.head`.
        """
        ...

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers and remarks in file order, streaming; one bad record never stops the rest.

        Two papers may have the same id: :func:`~aspectra.papers.sources.detection.read_papers` renames one.

        Raises:
            BadInput: nothing in the file can be read.
        """
        ...


SOURCES: Registry[Source] = Registry("source", __package__)
