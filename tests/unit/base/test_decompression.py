"""Decompression: whole, damaged, and bounded; every byte that is made is counted."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
from collections.abc import Callable

import pytest

from aspectra.base.decompression import (
    DAMAGE,
    Bounds,
    Decompressor,
    Expansion,
    compression_of,
    decompressed,
    zstd,
)
from aspectra.base.errors import BadInput

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd.compress,
}
PLAIN = bytes(range(256)) * 1000 + b"words of a paper\n" * 20_000
KINDS = sorted(PACK)


def read(packed: bytes, bounds: Bounds = Bounds()) -> bytes:
    return decompressed(io.BytesIO(packed), compression_of(packed[:6]), bounds, "x.gz").read()


@pytest.mark.parametrize("kind", KINDS)
def test_members_padding_and_rereading(kind: str) -> None:
    packed = PACK[kind](PLAIN)
    assert compression_of(packed[:6]) == kind
    assert read(packed) == PLAIN
    assert read(packed + PACK[kind](b"") + PACK[kind](b"tail")) == PLAIN + b"tail"
    file = decompressed(io.BytesIO(packed + b"\0" * 100), kind, Bounds(), "x")
    assert (file.read(10), file.seek(0), file.read()) == (PLAIN[:10], 0, PLAIN)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_cut_off_is_damage_each_time(kind: str, share: float) -> None:
    packed = PACK[kind](PLAIN)
    file = decompressed(io.BytesIO(packed[: int(len(packed) * share)]), kind, Bounds(), "x")
    for _ in range(2):  # not taken for the end when it is read again
        with pytest.raises(DAMAGE):
            file.read()


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_is_stopped_at_the_ratio(kind: str) -> None:
    packed = PACK[kind](bytes(8 << 20))
    blocks: list[int] = []
    with pytest.raises(BadInput, match="expands more than 10 times") as failure:
        blocks += map(len, Decompressor(kind, Bounds(ratio=10, free=1 << 20), "a bomb.zst").feed(packed))
    assert max(blocks) <= 65_536
    assert sum(blocks) <= 1 << 20
    assert "'a bomb.zst'" in failure.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_is_bounded_too(kind: str) -> None:
    with pytest.raises(BadInput, match="too much") as failure:
        read(PACK[kind](PLAIN), Bounds(size=100_000))
    assert "100,000 bytes" in failure.value.why


def test_small_files_may_repeat_themselves() -> None:
    assert len(read(gzip.compress(bytes(1 << 20)))) == 1 << 20


def test_a_large_window_is_refused() -> None:
    options = {
        zstd.CompressionParameter.window_log: 30,
        zstd.CompressionParameter.compression_level: 1,
        zstd.CompressionParameter.enable_long_distance_matching: 1,
    }
    compressor = zstd.ZstdCompressor(options=options)
    packed = compressor.compress(b"x" * 1000) + compressor.flush(zstd.ZstdCompressor.FLUSH_BLOCK)
    with pytest.raises(BadInput, match="too much memory") as failure:
        read(packed + compressor.flush())
    assert "--long" in failure.value.hint


def test_many_small_members_take_no_memory() -> None:
    packed = gzip.compress(b"a") * 50_000
    tracemalloc.start()
    count = sum(map(len, Decompressor("gzip", Bounds(), "x").feed(packed)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 50_000
    assert peak < 1 << 20


def test_expansion_counts_both_ends() -> None:
    count = Expansion(Bounds(size=1000, ratio=2, free=10), "x")
    count.read += 100
    count.grow(200)
    with pytest.raises(BadInput, match="2 times"):
        count.grow(1)
