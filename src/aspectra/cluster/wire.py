"""Messages between a search and the shards: MessagePack, with arrays as their type, shape and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_128_hexdigest

from aspectra.base.errors import AspectraError
from aspectra.search.conditions.condition import Condition
from aspectra.search.scoring.chain import Scale
from aspectra.search.scoring.phases import Fused
from aspectra.views.protocol import Asked
from aspectra.views.view import Scored

MOST_BYTES = 1 << 30  # of one message
_ARRAY = 1  # MessagePack extension
_KINDS = frozenset("biuf")  # of numbers: an array of anything else is refused

Step = tuple[str, list[Any]]  # name of a function of rows, and its arguments


class GradeColumn(Struct, frozen=True):
    """Grades of a shard's papers for one value of an attribute.

    Attributes:
        attribute, value: what is graded.
        key: of the blob with the (papers,) grades.
        unknown: nothing is known of any paper of the collection.
    """

    attribute: str
    value: str
    key: str
    unknown: bool


class ScoringJob(Struct, frozen=True):
    """What a shard's papers are scored by in one search.

    Attributes:
        generation: name of the collection's generation.
        asked: the probes, looked up, with the collection's statistics.
        allowed: key of the blob with the (papers,) mask of those that may be ranked; "" for all.
        scores: number of a probe -> key of the blob with the shard's scores, which the caller computed.
        floors: number of a probe -> the score of papers without units.
    """

    generation: str
    asked: tuple[Asked, ...]
    allowed: str = ""
    scores: dict[int, str] = {}
    floors: dict[int, float] = {}

    @property
    def keys(self) -> set[str]:
        """Keys of all blobs that it names."""
        return {*filter(None, [self.allowed]), *self.scores.values()}


class Grading(Struct, frozen=True):
    """What rows are graded by.

    Attributes:
        conditions: that grade papers.
        columns: grades for those that are applied, and for what exempts from them.
    """

    conditions: tuple[Condition, ...]
    columns: tuple[GradeColumn, ...]

    @property
    def keys(self) -> set[str]:
        """Keys of all blobs that it names."""
        return {one.key for one in self.columns}


class Call(Struct, frozen=True):
    """One call to a shard.

    Attributes:
        job: encoded.
        grading: encoded; empty where no step grades.
        steps: what makes the rows that are asked for, in order.
        name: of the function.
        args: of it.
        blobs: key -> array; those that the shard may lack.
    """

    job: bytes
    grading: bytes
    steps: list[Step]
    name: str
    args: list[Any]
    blobs: dict[str, bytes]


class CallAnswer(Struct, frozen=True):
    """The answer to a call.

    Attributes:
        value: of the function.
        lacks: keys of blobs that the shard does not hold; the call is to be repeated with them.
        error: what went wrong, why, and the next command; () if nothing did.
    """

    value: Any = None
    lacks: list[str] = []
    error: tuple[str, ...] = ()

    def checked(self) -> Any:
        """The value.

        Raises:
            AspectraError: the shard could not answer.
        """
        if self.error:
            what, why, hint = self.error
            raise AspectraError(what, why=why, hint=hint)
        return self.value


def _encoded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        kind = value.dtype.str
        packed = msgspec.msgpack.encode([kind, value.shape, np.ascontiguousarray(value).tobytes()])
        return msgspec.msgpack.Ext(_ARRAY, packed)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _array(data: bytes | memoryview) -> NDArray[Any]:
    kind, shape, content = msgspec.msgpack.decode(data, type=tuple[str, list[int], bytes])
    found = np.dtype(kind)
    if found.kind not in _KINDS or any(n < 0 for n in shape) or math.prod(shape) > MOST_BYTES:
        raise ValueError(f"an array of {kind} with the shape {shape} is not read")
    return np.frombuffer(content, found).reshape(shape)


def _extension(code: int, data: memoryview) -> Any:
    if code != _ARRAY:
        raise ValueError(f"unknown MessagePack extension {code}")
    return _array(data)


def _typed(kind: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    raise NotImplementedError(kind)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encoded)
_CALLS = msgspec.msgpack.Decoder(Call, ext_hook=_extension)
_JOBS = msgspec.msgpack.Decoder(ScoringJob, ext_hook=_extension, dec_hook=_typed)
_GRADINGS = msgspec.msgpack.Decoder(Grading)
_ANSWERS = msgspec.msgpack.Decoder(CallAnswer, ext_hook=_extension)


def encode(message: ScoringJob | Grading | Call | CallAnswer) -> bytes:
    """A message as bytes."""
    return _ENCODER.encode(message)


def decode_call(data: bytes) -> Call:
    """Inverse of :func:`encode`.

    Raises:
        ValueError: it is too long, or no call.
    """
    if len(data) > MOST_BYTES:
        raise ValueError(f"a message of {len(data):,} bytes is not read")
    return _CALLS.decode(data)


def decode_job(data: bytes) -> ScoringJob:
    """Inverse of :func:`encode`."""
    return _JOBS.decode(data)


def decode_grading(data: bytes) -> Grading:
    """Inverse of :func:`encode`."""
    return _GRADINGS.decode(data)


def decode_answer(data: bytes) -> CallAnswer:
    """Inverse of :func:`encode`."""
    return _ANSWERS.decode(data)


def blob(array: NDArray[Any]) -> tuple[str, bytes]:
    """The key of an array, which follows from its content, and the array as bytes."""
    data = _ENCODER.encode(array)
    return xxh3_128_hexdigest(data), data


def array_of(data: bytes) -> NDArray[Any]:
    """Inverse of :func:`blob`."""
    found = msgspec.msgpack.decode(data, ext_hook=_extension)
    if not isinstance(found, np.ndarray):
        raise ValueError("a blob that is no array")
    return found


def rows_to(rows: Fused, first: int) -> list[Any]:
    """Rows as a plain value; ``first`` is the position of the shard's first paper in the collection."""
    columns = (rows.raw, rows.standardised, rows.scales, rows.grades, rows.moves)
    return [rows.papers + first, rows.scores, *columns]


def rows_from(value: Sequence[Any]) -> Fused:
    """Inverse of :func:`rows_to`."""
    papers, scores, raw, standardised, scales, grades, moves = value
    held = [None if one is None else Scale(*one) for one in scales]
    return Fused(papers, scores, raw, standardised, held, grades, moves)


def scored_to(scored: Scored, first: int) -> list[Any]:
    """Scored papers as a plain value, without the units that decided."""
    return [scored.papers + first, scored.scores]
