"""The side of a shard: the messages it gets, scores of its own papers, and rows kept for the next call."""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from xxhash import xxh3_64_hexdigest, xxh3_128_hexdigest

from aspectra.base.errors import AspectraError
from aspectra.base.version import __version__
from aspectra.papers.library.store import Store
from aspectra.search.conditions.attributes.labels.lensed import know_lenses
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.condition import Condition, Exemption
from aspectra.search.conditions.grading import Grader, Known
from aspectra.search.scoring.chain import Scale
from aspectra.search.scoring.phases import Fused, Held, Part
from aspectra.views.dense.matching import products
from aspectra.views.encoders.protocol import Encoder, load_encoder
from aspectra.views.index.opened import Index
from aspectra.views.protocol import Asked
from aspectra.views.view import Floats, Positions, Scored

# Messages between a search and the shards: MessagePack, with arrays as their type, shape and bytes.

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
_CALL_DECODER = msgspec.msgpack.Decoder(Call, ext_hook=_extension)
_JOB_DECODER = msgspec.msgpack.Decoder(ScoringJob, ext_hook=_extension, dec_hook=_typed)
_GRADING_DECODER = msgspec.msgpack.Decoder(Grading)
_ANSWER_DECODER = msgspec.msgpack.Decoder(CallAnswer, ext_hook=_extension)


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
    return _CALL_DECODER.decode(data)


def decode_answer(data: bytes) -> CallAnswer:
    """Inverse of :func:`encode`."""
    return _ANSWER_DECODER.decode(data)


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


def rows_from(value: Sequence[Any]) -> Fused:
    """Rows from the plain value that a shard answers with."""
    papers, scores, raw, standardised, scales, grades, moves = value
    held = [None if one is None else Scale(*one) for one in scales]
    return Fused(papers, scores, raw, standardised, held, grades, moves)


# What a shard does with them.

_GENERATIONS = 2  # kept open: searches that began before an index are finished
_JOBS = 8  # whose columns and rows are kept
_ROOM = 1 << 29  # bytes of blobs


def bare_papers(index: Index, asked: Asked) -> NDArray[np.bool_] | None:
    """(papers,) True for papers that a view gives its lowest score, as they have no unit; None where none is.

    Which score is the lowest is decided by all papers of a collection.
    """
    view, probe = index.view(asked.probe.view), asked.probe
    if view.units is None or view.facts.kind != "dense" or probe.matching or probe.reverse:
        return None
    bare: NDArray[np.bool_] = np.diff(np.asarray(view.units.offsets)) == 0
    return bare if bare.any() else None


def arithmetic() -> dict[str, str]:
    """``version`` of this program, and ``sums``, a hash of products, functions and sums.

    Their last bits depend on the kernels that the processor is given: where they differ, so do scores.
    """
    draw = np.random.default_rng(0)
    rows, queries = (draw.normal(size=(n, 384)).astype(np.float32) for n in (256, 8))
    cells = products(queries, rows)
    found = (cells, np.exp(cells / 384), np.log1p(np.abs(cells)), cells.mean(axis=1), cells.std(axis=1))
    content = b"".join(np.ascontiguousarray(one).tobytes() for one in found)
    return {"version": __version__, "sums": xxh3_64_hexdigest(content)}


class _Columns(Grader):
    """Grades that the caller computed, of all papers of one shard."""

    def __init__(self, index: Index, grading: Grading, blobs: Mapping[str, bytes]) -> None:
        super().__init__(index)
        self.conditions = grading.conditions
        self._sent = {
            (one.attribute, one.value): Known(
                ATTRIBUTES.get(one.attribute), array_of(blobs[one.key]), "unknown" if one.unknown else ""
            )
            for one in grading.columns
        }

    def known(self, stated: Condition | Exemption) -> Known:
        return self._sent[stated.attribute, stated.value]


