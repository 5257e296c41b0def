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

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.content.keyword import (
    KeywordAttribute,
    Naming,
    Phrase,
    alternatives,
    check_phrases,
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
        other: share of the phrase's words, weighed by rarity, nearest unit, title; () where there are no
            vectors: then a paper that does not name the phrase has grade 0.
        other_zero: subtracted.
    """

    named: tuple[float, ...]
    named_zero: float
    other: tuple[float, ...]
    other_zero: float


WEIGHTS = Weights((1.11, 0.72, 0.79), 1.52, (1.11, 0.59, 0.33), 4.39)


@dataclass(frozen=True)
class _Moments:
    """Mean and deviation of likeness in the fixed sample of papers."""

    nearest: tuple[float, float]
    title: tuple[float, float]


@dataclass(frozen=True)
class _Prepared:
    """A phrase with all that does not depend on the paper.

    Attributes:
        phrase: with its forms.
        coverage: (all papers,) share of its words that a paper has, by rarity; None where no view knows.
        may_name: (all papers,) whether a paper has all words of a form; None where no view knows.
        vector: (dimensions,) or None where no encoder is there.
        moments: of the vector.
        near: cosine of an abstract from which a paper is near.
    """

    phrase: Phrase
    coverage: Floats | None
    may_name: NDArray[np.bool_] | None
    vector: Floats | None
    moments: _Moments
    near: float


_prepared: WeakKeyDictionary[Index, OrderedDict[str, _Prepared]] = WeakKeyDictionary()
_samples: WeakKeyDictionary[Index, tuple[Floats, NDArray[np.int64]]] = WeakKeyDictionary()
_lock = Lock()


class Evidence(NamedTuple):
    """What grades are made from, for n papers.

    Attributes:
        names: (n,) bool, whether a paper names the phrase.
        named: (n, 3) columns of :attr:`Weights.named`; zeros where it does not.
        other: (n, 3) columns of :attr:`Weights.other`, (n, 0) without vectors.
    """

    names: NDArray[np.bool_]
    named: NDArray[np.float64]
    other: NDArray[np.float64]


def about(value: str, index: Index, papers: Positions) -> Floats:
    """(papers,) 0 to 1, the best of the alternatives in ``value``; NaN for a paper without text."""
    best = np.zeros(len(papers), np.float32)
    held: dict[int, Paper] = {}
    for text in alternatives(value):
        found = evidence(text, index, papers, held)
        named = found.named @ np.array(WEIGHTS.named) - WEIGHTS.named_zero
        other = np.full(len(papers), -np.inf)
        if found.other.shape[1]:
            near = _abstracts(index, text, papers)
            other[near] = found.other[near] @ np.array(WEIGHTS.other) - WEIGHTS.other_zero
        with np.errstate(over="ignore"):
            grades = 1.0 / (1.0 + np.exp(-np.where(found.names, named, other)))
        best = np.maximum(best, grades.astype(np.float32))
    offsets = np.asarray(index.units("sentences").offsets)
    return np.where(offsets[papers + 1] > offsets[papers], best, np.float32(np.nan))


def possible(value: str, index: Index) -> NDArray[np.bool_] | None:
    """(all papers,) False where :func:`about` is surely 0; None where no view knows words."""
    out = np.zeros(len(index), np.bool_)
    for text in alternatives(value):
        ready = _prepare(text, index)
        if ready.may_name is None:
            return None
        out |= ready.may_name
        if (view := _view(index, "abstract")) is not None and ready.vector is not None:
            out |= view.score(Probe(view.name, ready.phrase.text)).scores >= ready.near - _ROUNDING
    return out


def _abstracts(index: Index, text: str, papers: Positions) -> NDArray[np.bool_]:
    """(papers,) whether an abstract is near a phrase."""
    ready, view = _prepare(text, index), _view(index, "abstract")
    if view is None or ready.vector is None:
        return np.zeros(len(papers), np.bool_)
    rows = view.vectors[papers].astype(np.float32)
    return np.asarray(np.einsum("ij,j->i", rows, ready.vector) >= ready.near)


def evidence(text: str, index: Index, papers: Positions, held: dict[int, Paper] | None = None) -> Evidence:
    """What the grades of one phrase are made from.

    Args:
        text: the phrase.
        index: the generation.
        papers: (n,) positions.
        held: position -> paper, of those read already; filled.
    """
    ready = _prepare(text, index)
    names = np.zeros(len(papers), np.bool_)
    vectors = ready.vector is not None
    named = np.zeros((len(papers), 3))
    other = np.zeros((len(papers), 3 if vectors else 0))
    if vectors and len(papers):
        nearest, title = _likeness(index, ready, papers)
        other[:, 1], other[:, 2] = nearest, title
        if ready.coverage is not None:
            other[:, 0] = ready.coverage[papers]
    maybe = np.arange(len(papers)) if ready.may_name is None else np.flatnonzero(ready.may_name[papers])
    if not len(maybe):
        return Evidence(names, named, other)
    texts = {} if held is None else held
    _read(index, papers[maybe], texts)
    for place in maybe:
        paper = texts.get(int(papers[place]))
        found = None if paper is None else _naming(ready.phrase, paper, index, int(papers[place]))
        if found is None:
            continue
        names[place] = True
        sentences = len(found.units) - found.title
        named[place] = found.title, np.log1p(min(sentences, _MOST_UNITS)), found.intact
    return Evidence(names, named, other)


def span_of(value: str, paper: Paper, index: Index) -> TextSpan | None:
    """The title or sentence that decided: the first that names an alternative, else the nearest."""
    at = index.positions.get(paper.id)
    if at is None or not index.unchanged(paper):
        return None
    table = index.units("sentences")
    low, high = int(table.offsets[at]), int(table.offsets[at + 1])
    if low == high:
        return None
    nearest: tuple[float, int] = (-np.inf, -1)
    for text in alternatives(value):
        ready = _prepare(text, index)
        found = _naming(ready.phrase, paper, index, at)
        if found is not None:
            first = 0 if _has_title(table, low) else 1
            return _unit(table, low + found.units[0] - first)
        if (view := _view(index)) is not None and ready.vector is not None:
            cosines = np.einsum("ij,j->i", view.vectors[low:high].astype(np.float32), ready.vector)
            nearest = max(nearest, (float(cosines.max()), int(cosines.argmax())))
    return _unit(table, low + nearest[1]) if nearest[1] >= 0 else None


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
    """A view of the default encoder; None where there is none, or the user does not permit it."""
    name = f"{base}@{index.default_encoder()}"
    if name not in index.view_names or index.refusal(str(index.facts(name).stored["encoder"])) is not None:
        return None
    return index.vector_view(name)


def _likeness(
    index: Index, ready: _Prepared, papers: Positions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(papers,) likeness of the nearest unit and of the title, in deviations from the sample."""
    nearest, title = _cosines(index, ready.vector, papers)
    return _deviations(nearest, ready.moments.nearest), _deviations(title, ready.moments.title)


def _deviations(values: NDArray[np.float64], moments: tuple[float, float]) -> NDArray[np.float64]:
    return np.clip((values - moments[0]) / moments[1], -2.0, _MOST_DEVIATIONS)


def _cosines(
    index: Index, vector: Floats | None, papers: Positions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(papers,) cosine of the best unit and of the first, which is the title; 0 for a paper without units."""
    view = _view(index)
    if vector is None or view is None:
        return np.zeros(len(papers)), np.zeros(len(papers))
    rows, offsets = index.units("sentences").rows(papers)
    return _best_and_first(view.vectors[rows].astype(np.float32), offsets, vector)


def _best_and_first(
    rows: Floats, offsets: NDArray[np.int64], vector: Floats
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def _prepare(text: str, index: Index) -> _Prepared:
    with _lock:
        known = _prepared.setdefault(index, OrderedDict())
        if text in known:
            known.move_to_end(text)
            return known[text]
    made = _make(text, index)
    with _lock:
        known[text] = made
        if len(known) > _REMEMBERED:
            known.popitem(last=False)
    return made


def _make(text: str, index: Index) -> _Prepared:
    phrase = Phrase.of(text)
    coverage, may_name = _word_masks(index, phrase.terms[0].parts)
    if phrase.has_forms:
        written = phrase
        phrase = written.known_as(_best_texts(text, index, may_name))
        for term in phrase.terms:
            if term is written.terms[0]:
                continue
            share, whole = _word_masks(index, term.parts)
            coverage = share if term is phrase.terms[0] else coverage
            may_name = None if may_name is None or whole is None else may_name | whole
    vector, near, moments = None, 0.0, _Moments((0.0, 1.0), (0.0, 1.0))
    if (view := _view(index)) is not None:
        vector = view.query(phrase.text).vector.astype(np.float32)
        nearest, title = _best_and_first(*_of_sample(index, view), vector)
        moments = _Moments(_moments(nearest), _moments(title))
    if (view := _view(index, "abstract")) is not None and vector is not None:
        mean, deviation = _moments(view.score(Probe(view.name, phrase.text), index.sample).scores)
        near = mean + _NEAR * deviation
    return _Prepared(phrase, coverage, may_name, vector, moments, near)


def _moments(values: NDArray[np.floating]) -> tuple[float, float]:
    if not len(values):
        return 0.0, 1.0
    return float(values.mean()), max(float(values.std()), _LEAST_DEVIATION)


def _word_masks(
    index: Index, parts: Sequence[Sequence[str]]
) -> tuple[Floats | None, NDArray[np.bool_] | None]:
    """(all papers,) share of the words by rarity, and whether a paper has them all; None where none knows."""
    name = ViewFacts.words_of("abstract").name
    settings = index.lexical
    # Only there a score above 0 is the same as a word's occurrence.
    if name not in index.view_names or settings.method != "lucene":
        return None, None
    tokeniser = Tokeniser(settings.tokens)
    view = index.view(name)
    share, total = np.zeros(len(index), np.float32), 0.0
    whole = np.ones(len(index), np.bool_)
    for forms in parts:
        words = {word for form in forms for word in tokeniser.words(form)}
        if not all(map(tokeniser.words, forms)):
            continue  # a stop word says nothing
        has = np.zeros(len(index), np.bool_)
        for word in words:
            has |= occurs(view, word)
        rarity = float(np.log1p(len(index) / max(int(has.sum()), 1)))
        share[has] += rarity
        total += rarity
        whole &= has
    return (share / total if total else None), (whole if total else None)


def _best_texts(text: str, index: Index, whole: NDArray[np.bool_] | None) -> list[str]:
    """Titles and abstracts of the papers that match best by words, those with all of them."""
    if whole is None or not whole.any():
        return []
    name = ViewFacts.words_of("abstract").name
    top = index.view(name).top(Probe(name, text), _FORMS_FROM, whole).papers
    papers = index.library.get_many([index.ids[p] for p in top], full=False)
    return [f"{paper.title}. {paper.abstract}" for paper in papers.values()]


class SubjectAttribute(Attribute):
    """Free words, or several with *or*; see :mod:`aspectra.search.conditions.attributes.content.subjects`."""

    cheap = False
    doubtful = True

    def __init__(self, name: str, about: str) -> None:
        self.name, self.about = name, about

    def check(self, value: str) -> None:
        """Refuse a value without words.

        Raises:
            UsageError: always then, or with more than 8 alternatives.
        """
        check_phrases(self.name, value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 0 to 1; NaN for a paper without text."""
        return about(value, index, papers)

    def possible(self, value: str, index: Index) -> NDArray[np.bool_] | None:
        """(all papers,) False where no alternative is named and no abstract is near."""
        return possible(value, index)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The title or sentence that decided."""
        return span_of(value, paper, index)


ATTRIBUTES.register("topic")(SubjectAttribute("topic", "The subject of a paper, in free words."))


ATTRIBUTES.register("method")(SubjectAttribute("method", "What a study uses, in free words."))


ATTRIBUTES.register("population")(
    SubjectAttribute("population", "Whom or what a study is on, in free words.")
)


class ReportsAttribute(KeywordAttribute):
    """What a paper must contain, in free words."""

    name = "reports"

    def check(self, value: str) -> None:
        """Refuse a value without words.

        Raises:
            UsageError: always then, or with more than 8 alternatives.
        """
        check_phrases(self.name, value)

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
        for one in alternatives(value):
            if (found := super().span(one, paper, index)) is not None:
                return found
        return None


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
    found = number_range(value)
    if found is None:
        why = "write >200, <=50, 100 or 100..500, the smaller number first"
        raise UsageError(f"{value!r} is no sample size", why=why)
    return found


class SampleAttribute(Attribute):
    """See the module."""

    name = "sample"

    def check(self, value: str) -> None:
        """Refuse what is neither a number, a bound nor a range.

        Raises:
            UsageError: with the forms there are, or the range is empty.
        """
        _bounds(value)

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 within the bounds, 0 outside, NaN where the text tells no number."""
        low, high = _bounds(value)
        counts = lens_column(index, "sample", "participants", papers)
        inside = ((counts >= low) & (counts <= high)).astype(np.float32)
        return np.where(np.isnan(counts), counts, inside)

    def missing(self, value: str, index: Index) -> str:
        """Why nothing is known of any paper."""
        return lacks(index, "sample", "participants") or super().missing(value, index)

    def span(self, value: str, paper: Paper, index: Index) -> TextSpan | None:
        """The sentence with the number."""
        return LENSES.get("sample").span(paper, "participants")


ATTRIBUTES.register("sample")(SampleAttribute())
