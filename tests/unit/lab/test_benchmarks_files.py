"""Opening, checking and fetching the files of benchmarks."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import types
from pathlib import Path

import pytest

from aspectra.base.decompression import zstd
from aspectra.base.errors import BadInput, MissingExtra, UsageError
from aspectra.lab.benchmarks._files import Folder, hub_sets, read_data
from aspectra.lab.benchmarks.protocol import BENCHMARKS, HubSet, fetch
from aspectra.lab.runs.rows import array_items
from benchmark_fixtures import lines, put


def test_checksum_is_of_the_bytes_on_disk(tmp_path):
    path = put(tmp_path / "a.jsonl.zst", '{"a": 1}\n')
    folder = Folder(tmp_path)
    assert list(folder.rows(path)) == [{"a": 1}]
    assert folder.checksums == {"a.jsonl.zst": hashlib.sha256(path.read_bytes()).hexdigest()}


def test_a_frame_cut_between_two_blocks_is_found(tmp_path):
    """A reader of streams ends silently there; the lines before are whole."""
    packer = zstd.ZstdCompressor()
    first = packer.compress(b'{"a": 1}\n', packer.FLUSH_BLOCK)
    rest = packer.compress(b'{"a": 2}\n') + packer.flush()
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(first + rest)
    assert len(list(Folder(tmp_path).rows(path))) == 2
    path.write_bytes(first)
    with pytest.raises(BadInput, match=r"is damaged\nwhy: .*end too early"):
        list(Folder(tmp_path).rows(path))


def test_several_frames_are_one_file(tmp_path):
    pack = zstd.compress
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(pack(b'{"a": 1}\n') + pack(b'{"a": 2}\n'))
    assert [row["a"] for row in Folder(tmp_path).rows(path)] == [1, 2]


def test_not_utf8_is_an_error_and_not_a_guess(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"a": "caf\xe9"}\n'.encode("latin-1"))
    with pytest.raises(BadInput, match="line 1"):
        list(Folder(tmp_path).rows(path))


@pytest.mark.parametrize("text", ["{}", "", '[{"a": 1}', '[{"a": 1}, 3]', '[{"a": 1}, {"a": ]'])
def test_arrays_that_are_none(tmp_path, text):
    with pytest.raises(BadInput):
        list(array_items(put(tmp_path / "a.json", text)))


def test_array_larger_than_a_block(tmp_path):
    rows = [{"n": n, "text": "é" * (n * 4_000) + f"{n}{os.urandom(20_000).hex()}"} for n in range(30)]
    path = put(tmp_path / "a.json.gz", json.dumps(rows, ensure_ascii=False, indent=1))
    assert list(array_items(path)) == rows


def test_tsv_rows(tmp_path):
    path = put(tmp_path / "a.tsv", "x\ty\n1\t2\n")
    assert list(Folder(tmp_path).rows(path)) == [{"x": "1", "y": "2"}]
    put(path, "x\ty\n1\n")
    with pytest.raises(BadInput, match="line 2"):
        list(Folder(tmp_path).rows(path))


def test_checksum_lists(tmp_path):
    lines(tmp_path / "a.jsonl", [{"a": 1}])
    for text in ("nothing here\n", "{broken", "abc  a.jsonl\n"):
        pins = put(tmp_path / "SUMS", text)
        with pytest.raises(BadInput):
            Folder(tmp_path, str(pins))
    with pytest.raises(BadInput, match="cannot open"):
        Folder(tmp_path, str(tmp_path / "absent"))


def parquet(monkeypatch, batches):
    class Batch:
        def __init__(self, rows):
            self.rows = rows

        def to_pylist(self):
            return self.rows

    class ParquetFile:
        def __init__(self, path):
            if path.read_bytes() != b"PAR1":
                raise ValueError("no magic bytes")

        def iter_batches(self, batch_size):
            return map(Batch, batches)

    package = types.ModuleType("pyarrow")
    module = types.ModuleType("pyarrow.parquet")
    module.ParquetFile = ParquetFile
    monkeypatch.setitem(sys.modules, "pyarrow", package)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", module)


def test_parquet_parts_in_order(tmp_path, monkeypatch):
    parquet(monkeypatch, [[{"a": 1}], [{"a": 2}]])
    for part in ("00001-of-00002", "00000-of-00002"):
        put(tmp_path / "corpus" / f"full-{part}.parquet", "PAR1")
    folder = Folder(tmp_path)
    files = folder.table("corpus", ("full",))
    assert [file.name for file in files] == ["full-00000-of-00002.parquet", "full-00001-of-00002.parquet"]
    assert [row["a"] for file in files for row in folder.rows(file)] == [1, 2, 1, 2]
    put(files[0], "nothing")
    with pytest.raises(BadInput, match="damaged"):
        list(Folder(tmp_path).rows(files[0]))


def hub(monkeypatch, download):
    module = types.ModuleType("huggingface_hub")
    module.snapshot_download = download
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)


def test_fetch_asks_for_the_pinned_revision(tmp_path, monkeypatch):
    asked = []
    hub(monkeypatch, lambda **given: asked.append(given))
    assert fetch([*BENCHMARKS.get("litsearch").hub, *BENCHMARKS.get("infosearch").hub], tmp_path) == tmp_path
    assert asked[0]["repo_id"] == "princeton-nlp/LitSearch"
    assert asked[0]["revision"] == "9573fb284a1026c998df47024b888a163f0f0e25"
    assert "corpus_clean/*" in asked[0]["allow_patterns"]
    assert all(one["repo_type"] == "dataset" for one in asked)
    folders = {one["local_dir"]: one["revision"] for one in asked[1:]}
    assert folders[str(tmp_path / "clarity")] == "4c1892c874d09877c00243fac16452f3353039aa"
    assert folders[str(tmp_path / "length")] is None  # the hash that is shown for it is another set's


@pytest.mark.parametrize("name", BENCHMARKS.names())
def test_revisions_are_whole_because_the_client_takes_no_shorter_ones(name):
    assert all(len(one.revision) in (0, 40) for one in BENCHMARKS.get(name).hub)


def test_the_page_of_benchmarks_names_every_place_and_revision():
    page = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text("utf-8")
    for name, held in read_data("published.toml").items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {name} "))
        revisions = [held.get("revision", ""), *(one["revision"] for one in held.get("sets", ()))]
        assert all(revision[:8] in row for revision in revisions)
        assert "" not in revisions[1:] or "not known" in row


def test_parts_have_sets_of_their_own():
    assert [one.repo for one in hub_sets("infosearch/keyword")] == ["jianqunZ/Clarity-v1"]
    assert (
        hub_sets("infosearch/Clarity-v1") == hub_sets("infosearch/clarity") == hub_sets("infosearch/keyword")
    )
    assert [one.only for one in hub_sets("obliq/math")] == [("analogues/math/*",)]
    assert len(hub_sets("scifullbench/ICLR")) == 1
    with pytest.raises(UsageError, match="no part 'colour'"):
        hub_sets("infosearch/colour")


@pytest.mark.parametrize(
    ("name", "folder", "options", "said"),
    [
        ("litsearch", "litsearch", {}, ("princeton-nlp/LitSearch", "9573fb28", "MIT", "size not known")),
        ("obliq", "obliq", {"task": "math"}, ("obliq/math", "dianetc/OBLIQ-Bench", "1,661,752 bytes")),
        ("infosearch", "infosearch", {"dimension": "keyword"}, ("jianqunZ/Clarity-v1, revision 4c1892c8",)),
        ("infosearch", "infosearch", {"dimension": "length"}, ("jianqunZ/Length-v1, revision not known",)),
        ("scifullbench", "scifullbench", {"venue": "ICLR"}, ("scifullbench/ICLR", "Paper2PaperRetrieval")),
        ("csfcube", "csfcube", {}, ("github.com/iesl/CSFCube, revision 7ffe012c", "NC 4.0")),
        ("beir", "birco/relic/test", {}, ("BIRCO, revision 84b2b05c", "CC BY-NC 4.0")),
        ("infosearch", "attribute-docs", {}, ("not published in this form; made of tldr-pages",)),
        ("beir", "elsewhere", {}, ("beir, looked for in", "nowhere that is known")),
    ],
)
def test_a_folder_that_is_absent_says_where_the_files_are(tmp_path, name, folder, options, said):
    with pytest.raises(BadInput) as error:
        BENCHMARKS.get(name)(tmp_path / folder, **options)
    assert error.value.why.startswith("needs data: ")
    assert "\n" not in error.value.why
    assert all(part in error.value.why for part in said)
    assert error.value.hint


def test_the_next_command_of_a_folder_that_is_absent(tmp_path):
    for name, folder, options, hint in (
        ("obliq", "obliq", {"task": "math"}, f"aspectra bench fetch obliq/math {tmp_path}/obliq"),
        (
            "beir",
            "birco/wtb/dev",
            {},
            f"git clone https://github.com/BIRCO-benchmark/BIRCO {tmp_path}/birco &&",
        ),
    ):
        with pytest.raises(BadInput) as error:
            BENCHMARKS.get(name)(tmp_path / folder, **options)
        assert error.value.hint.startswith(hint)


def test_fetch_without_a_network(tmp_path, monkeypatch):
    def download(**given):
        raise ConnectionError("offline mode is enabled\nand more")

    hub(monkeypatch, download)
    with pytest.raises(BadInput) as error:
        fetch(BENCHMARKS.get("obliq").hub, tmp_path)
    assert "dianetc/OBLIQ-Bench" in error.value.what
    assert error.value.why == "ConnectionError: offline mode is enabled"
    assert "name their folder" in error.value.hint


def test_fetch_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match="huggingface_hub"):
        fetch([HubSet("a/b", "1")], tmp_path)
