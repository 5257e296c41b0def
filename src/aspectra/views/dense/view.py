"""Dense views: exact search over stored vectors, whole abstracts or units."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import NoSuchPaper, UsageError, ViewMismatch
from aspectra.base.values import replace
from aspectra.views.arrays import load_array
from aspectra.views.dense.matching import Matches, similarities, widen
from aspectra.views.dense.reverse import nearest_in_seed
from aspectra.views.dense.unit_batch import Gathered
from aspectra.views.encoders.protocol import Encoder
from aspectra.views.lexical.reverse import Moments
from aspectra.views.units import Units
from aspectra.views.view import Floats, Positions, Probe, Scored, top_positions

__all__ = ["DenseView", "QueryEncoder"]

# A unit is about free words from this cosine on (a sentence and a phrase on its subject), give or take.
_ABOUT, _ABOUT_WIDTH = 0.3, 0.05
_Part = tuple[tuple[str, ...], str]  # roles and focus: which units take part
_ALL: _Part = ((), "")
_KEPT_PARTS = 6  # of the papers that every query asks for: at most as large together as all their units
_BLOCK = 4096  # rows converted to float32 at a time: 6 MB at 384 dimensions


class QueryEncoder:
    """Query texts to vectors, loading the encoder at the first need and remembering recent texts.

    Args:
        load: makes the encoder.
    """

    def __init__(self, load: Callable[[], Encoder]) -> None:
        self._load = load
        self._encoder: Encoder | None = None
        self._recent: OrderedDict[tuple[str, str], tuple[Floats, bool]] = OrderedDict()
        self._lock = Lock()

    @property
    def encoder(self) -> Encoder:
        """The encoder, loaded."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            return self._encoder

    def __call__(self, text: str, instruction: str = "") -> Floats:
        """(dimensions,) vector of a query text."""
        return self._encoded(text, instruction)[0]

    def cuts(self, text: str, instruction: str = "") -> bool:
        """Whether a query text is longer than the encoder reads, so that its end was left out."""
        return self._encoded(text, instruction)[1]

    def _encoded(self, text: str, instruction: str) -> tuple[Floats, bool]:
        key = (text, instruction)
        encoder = self.encoder
        with self._lock:
            if (known := self._recent.get(key)) is not None:
                self._recent.move_to_end(key)
                return known
        encoded = encoder.encode([text], kind="query", instruction=instruction)
        found = encoded.vectors[0], bool(encoded.truncated.any())
        with self._lock:
            self._recent[key] = found
            if len(self._recent) > 256:
                self._recent.popitem(last=False)
        return found


