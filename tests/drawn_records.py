"""Records of real files, as many of each kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from itertools import islice, zip_longest
from pathlib import Path

from aspectra.base.errors import AspectraError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers

KINDS = ("bib", "ris", "nbib", "csl", "csv-tsv", "wos-isi-ciw")
EACH = 80


def drawn_papers(shared: Path, folder: Path) -> list[Paper]:
    """The papers of a library of six kinds of source, 300 at least."""
    library = Store.create(folder)
    with library.writing("add") as writer:
        for kind in KINDS:
            files = [file for file in sorted((shared / "data/real-files" / kind).iterdir()) if file.is_file()]
            writer.add(_drawn(files))
    found = list(library.papers())
    assert len(found) >= 300, "fewer records than 300"
    return found


def _drawn(files: list[Path]) -> Iterable[Paper]:
    """:data:`EACH` papers with a title, one of each file in turn."""
    rounds = zip_longest(*map(_papers, files))  # one file is of a name seven thousand times
    return islice(
        (paper for each in rounds for paper in each if paper and paper.title and len(paper.authors) < 3000),
        EACH,
    )


def _papers(file: Path) -> Iterable[Paper]:
    with contextlib.suppress(AspectraError):  # some files are of tests that want them refused
        yield from (item for item in read_papers(file) if isinstance(item, Paper))
