"""What every source owes, whoever wrote it. A new source is tested here by being registered."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark, Source

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\x7f-\x9f]")
GARBAGE = [
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
]
# A good record, a broken one, a good one: made up, in the layout of each source.
SAMPLES: dict[str, bytes] = {
    "jsonl": b"""{"id": "one", "title": "Caf\xc3\xa9 ranking", "abstract": "We rank caf\xc3\xa9s."}
{"id": "two", "title": "Broken
{"id": "three", "title": "A third\\u0007 paper", "authors": ["Ada Lovelace"], "year": 1843}
""",
    "bibtex": b"""@article{one, title = {Caf\xc3\xa9 ranking}, author = {Lovelace, Ada}, year = 1843}
@article{two, title = {Broken
@article{three, title = {A third paper}, abstract = {Text.}}
""",
    "ris": b"""TY  - JOUR
TI  - Caf\xc3\xa9 ranking
AU  - Lovelace, Ada
ER  -

TY  - JOUR
AU  - Nobody
ER  -

TY  - JOUR
TI  - A third paper
ER  -
""",
    "csl-json": b"""[{"id": "one", "type": "book", "title": "Caf\xc3\xa9 ranking", "issued": {"raw": "1843"}},
{"id": "two", "type": "book" "title": "Broken"},
{"id": "three", "type": "book", "title": "A third paper"}]
""",
    "nbib": b"""PMID- 1
OWN - NLM
TI  - Caf\xc3\xa9 ranking

PMID- 2
OWN - NLM

PMID- 3
OWN - NLM
TI  - A third paper
""",
}
NAMES = SOURCES.names()


def source_named(name: str) -> Source:
    return SOURCES.get(name)


def check(items: list[Paper | Remark]) -> list[Paper]:
    """Everything that holds for whatever a source yields; returns the papers."""
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
        assert not CONTROL.search(json.loads(json.dumps("".join(texts(record)))))
        assert item.title or item.abstract or item.has_full_text
        for sentence in item.sentences:
            assert 0 <= sentence.start < sentence.end <= len(item.abstract)
    assert len({paper.id for paper in papers}) == len(papers)
    return papers


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in (k, *texts(v))]
    return [t for v in value for t in texts(v)] if isinstance(value, list | tuple) else []


@pytest.mark.parametrize("name", NAMES)
def test_has_its_name(name: str) -> None:
    source = source_named(name)
    assert not isinstance(source, type), "register an instance, not the class"
    assert source.name == name


@pytest.mark.parametrize("name", NAMES)
def test_declares_what_help_and_docs_say(name: str) -> None:
    source = source_named(name)
    assert 10 <= len(source.description) <= 110
    assert "\n" not in source.description
    assert all(re.fullmatch(r"\.[a-z0-9]+", ending) for ending in source.endings)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("head", GARBAGE, ids=lambda b: repr(b[:12]))
def test_sniff_stays_in_range(name: str, head: bytes, tmp_path: Path) -> None:
    for path in (tmp_path / "x", tmp_path / "x.bib", tmp_path / "x.jsonl", tmp_path):
        confidence = source_named(name).sniff(path, head)
        assert 0.0 <= confidence <= 1.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", GARBAGE, ids=lambda b: repr(b[:12]))
def test_garbage_is_refused_or_remarked(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(content)
    with contextlib.suppress(BadInput):
        check(list(read_papers(path, name, ReadOptions(pdf_seconds=5))))


@pytest.mark.parametrize("name", NAMES)
def test_empty_file_is_bad_input(name: str, tmp_path: Path) -> None:
    if name == "folder":
        pytest.skip("reads folders, not files")
    path = tmp_path / "empty"
    path.write_bytes(b"")
    with pytest.raises(BadInput):
        list(read_papers(path, name))


@pytest.mark.parametrize("name", sorted(SAMPLES))
class TestSample:
    def read(self, name: str, tmp_path: Path, content: bytes) -> list[Paper | Remark]:
        path = tmp_path / "sample"
        path.write_bytes(content)
        return list(read_papers(path, name))

    def test_recognises_its_own(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / "sample"
        mine = source_named(name).sniff(path, SAMPLES[name])
        assert mine >= 0.6
        for other in set(SAMPLES) - {name}:
            assert source_named(other).sniff(path, SAMPLES[name]) < mine

    def test_broken_record_costs_only_itself(self, name: str, tmp_path: Path) -> None:
        items = self.read(name, tmp_path, SAMPLES[name])
        papers = check(items)
        assert [p.title for p in papers] == ["Café ranking", "A third paper"]
        assert [r.skipped for r in items if isinstance(r, Remark)].count(True) == 1

    def test_wrong_encoding_does_not_raise(self, name: str, tmp_path: Path) -> None:
        content = SAMPLES[name].decode().encode("latin-1")
        assert check(self.read(name, tmp_path, content))[0].title == "Café ranking"

    @pytest.mark.parametrize("change", ["bom", "crlf", "cr", "utf-16"])
    def test_marks_and_line_ends(self, name: str, tmp_path: Path, change: str) -> None:
        content = SAMPLES[name]
        match change:
            case "bom":
                content = b"\xef\xbb\xbf" + content
            case "crlf":
                content = content.replace(b"\n", b"\r\n")
            case "cr":
                if name == "jsonl":
                    pytest.skip("lines of JSON end with a newline by definition")
                content = content.replace(b"\n", b"\r")
            case _:
                content = content.decode().encode("utf-16")
        assert check(self.read(name, tmp_path, content))[0].title == "Café ranking"

    def test_long_text_is_cut_with_a_remark(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / "sample"
        path.write_bytes(SAMPLES[name])
        items = list(read_papers(path, name, ReadOptions(max_text_chars=5)))
        assert all(len(p.title) <= 5 and len(p.abstract) <= 5 for p in check(items))
        assert any("cut" in r.reason for r in items if isinstance(r, Remark))

    def test_reading_twice_gives_the_same(self, name: str, tmp_path: Path) -> None:
        first = self.read(name, tmp_path, SAMPLES[name])
        assert first == self.read(name, tmp_path, SAMPLES[name])
