"""What every source owes, whoever wrote it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper, Remark
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Source

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\x7f-\x9f]")
# Contents that no source can read, or hardly.
GARBAGE = (
    b"",
    b" \n\t\n",
    b"\x00\x01\x02\xff\xfe" * 50,
    b"just some words, nothing more",
    b"{",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"<a><b>",
    b"@article{",
    b"TY  - ",
    b"PMID- ",
    b"\xff\xfeT\x00Y\x00",
)
_garbage = pytest.mark.parametrize("content", GARBAGE, ids=lambda content: repr(content[:12]))


def check_items(items: Iterable[Paper | Remark]) -> list[Paper]:
    """Check everything that holds for whatever a source yields; returns the papers.

    Raises:
        AssertionError: something does not hold.
    """
    papers = []
    for item in items:
        assert isinstance(item, Paper | Remark)
        if isinstance(item, Remark):
            assert item.place
            assert item.reason
            continue
        papers.append(item)
        record = item.to_dict()
        spelled = json.dumps(record, allow_nan=False, ensure_ascii=False)
        spelled.encode("utf-8")
        assert Paper.from_dict(json.loads(spelled)) == item
        assert item.id.strip()
        assert not _CONTROL.search("".join(_texts(record)))
        assert item.has_text or item.identifiers or item.url
        for sentence in item.sentences:
            assert 0 <= sentence.start < sentence.end <= len(item.abstract)
    assert len({paper.id for paper in papers}) == len(papers)
    return papers


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in (k, *_texts(v))]
    return [t for v in value for t in _texts(v)] if isinstance(value, list | tuple) else []


class SourceConformance:
    """Tests of a source that is registered. A subclass, or its module, has a fixture ``source``."""

    def test_its_name_is_the_registered_one(self, source: Source) -> None:
        assert not isinstance(source, type), "register an instance, not the class"
        assert SOURCES.get(source.name) is source

    def test_it_declares_what_help_and_docs_say(self, source: Source) -> None:
        assert 10 <= len(source.description) <= 110
        assert "\n" not in source.description
        assert all(re.fullmatch(r"\.[a-z0-9]+", ending) for ending in source.endings)

    @_garbage
    def test_sniff_stays_in_range(self, source: Source, content: bytes, tmp_path: Path) -> None:
        for path in (tmp_path / "x", tmp_path / "x.bib", tmp_path / "x.jsonl", tmp_path):
            assert 0.0 <= source.sniff(path, content) <= 1.0

    @_garbage
    def test_garbage_is_refused_or_remarked(self, source: Source, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "garbage"
        path.write_bytes(content)
        with contextlib.suppress(BadInput):
            check_items(read_papers(path, source.name, ReadOptions(pdf_seconds=5)))

    def test_an_empty_file_is_bad_input(self, source: Source, tmp_path: Path) -> None:
        if source.name == "folder":
            pytest.skip("reads folders, not files")
        path = tmp_path / "empty"
        path.write_bytes(b"")
        with pytest.raises(BadInput):
            list(read_papers(path, source.name))


class SampleConformance:
    """Tests of a source of text files with a sample; fixtures ``source`` and ``sample``.

    The sample, UTF-8 bytes, has three records: a good one with the title ``Café ranking``, one that cannot be
    read, and a good one with the title ``A third paper``.
    """

    def read(self, source: Source, folder: Path, content: bytes) -> list[Paper | Remark]:
        """What the source reads in a file with this content."""
        path = folder / "sample"
        path.write_bytes(content)
        return list(read_papers(path, source.name))

    def test_it_recognises_its_own(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        path = tmp_path / "sample"
        mine = source.sniff(path, sample)
        assert mine >= 0.6
        for other in SOURCES:
            assert other == source.name or SOURCES.get(other).sniff(path, sample) < mine

    def test_a_broken_record_costs_only_itself(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        items = self.read(source, tmp_path, sample)
        assert [paper.title for paper in check_items(items)] == ["Café ranking", "A third paper"]
        assert [r.skipped for r in items if isinstance(r, Remark)].count(True) == 1

    def test_a_wrong_encoding_does_not_raise(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        content = sample.decode().encode("latin-1")
        assert check_items(self.read(source, tmp_path, content))[0].title == "Café ranking"

    @pytest.mark.parametrize("change", ["bom", "crlf", "cr", "utf-16", "utf-16-le", "utf-16-be"])
    def test_marks_and_line_ends(self, source: Source, sample: bytes, tmp_path: Path, change: str) -> None:
        match change:
            case "bom":
                content = b"\xef\xbb\xbf" + sample
            case "crlf":
                content = sample.replace(b"\n", b"\r\n")
            case "cr":
                if source.name == "jsonl":
                    pytest.skip("lines of JSON end with a newline by definition")
                content = sample.replace(b"\n", b"\r")
            case _:
                content = sample.decode().encode(change)  # utf-16 writes a byte order mark, the others none
        assert check_items(self.read(source, tmp_path, content))[0].title == "Café ranking"

    def test_long_text_is_cut_with_a_remark(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        path = tmp_path / "sample"
        path.write_bytes(sample)
        items = list(read_papers(path, source.name, ReadOptions(max_text_chars=5)))
        assert all(len(p.title) <= 5 and len(p.abstract) <= 5 for p in check_items(items))
        assert any("cut" in r.reason for r in items if isinstance(r, Remark))

    def test_reading_twice_gives_the_same(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        assert self.read(source, tmp_path, sample) == self.read(source, tmp_path, sample)
