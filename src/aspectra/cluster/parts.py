"""The side of the caller: parts of a search, and rows, that stand for those in the shards' processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import AspectraError
from aspectra.base.values import replace
from aspectra.cluster.shard import (
    Call,
    GradeColumn,
    Grading,
    ScoringJob,
    Step,
    bare_papers,
    blob,
    decode_answer,
    encode,
    rows_from,
)
from aspectra.search.conditions.condition import Condition, Exemption
from aspectra.search.conditions.grading import Grader
from aspectra.search.plan import Plan
from aspectra.search.query import Query
from aspectra.search.scoring.chain import Scale
from aspectra.search.scoring.phases import Fused, Held, Mask, Part, Survey, each
from aspectra.search.searcher import Searcher
from aspectra.views.index.opened import Index
from aspectra.views.protocol import Asked, WordView
from aspectra.views.view import Floats, Positions, Scored

Wire = Callable[[bytes], bytes]  # a call to one shard, see aspectra.cluster.shard

_OF_THE_CALLER = ("graph", "notes")  # kinds of views that are of the whole collection


class Shards:
    """The shards that score the papers of one generation; safe to use from several threads.

    Args:
        index: the generation of the collection, whole.
        wires: name of a shard, as in ``shards/2`` -> what calls it; of all shards.

    Attributes:
        calls: how many were sent.
    """

    def __init__(self, index: Index, wires: Mapping[str, Wire]) -> None:
        self.index, self.calls = index, 0
        self._wires = [wires[name] for name in index.manifest["shards"]]
        counts = [0, *np.cumsum([*index.manifest["shards"].values()]).tolist()]
        self.places = [slice(low, high) for low, high in pairwise(counts)]
        self._sent: list[set[str]] = [set() for _ in self._wires]
        self._lock = threading.Lock()

    def parted(self, asked: Sequence[Asked], allowed: Mask) -> Sequence[Part]:
        """The parts of a search, see :class:`~aspectra.search.scoring.engine.Engine`."""
        index = self.index
        asked = [self._with_statistics(one) for one in asked]
        whole = [n for n, one in enumerate(asked) if index.facts(one.probe.view).kind in _OF_THE_CALLER]
        answers = index.score([asked[n] for n in whole])
        scores = {n: one.scores for n, one in zip(whole, answers, strict=True)}
        parts = [RemotePart(self, number, asked, allowed, scores) for number in range(len(self._wires))]
        low = [n for n, one in enumerate(asked) if n not in scores and bare_papers(index, one) is not None]
        if low:
            found = zip(*each(parts, lambda part: part.call("floors", low)), strict=True)
            least = [min((one for one in of if one is not None), default=0.0) for of in found]
            for part in parts:
                part.job = replace(part.job, floors=dict(zip(low, least, strict=True)))
        return parts

    def _with_statistics(self, asked: Asked) -> Asked:
        view = self.index.view(asked.probe.view)
        if asked.statistics is not None or asked.probe.reverse or not isinstance(view, WordView):
            return asked
        words = {*asked.words, *(w for seed in asked.documents for some, _ in seed for w in some)}
        return replace(asked, statistics=view.statistics(words))

    def call(self, number: int, call: Call, blobs: Mapping[str, bytes]) -> Any:
        """The value that a shard answers with.

        Raises:
            AspectraError: it cannot be reached, or cannot answer.
        """
        with self._lock:
            new = blobs.keys() - self._sent[number]
            self._sent[number] |= new
        while True:
            with self._lock:
                self.calls += 1
            request = replace(call, blobs={key: blobs[key] for key in new})
            answer = decode_answer(self._wires[number](encode(request)))
            value = answer.checked()
            if not answer.lacks:
                return value
            new = set(answer.lacks)


class RemotePart(Part):
    """A part whose papers are scored by their shard.

    Args:
        shards: all of them.
        number: of this one.
        asked: the probes, looked up, with the collection's statistics.
        allowed: (papers of the collection,) True where a paper may be ranked; None where every paper may.
        scores: number of a probe -> (papers of the collection,) scores that the caller computed.
    """

    elsewhere = True

    def __init__(
        self,
        shards: Shards,
        number: int,
        asked: Sequence[Asked],
        allowed: Mask,
        scores: Mapping[int, Floats],
    ) -> None:
        self._shards, self._number, self._place = shards, number, shards.places[number]
        super().__init__(shards.index, asked, None)
        self._blobs: dict[str, bytes] = {}
        self._mask = None if allowed is None else allowed[self._place]
        self.job = ScoringJob(
            shards.index.folder.name,
            tuple(asked),
            "" if self._mask is None or self._mask.all() else self._blob(np.packbits(self._mask)),
            {n: self._blob(one[self._place]) for n, one in scores.items()},
        )
        self._encoded: tuple[ScoringJob, bytes] | None = None

    def _blob(self, array: NDArray[Any]) -> str:
        key, self._blobs[key] = blob(array)
        return key

    def call(self, name: str, *args: Any, steps: Sequence[Step] = (), grading: Grading | None = None) -> Any:
        """The shard's answer, see :data:`~aspectra.cluster.shard._CALLS`."""
        if self._encoded is None or self._encoded[0] is not self.job:
            self._encoded = self.job, encode(self.job)
        graded = b"" if grading is None else encode(grading)
        keys = self.job.keys | (set() if grading is None else grading.keys)
        call = Call(self._encoded[1], graded, [*steps], name, [*args], {})
        return self._shards.call(self._number, call, {key: self._blobs[key] for key in keys})

    @property
    def papers(self) -> int:
        """See :class:`Part`, as are the others; no array of all papers is made for a part."""
        return int(self._place.stop - self._place.start)

    @property
    def ranked(self) -> int:
        return self.papers if self._mask is None else int(np.count_nonzero(self._mask))

    def own(self, rows: Fused) -> Fused:
        inside = (self._place.start <= rows.papers) & (rows.papers < self._place.stop)
        return rows.take(np.flatnonzero(inside))

    def survey(self, numbers: Sequence[int], sample: Positions) -> list[Survey]:
        return [Survey(*one) for one in self.call("survey", [*numbers], sample)]

    def lowest(self, numbers: Sequence[int]) -> list[float | None]:
        return list(self.call("lowest", [*numbers]))

    def rows(self, weights: Mapping[int, float], scales: Mapping[int, Scale]) -> Held:
        return RemoteRows(self, [("rows", [dict(weights), dict(scales)])])

    def sums(self, weights: Sequence[float], lowest: Sequence[float]) -> Held:
        return RemoteRows(self, [("sums", [[*weights], [*lowest]])])

    def graded(
        self,
        grader: Grader,
        conditions: Sequence[Condition],
        numbers: Sequence[int],
        rows: Held,
        worth: float,
        field: float,
    ) -> Held:
        """See :class:`Part`; rows that lie with the shard are graded there."""
        if not isinstance(rows, RemoteRows):
            return super().graded(grader, conditions, numbers, rows, worth, field)
        columns = []
        for number in numbers:
            named: list[Condition | Exemption] = [conditions[number], *conditions[number].unless]
            for stated in named:
                key = self._blob(grader.grades(stated)[self._place])
                unknown = bool(grader.known(stated).missing)
                columns.append(GradeColumn(stated.attribute, stated.value, key, unknown))
        step: Step = ("graded", [[*numbers], worth, field])
        grading = Grading(tuple(conditions), tuple(columns))
        return replace(rows, steps=[*rows.steps, step], grading=grading)

    def best(self, numbers: Sequence[int], k: int, few: bool = False) -> list[Scored]:
        return [Scored(*one) for one in self.call("best", [*numbers], k, few)]

    def listed(self, k: int, id_order: NDArray[np.int32]) -> list[Scored]:
        return [Scored(*one) for one in self.call("listed", k)]