class _Job(Part):
    """The papers of a shard under one search, with the rows that were made of them last."""

    def __init__(self, index: Index, job: ScoringJob, blobs: Mapping[str, bytes]) -> None:
        mask = array_of(blobs[job.allowed]) if job.allowed else None
        allowed = None if mask is None else np.unpackbits(mask, count=len(index)).view(np.bool_)
        super().__init__(index, job.asked, allowed)
        self.index, self._floors = index, job.floors
        self.graded_by, self._grades = b"", _Columns(index, Grading((), ()), {})
        self._columns |= {number: array_of(blobs[key]) for number, key in job.scores.items()}
        self._made: tuple[list[Step], Held] | None = None

    def _scores(self, numbers: Sequence[int]) -> list[Floats]:
        new = [number for number in numbers if number not in self._columns]
        super()._scores(numbers)
        for number in new:
            bare = bare_papers(self.index, self._asked[number]) if number in self._floors else None
            if bare is not None:
                self._columns[number][bare] = self._floors[number]
        return [self._columns[number] for number in numbers]

    def floors(self, numbers: Sequence[int]) -> list[float | None]:
        """Per probe the lowest score of a paper with units; None without one."""
        out = []
        for scored, number in zip(self._index.score([self._asked[n] for n in numbers]), numbers, strict=True):
            bare = bare_papers(self.index, self._asked[number])
            some = scored.scores if bare is None else scored.scores[~bare]
            out.append(float(some.min()) if len(some) else None)
        return out

    def grade_by(self, encoded: bytes, grades: _Columns) -> None:
        """Grade papers by other conditions from now on: rows that were made by those before are dropped."""
        self.graded_by, self._grades, self._made = encoded, grades, None

    def graded_here(self, rows: Held, numbers: list[int], worth: float, field: float) -> Held:
        """See :meth:`Part.graded`."""
        return self.graded(self._grades, self._grades.conditions, numbers, rows, worth, field)

    def made(self, steps: list[Step]) -> Held:
        """The rows that some steps make; those of the last call are gone on with."""
        known, rows = ([], None) if self._made is None else self._made
        if rows is None or steps[: len(known)] != known:
            known, rows = [], None
        for name, args in steps[len(known) :]:
            rows = _STEPS[name](self, rows, *args)
        if rows is None:
            raise ValueError("rows without a first step")
        self._made = steps, rows
        return rows


_STEPS: dict[str, Callable[..., Held]] = {
    "rows": lambda part, _, weights, scales: part.rows(weights, {n: Scale(*s) for n, s in scales.items()}),
    "sums": lambda part, _, weights, lowest: part.sums(weights, lowest),
    "contrasted": lambda _, rows, weights, slope: rows.contrasted(weights, slope),
    "moved": lambda _, rows, by: rows.moved(by),
    "graded": _Job.graded_here,
}


