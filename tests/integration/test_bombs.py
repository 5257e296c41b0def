"""Files made to fill the memory or the time of whoever reads them, each with a good file behind it.

``aspectra add`` reads the folder as a process of its own: under 1 GB, with a line on every bomb, and with the
paper of every good file in the library.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import socket
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from aspectra.base.decompression import zstd
from aspectra.papers.library.store import Store
from long import LONG
from pdf_maker import flate_bomb
from warm_python import warm_python

MEMORY = 1_000_000_000  # bytes
PROCESSOR = 30  # seconds of processor time for one file, the kernel's limit and not a measurement
MIB = 1 << 20
SOME = MIB if LONG else MIB // 4


def _repeated(compressor: Callable[[bytes], bytes], total: int, unit: bytes = b"a") -> bytes:
    return compressor(b'{"id": "x", "title": "' + unit * (total // len(unit)))


def _wide_zstd() -> bytes:
    options = {
        zstd.CompressionParameter.compression_level: 1,
        zstd.CompressionParameter.window_log: 30,
        zstd.CompressionParameter.enable_long_distance_matching: 1,
    }
    packed = zstd.ZstdCompressor(options=options)
    parts = [packed.compress(b"a" * MIB) for _ in range(1100)]
    return b"".join([*parts, packed.flush()])


def _doubling() -> bytes:
    lines = ['@string{a0 = "xxxxxxxxxx"}', *(f"@string{{a{i + 1} = a{i} # a{i}}}" for i in range(40))]
    return "\n".join([*lines, "@article{k, title = a40}"]).encode()


def _parents() -> bytes:
    hub = "@xdata{hub, note={" + "n" * 1_000_000 + "}, booktitle={" + "b" * 1_000_000 + "}}\n"
    return (hub + "".join(f"@misc{{k{i}, title={{T}}, xdata={{hub}}}}\n" for i in range(2000))).encode()


RECORD = b'{"id": "x", "title": "T", "extra": '
# name -> (content, what the line says); "" where the file is read, with remarks or without.
BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "zeros.jsonl.gz": (lambda: _repeated(gzip.compress, 64 * MIB), "expands more than 100 times"),
    "zeros.jsonl.bz2": (lambda: _repeated(bz2.compress, 64 * MIB), "expands more than 100 times"),
    "zeros.jsonl.xz": (lambda: _repeated(lzma.compress, 64 * MIB), "expands more than 100 times"),
    "lines.jsonl.zst": (lambda: zstd.compress(b'{"title": ""}\n' * MIB), "100,000 records in a row"),
    "record.jsonl.zst": (
        lambda: zstd.compress(RECORD + b"[" + b"{}," * (20 * MIB) + b"1]}\n"),
        "expands more than 100 times",
    ),
    "window.jsonl.zst": (_wide_zstd, "too much memory"),
    "values.jsonl": (lambda: RECORD + b"[" + b"{}," * (9 * MIB) + b"1]}\n", "more than 1,000,000 values"),
    "values.json": (
        lambda: b"[" + RECORD + b"[" + b"[]," * (9 * MIB) + b"1]}]",
        "more than 1,000,000 values",
    ),
    "long.jsonl": (lambda: RECORD + b'"' + b"x" * (40 * MIB) + b'"}\n', "longer than 32 MiB"),
    "deep.json": (lambda: b'[{"id": "x", "title": ' + b"[" * MIB, "not valid JSON"),
    "deep.jsonl": (lambda: RECORD + b"[" * MIB, "not valid JSON"),
    "wide.json": (lambda: '[{"title": "\U0001f600'.encode() + b"x" * (31 * MIB) + b'"}]', "cut at"),
    "doubling.bib": (_doubling, "expands to too much"),
    "parents.bib": (_parents, "expands to too much"),
    "entries.bib": (lambda: b"@article{" * (2 * SOME), "left out"),
    "entry_lines.bib": (lambda: b"@article{\n" * SOME, "cannot be read"),
    "fields.bib": (lambda: b"@misc{k, title={T},\n" + b"a=1,\n" * (2 * MIB) + b"}", "left out"),
    "tags.ris": (lambda: b"TY  - JOUR\nTI  - T\n" + b"KW  - a\n" * (2 * SOME) + b"ER  - \n", "left out"),
    "lines.ris": (lambda: b"TY  - JOUR\nTI  - T\n" + b"a\n" * (4 * SOME) + b"ER  - \n", "left out"),
    "tags.nbib": (lambda: b"PMID- 1\nTI  - T\n" + b"MH  - a\n" * (2 * SOME), "left out"),
    "elements.xml": (
        lambda: b'<article article-type="x">' + b"<a/>" * (16 * MIB) + b"</article>",
        "larger than any paper",
    ),
    "attributes.xml": (
        lambda: b'<article article-type="x">' + b'<a b="" c="" d=""/>' * (4 * MIB) + b"</article>",
        "larger than any paper",
    ),
    "laughs.xml": (lambda: b'<!DOCTYPE article [<!ENTITY a "b">]><article>&a;</article>', "entities"),
    "nested.xml": (lambda: b'<article article-type="x">' + b"<sec>" * MIB, "not well-formed"),
    "blank.md": (lambda: b"# T\n" + b"\n" * (16 * MIB), "larger than 8 MiB"),
    "words.md": (lambda: b"# T\n" + b"a\n" * (3 * SOME), ""),
    "aliases.md": (
        lambda: b"---\ntitle: T\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\nText of it.\n",
        "aliases are not followed",
    ),
    "brackets.md": (lambda: b"---\ntitle: T\na: " + b"[" * 60_000 + b"\n---\nText of it.\n", "front matter"),
    "stream.pdf": (flate_bomb, ""),
    "blocks.pdf": (lambda: b"%PDF-1.7\n" + b"1 0 obj\n<<" * MIB, "cannot be read as a PDF"),
}
CHILD = """
    import resource, sys
    from aspectra.app.main import main
    seconds = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    code = main(sys.argv[2:])
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"peak {max(one.ru_maxrss for one in used) * 1024}", file=sys.stderr)
    sys.exit(code)
