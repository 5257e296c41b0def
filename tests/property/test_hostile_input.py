"""Files made to harm: whatever they hold, a reader ends, soon, with papers, remarks or BadInput."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aspectra.base.errors import BadInput
from aspectra.base.files import canonical_json
from aspectra.papers.paper import Paper
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.json.records import first_keys
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.xml.elements import root_name
from aspectra.papers.text.cleaning import mend_hyphens, strip_invisible
from aspectra.papers.text.references import cut_references, entries_of, read_reference
from aspectra.papers.text.structure import outline

NAMES = ("pdf", "unarxive", "tei", "jats", "openalex", "arxiv", "s2orc", "markdown")
QUICK = tuple(name for name in NAMES if name != "pdf")  # a process for each PDF is too slow for many examples
OPTIONS = ReadOptions(max_text_chars=10_000, pdf_seconds=10, pdf_pages=5, pdf_memory_mb=512)
SECRET = "the-secret-of-this-machine"

BOMB = (
    '<!DOCTYPE article [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
    + "]>"
)
XML = {
    "laughs": BOMB + "<article><front>&j;</front></article>",
    "quadratic": '<!DOCTYPE article [<!ENTITY a "'
    + "x" * 50_000
    + '">]><article>'
    + "&a;" * 5000
    + "</article>",
    "file": '<!DOCTYPE article [<!ENTITY x SYSTEM "file://{path}">]><article><p>&x;</p></article>',
    "parameter": '<!DOCTYPE article [<!ENTITY % x SYSTEM "file://{path}"> %x;]><article/>',
    "network": '<!DOCTYPE article [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]><article><p>&x;</p></article>',
    "external dtd": '<!DOCTYPE article SYSTEM "http://127.0.0.1:9/x.dtd"><article><body><p>t</p></body></article>',
    "local dtd": '<!DOCTYPE article SYSTEM "file://{path}"><article><body><p>t &x;</p></body></article>',
    "include": '<article xmlns:xi="http://www.w3.org/2001/XInclude"><body><p>t'
    '<xi:include href="file://{path}" parse="text"/></p></body></article>',
    "stylesheet": '<?xml-stylesheet href="file://{path}"?><article><body><p>t</p></body></article>',
    "deep": "<article>" + "<sec>" * 100_000 + "</sec>" * 100_000 + "</article>",
    "wide": "<article" + "".join(f' a{n}="x"' for n in range(50_000)) + "/>",
    "cut": "<article><front><article-meta><title-group><article-title>T",
}


def read(name: str, path: Path) -> list[Paper | Remark] | None:
    """What the source says; None for BadInput. Every paper can be stored."""
    try:
        items = list(read_papers(path, name, OPTIONS))
    except BadInput:
        return None
    for item in items:
        if isinstance(item, Paper):
            canonical_json(item.to_dict()).encode("utf-8")
            assert item.content_hash
            assert all(len(section.text) <= OPTIONS.max_text_chars for section in item.sections)
            assert len(item.abstract) <= OPTIONS.max_text_chars
    return items


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a reader opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("kind", sorted(XML))
def test_xml(tmp_path: Path, kind: str, encoding: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SECRET)
    text = XML[kind].replace("{path}", str(secret))
    for name, root in (("jats", "article"), ("tei", "TEI")):
        path = tmp_path / f"{name}.xml"
        path.write_text(text.replace("article", root) if root == "TEI" else text, encoding)
        start = time.perf_counter()
        items = read(name, path)
        assert time.perf_counter() - start < 5
        assert SECRET not in repr(items)
        if "<!ENTITY" in text:
            assert items is None


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes(tmp_path: Path, name: str) -> None:
    import random

    generator = random.Random(5)
    starts = [
        b"",
        b"%PDF-1.7\n",
        b"<?xml version='1.0'?><TEI>",
        b'{"paper_id": ',
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
    ]
    for number, start in enumerate(starts):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(start + generator.randbytes(3000))
        SOURCES.get(name).sniff(path, path.read_bytes())
        read(name, path)


@pytest.mark.parametrize("name", ["unarxive", "openalex", "arxiv", "s2orc"])
@pytest.mark.parametrize("depth", [40, 200, 100_000])
@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}")])
def test_deep_json(tmp_path: Path, name: str, depth: int, pair: tuple[str, str]) -> None:
    path = tmp_path / "deep.jsonl"
    nest = pair[0] * depth + "1" + pair[1] * depth
    good = json.dumps({"paper_id": "p", "id": "p", "title": "A good record", "abstract": "Text."})
    path.write_text('{"paper_id": "x", "id": "x", "title": "Deep", "extra": ' + nest + "}\n" + good + "\n")
    items = read(name, path)
    assert items
    assert any(isinstance(item, Paper) and item.title == "A good record" for item in items)
    assert first_keys(path.read_bytes()[:65_536])


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "9" * 5000, "1" * 400])
@pytest.mark.parametrize("name", ["unarxive", "openalex", "arxiv", "s2orc"])
def test_odd_numbers(tmp_path: Path, name: str, number: str) -> None:
    path = tmp_path / "n.jsonl"
    record = '{"paper_id": "x", "id": "x", "title": "T t", "year": %s, "publication_year": %s, "extra": [%s]}'
    path.write_text(record % (number, number, number) + "\n" + record % (1, 1, 1) + "\n")
    assert read(name, path)


EVIL = [
    "../../etc/passwd",
    "/etc/passwd",
    "..\\..\\windows\\system32",
    "C:\\x",
    "CON",
    "a\x00b",
    "\u202etxt.exe",
    "\ud800",
    "x" * 5000,
    "\u2024\u2024/\u2024\u2024/x",
    "%2e%2e%2f",
    "~root",
    "file:///etc/passwd",
    "$(touch x)",
    "'; drop table papers; --",
]


@pytest.mark.parametrize("evil", EVIL)
def test_ids_and_file_names_inside_records_touch_nothing(tmp_path: Path, evil: str) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    for name in ("unarxive", "s2orc", "openalex", "arxiv"):
        path = inside / f"{name}.jsonl"
        record = {
            "paper_id": evil,
            "id": evil,
            "name": evil,
            "title": evil,
            "abstract": "Text.",
            "file": evil,
        }
        path.write_text(json.dumps(record))
        read(name, path)
        path.unlink()
    assert list(tmp_path.iterdir()) == [inside]
    assert list(inside.iterdir()) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
FIELDS = (
    *(
        "paper_id",
        "id",
        "title",
        "abstract",
        "authors",
        "authors_parsed",
        "versions",
        "doi",
        "year",
        "metadata",
    ),
    *("sections", "body_text", "bib_entries", "pdf_parse", "identifiers", "ids", "authorships", "locations"),
    *("primary_location", "abstract_inverted_index", "referenced_works", "ref_entries", "biblio", "results"),
    *("language", "references", "abstractText", "back_matter", "type", "name"),
)
RECORD = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=10)
RELAXED = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@RELAXED
@given(
    records=st.lists(RECORD, min_size=1, max_size=3),
    name=st.sampled_from(("unarxive", "openalex", "arxiv", "s2orc")),
)
def test_any_values_in_known_fields(tmp_path: Path, records: list[dict[str, object]], name: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    read(name, path)


@RELAXED
@given(raw=st.binary(max_size=400), name=st.sampled_from(QUICK))
def test_any_bytes(tmp_path: Path, raw: bytes, name: str) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(raw)
    assert 0 <= SOURCES.get(name).sniff(path, raw) <= 1
    read(name, path)
    first_keys(raw)
    root_name(raw)


LINES = st.lists(
    st.sampled_from(
        ["Abstract", "1 Introduction", "2 Method", "References", "[1] A. One. 2001. X y.", "# H", "A B", ""]
    )
    | st.text(max_size=40),
    max_size=30,
).map("\n".join)


@RELAXED
@given(text=LINES)
def test_any_text(text: str) -> None:
    clean, _ = strip_invisible(text)
    found = outline(mend_hyphens(clean))
    assert all(section.heading or section.text for section in found.sections)
    for entry in entries_of(cut_references(clean)[1]):
        assert read_reference(entry).raw


@pytest.mark.parametrize(
    "unit", ["a" * 80 + "-\n", "1 ", "A. B. C. ", "# \n", "1.1.1 A\n", "<!--", "<?", '"\\', "[" * 3]
)
def test_long_monotonous_text_takes_linear_time(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    start = time.perf_counter()
    outline(mend_hyphens(strip_invisible(text)[0]))
    first_keys(b'{"' + text.encode()[:65_536])
    root_name(b"<" + text.encode()[:65_536])
    assert time.perf_counter() - start < 10
