"""The body of an answer: decompressed here, and counted while it is."""

from __future__ import annotations

import gzip
import zlib

import pytest

from aspectra.llm.chat import Malformed
from aspectra.llm.client.openai_compatible import LARGEST_BODY, Body


@pytest.mark.parametrize(
    ("coding", "packed"), [("gzip", gzip.compress(b"{}", mtime=0)), ("deflate", zlib.compress(b"{}"))]
)
def test_compressed_in_parts(coding: str, packed: bytes) -> None:
    body = Body(coding, "example.org")
    for at in range(len(packed)):
        body.add(packed[at : at + 1])
    assert body.whole() == b"{}"


def test_a_bomb_is_given_up_before_it_is_whole() -> None:
    packed = gzip.compress(bytes(10 * LARGEST_BODY), mtime=0)
    body = Body("gzip", "example.org")
    with pytest.raises(Malformed) as failure:
        body.add(packed)
    assert "16 MiB" in failure.value.why
    assert body._size <= LARGEST_BODY + 65_536


@pytest.mark.parametrize("packed", [gzip.compress(b"{}", mtime=0)[:-4], b"no gzip"])
def test_damaged(packed: bytes) -> None:
    body = Body("gzip", "example.org")

    def read() -> None:
        body.add(packed)
        body.whole()

    with pytest.raises(Malformed):
        read()


def test_a_coding_that_was_not_asked_for() -> None:
    with pytest.raises(Malformed, match="not asked for"):
        Body("br", "example.org")
