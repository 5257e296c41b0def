"""Dense views: exact search over stored vectors, whole abstracts or units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from aspectra.base.errors import UsageError, ViewMismatch
from aspectra.base.values import replace
from aspectra.views.dense.matching import (
    Matches,
    check_groups,
    max_sim,
    products,
    similarities,
    single_match,
    transport,
    widen,
)
from aspectra.views.dense.reverse import centroids, mean_query, nearest_in_seed, score_means
from aspectra.views.encoders.query_encoder import QueryEncoder
from aspectra.views.lexical.reverse import Moments
from aspectra.views.protocol import Asked, GenerationView, VectorView
from aspectra.views.storage.folder import StoredFolder, Units
from aspectra.views.view import Floats, Matching, Metric, Positions, Probe, Scored

# Units of some papers, read once and scored for several probes.


class UnitBatch(Struct, frozen=True, dict=True):
    """Units of papers that take part.

    Attributes:
        papers: (papers,) positions.
        rows: (n,) units.
        offsets: (papers + 1,) where each paper's rows begin.
        vectors: (n, dimensions) float32.
        weights: (n,) how much each takes part, above 0 to 1.
    """

    papers: Positions
    rows: Positions
    offsets: NDArray[np.int64]
    vectors: Floats
    weights: Floats

    @cached_property
    def _means(self) -> Floats:
        return centroids(self.vectors, self.offsets, None if self._alike else self.weights)

    @cached_property
    def _present(self) -> NDArray[np.bool_]:
        return np.asarray(self._means.any(axis=1))

    def match(self, how: Matching, metric: Metric, query: Floats, query_weights: Floats) -> Matches:
        """Scores of the papers; where they cost nothing, also the units that decided.

        See :mod:`aspectra.views.dense.matching` for the ways.
        """
        weights = None if self._alike else self.weights
        if how == "centroid":
            check_groups(query, self.vectors, self.offsets, query_weights, weights)
            nobody = np.full(len(self.papers), -1, dtype=np.int64)
            asked = mean_query(query, query_weights)
            return Matches(score_means(asked, self._means, metric, self._present), nobody, nobody)
        if how == "transport":  # its cost is a distance, whatever the metric
            found = transport(query, self.vectors, self.offsets, query_weights, weights)
        elif how == "maxsim":
            found = max_sim(
                query, self.vectors, self.offsets, query_weights, weights, metric=metric, pairs=False
            )
        else:
            found = single_match(query, self.vectors, self.offsets, query_weights, weights, metric=metric)
        best = np.where(found.rows >= 0, self.rows[found.rows] if len(self.rows) else -1, -1)
        return Matches(found.scores, found.query_rows, best)

    @cached_property
    def _alike(self) -> bool:
        return bool((self.weights == 1.0).all())


# A unit is about free words from this cosine on (a sentence and a phrase on its subject), give or take.
_ABOUT, _ABOUT_WIDTH = 0.3, 0.05
_Part = tuple[tuple[str, ...], str]  # roles and focus: which units take part
_ALL: _Part = ((), "")
_KEPT_PARTS = 6  # of the sample's papers: at most as large together as all their units
_BLOCK = 4096  # rows converted to float32 at a time: 6 MB at 384 dimensions


@dataclass(eq=False)
class DenseView(GenerationView):
    """Exact scores by one matrix product.

    Attributes:
        folder: holds ``vectors.npy``, (papers or units, dimensions).
        query: encodes query texts; vectors of seeds are those stored.
        units: units where a paper has more than one vector, else None.
        sample: gives the positions of the papers that are scored for every query; their units stay in memory.
        role_weights: roles -> (units,) how far each unit has one of them, 0 to 1; None where no lens says.
        other: name -> another view of vectors, for seeds whose vectors are taken from there.
        seed_text: paper id -> the text of which its vector was made, for seeds that are encoded as queries;
            None where a paper has several vectors, or its text is not kept.
    """

    folder: StoredFolder
    query: QueryEncoder
    units: Units | None = None
    sample: Callable[[], Positions] | None = None
    role_weights: Callable[[tuple[str, ...]], Floats] | None = None
    other: Callable[[str], VectorView] | None = None
    seed_text: Callable[[str], str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cheap = self.units is None
        self.vectors = self.folder.array("vectors", ... if self.units is None else self.units.order)
        # Whether rows have length 1 (or 0, where a unit has none): then inner products are cosines.
        self.unit_length = bool(self.facts.stored.get("unit_length", True))
        self._kept: dict[_Part, UnitBatch] = {}

    @cached_property
    def _moments(self) -> Moments | None:
        """Moments that standardise reverse scores; only reverse searches open them."""
        return Moments.load(self.folder) if self.facts.stored.get("pairs") else None

    def look_up(self, probe: Probe) -> Asked:
        """See :class:`~aspectra.views.protocol.View`."""
        if probe.reverse:
            self._reverse_moments(probe)
        focus = self._focus(probe.focus) if probe.focus else None
        source, truncated, borrowed = self._source(probe), "", []
        # Vectors, whose they are (-1 the text's), and which units; -1 where they are of no unit of this view.
        parts: list[tuple[NDArray[np.floating], int, Positions]] = []
        if self._text_apart(probe):
            encoded = self.query(probe.text, probe.instruction)
            truncated = self.query.encoder.name if encoded.truncated else ""
            parts.append((encoded.vector[None, :], -1, np.full(1, -1)))
        for number, seed in enumerate(probe.seeds):
            lacks = self._lacks_units(seed)
            if lacks and source.facts.base != "abstract":
                borrowed.append(seed)
            if lacks or source is not self or self.units is None or probe.seeds_as:
                rows, cut = source.seed_vectors(seed, probe)
                truncated = self.query.encoder.name if cut else truncated
                parts.append((rows, number, np.full(len(rows), -1)))
            else:
                held = np.arange(*self._range_of(seed))
                parts.append((self.vectors[held], number, held))
        units = np.concatenate([of for _, _, of in parts])
        weights = np.ones(len(units), np.float32)
        own = units >= 0  # vectors of another view or of a whole paper have no role
        if probe.sentences:
            weights[own] = np.isin(units[own], self._sentence_units(probe))
        else:
            weights[own] = self._weights(probe, focus, units[own])
        taken = weights > 0 if probe.matching else np.ones(len(units), np.bool_)
        return Asked(
            probe,
            vectors=np.concatenate([widen(rows) for rows, _, _ in parts])[taken],
            weights=weights[taken],
            owners=np.repeat([number for _, number, _ in parts], [len(of) for _, _, of in parts])[taken],
            units=units[taken],
            focus=focus,
            borrowed=tuple(borrowed),
            truncated=truncated,
        )

    def _focus(self, text: str) -> Floats:
        """(dimensions,) the vector of a text; of several lines the direction of their mean."""
        vectors = np.stack([self.query(line).vector for line in text.splitlines()])
        return mean_query(vectors) if len(vectors) > 1 else vectors[0]

    def _sentence_units(self, probe: Probe) -> Positions:
        """The units of the sentences that a probe names.

        Raises:
            UsageError: the seed has fewer sentences.
            ViewMismatch: the units of the view are not sentences.
        """
        if self.units is None or self.facts.units != "sentences":
            raise ViewMismatch(f"{self.name} has no sentences", why=f"the probe names {probe.sentences}")
        rows = self.units.sentence_rows(self.position(probe.seeds[0]))
        if beyond := [number for number in probe.sentences if not 1 <= number <= len(rows)]:
            raise UsageError(
                f"{probe.seeds[0]} has no sentence {beyond[0]}",
                why=f"it has {len(rows)}",
                hint=f"aspectra show {probe.seeds[0]} --sentences",
            )
        chosen: Positions = rows[np.array(probe.sentences) - 1]
        return chosen

    def query_vectors(self, probe: Probe) -> Floats:
        """(m, dimensions) vectors of the probe's text and seeds, all of weight 1."""
        own = self._text_apart(probe)
        parts = [self.query(probe.text, probe.instruction).vector[None, :]] if own else []
        source = self._source(probe)
        rows = [*parts, *(source.seed_vectors(seed, probe)[0] for seed in probe.seeds)]
        return np.concatenate([widen(part) for part in rows])

    def _range_of(self, paper_id: str) -> tuple[int, int]:
        """(first, end) rows of a paper."""
        at = self.position(paper_id)
        return (at, at + 1) if self.units is None else (self.units.offsets[at], self.units.offsets[at + 1])

    def _lacks_units(self, paper_id: str) -> bool:
        """True if a paper has no units here, so that another view's vectors are used for it."""
        low, high = self._range_of(paper_id)
        return low == high and bool(self.facts.fallback) and self.other is not None

    def vectors_of(self, paper_id: str) -> NDArray[np.floating]:
        """(m, dimensions) stored vectors of a paper, or of the fallback view for one without units.

        Raises:
            NoSuchPaper: it is not in the generation.
        """
        if self.other is not None and self._lacks_units(paper_id):
            return self.other(self.facts.fallback).vectors_of(paper_id)
        low, high = self._range_of(paper_id)
        return np.asarray(self.vectors[low:high])

    def seed_vectors(self, paper_id: str, probe: Probe) -> tuple[NDArray[np.floating], bool]:
        """See :class:`~aspectra.views.protocol.VectorView`."""
        if not probe.seeds_as:
            return self.vectors_of(paper_id), False
        if self.seed_text is None:
            raise ViewMismatch(
                f"the view {self.name} cannot encode a seed as a query",
                why="it has several vectors a paper, or keeps no text of it",
                hint='leave out seeds_as, or search with asking = "abstract@ENCODER"',
            )
        if not (text := self.seed_text(paper_id)):
            return self.vectors_of(paper_id), False
        words = f"{text} {probe.text}".strip() if probe.seeds_as == "query+text" else text
        encoded = self.query(words, probe.instruction)
        return encoded.vector[None, :], encoded.truncated

    @staticmethod
    def _text_apart(probe: Probe) -> bool:
        """True if the probe's text has a vector of its own."""
        return bool(probe.text.strip()) and not (probe.seeds and probe.seeds_as == "query+text")

    def _source(self, probe: Probe) -> VectorView:
        """The view from which the vectors of the seeds are taken."""
        if probe.asking in ("", self.name):
            return self
        found = None if self.other is None else self.other(probe.asking)
        if found is None or found.facts.stored.get("fingerprint") != self.facts.stored.get("fingerprint"):
            raise ViewMismatch(
                f"{self.name} cannot be searched with the vectors of {probe.asking}",
                why="another encoder made them",
            )
        return found

    def _reverse_moments(self, probe: Probe) -> Moments:
        if self._moments is None:
            raise ViewMismatch(
                f"the view {self.name} cannot be searched in reverse",
                why="what its papers score on average was not computed",
                hint="aspectra index --rebuild, then search an abstract or a chunk view",
            )
        if probe.asking not in ("", self.name):
            raise UsageError(f"a reverse probe on {self.name} has vectors of its own, not of {probe.asking}")
        return self._moments

    def _weights(self, probe: Probe, focus: Floats | None, rows: Positions) -> Floats:
        """(rows,) how much each unit takes part, 0 to 1."""
        weights = np.ones(len(rows), dtype=np.float32)
        if probe.roles:
            if self.role_weights is None:
                raise ViewMismatch(
                    f"the view {self.name} does not know roles",
                    why="only sentences have them, from the lens roles",
                    hint="aspectra index",
                )
            weights *= self.role_weights(probe.roles)[rows]
        if focus is not None:
            about = products(focus[None], self.vectors[rows])[0]
            weights *= 1.0 / (1.0 + np.exp((_ABOUT - about) / _ABOUT_WIDTH))
        return weights

    def score_many(self, asked: Sequence[Asked], papers: Positions | None = None) -> list[Scored]:
        """See :class:`~aspectra.views.protocol.View`.

        Probes that compare unit by unit share one pass over all vectors, those with a matching one reading of
        the papers' units. Units that decided are named only where there is one such probe.
        """
        matched = [n for n, one in enumerate(asked) if one.probe.matching]
        plain = [n for n, one in enumerate(asked) if papers is None and self._compares_units(one.probe)]
        found: dict[int, Scored] = {}
        if matched:
            found |= zip(matched, self._match([asked[n] for n in matched], self.chosen(papers)), strict=True)
        if self.units is not None and len(plain) > 1:
            shared = self._share([asked[n] for n in plain], np.asarray(self.units.offsets))
            found |= zip(plain, shared, strict=True)
        return [found[n] if n in found else self._score(one, papers) for n, one in enumerate(asked)]

    def _compares_units(self, probe: Probe) -> bool:
        """True if each paper's units are compared one by one, by cosine."""
        plain = not probe.matching and not probe.reverse and probe.metric == "cosine"
        return self.units is not None and self.unit_length and plain

    def _score(self, asked: Asked, papers: Positions | None) -> Scored:
        """Scores for one probe without a matching."""
        probe = asked.probe
        if probe.reverse or self.units is None:
            values = self._reversed(asked) if probe.reverse else self._row_scores(asked, papers)
            if papers is None:
                return Scored(np.arange(len(values)), values)
            return Scored(papers, values[papers] if probe.reverse else values)
        if papers is None:
            values = self._row_scores(asked, None)
            pooled, best = Units.pool(values, np.asarray(self.units.offsets), probe.pooling)
            return Scored(np.arange(len(pooled)), _floor(pooled), best)
        rows, local = self.units.rows(papers)
        pooled, best = Units.pool(self._row_scores(asked, rows), local, probe.pooling)
        best = np.where(best >= 0, rows[best] if len(rows) else -1, -1)
        return Scored(papers, _floor(pooled), best)

    def _reversed(self, asked: Asked) -> Floats:
        """(papers,) mean of each candidate's reverse scores over the seeds; NaN without vectors on a side."""
        moments = self._reverse_moments(asked.probe)
        scores = []
        for number in range(len(asked.probe.seeds)):
            seed = asked.vectors[asked.owners == number]
            scores.append(moments.standardise(nearest_in_seed(self.vectors, self.units, seed)))
        return scores[0] if len(scores) == 1 else np.mean(scores, axis=0, dtype=np.float32)

    def compare(self, rows: NDArray[np.floating], query: Floats, metric: Metric = "cosine") -> Floats:
        """(rows, m) scores of stored vectors against query vectors."""
        block = rows.astype(np.float32, copy=False)
        product: Floats = products(query, block).T
        if metric == "cosine" and not self.unit_length:
            product = product / np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-12)
            product = product / np.maximum(np.linalg.norm(query, axis=1), 1e-12)
        if metric == "l2":
            square = np.einsum("ij,ij->i", block, block)[:, None]
            square = square - 2.0 * product + np.einsum("ij,ij->i", query, query)[None, :]
            distance: Floats = np.sqrt(np.maximum(square, 0.0)).astype(np.float32)
            return -distance
        return product

    def _row_scores(self, asked: Asked, rows: Positions | None) -> Floats:
        """Best score over the query vectors; where each paper is one row, the score of their mean."""
        query, metric = asked.vectors, asked.probe.metric
        if self.units is None and len(query) > 1:
            query = query.mean(axis=0, keepdims=True)
            norm = float(np.linalg.norm(query))
            query = query / norm if norm and metric == "cosine" else query
        if rows is None and self.vectors.dtype == np.float32:
            scores = self.vectors.over_rows(lambda some: self.compare(some, query, metric))
            return scores[:, 0] if len(query) == 1 else scores.max(axis=1)
        if self.unit_length and metric == "cosine":
            cells = self._similarities(query) if rows is None else similarities(query, self.vectors[rows])
            best: Floats = cells.max(axis=0)
            best[np.isneginf(best)] = 0.0  # a unit without a vector is near nothing
            return best
        count = len(self.vectors) if rows is None else len(rows)
        out = np.empty(count, dtype=np.float32)
        for start in range(0, count, _BLOCK):
            end = min(start + _BLOCK, count)
            block = self.vectors[start:end] if rows is None else self.vectors[rows[start:end]]
            out[start:end] = self.compare(widen(block), query, metric).max(axis=1)
        return out

    def _similarities(self, query: Floats) -> Floats:
        """(m, rows) of query vectors with all rows."""
        return self.vectors.over_rows(lambda some: similarities(query, some), axis=1)

    def _share(self, asked: Sequence[Asked], offsets: NDArray[np.int64]) -> list[Scored]:
        """All papers for several probes that :meth:`_compares_units` allows, in one pass over the units."""
        cuts = np.cumsum([0, *(len(one.vectors) for one in asked)])
        cells = self._similarities(np.concatenate([one.vectors for one in asked]))
        cells[np.isneginf(cells)] = 0.0  # a unit without a vector scores as it does alone
        values = [cells[low:high].max(axis=0) for low, high in pairwise(cuts)]
        out = []
        full = np.flatnonzero(np.diff(offsets))
        for one, by_unit in zip(asked, values, strict=True):
            if one.probe.pooling == "max":  # without the unit that decided, which takes longer to find
                pooled = np.full(len(offsets) - 1, -np.inf, dtype=np.float32)
                if len(full):
                    pooled[full] = np.maximum.reduceat(by_unit, offsets[:-1][full])
            else:
                pooled, _ = Units.pool(by_unit, offsets, one.probe.pooling)
            out.append(Scored(np.arange(len(pooled)), _floor(pooled)))
        return out

    def _batch(self, asked: Asked, papers: Positions, read: dict[_Part, UnitBatch]) -> UnitBatch:
        """The units of papers that take part in a probe; ``read`` holds those of all probes so far."""
        if self.units is None:
            raise UsageError(f"{self.name} has one vector a paper", why="a matching needs several")
        key = (asked.probe.roles, asked.probe.focus)
        if key not in read:
            rows, offsets = self.units.rows(papers)
            weights = self._weights(asked.probe, asked.focus, rows)
            taken = np.flatnonzero(weights > 0)
            if len(taken) == len(rows) and _ALL in read:
                read[key] = replace(read[_ALL], weights=weights)
            else:  # most sentences have another role: their vectors are not read
                cuts, rows = np.searchsorted(taken, offsets), rows[taken]
                read[key] = UnitBatch(papers, rows, cuts, widen(self.vectors[rows]), weights[taken])
                if len(taken) == len(weights):
                    read[_ALL] = replace(read[key], weights=np.ones_like(weights))
        return read[key]

    def _match(self, asked: Sequence[Asked], papers: Positions) -> list[Scored]:
        """Scores for probes with a matching; the papers' units are read once for all of them."""
        keep = self.sample is not None and papers is self.sample()
        parts = self._kept.copy() if keep else {}
        out = []
        for one in asked:
            batch = self._batch(one, papers, parts)
            scores = batch.match(one.probe.matching, one.probe.metric, one.vectors, one.weights).scores
            out.append(Scored(papers, np.where(np.isfinite(scores), scores, np.float32(np.nan))))
        if keep:  # free words hardly come again
            recent = [key for key in parts if key != _ALL and not key[1]][-_KEPT_PARTS:]
            self._kept = {key: parts[key] for key in (_ALL, *recent) if key in parts}
        return out

    def best_pairs(self, asked: Asked, papers: Positions) -> tuple[Positions, Positions, Floats]:
        """(papers,) best row of ``asked``, (papers,) best unit of the paper, (papers,) scores; -1: none."""
        held = self._batch(asked, papers, {})
        found = held.match("single", asked.probe.metric, asked.vectors, asked.weights)
        return found.query_rows, found.rows, found.scores

    def best(self, asked: Asked, scored: Scored, k: int, allowed: NDArray[np.bool_] | None = None) -> Scored:
        """See :class:`~aspectra.views.protocol.View`."""
        # In reverse, a candidate without vectors has nothing to ask with.
        return scored.best(k, self.id_order, allowed, drop_unknown=asked.probe.reverse)


def _floor(pooled: Floats) -> Floats:
    """Papers without units get the lowest score found, so that standardised sums stay finite."""
    finite = np.isfinite(pooled)
    if finite.all():
        return pooled
    lowest = pooled[finite].min() if finite.any() else np.float32(0.0)
    return np.where(finite, pooled, lowest).astype(np.float32)
