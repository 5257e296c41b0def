"""Conditions on what a paper is about, uses, or studies, in free words.

``topic=driving scenes`` is the subject, ``method=graph neural networks`` what a study uses, and
``population=older adults`` whom or what it is on; all are graded alike, see
:mod:`aspectra.search.conditions.attributes.content.subjects`. The roles of the sentences that name a method
told no more about labelled methods than how many sentences there are (docs/results/exclusions.md), and no
labelled populations were at hand to fit anything on.

``reports=hazard ratios`` is what a paper must contain: one mention is enough, so each alternative is graded
as a ``keyword``, full text included.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.base.values import LRUCache
from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.content.keyword import (
    KeywordAttribute,
    Naming,
    Phrase,
    PhrasesAttribute,
    alternatives,
    occurs,
)
from aspectra.search.conditions.attributes.labels.lensed import lacks, lens_column
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record.facts import number_range
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.protocol import VectorView, ViewFacts
from aspectra.views.storage.folder import Units, paper_spans
from aspectra.views.text.tokens import Tokeniser
from aspectra.views.view import Floats, Positions, Probe

# How far a paper is about free words: its words and its vectors, weighed.
#
# A paper *names* a phrase where its title or a sentence of its abstract has it in any form (*graph neural
# network*, *GNNs*) or has all its words. One sentence is a mention; the title or several sentences are what
# a paper is about. A paper that does not name it may still be about it (*enalapril* for *ACE inhibitors*):
# then the likeness of its title and of its nearest unit decides, in deviations from the index's fixed
# sample of papers. Both are logistic regressions with three weights, none of them negative. A library
# without an encoder is graded by the first alone.
#
# Weights and zero points are made by ``benchmarks/exclusions.py`` from the labels of three collections;
# docs/results/exclusions.md has what they give on labels and collections that they were not fitted on.

_REMEMBERED = 16  # values of one index: 430 kB each for 87,000 papers
_FORMS_FROM = 100  # papers, the best by words, that short and long forms are taken from
_SAMPLED = 256  # papers: a deviation within 5 %
_LEAST_DEVIATION = 0.09  # of likeness in the sample: that of a library on one field; other ones spread less
_MOST_DEVIATIONS = 8.0
_NEAR = 1.0  # deviations of the abstract, below which a paper that does not name the phrase has grade 0
_ROUNDING = 1e-3  # of a cosine: far more than two ways of computing it differ by
_MOST_UNITS = 5  # sentences that are counted


class Weights(NamedTuple):
    """Of the two regressions: weights of their columns and what they subtract, so that 0.5 is at 0.

    Attributes:
        named: in the title, ln(1 + sentences, at most 5), the phrase intact.
        named_zero: subtracted.
        other: share of the phrase's words, weighed by rarity, nearest unit, title; () without vectors:
            then a paper that does not name the phrase has grade 0.
        other_zero: subtracted.
    """

    named: tuple[float, ...]
    named_zero: float
    other: tuple[float, ...]
    other_zero: float


WEIGHTS = Weights((1.11, 0.72, 0.79), 1.52, (1.11, 0.59, 0.33), 4.39)


_Moments = tuple[float, float]  # mean and deviation in the fixed sample of papers


class Told(NamedTuple):
    """What a library tells of a phrase.

    Attributes:
        phrase: with its forms.
        moments: of the nearest unit's likeness to the vector, and of the title's.
        near: cosine of an abstract from which a paper is near.
        vector: (dimensions,) or None where no encoder is there.
    """

    phrase: Phrase
    moments: tuple[_Moments, _Moments]
    near: float
    vector: Floats | None


class Prepared(NamedTuple):
    """A phrase with all that does not depend on the paper.

    Attributes:
        told: of the library.
        coverage: (all papers,) share of its words that a paper has, by rarity; None where no view knows.
        may_name: (all papers,) whether a paper has all words of a form; None where no view knows.
    """

    told: Told
    coverage: Floats | None
    may_name: NDArray[np.bool_] | None


_Likeness = tuple[NDArray[np.float64], NDArray[np.float64]]  # (papers,) of the best unit, and of the title
_prepared: WeakKeyDictionary[Index, LRUCache[str, Prepared]] = WeakKeyDictionary()
_samples: WeakKeyDictionary[Index, tuple[Floats, NDArray[np.int64]]] = WeakKeyDictionary()
_lock = Lock()


class PhraseFeatures(NamedTuple):
    """Features that the grades of n papers are computed from.

    Attributes:
        names: (n,) bool, whether a paper names the phrase.
        named: (n, 3) columns of :attr:`Weights.named`; zeros where it does not.
        other: (n, 3) columns of :attr:`Weights.other`, (n, 0) without vectors.
    """

    names: NDArray[np.bool_]
    named: NDArray[np.float64]
    other: NDArray[np.float64]


def features(ready: Prepared, index: Index, papers: Positions, held: dict[int, Paper]) -> PhraseFeatures:
    """Features that the grades of one phrase are computed from.

    Args:
        ready: the phrase.
        index: the generation.
        papers: (n,) positions.
        held: position -> paper, of those read already; filled.
    """
    names, named = np.zeros(len(papers), np.bool_), np.zeros((len(papers), 3))
    vector = ready.told.vector
    other = np.zeros((len(papers), 0 if vector is None else 3))
    if vector is not None and len(papers):
        found = zip(_cosines(index, vector, papers), ready.told.moments, strict=True)
        for column, (cosines, (mean, deviation)) in enumerate(found, 1):  # of the nearest unit, of the title
            other[:, column] = np.clip((cosines - mean) / deviation, -2.0, _MOST_DEVIATIONS)
        if ready.coverage is not None:
            other[:, 0] = ready.coverage[papers]
    maybe = np.arange(len(papers)) if ready.may_name is None else np.flatnonzero(ready.may_name[papers])
    _read(index, papers[maybe], held)
    for place in maybe:
        paper = held.get(int(papers[place]))
        naming = None if paper is None else _naming(ready.told.phrase, paper, index, int(papers[place]))
        if naming is not None:
            names[place] = True
            sentences = len(naming.units) - naming.title
            named[place] = naming.title, np.log1p(min(sentences, _MOST_UNITS)), naming.intact
    return PhraseFeatures(names, named, other)


def _unit(table: Units, row: int) -> TextSpan:
    code, start, end = (int(v) for v in table.spans[row])
    return TextSpan(Units.field_name(code), start, end)


def _has_title(table: Units, row: int) -> bool:
    return int(table.spans[row][0]) == Units.field_code("title")


def _read(index: Index, papers: Positions, held: dict[int, Paper]) -> None:
    """Read the papers that are not held yet; with sections where these replace the abstract."""
    wanted = [index.ids[p] for p in papers if int(p) not in held]
    found = index.library.get_many(wanted, full=False)
    if bare := [i for i, paper in found.items() if not paper.abstract.strip()]:
        found |= index.library.get_many(bare)
    held.update((index.positions[paper_id], paper) for paper_id, paper in found.items())


def _naming(phrase: Phrase, paper: Paper, index: Index, at: int) -> Naming | None:
    table = index.units("sentences")
    rows = table.spans[int(table.offsets[at]) : int(table.offsets[at + 1])]
    units = [(Units.field_name(int(code)), int(start), int(end)) for code, start, end in rows]
    if not index.unchanged(paper):
        units = paper_spans(paper)[2]
    body = [unit for unit in units if unit[0] != "title"]
    if not body:
        return phrase.named(paper.title, "", ())
    low, high = body[0][1], body[-1][2]  # of a long text only its lead is among the units
    text = field_text(paper, body[0][0])[low:high]
    return phrase.named(paper.title, text, [(start - low, end - low) for _, start, end in body])


def _view(index: Index, base: str = "sentences") -> VectorView | None:
    """A view of the default encoder; None if the index has none, or the user does not permit it."""
    name = f"{base}@{index.default_encoder()}"
    if name not in index.view_names or index.refusal(str(index.facts(name).stored["encoder"])) is not None:
        return None
    return index.vector_view(name)


def _cosines(index: Index, vector: Floats, papers: Positions) -> _Likeness:
    """(papers,) cosine of the best unit and of the first, which is the title; 0 for a paper without units."""
    if (view := _view(index)) is None:
        return np.zeros(len(papers)), np.zeros(len(papers))
    rows, offsets = index.units("sentences").rows(papers)
    return _best_and_first(view.vectors[rows].astype(np.float32), offsets, vector)


def _best_and_first(rows: Floats, offsets: NDArray[np.int64], vector: Floats) -> _Likeness:
    best, first = np.zeros(len(offsets) - 1), np.zeros(len(offsets) - 1)
    full = np.flatnonzero(np.diff(offsets))
    if len(full):
        # A sum for each row alone: the same bits whatever other papers are graded with it.
        cosines = np.einsum("ij,j->i", rows, vector)
        best[full] = np.maximum.reduceat(cosines, offsets[:-1][full])
        first[full] = cosines[offsets[:-1][full]]
    return best, first


def _of_sample(index: Index, view: VectorView) -> tuple[Floats, NDArray[np.int64]]:
    """The units' vectors of the fixed sample's first papers, kept in memory: 3.5 MB."""
    with _lock:
        if index not in _samples:
            rows, offsets = index.units("sentences").rows(index.sample[:_SAMPLED])
            _samples[index] = view.vectors[rows].astype(np.float32), offsets
        return _samples[index]


def prepare(text: str, index: Index) -> Prepared:
    """A phrase ready for grading."""
    return _prepared.setdefault(index, LRUCache(_REMEMBERED)).get(
        text, lambda: _make(_told(text, index), index)
    )


def _make(told: Told, index: Index) -> Prepared:
    masks = [_word_masks(index, term.parts) for term in told.phrase.terms]
    whole = [mask for _, mask in masks if mask is not None]
    may_name = np.logical_or.reduce(whole) if len(whole) == len(masks) else None
    return Prepared(told, masks[0][0], may_name)


def _told(text: str, index: Index) -> Told:
    phrase = Phrase.of(text).known_as(_best_texts(text, index))
    if (view := _view(index)) is None:
        return Told(phrase, (_moments(np.zeros(0)),) * 2, 0.0, None)
    vector, near = view.query(phrase.text).vector.astype(np.float32), 0.0
    nearest, title = map(_moments, _best_and_first(*_of_sample(index, view), vector))
    if (abstract := _view(index, "abstract")) is not None and len(index.sample):
        mean, deviation = _moments(abstract.score(Probe(abstract.name, phrase.text), index.sample).scores)
        near = mean + _NEAR * deviation
    return Told(phrase, (nearest, title), near, vector)


def _moments(values: NDArray[np.floating]) -> _Moments:
    if not len(values):
        return 0.0, 1.0
    return float(values.mean()), max(float(values.std()), _LEAST_DEVIATION)


def _having(index: Index, parts: Sequence[Sequence[str]]) -> list[NDArray[np.bool_]] | None:
    """Per group of words (all papers,) whether a paper has one of them; None where no view knows.

    A group with a stop word says nothing and is left out.
    """
    name, settings = ViewFacts.words_of("abstract").name, index.lexical
    # Only there a score above 0 is the same as a word's occurrence.
    if name not in index.view_names or settings.method != "lucene":
        return None
    tokeniser, view, none = Tokeniser(settings.tokens), index.view(name), np.zeros(len(index), np.bool_)
    groups = ([tokeniser.words(form) for form in forms] for forms in parts)
    words = [{word for form in group for word in form} for group in groups if all(group)]
    known = index.statistics(every := set().union(*words)).rarity(every).keys()
    return [np.logical_or.reduce([none, *(occurs(view, word) for word in some & known)]) for some in words]


def _word_masks(
    index: Index, parts: Sequence[Sequence[str]]
) -> tuple[Floats | None, NDArray[np.bool_] | None]:
    """(all papers,) share of the words by rarity, and whether a paper has all; None where none knows."""
    masks = _having(index, parts)
    if not masks:
        return None, None
    share, total = np.zeros(len(index), np.float32), 0.0
    for has in masks:
        rarity = float(np.log1p(len(index) / max(int(np.count_nonzero(has)), 1)))
        share[has] += rarity
        total += rarity
    return share / total, np.logical_and.reduce(masks)


def _best_texts(text: str, index: Index) -> list[str]:
    """Of the papers that have all words of a phrase the titles and abstracts that match best."""
    phrase = Phrase.of(text)
    masks = _having(index, phrase.terms[0].parts) if phrase.has_forms else None
    if not masks:
        return []
    view = index.view(ViewFacts.words_of("abstract").name)
    top = view.top(Probe(view.name, text), _FORMS_FROM, np.logical_and.reduce(masks))
    known = index.library.get_many([index.ids[p] for p in top.papers], full=False)
    scores = dict(zip((index.ids[p] for p in top.papers), top.scores.tolist(), strict=True))
    best = sorted(((scores[one], one) for one in known), reverse=True)
    return [f"{known[one].title}. {known[one].abstract}" for _, one in best]


class SubjectAttribute(PhrasesAttribute):
    """What a paper is about, what it uses, or whom or what it is on: free words, or several with *or*."""

    cheap = False
    doubtful = True

    def __init__(self, name: str) -> None:
        self.name = name

    def _ready(self, value: str, index: Index) -> list[Prepared]:
        return [prepare(text, index) for text in alternatives(value)]

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1, the best of the alternatives; NaN for a paper without text."""
        best, view = np.zeros(len(papers), np.float32), _view(index, "abstract")
        held: dict[int, Paper] = {}
        for ready in self._ready(value, index):
            found, told = features(ready, index, papers, held), ready.told
            named = found.named @ np.array(WEIGHTS.named) - WEIGHTS.named_zero
            other = np.full(len(papers), -np.inf)
            if view is not None and told.vector is not None:
                rows = view.vectors[papers].astype(np.float32)
                near = np.einsum("ij,j->i", rows, told.vector) >= told.near
                other[near] = found.other[near] @ np.array(WEIGHTS.other) - WEIGHTS.other_zero
            with np.errstate(over="ignore"):
                grades = 1.0 / (1.0 + np.exp(-np.where(found.names, named, other)))
            best = np.maximum(best, grades.astype(np.float32))
        offsets = np.asarray(index.units("sentences").offsets)
        return np.where(offsets[papers + 1] > offsets[papers], best, np.float32(np.nan))

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where the grade is surely 0; None where no view knows words."""
        out, view = np.zeros(len(index), np.bool_), _view(index, "abstract")
        for ready in self._ready(value, index):
            if ready.may_name is None:
                return None
            out |= ready.may_name
            if view is not None and ready.told.vector is not None:
                scores = view.score(Probe(view.name, ready.told.phrase.text)).scores
                out |= scores >= ready.told.near - _ROUNDING
        return out

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The title or sentence that decided: the first that names an alternative, else the nearest."""
        at = index.positions.get(paper.id)
        if at is None or not index.unchanged(paper):
            return None
        table = index.units("sentences")
        low, high = int(table.offsets[at]), int(table.offsets[at + 1])
        if low == high:
            return None
        nearest: tuple[float, int] = (-np.inf, -1)
        for ready in self._ready(value, index):
            found = _naming(ready.told.phrase, paper, index, at)
            if found is not None:
                first = 0 if _has_title(table, low) else 1
                return _unit(table, low + found.units[0] - first)
            if (view := _view(index)) is not None and ready.told.vector is not None:
                cosines = np.einsum("ij,j->i", view.vectors[low:high].astype(np.float32), ready.told.vector)
                nearest = max(nearest, (float(cosines.max()), int(cosines.argmax())))
        return _unit(table, low + nearest[1]) if nearest[1] >= 0 else None


