"""Real papers as PDF: nothing lost, nothing glued, nothing believed that the page does not print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.files import InputFile
from aspectra.papers.sources.pages.pdf import _extract
from aspectra.papers.sources.protocol import ReadOptions
from conftest import SHARED
from long import LONG

FILES = sorted((SHARED / "data/real-files/pdf").glob("*.pdf"))[:: 1 if LONG else 3]
LONG_WORD = re.compile(r"[^\W\d_]{20,}")
pytestmark = pytest.mark.skipif(not FILES, reason="the real PDFs are not here")


def squash(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def read(request: pytest.FixtureRequest) -> tuple[Path, Paper]:
    (paper,) = [item for item in read_papers(request.param, "pdf") if isinstance(item, Paper)]
    return request.param, paper


def test_front_is_found(read: tuple[Path, Paper]) -> None:
    _, paper = read
    assert len(paper.title.split()) >= 4
    assert not normalise_title(paper.title).startswith(("proceedings", "arxiv"))
    assert paper.authors
    assert 300 < len(paper.abstract) < 4000
    assert len(paper.references) >= 5
    assert paper.metadata["text_quality"] == "good"


def test_every_line_is_kept(read: tuple[Path, Paper]) -> None:
    path, paper = read
    parts = [paper.title, paper.abstract, str(paper.metadata.get("front_matter", ""))]
    parts += [text for s in paper.sections for text in (s.heading, s.text)]
    parts += [entry.raw for entry in paper.references] + list(paper.metadata.get("running_heads", ()))
    kept = squash(" ".join(parts))
    held = lost = 0
    with InputFile(path) as file:
        for page in _extract(file, ReadOptions()).read:
            for line in page.lines:
                shown = squash(line.text)
                held += len(shown)
                # Numbers of headings, labels of entries and page numbers are not kept.
                bare = squash(line.text.lstrip("[").split(" ", 1)[-1])
                lost += len(shown) if shown not in kept and bare not in kept else 0
    assert lost < 0.05 * held


def test_words_are_apart(read: tuple[Path, Paper]) -> None:
    _, paper = read
    texts = [paper.title, paper.abstract, *(section.text for section in paper.sections)]
    assert len({run for text in texts for run in LONG_WORD.findall(text)}) <= 2