"""


def _add(place: Path, *paths: Path, seconds: int) -> tuple[int, str]:
    """(peak of memory in bytes, of the largest process; what is printed) of ``aspectra add``."""
    homes = {f"XDG_{name}_HOME": str(place / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ASPECTRA_")}
    command = [str(seconds), "--verbose", "--library", place / "lib", "add", *paths]
    done = subprocess.run(
        [warm_python(), "-c", textwrap.dedent(CHILD), *map(str, command)],
        capture_output=True,
        text=True,
        env={**kept, **homes},
        check=False,
    )
    printed, found, peak = done.stderr.rpartition("peak ")
    assert found, done.stderr
    assert "Traceback" not in printed
    assert "internal error" not in printed
    return int(peak), done.stdout + printed


def _library(place: Path) -> None:
    Store.create(place / "lib").close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the limits of a Unix")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_only_itself(tmp_path: Path, name: str) -> None:
    content, said = BOMBS[name]
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / f"1_{name}").write_bytes(content())
    (folder / "2_good.jsonl").write_text(json.dumps({"id": "good", "title": "Behind the bomb"}))
    _library(tmp_path)
    peak, printed = _add(tmp_path, folder, seconds=PROCESSOR)
    assert peak <= MEMORY
    assert said in printed
    assert name in printed
    with Store(tmp_path / "lib") as library:
        assert library.get("good").title == "Behind the bomb"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_refused_by_name(tmp_path: Path) -> None:
    pipe, good = tmp_path / "pipe", tmp_path / "good.bib"
    os.mkfifo(pipe)
    good.write_text("@misc{good, title={Behind the pipe}}")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "socket"))
    holes = tmp_path / "holes.jsonl"
    with holes.open("wb") as file:
        file.write(b'{"id": "x", "title": "T"}\n')
        file.truncate(1 << 40)
    _library(tmp_path)
    given = [pipe, tmp_path / "socket", Path("/dev/zero"), Path("/dev/stdin"), holes, good]
    peak, printed = _add(tmp_path, *given, seconds=PROCESSOR)
    listening.close()
    assert peak <= MEMORY
    for path, kind in zip(given[:3], ("a pipe (FIFO)", "a socket", "a device"), strict=True):
        assert f"{path} is {kind}, not a file" in printed
    assert "nearly all holes" in printed
    with Store(tmp_path / "lib") as library:
        assert library.get("good").title == "Behind the pipe"