for _name in ("topic", "method", "population"):
    ATTRIBUTES.register(_name)(SubjectAttribute(_name))


class ReportsAttribute(PhrasesAttribute, KeywordAttribute):
    """What a paper must contain, in free words."""

    name = "reports"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) the best alternative's grade as a keyword; NaN for a paper without text."""
        grades = [super(ReportsAttribute, self).grades(one, index, papers) for one in alternatives(value)]
        return np.asarray(np.maximum.reduce(grades))

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where no alternative can occur; None where no view knows."""
        found = [super(ReportsAttribute, self).possible(one, index) for one in alternatives(value)]
        known = [mask for mask in found if mask is not None]
        return np.logical_or.reduce(known) if len(known) == len(found) else None

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The first alternative's first occurrence."""
        spans = (super(ReportsAttribute, self).span(one, paper, index) for one in alternatives(value))
        return next(filter(None, spans), None)


ATTRIBUTES.register("reports")(ReportsAttribute())


# Conditions on sample: how many participants a study has, as in ``>200``, ``<=50``, ``30`` or ``100..500``.
#
# The number is what the lens :mod:`aspectra.views.lenses.sample` read; papers that study no people have
# none.


def _bounds(value: str) -> tuple[int, int]:
    """The smallest and largest number that meets a value.

    Raises:
        UsageError: it is neither a number, a bound nor a range, or the range is empty.
    """
    if found := number_range(value):
        return found
    why = "write >200, <=50, 100 or 100..500, the smaller number first"
    raise UsageError(f"{value!r} is no sample size", why=why)


class SampleAttribute(Attribute):
    """The number of participants of a study: ``>200``, ``<=50``, ``30`` or ``100..500``."""

    name = "sample"

    def check(self, value: str) -> None:
        """Refuse a value that is not a number, a bound or a range.

        Raises:
            UsageError: with the forms there are, or the range is empty.
        """
        _bounds(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 within the bounds, 0 outside, NaN where the text tells no number."""
        low, high = _bounds(value)
        counts = lens_column(index, "sample", "participants", papers)
        return np.where(np.isnan(counts), counts, (counts >= low) & (counts <= high))

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known of any paper."""
        return lacks(index, "sample", "participants") or super().missing(value, index)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The sentence with the number."""
        return LENSES.get("sample").span(paper, "participants")


ATTRIBUTES.register("sample")(SampleAttribute())
