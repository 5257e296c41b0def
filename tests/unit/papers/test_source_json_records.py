"""What the readers of JSON records share: layouts of the file, encodings, compression, limits."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from aspectra.base.decompression import zstd
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.json.records import first_keys
from aspectra.papers.sources.protocol import ReadOptions, Remark

FIRST: dict[str, Any] = {
    "paper_id": "one",
    "id": "one",
    "title": "Café ranking",
    "abstract": "We rank cafés.",
    "extra": {"kept": [1, None, "ü"]},
}
SECOND: dict[str, Any] = {
    "paper_id": "two",
    "id": "two",
    "title": "A second\u0007 paper",
    "abstract": "Text.",
}
NAMES = ("unarxive", "openalex", "arxiv", "s2orc", "jsonl")

pytestmark = pytest.mark.parametrize("name", NAMES)


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(r, ensure_ascii=False).encode() + b"\n" for r in records)


def read(name: str, path: Path, content: bytes, options: ReadOptions | None = None) -> list[Paper | Remark]:
    path.write_bytes(content)
    return list(read_papers(path, name, options))


def titles(items: list[Paper | Remark]) -> list[str]:
    return [item.title for item in items if isinstance(item, Paper)]


@pytest.mark.parametrize(
    "layout", ["lines", "array", "indented", "crlf", "bom", "utf-16", "gz", "zst", "blank lines"]
)
def test_layouts_of_a_file(name: str, layout: str, tmp_path: Path) -> None:
    content = lines(FIRST, SECOND)
    content = {
        "lines": content,
        "array": json.dumps([FIRST, SECOND]).encode(),
        "indented": json.dumps([FIRST, SECOND], indent=2).encode(),
        "crlf": content.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + content,
        "utf-16": content.decode().encode("utf-16"),
        "gz": gzip.compress(content),
        "zst": zstd.compress(content),
        "blank lines": b"\n\n" + content.replace(b"\n", b"\n \n"),
    }[layout]
    assert titles(read(name, tmp_path / "x", content)) == ["Café ranking", "A second paper"]


def test_unknown_fields_are_kept_as_they_are(name: str, tmp_path: Path) -> None:
    (paper,) = read(name, tmp_path / "x", lines(FIRST))
    assert isinstance(paper, Paper)
    assert paper.metadata["extra"] == FIRST["extra"]


def test_wrong_encoding_is_remarked(name: str, tmp_path: Path) -> None:
    items = read(name, tmp_path / "x", lines(FIRST, SECOND).decode().encode("latin-1"))
    assert titles(items) == ["Café ranking", "A second paper"]
    assert any(isinstance(i, Remark) and "UTF-8" in i.reason and not i.skipped for i in items)


def test_long_text_is_cut_with_a_remark(name: str, tmp_path: Path) -> None:
    items = read(name, tmp_path / "x", lines(FIRST), ReadOptions(max_text_chars=5))
    assert titles(items) == ["Café"] or titles(items) == ["Café "]
    assert any("cut" in i.reason for i in items if isinstance(i, Remark))


def test_first_line_may_be_broken(name: str, tmp_path: Path) -> None:
    items = read(name, tmp_path / "x", b'{"title": "br\n' + lines(FIRST))
    assert titles(items) == ["Café ranking"]
    assert isinstance(items[0], Remark)
    assert items[0].skipped


@pytest.mark.parametrize("layout", ["array", "indented", "envelope", "nested fault"])
def test_a_broken_element_costs_only_itself(name: str, layout: str, tmp_path: Path) -> None:
    broken = '{"paper_id": "x", "authors": [{"name": "A"}, {"name": "B"}], "title" "Broken"}'
    if layout == "nested fault":
        broken = '{"paper_id": "x", "title": "Broken", "authors": [{"name": "A" "x"}, {"name": "B"}]}'
    text = f"[{json.dumps(FIRST)}, {broken}, {json.dumps(SECOND)}]"
    if layout == "indented":
        text = text.replace("[{", "[\n  {").replace("}, {", "},\n  {")
    if layout == "envelope":
        text = '{\n"results": ' + text + "}"
    items = read(name, tmp_path / "x", text.encode())
    assert titles(items) == ["Café ranking", "A second paper"]
    assert [i.place for i in items if isinstance(i, Remark) and i.skipped] == ["record 2"]


def test_answers_of_an_interface_one_a_line(name: str, tmp_path: Path) -> None:
    items = read(name, tmp_path / "x", lines({"results": [FIRST]}, {"results": [SECOND, 1]}))
    assert titles(items) == ["Café ranking", "A second paper"]
    assert [i.place for i in items if isinstance(i, Remark)] == ["line 2, record 2"]


def test_reading_twice_gives_the_same(name: str, tmp_path: Path) -> None:
    content = lines(FIRST, SECOND, FIRST)
    assert read(name, tmp_path / "x", content) == read(name, tmp_path / "x", content)


@pytest.mark.parametrize(
    ("head", "keys"),
    [
        (b'{"a": {"b": {"c": 1}}, "d": ["e", {"f": 2}]} {"g": 1}', {"a", "a.b", "d", "d.f"}),
        (b'[{"a": "x: {", "b": "\\"c\\": 1"', {"a", "b"}),
        (b'  {"a": "cut in the mid', {"a"}),
        (b"", set()),
        (b"plain", set()),
    ],
)
def test_first_keys(name: str, head: bytes, keys: set[str]) -> None:
    assert first_keys(head) == keys
