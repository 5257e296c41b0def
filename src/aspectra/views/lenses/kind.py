"""What kind of scientific paper it is: survey, method, dataset, theory, evaluation, position.

Titles announce the kind in a few set words, abstracts in set phrases of what "we" do; a title counts double.
Most papers do several things: grades are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import CueLens, LeadText
from aspectra.views.lenses.protocol import LENSES

__all__ = ["KindLens"]

_BIAS = -2.5  # so that a title's word, or two phrases of the abstract, reach 0.5


class KindLens(CueLens):
    """Grades of the kinds of paper, each 0 to 1 on a logistic scale.

    A set word in the title is nearly enough for 0.5, two phrases of the abstract are enough. A text that is
    no paper at all has low grades everywhere; one without text has NaN.
    """

    name = "kind"
    description = "what kind of paper it is: survey, method, dataset, theory, evaluation, position"
    labels: tuple[str, ...] = ("survey", "method", "dataset", "theory", "evaluation", "position")

    def odds(self, paper: Paper, lead: LeadText, added: Mapping[str, float]) -> Iterable[float]:
        """See :class:`CueLens`."""
        return [_BIAS + added[label] for label in self.labels]


LENSES.register("kind")(KindLens())
