"""Files as people have them: compressed, cut off, in other encodings."""

from __future__ import annotations

import gzip

import pytest

from aspectra.base.decompression import zstd
from aspectra.base.errors import BadInput
from aspectra.papers.sources.assembly import assemble, each
from aspectra.papers.sources.files import InputFile, read_lines, read_text
from aspectra.papers.sources.protocol import ReadOptions
from aspectra.papers.text.cleaning import clean

LINES = [f"line {i} with some words" for i in range(5000)]
PLAIN = "\n".join(LINES).encode()


def packed(kind: str) -> bytes:
    if kind == "gzip":
        return gzip.compress(PLAIN)
    if kind == "zstd":
        return zstd.compress(PLAIN)
    half = len(PLAIN) // 2
    return b"".join(zstd.compress(part) for part in (PLAIN[:half], PLAIN[half:]))


@pytest.mark.parametrize("kind", ["gzip", "zstd", "zstd frames"])
def test_compressed_files_are_read_whole(tmp_path, kind):
    file = tmp_path / "x.jsonl"
    file.write_bytes(packed(kind))
    assert [text for _, text, _ in read_lines(file)] == LINES
    assert read_text(file)[0].splitlines() == LINES


@pytest.mark.parametrize("kind", ["gzip", "zstd", "zstd frames"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.99])
def test_a_file_that_was_cut_off_is_said_to_be(tmp_path, kind, share):
    raw = packed(kind)
    file = tmp_path / "x.jsonl"
    file.write_bytes(raw[: int(len(raw) * share)])
    remarks = [remark for _, _, remark in read_lines(file) if remark]
    assert len(remarks) == 1
    assert "damaged" in remarks[0].reason
    assert remarks[0].skipped
    with pytest.raises(BadInput, match="damaged"):
        read_text(file)


@pytest.mark.parametrize(
    ("raw", "text", "noted"),
    [
        ("\ufeffnaïve".encode(), "naïve", False),
        ("naïve".encode("cp1252"), "naïve", True),
        ("naïve".encode("utf-16"), "naïve", True),
    ],
)
def test_encodings(tmp_path, raw, text, noted):
    file = tmp_path / "x.txt"
    file.write_bytes(raw)
    found, remarks = read_text(file)
    assert found == text
    assert bool(remarks) == noted


@pytest.mark.parametrize("at", [0, 3000, 8999])
def test_a_line_in_another_encoding_garbles_no_other(tmp_path, at):
    lines = [f"Über größere Eulen {i}" for i in range(9000)]  # several pieces of a file
    file = tmp_path / "x.txt"
    file.write_bytes(
        b"\n".join(line.encode("cp1252" if i == at else "utf-8") for i, line in enumerate(lines))
    )
    found, remarks = read_text(file)
    with InputFile(file) as opened:
        pieces = list(opened.pieces())
    assert found.splitlines() == "".join(p for p in pieces if isinstance(p, str)).splitlines() == lines
    assert len(remarks) == sum(not isinstance(p, str) for p in pieces) == 1


def test_clean_leaves_text_only():
    assert clean("a\x1b[31mb\x1b[0m\x00c\r\nd\ud800") == "abc\nd?"
    assert clean(None) == ""


@pytest.mark.parametrize("error", [KeyError("title"), ValueError("its date is no date")])
def test_what_may_be_a_fault_of_a_reader_asks_for_a_report(error):
    def convert(record, place, options):
        raise error

    (remark,) = each([("line 1", {})], convert, ReadOptions())
    assert ("please report it" in remark.reason) == isinstance(error, KeyError)
    assert str(error) in remark.reason


def test_empty_metadata_is_left_out_and_fields_of_the_record_stay_as_they_are():
    stated = {"note": "", "keywords": [" ", ""], "editors": [], "volume": None, "is_retracted": False}
    (paper,) = assemble("x", ReadOptions(), title="Owls", metadata=stated, unread={"tags": [], "note": ""})
    assert paper.metadata == {"is_retracted": False, "tags": [], "note": ""}