class RemoteRows(Struct, frozen=True):
    """Rows that lie with a shard: the steps that make them; see :class:`Held`.

    Attributes:
        part: that holds the papers.
        steps: what makes the rows.
        grading: what they were graded by, or None.
    """

    part: RemotePart
    steps: list[Step]
    grading: Grading | None = None

    elsewhere: bool = True

    def _call(self, name: str, *args: Any) -> Any:
        return self.part.call(name, *args, steps=self.steps, grading=self.grading)

    def _with(self, name: str, *args: Any) -> RemoteRows:
        return replace(self, steps=[*self.steps, (name, [*args])])

    def __len__(self) -> int:
        return int(self._call("len"))

    def fused(self) -> Fused:
        return rows_from(self._call("fused"))

    def best(self, k: int, id_order: NDArray[np.int32]) -> Fused:
        return rows_from(self._call("best_rows", k))

    def of(self, papers: Positions) -> Fused:
        return rows_from(self._call("of", papers))

    def top(self, among: int) -> NDArray[np.floating]:
        return np.asarray(self._call("top", among))

    def bounds(self) -> tuple[float, float]:
        low, high = self._call("bounds")
        return low, high

    def above(self, number: int, scores: Floats) -> NDArray[np.int64]:
        return np.asarray(self._call("above", number, scores))

    def before(self, score: float, rank: int, id_order: NDArray[np.int32]) -> int:
        return int(self._call("before", score, rank))

    def moved(self, by: float) -> Held:
        return self._with("moved", by)

    def contrasted(self, weights: Mapping[int, float], slope: float) -> Held:
        return self._with("contrasted", dict(weights), slope)


def differences(alone: Searcher, elsewhere: Searcher, sample: int) -> tuple[int, list[str]]:
    """Compare what two searchers of one collection answer.

    Args:
        alone: reads the collection by itself.
        elsewhere: whose papers are scored by the shards.
        sample: papers of the fixed sample whose titles are searched for, and which are seeds.

    Returns:
        (number of answers, a line on each that differs).
    """
    index, out, compared = alone.index, [], 0
    for at in index.sample[:sample].tolist():
        paper = alone.library.get(index.ids[at])
        asked = [(planner, Query(paper.title)) for planner in ("bm25", "dense", "hybrid") if paper.title]
        for planner, query in (*asked, ("hybrid", Query(seeds=(paper.id,)))):
            try:
                plan = alone.plan(query, planner)
            except AspectraError:  # a view that this index lacks, a paper without a text
                continue
            compared += 1
            if _answer(alone, plan) != _answer(elsewhere, plan):
                out.append(f"{planner}: {query.text or ', '.join(query.seeds)}")
    return compared, out


def _answer(searcher: Searcher, plan: Plan) -> dict[str, Any]:
    found = searcher.run(plan, explain=True).to_dict(explain=True)
    for timed in (found, *found.get("steps", ())):
        timed.pop("seconds", None)
    return found