class ShardSearch:
    """Scores the papers of one shard; every call follows from its arguments alone, so it may be repeated.

    Args:
        folder: of the collection.
        name: of the shard, as in ``shards/2``.
        load: makes an encoder from its specification.
    """

    def __init__(self, folder: Path, name: str, load: Callable[[str], Encoder] = load_encoder) -> None:
        self._library, self._name, self._load = Store(folder, partial=True), name, load
        self._opened: OrderedDict[str, Index] = OrderedDict()
        self._jobs: OrderedDict[bytes, _Job] = OrderedDict()
        self._blobs: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def call(self, data: bytes) -> bytes:
        """The answer to a call, both as bytes; see :class:`Call` and :class:`CallAnswer`."""
        with self._lock:
            try:
                return encode(self._answer(decode_call(data)))
            except AspectraError as error:
                return encode(CallAnswer(error=(error.what, error.why, error.hint)))
            except Exception as error:  # whatever it is, the caller has to say which shard it was
                what, why = f"the shard {self._name} cannot answer", f"{type(error).__name__}: {error}"
                return encode(CallAnswer(error=(what, why, "aspectra cluster check")))

    def close(self) -> None:
        """Close its files."""
        for index in self._opened.values():
            index.close()
        self._library.close()

    def _answer(self, call: Call) -> CallAnswer:
        if call.name == "facts":
            return CallAnswer({"shard": self._name, "process": os.getpid(), **arithmetic()})
        for key, data in call.blobs.items():
            self._blobs[key] = data
            self._blobs.move_to_end(key)
        job = self._jobs.get(call.job)
        if job is None:
            told = _JOB_DECODER.decode(call.job)
            if lacking := told.keys - self._blobs.keys():
                return CallAnswer(lacks=sorted(lacking))
            job = self._jobs[call.job] = _Job(self._index(told.generation), told, self._blobs)
        self._jobs.move_to_end(call.job)
        if call.grading not in (b"", job.graded_by):
            grading = _GRADING_DECODER.decode(call.grading)
            if lacking := grading.keys - self._blobs.keys():
                return CallAnswer(lacks=sorted(lacking))
            job.grade_by(call.grading, _Columns(job.index, grading, self._blobs))
        while len(self._jobs) > _JOBS:
            self._jobs.popitem(last=False)
        while sum(map(len, self._blobs.values())) > _ROOM:
            self._blobs.popitem(last=False)
        return CallAnswer(_CALLS[call.name](job, call.steps, *call.args))

    def _index(self, generation: str) -> Index:
        if generation not in self._opened:
            know_lenses(self._library)
            generations = self._library.generations
            folder = generations.root / generation
            number = [*generations.manifest(folder)["shards"]].index(self._name)
            self._opened[generation] = Index(self._library, folder, self._load, number)
            while len(self._opened) > _GENERATIONS:
                _, index = self._opened.popitem(last=False)
                self._jobs = OrderedDict((k, job) for k, job in self._jobs.items() if job.index is not index)
                index.close()
        self._opened.move_to_end(generation)
        return self._opened[generation]


def _survey(job: _Job, _: Any, numbers: list[int], sample: Positions) -> list[Any]:
    inside, own = job.index.own(sample)
    out = []
    for one in job.survey(numbers, own):
        scores = np.full(len(sample), np.nan, np.float32)
        scores[inside] = one.sample
        out.append([scores, one.highest])
    return out


def _rows(job: _Job, rows: Fused) -> list[Any]:
    """Rows as a plain value, which :func:`rows_from` reads; papers by their positions in the collection."""
    columns = (rows.raw, rows.standardised, rows.scales, rows.grades, rows.moves)
    return [rows.papers + job.index.papers.start, rows.scores, *columns]


def _tops(job: _Job, scored: Sequence[Scored]) -> list[Any]:
    """Scored papers as a plain value, without the units that decided."""
    return [[one.papers + job.index.papers.start, one.scores] for one in scored]


_CALLS: dict[str, Callable[..., Any]] = {
    "floors": lambda job, _, numbers: job.floors(numbers),
    "lowest": lambda job, _, numbers: job.lowest(numbers),
    "survey": _survey,
    "best": lambda job, _, numbers, k, few: _tops(job, job.best(numbers, k, few)),
    "listed": lambda job, _, k: _tops(job, job.listed(k, job.index.id_order)),
    "len": lambda job, steps: len(job.made(steps)),
    "fused": lambda job, steps: _rows(job, job.made(steps).fused()),
    "best_rows": lambda job, steps, k: _rows(job, job.made(steps).best(k, job.index.id_order)),
    "of": lambda job, steps, papers: _rows(job, job.made(steps).of(job.index.own(papers)[1])),
    "top": lambda job, steps, among: job.made(steps).top(among),
    "bounds": lambda job, steps: job.made(steps).bounds(),
    "above": lambda job, steps, number, scores: job.made(steps).above(number, scores),
    "before": lambda job, steps, score, rank: job.made(steps).before(score, rank, job.index.id_order),
}
