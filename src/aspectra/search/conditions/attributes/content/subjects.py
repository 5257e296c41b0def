"""Conditions on what a paper is about, uses, or studies, in free words.

``topic=driving scenes`` is the subject, ``method=graph neural networks`` what a study uses, and
``population=older adults`` whom or what it is on; all are graded alike, see
:mod:`aspectra.search.conditions.attributes.content._about`. The roles of the sentences that name a method
told no more about labelled methods than how many sentences there are (docs/results/exclusions.md), and no
labelled populations were at hand to fit anything on.

``reports=hazard ratios`` is what a paper must contain: one mention is enough, so each alternative is graded
as a ``keyword``, full text included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.content._about import about, possible, span_of
from aspectra.search.conditions.attributes.content._phrases import alternatives, check_phrases
from aspectra.search.conditions.attributes.content.keyword import KeywordAttribute
from aspectra.search.conditions.attributes.labels.lensed import lacks, lens_column
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES, Attribute
from aspectra.search.conditions.attributes.record._values import number_range
from aspectra.views.index.opened import Index
from aspectra.views.lenses.protocol import LENSES, TextSpan
from aspectra.views.view import Floats, Positions


class SubjectAttribute(Attribute):
    """Free words, or several with *or*; see :mod:`aspectra.search.conditions.attributes.content._about`."""

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
