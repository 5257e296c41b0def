"""Files of databases, reference managers and parsers against what they hold, found by reading them.

``real_files.json`` has for each file, by the beginning of its name: how many records it holds, how many of
them with a title, with an abstract, with a DOI (at least, at most), and of its first and last record the year
and the digests of title and family name.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.testing.views import check_items

EXPECTED = json.loads(Path(__file__).with_name("real_files.json").read_text("utf-8"))


def digest(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(c for c in folded if c.isalnum())
    return hashlib.sha256(letters.encode()).hexdigest()[:8] if letters else ""


def family_digests(paper: Paper) -> set[str]:
    """Digests of all ends of the first author's name, of which one is the family name."""
    words = paper.authors[0].split() if paper.authors else [""]
    return {digest(" ".join(words[start:])) for start in range(len(words))}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_file_holds_is_read(shared, name):
    folder, start = name.split("/")
    files = sorted((shared / "data" / "real-files" / folder).glob(f"{start}-*"))
    if not files:
        pytest.skip("the file is not here")
    expected = EXPECTED[name]
    if "refused" in expected:
        with pytest.raises(BadInput) as caught:
            list(read_papers(files[0]))
        assert caught.value.hint
        return
    items = list(read_papers(files[0]))
    papers = check_items(items)
    skipped = sum(item.skipped for item in items if not isinstance(item, Paper))
    low, high = expected["dois"]
    dois = sum("doi" in paper.identifiers for paper in papers)
    assert {
        "records": len(papers) + skipped,
        "titles": sum(bool(paper.title) for paper in papers),
        "abstracts": sum(bool(paper.abstract) for paper in papers),
        "dois": [low, high] if low <= dois <= high else dois,
    } == {key: expected[key] for key in ("records", "titles", "abstracts", "dois")}
    for place, paper in (("first", papers[:1]), ("last", papers[-1:])):
        if paper and place in expected:
            title, family, year = expected[place]
            assert (digest(paper[0].title), paper[0].year) == (title, year)
            assert family in family_digests(paper[0])