class DenseView:
    """Exact scores by one matrix product.

    Args:
        name: name of the view.
        folder: holds ``vectors.npy``, (papers or units, dimensions).
        ids: paper id -> position.
        id_order: rank of each paper's id, for ties.
        query: encodes query texts; vectors of seeds are those stored.
        units: units where a paper has more than one vector, else None.
        role_weights: roles -> (units,) how far each unit has one of them, 0 to 1; None where no lens says.
        unit_length: whether stored vectors have length 1 (or 0, where a unit has none), so that their inner
            product is their cosine.
        moments: what each candidate scores on average in reverse, or None where that was not computed.
        other: name -> another dense view, to ask with its vectors.
        stand_in: name of the view whose vectors ask for a paper that has no units here, or "".
        encoder_key: fingerprint of the encoder that made the vectors.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        ids: dict[str, int],
        id_order: NDArray[np.int32],
        query: QueryEncoder,
        units: Units | None = None,
        *,
        role_weights: Callable[[tuple[str, ...]], Floats] | None = None,
        unit_length: bool = True,
        moments: Callable[[], Moments] | None = None,
        other: Callable[[str], DenseView] | None = None,
        stand_in: str = "",
        encoder_key: str = "",
    ) -> None:
        self.name = name
        self.units = units
        self._role_weights = role_weights
        self._moments = moments
        self._other = other
        self._stand_in = stand_in
        self.encoder_key = encoder_key
        self.cheap = units is None
        self.unit_length = unit_length
        self.query = query
        self._ids = ids
        self._id_order = id_order
        self._kept: dict[_Part, Gathered] = {}
        self.vectors = load_array(folder / "vectors.npy")

    def query_vectors(self, probe: Probe) -> Floats:
        """(m, dimensions): the probe's text encoded, and the stored vectors of its seeds."""
        parts = []
        if probe.text.strip():
            parts.append(self.query(probe.text, probe.instruction)[None, :])
        source = self._source(probe)
        parts += [source.rows_of(seed) for seed in probe.seeds]
        joined: Floats = np.concatenate(parts).astype(np.float32, copy=False)
        return joined

    def stands_in(self, paper_id: str) -> str:
        """Name of the view that asks for a paper without units here, "" where it has its own."""
        at = self._ids.get(paper_id)
        if at is None or self.units is None or self._other is None:
            return ""
        return "" if self.units.offsets[at + 1] > self.units.offsets[at] else self._stand_in

    def rows_of(self, paper_id: str) -> NDArray[np.floating]:
        """(m, dimensions) stored vectors of a paper, or of what stands in for one without units.

        Raises:
            NoSuchPaper: it is not in the generation.
        """
        if paper_id not in self._ids:
            raise NoSuchPaper(f"{paper_id!r} is not in the index", hint="aspectra index")
        at = self._ids[paper_id]
        if self.units is None:
            return np.asarray(self.vectors[at : at + 1])
        if self._other is not None and (name := self.stands_in(paper_id)):
            return self._other(name).rows_of(paper_id)
        return np.asarray(self.vectors[self.units.offsets[at] : self.units.offsets[at + 1]])

    def _source(self, probe: Probe) -> DenseView:
        """The view whose vectors of the seeds are asked."""
        if probe.asking in ("", self.name):
            return self
        if self._other is None:
            raise ViewMismatch(f"{self.name} cannot be asked with the vectors of {probe.asking}")
        found = self._other(probe.asking)
        if found.encoder_key != self.encoder_key:
            raise ViewMismatch(
                f"{self.name} cannot be asked with the vectors of {found.name}",
                why="another encoder made them",
            )
        return found

    def _reversed(self, probe: Probe) -> Floats:
        """(papers,) mean over the seeds of how near candidates find them; NaN: nothing to ask with."""
        if self._moments is None:
            raise ViewMismatch(
                f"the view {self.name} cannot be asked in reverse",
                why="what its papers score on average was not computed",
                hint="aspectra index --rebuild, then ask an abstract or a chunk view",
            )
        if probe.asking not in ("", self.name):
            raise UsageError(f"candidates ask {self.name} with its own vectors, not with {probe.asking}")
        moments = self._moments()
        scores = [
            moments.standardise(nearest_in_seed(self.vectors, self.units, widen(self.rows_of(seed))))
            for seed in probe.seeds
        ]
        return scores[0] if len(scores) == 1 else np.mean(scores, axis=0, dtype=np.float32)

    def compare(self, rows: NDArray[np.floating], query: Floats, probe: Probe) -> Floats:
        """(rows, m) scores of stored vectors against query vectors, under the probe's metric."""
        block = rows.astype(np.float32, copy=False)
        # One query: matrix times vector runs at the speed of memory, matrix times matrix does not.
        product: Floats = (block @ query[0])[:, None] if len(query) == 1 else block @ query.T
        if probe.metric == "cosine":
            if not self.unit_length:
                product = product / np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-12)
                product = product / np.maximum(np.linalg.norm(query, axis=1), 1e-12)
            return product
        if probe.metric == "l2":
            square = np.einsum("ij,ij->i", block, block)[:, None]
            square = square - 2.0 * product + np.einsum("ij,ij->i", query, query)[None, :]
            distance: Floats = np.sqrt(np.maximum(square, 0.0)).astype(np.float32)
            return -distance
        return product

    def _unit_scores(self, probe: Probe, rows: Positions | None) -> Floats:
        """Best score over the query vectors; for a paper-level view their mean is asked instead."""
        query = self.query_vectors(probe)
        if self.units is None and len(query) > 1:
            query = query.mean(axis=0, keepdims=True)
            norm = float(np.linalg.norm(query))
            query = query / norm if norm and probe.metric == "cosine" else query
        if rows is None and self.vectors.dtype == np.float32:
            scores = self.compare(self.vectors, query, probe)
            return scores[:, 0] if len(query) == 1 else scores.max(axis=1)
        if self.unit_length and probe.metric == "cosine":
            cells = similarities(query, self.vectors if rows is None else self.vectors[rows])
            best: Floats = cells.max(axis=0)
            best[np.isneginf(best)] = 0.0  # a unit without a vector is near nothing
            return best
        count = len(self.vectors) if rows is None else len(rows)
        out = np.empty(count, dtype=np.float32)
        for start in range(0, count, _BLOCK):
            end = min(start + _BLOCK, count)
            block = self.vectors[start:end] if rows is None else self.vectors[rows[start:end]]
            out[start:end] = self.compare(widen(block), query, probe).max(axis=1)
        return out

    def shares(self, probe: Probe) -> bool:
        """Whether a probe can be asked together with others: each paper's units, compared one by one."""
        plain = not probe.matching and not probe.reverse and probe.metric == "cosine"
        return self.units is not None and self.unit_length and plain

    def score_many(
        self, probes: Sequence[Probe], *, keep_units: bool = False
    ) -> list[tuple[Scored, Floats | None]]:
        """Scores of all papers for probes that :meth:`shares` allows, in one pass; no deciding units.

        Args:
            probes: each as for :meth:`score`.
            keep_units: hand out (units,) scores too.
        """
        if self.units is None:
            raise UsageError(f"{self.name} has one vector a paper", why="there is nothing to share")
        asked = [self.query_vectors(probe) for probe in probes]
        cuts = np.cumsum([0, *(len(q) for q in asked)])
        cells = similarities(np.concatenate(asked), self.vectors)
        cells[np.isneginf(cells)] = 0.0  # a unit without a vector scores as it does alone
        values = [cells[low:high].max(axis=0) for low, high in pairwise(cuts)]
        offsets, out = np.asarray(self.units.offsets), []
        full = np.flatnonzero(np.diff(offsets))
        for number, probe in enumerate(probes):
            if probe.pooling == "max":  # without the unit that decided, which takes longer to find
                pooled = np.full(len(offsets) - 1, -np.inf, dtype=np.float32)
                if len(full):
                    pooled[full] = np.maximum.reduceat(values[number], offsets[:-1][full])
            else:
                pooled, _ = Units.pool(values[number], offsets, probe.pooling)
            scored = Scored(np.arange(len(pooled)), _floor(pooled))
            out.append((scored, values[number] if keep_units else None))
        return out

    def _weights(self, probe: Probe, rows: Positions) -> Floats:
        """(rows,) how much each unit takes part, 0 to 1."""
        weights = np.ones(len(rows), dtype=np.float32)
        if probe.roles:
            if self._role_weights is None:
                raise ViewMismatch(
                    f"the view {self.name} does not know roles",
                    why="only sentences have them, seen through the lens roles",
                    hint="aspectra index",
                )
            weights *= self._role_weights(probe.roles)[rows]
        if probe.focus:
            about = self.vectors[rows].astype(np.float32) @ self.query(probe.focus)
            weights *= 1.0 / (1.0 + np.exp((_ABOUT - about) / _ABOUT_WIDTH))
        return weights

    def _asking(self, probe: Probe) -> tuple[Floats, Floats, Positions]:
        """(m, dimensions) rows that ask, (m,) their weights, (m,) their units, -1 for the probe's text."""
        vectors, weights, units = [], [], []
        if probe.text.strip():
            vectors.append(self.query(probe.text, probe.instruction)[None, :])
            weights.append(np.ones(1, dtype=np.float32))
            units.append(np.full(1, -1, dtype=np.int64))
        source = self._source(probe)
        borrowed = [s for s in probe.seeds if source is not self or self.stands_in(s)]
        for seed in borrowed:  # whole vectors of elsewhere: roles and focus are not theirs
            rows_there = source.rows_of(seed).astype(np.float32)
            vectors.append(rows_there)
            weights.append(np.ones(len(rows_there), dtype=np.float32))
            units.append(np.full(len(rows_there), -1, dtype=np.int64))
        own = [self._ids[s] for s in probe.seeds if s in self._ids and s not in borrowed]
        seeds = np.array(own, dtype=np.int64)
        if self.units is not None and len(seeds):
            rows, _ = self.units.rows(seeds)
            counts = self._weights(probe, rows)
            kept = counts > 0
            vectors.append(self.vectors[rows[kept]].astype(np.float32))
            weights.append(counts[kept])
            units.append(rows[kept])
        return np.concatenate(vectors), np.concatenate(weights), np.concatenate(units)

    def asks(self, probe: Probe) -> bool:
        """Whether anything of the probe's text and seeds takes part."""
        return not probe.matching or bool(len(self._asking(probe)[0]))

    def _gather(self, papers: Positions) -> Gathered:
        if self.units is None:
            raise UsageError(f"{self.name} has one vector a paper", why="a matching needs several")
        rows, offsets = self.units.rows(papers)
        vectors = widen(self.vectors[rows])
        return Gathered(papers, rows, offsets, vectors, np.ones(len(rows), dtype=np.float32))

    def score_together(
        self, probes: Sequence[Probe], papers: Positions, *, keep: bool = False
    ) -> list[Scored]:
        """What :meth:`score` gives for each probe; the papers' units are read once for all of them.

        Args:
            probes: of this view.
            papers: (papers,) positions.
            keep: these very papers will be asked for again, by every query: keep their vectors in memory.
        """
        parts: dict[_Part, Gathered] = {}
        if self._kept and next(iter(self._kept.values())).papers is papers:
            parts = self._kept.copy()
        asked: dict[Probe, tuple[Floats, Floats, Positions]] = {}
        out = []
        for probe in probes:
            if not probe.matching:
                out.append(self.score(probe, papers))
                continue
            if _ALL not in parts:
                parts[_ALL] = self._gather(papers)
            key = (probe.roles, probe.focus)
            if key not in parts:
                parts[key] = parts[_ALL].weighted(self._weights(probe, parts[_ALL].rows))
            # Ways of matching one aspect ask with the same rows.
            question = replace(probe, matching="single", metric="cosine", weight=1.0, aspect="")
            if question not in asked:
                asked[question] = self._asking(probe)
            query, weights, _ = asked[question]
            out.append(_known(parts[key].match(probe.matching, probe.metric, query, weights), papers))
        if keep and parts:  # free words hardly come again
            recent = [key for key in parts if key != _ALL and not key[1]][-_KEPT_PARTS:]
            self._kept = {key: parts[key] for key in (_ALL, *recent)}
        return out

    def best_pairs(self, probe: Probe, papers: Positions) -> tuple[Positions, Positions, Floats]:
        """(papers,) units that ask best, (papers,) units that answer best (-1 for none), (papers,) scores."""
        held = self._gather(papers)
        held = held.weighted(self._weights(probe, held.rows))
        query, weights, asking = self._asking(probe)
        found = held.match("single", probe.metric, query, weights)
        asked = np.where(found.query_rows >= 0, asking[found.query_rows] if len(asking) else -1, -1)
        return asked, found.rows, found.scores

    def score(self, probe: Probe, papers: Positions | None = None) -> Scored:
        """See :class:`View`."""
        if probe.reverse:
            values = self._reversed(probe)
            return (
                Scored(np.arange(len(values)), values) if papers is None else Scored(papers, values[papers])
            )
        if probe.matching:
            everyone = np.arange(len(self._ids)) if papers is None else papers
            return self.score_together([probe], everyone)[0]
        if self.units is None:
            values = self._unit_scores(probe, papers)
            return Scored(np.arange(len(values)) if papers is None else papers, values)
        if papers is None:
            values = self._unit_scores(probe, None)
            pooled, best = Units.pool(values, np.asarray(self.units.offsets), probe.pooling)
            return Scored(np.arange(len(pooled)), _floor(pooled), best)
        rows, local = self.units.rows(papers)
        pooled, best = Units.pool(self._unit_scores(probe, rows), local, probe.pooling)
        best = np.where(best >= 0, rows[best] if len(rows) else -1, -1)
        return Scored(papers, _floor(pooled), best)

    def top(self, probe: Probe, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """See :class:`View`."""
        all_ = self.score(probe)
        if probe.reverse:  # who has nothing to ask with is on no list
            unknown = np.isnan(all_.scores)
            allowed = ~unknown if allowed is None else allowed & ~unknown
        known = np.where(np.isnan(all_.scores), np.float32(-np.inf), all_.scores)
        at = top_positions(known, k, self._id_order, allowed)
        return Scored(at, all_.scores[at], None if all_.units is None else all_.units[at])


def _known(found: Matches, papers: Positions) -> Scored:
    """Matches as scores; NaN for papers of which no unit takes part."""
    scores = np.where(np.isfinite(found.scores), found.scores, np.float32(np.nan))
    return Scored(papers, scores)


def _floor(pooled: Floats) -> Floats:
    """Papers without units get the lowest score found, so that standardised sums stay finite."""
    finite = np.isfinite(pooled)
    if finite.all():
        return pooled
    lowest = pooled[finite].min() if finite.any() else np.float32(0.0)
    return np.where(finite, pooled, lowest).astype(np.float32)
